/** A study from its plan and a transport: consent, instructions, blocks of pages, the end. */
"use strict";

(() => {
  const { element, paragraphs, insist, showScreen } = Snellen;
  const AHEAD = 3; // pages whose images are loaded while a page is answered

  /** Fields of the record `start` besides the participant: address parameters, screen in CSS pixels, browser. */
  function startRecord(plan, session, parameters) {
    const { width, height } = window.screen;
    const sizes = { width, height, ratio: window.devicePixelRatio, window_width: window.innerWidth, window_height: window.innerHeight };
    return { type: "start", participant: session.participant, form: session.form, plan_hash: plan.plan_hash, parameters, screen: sizes, agent: navigator.userAgent };
  }

  function words(screen, trial) {
    return { type: Snellen.WordsPlugin, on_load: () => showScreen(screen), ...trial };
  }

  /** The lines of consent: who does the study, and so on, as far as the design states them. */
  function consentFields(texts) {
    const names = { who: "Who does this study", contact: "Questions and complaints", approval: "Ethics approval", storage: "What is stored, and for how long", withdrawal: "Withdrawing your data" };
    return Object.entries(names).filter(([field]) => texts[field]).map(([field, name]) => `${name}: ${texts[field]}`);
  }

  /** Consent (once) and instructions, or a welcome back. */
  function opening(plan, session, total) {
    const { texts } = plan;
    const trials = [];
    if (texts.consent && !session.has("consent")) {
      trials.push(words("consent", { title: texts.title, text: [texts.consent, ...consentFields(texts)].join("\n\n"), button: "consent", label: "I agree and take part", note: "If you do not agree, close this window.", keep: () => session.append({ type: "consent" }) }));
    }
    const count = session.answered().size;
    const back = count ? `Welcome back. ${count} of ${total} questions are answered.\n\n` : "";
    const length = plan.minutes && !count ? `\n\n${total} pages, about ${plan.minutes} minutes. You can pause at any time.` : "";
    trials.push(words("start", { title: texts.title, text: back + texts.instructions + length, button: "start", label: count ? "Go on" : "Start" }));
    return trials;
  }

  /** Loads images in the background; every page still waits for its own images, and complains if they fail. */
  function preload(pages) {
    return { type: jsPsychPreload, images: pages.flatMap(Snellen.imagesOf), message: '<p class="note later">Loading …</p>', show_progress_bar: false, continue_after_error: true, max_load_time: 10000 };
  }

  /** True if a break precedes a page: after every so many pages of the form, but not at the start of a block. */
  function isBreak(plan, entry, former) {
    return plan.break_every > 0 && former !== undefined && entry.place % plan.break_every === 0;
  }

  /** The trials of the unanswered pages of a form, each block after its title and text. */
  function blocks(plan, session, pause, jsPsych) {
    const form = plan.forms[session.form];
    const total = form.flatMap((block) => block.page_ids).length;
    const done = session.answered();
    const trials = [];
    let place = 0;
    for (const block of form) {
      const left = block.page_ids.map((id, index) => ({ page: plan.pages[id], place: place + index })).filter((entry) => !done.has(entry.place));
      place += block.page_ids.length;
      if (!left.length) continue;
      if (block.title || block.text || block.terms.length) trials.push(words("block", { title: block.title || "Words", text: block.text, terms: block.terms, button: "continue", label: "Continue" }));
      trials.push(preload(left.slice(0, AHEAD).map((entry) => entry.page)));
      left.forEach((entry, index) => {
        if (isBreak(plan, entry, left[index - 1])) trials.push(words("block", { title: "Time for a break", text: `${entry.place} of ${total} pages are done. Rest your eyes for a moment, and go on when you are ready.`, button: "continue", label: "Go on" }));
        const coming = left.slice(index + 1, index + 1 + AHEAD).flatMap((other) => Snellen.imagesOf(other.page));
        trials.push({
          type: Snellen.PagePlugin,
          ...entry,
          pause,
          keep: (record) => session.append(record),
          on_start: () => {
            showScreen("page");
            Snellen.showProgress(entry.place, total, session.answered().size, entry.page.kind);
          },
          on_load: () => jsPsych.pluginAPI.preloadImages(coming),
        });
      });
    }
    return trials;
  }

  function copyButton(code) {
    const copy = async (event) => {
      await navigator.clipboard.writeText(code);
      event.target.textContent = "Copied";
    };
    return navigator.clipboard ? element("button", { type: "button", class: "plain", click: copy }, "Copy") : null;
  }

  /** Thanks, the completion code or link, and what the transport offers: the download again, or another participant. */
  function showEnd(plan, transport) {
    const { thanks, completion_code: code, completion_url: url } = plan.texts;
    const parts = [element("h1", {}, "The end"), ...paragraphs(thanks)];
    if (code) parts.push(element("p", {}, "Your completion code: ", element("code", { id: "code" }, code), " ", copyButton(code)));
    if (/^https?:/.test(url)) parts.push(element("p", {}, element("a", { id: "completion", href: url, class: "button" }, "Finish")));
    if (transport.download) {
      parts.push(element("p", {}, "Your answers were saved as a file. Please hand it in."));
      parts.push(element("p", { class: "line" }, element("button", { type: "button", id: "download", click: transport.download }, "Save the file again"), element("button", { type: "button", id: "another", class: "plain", click: () => another(transport) }, "Next participant")));
    }
    document.getElementById("study").replaceChildren(element("section", { class: "words", tabindex: -1 }, parts));
    showScreen("end");
    document.querySelector("#study section").focus({ preventScroll: true });
  }

  function another(transport) {
    transport.another();
    const address = new URL(location.href);
    address.searchParams.delete("participant");
    location.replace(address);
  }

  async function run() {
    const plan = globalThis.snellenPlan;
    const transport = Snellen.transports[document.documentElement.dataset.transport](plan);
    const address = Object.fromEntries(new URLSearchParams(location.search));
    const opened = await insist(() => transport.open(address), "The study could not be opened.");
    const session = Snellen.makeSession(transport, opened);
    const back = session.has("end");
    if (!back) {
      await session.append(startRecord(plan, session, opened.parameters ?? address));
      const jsPsych = jsPsychModule.initJsPsych({ display_element: "study", override_safe_mode: true });
      const total = plan.forms[session.form].flatMap((block) => block.page_ids).length;
      const pause = Snellen.makePause();
      await jsPsych.run([...opening(plan, session, total), ...blocks(plan, session, pause, jsPsych)]);
      await session.append({ type: "end" });
    }
    await insist(() => transport.finish(session.rows, back), "The study could not be closed.");
    showEnd(plan, transport);
  }

  run().catch(Snellen.fail);
})();
