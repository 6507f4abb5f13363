"""Absolute depth: the distance of the closest point of a thing, in bins of one metre (appendix A.2).

An image may have questions about several things of one class: a box shows which is meant. All questions of a dataset
offer the same bins, those that remain after classes and bins have been balanced, unless there are more than letters.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from string import ascii_uppercase
from typing import Any

import numpy as np

from snellen.core.item import Box, Item
from snellen.curation.draws import draw_options, grouped
from snellen.datasets.own_images import OWN
from snellen.datasets.sample import Annotation, Sample
from snellen.suites.ava_bench.abilities.ability import Ability, Levels, ReleasedForm, is_generated
from snellen.suites.ava_bench.curated.candidates import (
    Candidate,
    Curation,
    CurationContext,
    capped_by_source,
    origin_of,
)
from snellen.suites.ava_bench.curated.depths import (
    NO_CROP,
    ROADS,
    ROOMS,
    SCENE_TYPES,
    MeasuredObject,
    SceneType,
    crop_around,
    measure,
    name_of,
    recording,
    within,
)
from snellen.suites.ava_bench.curated.depths import SOURCES as DATASETS
from snellen.suites.ava_bench.items import ItemSource, bin_middle, checked_box, depth_bin, range_name, range_names
from snellen.suites.ava_bench.prompts import OPTION_LISTS, TABLE_1
from snellen.suites.ava_bench.scenes.table_contents import KINDS
from snellen.suites.ava_bench.scenes.tabletop_scenes import FRAME_M
from snellen.suites.ava_bench.scenes.tabletop_truth import (
    ItemSlot,
    TabletopQuestions,
    TabletopTruth,
    VisibleSolid,
    evenly_chosen,
)
from snellen.suites.ava_bench.scoring import DEPTH_BIN_PROTOCOLS

NAME = "absolute-depth"
SMALL = "box too small once the image is resized"
NEAR = "thing too near"
ONE_BIN = "only bin of its dataset, so that there would be no choice"


def find(scene: Sample, context: CurationContext) -> Iterator[Candidate]:
    """Things of known distance whose boxes are large enough (indoors), or far and inside a crop (outdoors)."""
    origin = None
    for annotation in scene.annotations:
        placement = _place_in_crop(annotation, scene, context)
        if isinstance(placement, str):
            context.ledger.drop(NAME, scene.source, placement, f"{scene.record_id}: {annotation.label}")
            continue
        origin = origin or origin_of(scene, recording(scene))
        measured_object, box, crop, area = placement
        truth = {
            "name": name_of(scene.source, measured_object.kind, context),
            "box": box,
            "depth_m": measured_object.nearest_m,
        }
        yield Candidate(origin, measured_object.kind, depth_bin(measured_object.nearest_m), truth, area, crop)


def _place_in_crop(
    annotation: Annotation, scene: Sample, context: CurationContext
) -> tuple[MeasuredObject, Box, Box | None, float] | str:
    """The thing, its box in the image shown, the crop shown, and the area for the comparison of sizes; or a rule."""
    measured_object, rules = measure(annotation, scene, context), context.rules
    if isinstance(measured_object, str):
        return measured_object
    area = (measured_object.box[2] - measured_object.box[0]) * (measured_object.box[3] - measured_object.box[1])
    if scene.source != ROADS:
        area *= (rules.depth_side_px / max(measured_object.size)) ** 2
        return SMALL if area < rules.depth_least_box_px else (measured_object, measured_object.box, None, area)
    if measured_object.nearest_m < rules.depth_nearest_outdoor_m:
        return NEAR
    crop = crop_around(measured_object.box, measured_object.size, rules.crop_widths)
    return (measured_object, within(measured_object.box, crop), crop, area) if crop else NO_CROP


def select(candidates: Sequence[Candidate], context: CurationContext) -> list[Candidate]:
    """The candidates within the bounds on images per bin (largest boxes first) and bins per class, with their bins."""
    caps = {
        ROOMS: context.rules.depth_indoor,
        ROADS: context.rules.depth_outdoor,
        OWN: context.rules.depth_indoor,
    }
    selected: list[Candidate] = []
    capped_candidates = capped_by_source(candidates, caps, NAME, context, largest=True)
    for source, source_candidates in grouped(capped_candidates, lambda candidate: candidate.origin.source).items():
        bins = tuple(sorted({candidate.bin for candidate in source_candidates}, key=bin_middle))
        if len(bins) == 1:
            context.ledger.drop(NAME, source, ONE_BIN, bins[0], len(source_candidates))
        else:
            selected += [replace(candidate, truth={**candidate.truth, "bins": bins}) for candidate in source_candidates]
    return selected


def make_curated_item(candidate: Candidate, item_source: ItemSource, rng: np.random.Generator) -> Item:
    """An item about the distance bin of the closest point: all bins in order, or as many as there are letters."""
    truth, scene_type = candidate.truth, SCENE_TYPES[candidate.origin.source]
    depth_m, bins = truth["depth_m"], truth["bins"]
    if len(bins) > len(ascii_uppercase):
        drawn = draw_options(depth_bin(depth_m), bins, len(ascii_uppercase), rng)
        bins = [name for name in bins if name in drawn]
    return absolute_depth_item(
        item_source, truth["name"], truth["box"], depth_m=depth_m, bins=bins, scene_type=scene_type
    )


CURATION = Curation(name=NAME, datasets=DATASETS, find=find, select=select, make_item=make_curated_item)


# Generated scenes

TABLE_BINS = tuple(f"{low}-{low + 1}" for low in range(3, 10))
"""The bins of the distances at which tables have things."""
KNOWN_SIZE = f"The wooden frame on the floor is {FRAME_M:g} meter wide and {FRAME_M:g} meter deep. "
"""Without something of known size, no distance can be estimated from one image."""
BIN_EDGE_M = 0.02
"""The least distance between a depth asked about and the ends of its bin."""


def _tabletop_candidates(table: TabletopTruth) -> list[tuple[VisibleSolid, Mapping[str, Hashable]]]:
    """Single things whose depth is at least `BIN_EDGE_M` from the ends of its bin."""
    return [
        (solid, {"bin": name, "kind": solid.kind, "bin of kind": (solid.kind, name)})
        for solid in table.placed_in_depth
        if (name := depth_bin(solid.nearest_m)) in TABLE_BINS and BIN_EDGE_M <= solid.nearest_m % 1 <= 1 - BIN_EDGE_M
    ]


def tabletop_capacity(table: TabletopTruth) -> int:
    """The number of items that a table can serve."""
    return len(_tabletop_candidates(table))


def _tabletop_items(turns: Sequence[ItemSlot], rng: np.random.Generator) -> Iterator[Item]:
    sizes = {"bin": len(TABLE_BINS), "kind": len(KINDS), "bin of kind": len(TABLE_BINS) * len(KINDS)}
    solids = evenly_chosen(NAME, turns, _tabletop_candidates, sizes, rng)
    for turn, solid in zip(turns, solids, strict=True):
        yield absolute_depth_item(
            turn.source,
            solid.kind,
            solid.box,
            depth_m=solid.nearest_m,
            bins=TABLE_BINS,
            scene_type="indoor",
            known_size=KNOWN_SIZE,
        )


# Items

DEPTH_RANGES = ((5, "0-5 m"), (10, "5-10 m"), (20, "10-20 m"), (float("inf"), "20 m and more"))
"""Upper ends, included, as in the released scorer; a depth counts as the middle of its bin."""


def absolute_depth_item(
    item_source: ItemSource,
    category: str,
    box: Sequence[float],
    *,
    depth_m: float,
    bins: Sequence[str],
    scene_type: SceneType,
    known_size: str = "",
) -> Item:
    """An item about the distance of a thing's closest point: one of `bins`, in order, as `items.depth_bin` writes them.

    `known_size` is a sentence before the question that gives the size of something in the image.
    """
    answer = depth_bin(depth_m)
    return ABSOLUTE_DEPTH.item(
        item_source,
        known_size + ABSOLUTE_DEPTH.question.format(red=category),
        answer,
        bins,
        regions={"red": list(checked_box(item_source, box))},
        factors={
            "thing": category,
            "scene_type": scene_type,
            "depth_range": range_name(bin_middle(answer), DEPTH_RANGES),
        },
        measures={"depth_m": depth_m},
    )


CLOSENESS_BY_LOWER_EDGE = (0.0613, 0.2746, 0.0710)
"""Parabola from the lower edge of a box, as a share of the image's height, to one over the distance in metres: fitted
to 900 generated items of version 1, where it has 89 % of the bins right; with the cameras of version 2 17 %."""


def _by_boxes_only(item: Item) -> str | None:
    """The bin of the distance at which a thing on the floor has its lower edge there; None if no box is known."""
    if "red" not in item.regions or not item.options:
        return None
    lower_edge = float(item.regions["red"][3]) / item.query[0].height
    distance_m = 1 / float(np.polyval(CLOSENESS_BY_LOWER_EDGE, lower_edge))
    return min((option.text for option in item.options), key=lambda name: abs(bin_middle(name) - distance_m))


def _released_levels(question: str, answer: Any, options: Sequence[str]) -> Levels:
    middles = {option: bin_middle(option) for option in options}
    return Levels({"depth_range": range_name(middles[answer], DEPTH_RANGES)})


ABSOLUTE_DEPTH = Ability(
    name=NAME,
    kind="choice",
    question=TABLE_1["absolute-depth"],
    options_wording=OPTION_LISTS["absolute-depth"],
    option_labels="letters",
    requires=("depth",),
    protocols=DEPTH_BIN_PROTOCOLS,
    subgroups={"scene_type": (), "depth_range": range_names(DEPTH_RANGES)},
    balanced_by=("thing", "answer"),
    boxes=("red",),
    is_named=is_generated,
    padded=True,
    boxes_only=_by_boxes_only,
    cheap_sight="a distance needs the size and the place of an object in the scene",
    meaning="the distance of an object from the camera",
    figure="Figure 24",
    curation=CURATION,
    tabletop=TabletopQuestions(make_items=_tabletop_items, capacity=tabletop_capacity),
    released=ReleasedForm(folder="Absolute_depth", levels=_released_levels),
)
