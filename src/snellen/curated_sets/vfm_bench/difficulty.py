"""The difficulty filter: answers of judges to candidates without examples (section 3.2, first stage)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Item
from snellen.core.response import Response
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.runfolder import read_run_card
from snellen.curated_sets.vfm_bench.steps import CANDIDATES, CONDITION
from snellen.curation.ledger import ANY_SOURCE, Ledger
from snellen.curation.results import StepResult, read_step_results
from snellen.scoring.answers import read_answer
from snellen.scoring.metrics import exact_match
from snellen.suites.vfm_bench.items import SUITE

MAX_RIGHT, MIN_JUDGES = 0.21, 5
"""A candidate is kept if less than this share of judges was right and at least this many answered. The released
defaults are a score under 0.21 and more than four models, so at most one of five."""
UNIT = "candidates"
"""The unit counted by the ledger."""


@dataclass(frozen=True)
class Votes:
    """The marks of candidates: by item id, 1.0 (right) or 0.0 (wrong) for every judge that answered."""

    items: ItemSet
    judges: tuple[str, ...]
    marks: Mapping[str, tuple[float, ...]]

    @property
    def hash(self) -> str:
        """The digest of all marks."""
        return digest([list(self.judges), {key: list(marks) for key, marks in self.marks.items()}], 16)


def read_votes(run: Path) -> Votes:
    """The marks of a run, by strict exact match. Unreadable replies are wrong; failed or declined calls give no mark.

    Raises SnellenError if it is not a finished run of VFM Bench, or if judges were asked under another condition.
    """
    results = read_step_results(run)
    arms = read_run_card(run).arms
    items = results[0].items if results else None
    if items is None or items.card.suite != SUITE:
        raise SnellenError(f"{run}: no votes on candidates of {SUITE}; {CANDIDATES.how_to}")
    if odd := next((arm.condition for arm in arms if arm.condition != CONDITION), None):
        raise SnellenError(f"{run}: asked under {odd!r}, but votes need {CONDITION}; {CANDIDATES.how_to}")
    if len(arms) != len({arm.subject for arm in arms}):
        raise SnellenError(f"{run}: a judge was asked more than once; each judge has one vote, so leave out --repeats")
    marks = {item.item_id: _marks(item, results) for item in items.items}
    return Votes(items, tuple(result.author for result in results), marks)


def _marks(item: Item, results: Sequence[StepResult]) -> tuple[float, ...]:
    responses = [result.responses.get(item.item_id) for result in results]
    return tuple(_mark(item, response) for response in responses if response is not None and response.status == "ok")


def _mark(item: Item, response: Response) -> float:
    return exact_match(item.answer, None if response.text is None else read_answer(response.text, response.reply_spec))


def difficulty(marks: Sequence[float]) -> float:
    """The share of judges that were right, 0 to 1: the paper's difficulty score, low for hard candidates."""
    return math.fsum(marks) / len(marks)


def difficult(marks: Mapping[str, Sequence[float]], below: float, min_judges: int, ledger: Ledger) -> dict[str, float]:
    """The difficulty scores of the candidates that are kept, by item id, in the given order."""
    scores = {}
    for item_id, item_marks in marks.items():
        if len(item_marks) < min_judges:
            ledger.drop(UNIT, ANY_SOURCE, f"answered by fewer than {min_judges} judges", item_id)
        elif difficulty(item_marks) >= below:
            rule = f"too easy: a share of {below:g} or more of the judges was right"
            ledger.drop(UNIT, ANY_SOURCE, rule, item_id)
        else:
            scores[item_id] = difficulty(item_marks)
    return scores


def read_scores(votes: Votes, below: float, min_judges: int, ledger: Ledger) -> dict[str, float]:
    """The difficulty scores of the kept candidates of a run. Raises SnellenError if none is left."""
    scores = difficult(votes.marks, below, min_judges, ledger)
    if not scores:
        raise SnellenError(
            f"{votes.items.root}: no candidate is left ({'; '.join(ledger.notes(UNIT))}); judges were "
            f"{', '.join(votes.judges)}. Repeat the same `snellen run` to ask failed calls again, with more --subject "
            "for more judges"
        )
    return scores
