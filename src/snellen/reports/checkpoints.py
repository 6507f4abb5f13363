"""The verdict on one checkpoint of a training as a JSON file: scores by ability, and changes since the last one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from snellen.analysis.changes import DROPPED, MOVED, ROSE, TOO_FEW, Verdict, changes, plain_changes
from snellen.analysis.coverage import gaps
from snellen.analysis.grades import GRADES
from snellen.analysis.section import Run
from snellen.core.errors import SnellenError
from snellen.core.storage import files
from snellen.core.storage.schemas import Card, read_card_file
from snellen.reports.front_page import ExamPart, GradedAbility, front
from snellen.runs.failures import summarize_failures

VERDICT = "verdict.json"


class AbilityScore(BaseModel):
    """The score of one task of a suite, with its context and verdict; None is unknown.

    `state` is the grade of `analysis.grades` or the state in its place, `reason` explains it. `no_answer_rate` and
    `failure_rate` are shares of items. Shares are from 0 to 1, other metrics in their own units.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    suite: str
    ability: str
    state: str
    reason: str
    metric: str
    value: float | None
    low: float | None
    high: float | None
    interval: str
    chance: float | None
    blind: float | None
    ceiling: float | None
    n: int
    clusters: int | None
    no_answer_rate: float | None
    failure_rate: float | None


class AskedSet(BaseModel):
    """Coverage of an item set: its hashes, items with a response, unasked ones by task, and reasons of failed calls.

    `run` is the folder of the run, next to the verdict.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    suite: str
    version: str
    recipe_hash: str
    content_hash: str
    run: str
    items: int
    unasked: dict[str, int]
    failures: list[str]


class ChangesSince(BaseModel):
    """Changes since the exam at step `since`, on the items that both answered.

    `dropped` and `rose` are significant by tests corrected over a suite; those in `too_few` have too few items to be.
    `rows` are the tables of `snellen diff --json` by suite.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    since: int
    dropped: list[str]
    rose: list[str]
    moved: list[str] = []
    too_few: list[str]
    rows: dict[str, list[dict[str, Any]]]
    without: dict[str, str]
    """Suites that could not be compared, with the reason."""


class CheckpointVerdict(Card):
    """`verdict.json`. A `partial` exam did not ask all its items, a `failed` one has no score; `error` has the reason.

    `seconds` is the duration of the exam without building items, `limit_s` its time limit.
    """

    file: ClassVar[str] = VERDICT

    step: int
    state: Literal["whole", "partial", "failed"]
    error: str = ""
    seconds: float
    limit_s: float | None = None
    items_a_task: int | None = None
    abilities: list[AbilityScore] = Field(default_factory=list)
    sets: list[AskedSet] = Field(default_factory=list)
    changes: ChangesSince | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)

    def scores(self) -> dict[str, float]:
        """Each score by `SUITE/ABILITY`, for logging the curves of a training."""
        return {f"{score.suite}/{score.ability}": score.value for score in self.abilities if score.value is not None}

    def __str__(self) -> str:
        """One line with the number of abilities with a grade above none, and those that dropped or rose."""
        if self.state == "failed":
            return f"step {self.step}: the exam failed: {self.error}"
        above = sum(score.state in GRADES[1:] for score in self.abilities)
        words = [f"step {self.step}: {above} of {len(self.abilities)} abilities have a grade above none"]
        if self.changes is not None:
            by_verdict = {verdict: getattr(self.changes, verdict) for verdict in (DROPPED, ROSE, MOVED)}
            for name, names in by_verdict.items():
                words += [f"{name} since {self.changes.since}: {', '.join(names)}"] if names else []
            if not any(by_verdict.values()):
                words.append(f"no clear change since {self.changes.since}")
        return "; ".join([*words, *(["partial: " + self.error] if self.state == "partial" else [])])


def write_verdict(root: Path, verdict: CheckpointVerdict) -> None:
    """Write the verdict into the folder of its exam."""
    root.mkdir(parents=True, exist_ok=True)
    files.write_text(root / VERDICT, verdict.model_dump_json(indent=1) + "\n")


def read_verdict(root: Path) -> CheckpointVerdict:
    """The verdict in a folder. Raises SnellenError if it is missing or malformed."""
    return read_card_file(CheckpointVerdict, root / VERDICT, "no verdict", "examine this checkpoint again")


def ability_scores(runs: Sequence[Run]) -> list[AbilityScore]:
    """The scores of all tasks in the runs of one subject, with their grades; runs without responses have none."""
    lines = front([ExamPart(run, run.suite.name, "") for run in runs if run.responses]).lines
    return [_ability_score(graded) for line in lines for graded in line.grades if graded.row is not None]


def _ability_score(graded: GradedAbility) -> AbilityScore:
    row = graded.row
    names = ("value", "low", "high", "chance", "blind", "ceiling", "no_answer_rate", "failure_rate")
    numbers: dict[str, Any] = {name: _number(getattr(row, name)) for name in names}
    clusters = _number(row.clusters)
    return AbilityScore(
        suite=graded.suite, ability=graded.ability, state=graded.words, reason=graded.note, metric=row.metric,
        interval=str(row.interval), n=int(row.n), clusters=None if clusters is None else int(clusters), **numbers,
    )  # fmt: skip


def _number(cell: Any) -> float | None:
    return None if cell is None or math.isnan(cell) else float(cell)


def asked_set(run: Run) -> AskedSet:
    """The coverage of the item set of a run."""
    card = run.card
    return AskedSet(
        suite=card.suite,
        version=card.version,
        recipe_hash=card.recipe_hash,
        content_hash=card.content_hash,
        run=run.root.name,
        items=len(run.responses),
        unasked={gap.task: gap.missing for gap in gaps(card.arms, run.responses)},
        failures=summarize_failures([response.reason for response in run.responses if response.status == "failed"]),
    )


def changes_since(step: int, former: Mapping[str, Run], current: Mapping[str, Run]) -> ChangesSince:
    """Changes from the runs of an exam at `step` to later ones, both by suite."""
    names: dict[Verdict, list[str]] = {DROPPED: [], ROSE: [], MOVED: [], TOO_FEW: []}
    rows, without = dict[str, list[dict[str, Any]]](), dict[str, str]()
    for suite, run in current.items():
        if not run.responses or suite not in former or not former[suite].responses:
            without[suite] = "was not asked now" if not run.responses else "was not asked then"
            continue
        try:
            compared = changes(former[suite], run)
        except SnellenError as error:
            without[suite] = str(error)
            continue
        for verdict in names:
            names[verdict] += [f"{suite}/{name}" for name in compared.names(verdict)]
        rows[suite] = plain_changes(compared)["rows"]
    return ChangesSince(
        since=step, dropped=names[DROPPED], rose=names[ROSE], moved=names[MOVED], too_few=names[TOO_FEW], rows=rows,
        without=without,
    )  # fmt: skip
