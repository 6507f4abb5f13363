"""Absolute depth: how far the closest point of a thing is, in bins of a metre (appendix A.2).

Things of one class may be asked about several times in a picture: a box shows which is meant. All questions of a place
offer the same bins, those that are left of it when classes and bins have been levelled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from snellen.core.item import Box, Item
from snellen.curation.draws import grouped
from snellen.datasets.sample import Annotation, Sample
from snellen.suites.ava_bench import items as make
from snellen.suites.ava_bench.curated.candidates import Ability, Asker, Candidate, Curating, capped_by_source, origin_of
from snellen.suites.ava_bench.curated.depths import (
    NO_CROP,
    PLACES,
    ROADS,
    ROOMS,
    SOURCES,
    Measured,
    crop_around,
    measured,
    name_of,
    recording,
    within,
)
from snellen.suites.ava_bench.items import Shown

NAME = "absolute-depth"
SMALL = "box too small once the picture is resized"
NEAR = "thing that is too near"
ONE_BIN = "the only bin of its place, so that nothing would be left to choose"


def look(scene: Sample, at: Curating) -> Iterator[Candidate]:
    """Things of known distance whose boxes are large enough (indoors), or far and inside a crop (outdoors)."""
    origin = None
    for thing in scene.annotations:
        held = _placed(thing, scene, at)
        if isinstance(held, str):
            at.ledger.drop(NAME, scene.source, held, f"{scene.record_id}: {thing.label}")
            continue
        origin = origin or origin_of(scene, recording(scene))
        one, box, crop, area = held
        truth = {"name": name_of(scene.source, one.kind, at), "box": box, "depth_m": one.nearest_m}
        yield Candidate(origin, one.kind, make.depth_bin(one.nearest_m), truth, area, crop)


def _placed(thing: Annotation, scene: Sample, at: Curating) -> tuple[Measured, Box, Box | None, float] | str:
    """The thing, its box in what is shown, the crop that is shown, and the area that is compared; or a rule."""
    one, rules = measured(thing, scene, at), at.rules
    if isinstance(one, str):
        return one
    area = (one.box[2] - one.box[0]) * (one.box[3] - one.box[1])
    if scene.source == ROOMS:
        area *= (rules.depth_side_px / max(one.size)) ** 2
        return SMALL if area < rules.depth_least_box_px else (one, one.box, None, area)
    if one.nearest_m < rules.depth_nearest_outdoor_m:
        return NEAR
    crop = crop_around(one.box, one.size, rules.crop_widths)
    return (one, within(one.box, crop), crop, area) if crop else NO_CROP


def choose(found: Sequence[Candidate], at: Curating) -> list[Candidate]:
    """So many pictures a bin, the largest boxes first, and so many bins a class; with the bins of each place."""
    caps = {ROOMS: at.rules.depth_indoor, ROADS: at.rules.depth_outdoor}
    kept: list[Candidate] = []
    levelled = capped_by_source(found, caps, NAME, at, largest=True)
    for source, held in grouped(levelled, lambda one: one.origin.source).items():
        bins = tuple(sorted({one.bin for one in held}, key=make.bin_middle))
        if len(bins) == 1:
            at.ledger.drop(NAME, source, ONE_BIN, bins[0], len(held))
        else:
            kept += [replace(one, truth={**one.truth, "bins": bins}) for one in held]
    return kept


def make_item_maker(task: str, chosen: Sequence[Candidate], at: Curating) -> Asker:
    """In which bin of a metre the closest point is."""

    def item(one: Candidate, of: Shown, rng: np.random.Generator) -> Item:
        told = one.truth
        place = PLACES[one.origin.source]
        return make.absolute_depth_item(of, told["name"], told["box"], told["depth_m"], told["bins"], place)

    return item


ABILITY = Ability((NAME,), SOURCES, look, choose, make_item_maker)
