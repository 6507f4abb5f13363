"""Nearer localization: pairs under the rules of localization and relative depth (appendix A.2).

These are the rules for things, distances, crops and sizes. Of two classes each is nearer equally often, so that their
names reveal nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from snellen.core.item import Box
from snellen.curated_sets.ava_bench.abilities import localization, relative_depth
from snellen.curated_sets.ava_bench.abilities.relative_depth import DepthPair
from snellen.curated_sets.ava_bench.selection import depths
from snellen.curated_sets.ava_bench.selection.candidates import Candidate, Curation, CurationContext, origin_of
from snellen.curated_sets.ava_bench.selection.completeness import completeness
from snellen.curated_sets.ava_bench.selection.depths import ROADS
from snellen.curation.draws import grouped, least_used, level_shares, shuffled
from snellen.datasets.sample import Annotation, Sample
from snellen.suites.ava_bench.abilities.nearer_localization import NAME, nearer_localization_item
from snellen.suites.ava_bench.items import box_area

MANY_CLASSES = "more than {} pairs of classes"
UNMARKED = "pair whose crop has an unannotated region"
Orders: TypeAlias = Mapping[tuple[str, str], tuple[Sequence[DepthPair], Sequence[DepthPair]]]
"""By classes: pairs with the first class nearer, and pairs with the second nearer."""


def find(scene: Sample, context: CurationContext) -> Iterator[Candidate]:
    """All things of an image that may form pairs, as one candidate, with everything else annotated there.

    Indoors the whole image is shown, so things whose name occurs twice are dropped at once.
    """
    kinds = Counter(_question_name(annotation, scene, context) for annotation in scene.annotations)
    known, objects = completeness(scene), list[depths.MeasuredObject]()
    for annotation in scene.annotations:
        object_or_rule = known.rule(annotation.label) or depths.measure(annotation, scene, context)
        if isinstance(object_or_rule, depths.MeasuredObject):
            if scene.source == ROADS and annotation.extra.get("occluded") != 0:
                object_or_rule = relative_depth.OCCLUDED
            elif scene.source != ROADS and kinds[_question_name(annotation, scene, context)] > 1:
                object_or_rule = localization.SEVERAL
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
        yield Candidate(origin_of(scene, depths.recording(scene)), "", "", truth)
    elif objects:
        context.ledger.drop(NAME, scene.source, relative_depth.ALONE, f"{scene.record_id}: {objects[0].kind}")


def _question_name(annotation: Annotation, scene: Sample, context: CurationContext) -> str:
    """The name of the thing in a question."""
    kind = depths.ROAD_CLASSES.get(annotation.label, annotation.label) if scene.source == ROADS else annotation.label
    return depths.name_of(scene.source, kind, context)


def _unmarked(scene: Sample) -> list[Box]:
    """The regions where things were not annotated; only KITTI has such regions."""
    attribute = scene.attributes.get("unmarked", ())
    sides = [float(side) for side in attribute] if isinstance(attribute, tuple) else []
    return [(x1, y1, x2, y2) for x1, y1, x2, y2 in zip(*(sides[n::4] for n in range(4)), strict=True)]


def _exclusion_rule(pair: DepthPair, context: CurationContext) -> str:
    """The rule that leaves a pair out, empty if it is kept."""
    boxes, source = (pair.near.box, pair.far.box), pair.candidate.origin.source
    if depths.meet(*boxes):
        return relative_depth.OVERLAP
    if pair.gap_m < context.rules.depth_gap_m:
        return relative_depth.GAP
    visible_box = _visible_box(pair, context)
    if visible_box is None:
        return depths.NO_CROP
    area, (min_share, max_share) = box_area(visible_box), context.rules.thing_area
    if not all(min_share < box_area(box) / area < max_share for box in boxes):
        return localization.AREA
    if any(depths.meet(region, visible_box) for region in pair.candidate.truth["unmarked"]):
        return UNMARKED
    counts = Counter(name for name, box in pair.candidate.truth["there"] if depths.meet(box, visible_box))
    names = [depths.name_of(source, kind, context) for kind in (pair.near.kind, pair.far.kind)]
    return "" if [counts[name] for name in names] == [1, 1] else localization.SEVERAL


pairs_of = partial(relative_depth.kept_pairs, task=NAME, rule_of=_exclusion_rule)


def _visible_box(pair: DepthPair, context: CurationContext) -> Box | None:
    """The part of the image that is kept: outdoors a crop around both things, indoors all of it."""
    if pair.candidate.origin.source != ROADS:
        width, height = pair.near.size
        return 0.0, 0.0, float(width), float(height)
    return depths.crop_round_both(pair.near, pair.far, context)


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
                context.ledger.drop(NAME, source, relative_depth.BEYOND, " / ".join(classes), beyond)
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
            context.ledger.drop(
                NAME, source, relative_depth.TOO_FEW.format(context.rules.fewest), location, len(class_pairs)
            )
            continue
        orders[classes] = first, second
        if uneven := abs(len(first) - len(second)):
            context.ledger.drop(NAME, source, relative_depth.UNEVEN, location, uneven)
    return orders


def _pair_candidate(pair: DepthPair, near_first: bool, context: CurationContext) -> Candidate:
    origin, crop = pair.candidate.origin, None if pair.candidate.origin.source != ROADS else _visible_box(pair, context)
    truth = depths.pair_truth(
        (pair.near, pair.far) if near_first else (pair.far, pair.near), origin.source, crop, context
    )
    return Candidate(origin, " / ".join(pair.classes), f"{pair.near.kind} nearer", truth, crop=crop)


CURATION = Curation(
    name=NAME,
    datasets=depths.SOURCES,
    find=find,
    select=select,
    make_item=depths.pair_item_maker(nearer_localization_item),
)
