/** Helper functions of the study page, attached to one global object; index.html loads the scripts in order. */
"use strict";
globalThis.Snellen = {};

(() => {
  /**
   * Makes an element. Attributes that are functions listen to the event of that name ("click"); true sets an empty
   * attribute; false, null and undefined set none. Children are elements or texts; null is left out.
   */
  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, setting] of Object.entries(attributes)) {
      if (typeof setting === "function") made.addEventListener(name, setting);
      else if (setting !== false && setting !== null && setting !== undefined) made.setAttribute(name, setting === true ? "" : setting);
    }
    made.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return made;
  }

  /** A text as paragraphs, which empty lines separate. */
  function paragraphs(text) {
    return text.split(/\n\s*\n/).filter((part) => part.trim()).map((part) => element("p", {}, part.trim()));
  }

  /** The typed text without blanks around it; half a character (an emoji cut in two) becomes U+FFFD, as in any form. */
  function typed(field) {
    const text = field.value.trim();
    return text.toWellFormed?.() ?? text;
  }

  /** The address of the page for a participant, or for a new one. */
  function addressOf(participant) {
    const address = new URL(location.href);
    address.searchParams.delete("participant");
    if (participant) address.searchParams.set("participant", participant);
    return address;
  }

  /** Resolves when the browser has painted a frame with the current document. */
  function painted() {
    return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  }

  /** Resolves after this number of seconds. */
  function wait(seconds) {
    return new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
  }

  /**
   * The clock of one page, in seconds. It starts at `paint`; time while the page is covered for any reason ("pause",
   * "tab") counts as hidden and not as answer time.
   */
  function makeClock() {
    const now = () => performance.now() / 1000;
    const opened = now();
    const covers = new Set();
    let shown = null;
    let since = opened;
    let hidden = 0;
    const coveredUntil = (moment) => (covers.size && shown !== null ? moment - Math.max(since, shown) : 0);
    return {
      paint() {
        shown = now();
      },
      cover(reason) {
        if (!covers.size) since = now();
        covers.add(reason);
      },
      uncover(reason) {
        if (!covers.has(reason)) return;
        if (covers.size === 1) hidden += coveredUntil(now());
        covers.delete(reason);
      },
      read() {
        const moment = now();
        const away = hidden + coveredUntil(moment);
        return { seconds: toMilliseconds(moment - shown - away), loading: toMilliseconds(shown - opened), hidden: toMilliseconds(away) };
      },
    };
  }

  /** Seconds, rounded to a thousandth. */
  function toMilliseconds(seconds) {
    return Math.round(1000 * Math.max(0, seconds)) / 1000;
  }

  Object.assign(Snellen, { addressOf, element, paragraphs, painted, typed, wait, makeClock });
})();
