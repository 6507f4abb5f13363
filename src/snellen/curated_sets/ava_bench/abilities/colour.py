"""Colour: the most frequent RGB value of the region whose colour varies least (appendix A.2; `regions` finds it).

The content does not matter, so every image of the two datasets is a candidate. The paper splits within object
categories, which regions do not have; items are split within bins of lightness and hue.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from snellen.core.colour import srgb_to_lab
from snellen.core.hashing import digest
from snellen.core.item import Item
from snellen.curated_sets.ava_bench.selection.candidates import Candidate, Curation, CurationContext, Pixels, origin_of
from snellen.curated_sets.ava_bench.selection.regions import best_region
from snellen.curation.draws import grouped
from snellen.datasets.sample import Sample
from snellen.suites.ava_bench.abilities.colour import NAME, colour_item
from snellen.suites.ava_bench.items import ItemSource

DATASETS = ("Objects365", "LVIS")
GREYS = ((40.0, "dark"), (70.0, "grey"), (100.0, "light"))
HUES = ("red", "orange", "green", "cyan", "blue", "purple")
DIGITS = 12
MIN_CHROMA = 12.0
"""Chroma in Lab: a colour below it counts as grey and is binned by lightness, one above it by hue, in six parts of
60°."""


def find(scene: Sample, context: CurationContext) -> Iterator[Candidate]:
    """The images that may be among those drawn, few enough for memory even if a dataset has millions.

    Every image has its own number from 0 to 1, and those with the lowest numbers are drawn. The n-th image met is a
    candidate if its number is below twice the wanted share of n images: none of the lowest is above.
    """
    context.image_counts[NAME, scene.source] += 1
    number = int(digest([context.seed, NAME, scene.source, scene.record_id], DIGITS), 16) / 16**DIGITS
    if number * context.image_counts[NAME, scene.source] < 2 * context.rules.coloured_images:
        yield Candidate(origin_of(scene), "", "", {}, number)


def select(candidates: Sequence[Candidate], context: CurationContext) -> list[Candidate]:
    """At most `rules.coloured_images` images per dataset, all equally likely."""
    selected: list[Candidate] = []
    for source, source_candidates in grouped(candidates, lambda candidate: candidate.origin.source).items():
        selection = sorted(source_candidates, key=lambda candidate: candidate.size)[: context.rules.coloured_images]
        if excess := context.image_counts[NAME, source] - len(selection):
            context.ledger.drop(NAME, source, f"more than {context.rules.coloured_images} drawn", source, excess)
        selected += selection
    return selected


def complete(candidate: Candidate, pixels: Callable[[], Pixels], context: CurationContext) -> Candidate | str:
    """The candidate with its region, or the reason why there is none."""
    region = best_region(pixels())
    if isinstance(region, str):
        return region
    return replace(candidate, bin=colour_bin(region.rgb), truth={"box": region.box, "rgb": region.rgb})


def colour_bin(rgb: Sequence[int]) -> str:
    """`dark`, `grey`, `light`, or one of six hues."""
    lightness, a, b = srgb_to_lab(rgb).tolist()
    if math.hypot(a, b) < MIN_CHROMA:
        return next(name for max_lightness, name in GREYS if lightness <= max_lightness + 1e-6)
    return HUES[int(math.degrees(math.atan2(b, a)) % 360 // 60)]


def make_curated_item(candidate: Candidate, item_source: ItemSource, rng: np.random.Generator) -> Item:
    """An item about the colour within the box."""
    return colour_item(item_source, candidate.truth["box"], candidate.truth["rgb"])


CURATION = Curation(
    name=NAME, datasets=DATASETS, find=find, select=select, complete=complete, make_item=make_curated_item
)
