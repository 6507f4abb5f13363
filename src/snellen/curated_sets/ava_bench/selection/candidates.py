"""Candidates for items, and the bounds on classes and bins that all abilities share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from snellen.core.hashing import digest
from snellen.core.item import Box, Item
from snellen.core.seeds import stream
from snellen.curated_sets.ava_bench.selection.rules import Rules
from snellen.curated_sets.rules import Caps
from snellen.curation.draws import draw_options, grouped, shuffled
from snellen.curation.ledger import Ledger
from snellen.datasets.sample import Sample, SourceImage
from snellen.suites.ava_bench.items import STREAMS, SUITE, ItemSource

if TYPE_CHECKING:
    from snellen.curated_sets.ava_bench.selection.choices import Choices

OUTSIDE = "box outside its image, or image of unknown size"


@dataclass(frozen=True, slots=True)
class Origin:
    """The image of a candidate. `cluster` names the recording that it belongs to, "" if there is none.

    With `one_side` all images of the cluster are on one side of the split, e.g. the similar frames of a video.
    """

    source: str
    record_id: str
    image: SourceImage
    licence: str
    size: tuple[int, int] | None = None
    cluster: str = ""
    one_side: bool = False

    @property
    def handle(self) -> str:
        """An identifier of the image that reveals nothing about its content."""
        return digest([self.source, self.record_id], 12)

    @property
    def undivided(self) -> str:
        """The cluster that must be on one side of the split, "" if only the image itself must be."""
        return f"{self.source}/{self.cluster}" if self.one_side else ""


def origin_of(scene: Sample, cluster: str = "", *, one_side: bool = False) -> Origin:
    """The image of a scene."""
    return Origin(scene.source, scene.record_id, scene.image, scene.licence, scene.size, cluster, one_side)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One thing, pair, word or whole image from which an item can be made.

    `label` is the class and `bin` the part of it within which candidates are balanced and split; `truth` is what its
    ability needs to ask. `size` orders the candidates of a bin if an ability prefers larger ones. `crop` is the part of
    the image that is kept, in pixels; boxes in `truth` are then in pixels of the crop.
    """

    origin: Origin
    label: str
    bin: str
    truth: Mapping[str, Any]
    size: float = 0.0
    crop: Box | None = None

    @property
    def stratum(self) -> tuple[str, str, str]:
        """The stratum (source, class, bin), within which the split is 80 to 20."""
        return self.origin.source, self.label, self.bin


@dataclass(frozen=True)
class CurationContext:
    """The state shared by all steps of a build. `image_counts` are by ability and source, for abilities that count."""

    rules: Rules
    choices: Choices
    seed: int
    ledger: Ledger = field(default_factory=Ledger)
    image_counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def rng(self, *stream_key: str | int) -> np.random.Generator:
        """The random stream of one step."""
        return stream(SUITE, STREAMS, self.seed, "curated", *stream_key)


ItemMaker: TypeAlias = Callable[[Candidate, ItemSource, np.random.Generator], Item]
Pixels: TypeAlias = NDArray[np.uint8]


def keep_unchanged(candidate: Candidate, pixels: Callable[[], Pixels], context: CurationContext) -> Candidate | str:
    """The candidate unchanged, since nothing depends on pixels."""
    return candidate


@dataclass(frozen=True, kw_only=True, eq=False)
class Curation:
    """The construction of an ability's items from real datasets.

    `find` finds candidates in a sample and records in the ledger what it leaves out (no image is opened). `select`
    balances classes and bins over all candidates. `complete` completes a candidate that needs its pixels [h, w, 3], or
    gives the rule that leaves it out. `make_item` makes the item of a candidate. The ledger records omissions under
    `name`; abilities whose curations share a name ask about the same candidates and differ only in `make_item`.
    """

    name: str
    datasets: tuple[str, ...]
    find: Callable[[Sample, CurationContext], Iterable[Candidate]]
    select: Callable[[Sequence[Candidate], CurationContext], list[Candidate]]
    make_item: ItemMaker
    complete: Callable[[Candidate, Callable[[], Pixels], CurationContext], Candidate | str] = keep_unchanged


def capped(
    candidates: Sequence[Candidate], caps: Caps, task: str, context: CurationContext, *, largest: bool = False
) -> list[Candidate]:
    """Candidates within `caps`: per bin of a class `minimum` to `maximum`, per class at least `min_bins` bins or none.

    The candidates kept are drawn by the seed, or are the largest. The ledger records the others.
    """
    bins: dict[tuple[str, str], list[list[Candidate]]] = {}
    for (source, label, name), bin_candidates in grouped(candidates, lambda candidate: candidate.stratum).items():
        if len(bin_candidates) < caps.minimum:
            rule = f"fewer than {caps.minimum} in a bin of a class"
            context.ledger.drop(task, source, rule, f"{label} {name}".strip(), len(bin_candidates))
            continue
        order = shuffled(bin_candidates, context.rng(task, "capped", source, label, name))
        if largest:
            order.sort(key=lambda candidate: -candidate.size)
        if len(order) > caps.maximum:
            rule = f"more than {caps.maximum} in a bin of a class"
            context.ledger.drop(task, source, rule, f"{label} {name}".strip(), len(order) - caps.maximum)
        bins.setdefault((source, label), []).append(order[: caps.maximum])
    selected: list[Candidate] = []
    for (source, label), class_bins in bins.items():
        if len(class_bins) < caps.min_bins:
            count = sum(map(len, class_bins))
            context.ledger.drop(task, source, f"a class of fewer than {caps.min_bins} bins", label, count)
        else:
            selected += [candidate for bin_candidates in class_bins for candidate in bin_candidates]
    return selected


def capped_by_source(
    candidates: Sequence[Candidate],
    caps: Mapping[str, Caps],
    task: str,
    context: CurationContext,
    *,
    largest: bool = False,
) -> list[Candidate]:
    """The candidates as bounded by `capped`, with separate bounds per source."""
    return [
        candidate
        for source, source_candidates in grouped(candidates, lambda candidate: candidate.origin.source).items()
        for candidate in capped(source_candidates, caps[source], task, context, largest=largest)
    ]


def draw_candidates(
    candidates: Sequence[Candidate], max_candidates: int, task: str, context: CurationContext, *stream_key: str
) -> list[Candidate]:
    """At most `max_candidates`, all equally likely; the ledger records the others."""
    if len(candidates) <= max_candidates:
        return list(candidates)
    order = shuffled(candidates, context.rng(task, "drawn", *stream_key))
    for candidate in order[max_candidates:]:
        context.ledger.drop(
            task, candidate.origin.source, f"more than {max_candidates} drawn", candidate.origin.record_id
        )
    return order[:max_candidates]


def thinned(
    candidates: Sequence[Candidate], max_candidates: int, task: str, context: CurationContext
) -> list[Candidate]:
    """At most `max_candidates`, whole strata of `rules.fewest` first, so that a small set has both sides of each.

    Sources take turns, with their classes in an order drawn by the seed. A class comes with all its bins, or with as
    many as leave room for a class of every source: in a set of classes with one bin each, the name of the class would
    reveal the answer. The ledger records nothing, since the user wants a small set and no rule leaves these candidates
    out.
    """
    if len(candidates) <= max_candidates:
        return list(candidates)
    min_stratum = context.rules.fewest
    strata = grouped(candidates, lambda candidate: candidate.stratum)
    by_source = grouped(strata, lambda stratum: stratum[0])
    max_bins = max(1, max_candidates // min_stratum // len(by_source))
    turns = [
        shuffled(
            list(grouped(source_strata, lambda stratum: stratum[1]).values()), context.rng(task, "thinned", source)
        )
        for source, source_strata in by_source.items()
    ]
    selected_strata: list[list[Candidate]] = []
    remaining = max_candidates
    for bins in (classes[n] for n in range(max(map(len, turns))) for classes in turns if n < len(classes)):
        class_bins = shuffled(bins, context.rng(task, "thinned", *bins[0][:2], "bins"))[:max_bins]
        if (count := sum(min(min_stratum, len(strata[stratum])) for stratum in class_bins)) <= remaining:
            selected_strata += [
                shuffled(strata[stratum], context.rng(task, "thinned", *stratum)) for stratum in class_bins
            ]
            remaining -= count
    # First what every stratum needs for both sides, then more, one per stratum by turns: a large stratum taken whole
    # would leave others too small to be split.
    first = [candidate for stratum_candidates in selected_strata for candidate in stratum_candidates[:min_stratum]]
    more = [
        candidate
        for n in range(min_stratum, max(map(len, strata.values())))
        for stratum_candidates in selected_strata
        for candidate in stratum_candidates[n : n + 1]
    ]
    return first + more[:remaining]


def offered_names(
    candidate: Candidate, rng: np.random.Generator, max_names: int | None = None
) -> tuple[str, tuple[str, ...]]:
    """The name of a candidate's class, and those offered: all of its pool (`with_names`), or `max_names` of them."""
    name, among = candidate.truth["name"], candidate.truth["among"]
    return name, draw_options(name, among, len(among) if max_names is None else max_names, rng)


def lies_in(box: Box, size: tuple[int, int] | None) -> bool:
    """True if a box has an area and is inside an image of this width and height; False if the size is unknown."""
    if size is None:
        return False
    x1, y1, x2, y2 = box
    return 0 <= x1 < x2 <= size[0] and 0 <= y1 < y2 <= size[1]
