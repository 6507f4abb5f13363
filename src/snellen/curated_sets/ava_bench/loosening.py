"""Advice for `--plan`: the rules that leave an ability no items of a dataset, and values that would leave some."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from snellen.core.item import Media
from snellen.curated_sets.ava_bench.selection.candidates import Candidate, CurationContext
from snellen.curated_sets.ava_bench.selection.rules import Rules
from snellen.curated_sets.ava_bench.selection.splits import CuratedGroup, SelectedCandidate, split_up
from snellen.curated_sets.datasets import DATASETS
from snellen.curated_sets.rules import changed_rules, in_words
from snellen.curation.ledger import Ledger
from snellen.datasets.sample import Sample

T = TypeVar("T")
MAX_SAMPLES = 5000
"""Images of a dataset on which rules are tried: each is read once per value tried."""
HALVINGS = 30
"""Bisection steps between two values of a threshold."""
UNOPENED = Media("0" * 64, "image", "png", 1, 1)


def advise(
    group: CuratedGroup, selection: Sequence[Candidate], folders: Mapping[str, Path], context: CurationContext
) -> Iterator[str]:
    """One line per given dataset that leaves the ability without items."""
    remaining = _split_counts(group, selection, context)
    for source in (source for source in group.curation.datasets if source in folders and not remaining.get(source)):
        samples = list(islice(DATASETS.get(source).samples(folders[source]), MAX_SAMPLES))
        if samples:
            yield f"{group.name}, {source}: nothing is left; {_advice(group, source, samples, context)}"


def _advice(group: CuratedGroup, source: str, samples: Sequence[Sample], context: CurationContext) -> str:
    def count(rules: Rules) -> int:
        trial = CurationContext(rules, context.choices, context.seed)
        candidates = [candidate for sample in samples for candidate in group.curation.find(sample, trial)]
        return _split_counts(group, group.curation.select(candidates, trial), trial).get(source, 0)

    rules = loosened(context.rules, count)
    if rules is None:
        return f"no threshold is responsible, but: {_reasons(group, source, context.ledger)}"
    changes = changed_rules(rules, context.rules)
    leave = "leaves" if len(changes) == 1 else "leave"
    return f"{', '.join(changes)} {leave} nothing; {in_words(changes)} in --rules FILE would leave {count(rules)} items"


def _reasons(group: CuratedGroup, source: str, ledger: Ledger) -> str:
    """The rules that leave out most, most frequent first."""
    counts = {rule: count for (name, of, rule), count in ledger.dropped.items() if (name, of) == (group.name, source)}
    commonest = sorted(counts, key=lambda rule: -counts[rule])[:3]
    return "; ".join(f"{rule} ({counts[rule]})" for rule in commonest) or "its subject matter is not annotated"


def _split_counts(group: CuratedGroup, selection: Sequence[Candidate], context: CurationContext) -> dict[str, int]:
    """Items by dataset with both sides of the split, as far as is known without opening images."""
    trial = CurationContext(context.rules, context.choices, context.seed)
    unopened = [SelectedCandidate(group, candidate, UNOPENED, candidate.origin.handle) for candidate in selection]
    counts: dict[str, int] = {}
    for selected, _ in split_up(unopened, trial):
        source = selected.candidate.origin.source
        counts[source] = counts.get(source, 0) + 1
    return counts


class _Threshold(NamedTuple):
    """One number among the rules: the rule `name`, or one of its parts."""

    name: str
    part: str | int | None

    def number(self, value: Any) -> float:
        """The number of a value of the rule."""
        if isinstance(self.part, str):
            return float(getattr(value, self.part))
        return float(value if self.part is None else value[self.part])

    def read(self, rules: Any) -> float:
        return self.number(getattr(rules, self.name))

    def write(self, rules: T, number: float) -> T:
        threshold = getattr(rules, self.name)
        value = int(number) if self.is_whole(rules) else number
        if number == self.read(rules):
            return rules
        if isinstance(self.part, str):
            return replace(rules, **{self.name: replace(threshold, **{self.part: value})})  # type: ignore[type-var]
        if self.part is not None:
            value = tuple(value if n == self.part else other for n, other in enumerate(threshold))  # type: ignore[assignment]
        return replace(rules, **{self.name: value})  # type: ignore[type-var]

    def is_whole(self, rules: Any) -> bool:
        return isinstance(self.part, str) or isinstance(getattr(rules, self.name), int)


def loosened(rules: T, count: Callable[[T], int]) -> T | None:
    """The rules changed as little as needed to leave something; None if even the loosest leave nothing.

    `count` is the number of items that rules leave. All thresholds are loosened, then each in turn is tightened again
    as far as possible.
    """
    thresholds = _thresholds(rules)
    loose = rules
    for threshold, loosest in thresholds.items():
        loose = threshold.write(loose, loosest)
    if not count(loose):
        return None
    for threshold in thresholds:
        loose = _tightened(loose, threshold, threshold.read(rules), count)
    return loose


def _thresholds(rules: Any) -> dict[_Threshold, float]:
    """Every threshold that is not at its loosest value, with that value."""
    thresholds: dict[_Threshold, float] = {}
    for rule in fields(rules):
        loosest = rule.metadata.get("loosest")
        if loosest is None:
            continue
        if is_dataclass(loosest):
            # Bins first: a class with few images in all of its bins is better than one with a single bin.
            parts: list[str | int | None] = [part.name for part in reversed(fields(loosest))]
        else:
            parts = list(range(len(loosest))) if isinstance(loosest, tuple) else [None]
        for threshold in (_Threshold(rule.name, part) for part in parts):
            if (number := threshold.number(loosest)) != threshold.read(rules):
                thresholds[threshold] = number
    return thresholds


def _tightened(rules: T, threshold: _Threshold, strictest: float, count: Callable[[T], int]) -> T:
    """The rules with one threshold as near to its strictest value as possible while something is left."""
    if count(tight := threshold.write(rules, strictest)):
        return tight
    works, fails = threshold.read(rules), strictest
    for _ in range(HALVINGS):
        middle = (works + fails) / 2
        if threshold.is_whole(rules):
            middle = float(int(middle))
            if middle in (works, fails):
                break
        works, fails = (middle, fails) if count(threshold.write(rules, middle)) else (works, middle)
    rounded = (threshold.write(rules, float(f"{works:.{digits}g}")) for digits in (1, 2, 3))
    return next((candidate for candidate in rounded if count(candidate)), threshold.write(rules, works))
