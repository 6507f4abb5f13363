"""Nearer: where the nearer of two things is, each the only one of its kind in what is shown.

A composite task of ours, of localization and relative depth. It goes by the rules of both (appendix A.2): which things,
how far apart, which crop, how large. Of two classes one is nearer as often as the other, so that their names tell
nothing, and which one the question names first is dealt by turns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TypeAlias

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.item import Box, Item
from snellen.core.score import Metric
from snellen.curation.draws import grouped, least_used, level_shares, shuffled
from snellen.datasets.sample import Annotation, Sample
from snellen.suites.ava_bench.abilities.ability import Ability, FirstPartAlone
from snellen.suites.ava_bench.abilities.localization import AREA, LOCALIZATION, LOST, SEVERAL
from snellen.suites.ava_bench.abilities.relative_depth import (
    ALONE,
    BEYOND,
    GAP,
    OCCLUDED,
    OVERLAP,
    RELATIVE_DEPTH,
    TOO_FEW,
    UNEVEN,
    Pair,
    depth_gap,
)
from snellen.suites.ava_bench.candidates.candidates import Candidate, Curation, CurationContext, origin_of
from snellen.suites.ava_bench.candidates.depths import (
    NO_CROP,
    ROAD_CLASSES,
    ROADS,
    ROOMS,
    Measured,
    SceneType,
    crop_round_both,
    measured,
    meet,
    name_of,
    pair_item_maker,
    pair_truth,
    recording,
)
from snellen.suites.ava_bench.candidates.depths import (
    SOURCES as DATASETS,
)
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
from snellen.suites.ava_bench.scenes.tabletop_scenes import KINDS
from snellen.suites.ava_bench.scenes.tabletop_truth import (
    TabletopQuestions,
    TabletopTruth,
    Turn,
    VisibleSolid,
    evenly_chosen,
)
from snellen.suites.ava_bench.scoring import (
    LOCATED,
    without_script,
)

NAME = "nearer-localization"
MANY_CLASSES = "more than {} pairs of classes"
UNMARKED = "pair whose crop has a region in which nothing was marked"
Orders: TypeAlias = Mapping[tuple[str, str], tuple[Sequence[Pair], Sequence[Pair]]]
"""By classes: pairs with the first one nearer, and those with the second."""


def find(scene: Sample, context: CurationContext) -> Iterator[Candidate]:
    """All things of a picture that pairs may be made of, as one candidate, with everything else that is marked there.

    Indoors the whole picture is shown, so that things with another one of their name go at once.
    """
    kinds, things = Counter(_called(annotation, scene, context) for annotation in scene.annotations), list[Measured]()
    for annotation in scene.annotations:
        one = LOST if scene.lost else measured(annotation, scene, context)
        if isinstance(one, Measured):
            if scene.source == ROADS and annotation.extra.get("occluded") != 0:
                one = OCCLUDED
            elif scene.source == ROOMS and kinds[_called(annotation, scene, context)] > 1:
                one = SEVERAL
        if isinstance(one, str):
            context.ledger.drop(NAME, scene.source, one, f"{scene.record_id}: {annotation.label}")
        else:
            things.append(one)
    if len(things) > 1:
        there = [
            (_called(annotation, scene, context), annotation.box)
            for annotation in scene.annotations
            if annotation.box is not None
        ]
        truth = {"things": things, "there": there, "unmarked": _unmarked(scene)}
        yield Candidate(origin_of(scene, recording(scene)), "", "", truth)
    elif things:
        context.ledger.drop(NAME, scene.source, ALONE, f"{scene.record_id}: {things[0].kind}")


def _called(thing: Annotation, scene: Sample, context: CurationContext) -> str:
    """What a question would call the thing."""
    kind = ROAD_CLASSES.get(thing.label, thing.label) if scene.source == ROADS else thing.label
    return name_of(scene.source, kind, context)


def _unmarked(scene: Sample) -> list[Box]:
    """Where things were left unmarked; only KITTI has such regions."""
    told = scene.attributes.get("unmarked", ())
    sides = [float(side) for side in told] if isinstance(told, tuple) else []
    return [(x1, y1, x2, y2) for x1, y1, x2, y2 in zip(*(sides[n::4] for n in range(4)), strict=True)]


def pairs_of(picture: Candidate, context: CurationContext) -> Iterator[Pair]:
    """The pairs of a picture that can be asked about; the ledger is told of the others."""
    gone = Counter[str]()
    for one, other in combinations(picture.truth["things"], 2):
        near, far = sorted((one, other), key=lambda thing: thing.nearest_m)
        pair = Pair(picture, near, far)
        if rule := _left_out(pair, context):
            gone[rule] += 1
        else:
            yield pair
    for rule, count in gone.items():
        context.ledger.drop(NAME, picture.origin.source, rule, picture.origin.record_id, count)


def _left_out(pair: Pair, context: CurationContext) -> str:
    """The rule that leaves a pair out; empty for one that can be asked about."""
    boxes, source = (pair.near.box, pair.far.box), pair.picture.origin.source
    if meet(*boxes):
        return OVERLAP
    if pair.gap_m < context.rules.depth_gap_m:
        return GAP
    shown = _shown(pair, context)
    if shown is None:
        return NO_CROP
    area, (least, most) = box_area(shown), context.rules.thing_area
    if not all(least < box_area(box) / area < most for box in boxes):
        return AREA
    if any(meet(region, shown) for region in pair.picture.truth["unmarked"]):
        return UNMARKED
    counts = Counter(name for name, box in pair.picture.truth["there"] if meet(box, shown))
    names = [name_of(source, kind, context) for kind in (pair.near.kind, pair.far.kind)]
    return "" if [counts[name] for name in names] == [1, 1] else SEVERAL


def _shown(pair: Pair, context: CurationContext) -> Box | None:
    """The part of the picture that is kept: outdoors a crop round both, indoors all of it."""
    if pair.picture.origin.source == ROOMS:
        width, height = pair.near.size
        return 0.0, 0.0, float(width), float(height)
    return crop_round_both(pair.near, pair.far, context)


def select(candidates: Sequence[Candidate], context: CurationContext) -> list[Candidate]:
    """As many pairs with one class nearer as with the other; as many in all as in relative depth at most."""
    selected: list[Candidate] = []
    for source, pictures in grouped(candidates, lambda one: one.origin.source).items():
        there = _orders([pair for picture in pictures for pair in pairs_of(picture, context)], source, context)
        counts = {classes: min(map(len, held)) for classes, held in there.items()}
        if source == ROOMS:
            most = _most_indoors(counts, source, context)
        else:
            most = level_shares(counts, context.rules.pairs_outdoor // 2)
        used = Counter[Hashable]()
        for classes, count in most.items():
            if beyond := 2 * (counts[classes] - count):
                context.ledger.drop(NAME, source, BEYOND, " / ".join(classes), beyond)
            for order, held in enumerate(there[classes]):
                rng = context.rng(NAME, "drawn", source, *classes, order)
                taken = least_used(held, count, lambda pair: pair.picture.origin.record_id, used, rng)
                selected += [_pair_candidate(pair, turn % 2 == 0, context) for turn, pair in enumerate(taken, order)]
    return selected


def _most_indoors(
    counts: Mapping[tuple[str, str], int], source: str, context: CurationContext
) -> dict[tuple[str, str], int]:
    """How many pairs of two classes to take with either nearer; of too many pairs of classes it is drawn which."""
    rules, order = context.rules, shuffled(list(counts), context.rng(NAME, "classes", source))
    for classes in order[rules.pairs_indoor_classes :]:
        rule = MANY_CLASSES.format(rules.pairs_indoor_classes)
        context.ledger.drop(NAME, source, rule, " / ".join(classes), 2 * counts[classes])
    taken = sorted(order[: rules.pairs_indoor_classes])
    return {classes: min(counts[classes], rules.pairs_indoor.most) for classes in taken}


def _orders(pairs: Sequence[Pair], source: str, context: CurationContext) -> Orders:
    """Those classes of which either is nearer in `rules.fewest` pairs or more; the ledger is told of the others."""
    kept = dict[tuple[str, str], tuple[Sequence[Pair], Sequence[Pair]]]()
    for classes, held in grouped(pairs, lambda pair: pair.classes).items():
        first, second = ([pair for pair in held if pair.near.kind == kind] for kind in classes)
        where = " / ".join(classes)
        if min(len(first), len(second)) < context.rules.fewest:
            context.ledger.drop(NAME, source, TOO_FEW.format(context.rules.fewest), where, len(held))
            continue
        kept[classes] = first, second
        if uneven := abs(len(first) - len(second)):
            context.ledger.drop(NAME, source, UNEVEN, where, uneven)
    return kept


def _pair_candidate(pair: Pair, near_first: bool, context: CurationContext) -> Candidate:
    origin, crop = pair.picture.origin, None if pair.picture.origin.source == ROOMS else _shown(pair, context)
    truth = pair_truth((pair.near, pair.far) if near_first else (pair.far, pair.near), origin.source, crop, context)
    return Candidate(origin, " / ".join(pair.classes), f"{pair.near.kind} nearer", truth, crop=crop)


# Generated scenes

SolidPair = tuple[VisibleSolid, VisibleSolid]
"""Two things, the nearer one first."""


def tabletop_pairs(table: TabletopTruth) -> list[tuple[SolidPair, Mapping[str, Hashable]]]:
    """Two things, each alone in its kind, that are half a metre or more apart in depth."""
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


def _tabletop_items(turns: Sequence[Turn], rng: np.random.Generator) -> Iterator[Item]:
    # Most of what is nearer looks larger too: pairs of which that is not true weigh as much as kinds.
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
    """How many items a table can serve."""
    return len(tabletop_pairs(table))


# Items


def nearer_localization_item(
    source: ItemSource,
    categories: tuple[str, str],
    boxes: tuple[Sequence[float], Sequence[float]],
    depths_m: tuple[float, float],
    scene_type: SceneType,
) -> Item:
    """Where the nearer of two things is, each the only one of its kind; no box is drawn.

    `categories`, `boxes` and `depths_m` come in the order in which the question names the two: let chance decide it.
    """
    if categories[0].casefold() == categories[1].casefold():
        raise SnellenError(
            f"ava-bench item {source.handle}: both things are called {categories[0]!r}, so that nobody knows which is "
            "which; leave the pair out"
        )
    gap = depth_gap(source, depths_m)
    order = (0, 1) if gap > 0 else (1, 0)
    nearer, farther = (checked_box(source, boxes[n]) for n in order)
    near_category, far_category = (categories[n] for n in order)
    share = area_share(nearer, source.picture)
    return NEARER_LOCALIZATION.item(
        source,
        NEARER_LOCALIZATION.question.format(first=categories[0], second=categories[1]),
        nearer,
        wrong_answers=([0.0, 0.0, float(source.picture.width), float(source.picture.height)], list(farther)),
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
