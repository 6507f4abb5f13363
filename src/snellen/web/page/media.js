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

  /** The image element of a part; width and height reserve its place while it is loading. */
  function makeImage(part, label) {
    const zoom = part.zoom ?? 1;
    return element("img", { src: part.path, alt: label, width: zoom * part.width, height: zoom * part.height, decoding: "sync", draggable: "false" });
  }

  /** The whole factor by which the only image of a page is enlarged: to at least 640 pixels, if the window has room. */
  function zoomOf(page) {
    const images = page.parts.filter((part) => part.kind === "image");
    if (images.length !== 1) return 1;
    const room = Math.floor((Math.min(window.innerWidth, 1040) - 112) / images[0].width);
    return Math.max(1, Math.min(Math.ceil(640 / images[0].width), room));
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
