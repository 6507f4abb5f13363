"""Which answers of Pattern Perception are taken for which: the last of the pieces of `pieces`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snellen.analysis.section import ReportSection
from snellen.core.itemset import ItemSet
from snellen.suites.combo import perception
from snellen.suites.combo.report import figures
from snellen.suites.combo.space import values


def confusions(items: ItemSet, scores: pd.DataFrame) -> Iterator[ReportSection]:
    """What was said against what is true, a figure for each question. `scores` are those of Pattern Perception."""
    scores = scores[scores["outcome"].isin(["answered", "no_answer"])]
    question = scores["item_id"].map(lambda name: items.by_id[name].factors["question"])
    for name, dimension in perception.QUESTIONS.items():
        part = scores[question == name]
        if part.empty or name == "pivot":
            continue
        matrices = list(_matrices(part))
        kinds = _order(dimension, part)
        figure = partial(figures.confusions, [(arm, _counts(held, kinds)) for arm, held in matrices], kinds)
        mistakes = _commonest(matrices)
        note = (
            f"{'No mistakes' if mistakes.empty else 'The commonest mistakes'}. In a full report the figure has all "
            "answers: rows are true, columns were said, in percent of the row; the last column is no answer."
        )
        frame = None if mistakes.empty else mistakes
        title = f"What is taken for what: {name.replace('-', ' ')}"
        yield ReportSection(title, note, frame, figure, f"confusions-{name}", detail=True)


def _matrices(part: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """(arm, its rows): examined subjects; simulated ones where there are no others."""
    real = part[~part["subject"].str.startswith("fake:")]
    for (subject, condition), held in (part if real.empty else real).groupby(["subject", "condition"], sort=False):
        yield figures.arm_label(str(subject), str(condition)), held


def _order(dimension: str, part: pd.DataFrame) -> list[str]:
    """The values of a dimension in the order in which they are offered."""
    found = {json.loads(truth) for truth in part["truth"]} | {json.loads(said) for said in part["prediction"]} - {None}
    offered = [value for value in values(dimension) if value in found]
    return offered + sorted(found - set(offered))


def _counts(held: pd.DataFrame, kinds: Sequence[str]) -> NDArray[np.int64]:
    """How often each value (row) was said to be each value (column); the last column holds no answer."""
    table = np.zeros((len(kinds), len(kinds) + 1), np.int64)
    for truth, said in zip(held["truth"], held["prediction"], strict=True):
        heard = json.loads(said)
        table[kinds.index(json.loads(truth)), len(kinds) if heard is None else kinds.index(heard)] += 1
    return table


def _commonest(matrices: Sequence[tuple[str, pd.DataFrame]], most: int = 3) -> pd.DataFrame:
    """The commonest mistakes of each arm."""
    lines = []
    for arm, held in matrices:
        told = [
            (json.loads(truth), json.loads(said)) for truth, said in zip(held["truth"], held["prediction"], strict=True)
        ]
        total = Counter(truth for truth, _ in told)
        for (truth, said), count in Counter(one for one in told if one[0] != one[1]).most_common(most):
            lines.append([arm, truth, "(no answer)" if said is None else said, f"{count} of {total[truth]}"])
    return pd.DataFrame(lines, columns=["arm", "is", "is taken for", "times"])
