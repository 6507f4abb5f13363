/** The widget for boxes, drawn on an image by mouse, pen, finger or keys, in pixels of the stored image. */
"use strict";

(() => {
  const { element } = Snellen;
  const SMALLEST = 2; // pixels of the image; a click is not a box
  const HANDLES = ["nw", "n", "ne", "e", "se", "s", "sw", "w"];
  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

  const clamp = (number, low, high) => Math.min(high, Math.max(low, number));
  const toHundredths = (number) => Math.round(100 * number) / 100;

  /** The box with ordered edges (left, top, right, bottom), inside an image of that size. */
  function ordered([x1, y1, x2, y2], width, height) {
    return [clamp(Math.min(x1, x2), 0, width), clamp(Math.min(y1, y2), 0, height), clamp(Math.max(x1, x2), 0, width), clamp(Math.max(y1, y2), 0, height)];
  }

  /** The box moved by (dx, dy), stopped at the image's edges. */
  function moved([x1, y1, x2, y2], dx, dy, width, height) {
    const right = clamp(dx, -x1, width - x2);
    const down = clamp(dy, -y1, height - y2);
    return [x1 + right, y1 + down, x2 + right, y2 + down];
  }

  /** The box with the edges that a handle ("nw", "e" …) moves set to the point. */
  function resized(box, handle, [x, y]) {
    const [x1, y1, x2, y2] = box;
    return [handle.includes("w") ? x : x1, handle.includes("n") ? y : y1, handle.includes("e") ? x : x2, handle.includes("s") ? y : y2];
  }

  /** Puts a frame over the image at a box, in percent, so that it fits at any size. */
  function place(frame, [x1, y1, x2, y2], width, height) {
    frame.style.left = `${(100 * x1) / width}%`;
    frame.style.top = `${(100 * y1) / height}%`;
    frame.style.width = `${(100 * (x2 - x1)) / width}%`;
    frame.style.height = `${(100 * (y2 - y1)) / height}%`;
  }

  /** Returns how a drag from a point changes the box: a handle resizes, the inside moves, outside a new one begins. */
  function dragOf(event, start, box, size) {
    const handle = event.target.dataset.handle;
    if (box && handle) return (point) => ordered(resized(box, handle, point), ...size);
    if (box && event.target.classList.contains("box")) return (point) => moved(box, point[0] - start[0], point[1] - start[1], ...size);
    return (point) => ordered([...start, ...point], ...size);
  }

  /** Follows pointers on the surface. `get` and `set` access the box; a cancelled drag changes nothing. */
  function followPointers(surface, image, size, get, set) {
    let drag = null;
    const point = (event) => {
      const frame = image.getBoundingClientRect();
      return [((event.clientX - frame.left) / frame.width) * size[0], ((event.clientY - frame.top) / frame.height) * size[1]];
    };
    const stop = (event, keep) => {
      if (!drag || event.pointerId !== drag.pointer) return;
      const box = get();
      if (!keep || !box || box[2] - box[0] < SMALLEST || box[3] - box[1] < SMALLEST) set(drag.before);
      drag = null;
    };
    surface.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !event.isPrimary) return;
      event.preventDefault();
      surface.focus({ preventScroll: true });
      surface.setPointerCapture(event.pointerId);
      drag = { pointer: event.pointerId, before: get(), apply: dragOf(event, point(event), get(), size) };
    });
    surface.addEventListener("pointermove", (event) => {
      if (drag && event.pointerId === drag.pointer) set(drag.apply(point(event)));
    });
    // Drawing with a finger is no gesture: otherwise a lifted finger would start a fling, which swallows the next tap.
    const still = (event) => drag && event.touches.length < 2 && event.cancelable && event.preventDefault();
    surface.addEventListener("touchmove", still, { passive: false });
    surface.addEventListener("touchend", (event) => event.cancelable && event.preventDefault());
    surface.addEventListener("pointerup", (event) => stop(event, true));
    surface.addEventListener("pointercancel", (event) => stop(event, false));
  }

  /** Arrow keys move the box, with Shift they resize it, with Control by single pixels; Delete removes it. */
  function followKeys(surface, size, get, set) {
    const [width, height] = size;
    const large = Math.max(1, Math.round(Math.max(width, height) / 50));
    surface.addEventListener("keydown", (event) => {
      const arrow = ARROWS[event.key];
      if (event.key === "Delete" || event.key === "Backspace") set(null);
      else if (!arrow) return;
      else if (!get()) set([width / 4, height / 4, (3 * width) / 4, (3 * height) / 4]);
      else {
        const [dx, dy] = arrow.map((direction) => direction * (event.ctrlKey ? 1 : large));
        const [x1, y1, x2, y2] = get();
        if (event.shiftKey) set([x1, y1, clamp(x2 + dx, x1 + SMALLEST, width), clamp(y2 + dy, y1 + SMALLEST, height)]);
        else set(moved(get(), dx, dy, width, height));
      }
      event.preventDefault();
    });
  }

  /** The common area of two boxes as a share of the area that either covers. */
  function overlap(one, other) {
    const area = ([x1, y1, x2, y2]) => Math.max(0, x2 - x1) * Math.max(0, y2 - y1);
    const common = area([Math.max(one[0], other[0]), Math.max(one[1], other[1]), Math.min(one[2], other[2]), Math.min(one[3], other[3])]);
    return common / (area(one) + area(other) - common);
  }

  /** `image` is the image element, already in the page; `size` its stored width and height. */
  function boxWidget(question, label, image, size) {
    let box = null;
    const frame = element("div", { class: "box", hidden: true }, HANDLES.map((handle) => element("span", { class: "handle", "data-handle": handle })));
    const surface = element("div", { class: "surface", role: "application", tabindex: 0, "data-field": "box", "aria-label": `${label}. Draw a box: drag, or use the arrow keys; with Shift they resize, with Control by single pixels.` });
    image.replaceWith(surface);
    surface.append(image, frame);
    const report = element("output", { class: "note", "aria-live": "polite" }, "No box yet.");
    const set = (next) => {
      box = next;
      frame.hidden = !box;
      if (box) place(frame, box, ...size);
      const [x1, y1, x2, y2] = (box ?? [0, 0, 0, 0]).map(Math.round);
      report.textContent = box ? `Box from (${x1}, ${y1}) to (${x2}, ${y2}).` : "No box yet.";
    };
    followPointers(surface, image, size, () => box, set);
    followKeys(surface, size, () => box, set);
    const clear = element("button", { type: "button", class: "plain", "data-field": "clear", click: () => set(null) }, "Remove box");
    return {
      element: element("div", { class: "boxes" }, element("p", { class: "note" }, "Drag on the image to draw a box around it; drag its edges to adjust."), element("div", { class: "line" }, report, clear)),
      read: () => (box ? box.map(toHundredths) : undefined),
      complaint: () => (box ? "" : "Please draw a box on the image."),
      reveal(right, page, marks) {
        const other = element("div", { class: "box right" });
        place(other, right, ...size);
        if (marks) surface.append(other);
        surface.inert = true;
        return [box !== null && overlap(box, right) >= 0.5, "the dashed box"];
      },
      focus: () => surface.focus(),
    };
  }

  Object.assign(Snellen, { boxWidget });
})();
