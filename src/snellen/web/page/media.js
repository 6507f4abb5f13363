/** Images and videos of a page: at natural size, ready only when they can be painted. */
"use strict";

(() => {
  const { element } = Snellen;

  /** Resolves when an image is decoded. A second try after a failure fetches it again. */
  async function decoded(image, path) {
    try {
      await image.decode();
    } catch {
      image.src = "";
      image.src = path;
      await image.decode().catch(() => {
        throw new Error(`${path} cannot be read.`);
      });
    }
  }

  /** Gives an image native pixels: one of its pixels is one of the screen, at any zoom of the browser. */
  function fitToPixels(image) {
    image.style.width = `${image.dataset.pixels / window.devicePixelRatio}px`;
  }
  window.addEventListener("resize", () => document.querySelectorAll("[data-pixels]").forEach(fitToPixels));

  /** The image element of a part; width and height reserve its place while it is loading. */
  function makeImage(part, label) {
    const zoom = part.zoom ?? 1;
    const image = element("img", { src: part.path, alt: label, width: Math.round(zoom * part.width), height: Math.round(zoom * part.height), decoding: "sync", draggable: "false", "data-pixels": part.isNative ? part.width : null });
    if (part.isNative) fitToPixels(image);
    return image;
  }

  /**
   * The factor by which the images of a page are scaled. A single one is enlarged by a whole factor to at least 640
   * pixels, if the window has room; several are made smaller, so that two or four are side by side (they can be enlarged;
   * the style sheet does this on phones).
   */
  function zoomOf(page) {
    const images = page.parts.filter((part) => part.kind === "image");
    const room = Math.min(window.innerWidth, 1040) - 56;
    const widest = Math.max(...images.map((image) => image.width));
    if (images.length === 1) return Math.max(1, Math.min(Math.ceil(640 / widest), Math.floor((room - 56) / widest)));
    const columns = images.length > 4 ? 4 : 2;
    return window.innerWidth < 600 ? 1 : Math.min(1, (room / columns - 36) / widest);
  }

  /** An image in a button that enlarges it. */
  function imageInButton(part, label) {
    const image = makeImage(part, label);
    const button = element("button", { type: "button", class: "image", "aria-label": `${label}, enlarge`, click: () => Snellen.zoom([image]) }, image);
    return { element: button, image, ready: () => decoded(image, part.path), begin() {} };
  }

  /** An image without a button: on choices, and for drawing boxes. */
  function plainImage(part, label) {
    const image = makeImage(part, label);
    return { element: image, image, ready: () => decoded(image, part.path), begin() {} };
  }

  /** Resolves when the first frame of a video can be painted. */
  function firstFrame(player, path) {
    return new Promise((resolve, reject) => {
      if (player.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA) resolve();
      player.addEventListener("loadeddata", resolve, { once: true });
      player.addEventListener("error", () => reject(new Error(`${path} cannot be played.`)), { once: true });
      if (player.error) player.load();
    });
  }

  /** A video without sound that starts when the page is shown and can be played again. */
  function video(part, label) {
    const player = element("video", { src: part.path, controls: true, playsinline: true, preload: "auto", width: part.width, height: part.height, "aria-label": label });
    player.muted = true;
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    const begin = () => (still ? undefined : player.play().catch(() => {}));
    return { element: player, image: null, ready: () => firstFrame(player, part.path), begin };
  }

  /** The view of one part: `{element, image, ready(), begin()}`; `drawable` images are not enlarged by a click. */
  function makeMedium(part, label, drawable) {
    if (part.kind === "video") return video(part, label);
    return drawable ? plainImage(part, label) : imageInButton(part, label);
  }

  /** Paths of all images of a page, choices included. */
  function imagesOf(page) {
    const onChoices = page.questions.flatMap((question) => question.choices.flatMap((choice) => choice.media));
    return [...page.parts, ...onChoices].filter((part) => part.kind === "image").map((part) => part.path);
  }

  Object.assign(Snellen, { makeMedium, plainImage, video, imagesOf, zoomOf });
})();
