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

from snellen.core.item import Box
from snellen.curation.draws import grouped, least_used, level_shares, shuffled
from snellen.datasets.sample import Annotation, Sample
from snellen.suites.ava_bench import items as make
from snellen.suites.ava_bench.curated.candidates import Ability, Asker, Candidate, Curating, origin_of
from snellen.suites.ava_bench.curated.depths import (
    NO_CROP,
    ROAD_CLASSES,
    ROADS,
    ROOMS,
    SOURCES,
    Measured,
    crop_round_both,
    measured,
    meet,
    name_of,
    pair_asker,
    pair_truth,
    recording,
)
from snellen.suites.ava_bench.curated.localization_object import AREA, LOST, SEVERAL
from snellen.suites.ava_bench.curated.relative_depth import (
    ALONE,
    BEYOND,
    GAP,
    OCCLUDED,
    OVERLAP,
    TOO_FEW,
    UNEVEN,
    Pair,
)

NAME = "nearer-localization"
MANY_CLASSES = "more than {} pairs of classes"
UNMARKED = "pair whose crop has a region in which nothing was marked"
Orders: TypeAlias = Mapping[tuple[str, str], tuple[Sequence[Pair], Sequence[Pair]]]
"""By classes: pairs with the first one nearer, and those with the second."""


def look(scene: Sample, at: Curating) -> Iterator[Candidate]:
    """All things of a picture that pairs may be made of, as one candidate, with everything else that is marked there.

    Indoors the whole picture is shown, so that things with another one of their name go at once.
    """
    kinds, things = Counter(_called(thing, scene, at) for thing in scene.annotations), list[Measured]()
    for thing in scene.annotations:
        one = LOST if scene.lost else measured(thing, scene, at)
        if isinstance(one, Measured):
            if scene.source == ROADS and thing.extra.get("occluded") != 0:
                one = OCCLUDED
            elif scene.source == ROOMS and kinds[_called(thing, scene, at)] > 1:
                one = SEVERAL
        if isinstance(one, str):
            at.ledger.drop(NAME, scene.source, one, f"{scene.record_id}: {thing.label}")
        else:
            things.append(one)
    if len(things) > 1:
        there = [(_called(thing, scene, at), thing.box) for thing in scene.annotations if thing.box is not None]
        truth = {"things": things, "there": there, "unmarked": _unmarked(scene)}
        yield Candidate(origin_of(scene, recording(scene)), "", "", truth)
    elif things:
        at.ledger.drop(NAME, scene.source, ALONE, f"{scene.record_id}: {things[0].kind}")


def _called(thing: Annotation, scene: Sample, at: Curating) -> str:
    """What a question would call the thing."""
    kind = ROAD_CLASSES.get(thing.label, thing.label) if scene.source == ROADS else thing.label
    return name_of(scene.source, kind, at)


def _unmarked(scene: Sample) -> list[Box]:
    """Where things were left unmarked; only KITTI has such regions."""
    told = scene.attributes.get("unmarked", ())
    sides = [float(side) for side in told] if isinstance(told, tuple) else []
    return [(x1, y1, x2, y2) for x1, y1, x2, y2 in zip(*(sides[n::4] for n in range(4)), strict=True)]


def pairs_of(picture: Candidate, at: Curating) -> Iterator[Pair]:
    """The pairs of a picture that can be asked about; the ledger is told of the others."""
    gone = Counter[str]()
    for one, other in combinations(picture.truth["things"], 2):
        near, far = sorted((one, other), key=lambda thing: thing.nearest_m)
        pair = Pair(picture, near, far)
        if rule := _left_out(pair, at):
            gone[rule] += 1
        else:
            yield pair
    for rule, count in gone.items():
        at.ledger.drop(NAME, picture.origin.source, rule, picture.origin.record_id, count)


def _left_out(pair: Pair, at: Curating) -> str:
    """The rule that leaves a pair out; empty for one that can be asked about."""
    boxes, source = (pair.near.box, pair.far.box), pair.picture.origin.source
    if meet(*boxes):
        return OVERLAP
    if pair.gap_m < at.rules.depth_gap_m:
        return GAP
    shown = _shown(pair, at)
    if shown is None:
        return NO_CROP
    area, (least, most) = make.box_area(shown), at.rules.thing_area
    if not all(least < make.box_area(box) / area < most for box in boxes):
        return AREA
    if any(meet(region, shown) for region in pair.picture.truth["unmarked"]):
        return UNMARKED
    counts = Counter(name for name, box in pair.picture.truth["there"] if meet(box, shown))
    names = [name_of(source, kind, at) for kind in (pair.near.kind, pair.far.kind)]
    return "" if [counts[name] for name in names] == [1, 1] else SEVERAL


def _shown(pair: Pair, at: Curating) -> Box | None:
    """The part of the picture that is kept: outdoors a crop round both, indoors all of it."""
    if pair.picture.origin.source == ROOMS:
        width, height = pair.near.size
        return 0.0, 0.0, float(width), float(height)
    return crop_round_both(pair.near, pair.far, at)


def choose(found: Sequence[Candidate], at: Curating) -> list[Candidate]:
    """As many pairs with one class nearer as with the other; as many in all as in relative depth at most."""
    kept: list[Candidate] = []
    for source, pictures in grouped(found, lambda one: one.origin.source).items():
        there = _orders([pair for picture in pictures for pair in pairs_of(picture, at)], source, at)
        counts = {classes: min(map(len, held)) for classes, held in there.items()}
        if source == ROOMS:
            most = _most_indoors(counts, source, at)
        else:
            most = level_shares(counts, at.rules.pairs_outdoor // 2)
        used = Counter[Hashable]()
        for classes, count in most.items():
            if beyond := 2 * (counts[classes] - count):
                at.ledger.drop(NAME, source, BEYOND, " / ".join(classes), beyond)
            for order, held in enumerate(there[classes]):
                rng = at.rng(NAME, "drawn", source, *classes, order)
                taken = least_used(held, count, lambda pair: pair.picture.origin.record_id, used, rng)
                kept += [_asked(pair, turn % 2 == 0, at) for turn, pair in enumerate(taken, order)]
    return kept


def _most_indoors(counts: Mapping[tuple[str, str], int], source: str, at: Curating) -> dict[tuple[str, str], int]:
    """How many pairs of two classes to take with either nearer; of too many pairs of classes it is drawn which."""
    rules, order = at.rules, shuffled(list(counts), at.rng(NAME, "classes", source))
    for classes in order[rules.pairs_indoor_classes :]:
        rule = MANY_CLASSES.format(rules.pairs_indoor_classes)
        at.ledger.drop(NAME, source, rule, " / ".join(classes), 2 * counts[classes])
    taken = sorted(order[: rules.pairs_indoor_classes])
    return {classes: min(counts[classes], rules.pairs_indoor.most) for classes in taken}


def _orders(pairs: Sequence[Pair], source: str, at: Curating) -> Orders:
    """Those classes of which either is nearer in `rules.fewest` pairs or more; the ledger is told of the others."""
    kept = dict[tuple[str, str], tuple[Sequence[Pair], Sequence[Pair]]]()
    for classes, held in grouped(pairs, lambda pair: pair.classes).items():
        first, second = ([pair for pair in held if pair.near.kind == kind] for kind in classes)
        where = " / ".join(classes)
        if min(len(first), len(second)) < at.rules.fewest:
            at.ledger.drop(NAME, source, TOO_FEW.format(at.rules.fewest), where, len(held))
            continue
        kept[classes] = first, second
        if uneven := abs(len(first) - len(second)):
            at.ledger.drop(NAME, source, UNEVEN, where, uneven)
    return kept


def _asked(pair: Pair, near_first: bool, at: Curating) -> Candidate:
    origin, crop = pair.picture.origin, None if pair.picture.origin.source == ROOMS else _shown(pair, at)
    truth = pair_truth((pair.near, pair.far) if near_first else (pair.far, pair.near), origin.source, crop, at)
    return Candidate(origin, " / ".join(pair.classes), f"{pair.near.kind} nearer", truth, crop=crop)


def make_item_maker(task: str, chosen: Sequence[Candidate], at: Curating) -> Asker:
    """The box of whichever is nearer."""
    return pair_asker(make.nearer_localization_item)


ABILITY = Ability((NAME,), SOURCES, look, choose, make_item_maker)
