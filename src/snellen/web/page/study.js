/** A study from its plan and a transport: consent, instructions, blocks of pages, the end. */
"use strict";

(() => {
  const { element, paragraphs, insist, showScreen } = Snellen;
  const AHEAD = 3; // pages whose images are loaded while a page is answered

  /** Fields of the record `start` besides the participant: address parameters, screen in CSS pixels, browser. */
  function startRecord(plan, session, parameters) {
    const { width, height } = window.screen;
    const sizes = { width, height, ratio: window.devicePixelRatio, window_width: window.innerWidth, window_height: window.innerHeight };
    return { type: "start", participant: session.participant, form: session.form, plan_hash: plan.plan_hash, code: session.code, parameters, screen: sizes, agent: navigator.userAgent };
  }

  /** A sentence on the time limit of some pages; empty if they have none. */
  function limitLine(pages) {
    const limits = [...new Set(pages.map((page) => page.seconds).filter(Boolean))];
    return limits.length ? `Each question has a time limit of ${limits.join(" or ")} seconds. Then the next one follows.` : "";
  }

  function words(screen, trial) {
    return { type: Snellen.WordsPlugin, on_load: () => showScreen(screen), ...trial };
  }

  /** The code by which a person withdraws; null in a review, and if it is not known yet. */
  const codeLine = (plan, code) => (plan.kind === "review" || !code ? null : element("p", {}, "Your code: ", element("code", { id: "own-code" }, code), ". Please note it: quote it if you want your answers deleted."));

  /** The lines of consent: who does the study, and so on, as far as the design states them. */
  function consentFields(plan, code) {
    const texts = { ...plan.texts };
    if (plan.kind !== "review" && code) texts.withdrawal = `${texts.withdrawal} Quote your code, ${code}.`.trim();
    const names = { who: "Who does this study", contact: "Questions and complaints", approval: "Ethics approval", storage: "What is stored, and for how long", withdrawal: "Withdrawing your data" };
    return Object.entries(names).filter(([field]) => texts[field]).map(([field, name]) => `${name}: ${texts[field]}`);
  }

  /** Asks for consent; until it is given, nothing is stored. Never resolves for those who decline. */
  async function agree(plan, transport, code) {
    const { texts } = plan;
    showScreen("consent");
    const length = plan.minutes ? [`The study takes about ${plan.minutes} minutes. You can pause or stop at any time.`] : [];
    const text = [texts.consent, ...length, ...consentFields(plan, code)].join("\n\n");
    const place = document.getElementById("study");
    const copy = () => Snellen.download("consent.txt", `${texts.title}\n\n${text}\n\n${new Date().toISOString()}\n`, "text/plain");
    const below = () => [element("button", { type: "button", class: "plain", id: "copy", click: copy }, "Save a copy of this page"), wayBack(transport)];
    if (await Snellen.showWords(place, { title: texts.title, text, above: () => codeLine(plan, code), below, button: "consent", label: "I agree and take part", refusal: "No, I do not take part" })) return;
    showScreen("declined");
    await Snellen.showWords(place, { title: "You do not take part", text: "Thank you for your interest. No answer of yours was stored. You may close this window.", button: "back", label: "Back to the first page" });
    location.reload();
    await new Promise(() => {});
  }

  /** Where several people use a device: the way back to an unfinished session, by its code. */
  function wayBack(transport) {
    if (!transport.unfinished?.().length) return null;
    const field = element("input", { type: "text", size: 12, autocomplete: "off", "data-field": "code" });
    const complaint = element("p", { class: "complaint", role: "alert" });
    const go = (event) => {
      event.preventDefault();
      const name = transport.unfinished().find((one) => one.toLowerCase() === field.value.trim().toLowerCase());
      complaint.textContent = name ? "" : "Nobody with this code has begun here and not finished.";
      if (name) location.replace(Snellen.addressOf(name));
    };
    return element("form", { class: "way-back", submit: go }, element("label", { class: "line" }, "Did you begin here before? Your code: ", field, element("button", { type: "submit", class: "plain" }, "Go on")), complaint);
  }

  /** Instructions, or a welcome back, which another person may decline. */
  function opening(plan, session, total, transport, returns) {
    const { texts } = plan;
    const count = session.answered().size;
    const back = count ? `Welcome back. ${count} of ${total} questions are answered.\n\n` : "";
    const length = plan.minutes && !count ? `\n\n${total} pages, about ${plan.minutes} minutes. You can pause at any time.` : "";
    // Half a second, until a file is saved.
    const other = () => transport.stop().then(() => Snellen.wait(0.5)).then(() => location.replace(Snellen.addressOf("")));
    const above = () => (returns ? codeLine(plan, session.code) : null);
    const below = () => {
      if (!returns) return texts.consent ? null : wayBack(transport);
      return transport.forget && plan.kind !== "review" ? element("button", { type: "button", class: "plain", id: "other", click: other }, "I am somebody else") : null;
    };
    return words("start", { title: texts.title, text: back + texts.instructions + length, above, below, button: "start", label: count ? "Go on" : "Start" });
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
      const text = [block.text, limitLine(left.map((entry) => entry.page))].filter(Boolean).join("\n\n");
      if (block.title || text || block.terms.length) trials.push(words("block", { title: block.title || (block.terms.length ? "Words" : "Questions"), text, terms: block.terms, button: "continue", label: "Continue" }));
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

  /** Thanks, the debriefing, the completion code or link (unless the person stopped), the code to withdraw, the download again, the next participant. */
  function showEnd(plan, transport, session, completion, stopped = false) {
    const thanks = stopped ? "What you answered so far is kept." : plan.texts.thanks;
    const { code, url } = completion ?? {};
    const parts = [element("h1", {}, stopped ? "You stopped" : "The end"), ...paragraphs(thanks)];
    if (plan.texts.debriefing) parts.push(element("h2", {}, "About this study"), ...paragraphs(plan.texts.debriefing));
    parts.push(codeLine(plan, session.code));
    if (code) parts.push(element("p", {}, "Your completion code: ", element("code", { id: "code" }, code), " ", copyButton(code)));
    if (/^https?:/.test(url)) parts.push(element("p", {}, element("a", { id: "completion", href: url, class: "button" }, "Finish")));
    if (transport.download) {
      parts.push(element("p", {}, "Your answers were saved as a file. Please hand it in."));
      parts.push(element("p", { class: "line" }, element("button", { type: "button", id: "download", click: transport.download }, "Save the file again"), element("button", { type: "button", id: "another", class: "plain", click: () => (transport.forget(), location.replace(Snellen.addressOf(""))) }, "Next participant")));
    }
    document.getElementById("study").replaceChildren(element("section", { class: "words", tabindex: -1 }, parts));
    showScreen("end");
    document.querySelector("#study section").focus({ preventScroll: true });
  }

  async function run() {
    const plan = globalThis.snellenPlan;
    const transport = Snellen.transports[document.documentElement.dataset.transport](plan);
    // An import refuses a start with more, or longer ones, and the person with it.
    const kept = (parameters) => Object.fromEntries(Object.entries(parameters).filter(([name, text]) => name.length <= 200 && name.length + `${text}`.length < 500).slice(0, 12));
    const address = kept(Object.fromEntries(new URLSearchParams(location.search)));
    const code = Snellen.randomCode();
    const returns = await insist(() => transport.returns(address), "The study could not be opened.");
    if (plan.texts.consent && (!returns || transport.personal)) await agree(plan, transport, transport.personal ? "" : code); // theirs comes with their rows
    const opened = await insist(() => transport.open(address, code), "The study could not be opened.");
    const session = Snellen.makeSession(transport, opened, code);
    const back = session.has("end");
    const consents = plan.texts.consent && !session.has("consent");
    const stop = async () => {
      await session.append({ type: "stop" });
      session.close();
      await insist(() => transport.stop(), "The study could not be closed.");
      showEnd(plan, transport, session, null, true);
    };
    if (session.has("stop")) return showEnd(plan, transport, session, null, true);
    if (!back) {
      if (consents && returns) await agree(plan, transport, session.code);
      await session.append(startRecord(plan, session, kept(opened.parameters ?? address)));
      if (consents) await session.append({ type: "consent" });
      document.getElementById("study").replaceChildren(); // the page of consent
      const jsPsych = jsPsychModule.initJsPsych({ display_element: "study", override_safe_mode: true });
      const total = plan.forms[session.form].flatMap((block) => block.page_ids).length;
      const pause = Snellen.makePause(stop);
      const trials = blocks(plan, session, pause, jsPsych);
      if (plan.calibration && trials.length) trials.unshift({ type: Snellen.CalibrationPlugin, keep: (record) => session.append(record), on_load: () => showScreen("calibration") });
      await jsPsych.run([opening(plan, session, total, transport, returns), ...trials]);
      await session.append({ type: "end" });
    }
    showEnd(plan, transport, session, await insist(() => transport.finish(session.rows, back), "The study could not be closed."));
  }

  run().catch(Snellen.fail);
})();
