"""The matrix of the front page: a row per question, worst first for the first subject, and a column per subject."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING

import pandas as pd

from snellen.analysis.grading import states
from snellen.analysis.grading.grades import GRADES
from snellen.analysis.tables.cells import decimal_interval
from snellen.analysis.tables.plots import FAINT, INK, MUTED, two_lines
from snellen.core.storage.runfolder import recorded_subjects
from snellen.reports.figures import COLOURS, SAME
from snellen.reports.front_page import Front, GradedAbility, SubjectLine
from snellen.reports.words import BEYOND, HARDLY, foreign

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MATRIX = "matrix"
"""File name of the matrix as a table and as a figure."""
SOLVED = GRADES[-2:]
"""Grades of a question that tells no subjects apart if a baseline has them."""
COMMAND = 50
"""Most characters of a command on the page."""


@dataclass(frozen=True)
class Matrix:
    """Subjects as columns, and the grades of each question, in their order; only questions that one of them has.

    `ranks` are the texts of `Front.ranks`, one per subject, or empty. `best` has the lowest, and whose it is.
    """

    lines: tuple[SubjectLine, ...]
    rows: tuple[tuple[GradedAbility, ...], ...]
    ranks: tuple[str, ...] = ()
    best: str = ""

    def first(self, group: str) -> list[GradedAbility]:
        """The questions of a group (`front_page.GROUPS`) of the first subject, worst first."""
        return [row[0] for row in self.rows if row[0].group == group]

    @property
    def others(self) -> list[tuple[str, list[GradedAbility]]]:
        """Other subjects like the first with the questions at which they are hardly beyond guessing, at most three.

        Beside phantoms, which see what they were trained on, these are packaged encoders, too.
        """
        kinds = ("phantom", "packaged") if self.lines[0].kind == "phantom" else (self.lines[0].kind,)
        lines = [(place, line) for place, line in enumerate(self.lines) if place and line.kind in kinds]
        hardly = [(line.subject, [row[n] for row in self.rows if row[n].group == HARDLY]) for n, line in lines]
        return [(name, squares) for name, squares in hardly if squares][:3]

    @property
    def solved(self) -> list[tuple[str, tuple[GradedAbility, ...], bool]]:
        """Each baseline with the questions that it solves, and whether these are all that it was asked."""
        baselines = []
        for place, line in enumerate(self.lines):
            scored = [row[place] for row in self.rows if row[place].number]
            solved = tuple(square for square in scored if square.grade.word in SOLVED)
            if line.kind == "baseline" and solved:
                baselines.append((line.subject, solved, len(solved) == len(scored)))
        return baselines

    def frame(self) -> pd.DataFrame:
        """The matrix as text: one row per question, and one of ranks."""
        heads = ["question", "task", "suite", "measure", *(line.subject for line in self.lines)]
        texts = [[" ".join(f"{g.number} {g.interval} {g.short or g.words}".split()) for g in row] for row in self.rows]
        places = [[row[0].about.name, row[0].ability, row[0].suite, row[0].about.measure] for row in self.rows]
        cells = [[*place, *text] for place, text in zip(places, texts, strict=True)]
        cells += [["average rank", "", "", "", *self.ranks]] if self.ranks else []
        return pd.DataFrame(cells, columns=heads)


def matrix(front: Front, simulated: bool = False, title: str = "") -> Matrix:
    """The matrix of the subjects, or of the simulated observers; these are the subjects if there are no others.

    With the title of a suite, its questions and the subjects that were asked some of them.
    """
    examined = [line for line in front.lines if (line.kind == "simulated") is simulated]
    lines = examined or ([] if simulated else list(front.lines))
    abilities = [(part.title, task) for part, tasks in front.abilities for task in tasks if title in ("", part.title)]
    rows = [tuple(line.grade(*ability) for line in lines) for ability in abilities]
    asked = [row for row in rows if any(square.group != states.NOT_ASKED for square in row)]
    places = [n for n in range(len(lines)) if not title or any(row[n].group != states.NOT_ASKED for row in asked)]
    columns = [tuple(row[n] for n in places) for row in asked if places]
    chosen, of_subject = tuple(lines[n] for n in places), front.ranks.get(title, {})
    ranks = [of_subject[line.subject] for line in chosen if line.subject in of_subject]
    texts = tuple(decimal_interval(*rank) for rank in ranks) if len(ranks) == len(chosen) else ()
    lowest = min(of_subject, key=lambda name: of_subject[name][0]) if texts else ""
    best = f"{lowest}, {decimal_interval(*of_subject[lowest])}" if texts else ""
    return Matrix(chosen, tuple(sorted(columns, key=_worst_first)), texts, best)


def _worst_first(squares: Sequence[GradedAbility]) -> tuple[int, int, float]:
    """Sort key of a question: hardly beyond guessing, open, thresholds, beyond guessing; then progress.

    These are of the first subject that was asked it; questions that the first subject was not asked follow.
    """
    order = (HARDLY, states.OPEN, "no grade", BEYOND, states.NOT_ASKED)
    place = next((n for n, square in enumerate(squares) if square.group != states.NOT_ASKED), 0)
    progress = squares[place].progress
    return place, order.index(squares[place].group), math.inf if math.isnan(progress) else progress


def alarms(front: Front, line: SubjectLine) -> list[str]:
    """What must be mended before the scores of a subject are read: unreadable replies, faults found by `sight`."""
    unread = [text for part, _ in front.abilities for text in part.unread if f" of {line.subject} " in text]
    return [*unread, *(f"What reaches it: {fault}" for fault in line.faults)]


def commands(front: Front, line: SubjectLine) -> list[tuple[str, str]]:
    """Commands that follow from the report, with what they do; the one that decides more scores first."""
    run, pairs = front.abilities[0][0].run, []
    roots = [root for part, _ in front.abilities for root in part.run.roots]
    is_checkup = all(root.parent.name == "run" and root.parents[1].name == "checkup" for root in roots)
    asked = [other for other in front.lines if other.kind != "simulated"] if is_checkup else [line]
    needs_items = any(square.grade.needs_items for other in asked for square in other.grades)
    if needs_items and run.items.card.source == "generated":
        longer = f"snellen run {run.card.suite} -s {line.subject} --until-decided"
        pairs.append(("snellen checkup --more" if is_checkup else longer, "decides more scores"))
    recorded = recorded_subjects(run.card)
    encoders = {arm.subject for part, _ in front.abilities for arm in part.run.card.arms if arm.role == "encoder"}
    own_encoder = line.kind == "user" and line.subject in encoders
    if line.kind == "user" and not (line.sight or own_encoder or line.subject in recorded):
        pairs.append((f"snellen sight {quote(line.subject)}", "checks what of an image reaches it"))
    if line.kind == "person":
        pairs.append((f"snellen run {run.card.suite} -s chat:openai/gpt-4o", "asks a model the same"))
    elif own_encoder:
        pairs.append(("snellen checkup -s encoder:hf/FOLDER", "examines an encoder of transformers on all suites"))
    elif line.subject not in recorded:
        served = "your model on all suites; one on your own server is chat:openai-api/SERVICE/MODEL"
        pairs.append(("snellen checkup -s chat:openai/gpt-4o", f"examines {served}"))
    shown = f"checkup/items/{run.card.suite}" if is_checkup else run.card.suite
    if run.items.card.source != "generated":
        shown = quote(str(run.items.root))
    purpose = "shows the questions" if line.subject in recorded else "shows exactly what is sent"
    pairs.append((f"snellen show {shown}", purpose))
    return [pair for pair in pairs if len(pair[0]) <= COMMAND][:3]


def draw_matrix(table: Matrix) -> Figure:
    """The matrix as a figure."""
    from matplotlib.figure import Figure

    width, height = 1.75 * len(table.lines), 0.42 * len(table.rows)
    figure = Figure(figsize=(width + 3.5, height + 1.0), layout="constrained")
    axes = figure.subplots()
    axes.set_xlim(0, max(len(table.lines), 1))
    axes.set_ylim(max(len(table.rows), 1), 0)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    heads = [two_lines(foreign(line.subject, 400), 22) for line in table.lines]
    notes = [f"\n{line.label}" if line.label else "" for line in table.lines]
    axes.xaxis.tick_top()
    axes.set_xticks([n + 0.45 for n in range(len(heads))], map("".join, zip(heads, notes, strict=True)))
    about = [(row[0].about.name or row[0].ability, row[0].about.measure) for row in table.rows]
    names = [two_lines(foreign(f"{name} ({measure})" if measure else name, 400), 34) for name, measure in about]
    axes.set_yticks([n + 0.5 for n in range(len(names))], names)
    axes.hlines(range(len(names) + 1), 0, len(heads), colors=FAINT, linewidth=0.7)
    for y, row in enumerate(table.rows):
        for x, square in enumerate(row):
            ink = SAME if square.colour in ("same", "none") else COLOURS[square.colour]
            text = " ".join(filter(None, (square.number, square.short))) if square.short else "·"
            axes.annotate(text, (x + 0.03, y + 0.42), color=INK if ink == SAME else ink, fontsize=8.5)
            if not math.isnan(square.progress):
                value, low, high = (x + 0.03 + 0.0087 * end for end in square.positions)
                hatch = "////" if square.short == states.OPEN else None
                axes.barh(y + 0.7, 0.87, 0.2, x + 0.03, facecolor=FAINT, edgecolor="white", hatch=hatch, linewidth=0)
                axes.hlines(y + 0.7, low, high, colors=ink, linewidth=1.4)
                axes.vlines(value, y + 0.58, y + 0.82, colors=ink, linewidth=2.6)
    figure.supxlabel("from guessing (left) to people, with the 95 % interval; hatched: open", color=MUTED, fontsize=8.5)
    return figure
