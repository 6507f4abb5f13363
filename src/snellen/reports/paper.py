"""`tables/paper.tex`: the scores of the matrix for a paper, as one LaTeX table with numbers, marks and notes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from snellen.analysis.grading import states
from snellen.reports.export import LATEX
from snellen.reports.front_page import ExamPart, Front, GradedAbility, SubjectLine
from snellen.reports.matrix import matrix
from snellen.reports.rows import metric_in
from snellen.reports.wide_tables import even_parts
from snellen.reports.words import BEYOND, HARDLY, foreign

PAPER = "paper"
"""Name of the table (`tables/paper.tex`) and of the figure (`figures/paper.pdf`) for a paper."""
MARKS = {BEYOND: r"$^{\bullet}$", HARDLY: r"$^{\circ}$"}
SUBJECTS = 6
"""Subjects side by side; further ones stand in a second part of the table."""


def paper_table(front: Front) -> str:
    """The table: a row per question and a column per subject, a number with half of its interval in each cell."""
    lines = matrix(front).lines
    short = [re.split(r"[:/]", line.subject.partition("?")[0])[-1] for line in lines]
    names = [line.subject if short.count(name) > 1 else name for line, name in zip(lines, short, strict=True)]
    renamed = [f"{name}: {line.subject}" for line, name in zip(lines, names, strict=True) if name != line.subject]
    tabulars = [
        _tabular(front, [lines[n] for n in places], [names[n] for n in places])
        for places in even_parts(len(lines), SUBJECTS)
    ]
    partial = _escaped(" ".join(dict.fromkeys(line.partial for line in lines if line.partial)))
    marks = rf"$\bullet$ {BEYOND}; $\circ$ {HARDLY}; no mark: no grade; --: no score"
    notes = [marks, r"$\downarrow$ lower is better", *map(_escaped, renamed)]
    lines_of_text = [
        r"% \usepackage{booktabs,siunitx}", r"\begin{table}",
        r"\centering\footnotesize\sisetup{separate-uncertainty=true}",
        r"\caption{Scores in percent, or in the unit given, $\pm$ half of the width of the 95\,\% interval.}",
        r"\label{tab:snellen}", "\n\\par\\medskip\n".join(tabulars),
        rf"\par\smallskip {'; '.join(notes)}. {partial}", r"\end{table}", "",
    ]  # fmt: skip
    return "\n".join(lines_of_text)


def _tabular(front: Front, lines: Sequence[SubjectLine], names: Sequence[str]) -> str:
    rows = [row for part, tasks in front.abilities for row in _rows(part, tasks, lines)]
    heads = " & ".join(["question", *map(_escaped, names)])
    ends = rf"\begin{{tabular}}{{l{'r' * len(lines)}}}", r"\end{tabular}"
    return "\n".join([ends[0], r"\toprule", rf"{heads} \\", *rows, r"\bottomrule", ends[1]])


def _rows(part: ExamPart, tasks: Sequence[str], lines: Sequence[SubjectLine]) -> Iterator[str]:
    """The rows of a suite below its title; none without a score."""
    squares = {task: [line.grade(part.title, task) for line in lines] for task in tasks}
    if scored := {task: row for task, row in squares.items() if any(square.number for square in row)}:
        yield rf"\midrule \multicolumn{{{len(lines) + 1}}}{{l}}{{\emph{{{_escaped(part.title)}}}}} \\"
    for task, row in scored.items():
        metric = metric_in(part.run.suite, next(square.row for square in row if square.number))
        unit = "" if metric.share else f" ({metric.words})"
        name = _escaped(part.ability(task).name + unit + ("" if metric.higher_is_better else " ↓"))
        yield " & ".join([name, *(_cell(part, square) for square in row)]) + r" \\"


def _cell(part: ExamPart, square: GradedAbility) -> str:
    row = square.row
    if not square.number:
        return "--"
    if square.grade.state == states.THRESHOLD and not square.number[:1].isdigit():
        return _escaped(square.number)  # a bound
    metric = metric_in(part.run.suite, row)
    scale, decimals = (100, int(row.n >= 200)) if metric.share else (1, metric.decimals)
    if square.is_threshold and row.value >= 1:
        decimals = 1
    number, half = (f"{scale * score:.{decimals}f}" for score in (row.value, (row.high - row.low) / 2))
    written = number if math.isnan(row.low) else f"{number} +- {half}"
    return rf"\num{{{written}}}{MARKS.get(square.words, '')}"


def _escaped(text: str) -> str:
    return foreign(text, 400).translate(LATEX)
