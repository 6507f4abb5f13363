"""Colour: the most frequent RGB value of the region whose colour varies least (appendix A.2; `regions` finds it).

What is in the picture does not matter, so that every picture of the two datasets may serve. The paper has no classes
here: bins of lightness and hue, ours, are split alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from snellen.core.hashing import digest
from snellen.core.item import Item
from snellen.curation.draws import grouped
from snellen.datasets.sample import Sample
from snellen.suites.ava_bench import items as make
from snellen.suites.ava_bench.curated.candidates import Ability, Asker, Candidate, Curating, Pixels, origin_of
from snellen.suites.ava_bench.curated.regions import best_region
from snellen.suites.ava_bench.items import Shown

NAME = "colour"
SOURCES = ("Objects365", "LVIS")
GREYS = ((40.0, "dark"), (70.0, "grey"), (100.0, "light"))
HUES = ("red", "orange", "green", "cyan", "blue", "purple")
DIGITS = 12
MIN_CHROMA = 12.0
"""In Lab: below it a colour counts as grey, and goes by its lightness; above it by its hue, in six parts of 60°."""


def look(scene: Sample, at: Curating) -> Iterator[Candidate]:
    """Pictures that may be among those drawn: datasets have millions, and memory must not.

    Every picture has a number of its own from 0 to 1, and those with the least are drawn. The n-th one met comes into
    question where its number is below twice the wanted share of n pictures: none of those with the least is above.
    """
    at.met[NAME, scene.source] += 1
    number = int(digest([at.seed, NAME, scene.source, scene.record_id], DIGITS), 16) / 16**DIGITS
    if number * at.met[NAME, scene.source] < 2 * at.rules.coloured_pictures:
        yield Candidate(origin_of(scene), "", "", {}, number)


def choose(found: Sequence[Candidate], at: Curating) -> list[Candidate]:
    """So many pictures of each dataset, all equally likely."""
    kept: list[Candidate] = []
    for source, held in grouped(found, lambda one: one.origin.source).items():
        mine = sorted(held, key=lambda one: one.size)[: at.rules.coloured_pictures]
        if gone := at.met[NAME, source] - len(mine):
            at.ledger.drop(NAME, source, f"more than {at.rules.coloured_pictures} drawn", source, gone)
        kept += mine
    return kept


def see(candidate: Candidate, pixels: Callable[[], Pixels], at: Curating) -> Candidate | str:
    """With its region; or why there is none."""
    region = best_region(pixels())
    if isinstance(region, str):
        return region
    return replace(candidate, bin=colour_bin(region.rgb), truth={"box": region.box, "rgb": region.rgb})


def colour_bin(rgb: Sequence[int]) -> str:
    """`dark`, `grey`, `light`, or one of six hues."""
    from skimage.color import rgb2lab

    lightness, a, b = (float(value) for value in rgb2lab(np.array([[rgb]], np.uint8))[0, 0])
    if math.hypot(a, b) < MIN_CHROMA:
        return next(name for most, name in GREYS if lightness <= most + 1e-6)
    return HUES[int(math.degrees(math.atan2(b, a)) % 360 // 60)]


def make_item_maker(task: str, chosen: Sequence[Candidate], at: Curating) -> Asker:
    """Which color is shown within the box."""

    def item(one: Candidate, of: Shown, rng: np.random.Generator) -> Item:
        return make.colour_item(of, one.truth["box"], one.truth["rgb"])

    return item


ABILITY = Ability((NAME,), SOURCES, look, choose, make_item_maker, see)
