"""What a difference of pixels is worth in Mat and Trk of VLM2-Bench: `python bench/pixel_difference.py [--n 75]`.

The attacker knows no shape and no scene. It subtracts the second image from the first, takes the place where they
differ most, names the colour there, and answers what the statement says of that colour. Of the surroundings it says by
brightness whether the light changed. Of a pattern of the floor it says by how much edge there is which way it went, in
the order of the three patterns that is best in rooms of other seeds. Rooms are rendered: flat ones (`--renderer toy`)
show no light.
"""

from __future__ import annotations

import argparse
import colorsys
import re
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import label, uniform_filter

from snellen.core.build_options import BuildOptions
from snellen.core.item import Item
from snellen.core.storage.itemset import ItemSet
from snellen.scoring.uncertainty import wilson
from snellen.stimuli.scenes.floor_patterns import PATTERNS
from snellen.suites import SUITES

BLUR_PX = 9
HUES: Mapping[str, float] = {"red": 0.0, "yellow": 0.13, "green": 0.33, "blue": 0.62, "purple": 0.78}
"""Hue (0 to 1) by name."""
MIN_SATURATION = 0.35
COLOURLESS = ("glass", "wood")
PATTERN = ("gc-trk", "environment")
"""Task and edit of a floor whose pattern changed."""
NAMES = re.compile("|".join((*HUES, *COLOURLESS)))
Floats = NDArray[np.float64]
Order: TypeAlias = tuple[str, ...]
Hits: TypeAlias = Mapping[tuple[str, str], list[bool]]
"""Of each task and edit: whether both statements of a pair were answered rightly."""


def colour_name(rgb: Floats) -> str:
    """The colour that these bytes look like, `none` where they have hardly any."""
    hue, saturation, _ = colorsys.rgb_to_hsv(*(rgb / 255))
    if saturation < MIN_SATURATION:
        return "none"
    return min(HUES, key=lambda name: min(abs(hue - HUES[name]), 1 - abs(hue - HUES[name])))


def changed_colours(before: Floats, after: Floats) -> tuple[str, str, float]:
    """The colours before and after where the images differ most, and how much brighter the second image is."""
    difference = uniform_filter(np.abs(after - before).mean(axis=2), BLUR_PX)
    regions, _ = label(difference > difference.max() / 2)
    region = regions == regions[np.unravel_index(np.argmax(difference), difference.shape)]
    brightness = float(after.mean() / max(before.mean(), 1.0))
    return colour_name(before[region].mean(axis=0)), colour_name(after[region].mean(axis=0)), brightness


def edge(image: Floats) -> float:
    """How much edge there is: the mean step from a pixel to the next, as a share of the mean brightness."""
    grey = image.mean(axis=2)
    return float(sum(np.abs(np.diff(grey, axis=axis)).mean() for axis in (0, 1)) / grey.mean())


def says_true(item: Item, before: Floats, after: Floats, order: Order) -> bool:
    """What the attacker answers to the statement of an item, taking patterns to have more edge in this order."""
    cue = item.question.split("'")[1]
    if "changed from" in cue:
        old, new = re.findall("|".join(PATTERNS), cue)
        return (order.index(new) > order.index(old)) == (edge(after) > edge(before))
    old, new, brightness = changed_colours(before, after)
    if "light" in cue or "floor" in cue:
        return bool(abs(np.log(brightness)) > 0.2) == ("light" in cue)
    names = ["none" if name in COLOURLESS else name for name in NAMES.findall(cue)]
    if len(names) == 2:
        return names == [old, new] or (names[0] == old) + (names[1] == new) > (names[1] == old) + (names[0] == new)
    if "added" in cue:
        return names[0] == new and names[0] != old
    if "removed" in cue:
        return names[0] == old and names[0] != new
    return names[0] == (new if item.factors["edit"] == "add" else old)


def pairs_right(items: ItemSet, order: Order) -> Hits:
    by_pair: dict[str, list[bool]] = defaultdict(list)
    keys = {}
    for item in items.items:
        first, second = (np.asarray(items.media.open(image).convert("RGB"), float) for image in item.query)
        by_pair[item.group_id].append(says_true(item, first, second, order) == (item.answer == "true"))
        keys[item.group_id] = item.task, item.factors["edit"]
    right: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for group, answers in by_pair.items():
        right[keys[group]].append(all(answers))
    return right


def _best_order(by_order: Mapping[Order, Sequence[Hits]], left_out: int) -> Order:
    """The order of patterns by which most pairs of the other sets are right."""
    return max(
        by_order,
        key=lambda order: sum(sum(hits[PATTERN]) for number, hits in enumerate(by_order[order]) if number != left_out),
    )


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
        built = []
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
            built.append(recipe.build(options))
        by_order = {order: [pairs_right(items, order) for items in built] for order in permutations(PATTERNS)}
    right: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for number in range(len(built)):
        for key, hits in by_order[_best_order(by_order, number)][number].items():
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
