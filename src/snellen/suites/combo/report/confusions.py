"""Confusions between the answers of Pattern Perception."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snellen.analysis.cells import DASH
from snellen.analysis.pivot import arm_parts
from snellen.analysis.plots import draw_heat, panel_figure
from snellen.analysis.run_view import arm_name, examined_rows, ordered_levels, score_rows
from snellen.analysis.section import ReportSection, Run
from snellen.suites.combo.questions import perception
from snellen.suites.combo.space import values

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_MATRICES = 6


def confusions(run: Run) -> Iterator[ReportSection]:
    """Answers against truths in Pattern Perception, with a figure per question."""
    scores = score_rows(run, perception.TASK, "accuracy")
    scores = scores[scores["outcome"].isin(["answered", "no_answer", "cut_off"])]
    predictions = [json.loads(text) or "" for text in scores["prediction"]]
    scores = scores.assign(truth=scores["truth"].map(json.loads), prediction=predictions)
    questions = scores["item_id"].map(lambda name: run.items.by_id[name].factors["question"])
    for name, dimension in perception.QUESTIONS.items():
        part = scores[questions == name]
        if part.empty or name == "pivot":
            continue
        by_arm = [(arm_name(*arm), rows) for arm, rows in arm_parts(examined_rows(part))]
        answers = ordered_levels({*part["truth"], *part["prediction"]} - {""}, values(dimension))
        mistakes = commonest_mistakes(by_arm)
        note = (
            f"{'The most frequent mistakes' if mistakes else 'No mistakes'}. The figure of a full report has all "
            "answers: rows are true values, columns are answers, in percent of the row; the last column is no answer."
        )
        frame = pd.DataFrame(mistakes, columns=["arm", "is", "is taken for", "times"]) if mistakes else None
        figure = partial(draw_confusions, [(arm, count_answers(rows, answers)) for arm, rows in by_arm], answers)
        title = f"Confusions: {name.replace('-', ' ')}"
        yield ReportSection(title, note, frame, figure, f"confusions-{name}", detail=True)


def count_answers(rows: pd.DataFrame, answers: Sequence[str]) -> NDArray[np.int64]:
    """Counts of answers (columns) by truth (rows); the last column counts missing answers, which are empty."""
    matrix = np.zeros((len(answers), len(answers) + 1), np.int64)
    for truth, prediction in zip(rows["truth"], rows["prediction"], strict=True):
        matrix[answers.index(truth), answers.index(prediction) if prediction else len(answers)] += 1
    return matrix


def commonest_mistakes(by_arm: Sequence[tuple[str, pd.DataFrame]], limit: int = 3) -> list[list[str]]:
    """The most frequent mistakes of each arm: the arm, the truth, the answer, and how often of how many."""
    lines = []
    for arm, rows in by_arm:
        total, pairs = Counter(rows["truth"]), zip(rows["truth"], rows["prediction"], strict=True)
        for (truth, answer), count in Counter(pair for pair in pairs if pair[0] != pair[1]).most_common(limit):
            lines.append([arm, truth, answer or "(no answer)", f"{count} of {total[truth]}"])
    return lines


def draw_confusions(matrices: Sequence[tuple[str, NDArray[np.int64]]], answers: Sequence[str]) -> Figure:
    """One panel per arm: rows are true values, columns are answers, cells are percent of the row."""
    matrices = matrices[:MAX_MATRICES]
    across = min(3, len(matrices))
    down, side = ceil(len(matrices) / across), 0.42 * len(answers)
    size = 1.1 + across * (side + 0.75), down * (side + 1.15)
    figure, panels = panel_figure(across, size, down, sharex=True, sharey=True)
    for axes, (arm, counts) in zip(panels, matrices, strict=False):
        total = counts.sum(axis=1, keepdims=True)
        shares = np.divide(counts, total, out=np.zeros(counts.shape), where=total > 0)
        texts = [[f"{100 * share:.0f}" if share else "" for share in row] for row in shares]
        draw_heat(axes, shares, texts, answers, [*answers, DASH])
        axes.set_title("\n".join(textwrap.wrap(arm, max(18, 6 * len(answers)))))
    for axes in panels[len(matrices) :]:
        axes.set_visible(False)
    return figure
