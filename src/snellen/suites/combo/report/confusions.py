"""Confusions between the answers of Pattern Perception."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snellen.analysis.pivot import arm_parts
from snellen.analysis.run_view import examined_rows, ordered_levels
from snellen.analysis.section import ReportSection
from snellen.core.storage.itemset import ItemSet
from snellen.suites.combo.questions import perception
from snellen.suites.combo.report import figures
from snellen.suites.combo.space import values


def confusions(items: ItemSet, scores: pd.DataFrame) -> Iterator[ReportSection]:
    """Answers against truths, with a figure per question. `scores` are those of Pattern Perception."""
    scores = scores[scores["outcome"].isin(["answered", "no_answer", "cut_off"])]
    questions = scores["item_id"].map(lambda name: items.by_id[name].factors["question"])
    for name, dimension in perception.QUESTIONS.items():
        part = scores[questions == name]
        if part.empty or name == "pivot":
            continue
        by_arm = [(figures.arm_label(arm), rows) for arm, rows in arm_parts(examined_rows(part))]
        answers = _answers_in_order(dimension, part)
        matrices = [(arm, _count_answers(rows, answers)) for arm, rows in by_arm]
        mistakes = _commonest_mistakes(by_arm)
        note = (
            f"{'No mistakes' if mistakes.empty else 'The most frequent mistakes'}. The figure of a full report has all "
            "answers: rows are true values, columns are answers, in percent of the row; the last column is no answer."
        )
        frame = None if mistakes.empty else mistakes
        title = f"Confusions: {name.replace('-', ' ')}"
        figure = partial(figures.confusions, matrices, answers)
        yield ReportSection(title, note, frame, figure, f"confusions-{name}", detail=True)


def _answers_in_order(dimension: str, part: pd.DataFrame) -> list[str]:
    """The true or answered values of a dimension, in the order of the options."""
    return ordered_levels({answer for pair in _pairs(part) for answer in pair if answer}, values(dimension))


def _count_answers(rows: pd.DataFrame, answers: Sequence[str]) -> NDArray[np.int64]:
    """Counts of answers (columns) by truth (rows); the last column counts missing answers."""
    matrix = np.zeros((len(answers), len(answers) + 1), np.int64)
    for truth, prediction in _pairs(rows):
        matrix[answers.index(truth), len(answers) if prediction is None else answers.index(prediction)] += 1
    return matrix


def _pairs(rows: pd.DataFrame) -> Iterator[tuple[str, str | None]]:
    """(truth, prediction) of each row, None for no answer."""
    for truth, prediction in zip(rows["truth"], rows["prediction"], strict=True):
        yield json.loads(truth), json.loads(prediction)


def _commonest_mistakes(by_arm: Sequence[tuple[str, pd.DataFrame]], limit: int = 3) -> pd.DataFrame:
    """The most frequent mistakes of each arm."""
    lines = []
    for arm, rows in by_arm:
        pairs = list(_pairs(rows))
        total = Counter(truth for truth, _ in pairs)
        mistakes = Counter((truth, prediction) for truth, prediction in pairs if truth != prediction)
        for (truth, prediction), count in mistakes.most_common(limit):
            name = "(no answer)" if prediction is None else prediction
            lines.append([arm, truth, name, f"{count} of {total[truth]}"])
    return pd.DataFrame(lines, columns=["arm", "is", "is taken for", "times"])
