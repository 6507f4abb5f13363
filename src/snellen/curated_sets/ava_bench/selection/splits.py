"""Selected candidates by groups of abilities that share them, and the split into training and testing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from snellen.core.grouping import lists_by_key
from snellen.core.item import Media, Split
from snellen.curated_sets.ava_bench.selection.candidates import Candidate, Curation, CurationContext
from snellen.curated_sets.splitting import assign_sides, balance, bind_units

ONE_SIDE = "class or bin with too few images to have some for training and some for testing"


@dataclass(frozen=True)
class CuratedGroup:
    """Tasks about the same candidates, and the curation that finds these."""

    curation: Curation
    tasks: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name under which the ledger records omissions."""
        return self.curation.name


@dataclass(frozen=True)
class SelectedCandidate:
    """A candidate with its stored image, ready for an item. `unit` identifies the pixels of the whole image."""

    group: CuratedGroup
    candidate: Candidate
    image: Media
    unit: str


def curated_groups(curations: Mapping[str, Curation]) -> list[CuratedGroup]:
    """The abilities of the curations, in their order; those with a curation of one name share its candidates."""
    groups = lists_by_key((curation.name, task) for task, curation in curations.items())
    return [CuratedGroup(curations[tasks[0]], tuple(tasks)) for tasks in groups.values()]


def split_up(ready: Sequence[SelectedCandidate], context: CurationContext) -> list[tuple[SelectedCandidate, Split]]:
    """The candidates with their sides; an image is on one side for all its questions and datasets.

    So are all frames of a video (`Origin.one_side`). Classes and bins that would be only on one side are left out.
    """
    unit = bind_units((selected.unit, selected.candidate.origin.undivided) for selected in ready)
    units = lists_by_key((unit[selected.unit], _stratum(selected)) for selected in ready)
    side = assign_sides(units, context.rules.test_share, context.rng("splits"))
    sides: dict[Any, set[Split]] = {}
    for selected in ready:
        sides.setdefault(_stratum(selected), set()).add(side[unit[selected.unit]])
    split_candidates = []
    for selected in ready:
        if len(sides[_stratum(selected)]) == 2:
            split_candidates.append((selected, side[unit[selected.unit]]))
            context.ledger.keep(selected.group.name, selected.candidate.origin.source)
        else:
            location = " ".join(selected.candidate.stratum[1:]).strip()
            context.ledger.drop(selected.group.name, selected.candidate.origin.source, ONE_SIDE, location)
    return split_candidates


def _stratum(selected: SelectedCandidate) -> tuple[str, ...]:
    return selected.group.name, *selected.candidate.stratum


def balances(ready: Sequence[tuple[SelectedCandidate, Split]]) -> Mapping[str, Any]:
    """The share of test items that every ability reached, for the card."""
    names = dict.fromkeys(selected.group.name for selected, _ in ready)
    return {
        name: balance(
            [selected.candidate.stratum for selected, _ in ready if selected.group.name == name],
            [side for selected, side in ready if selected.group.name == name],
        ).as_card()
        for name in names
    }
