"""What may become an item, and how classes and bins are levelled: shared by all abilities."""

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
from snellen.curation.draws import grouped, shuffled
from snellen.curation.ledger import Ledger
from snellen.datasets.sample import Picture, Sample
from snellen.suites.ava_bench.candidates.rules import Caps, Rules
from snellen.suites.ava_bench.items import SUITE, VERSION, ItemSource

if TYPE_CHECKING:
    from snellen.suites.ava_bench.candidates.choices import Choices


@dataclass(frozen=True, slots=True)
class Origin:
    """A picture that something may be asked about. `cluster`: what was recorded together, else the picture itself.

    With `one_side` all pictures of the cluster are on one side of the split: frames of a video, nearly the same.
    """

    source: str
    record_id: str
    picture: Picture
    licence: str
    size: tuple[int, int] | None = None
    cluster: str = ""
    one_side: bool = False

    @property
    def handle(self) -> str:
        """Names the picture and tells nothing of what it shows."""
        return digest([self.source, self.record_id], 12)

    @property
    def undivided(self) -> str:
        """Names what must be on one side of the split, beyond the picture itself; "" for nothing."""
        return f"{self.source}/{self.cluster}" if self.one_side else ""


def origin_of(scene: Sample, cluster: str = "", *, one_side: bool = False) -> Origin:
    """The picture of a scene."""
    return Origin(scene.source, scene.record_id, scene.picture, scene.licence, scene.size, cluster, one_side)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One thing, pair, word or whole picture that an item may be made of.

    `label` is the class and `bin` the part of it that are levelled and split alike; `truth` is what its ability needs
    to ask. `size` puts candidates of a bin in order where an ability prefers larger ones. `crop` is the part of the
    picture that is kept, in pixels; boxes in `truth` are then those of the crop.
    """

    origin: Origin
    label: str
    bin: str
    truth: Mapping[str, Any]
    size: float = 0.0
    crop: Box | None = None

    @property
    def stratum(self) -> tuple[str, str, str]:
        """Within which the split is 80 to 20: source, class, bin."""
        return self.origin.source, self.label, self.bin


@dataclass(frozen=True)
class CurationContext:
    """What every step of a build shares. `met` counts what an ability has met in a source, where it must know."""

    rules: Rules
    choices: Choices
    seed: int
    ledger: Ledger = field(default_factory=Ledger)
    met: Counter[tuple[str, str]] = field(default_factory=Counter)

    def rng(self, *place: str | int) -> np.random.Generator:
        """The random stream of one step."""
        return stream(SUITE, VERSION, self.seed, "curated", *place)


ItemMaker: TypeAlias = Callable[[Candidate, ItemSource, np.random.Generator], Item]
Pixels: TypeAlias = NDArray[np.uint8]


def as_it_is(candidate: Candidate, pixels: Callable[[], Pixels], context: CurationContext) -> Candidate | str:
    """The candidate: nothing of it hangs on pixels."""
    return candidate


@dataclass(frozen=True, kw_only=True, eq=False)
class Curation:
    """How the items of an ability are made of real datasets.

    `find` finds candidates in a sample and tells the ledger what it leaves out (a picture is not opened). `select`
    levels classes and bins of all that was found. `complete` completes a candidate that needs its pixels [h, w, 3], or
    says which rule leaves it out. `make_item` makes the item of a candidate. The ledger keeps what is left out under
    `name`; abilities whose curations share a name ask about the same candidates, and differ in `make_item` alone.
    """

    name: str
    datasets: tuple[str, ...]
    find: Callable[[Sample, CurationContext], Iterable[Candidate]]
    select: Callable[[Sequence[Candidate], CurationContext], list[Candidate]]
    make_item: ItemMaker
    complete: Callable[[Candidate, Callable[[], Pixels], CurationContext], Candidate | str] = as_it_is


def capped(
    found: Sequence[Candidate], caps: Caps, task: str, context: CurationContext, *, largest: bool = False
) -> list[Candidate]:
    """Of each bin of a class between `caps.least` and `caps.most`, and of each class `caps.bins` bins or none.

    Which stay is drawn by the seed, or the largest do. What goes is told to the ledger.
    """
    bins: dict[tuple[str, str], list[list[Candidate]]] = {}
    for (source, label, name), held in grouped(found, lambda one: one.stratum).items():
        if len(held) < caps.least:
            rule = f"fewer than {caps.least} in a bin of a class"
            context.ledger.drop(task, source, rule, f"{label} {name}".strip(), len(held))
            continue
        order = shuffled(held, context.rng(task, "capped", source, label, name))
        if largest:
            order.sort(key=lambda one: -one.size)
        if len(order) > caps.most:
            rule = f"more than {caps.most} in a bin of a class"
            context.ledger.drop(task, source, rule, f"{label} {name}".strip(), len(order) - caps.most)
        bins.setdefault((source, label), []).append(order[: caps.most])
    kept: list[Candidate] = []
    for (source, label), held_bins in bins.items():
        if len(held_bins) < caps.bins:
            count = sum(map(len, held_bins))
            context.ledger.drop(task, source, f"a class of fewer than {caps.bins} bins", label, count)
        else:
            kept += [one for held in held_bins for one in held]
    return kept


def capped_by_source(
    found: Sequence[Candidate], caps: Mapping[str, Caps], task: str, context: CurationContext, *, largest: bool = False
) -> list[Candidate]:
    """`capped`, each source by its own numbers."""
    return [
        one
        for source, held in grouped(found, lambda one: one.origin.source).items()
        for one in capped(held, caps[source], task, context, largest=largest)
    ]


def drawn(found: Sequence[Candidate], most: int, task: str, context: CurationContext, *place: str) -> list[Candidate]:
    """At most so many of all, each as likely as any other; what goes is told to the ledger."""
    if len(found) <= most:
        return list(found)
    order = shuffled(found, context.rng(task, "drawn", *place))
    for one in order[most:]:
        context.ledger.drop(task, one.origin.source, f"more than {most} drawn", one.origin.record_id)
    return order[:most]


def thinned(chosen: Sequence[Candidate], most: int, task: str, context: CurationContext) -> list[Candidate]:
    """At most so many, whole strata of `rules.fewest` first, so that a small set still has both sides of each.

    Sources take turns, their classes come in an order drawn by the seed. A class comes with all its bins, or with as
    many of them as leave room for a class of every source: in a set of classes with one bin each, the name of the class
    would tell the answer. Nothing is told to the ledger: this is no rule of the curation, but the user's wish for a
    small set.
    """
    if len(chosen) <= most:
        return list(chosen)
    fewest = context.rules.fewest
    strata = grouped(chosen, lambda one: one.stratum)
    by_source = grouped(strata, lambda stratum: stratum[0])
    bins_most = max(1, most // fewest // len(by_source))
    turns = [
        shuffled(list(grouped(held, lambda stratum: stratum[1]).values()), context.rng(task, "thinned", source))
        for source, held in by_source.items()
    ]
    kept: list[list[Candidate]] = []
    left = most
    for bins in (held[n] for n in range(max(map(len, turns))) for held in turns if n < len(held)):
        mine = shuffled(bins, context.rng(task, "thinned", *bins[0][:2], "bins"))[:bins_most]
        if (count := sum(min(fewest, len(strata[one])) for one in mine)) <= left:
            kept += [shuffled(strata[one], context.rng(task, "thinned", *one)) for one in mine]
            left -= count
    first = [one for held in kept for one in held[:fewest]]
    more = [one for n in range(fewest, max(map(len, strata.values()))) for held in kept for one in held[n : n + 1]]
    return first + more[:left]
