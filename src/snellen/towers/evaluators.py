"""Comparison of two runs on the same items by two evaluators of the same encoders."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from snellen.analysis.comparison.evaluators import evaluator_table, pair_of
from snellen.analysis.tables.run_view import scored_tasks
from snellen.core.errors import SnellenError
from snellen.reports import loading


def compare_runs(root: Path, other_root: Path, names: tuple[str, str]) -> pd.DataFrame:
    """The `evaluator_table` of two runs that asked the same towers about the same items.

    Raises SnellenError if items differ, or no tower is in both.
    """
    runs = [loading.load_run(path) for path in (root, other_root)]
    if runs[0].card.content_hash != runs[1].card.content_hash or not runs[0].has_items_of(runs[1]):
        raise SnellenError(f"{root} and {other_root} have different items; only runs on the same items can be compared")
    joined, count = loading.join(runs), len(runs[0].card.arms)
    pair = pair_of(names, joined.card.arms[:count], joined.card.arms[count:])
    if not pair.encoders:
        raise SnellenError(f"{root} and {other_root} have no tower in common")
    tasks = scored_tasks(joined, pair.second_arms, scored_tasks(joined, pair.first_arms, joined.suite.tasks))
    return evaluator_table(joined, pair, tasks)
