"""The front page: grades and deficits of each subject over all suites."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias, get_args

import pandas as pd

from snellen.analysis.comparison.deficits import ScoredAnswer, answers_by_arm, find_deficits
from snellen.analysis.grading import states
from snellen.analysis.grading.coverage import Gap, partial_note, stopping_note
from snellen.analysis.grading.grades import baseline, ceiling_of, progress
from snellen.analysis.grading.results import printed_ceilings
from snellen.analysis.grading.rows import Grade, ResultRow, rows_of
from snellen.analysis.studies.people import is_person, study_subject
from snellen.analysis.tables.rank_table import common_ranks
from snellen.analysis.tables.rankings import Ranked
from snellen.analysis.tables.run_view import ReportArm, arm_cards, arm_name, main_arms, main_metric
from snellen.analysis.tables.section import Run
from snellen.core.grouping import lists_by_key
from snellen.core.storage.runfolder import ArmCard
from snellen.core.storage.sight import sight_of
from snellen.reports.deficit_words import sentences
from snellen.reports.examples import Thumbnail
from snellen.reports.findings import Check
from snellen.reports.rows import grade_words, metric_in, whole_tasks_of
from snellen.reports.words import (
    BEYOND,
    HARDLY,
    Colour,
    amount,
    colour,
    first_text,
    foreign,
    grade_text,
    rate,
    span,
    unread_notes,
    value_words,
)  # fmt: skip
from snellen.subjects.registry import is_packaged

TRACK = -0.05, 1.05
"""The range of a bar on the way from guessing (0) to people (1); values beyond end at its edge."""
SHORT = {BEYOND: "beyond", HARDLY: "hardly", states.DECLINED: "", states.NOT_ASKED: ""}
"""What a cell of the matrix says of a grade or state, if it is shorter."""
Kind: TypeAlias = Literal["user", "person", "phantom", "packaged", "baseline", "simulated"]
"""What a subject is to the reader, in the order of columns.

A phantom is a model that was trained to check the exam; a baseline has no trained parameters.
"""
KINDS: tuple[Kind, ...] = get_args(Kind)


class AbilityName(NamedTuple):
    """The short name of a task, the address of its examples, one of its images, and what its scores measure."""

    name: str = ""
    link: str = ""
    image: Thumbnail | None = None
    measure: str = ""


@dataclass(frozen=True)
class ExamPart:
    """An exam on the front page: its run, the title of its suite, and its own page.

    `images` has one image per task, `checks` are those of the instrument, `unread` the sentences about replies that
    cannot be read.
    """

    run: Run
    title: str
    page: str
    gaps: Sequence[Gap] = ()
    checks: Sequence[Check] = ()
    images: Mapping[str, Thumbnail] = field(default_factory=dict)
    unread: Sequence[str] = ()

    def ability(self, task: str) -> AbilityName:
        """What readers are told of a task."""
        known = self.run.suite.card.tasks.get(task)
        link = f"{self.page}#{self.page.removesuffix('.html')}-{task}" if self.page else ""
        metric = main_metric(self.run, task)
        return AbilityName(known.name if known else task, link, self.images.get(task), metric.label and metric.measure)

    @property
    def people(self) -> str:
        """The scores of people on the examined tasks with their sources, except those of studies."""
        asked, by_source = set(self.run.results["task"]), dict[str, list[str]]()
        for ceiling in printed_ceilings(self.run.suite, self.run.items):
            if ceiling.task in asked and not ceiling.factor:
                score = f"“{self.ability(ceiling.task).name}” {100 * ceiling.value:.0f} %"
                by_source.setdefault(ceiling.source, []).append(score)
        return "; ".join(f"{', '.join(scores)} ({source})" for source, scores in by_source.items())


NO_GRADE = "no grade"
GROUPS = (HARDLY, BEYOND, states.OPEN, NO_GRADE, states.NOT_ASKED)
"""The columns of the front page. Those without a grade are thresholds, and scores that tell of something else."""
COLUMNS = (
    "subject", "suite", "task", "grade", "state", "reason", "n", "low", "high", "floor", "floor_name", "decided_by",
    "note",
)  # fmt: skip
"""The columns of `tables/front.csv`."""


@dataclass(frozen=True)
class GradedAbility:
    """The grade of one ability (a task) of a subject, with the row of results that it is from.

    `about` is that of `ExamPart.ability`. `text` is what the page says of the grade, with its note and its floor.
    `progress`, `low` and `high` are the score and its interval, scaled from the blind baseline (0) to the ceiling (1).
    A threshold has no such scale. `number`, `interval`, `missing` (shares of replies that were not read, or failed) and
    `guess` (the blind baseline) are texts, `declined` is why it was not asked.
    """

    suite: str
    ability: str
    progress: float = math.nan
    low: float = math.nan
    high: float = math.nan
    text: str = ""
    row: ResultRow = field(default_factory=ResultRow, repr=False, compare=False)
    about: AbilityName = field(default_factory=AbilityName)
    number: str = ""
    interval: str = ""
    missing: tuple[str, ...] = ()
    guess: str = ""
    declined: str = ""

    @property
    def grade(self) -> Grade:
        """The grade, or the state in its place."""
        return self.row.grade

    @property
    def words(self) -> str:
        """What the front page says of the grade, or the state in its place."""
        return first_text(self.grade)

    @property
    def short(self) -> str:
        """What a cell of the matrix says of the grade or state."""
        return states.OPEN if self.grade.state == states.OPEN else SHORT.get(self.words, self.words)

    @property
    def is_threshold(self) -> bool:
        """True for a threshold or its bound."""
        return self.grade.state == states.THRESHOLD and bool(self.number)

    @property
    def positions(self) -> tuple[float, ...]:
        """Where the score and the ends of its interval are drawn, 0 to 100; NaN without a place."""
        first, last = TRACK
        ends = (self.progress, self.low, self.high)
        places = (math.nan if math.isnan(end) else min(max(end, first), last) for end in ends)
        return tuple(round(100 * (place - first) / (last - first), 1) for place in places)

    @property
    def full(self) -> str:
        """Everything that a cell of the matrix stands for, in words."""
        guess = self.guess and f"guess {self.guess}"
        state = self.text or self.reason or self.words
        score = f"{self.number} {self.interval}".strip()
        return ", ".join(filter(None, (score, self.about.measure, guess, state, *self.missing, self.declined)))

    @property
    def colour(self) -> Colour:
        """The colour that this grade or state has on every page; that of *not asked* without a score."""
        return "none" if self.grade.reason == states.ALL else colour(self.grade)

    @property
    def group(self) -> str:
        """The column of the front page, one of `GROUPS`."""
        if self.grade.word:
            return self.words
        is_open = self.grade.state == states.OPEN
        return states.NOT_ASKED if self.colour == "none" else states.OPEN if is_open else NO_GRADE

    @property
    def reason(self) -> str:
        """What the column of the front page does not say."""
        is_open = self.group == states.OPEN
        text = self.grade.reason if is_open else "" if self.words in GROUPS else grade_text(self.grade)
        return ", ".join(filter(None, (text, self.grade.note)))


@dataclass(frozen=True)
class SubjectLine:
    """A subject's grades, sentences on what decides, and what `snellen sight` says (empty: not checked)."""

    subject: str
    kind: Kind
    grades: tuple[GradedAbility, ...]
    sentences: tuple[str, ...]
    partial: str
    sight: str = ""
    faults: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """What its column says below the name; empty for what readers examine."""
        return self.kind if self.kind in ("phantom", "baseline", "simulated") else ""

    @property
    def decided(self) -> int:
        """The number of its scores that are decided."""
        return sum(square.grade.is_decided for square in self.grades)

    @property
    def scores(self) -> int:
        """The number of its scores."""
        return sum(bool(square.number) for square in self.grades)

    def grade(self, suite: str, ability: str) -> GradedAbility:
        """The grade of an ability of a suite."""
        return next(g for g in self.grades if (g.suite, g.ability) == (suite, ability))

    def abilities(self, group: str) -> list[GradedAbility]:
        """The abilities of this column, the lowest progress first."""
        return sorted((square for square in self.grades if square.group == group), key=_by_progress)

    def with_scores(self) -> list[GradedAbility]:
        """The abilities with a score."""
        return [square for square in self.grades if square.group != "not asked"]

    def unasked(self) -> list[str]:
        """The abilities without a score, one text for each reason."""
        by_note: dict[str, list[str]] = {}
        for square in self.abilities("not asked"):
            note = ": ".join(filter(None, (square.reason or states.NOT_ASKED, square.declined)))
            by_note.setdefault(note, []).append(square.about.name)
        return [f"{note.capitalize()}: {' · '.join(names)}" for note, names in by_note.items()]


@dataclass(frozen=True)
class Front:
    """The front page's content: subjects in the order of columns, and the abilities of each suite.

    `elsewhere` names the arms of subjects that no run asked under its main condition, and so have no line. `ranks` are
    those of all suites (under the empty name) and of each suite (`rank_table.common_ranks`).
    """

    lines: tuple[SubjectLine, ...]
    abilities: tuple[tuple[ExamPart, tuple[str, ...]], ...]
    elsewhere: tuple[str, ...] = ()
    ranks: Mapping[str, Mapping[str, Ranked]] = field(default_factory=dict)

    @property
    def checks(self) -> list[Check]:
        """The checks of the instrument of all exams."""
        return [check for part, _ in self.abilities for check in part.checks]

    @property
    def unasked(self) -> dict[str, list[str]]:
        """What was not asked and why, with the subjects."""
        return lists_by_key((text, line.subject) for line in self.lines for text in line.unasked())

    def table(self) -> pd.DataFrame:
        """One row per subject and ability, columns `COLUMNS`; the interval and the floor in units of the task."""
        rows = []
        for line in self.lines:
            for square in line.grades:
                cells = square.row.cells()
                rows.append([line.subject, square.suite, square.ability, *(cells[name] for name in COLUMNS[3:])])
        return pd.DataFrame(rows, columns=list(COLUMNS))


def _by_progress(square: GradedAbility) -> tuple[float, str]:
    return (math.inf if math.isnan(square.progress) else square.progress, square.ability)


def front(parts: Sequence[ExamPart]) -> Front:
    """The page content on every subject under the main condition of each run.

    The user's first subject is the first, then come the others from best to worst, by what they are (`KINDS`).
    """
    abilities = tuple((part, tuple(dict.fromkeys(main_rows(part)["task"]))) for part in parts)
    grades: dict[str, list[GradedAbility]] = {}
    answers: dict[str, list[ScoredAnswer]] = {}
    for part in parts:
        declined = {(r.subject, r.task): r.reason for r in part.run.responses if r.status == "declined"}
        for row in rows_of(main_rows(part)):
            reason = foreign(declined.get((row.subject, row.task), ""), 160)
            grades.setdefault(str(row.subject), []).append(_graded_ability(row, part, reason))
        arms = _main_arms(part)
        for arm, of_arm in answers_by_arm(part.run).items():
            if arm in arms:
                answers.setdefault(arm.subject, []).extend(of_arm)
    lines = [_line(subject, of_subject, answers.get(subject, []), abilities) for subject, of_subject in grades.items()]
    first = next((line.subject for line in lines if line.kind == "user"), "")
    lines.sort(key=lambda line: (KINDS.index(line.kind), line.subject != first, *_best_first(line)))
    asked = [
        (study_subject(card.subject) if is_person(card) else card.subject, card.condition)
        for part in parts
        for card in arm_cards(part.run).values()
    ]
    elsewhere = dict.fromkeys(arm_name(*arm) for arm in asked if arm[0] not in grades)
    ranks = {part.title: common_ranks([part.run]) for part in parts}
    ranks[""] = common_ranks([part.run for part in parts]) if len(parts) > 1 else ranks[parts[0].title]
    return Front(tuple(lines), abilities, tuple(elsewhere), ranks)


def _graded_ability(row: ResultRow, part: ExamPart, declined: str) -> GradedAbility:
    place, metric = (part.title, row.task), metric_in(part.run.suite, row)
    if math.isnan(row.value) and not row.n:
        return GradedAbility(*place, row=row, about=part.ability(row.task), declined=declined)
    blind, ceiling = baseline(row, metric), ceiling_of(row, metric)
    middle, *ends = (progress(score, blind, ceiling) for score in (row.value, row.low, row.high))
    low, high = ends if math.isnan(ends[0]) else sorted(ends)
    number, interval, missing = "", "", tuple[str, ...]()
    if not math.isnan(row.value):
        number, interval = value_words(row, metric), span(row.low, row.high, metric, row.n)
        missing = (*unread_notes(row, metric), *[f"failed {rate(row.failure_rate)}"] * (row.failure_rate > 0))
    guess = "" if math.isnan(blind) else amount(blind, metric)
    about, text = part.ability(row.task), grade_words(row, metric, first_text)
    return GradedAbility(*place, middle, low, high, text, row, about, number, interval, missing, guess)


def _main_arms(part: ExamPart) -> set[ReportArm]:
    return {ReportArm(card.subject, card.condition) for card in main_arms(part.run)}


def main_rows(part: ExamPart) -> pd.DataFrame:
    """Rows of whole tasks under the main condition; of several judges those of the first."""
    rows, arms = whole_tasks_of(part.run), _main_arms(part)
    chosen = [ReportArm(*names) in arms for names in zip(rows["subject"], rows["condition"], strict=True)]
    return rows[chosen].drop_duplicates(["subject", "task"])


def _line(
    subject: str,
    grades: Sequence[GradedAbility],
    answers: Sequence[ScoredAnswer],
    tasks_by_part: Sequence[tuple[ExamPart, Sequence[str]]],
) -> SubjectLine:
    places = {(square.suite, square.ability) for square in grades}
    unasked = [
        GradedAbility(part.title, task, about=part.ability(task))
        for part, tasks in tasks_by_part
        for task in tasks
        if (part.title, task) not in places
    ]
    runs = {part.title: part.run for part, _ in tasks_by_part}
    note = partial_note([gap for part, _ in tasks_by_part for gap in part.gaps if gap.subject == subject])
    arms = [arm for run in runs.values() for arm in run.card.arms if arm.subject == subject]
    note = " ".join(filter(None, (note, stopping_note([square.row for square in grades], arms))))
    failures = [g for g in grades if g.row.failure_rate > 0 and g.grade.reason != states.UNJUDGED]
    if failures:
        shares = ", ".join(
            f"{100 * square.row.failure_rate:.3g} % of “{square.about.name or square.ability}”" for square in failures
        )
        note = f"{note} Items without a score because their calls failed: {shares}.".lstrip()
    undecided = {f"{one.row.suite}/{one.row.task}" for one in grades if one.grade.reason == states.TOO_FEW}
    texts = sentences(find_deficits(answers), undecided)
    results = [sight_of(root, arm.fingerprint) for run in runs.values() for root in run.roots for arm in arms]
    sight = max((result for result in results if result), key=lambda result: result.date, default=None)
    words, faults = (sight.words(), tuple(sight.faults())) if sight else ("", ())
    return SubjectLine(subject, _kind(arms[0]), (*grades, *unasked), texts, note, words, faults)


def _kind(arm: ArmCard) -> Kind:
    if arm.role in ("simulated", "person"):
        return arm.role
    if "phantom" in arm.attributes:
        return "phantom"
    if arm.attributes.get("parameters") == "0":
        return "baseline"
    return "packaged" if is_packaged(arm.subject) else "user"


def _best_first(line: SubjectLine) -> tuple[float, float]:
    """Sort key, best first: abilities with a grade above none minus those without, as a share; then progress."""
    grades = line.with_scores()
    balance = sum((g.colour in ("part", "above")) - (g.colour == "below") for g in grades) / max(len(grades), 1)
    positions = [min(max(g.progress, 0.0), 1.0) for g in grades if not math.isnan(g.progress)]
    return -balance, -sum(positions) / max(len(positions), 1)
