"""The front page: verdicts and deficits of each subject over all suites."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from snellen.analysis.coverage import Gap, partial_note
from snellen.analysis.deficits import ScoredAnswer, answers_by_arm, find_deficits
from snellen.analysis.run_view import ReportArm, lines_of, main_arms
from snellen.analysis.section import Run
from snellen.analysis.verdicts import STATES, ScoredRow, Verdict, corrected, scored_row, without_score
from snellen.core.subject import is_simulated
from snellen.reports.deficit_words import sentences
from snellen.reports.grid import SIDE_BY_SIDE
from snellen.reports.rows import metric_in, whole_tasks_of
from snellen.reports.turning import even_parts
from snellen.reports.words import amount, span

TRACK = -0.35, 1.15
"""The range of a profile on the way from blind (0) to people (1); values beyond end at its edge."""


@dataclass(frozen=True)
class ExamPart:
    """An exam on the front page: its run, the title of its suite, and its own page."""

    run: Run
    title: str
    page: str
    gaps: Sequence[Gap] = ()
    checks: str = ""


@dataclass(frozen=True)
class Track:
    """One ability of one subject in a profile: positions from 0 to 100, and the number as text."""

    verdict: Verdict
    text: str
    span: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class SubjectLine:
    """A subject's row: its verdicts, the level of their intervals, and sentences on what decides."""

    subject: str
    simulated: bool
    verdicts: tuple[Verdict, ...]
    sentences: tuple[str, ...]
    tracks: Mapping[tuple[str, str], Track]
    partial: str
    level: float

    def verdict(self, suite: str, ability: str) -> Verdict:
        """The verdict on an ability of a suite."""
        return next(v for v in self.verdicts if (v.suite, v.ability) == (suite, ability))

    def abilities(self, state: str) -> list[Verdict]:
        """The verdicts of this state, the lowest progress first."""
        chosen = [verdict for verdict in self.verdicts if verdict.state == state]
        return sorted(chosen, key=lambda v: (math.inf if math.isnan(v.progress) else v.progress, v.ability))

    def with_scores(self) -> list[Verdict]:
        """The verdicts on abilities with a score."""
        return [verdict for verdict in self.verdicts if verdict.state != "not asked"]

    def names(self, state: str) -> str:
        """The abilities of this state as a list with reasons; only their number if all of many are in it."""
        chosen = self.abilities(state)
        if state != "not asked" and len(chosen) == len(self.with_scores()) > 6:
            return f"all {len(chosen)} abilities asked"
        by_reason: dict[str, list[str]] = {}
        for verdict in chosen:
            by_reason.setdefault(verdict.reason, []).append(verdict.ability)
        return "; ".join(
            ", ".join(abilities) + (f" ({reason})" if reason else "") for reason, abilities in by_reason.items()
        )


@dataclass(frozen=True)
class Front:
    """The front page's content: subjects, and the abilities of each suite."""

    lines: tuple[SubjectLine, ...]
    abilities: tuple[tuple[ExamPart, tuple[str, ...]], ...]

    @property
    def blind(self) -> float:
        """The position of the blind baseline in a profile."""
        return _x(0.0)

    @property
    def people(self) -> float:
        """The position of people in a profile."""
        return _x(1.0)

    def blocks(self) -> list[range]:
        """The subjects that are side by side in one table of profiles."""
        return even_parts(len(self.lines), SIDE_BY_SIDE)

    def frame(self) -> pd.DataFrame:
        """The table of subjects as text."""
        rows = [
            [line.subject, ". ".join(line.sentences), *map(line.names, STATES), line.partial] for line in self.lines
        ]
        return pd.DataFrame(rows, columns=["subject", "what decides", *STATES, "partial"])


def front(parts: Sequence[ExamPart]) -> Front:
    """The page content on every subject under the main condition of each run; worst first, simulated ones last."""
    abilities = tuple((part, tuple(dict.fromkeys(_rows(part)["task"]))) for part in parts)
    rows: dict[str, list[ScoredRow]] = {}
    others: dict[str, list[Verdict]] = {}
    answers: dict[str, list[ScoredAnswer]] = {}
    for part in parts:
        for row in lines_of(_rows(part)):
            subject, protocol = str(row.subject), part.run.suite.tasks[row.task].protocols[row.protocol]
            of_rows, of_others = rows.setdefault(subject, []), others.setdefault(subject, [])
            if math.isnan(row.value):
                of_others.append(without_score(row, protocol, part.title))
            else:
                of_rows.append(scored_row(part.run, row, part.title))
        arms = _main_arms(part)
        for arm, of_arm in answers_by_arm(part.run).items():
            if arm in arms:
                answers.setdefault(arm.subject, []).extend(of_arm)
    lines = []
    for subject, of_rows in rows.items():
        results, level = corrected(of_rows)
        results += others[subject]
        lines.append(_line(subject, results, level, answers.get(subject, []), abilities))
    lines.sort(key=_order)
    return Front(tuple(lines), abilities)


def _main_arms(part: ExamPart) -> set[ReportArm]:
    return {ReportArm(card.subject, card.condition) for card in main_arms(part.run)}


def _rows(part: ExamPart) -> pd.DataFrame:
    """Rows of whole tasks under the main condition; of several judges those of the first."""
    rows, arms = whole_tasks_of(part.run), _main_arms(part)
    chosen = [ReportArm(*names) in arms for names in zip(rows["subject"], rows["condition"], strict=True)]
    return rows[chosen].drop_duplicates(["subject", "task"])


def _line(
    subject: str,
    results: Sequence[Verdict],
    level: float,
    answers: Sequence[ScoredAnswer],
    tasks_by_part: Sequence[tuple[ExamPart, Sequence[str]]],
) -> SubjectLine:
    places = {(verdict.suite, verdict.ability) for verdict in results}
    unasked = [
        Verdict(part.title, task, "not asked")
        for part, tasks in tasks_by_part
        for task in tasks
        if (part.title, task) not in places
    ]
    runs = {part.title: part.run for part, _ in tasks_by_part}
    tracks = {(v.suite, v.ability): _track(v, runs[v.suite]) for v in results if not math.isnan(v.progress)}
    note = partial_note([gap for part, _ in tasks_by_part for gap in part.gaps if gap.subject == subject])
    texts = sentences(find_deficits(answers))
    return SubjectLine(subject, is_simulated(subject), (*results, *unasked), texts, tracks, note, level)


def _track(verdict: Verdict, run: Run) -> Track:
    row = verdict.row
    metric = metric_in(run.suite, row)
    places = (_x(point) for point in (verdict.progress, verdict.low, verdict.high))
    return Track(verdict, amount(row.value, metric, row.n), span(row.low, row.high, metric, row.n), *places)


def _x(position: float) -> float:
    """The drawn position, 0 to 100, of a point on the way; NaN stays."""
    first, last = TRACK
    return (
        math.nan if math.isnan(position) else round(100 * (min(max(position, first), last) - first) / (last - first), 1)
    )


def _order(line: SubjectLine) -> tuple[bool, float, float]:
    """Sort key, worst first: abilities seen minus not seen, as a share of those scored; then progress. Fakes last."""
    verdicts = line.with_scores()
    balance = sum((v.state == "sees") - (v.state == "does not see") for v in verdicts) / max(len(verdicts), 1)
    progress = [min(max(v.progress, 0.0), 1.0) for v in verdicts if not math.isnan(v.progress)]
    return line.simulated, balance, sum(progress) / max(len(progress), 1)
