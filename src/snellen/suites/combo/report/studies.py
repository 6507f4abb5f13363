"""The paper's studies with people (appendix C.3): their designs as data, and what was computed from the answers.

People take part as subjects of runs; these functions work on the score rows of such runs, or on plain votes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

import pandas as pd
import yaml
from pydantic import BaseModel, ConfigDict

from snellen.core.errors import SnellenError
from snellen.core.seeds import stream
from snellen.scoring.uncertainty import wilson
from snellen.suites.combo.categories import Pair, reference_pairs
from snellen.suites.combo.difficulty import Features, level_of, packaged_features, separation
from snellen.suites.combo.items import VERSION

Side = Literal["first", "second"]
"""One of the two pairs of categories in a comparison."""


class Printed(BaseModel):
    """A number that the paper prints about a study."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    value: float
    source: str
    note: str = ""


class Study(BaseModel):
    """What was asked of how many people, and what was made of it. `questions` are those of one participant, by type."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: str
    asks: str
    participants: int
    questions: dict[str, int] = {}
    dropped: list[Literal["best", "worst"]] = []
    dropped_by: str = ""
    reports: str
    printed: list[Printed] = []
    source: str
    notes: list[str] = []


class Studies(BaseModel):
    """`studies.yaml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    abstraction_alignment: Study
    difficulty: Study
    category_building: Study


@cache
def studies() -> Studies:
    """The studies as data."""
    text = files("snellen.suites.combo.report").joinpath("studies.yaml").read_text("utf-8")
    return Studies.model_validate(yaml.safe_load(text))


# Abstraction Alignment


def without_best_and_worst(scores: pd.DataFrame) -> pd.DataFrame:
    """The score rows without the participants of the highest and the lowest total.

    Columns `subject` and `value`, one metric. Of participants with equal totals the one that comes first by name goes.
    Raises SnellenError for fewer than three participants.
    """
    totals = {str(name): float(total) for name, total in scores.groupby("subject")["value"].sum().items()}
    if len(totals) < 3:
        raise SnellenError(
            f"{len(totals)} participants: dropping the best and the worst would leave nobody; give 3 or more"
        )
    best = min(totals, key=lambda name: (-totals[name], name))
    worst = min((name for name in totals if name != best), key=lambda name: (totals[name], name))
    return scores[~scores["subject"].isin([best, worst])]


def accuracy_by_type(scores: pd.DataFrame) -> dict[str, float]:
    """Mean value of each task and of all rows together (`overall`), over score rows with columns `task` and `value`."""
    accuracies = {str(task): float(part.mean()) for task, part in scores.groupby("task", sort=False)["value"]}
    return {**accuracies, "overall": float(scores["value"].mean())}


# Difficulty


@dataclass(frozen=True)
class Comparison:
    """Two pairs of categories; people say which pair is harder to tell apart."""

    first: Pair
    second: Pair

    @property
    def harder(self) -> Side:
        """The pair that the distance calls harder: the closer one."""
        return "first" if self.first.distance < self.second.distance else "second"


def comparisons(seed: int, count: int = 40, features: Features | None = None) -> list[Comparison]:
    """`count` comparisons of two pairs of categories each, drawn as the pairs that set the levels are."""
    from threadpoolctl import threadpool_limits

    features_used = features if features is not None else packaged_features()
    rng = stream("combo", VERSION, seed, "difficulty comparisons")
    pairs = []
    with threadpool_limits(1):
        for first, second in reference_pairs(2 * count, rng):
            distance = separation(features_used.values, first.mask(), second.mask())
            pairs.append(Pair(first, second, distance, level_of(distance, features_used.thresholds)))
    order = rng.permutation(len(pairs))
    return [Comparison(pairs[int(a)], pairs[int(b)]) for a, b in zip(order[::2], order[1::2], strict=True)]


@dataclass(frozen=True)
class Agreement:
    """How far people and the distance call the same pairs harder, with the 95 % interval of `by_majority`.

    `by_majority` is the share of comparisons whose majority agrees, a tie counting half; `by_vote` that of all votes.
    Chance is 0.5 for both.
    """

    by_majority: float
    low: float
    high: float
    by_vote: float
    comparisons: int
    ties: int


def agreement(comparisons: Sequence[Comparison], votes: Mapping[str, Sequence[Side | None]]) -> Agreement:
    """Agreement of people's votes with the distance.

    `votes` lead from a participant to one vote a comparison, in order, None where there is none. Comparisons that
    nobody voted on are left out. Raises SnellenError where a participant has another number of votes, or nobody voted.
    """
    for name, person_votes in votes.items():
        if len(person_votes) != len(comparisons):
            raise SnellenError(
                f"participant {name} has {len(person_votes)} votes on {len(comparisons)} comparisons; "
                "give None for a missing one"
            )
    agreed, agreeing, ties, voted, right = 0, 0.0, 0, 0, 0
    for number, comparison in enumerate(comparisons):
        count = Counter(person_votes[number] for person_votes in votes.values() if person_votes[number] is not None)
        total, for_harder = sum(count.values()), count[comparison.harder]
        if not total:
            continue
        agreed, voted, right = agreed + 1, voted + total, right + for_harder
        tied = 2 * for_harder == total
        ties += tied
        agreeing += 0.5 if tied else float(2 * for_harder > total)
    if not agreed:
        raise SnellenError("nobody voted on any comparison")
    return Agreement(agreeing / agreed, *wilson(agreeing, agreed), right / voted, agreed, ties)
