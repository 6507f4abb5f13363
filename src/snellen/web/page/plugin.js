/** Two jsPsych plugins: `snellen-page`, a page of the plan with its questions, and `snellen-words`, a page to read. */
"use strict";

(() => {
  const { element, paragraphs, typed, insist } = Snellen;
  const { ParameterType } = jsPsychModule;
  const TALL = 480; // CSS pixels
  const ATTEMPTS = 3; // at a practice page
  const version = document.documentElement.dataset.version;

  function makeWidget(question, label, drawn, submit) {
    if (question.kind === "choice" || question.kind === "true_false") return Snellen.choiceWidget(question, label, submit);
    if (question.kind === "integer" || question.kind === "number") return Snellen.numberWidget(question, label);
    if (question.kind === "colour") return Snellen.colourWidget();
    if (question.kind === "box") return Snellen.boxWidget(question, label, drawn.image, [drawn.part.width, drawn.part.height]);
    if (question.kind === "point") return Snellen.pointWidget(label, drawn.image, [drawn.part.width, drawn.part.height]);
    return Snellen.textWidget(question, label);
  }

  /** One question with its widget, its line for a reason and space for complaint and feedback. */
  function makeQuestion(question, drawn, submit) {
    const label = question.text || "Your answer";
    const widget = makeWidget(question, label, drawn, submit);
    const reason = question.reason ? element("input", { type: "text", autocomplete: "off", "data-field": "reason" }) : null;
    const complaint = element("p", { class: "complaint", role: "alert" });
    const feedback = element("p", { class: "feedback", role: "status" });
    const legend = element("legend", { class: question.text ? "" : "for-readers" }, label);
    const line = reason ? element("label", { class: "reason" }, "Reason (you may leave this empty)", reason) : null;
    const root = element("fieldset", { class: "question", "data-item-id": question.item_id, "data-kind": question.kind }, legend, widget.element, line, complaint, feedback);
    return { question, widget, root, complaint, feedback, reason: () => (reason ? typed(reason) : "") };
  }

  /** True if the question should be next to the media on a wide screen, since it would be out of sight below them. */
  function isTall(page) {
    const onChoices = page.questions.some((question) => question.choices.some((choice) => choice.media.length));
    return !onChoices && page.parts.some((part) => (part.zoom ?? 1) * part.height > TALL);
  }

  /** Builds a page: its element, media and questions. `submit` is called if a choice is confirmed by a key. */
  function makeView(page, place, submit) {
    const { wording, calibration: isNative } = globalThis.snellenPlan;
    const zoom = isNative ? 1 / window.devicePixelRatio : wording === "people" ? Snellen.zoomOf(page) : 1;
    for (const part of page.parts) if (part.kind === "image") Object.assign(part, { zoom, isNative });
    const drawable = new Set(isNative ? page.parts.keys() : page.questions.filter((question) => ["box", "point"].includes(question.kind)).map((question) => question.image ?? 0)); // native pixels are not enlarged
    const { media, blocks } = Snellen.makeParts({ ...page, parts: page.parts.filter((part) => !part.is_question) }, drawable);
    const asked = page.parts.filter((part) => part.is_question).map((part) => element("p", { class: "part asked" }, part.text));
    const root = element("section", { class: isTall(page) ? "page waiting beside" : "page waiting", tabindex: -1, "data-page-id": page.page_id, "data-place": place, "data-kind": page.kind }, element("h1", { class: "for-readers" }, `Question ${place + 1}`), element("div", { class: "parts" }, blocks));
    const questions = page.questions.map((question) => makeQuestion(question, media[question.image ?? 0], submit));
    const next = element("button", { type: "submit", id: "next" }, "Next");
    const keys = questions.length === 1 ? (questions[0].widget.keys ?? []) : [];
    const hint = keys.length ? element("p", { class: "note hint" }, `Keys: ${keys.map((key) => key.toUpperCase()).join(", ")} choose; Enter goes on.`) : null;
    const form = element("form", { novalidate: true, autocomplete: "off" }, asked, questions.map((one) => one.root), element("div", { class: "actions" }, next, hint));
    root.append(form);
    return { root, form, questions, media: [...media, ...questions.flatMap((one) => one.widget.media ?? [])] };
  }

  /** Shows what is missing and goes there; true if nothing is missing. */
  function isComplete(questions) {
    for (const one of questions) one.complaint.textContent = one.widget.complaint();
    const first = questions.find((one) => one.complaint.textContent);
    first?.widget.focus();
    return !first;
  }

  /** The current answers and reasons; null if there is no answer. */
  function readAnswers(questions) {
    const answers = Object.fromEntries(questions.map((one) => [one.question.item_id, one.widget.read() ?? null]));
    const reasons = Object.fromEntries(questions.filter((one) => one.reason()).map((one) => [one.question.item_id, one.reason()]));
    return { answers, reasons };
  }

  /** The question that a key is meant for: the focused one, else the first choice question without an answer. */
  function questionOf(questions, event) {
    const choices = questions.filter((one) => one.widget.press);
    const focused = choices.find((one) => one.root.contains(event.target));
    if (focused || event.key === "ArrowUp" || event.key === "ArrowDown") return focused; // these scroll elsewhere
    return choices.find((one) => one.widget.read() === undefined) ?? (questions.length === 1 ? choices[0] : undefined);
  }

  /** Keys that work independent of focus; typing into fields, dialogs and messages is left alone. */
  function onKey(event, questions, next) {
    const busy = document.querySelector("dialog[open]") || !document.getElementById("message").hidden;
    if (busy || event.defaultPrevented || event.repeat || event.altKey || event.metaKey) return;
    if (event.key === "Enter") {
      if (!event.ctrlKey && event.target.closest("button, textarea, a, input, video")) return; // fields submit the form
      event.preventDefault();
      next();
    } else if (!event.ctrlKey && !event.target.closest("input, textarea, .surface, video")) {
      if (questionOf(questions, event)?.widget.press(event.key)) event.preventDefault();
    }
  }

  /** Resolves when every question is answered and confirmed, or the page's time is up. */
  function answered(view, page, clock) {
    return new Promise((resolve) => {
      const keys = (event) => onKey(event, view.questions, next);
      const finish = () => {
        clearInterval(countdown);
        document.removeEventListener("keydown", keys);
        view.confirm = () => {};
        resolve({ ...readAnswers(view.questions), ...clock.read() });
      };
      const next = () => isComplete(view.questions) && finish();
      const tick = () => {
        if (!view.root.isConnected) return clearInterval(countdown); // the person stopped
        const left = page.seconds - clock.read().seconds;
        Snellen.showTime(left);
        if (left <= 0) finish();
      };
      const countdown = page.seconds ? setInterval(tick, 100) : 0;
      view.confirm = next;
      // A complaint disappears once there is an answer.
      const recheck = () => setTimeout(() => view.questions.filter((one) => one.complaint.textContent).forEach((one) => (one.complaint.textContent = one.widget.complaint())));
      for (const kind of ["input", "click", "pointerup", "keyup"]) view.root.addEventListener(kind, recheck);
      view.form.addEventListener("submit", (event) => {
        event.preventDefault();
        view.confirm();
      });
      document.addEventListener("keydown", keys);
    });
  }

  /**
   * Says which answers were right, and shows the right ones unless there is another try; resolves at the button, with
   * whether no answer was wrong (an example has none).
   */
  function showFeedback(view, page, isLast) {
    let passed = true;
    for (const one of view.questions) {
      const right = page.feedback[one.question.item_id];
      if (right === undefined || right === null) continue;
      const wrong = one.widget.reveal(right, page, false)[0] === false && page.kind !== "example";
      const [verdict, answer] = one.widget.reveal(right, page, !wrong || isLast);
      passed = passed && !wrong;
      one.root.dataset.right = String(page.kind === "example" ? null : verdict);
      const solution = `The right answer: ${answer}`;
      one.feedback.textContent = verdict ? "Right." : !wrong ? solution : isLast ? `Not right. ${solution}. You may go on all the same.` : "Not right. Please look again.";
      one.root.inert = true;
    }
    return new Promise((resolve) => {
      const go = element("button", { type: "button", id: "continue", click: () => resolve(passed) }, passed || isLast ? "Continue" : "Try again");
      Snellen.endScreen();
      view.root.querySelector(".actions").replaceChildren(go);
      view.root.inert = false;
      go.focus();
    });
  }

  /** Shows a page and starts its clock with the first frame that shows everything. */
  async function reveal(view, clock) {
    const slow = setTimeout(() => Snellen.showStatus("Loading …"), 400);
    await insist(() => Promise.all(view.media.map((medium) => medium.ready())), "Something of this page could not be loaded.");
    clearTimeout(slow);
    Snellen.showStatus("");
    view.root.classList.remove("waiting");
    for (const enlarge of view.root.querySelectorAll(".enlarge")) {
      const images = [...enlarge.parentElement.querySelectorAll("img")];
      enlarge.hidden = images.every((image) => image.clientWidth >= 0.95 * image.naturalWidth);
    }
    const larger = [...view.root.querySelectorAll(".image img")].filter((image) => Snellen.enlargedWidth(image) > 1.05 * image.clientWidth);
    if (larger.length) view.root.querySelector(".parts").append(element("p", { class: "note" }, "Press an image to enlarge it."));
    const isCut = [...view.root.querySelectorAll(".stage:has([data-pixels])")].some((stage) => stage.scrollWidth > stage.clientWidth);
    if (isCut) view.root.querySelector(".parts").append(element("p", { class: "note" }, "The window is too narrow for the image. Please make it wider, or turn the device."));
    await Snellen.painted();
    clock.paint();
    for (const medium of view.media) medium.begin();
    view.root.dataset.ready = "";
    const typing = view.questions.length === 1 && view.questions[0].root.querySelector("input[type=text][data-field=answer], textarea");
    if (typing && window.matchMedia("(pointer: fine)").matches) typing.focus();
    else view.root.focus({ preventScroll: true });
  }

  /** Shows a page once; resolves with its answers and whether no answer was wrong, as far as the page judges. */
  async function tryPage(display, { page, place, pause }, isLast = false) {
    const clock = Snellen.makeClock();
    const view = makeView(page, place, () => view.confirm());
    pause.setClock(clock);
    display.replaceChildren(view.root);
    await reveal(view, clock);
    const outcome = page.kind === "example" ? { ...readAnswers(view.questions), ...clock.read() } : await answered(view, page, clock);
    pause.setClock(null);
    Snellen.showTime(null);
    view.root.inert = true;
    return { outcome, passed: page.feedback ? await showFeedback(view, page, isLast) : true };
  }

  /** Shows a page, for practice until nothing is wrong or attempts end; the answers of the first attempt are kept. */
  async function runPage(display, trial) {
    const first = await tryPage(display, trial);
    let [last, attempts] = [first, 1];
    for (; !last.passed && attempts < ATTEMPTS; attempts += 1) last = await tryPage(display, trial, attempts + 1 === ATTEMPTS);
    const record = { type: "answers", page_id: trial.page.page_id, position: trial.place, ...first.outcome, attempts, passed: last.passed };
    await trial.keep(record);
    return record;
  }

  /** A page of the plan. Its data are those of the record (`PageAnswers` in plan.py); times are in seconds. */
  class PagePlugin {
    static info = {
      name: "snellen-page",
      version,
      parameters: {
        /** The page, as in plan.json. */
        page: { type: ParameterType.OBJECT },
        /** Its number among the pages of the form, from 0. */
        place: { type: ParameterType.INT },
        /** `keep(record)` resolves when the record is kept. */
        keep: { type: ParameterType.FUNCTION },
        /** Receives the clock of the page, so that pauses are not counted. */
        pause: { type: ParameterType.OBJECT },
      },
      data: {
        page_id: { type: ParameterType.STRING },
        place: { type: ParameterType.INT },
        answers: { type: ParameterType.OBJECT },
        reasons: { type: ParameterType.OBJECT },
        seconds: { type: ParameterType.FLOAT },
        loading: { type: ParameterType.FLOAT },
        hidden: { type: ParameterType.FLOAT },
        attempts: { type: ParameterType.INT },
        passed: { type: ParameterType.BOOL },
      },
    };

    constructor(jsPsych) {
      this.jsPsych = jsPsych;
    }

    trial(display, trial) {
      runPage(display, trial).then((record) => this.jsPsych.finishTrial(record), Snellen.fail);
    }
  }

  /** A row of words, each below an image that shows what it means; null without words. */
  function termsOf(terms) {
    if (!terms.length) return null;
    const figures = terms.map(({ word, image }) => element("figure", {}, element("img", { src: image.path, alt: "", width: image.width, height: image.height }), element("figcaption", {}, word)));
    return element("div", {}, element("p", {}, "These words are used in the questions:"), element("div", { class: "terms" }, figures));
  }

  /** Shows a text to read and a button with the id `button`; resolves when it was pressed, with false for the `refusal`. */
  async function showWords(display, { title = "", text, terms = [], above, below, button, label, refusal = "" }) {
    const go = element("button", { type: "button", id: button }, label);
    const no = refusal ? element("button", { type: "button", id: "refuse", class: "plain" }, refusal) : null;
    const heading = title ? element("h1", {}, title) : null;
    const root = element("section", { class: "words", tabindex: -1 }, heading, paragraphs(text), termsOf(terms), above?.(), element("div", { class: "actions" }, go, no), element("div", { class: "note" }, below?.() ?? []));
    display.replaceChildren(root);
    (button === "consent" ? root : go).focus({ preventScroll: true });
    const pressed = await new Promise((resolve) => [go, no].forEach((one) => one?.addEventListener("click", () => resolve(one))));
    go.disabled = true;
    return pressed === go;
  }

  /** `showWords` in the order of the study. */
  class WordsPlugin {
    static info = {
      name: "snellen-words",
      version,
      parameters: {
        title: { type: ParameterType.STRING, default: "" },
        text: { type: ParameterType.STRING, default: "" },
        /** Words with images that show what they mean. */
        terms: { type: ParameterType.COMPLEX, default: [] },
        /** `above()` and `below()` make what stands above and below the button. */
        above: { type: ParameterType.FUNCTION, default: null },
        below: { type: ParameterType.FUNCTION, default: null },
        button: { type: ParameterType.STRING },
        label: { type: ParameterType.STRING },
      },
      data: {},
    };

    constructor(jsPsych) {
      this.jsPsych = jsPsych;
    }

    trial(display, trial) {
      showWords(display, trial).then(() => this.jsPsych.finishTrial({}), Snellen.fail);
    }
  }

  Object.assign(Snellen, { PagePlugin, WordsPlugin, showWords });
})();
