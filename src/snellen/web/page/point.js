/** The widget for points, set on an image by mouse, pen, finger or keys, in pixels of the stored image. */
"use strict";

(() => {
  const { element } = Snellen;
  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

  const clamp = (number, high) => Math.min(high, Math.max(0, number));
  const toHundredths = (number) => Math.round(100 * number) / 100;

  /** Puts a cross over the image at a point, in percent, so that it fits at any size. */
  function place(cross, [x, y], [width, height]) {
    cross.style.left = `${(100 * x) / width}%`;
    cross.style.top = `${(100 * y) / height}%`;
  }

  /** `image` is the image element, already in the page; `size` its stored width and height. */
  function pointWidget(label, image, size) {
    let point = null;
    const cross = element("div", { class: "cross", hidden: true });
    const surface = element("div", { class: "surface", role: "application", tabindex: 0, "data-field": "point", "aria-label": `${label}. Set a point: click, or use the arrow keys; with Control by single pixels.` });
    image.replaceWith(surface);
    surface.append(image, cross);
    const report = element("output", { class: "note", "aria-live": "polite" }, "No point yet.");
    const set = (next) => {
      point = next && next.map((number, axis) => clamp(number, size[axis]));
      cross.hidden = !point;
      if (point) place(cross, point, size);
      report.textContent = point ? `Point at (${point.map(Math.round).join(", ")}).` : "No point yet.";
    };
    surface.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !event.isPrimary) return;
      event.preventDefault();
      surface.focus({ preventScroll: true });
      const frame = image.getBoundingClientRect();
      set([((event.clientX - frame.left) / frame.width) * size[0], ((event.clientY - frame.top) / frame.height) * size[1]]);
    });
    const large = Math.max(1, Math.round(Math.max(...size) / 50));
    surface.addEventListener("keydown", (event) => {
      const arrow = ARROWS[event.key];
      if (event.key === "Delete" || event.key === "Backspace") set(null);
      else if (!arrow) return;
      else set(point ? point.map((number, axis) => number + arrow[axis] * (event.ctrlKey ? 1 : large)) : size.map((side) => side / 2));
      event.preventDefault();
    });
    return {
      element: element("div", { class: "boxes" }, element("p", { class: "note" }, "Click on the image; click again to move the point."), report),
      read: () => (point ? point.map(toHundredths) : undefined),
      complaint: () => (point ? "" : "Please click on the image."),
      reveal(right, { tolerance }, marks) {
        const other = element("div", { class: "cross right" });
        place(other, right, size);
        if (marks) surface.append(other);
        surface.inert = true;
        return [point !== null && Math.hypot(point[0] - right[0], point[1] - right[1]) <= (tolerance ?? 0), "the dashed cross"];
      },
      focus: () => surface.focus(),
    };
  }

  Object.assign(Snellen, { pointWidget });
})();
