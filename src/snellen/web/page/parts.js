/** The parts of a page in their order: texts, and media on grey stages; media with labels are side by side. */
"use strict";

(() => {
  const { element } = Snellen;
  const LABEL = 48; // letters; a line of at most this length next to media is a label, if the plan does not say

  const isLabel = (token) => token.text !== undefined && (token.isLabel || (token.text.length <= LABEL && !token.text.trim().includes("\n")));

  /** Texts, and consecutive media as one: `{text}` or `{media}`. `media` collects all of the page. */
  function tokensOf(page, drawable, media) {
    const tokens = [];
    for (const part of page.parts) {
      if ("text" in part) {
        tokens.push({ text: part.text, isLabel: part.is_label });
        continue;
      }
      const label = part.kind === "video" ? "Video" : `Image ${media.filter((medium) => medium.image).length + 1}`;
      const medium = { part, ...Snellen.makeMedium(part, label, drawable.has(media.length)) };
      media.push(medium);
      if (!tokens.at(-1)?.media) tokens.push({ media: [] });
      tokens.at(-1).media.push(medium.element);
    }
    return tokens;
  }

  /** True if all texts between media are labels: tiles of only some would have the labels of their neighbours. */
  function isTiled(tokens) {
    const isMedia = (token) => token.media !== undefined;
    return tokens.slice(tokens.findIndex(isMedia), tokens.findLastIndex(isMedia)).every((token) => isMedia(token) || isLabel(token));
  }

  /** Consecutive media and labels; every longer text is separate. */
  function runsOf(tokens) {
    if (!isTiled(tokens)) return tokens.map((token) => [token]);
    const runs = [];
    let open = false;
    for (const token of tokens) {
      const fits = token.media !== undefined || isLabel(token);
      if (open && fits) runs.at(-1).push(token);
      else runs.push([token]);
      open = fits;
    }
    return runs;
  }

  function block(token) {
    return token.media ? element("div", { class: "stage" }, token.media) : element("p", { class: "part" }, token.text);
  }

  /** Tiles of a run, `{label, media}`: labels belong to the next media if the run begins with one, else to the last. */
  function tilesOf(run) {
    const leading = isLabel(run[0]);
    const tiles = [];
    for (const token of run) {
      const last = tiles.at(-1);
      const slot = token.media ? "media" : "label";
      const joins = last && !last[slot] && (slot === "media") === leading;
      if (joins) last[slot] = token;
      else tiles.push({ [slot]: token });
    }
    return { tiles, leading };
  }

  /** A run with several media as a row of tiles, any other unchanged. */
  function blocksOf(run) {
    if (run.filter((token) => token.media).length < 2) return run.map(block);
    const { tiles, leading } = tilesOf(run);
    const figures = tiles.map(({ label, media }) => {
      if (!media) return block(label);
      const caption = label ? element("figcaption", {}, label.text.trim()) : null;
      return element("figure", {}, leading ? [caption, block(media)] : [block(media), caption]);
    });
    return [element("div", { class: "tiles" }, figures)];
  }

  /** `{media, blocks}` of a page; images whose number is in `drawable` are not enlarged by a press. */
  function makeParts(page, drawable) {
    const media = [];
    return { blocks: runsOf(tokensOf(page, drawable, media)).flatMap(blocksOf), media };
  }

  Object.assign(Snellen, { makeParts });
})();
