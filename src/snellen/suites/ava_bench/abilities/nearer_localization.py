"""Nearer localization: the box of the nearer of two things, each the only one of its kind in the image shown.

A composite task of ours, of localization and relative depth. It follows the rules of both (appendix A.2) for things,
distances, crops and sizes. Of two classes each is nearer equally often, so that their names reveal nothing, and the
question names the nearer one first or second by turns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import TypeAlias

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.item import Box, Item
from snellen.core.score import Metric
from snellen.curation.draws import grouped, least_used, level_shares, shuffled
from snellen.datasets.sample import Annotation, Sample
from snellen.suites.ava_bench.abilities.ability import Ability, FirstPartAlone
from snellen.suites.ava_bench.abilities.localization import AREA, LOCALIZATION, SEVERAL
from snellen.suites.ava_bench.abilities.relative_depth import (
    ALONE,
    BEYOND,
    GAP,
    OCCLUDED,
    OVERLAP,
    RELATIVE_DEPTH,
    TOO_FEW,
    UNEVEN,
    DepthPair,
    depth_gap,
    kept_pairs,
)
from snellen.suites.ava_bench.curated.candidates import Candidate, Curation, CurationContext, origin_of
from snellen.suites.ava_bench.curated.completeness import completeness
from snellen.suites.ava_bench.curated.depths import (
    NO_CROP,
    ROAD_CLASSES,
    ROADS,
    MeasuredObject,
    SceneType,
    crop_round_both,
    measure,
    meet,
    name_of,
    pair_item_maker,
    pair_truth,
    recording,
)
from snellen.suites.ava_bench.curated.depths import SOURCES as DATASETS
from snellen.suites.ava_bench.items import (
    BOX_SIZES,
    MIN_DEPTH_GAP_M,
    ItemSource,
    area_share,
    box_area,
    checked_box,
    range_name,
    range_names,
)
from snellen.suites.ava_bench.prompts import COMPOSITE_QUESTIONS
from snellen.suites.ava_bench.scenes.scenes import dealt, share_of
from snellen.suites.ava_bench.scenes.table_contents import KINDS
from snellen.suites.ava_bench.scenes.tabletop_truth import (
    ItemSlot,
    TabletopQuestions,
    TabletopTruth,
    VisibleSolid,
    evenly_chosen,
)
from snellen.suites.ava_bench.scoring import LOCATED, without_script

NAME = "nearer-localization"
MANY_CLASSES = "more than {} pairs of classes"
UNMARKED = "pair whose crop has an unannotated region"
Orders: TypeAlias = Mapping[tuple[str, str], tuple[Sequence[DepthPair], Sequence[DepthPair]]]
"""By classes: pairs with the first class nearer, and pairs with the second nearer."""


def find(scene: Sample, context: CurationContext) -> Iterator[Candidate]:
    """All things of an image that may form pairs, as one candidate, with everything else annotated there.

    Indoors the whole image is shown, so things whose name occurs twice are dropped at once.
    """
    kinds = Counter(_question_name(annotation, scene, context) for annotation in scene.annotations)
    known, objects = completeness(scene), list[MeasuredObject]()
    for annotation in scene.annotations:
        object_or_rule = known.rule(annotation.label) or measure(annotation, scene, context)
        if isinstance(object_or_rule, MeasuredObject):
            if scene.source == ROADS and annotation.extra.get("occluded") != 0:
                object_or_rule = OCCLUDED
            elif scene.source != ROADS and kinds[_question_name(annotation, scene, context)] > 1:
                object_or_rule = SEVERAL
        if isinstance(object_or_rule, str):
            context.ledger.drop(NAME, scene.source, object_or_rule, f"{scene.record_id}: {annotation.label}")
        else:
            objects.append(object_or_rule)
    if len(objects) > 1:
        labelled_boxes = [
            (_question_name(annotation, scene, context), annotation.box)
            for annotation in scene.annotations
            if annotation.box is not None
        ]
        truth = {"things": objects, "there": labelled_boxes, "unmarked": _unmarked(scene)}
        yield Candidate(origin_of(scene, recording(scene)), "", "", truth)
    elif objects:
        context.ledger.drop(NAME, scene.source, ALONE, f"{scene.record_id}: {objects[0].kind}")


def _question_name(annotation: Annotation, scene: Sample, context: CurationContext) -> str:
    """The name of the thing in a question."""
    kind = ROAD_CLASSES.get(annotation.label, annotation.label) if scene.source == ROADS else annotation.label
    return name_of(scene.source, kind, context)


def _unmarked(scene: Sample) -> list[Box]:
    """The regions where things were not annotated; only KITTI has such regions."""
    attribute = scene.attributes.get("unmarked", ())
    sides = [float(side) for side in attribute] if isinstance(attribute, tuple) else []
    return [(x1, y1, x2, y2) for x1, y1, x2, y2 in zip(*(sides[n::4] for n in range(4)), strict=True)]


def _exclusion_rule(pair: DepthPair, context: CurationContext) -> str:
    """The rule that leaves a pair out, empty if it is kept."""
    boxes, source = (pair.near.box, pair.far.box), pair.candidate.origin.source
    if meet(*boxes):
        return OVERLAP
    if pair.gap_m < context.rules.depth_gap_m:
        return GAP
    visible_box = _visible_box(pair, context)
    if visible_box is None:
        return NO_CROP
    area, (min_share, max_share) = box_area(visible_box), context.rules.thing_area
    if not all(min_share < box_area(box) / area < max_share for box in boxes):
        return AREA
    if any(meet(region, visible_box) for region in pair.candidate.truth["unmarked"]):
        return UNMARKED
    counts = Counter(name for name, box in pair.candidate.truth["there"] if meet(box, visible_box))
    names = [name_of(source, kind, context) for kind in (pair.near.kind, pair.far.kind)]
    return "" if [counts[name] for name in names] == [1, 1] else SEVERAL


pairs_of = partial(kept_pairs, task=NAME, rule_of=_exclusion_rule)


def _visible_box(pair: DepthPair, context: CurationContext) -> Box | None:
    """The part of the image that is kept: outdoors a crop around both things, indoors all of it."""
    if pair.candidate.origin.source != ROADS:
        width, height = pair.near.size
        return 0.0, 0.0, float(width), float(height)
    return crop_round_both(pair.near, pair.far, context)


def select(candidates: Sequence[Candidate], context: CurationContext) -> list[Candidate]:
    """As many pairs with one class nearer as with the other, and at most as many in total as in relative depth."""
    selected: list[Candidate] = []
    for source, images in grouped(candidates, lambda candidate: candidate.origin.source).items():
        orders = _orders([pair for image in images for pair in pairs_of(image, context)], source, context)
        counts = {classes: min(map(len, class_orders)) for classes, class_orders in orders.items()}
        if source != ROADS:
            target_counts = _indoor_target_counts(counts, source, context)
        else:
            target_counts = level_shares(counts, context.rules.pairs_outdoor // 2)
        used = Counter[Hashable]()
        for classes, count in target_counts.items():
            if beyond := 2 * (counts[classes] - count):
                context.ledger.drop(NAME, source, BEYOND, " / ".join(classes), beyond)
            for order, order_pairs in enumerate(orders[classes]):
                rng = context.rng(NAME, "drawn", source, *classes, order)
                taken_pairs = least_used(order_pairs, count, lambda pair: pair.candidate.origin.record_id, used, rng)
                selected += [
                    _pair_candidate(pair, turn % 2 == 0, context) for turn, pair in enumerate(taken_pairs, order)
                ]
    return selected


def _indoor_target_counts(
    counts: Mapping[tuple[str, str], int], source: str, context: CurationContext
) -> dict[tuple[str, str], int]:
    """The number of pairs to take per two classes with either nearer; surplus classes are dropped by chance."""
    rules, order = context.rules, shuffled(list(counts), context.rng(NAME, "classes", source))
    for classes in order[rules.pairs_indoor_classes :]:
        rule = MANY_CLASSES.format(rules.pairs_indoor_classes)
        context.ledger.drop(NAME, source, rule, " / ".join(classes), 2 * counts[classes])
    taken_classes = sorted(order[: rules.pairs_indoor_classes])
    return {classes: min(counts[classes], rules.pairs_indoor.maximum) for classes in taken_classes}


def _orders(depth_pairs: Sequence[DepthPair], source: str, context: CurationContext) -> Orders:
    """The classes of which each is nearer in `rules.fewest` pairs or more; the ledger records the others."""
    orders = dict[tuple[str, str], tuple[Sequence[DepthPair], Sequence[DepthPair]]]()
    for classes, class_pairs in grouped(depth_pairs, lambda pair: pair.classes).items():
        first, second = ([pair for pair in class_pairs if pair.near.kind == kind] for kind in classes)
        location = " / ".join(classes)
        if min(len(first), len(second)) < context.rules.fewest:
            context.ledger.drop(NAME, source, TOO_FEW.format(context.rules.fewest), location, len(class_pairs))
            continue
        orders[classes] = first, second
        if uneven := abs(len(first) - len(second)):
            context.ledger.drop(NAME, source, UNEVEN, location, uneven)
    return orders


def _pair_candidate(pair: DepthPair, near_first: bool, context: CurationContext) -> Candidate:
    origin, crop = pair.candidate.origin, None if pair.candidate.origin.source != ROADS else _visible_box(pair, context)
    truth = pair_truth((pair.near, pair.far) if near_first else (pair.far, pair.near), origin.source, crop, context)
    return Candidate(origin, " / ".join(pair.classes), f"{pair.near.kind} nearer", truth, crop=crop)


# Generated scenes

SolidPair = tuple[VisibleSolid, VisibleSolid]
"""Two things, the nearer one first."""


def tabletop_pairs(table: TabletopTruth) -> list[tuple[SolidPair, Mapping[str, Hashable]]]:
    """Pairs of things, each the only one of its kind, that are half a metre or more apart in depth."""
    candidates = list[tuple[SolidPair, Mapping[str, Hashable]]]()
    for near, far in combinations(sorted(table.singles, key=lambda solid: solid.nearest_m), 2):
        if far.nearest_m - near.nearest_m < MIN_DEPTH_GAP_M:
            continue
        near_share, far_share = (share_of(solid.box, table.table.shot.camera) for solid in (near, far))
        levels = {
            "size": range_name(near_share, BOX_SIZES),
            "larger": near_share > far_share,
            "nearer": near.kind,
            "farther": far.kind,
        }
        candidates.append(((near, far), levels))
    return candidates


def _tabletop_items(turns: Sequence[ItemSlot], rng: np.random.Generator) -> Iterator[Item]:
    # Most nearer things also look larger: pairs for which this is not true weigh as much as kinds.
    sizes = {"size": len(BOX_SIZES), "larger": len(KINDS), "nearer": len(KINDS), "farther": len(KINDS)}
    pairs = evenly_chosen(NAME, turns, tabletop_pairs, sizes, rng)
    near_first = dealt((True, False), len(turns), rng)
    for turn, (near, far), first_is_near in zip(turns, pairs, near_first, strict=True):
        first, second = (near, far) if first_is_near else (far, near)
        yield nearer_localization_item(
            turn.source,
            (first.kind, second.kind),
            (first.box, second.box),
            (first.nearest_m, second.nearest_m),
            "indoor",
        )


def tabletop_capacity(table: TabletopTruth) -> int:
    """The number of items that a table can serve."""
    return len(tabletop_pairs(table))


# Items


def nearer_localization_item(
    item_source: ItemSource,
    categories: tuple[str, str],
    boxes: tuple[Sequence[float], Sequence[float]],
    depths_m: tuple[float, float],
    scene_type: SceneType,
) -> Item:
    """An item about the nearer of two things, each the only one of its kind; no box is drawn.

    `categories`, `boxes` and `depths_m` are in the order in which the question names the two; it should be random.
    """
    if categories[0].casefold() == categories[1].casefold():
        raise SnellenError(
            f"ava-bench item {item_source.handle}: both things are called {categories[0]!r}, so the question is "
            f"ambiguous; leave the pair out"
        )
    gap = depth_gap(item_source, depths_m)
    order = (0, 1) if gap > 0 else (1, 0)
    nearer, farther = (checked_box(item_source, boxes[n]) for n in order)
    near_category, far_category = (categories[n] for n in order)
    share = area_share(nearer, item_source.image)
    return NEARER_LOCALIZATION.item(
        item_source,
        NEARER_LOCALIZATION.question.format(first=categories[0], second=categories[1]),
        nearer,
        wrong_answers=([0.0, 0.0, float(item_source.image.width), float(item_source.image.height)], list(farther)),
        regions={"box": list(nearer), "farther": list(farther)},
        factors={
            "scene_type": scene_type,
            "thing": near_category,
            "reference": far_category,
            "box_size": range_name(share, BOX_SIZES),
            "named": ("first", "second")[order[0]],
        },
        measures={"area_share": share, "depth_gap_m": abs(gap)},
    )


def _boxes_either(item: Item, metric: Metric) -> float:
    return (metric.score(item, item.answer) + metric.score(item, item.regions["farther"])) / 2


CURATION = Curation(
    name=NAME, datasets=DATASETS, find=find, select=select, make_item=pair_item_maker(nearer_localization_item)
)
NEARER_LOCALIZATION = Ability(
    name=NAME,
    kind="box",
    question=COMPOSITE_QUESTIONS["nearer-localization"],
    requires=(*LOCALIZATION.requires, *RELATIVE_DEPTH.requires),
    protocols=without_script(LOCATED),
    subgroups={"source": (), "box_size": range_names(BOX_SIZES)},
    balanced_by=("thing", "box_size", "named"),
    padded=True,
    parts=(LOCALIZATION, RELATIVE_DEPTH),
    first_part_alone=FirstPartAlone(description="boxes either of the two", score=_boxes_either),
    curation=CURATION,
    tabletop=TabletopQuestions(make_items=_tabletop_items, capacity=tabletop_capacity),
)
