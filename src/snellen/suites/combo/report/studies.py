"""The paper's studies with people (appendix C.3): their designs as data, and the statistics computed from answers.

Participants are subjects of runs; these functions use the score rows of such runs, or plain votes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import yaml
from pydantic import BaseModel, ConfigDict

from snellen.analysis.cells import percent_interval
from snellen.analysis.people import is_study, people_interval
from snellen.analysis.pivot import arm_scores
from snellen.analysis.run_view import ReportArm, main_metric
from snellen.analysis.section import Run
from snellen.core.errors import SnellenError
from snellen.core.seeds import stream
from snellen.scoring.crossed import DRAWS, crossed_interval
from snellen.scoring.uncertainty import wilson
from snellen.suites.combo.difficulty import Floats
from snellen.suites.combo.items import STREAMS
from snellen.suites.combo.questions import alignment

MIN_PEOPLE = 3
ALIGNMENT_TASKS = (alignment.IMG2TEXT, alignment.TEXT2IMG)
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
    """The design of a study: questions, participants, analysis. `questions` counts those per participant, by type."""

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
    """The fields of `studies.yaml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    abstraction_alignment: Study
    difficulty: Study
    category_building: Study


@cache
def studies() -> Studies:
    """The studies in `studies.yaml`."""
    text = files("snellen.suites.combo.report").joinpath("studies.yaml").read_text("utf-8")
    return Studies.model_validate(yaml.safe_load(text))


# Abstraction Alignment


def without_best_and_worst(scores: pd.DataFrame) -> pd.DataFrame:
    """The score rows without the participants with the highest and the lowest total.

    Columns `subject` and `value`, one metric. Of participants with equal totals the first by name is dropped. Raises
    SnellenError for fewer than three participants.
    """
    totals = {str(name): float(total) for name, total in scores.groupby("subject")["value"].sum().items()}
    if len(totals) < MIN_PEOPLE:
        raise SnellenError(
            f"{len(totals)} participants: dropping the best and the worst would leave no one; give {MIN_PEOPLE} or more"
        )
    best = min(totals, key=lambda name: (-totals[name], name))
    worst = min((name for name in totals if name != best), key=lambda name: (totals[name], name))
    return scores[~scores["subject"].isin([best, worst])]


def accuracy_by_type(scores: pd.DataFrame) -> dict[str, float]:
    """Mean value of each task and of all rows together (`overall`), over score rows with columns `task` and `value`."""
    accuracies = {str(task): float(part.mean()) for task, part in scores.groupby("task", sort=False)["value"]}
    return {**accuracies, "overall": float(scores["value"].mean())}


class AnswerShare(NamedTuple):
    """A share with its interval, of `n` answers."""

    value: float
    low: float
    high: float
    n: int


def mean_of_two(first: Any, second: Any) -> str:
    """The mean of two independent shares, with an interval from theirs (Zou and Donner 2008, Statist. Med. 27)."""
    mean = (first.value + second.value) / 2
    low = mean - np.hypot(first.value - first.low, second.value - second.low) / 2
    high = mean + np.hypot(first.high - first.value, second.high - second.value) / 2
    return percent_interval(mean, low, high, first.n + second.n)


def trimmed_line(run: Run, arm: ReportArm) -> list[list[str]]:
    """The line of Table 3 for a study without the people with the highest and the lowest total over both tasks.

    Empty for other subjects, for fewer than three people, and if a task was not asked.
    """
    if not is_study(arm.subject):
        return []
    rows = pd.concat([arm_scores(run, task, arm) for task in ALIGNMENT_TASKS])
    people = rows.assign(subject=[f"{number:04d}" for number in rows["repeat"]])
    if people["subject"].nunique() < MIN_PEOPLE or people["task"].nunique() < len(ALIGNMENT_TASKS):
        return []
    rest = without_best_and_worst(people)
    shares = [_share(run, rest[rest["task"] == task], task, arm) for task in ALIGNMENT_TASKS]
    if any(share.n == 0 for share in shares):
        return []
    name = f"{arm.subject} without best and worst"
    return [[name, arm.condition, *(percent_interval(*share) for share in shares), mean_of_two(*shares)]]


def _share(run: Run, rows: pd.DataFrame, task: str, arm: ReportArm) -> AnswerShare:
    units = rows.rename(columns={"cluster_id": "cluster", "subject": "person"})
    low, high, _ = people_interval(units, main_metric(run, task), "trimmed", *arm, task)
    return AnswerShare(float(rows["value"].mean()), low, high, len(rows))


# Difficulty


@dataclass(frozen=True)
class DifficultyAgreement:
    """Agreement between people and the distance on which pair is harder, over `comparisons` with `ties` and `votes`.

    `by_majority` is the share of comparisons whose majority agrees, a tie counting half; `by_vote` that of all votes.
    Both have a 95 % interval over comparisons and people (NaN if not estimable). Chance is 0.5 for both.
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

    `sides` maps each participant to one vote per comparison, in order, None if missing. Comparisons without votes are
    left out. Raises SnellenError if a participant has another number of votes, or if there are no votes.
    """
    for name, person_votes in sides.items():
        if len(person_votes) != len(harder):
            raise SnellenError(
                f"participant {name} has {len(person_votes)} votes on {len(harder)} comparisons; "
                "give None for a missing one"
            )
    # Comparisons x people: 1 if a vote agrees, -1 if it does not, 0 if there is none.
    signs = np.array(
        [[0 if v[n] is None else 1 if v[n] == side else -1 for v in sides.values()] for n, side in enumerate(harder)],
        dtype=np.float64,
    ).reshape(len(harder), len(sides))
    signs = signs[(signs != 0).any(axis=1)]
    if not len(signs):
        raise SnellenError("no one voted on any comparison")
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
    """1 if most votes of a comparison agree, 0 if most do not, 0.5 for a tie."""
    return np.asarray((np.sign(signs.sum(axis=-1)) + 1) / 2)


def _majority_interval(signs: Floats, rng: np.random.Generator) -> tuple[float, float]:
    """The wider, at each end, of Wilson's interval over comparisons and percentiles of resamples of both (Owen 2007).

    Resampling few votes underestimates the influence of other people, and Wilson's interval treats people as fixed.
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
