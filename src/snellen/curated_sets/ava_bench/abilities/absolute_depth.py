"""Absolute depth: things of known distance, balanced over bins of one metre (appendix A.2).

All questions of a dataset offer the same bins, those that remain after classes and bins have been balanced, unless
there are more than letters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from string import ascii_uppercase

import numpy as np

from snellen.core.item import Box, Item
from snellen.curated_sets.ava_bench.selection import depths
from snellen.curated_sets.ava_bench.selection.candidates import (
    Candidate,
    Curation,
    CurationContext,
    capped_by_source,
    origin_of,
)
from snellen.curation.draws import draw_options, grouped
from snellen.datasets.own_images import OWN
from snellen.datasets.sample import Annotation, Sample
from snellen.suites.ava_bench.abilities.absolute_depth import NAME, absolute_depth_item
from snellen.suites.ava_bench.items import ItemSource, bin_middle, depth_bin

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
        origin = origin or origin_of(scene, depths.recording(scene))
        measured_object, box, crop, area = placement
        truth = {
            "name": depths.name_of(scene.source, measured_object.kind, context),
            "box": box,
            "depth_m": measured_object.nearest_m,
        }
        yield Candidate(origin, measured_object.kind, depth_bin(measured_object.nearest_m), truth, area, crop)


def _place_in_crop(
    annotation: Annotation, scene: Sample, context: CurationContext
) -> tuple[depths.MeasuredObject, Box, Box | None, float] | str:
    """The thing, its box in the image shown, the crop shown, and the area for the comparison of sizes; or a rule."""
    measured_object, rules = depths.measure(annotation, scene, context), context.rules
    if isinstance(measured_object, str):
        return measured_object
    area = (measured_object.box[2] - measured_object.box[0]) * (measured_object.box[3] - measured_object.box[1])
    if scene.source != depths.ROADS:
        area *= (rules.depth_side_px / max(measured_object.size)) ** 2
        return SMALL if area < rules.depth_least_box_px else (measured_object, measured_object.box, None, area)
    if measured_object.nearest_m < rules.depth_nearest_outdoor_m:
        return NEAR
    crop = depths.crop_around(measured_object.box, measured_object.size, rules.crop_widths)
    return (measured_object, depths.within(measured_object.box, crop), crop, area) if crop else depths.NO_CROP


def select(candidates: Sequence[Candidate], context: CurationContext) -> list[Candidate]:
    """The candidates within the bounds on images per bin (largest boxes first) and bins per class, with their bins."""
    caps = {
        depths.ROOMS: context.rules.depth_indoor,
        depths.ROADS: context.rules.depth_outdoor,
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
    truth, scene_type = candidate.truth, depths.SCENE_TYPES[candidate.origin.source]
    depth_m, bins = truth["depth_m"], truth["bins"]
    if len(bins) > len(ascii_uppercase):
        drawn = draw_options(depth_bin(depth_m), bins, len(ascii_uppercase), rng)
        bins = [name for name in bins if name in drawn]
    return absolute_depth_item(
        item_source, truth["name"], truth["box"], depth_m=depth_m, bins=bins, scene_type=scene_type
    )


CURATION = Curation(name=NAME, datasets=depths.SOURCES, find=find, select=select, make_item=make_curated_item)
