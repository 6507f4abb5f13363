"""Advice for `--plan`: the rules that leave an ability no items of a dataset, and values that would leave some."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from snellen.core.item import Media
from snellen.curated_sets.datasets import DATASETS
from snellen.curation.ledger import Ledger
from snellen.curation.rules import changed_rules, in_words, loosened
from snellen.datasets.sample import Sample
from snellen.suites.ava_bench.selection.candidates import Candidate, CurationContext
from snellen.suites.ava_bench.selection.rules import Rules
from snellen.suites.ava_bench.selection.splits import CuratedGroup, SelectedCandidate, split_up

MAX_SAMPLES = 5000
"""Images of a dataset on which rules are tried: each is read once per value tried."""
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
