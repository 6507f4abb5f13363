/** The frame around the pages: progress, pause, messages, saving, and the rows that a participant has recorded. */
"use strict";

(() => {
  const { element } = Snellen;
  const AGAIN = 400; // milliseconds in which a second press of a key belongs to the first
  const byId = (id) => document.getElementById(id);

  let pressed = { key: "", time: -Infinity };
  let ended = pressed; // the key that ended the last screen

  /** A screen gives way to the next: its last key, held or pressed again at once, is not meant for the next one. */
  const endScreen = () => (ended = pressed);

  function onPress(event) {
    const isAgain = event.key === ended.key && event.timeStamp - ended.time < AGAIN;
    if (!isAgain && !(event.repeat && event.key === "Enter")) pressed = { key: event.key, time: event.timeStamp };
    else event.preventDefault(), event.stopImmediatePropagation();
  }
  document.addEventListener("keydown", onPress, true);

  /** Names the screen for styles and for automatic participants: loading, consent, start, calibration, block, page, end. */
  function showScreen(name) {
    endScreen();
    byId("zoom").close();
    document.body.dataset.screen = name;
    byId("pause").hidden = name !== "page" && name !== "block";
    byId("place").hidden = byId("progress").hidden = name !== "page" && name !== "block";
    if (name !== "page") byId("time").hidden = true;
    window.scrollTo(0, 0);
  }

  /** Shows the number of the current page and of all pages; `answered` are those already stored. */
  function showProgress(place, total, answered, kind) {
    const name = { practice: "Practice, question", example: "Example, page" }[kind] ?? "Question";
    byId("place").textContent = `${name} ${place + 1} of ${total}`;
    byId("progress").value = answered / total;
  }

  /** Shows the remaining whole seconds; null hides them. */
  function showTime(seconds) {
    byId("time").hidden = seconds === null;
    const text = seconds === null ? "" : `${Math.ceil(Math.max(0, seconds))} s left`;
    if (byId("time").textContent !== text) byId("time").textContent = text;
  }

  function showStatus(text) {
    byId("status").textContent = text;
  }

  /** Shows an error; resolves when the button is pressed. */
  function complain(text, label = "Try again") {
    const message = byId("message");
    byId("message-text").textContent = text;
    byId("again").textContent = label;
    message.hidden = false;
    byId("again").focus();
    return new Promise((resolve) => {
      byId("again").onclick = () => {
        message.hidden = true;
        resolve();
      };
    });
  }

  /** Reloads the page, which continues after the last stored answer. Never resolves. */
  async function startOver(text) {
    await complain(text, "Load the page again");
    location.reload();
    return new Promise(() => {});
  }

  /**
   * Repeats an action until it works: after every failure the person sees the reason and may try again. An error with
   * `stale` means that the study continued elsewhere, so that only reloading helps.
   */
  async function insist(action, trouble) {
    for (;;) {
      try {
        return await action();
      } catch (error) {
        console.warn(error);
        showStatus("");
        const text = `${trouble} ${error?.message ?? error}`;
        await (error?.stale ? startOver(text) : complain(text));
      }
    }
  }

  /** A defect of the page itself: nothing is lost by reloading it. */
  function fail(error) {
    console.error(error);
    startOver(`The page cannot go on: ${error?.message ?? error}. What was answered is saved.`);
  }

  /** Covers the page on Pause, and notices when it is out of sight. `setClock` sets the clock to halt. */
  function makePause(stop) {
    let clock = null;
    const dialog = byId("paused");
    byId("pause").addEventListener("click", () => {
      clock?.cover("pause");
      dialog.showModal();
    });
    byId("resume").addEventListener("click", () => {
      clock?.uncover("pause"); // at the click: the close event comes later, on a busy machine much later
      dialog.close();
    });
    byId("stop").addEventListener("click", () => (dialog.close(), stop()));
    dialog.addEventListener("close", () => clock?.uncover("pause")); // by Escape
    document.addEventListener("visibilitychange", () => (document.hidden ? clock?.cover("tab") : clock?.uncover("tab")));
    return {
      setClock(next) {
        clock = next;
        if (next && document.hidden) next.cover("tab");
      },
    };
  }

  /** A participant's rows: those returned by `open` and those appended since. `code` is theirs if they have none yet. */
  function makeSession(transport, opened, code) {
    const rows = [...opened.records].sort((one, other) => one.sequence - other.sequence);
    let sequence = rows.length ? rows[rows.length - 1].sequence + 1 : 0;
    let closed = false;
    const never = new Promise(() => {});
    const ofType = (type) => rows.filter((row) => row.record.type === type);
    let last = Promise.resolve();
    async function store(record) {
      if (closed) return never;
      const row = { sequence, record };
      const slow = setTimeout(() => showStatus("Saving …"), 400);
      await insist(() => transport.append(row), "The answer is not saved yet.");
      clearTimeout(slow);
      showStatus("");
      rows.push(row);
      sequence += 1;
      return closed ? never : row;
    }
    return {
      rows,
      participant: opened.participant,
      form: opened.form,
      code: ofType("start").map((row) => row.record.code).find(Boolean) ?? code,
      /** From now on nothing is appended, and `append` never resolves. */
      close: () => (closed = true),
      has: (type) => ofType(type).length > 0,
      answered: () => new Set(ofType("answers").map((row) => row.record.position)),
      /** Resolves when the record is stored; nothing else may be shown before. A record waits for those before it. */
      append(record) {
        const timed = { ...record, time: new Date().toISOString() };
        return (last = last.then(() => store(timed)));
      },
    };
  }

  /** The width at which an image is opened: up to twice that on the page, as the window allows; at least its own. */
  const enlargedWidth = (image) => Math.max(image.naturalWidth, Math.min(2 * image.clientWidth, window.innerWidth - 32));

  /** Opens images larger; scrolls if the window is smaller. */
  function zoom(images) {
    const dialog = byId("zoom");
    const close = element("button", { type: "button", id: "close-zoom", click: () => dialog.close() }, "Close");
    const copies = images.map((image) => {
      return element("img", { src: image.src, alt: image.alt, width: enlargedWidth(image), click: () => dialog.close() });
    });
    dialog.replaceChildren(close, element("div", { class: images.length > 1 ? "stage several" : "stage" }, copies));
    dialog.showModal();
  }

  Object.assign(Snellen, { endScreen, showScreen, showProgress, showTime, showStatus, insist, fail, makePause, makeSession, enlargedWidth, zoom });
})();
