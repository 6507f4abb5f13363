/** The screen of a calibrated study: a rectangle is matched to a bank card, and the distance of the eyes is asked. */
"use strict";

(() => {
  const { element } = Snellen;
  const CARD = [85.6, 53.98]; // millimetres, ISO/IEC 7810 ID-1
  const [SMALLEST, LARGEST, FIRST] = [100, 1000, 180]; // CSS pixels; the first is too small for nearly every screen
  const [NEAREST, FARTHEST] = [20, 200]; // centimetres, as in snellen.web.plan
  const NARROW = 640; // CSS pixels; in a narrower window the card is upright

  /** A rectangle whose long side is set by a slider and two buttons. `read()` is null until it was set at this zoom. */
  function cardField() {
    const isUpright = window.innerWidth < NARROW;
    const rectangle = element("div", { class: "card", "aria-hidden": "true" });
    const slider = element("input", { type: "range", min: SMALLEST, max: LARGEST, step: 1, value: FIRST, "data-field": "card", "aria-label": "Size of the rectangle" });
    let ratio = null;
    const show = () => {
      const sides = CARD.map((side) => (Number(slider.value) * side) / CARD[0]);
      const [width, height] = isUpright ? sides.reverse() : sides;
      Object.assign(rectangle.style, { width: `${width}px`, height: `${height}px` });
      slider.setAttribute("aria-valuetext", `${Math.round(width)} by ${Math.round(height)} pixels`);
    };
    const set = () => ((ratio = window.devicePixelRatio), show());
    const step = (sign, label) => element("button", { type: "button", class: "step", "aria-label": label, click: () => ((slider.value = Number(slider.value) + sign), set()) }, sign > 0 ? "+" : "−");
    slider.addEventListener("input", set);
    show();
    return {
      element: element("div", {}, element("div", { class: "slider" }, step(-1, "Smaller by one pixel"), slider, step(1, "Larger by one pixel")), element("div", { class: "cards" }, rectangle)),
      slider,
      complaint: () => (ratio === null ? "Please match the rectangle to your card." : ratio === window.devicePixelRatio ? "" : "The zoom of the browser changed. Please match the rectangle again."),
      read: () => Number(slider.value),
    };
  }

  /** Shows the screen; resolves with the record (`Calibration` in plan.py). */
  function calibrate(display) {
    const card = cardField();
    const without = element("input", { type: "checkbox", "data-field": "no-card" });
    const distance = element("input", { type: "number", min: NEAREST, max: FARTHEST, step: "any", inputmode: "decimal", autocomplete: "off", "data-field": "distance" });
    const complaint = element("p", { class: "complaint", role: "alert" });
    const go = element("button", { type: "submit", id: "calibrate" }, "Continue");
    const form = element(
      "form", { novalidate: true, autocomplete: "off" },
      element("p", {}, "Hold a bank card flat against the screen, with a corner at the upper left corner of the rectangle. Make the rectangle as large as the card, by the slider, the arrow keys or the buttons. Any card of that size will do, such as most driving licences. Nothing of the card is recorded but its size on the screen."),
      card.element,
      element("label", { class: "line" }, without, "I have no such card here."),
      element("label", { class: "distance" }, "Distance from your eyes to the screen, in centimetres", distance, element("span", { class: "note" }, "An arm's length is about 60 cm.")),
      complaint,
      element("div", { class: "actions" }, go),
    );
    without.addEventListener("change", () => (card.element.inert = without.checked));
    for (const kind of ["input", "click"]) form.addEventListener(kind, (event) => event.target !== go && (complaint.textContent = ""));
    const root = element("section", { class: "words", tabindex: -1 }, element("h1", {}, "Your screen and your distance"), form);
    display.replaceChildren(root);
    root.focus({ preventScroll: true });
    return new Promise((resolve) => {
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        const isDistance = distance.value !== "" && distance.validity.valid;
        const missing = without.checked ? "" : card.complaint();
        complaint.textContent = missing || (isDistance ? "" : `Please write the distance in centimetres, from ${NEAREST} to ${FARTHEST}.`);
        if (complaint.textContent) return (missing ? card.slider : distance).focus();
        go.disabled = true;
        resolve({ type: "calibration", card_px: without.checked ? null : card.read(), pixel_ratio: window.devicePixelRatio, distance_cm: Number(distance.value) });
      });
    });
  }

  /** `keep(record)` resolves when the record is kept. */
  class CalibrationPlugin {
    static info = { name: "snellen-calibration", version: document.documentElement.dataset.version, parameters: { keep: { type: jsPsychModule.ParameterType.FUNCTION } }, data: {} };

    constructor(jsPsych) {
      this.jsPsych = jsPsych;
    }
    trial(display, trial) {
      calibrate(display).then(trial.keep).then(() => this.jsPsych.finishTrial({}), Snellen.fail);
    }
  }

  Object.assign(Snellen, { CalibrationPlugin });
})();
