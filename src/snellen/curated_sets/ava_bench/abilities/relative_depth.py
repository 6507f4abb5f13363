"""Relative depth: the closer of two things (section 3.2.5, appendix A.2).

Of two classes each is nearer equally often, in total and, as far as there are enough, within each range of gaps, so
that classes alone reveal nothing. The nearer thing is red or blue by turns, so that neither colour is right more often.

Indoors the paper has 131 pairs of classes and 5.7K questions, 43 per pair, and allows "10 to 30 pairings per label".
Both hold only if a label is a pair of classes in one order: 10 to 30 with the one nearer, and as many with the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import NamedTuple, TypeAlias

from snellen.curated_sets.ava_bench.selection import depths
from snellen.curated_sets.ava_bench.selection.candidates import Candidate, Curation, CurationContext, origin_of
from snellen.curated_sets.ava_bench.selection.depths import ROADS
from snellen.curation.draws import grouped, least_used, level_shares, shuffled
from snellen.datasets.sample import Sample
from snellen.suites.ava_bench.abilities.relative_depth import NAME, relative_depth_item

OCCLUDED = "partly occluded thing"
ALONE = "thing without another to compare it with"
OVERLAP = "pair whose boxes overlap"
SAME_CLASS = "pair of one class, indoors"
GAP = "pair with too small a difference in depth"
UNEVEN = "pair without a counterpart with the other class nearer"
TOO_FEW = "fewer than {} pairs of two classes with either nearer"
BEYOND = "pair beyond the number taken of two classes"


class DepthPair(NamedTuple):
    """Two things of an image, the nearer one first."""

    candidate: Candidate
    near: depths.MeasuredObject
    far: depths.MeasuredObject

    @property
    def classes(self) -> tuple[str, str]:
        """Both classes in alphabetical order."""
        return min(self.near.kind, self.far.kind), max(self.near.kind, self.far.kind)

    @property
    def gap_m(self) -> float:
        """The difference in depth, in metres."""
        return self.far.nearest_m - self.near.nearest_m


Bins: TypeAlias = Mapping[str, Sequence[Sequence[DepthPair]]]
"""By range of gaps: pairs with the first class nearer, and pairs with the second nearer; all pairs if both classes are
the same."""


def find(scene: Sample, context: CurationContext) -> Iterator[Candidate]:
    """All things of an image that may form pairs, as one candidate: there are too many pairs to keep each."""
    objects: list[depths.MeasuredObject] = []
    for annotation in scene.annotations:
        object_or_rule = depths.measure(annotation, scene, context)
        if (
            scene.source == ROADS
            and isinstance(object_or_rule, depths.MeasuredObject)
            and annotation.extra.get("occluded") != 0
        ):
            object_or_rule = OCCLUDED
        if isinstance(object_or_rule, str):
            context.ledger.drop(NAME, scene.source, object_or_rule, f"{scene.record_id}: {annotation.label}")
        else:
            objects.append(object_or_rule)
    if len(objects) > 1:
        yield Candidate(origin_of(scene, depths.recording(scene)), "", "", {"things": objects})
    elif objects:
        context.ledger.drop(NAME, scene.source, ALONE, f"{scene.record_id}: {objects[0].kind}")


def select(candidates: Sequence[Candidate], context: CurationContext) -> list[Candidate]:
    """As many pairs with one class nearer as with the other, balanced over classes and gaps."""
    selected: list[Candidate] = []
    for source, images in grouped(candidates, lambda candidate: candidate.origin.source).items():
        pairs = [pair for image in images for pair in pairs_of(image, context)]
        bins = bin_pairs(pairs, source, context)
        target_counts = (
            _indoor_target_counts(bins, source, context) if source != ROADS else _outdoor_target_counts(bins, context)
        )
        used = Counter[Hashable]()
        for classes, count in target_counts.items():
            selected += _draw_candidates(bins[classes], count, source, classes, used, context)
    return selected


def kept_pairs(
    candidate: Candidate, context: CurationContext, task: str, rule_of: Callable[[DepthPair, CurationContext], str]
) -> Iterator[DepthPair]:
    """The pairs of an image that can be asked about; the ledger records the others by `rule_of`."""
    rule_counts = Counter[str]()
    for first, second in combinations(candidate.truth["things"], 2):
        near, far = sorted((first, second), key=lambda measured_object: measured_object.nearest_m)
        pair = DepthPair(candidate, near, far)
        if rule := rule_of(pair, context):
            rule_counts[rule] += 1
        else:
            yield pair
    for rule, count in rule_counts.items():
        context.ledger.drop(task, candidate.origin.source, rule, candidate.origin.record_id, count)


def _exclusion_rule(pair: DepthPair, context: CurationContext) -> str:
    """The rule that leaves a pair out, empty if it is kept."""
    outdoors = pair.candidate.origin.source == ROADS
    if not outdoors and pair.near.kind == pair.far.kind:
        return SAME_CLASS
    if depths.meet(pair.near.box, pair.far.box):
        return OVERLAP
    if pair.gap_m < context.rules.depth_gap_m:
        return GAP
    return depths.NO_CROP if outdoors and not depths.crop_round_both(pair.near, pair.far, context) else ""


pairs_of = partial(kept_pairs, task=NAME, rule_of=_exclusion_rule)


def bin_pairs(depth_pairs: Sequence[DepthPair], source: str, context: CurationContext) -> dict[tuple[str, str], Bins]:
    """Pairs by classes and range of gaps. The ledger records the surplus of pairs with one class nearer."""
    rules, bins_by_classes = context.rules, dict[tuple[str, str], Bins]()
    edges = rules.gap_edges_indoor if source != ROADS else rules.gap_edges_outdoor
    for classes, class_pairs in grouped(depth_pairs, lambda pair: pair.classes).items():
        bins, location = bin_gaps(class_pairs, (rules.depth_gap_m, *edges), rules.fewest), " / ".join(classes)
        if not bins:
            context.ledger.drop(NAME, source, TOO_FEW.format(rules.fewest), location, len(class_pairs))
            continue
        bins_by_classes[classes] = bins
        if uneven := len(class_pairs) - sum(len(orders) * min(map(len, orders)) for orders in bins.values()):
            context.ledger.drop(NAME, source, UNEVEN, location, uneven)
    return bins_by_classes


def bin_gaps(depth_pairs: Sequence[DepthPair], edges: Sequence[float], min_pairs: int) -> Bins:
    """Pairs of two classes by range of gaps, with either class nearer; empty with fewer than `min_pairs` of either.

    Ranges begin at `edges`, in metres. A range with fewer pairs is merged with the next, the last one with the
    previous, so that a split can leave some of every range on both sides.
    """
    first, second = depth_pairs[0].classes
    nearer = [first] if first == second else [first, second]
    orders = [[pair for pair in depth_pairs if pair.near.kind == kind] for kind in nearer]
    if min(map(len, orders)) < min_pairs:
        return {}
    ranges: list[tuple[float, list[list[DepthPair]]]] = []
    for low, high in zip(edges, (*edges[1:], float("inf")), strict=True):
        range_orders = [[pair for pair in order if low <= pair.gap_m < high] for order in orders]
        if ranges and min(map(len, ranges[-1][1])) < min_pairs:
            low, before = ranges.pop()
            range_orders = [old + new for old, new in zip(before, range_orders, strict=True)]
        ranges.append((low, range_orders))
    if len(ranges) > 1 and min(map(len, ranges[-1][1])) < min_pairs:
        (low, before), (_, range_orders) = ranges[-2:]
        ranges[-2:] = [(low, [old + new for old, new in zip(before, range_orders, strict=True)])]
    highs = [f"-{low:g} m" for low, _ in ranges[1:]] + [" m and more"]
    return {f"{low:g}{high}": range_orders for (low, range_orders), high in zip(ranges, highs, strict=True)}


def _pair_counts(bins: Bins) -> dict[str, int]:
    """The number of pairs in each range with either class nearer."""
    return {name: min(map(len, orders)) for name, orders in bins.items()}


def _indoor_target_counts(
    bins: Mapping[tuple[str, str], Bins], source: str, context: CurationContext
) -> dict[tuple[str, str], int]:
    """The number of pairs to take per two classes, with either nearer: within `rules.pairs_indoor`, or none.

    Of more than `pairs_indoor_classes` pairs of classes a random choice is taken.
    """
    min_pairs, max_pairs = context.rules.pairs_indoor.minimum, context.rules.pairs_indoor.maximum
    max_classes = context.rules.pairs_indoor_classes
    target_counts: dict[tuple[str, str], int] = {}
    for classes in shuffled(list(bins), context.rng(NAME, "classes", source)):
        pair_count = sum(_pair_counts(bins[classes]).values())
        if pair_count >= min_pairs and len(target_counts) < max_classes:
            target_counts[classes] = min(pair_count, max_pairs)
            continue
        rule = TOO_FEW.format(min_pairs) if pair_count < min_pairs else f"more than {max_classes} pairs of classes"
        context.ledger.drop(NAME, source, rule, " / ".join(classes), 2 * pair_count)
    return dict(sorted(target_counts.items()))


def _outdoor_target_counts(
    bins: Mapping[tuple[str, str], Bins], context: CurationContext
) -> dict[tuple[str, str], int]:
    """The number of pairs to take per two classes: as equal as the data allows, `pairs_outdoor` in total."""
    orders = {classes: 2 - (classes[0] == classes[1]) for classes in bins}
    pair_counts = {
        classes: orders[classes] * sum(_pair_counts(class_bins).values()) for classes, class_bins in bins.items()
    }
    return {
        classes: count // orders[classes]
        for classes, count in level_shares(pair_counts, context.rules.pairs_outdoor).items()
    }


def _draw_candidates(
    bins: Bins, max_pairs: int, source: str, classes: tuple[str, str], used: Counter[Hashable], context: CurationContext
) -> Iterator[Candidate]:
    """`max_pairs` pairs with either class nearer, balanced over gaps, red and blue by turns."""
    pair_counts = _pair_counts(bins)
    if (more := sum(pair_counts.values()) - max_pairs) > 0:
        context.ledger.drop(NAME, source, BEYOND, " / ".join(classes), more * len(next(iter(bins.values()))))
    for index, (name, count) in enumerate(level_shares(pair_counts, max_pairs).items()):
        for order, order_pairs in enumerate(bins[name]):
            rng = context.rng(NAME, "drawn", source, *classes, name, order)
            taken_pairs = least_used(order_pairs, count, lambda pair: pair.candidate.origin.record_id, used, rng)
            # One order begins with red, the other with blue: even with odd numbers both are right equally often.
            for turn, pair in enumerate(taken_pairs, index + order):
                yield _pair_candidate(pair, name, turn % 2 == 0, context)


def _pair_candidate(pair: DepthPair, gap: str, near_is_red: bool, context: CurationContext) -> Candidate:
    origin = pair.candidate.origin
    crop = depths.crop_round_both(pair.near, pair.far, context) if origin.source == ROADS else None
    truth = depths.pair_truth(
        (pair.near, pair.far) if near_is_red else (pair.far, pair.near), origin.source, crop, context
    )
    nearer = "" if pair.near.kind == pair.far.kind else f", {pair.near.kind} nearer"
    return Candidate(origin, " / ".join(pair.classes), f"{gap}{nearer}", truth, crop=crop)


CURATION = Curation(
    name=NAME, datasets=depths.SOURCES, find=find, select=select, make_item=depths.pair_item_maker(relative_depth_item)
)
