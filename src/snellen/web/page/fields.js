/**
 * Widgets for typed or set answers: integer, number, text, description, colour.
 *
 * Every widget has `element`, `read()` (the answer, or undefined while there is none), `complaint()` (what is missing,
 * or ""), `reveal(right, page, marks)` (practice: marks the right answer, unless it may be tried again; returns whether the answer
 * was right, null if it does not judge, and the right one in words) and `focus()`; choices also `press(key)`.
 */
"use strict";

(() => {
  const { element, typed } = Snellen;
  /** The greatest length of a text, as in snellen.web.admission. */
  const MAX_TEXT = 20000;
  const INTEGER = /^[+-]?\d+$/;
  const NUMBER = /^[+-]?(\d+([.,]\d*)?|[.,]\d+)$/;

  function stepper(field, label, step) {
    const change = () => {
      const number = INTEGER.test(field.value.trim()) ? Number(field.value) : 0;
      field.value = String(number + step);
    };
    return element("button", { type: "button", class: "step", "aria-label": label, "data-field": step > 0 ? "plus" : "minus", click: change }, step > 0 ? "+" : "−");
  }

  /** Integers have buttons and arrow keys for plus and minus one. The answer is the typed text, with a decimal point. */
  function numberWidget(question, label) {
    const whole = question.kind === "integer";
    const pattern = whole ? INTEGER : NUMBER;
    const field = element("input", { type: "text", inputmode: whole ? "numeric" : "decimal", autocomplete: "off", enterkeyhint: "next", size: 8, "data-field": "answer", "aria-label": label });
    const plus = stepper(field, "One more", 1);
    const minus = stepper(field, "One less", -1);
    if (whole) {
      field.addEventListener("keydown", (event) => {
        const button = { ArrowUp: plus, ArrowDown: minus }[event.key];
        if (!button) return;
        event.preventDefault();
        button.click();
      });
    }
    const text = () => field.value.trim();
    const root = element("div", { class: "number" }, whole ? [minus, field, plus] : field);
    return {
      element: root,
      read: () => (pattern.test(text()) ? text().replace(",", ".") : undefined),
      complaint: () => (pattern.test(text()) ? "" : text() ? `Please write ${whole ? "a whole number" : "a number"} in digits.` : "Please write a number."),
      reveal: (right) => [text() !== "" && Number(text().replace(",", ".")) === Number(right), String(right)],
      focus: () => field.focus(),
    };
  }

  function textWidget(question, label) {
    const attributes = { "data-field": "answer", "aria-label": label };
    const field = question.kind === "description" ? element("textarea", { rows: 5, maxlength: MAX_TEXT, ...attributes }) : element("input", { type: "text", maxlength: MAX_TEXT, autocomplete: "off", enterkeyhint: "next", ...attributes });
    return {
      element: field,
      read: () => typed(field) || undefined,
      complaint: () => (field.value.trim() ? "" : "Please write an answer."),
      reveal: (right, page) => [question.kind === "description" ? null : Snellen.isRightText(typed(field), [right, ...(Object.hasOwn(page.accepted, question.item_id) ? page.accepted[question.item_id] : [])], page.tolerance), String(right)],
      focus: () => field.focus(),
    };
  }

  const toHex = (levels) => "#" + levels.map((level) => level.toString(16).padStart(2, "0")).join("");
  const toLevels = (hex) => [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));

  /** A slider and a field for the level of red, green or blue, 0 to 255. */
  function channel(name, change) {
    const slider = element("input", { type: "range", min: 0, max: 255, step: 1, value: 128, class: name, "aria-label": `${name}, 0 to 255`, "data-field": name });
    const field = element("input", { type: "number", min: 0, max: 255, step: 1, value: 128, "aria-label": `${name}, number`, "data-field": `${name}-number` });
    slider.addEventListener("input", () => change(Number(slider.value)));
    field.addEventListener("input", () => {
      if (field.value !== "" && field.validity.valid) change(Number(field.value));
    });
    const show = (level) => {
      slider.value = level;
      if (field.value !== String(level)) field.value = level;
    };
    return { name, show, slider, element: element("div", { class: "channel" }, element("span", { class: "channel-name", "aria-hidden": "true" }, name), slider, field) };
  }

  /** Sliders, a swatch and the browser's own picker. There is no answer until something was set. */
  function colourWidget() {
    const levels = [128, 128, 128];
    let chosen = false;
    const swatch = element("div", { class: "swatch", role: "img", "aria-label": "The colour set so far" });
    const picker = element("input", { type: "color", "aria-label": "Colour picker of the browser", "data-field": "picker" });
    const channels = ["red", "green", "blue"].map((name, index) =>
      channel(name, (level) => {
        chosen = true;
        levels[index] = level;
        show();
      }),
    );
    const show = () => {
      channels.forEach((one, index) => one.show(levels[index]));
      swatch.style.backgroundColor = picker.value = toHex(levels);
    };
    picker.addEventListener("input", () => {
      chosen = true;
      levels.splice(0, 3, ...toLevels(picker.value));
      show();
    });
    show();
    const swatches = element("div", { class: "swatches" }, swatch);
    const root = element("div", { class: "colour" }, element("div", { class: "stage" }, swatches), element("div", { class: "channels" }, channels.map((one) => one.element), element("label", { class: "picker" }, "or pick: ", picker)));
    return {
      element: root,
      read: () => (chosen ? [...levels] : undefined),
      complaint: () => (chosen ? "" : "Please set a colour."),
      reveal(right, { tolerance }, marks) {
        const other = element("div", { class: "swatch", role: "img", "aria-label": "The right colour" });
        other.style.backgroundColor = toHex(right);
        if (marks) swatches.append(other);
        return [tolerance === null ? null : chosen && Snellen.colourDifference(levels, right) <= tolerance, "the colour below yours"];
      },
      focus: () => channels[0].slider.focus(),
    };
  }

  Object.assign(Snellen, { numberWidget, textWidget, colourWidget });
})();
