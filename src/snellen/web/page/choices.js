/** The widget for choice and true/false: buttons with a name, a text and images, one of which is chosen. */
"use strict";

(() => {
  const { element } = Snellen;
  const SHORT = 14; // letters; choices with texts up to this length are in one row
  const TRUTHS = [{ name: "True", text: "", media: [] }, { name: "False", text: "", media: [] }];

  /**
   * Keys of choices, key -> index: names whose first word is one sign ("A", "(b) cat", "3. dog") have that sign, others
   * their first letter if no other name has that key. If letters cannot tell all choices apart, they are numbered.
   */
  function shortcuts(names) {
    const firsts = names.map((name) => name.toLowerCase().match(/[\p{L}\p{N}]+/u)?.[0] ?? "");
    const signs = firsts.map((word) => (word.length === 1 || /^\p{L}/u.test(word) ? word[0] : ""));
    const alone = (sign) => signs.filter((other) => other === sign).length === 1;
    if (names.length < 10 && !signs.every((sign) => sign && alone(sign)) && !signs.some((sign) => /\p{N}/u.test(sign))) return new Map(names.map((name, index) => [`${index + 1}`, index]));
    return new Map(signs.map((sign, index) => [sign, index]).filter(([sign]) => sign && alone(sign)));
  }

  /** The content of a choice. Its images can be enlarged together by a button next to it. */
  function makeChoice(choice, key) {
    const media = choice.media.map((part, index) => {
      const label = `Choice ${choice.name}${choice.media.length > 1 ? `, image ${index + 1}` : ""}`;
      return part.kind === "video" ? Snellen.video(part, label) : Snellen.plainImage(part, label);
    });
    const isTruth = choice.text === "True" || choice.text === "False"; // in words alone, instead of T or F
    const words = isTruth ? [element("span", { class: "text" }, choice.text)] : choice.text && choice.text !== choice.name ? [element("span", { class: "name" }, choice.name), element("span", { class: "text" }, choice.text)] : element("span", { class: choice.media.length ? "name" : "text" }, choice.name);
    const stage = media.length ? element("span", { class: media.length > 1 ? "stage many" : "stage" }, media.map((medium) => medium.element)) : null;
    const button = element("button", { type: "button", class: "choice", role: "radio", "aria-checked": "false", tabindex: -1, "data-name": choice.name, "aria-keyshortcuts": key, "data-number": /\d/.test(key) && !choice.name.includes(key) ? key : null }, element("span", { class: "words-of-choice" }, words), stage);
    const images = media.map((medium) => medium.image).filter(Boolean);
    const enlarge = images.length ? element("button", { type: "button", class: "enlarge", "aria-label": `Enlarge choice ${choice.name}`, title: "Enlarge", click: () => Snellen.zoom(images) }, "+") : null;
    return { button, media, cell: element("div", { class: "cell" }, button, enlarge) };
  }

  function layout(choices) {
    if (choices.some((choice) => choice.media.length)) return choices.length === 2 ? "two" : choices.some((choice) => choice.media.length > 1) ? "sets" : "cards";
    return choices.every((choice) => (choice.text || choice.name).length <= SHORT) ? "row" : "column";
  }

  /** `submit` is called when the chosen one is confirmed: by its key again, or by Enter. */
  function choiceWidget(question, label, submit) {
    const choices = question.choices.length ? question.choices : TRUTHS;
    const keys = shortcuts(choices.map((choice) => choice.name));
    const keyOf = (index) => [...keys].find(([, other]) => other === index)?.[0];
    const options = choices.map((choice, index) => makeChoice(choice, keyOf(index)));
    const buttons = options.map((option) => option.button);
    let chosen = -1;
    const choose = (index, focus = true) => {
      chosen = (index + buttons.length) % buttons.length;
      buttons.forEach((button, other) => {
        button.setAttribute("aria-checked", String(other === chosen));
        button.tabIndex = other === chosen ? 0 : -1;
      });
      if (focus) buttons[chosen].focus();
    };
    const step = (key) => {
      if (key === "ArrowRight" || key === "ArrowDown") choose(chosen + 1);
      else if (key === "ArrowLeft" || key === "ArrowUp") choose(chosen < 0 ? -1 : chosen - 1);
      else return false;
      return true;
    };
    buttons.forEach((button, index) => {
      button.addEventListener("click", () => choose(index));
      button.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" || event.repeat) return;
        event.preventDefault(); // otherwise Enter would also click
        if (chosen === index) submit();
        else choose(index);
      });
    });
    buttons[0].tabIndex = 0;
    return {
      element: element("div", { class: `choices ${layout(choices)}`, role: "radiogroup", "aria-label": label }, options.map((option) => option.cell)),
      media: options.flatMap((option) => option.media),
      read: () => (chosen < 0 ? undefined : choices[chosen].name),
      complaint: () => (chosen < 0 ? "Please choose an answer." : ""),
      keys: [...keys.keys()],
      /** True if the key was meant for this question. The key of the chosen one confirms. */
      press(key) {
        if (step(key)) return true;
        const index = keys.get(key.toLowerCase());
        if (index === undefined) return false;
        if (index === chosen) submit();
        else choose(index);
        return true;
      },
      reveal(right, page, marks) {
        if (marks) choices.forEach((choice, index) => options[index].cell.classList.toggle("right", choice.name === right));
        return [chosen >= 0 && choices[chosen].name === right, right];
      },
      focus: () => buttons[Math.max(0, chosen)].focus(),
    };
  }

  Object.assign(Snellen, { choiceWidget });
})();
