/** Judges practised texts and colours by the measures of `snellen.scoring.metrics`, which tests compare with these. */
"use strict";

(() => {
  const QUOTES = /^["'“”„«»‘’]+|["'“”„«»‘’]+$/g;
  const XYZ = [[0.412453, 0.35758, 0.180423], [0.212671, 0.71516, 0.072169], [0.019334, 0.119193, 0.950227]];
  const WHITE = [0.95047, 1, 1.08883];

  /** Insertions, deletions and replacements from one list of characters to the other. */
  function distance(one, other) {
    let costs = Array.from({ length: other.length + 1 }, (_, place) => place);
    one.forEach((character, row) => {
      const next = [row + 1];
      other.forEach((its, place) => next.push(Math.min(next[place] + 1, costs[place + 1] + 1, costs[place] + (character === its ? 0 : 1))));
      costs = next;
    });
    return costs.at(-1);
  }

  /** ANLS: 1 minus the distance as a share of the longer text; case and the amount of white space do not count. */
  function similarity(text, right) {
    const [one, other] = [text, right].map((words) => Array.from(words.toLowerCase().split(/\s+/).filter(Boolean).join(" ")));
    const longest = Math.max(one.length, other.length);
    return longest ? 1 - distance(one, other) / longest : 1;
  }

  /** True if a text is as near as this to an accepted one; without a tolerance, equal but for commas and a full stop. */
  function isRightText(text, accepted, tolerance) {
    const bare = text.replace(QUOTES, "");
    const plain = (words) => words.toLowerCase().split(/[\s,;]+/).filter(Boolean).join(" ").replace(/\.$/, "");
    return accepted.some((right) => (tolerance === null ? plain(right) === plain(bare) : Math.max(similarity(text, right), similarity(bare, right)) >= tolerance));
  }

  function toLab(levels) {
    const linear = levels.map((level) => level / 255).map((share) => (share > 0.04045 ? ((share + 0.055) / 1.055) ** 2.4 : share / 12.92));
    const [x, y, z] = XYZ.map((row, index) => row.reduce((sum, weight, place) => sum + weight * linear[place], 0) / WHITE[index]).map((share) => (share > 0.008856 ? Math.cbrt(share) : 7.787 * share + 16 / 116));
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
  }

  const radians = (degrees) => (degrees * Math.PI) / 180;
  const cos = (degrees) => Math.cos(radians(degrees));
  const saturation = (chroma) => Math.sqrt(chroma ** 7 / (chroma ** 7 + 25 ** 7));
  const mean = ([one, other]) => (one + other) / 2;

  /** CIEDE2000 difference of two sRGB colours, written like `ciede2000` in Python. */
  function colourDifference(...colours) {
    const labs = colours.map(toLab);
    const stretch = 1.5 - 0.5 * saturation(mean(labs.map(([, a, b]) => Math.hypot(a, b))));
    const chromas = labs.map(([, a, b]) => Math.hypot(stretch * a, b));
    const hues = labs.map(([, a, b]) => ((Math.atan2(b, stretch * a) * 180) / Math.PI + 360) % 360);
    const chroma = mean(chromas);
    let [turn, hue] = [hues[1] - hues[0], mean(hues)];
    if (chromas[0] * chromas[1] === 0) [turn, hue] = [0, hues[0] + hues[1]];
    else if (Math.abs(turn) > 180) [turn, hue] = [turn - Math.sign(turn) * 360, hue + (hue < 180 ? 180 : -180)];
    const weight = 1 - 0.17 * cos(hue - 30) + 0.24 * cos(2 * hue) + 0.32 * cos(3 * hue + 6) - 0.2 * cos(4 * hue - 63);
    const fromMiddle = (mean(labs.map(([lightness]) => lightness)) - 50) ** 2;
    const light = (labs[1][0] - labs[0][0]) / (1 + (0.015 * fromMiddle) / Math.sqrt(20 + fromMiddle));
    const chromaPart = (chromas[1] - chromas[0]) / (1 + 0.045 * chroma);
    const huePart = (2 * Math.sqrt(chromas[0] * chromas[1]) * Math.sin(radians(turn / 2))) / (1 + 0.015 * chroma * weight);
    const rotation = -2 * saturation(chroma) * Math.sin(radians(60 * Math.exp(-(((hue - 275) / 25) ** 2))));
    return Math.sqrt(Math.max(0, light ** 2 + chromaPart ** 2 + huePart ** 2 + rotation * chromaPart * huePart));
  }

  Object.assign(Snellen, { similarity, isRightText, colourDifference });
})();
