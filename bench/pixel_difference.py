"""What a difference of pixels is worth in Mat and Trk of VLM2-Bench: `python bench/pixel_difference.py [--n 75]`.

The attacker knows no shape and no scene. It subtracts the second picture from the first, takes the place where they
differ most, names the colour there, and answers what the statement says of that colour. Of the surroundings it says by
brightness whether the light changed, and by the mean colour which way. Rooms are rendered: flat ones (`--renderer toy`)
show no light.
"""

from __future__ import annotations

import argparse
import colorsys
import re
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import label, uniform_filter

from snellen.core.item import Item
from snellen.core.itemset import ItemSet
from snellen.core.suite import BuildOptions
from snellen.scoring.uncertainty import wilson
from snellen.suites import SUITES

BLUR_PX = 9
HUES: Mapping[str, float] = {"red": 0.0, "yellow": 0.13, "green": 0.33, "blue": 0.62, "purple": 0.78}
"""Hue (0 to 1) by name."""
MIN_SATURATION = 0.35
COLOURLESS = ("glass", "wood")
NAMES = re.compile("|".join((*HUES, *COLOURLESS)))
Floats = NDArray[np.float64]


def colour_name(rgb: Floats) -> str:
    """The colour that these bytes look like, `none` where they have hardly any."""
    hue, saturation, _ = colorsys.rgb_to_hsv(*(rgb / 255))
    if saturation < MIN_SATURATION:
        return "none"
    return min(HUES, key=lambda name: min(abs(hue - HUES[name]), 1 - abs(hue - HUES[name])))


def changed_colours(before: Floats, after: Floats) -> tuple[str, str, float, float]:
    """The colours before and after where the pictures differ most; how much brighter and redder the second picture is.

    Redder is the logarithm of how much red there is for blue.
    """
    difference = uniform_filter(np.abs(after - before).mean(axis=2), BLUR_PX)
    regions, _ = label(difference > difference.max() / 2)
    region = regions == regions[np.unravel_index(np.argmax(difference), difference.shape)]
    brightness = float(after.mean() / max(before.mean(), 1.0))
    (red, _, blue), (red_after, _, blue_after) = before.mean(axis=(0, 1)), after.mean(axis=(0, 1))
    redder = float(np.log(red_after * blue / (blue_after * red)))
    return colour_name(before[region].mean(axis=0)), colour_name(after[region].mean(axis=0)), brightness, redder


def says_true(item: Item, before: Floats, after: Floats) -> bool:
    """What the attacker answers to the statement of an item."""
    cue = item.question.split("'")[1]
    old, new, brightness, redder = changed_colours(before, after)
    if "light" in cue or "floor" in cue:
        whole = abs(np.log(brightness)) > 0.2
        if "changed from" not in cue:
            return whole == ("light" in cue)
        return is_redder(cue) == (redder > 0)
    names = ["none" if name in COLOURLESS else name for name in NAMES.findall(cue)]
    if len(names) == 2:
        return names == [old, new] or (names[0] == old) + (names[1] == new) > (names[1] == old) + (names[0] == new)
    if "added" in cue:
        return names[0] == new and names[0] != old
    if "removed" in cue:
        return names[0] == old and names[0] != new
    return names[0] == (new if item.factors["edit"] == "add" else old)


def is_redder(cue: str) -> bool:
    """Whether a statement about floor or light says that it turned redder: from blue over grey to brown."""
    redness = {"blue": 0, "cold": 0, "grey": 1, "white": 1, "brown": 2, "warm": 2}
    old, new = re.findall("|".join(redness), cue)
    return redness[new] > redness[old]


def pairs_right(items: ItemSet) -> dict[tuple[str, str], list[bool]]:
    """Of each task and edit: whether both statements of a pair were answered rightly."""
    by_pair: dict[str, list[bool]] = defaultdict(list)
    keys = {}
    for item in items.items:
        first, second = (np.asarray(items.media.open(picture).convert("RGB"), float) for picture in item.query)
        by_pair[item.group_id].append(says_true(item, first, second) == (item.answer == "true"))
        keys[item.group_id] = item.task, item.factors["edit"]
    right: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for group, answers in by_pair.items():
        right[keys[group]].append(all(answers))
    return right


def main() -> None:
    """Build rooms, attack them, print a line a task and edit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=75, help="rooms a seed")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--renderer", default="mitsuba", choices=("mitsuba", "toy"))
    parser.add_argument("--size", type=int, nargs=2, default=(320, 240))
    arguments = parser.parse_args()
    recipe = SUITES.get("vlm2-bench").recipes["generated"]
    with tempfile.TemporaryDirectory() as folder:
        right: dict[tuple[str, str], list[bool]] = defaultdict(list)
        for seed in arguments.seeds:
            options = BuildOptions(
                Path(folder) / str(seed),
                n=arguments.n,
                seed=seed,
                tasks=("gc-mat", "gc-trk"),
                renderer=arguments.renderer,
                quality="fast",
                size=tuple(arguments.size),
            )
            for key, hits in pairs_right(recipe.build(options)).items():
                right[key] += hits
    for task in ("gc-mat", "gc-trk"):
        every = [hit for (name, _), hits in right.items() if name == task for hit in hits]
        low, high = wilson(sum(every), len(every))
        print(f"{task}: {sum(every)} of {len(every)} pairs, {100 * low:.0f} to {100 * high:.0f} %, chance 25 %")
        for (name, edit), hits in right.items():
            if name == task:
                print(f"  {edit}: {sum(hits)} of {len(hits)}")


if __name__ == "__main__":
    main()
