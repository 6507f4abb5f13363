"""The paper's studies with people (appendix C.3): their designs as data, and what was computed from the answers.

People take part as subjects of runs; these functions work on the score rows of such runs, or on plain votes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

import numpy as np
import pandas as pd
import yaml
from pydantic import BaseModel, ConfigDict

from snellen.core.errors import SnellenError
from snellen.core.seeds import stream
from snellen.scoring.crossed import DRAWS, crossed_interval
from snellen.scoring.uncertainty import wilson
from snellen.suites.combo.difficulty import Floats
from snellen.suites.combo.items import STREAMS

Side = Literal["first", "second"]
"""One of the two pairs of categories in a comparison."""


class PrintedStudy(BaseModel):
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
    printed: list[PrintedStudy] = []
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
class DifficultyAgreement:
    """How far people and the distance call the same pairs harder, over `comparisons` with `ties` and `votes`.

    `by_majority` is the share of comparisons whose majority agrees, a tie counting half; `by_vote` that of all votes.
    Both have a 95 % interval over comparisons and people (NaN where it is not estimable). Chance is 0.5 for both.
    """

    by_majority: float
    low: float
    high: float
    by_vote: float
    vote_low: float
    vote_high: float
    comparisons: int
    ties: int
    votes: int


def agreement(harder: Sequence[Side], sides: Mapping[str, Sequence[Side | None]]) -> DifficultyAgreement:
    """Agreement of people's votes with the side of each comparison that the distance calls harder.

    `sides` lead from a participant to one vote a comparison, in order, None where there is none. Comparisons that
    nobody voted on are left out. Raises SnellenError where a participant has another number of votes, or nobody voted.
    """
    for name, person_votes in sides.items():
        if len(person_votes) != len(harder):
            raise SnellenError(
                f"participant {name} has {len(person_votes)} votes on {len(harder)} comparisons; "
                "give None for a missing one"
            )
    # Comparisons x people: 1 where a vote agrees, -1 where it does not, 0 where there is none.
    signs = np.array(
        [[0 if v[n] is None else 1 if v[n] == side else -1 for v in sides.values()] for n, side in enumerate(harder)],
        dtype=np.float64,
    ).reshape(len(harder), len(sides))
    signs = signs[(signs != 0).any(axis=1)]
    if not len(signs):
        raise SnellenError("nobody voted on any comparison")
    majorities = _majorities(signs)
    rng = stream("combo", STREAMS, "agreement of people with the distance")
    clusters, people = np.nonzero(signs)
    agrees = (signs[clusters, people] > 0).astype(np.float64)
    vote_low, vote_high, _ = crossed_interval(agrees, people, clusters, "mean", (0.0, 1.0), rng)
    return DifficultyAgreement(
        float(majorities.mean()),
        *_majority_interval(signs, rng),
        float(agrees.mean()),
        vote_low,
        vote_high,
        comparisons=len(signs),
        ties=int((majorities == 0.5).sum()),
        votes=len(agrees),
    )


def _majorities(signs: Floats) -> Floats:
    """1 where more votes of a comparison agree than not, 0 where fewer, 0.5 for a tie."""
    return np.asarray((np.sign(signs.sum(axis=-1)) + 1) / 2)


def _majority_interval(signs: Floats, rng: np.random.Generator) -> tuple[float, float]:
    """Wilson's interval over comparisons, or percentiles of both drawn again (Owen 2007), whichever is wider each way.

    Draws of few votes cannot show what another person would have turned, and Wilson's interval takes people as given.
    """
    comparisons, people = signs.shape
    low, high = wilson(float(_majorities(signs).sum()), comparisons)
    shares = []
    for _ in range(DRAWS):
        times = rng.multinomial(people, np.full(people, 1 / people))
        drawn = signs[rng.integers(comparisons, size=comparisons)] * times
        voted = drawn[(drawn != 0).any(axis=1)]
        if len(voted):
            shares.append(float(_majorities(voted).mean()))
    ends = np.quantile(shares, (0.025, 0.975))
    return min(low, float(ends[0])), max(high, float(ends[1]))
