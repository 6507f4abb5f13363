"""Observers with one deficit each drop in the cells that the deficit touches, and in no others.

`TOUCHED` says by hand which cells of the results a deficit must touch: levels of the factors that tasks are split by.
Colour is decided per item (`Item.requires`, which no observer reads). Every other cell must stay as perfect as the
oracle's. In a touched cell with enough touched items the whole interval must be below perfect.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from snellen.analysis.tables.run_view import lines_of
from snellen.core.item import Item
from snellen.core.score import Metric
from snellen.core.storage.itemset import ItemSet
from snellen.core.suite import Suite
from snellen.exam.run import run
from snellen.reports.rows import metric_in, subgroups, whole_tasks
from snellen.runs.scores.score import read_scores
from snellen.suites import SUITES
from tests.helpers.sets import undrawn_set

SEEDS, TEST_ITEMS = (0, 1), 100
AVA_COUNTS = ("counting", "counting-by-colour")
SETS: Mapping[str, tuple[str, ...]] = {
    "combo": (),
    "vlm2-bench": (),
    "vfm-bench": (),
    "ava-bench": (*AVA_COUNTS, "colour", "spatial", "absolute-depth", "object"),
}
"""Tasks that are built; empty means all. For AVA-Bench those that deficits touch, and one that none touches."""
ENOUGH = 10
"""Number of touched items from which a cell must drop: all stay right by luck in at most (1/2)^10 of all runs."""
LARGE = 10
"""Number of items from which a level of `TOUCHED` must have a touched one."""
ALARM = 1e-4
"""The probability below which a rate counts as different; 3 seeds x about 10 rates are tested."""
LETTERED = ("img2text", "text2img", "category-building", "oc-grp", "spatial", "absolute-depth")


def _needs_third(item: Item) -> bool:
    """Whether the third image decides.

    Groups and counts of three or four always depend on it (of AAB? the fourth may be new). Whether all are the same
    does not where two of the others differ. Of four images to choose from, the right one must not be the third.
    """
    if item.task == "text2img":
        return bool(item.answer != "image-3")
    order = str(item.latent.get("order", ""))  # the contents of the images by first appearance: `ABA`
    if len(order) < 3:
        return False
    return item.task != "oc-cpr" or len(set(order[:2] + order[3:])) == 1


TOUCHES: Mapping[str, Callable[[Item], bool]] = {
    "blind-to=colour": lambda item: any(name.split("/")[0] == "colour" for name in item.requires),
    "counts-to=4": lambda item: item.answer_kind == "integer" and int(item.answer) > 4,
    "misses-image=3": _needs_third,
    "prefers-option=A": lambda item: item.task in LETTERED and bool(item.options[0].key != item.answer),
    "says-yes": lambda item: item.answer_kind == "true_false" and bool(item.answer == "false"),
}
"""The items that a deficit can get wrong, computed from the items only."""
RIGHT_RATES: Mapping[str, float] = {"counts-to=4": 0.0, "prefers-option=A": 0.5, "says-yes": 0.0}
"""The rate at which a touched item is right anyway; other deficits draw among all options."""
PATTERNS = frozenset({"AA", "AB", "AAA", "AAB", "ABC", "AAAA", "AAAB", "AABC", "ABCD"})
MANY = PATTERNS - {"AA", "AB"}
GROUPED = MANY - {"AAA", "AAAA"}
CUES = frozenset({"add/remove", "swap", "attribute", "environment"})
DIFFICULTIES = frozenset({"easy", "medium", "hard", "expert"})
NONE: frozenset[str] = frozenset()
TOUCHED: Mapping[tuple[str, str], Mapping[str, frozenset[str]]] = {
    ("counts-to=4", "ava-bench"): dict.fromkeys(AVA_COUNTS, frozenset({"1-5", "6-10", "11-20", "21-40"})),
    ("misses-image=3", "combo"): {"text2img": NONE},
    ("misses-image=3", "vlm2-bench"): {
        "oc-cpr": frozenset({"AAA", "AAAA", "AAB", "AAAB"}),
        "oc-cnt": MANY,
        "oc-grp": GROUPED,
    },
    ("prefers-option=A", "combo"): {"img2text": NONE, "text2img": NONE, "category-building": DIFFICULTIES},
    ("prefers-option=A", "vlm2-bench"): {"oc-grp": GROUPED},
    ("prefers-option=A", "ava-bench"): {
        "spatial": frozenset({"Left below", "Right above", "Right below"}),
        "absolute-depth": frozenset({"0-5 m", "5-10 m"}),
    },
    ("says-yes", "vlm2-bench"): {"gc-mat": CUES, "gc-trk": CUES, "oc-cpr": PATTERNS},
}
"""By deficit and suite: the touched tasks, with the touched levels of `LEVELS`. Colour: see `COLOURED`."""
LEVELS = ("pattern", "cue", "difficulty", "question", "count_range", "position", "depth_range")
RARE: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(AVA_COUNTS, frozenset({"1-5", "11-20", "21-40"})),
    "oc-cpr": frozenset({"AAAB"}),
}
"""By task: levels of which few items can be touched, so that a set may lack one.

In counting, few items of a range may have more than four objects. Of AAAB, the third image decides only if it is B:
ten items have none with probability 0.06.
"""
COLOURED: Mapping[str, frozenset[str]] = {
    "combo": frozenset({"pattern-perception", "category-building"}),
    "vlm2-bench": frozenset({"gc-mat", "oc-cpr", "oc-cnt", "oc-grp"}),
    "vfm-bench": frozenset({"fast-mapping"}),
    "ava-bench": frozenset({"colour", "counting-by-colour"}),
}
"""Tasks in which colour decides some items, named by `requires`: a colour may be the only difference anywhere."""


def _cells(items: ItemSet, task: str, factor: str, level: str) -> list[Item]:
    """The test items of a result row."""
    test_items = [item for item in items.task(task) if item.split == "test"]
    if factor == "requires":
        name = level.removeprefix("not ")
        return [item for item in test_items if (name in item.requires) == (level == name)]
    return [item for item in test_items if not factor or item.factors.get(factor) == level]


def _is_perfect(row: Any, metric: Metric) -> bool:
    return bool(abs(row.value - metric.best) < 1e-4)  # boxes are written with few decimals


def _check(suite: Suite, items: ItemSet, root: Path) -> set[tuple[str, str]]:
    """Ask the oracle and every deficit; return the deficits and tasks that had to drop and did."""
    done = run(items, ["fake:oracle", *(f"fake:{name}" for name in TOUCHES)], root, show_progress=False)
    assert done.failed == 0
    results = done.all_results()
    rows = pd.concat([whole_tasks(results), subgroups(results)])
    rows = rows[rows["value"].notna()]
    for row in lines_of(rows[rows["subject"] == "fake:oracle"]):
        assert _is_perfect(row, metric_in(suite, row)), row
    fell = set()
    for name, is_touched in TOUCHES.items():
        levels: dict[str, set[str]] = {}
        large: dict[str, set[str]] = defaultdict(set)
        for row in lines_of(rows[rows["subject"] == f"fake:{name}"]):
            cell, metric = _cells(items, row.task, row.factor, row.level), metric_in(suite, row)
            touched = [item for item in cell if is_touched(item)]
            large[row.task] |= {row.level} if len(cell) >= LARGE else set()
            if not touched:
                assert _is_perfect(row, metric), (name, row)
                continue
            levels.setdefault(row.task, set()).update({row.level} if row.factor in LEVELS else ())
            if len(touched) >= ENOUGH and math.isnan(row.low):  # too few clusters for an interval
                assert not _is_perfect(row, metric), (name, row)
            elif len(touched) >= ENOUGH:
                assert (row.high < metric.best) if metric.higher_is_better else (row.low > metric.best), (name, row)
                fell.add((name, row.task))
        if name == "blind-to=colour":
            assert set(levels) <= COLOURED[suite.name]
        else:
            cells = TOUCHED.get((name, suite.name), {})
            expected = {task: cells[task] for task in cells if any(item.task == task for item in items.items)}
            assert set(levels) == set(expected), name
            assert all(levels[task] <= expected[task] for task in levels), (name, levels)
            due = {task: (expected[task] - RARE.get(task, NONE)) & large[task] for task in levels}
            assert all(due[task] <= levels[task] for task in levels), (name, levels)
    _check_rates(suite, items, read_scores(root)["strict"])
    return fell


def _check_rates(suite: Suite, items: ItemSet, scores: pd.DataFrame) -> None:
    """Per item: untouched items are right; touched ones are right at the rate of the deficit's definition.

    The rate at which a guessed free answer is right is unknown; boxes are written with few decimals.
    """
    by_id = items.by_id
    for name, is_touched in TOUCHES.items():
        answers = scores[(scores["subject"] == f"fake:{name}") & (scores["outcome"] == "answered")]
        answers = answers.drop_duplicates("item_id")
        answered = [by_id[item_id] for item_id in answers["item_id"]]
        is_right = (answers["truth"] == answers["prediction"]).to_numpy(bool)
        touched = [(item, right) for item, right in zip(answered, is_right, strict=True) if is_touched(item)]
        untouched = [(item, right) for item, right in zip(answered, is_right, strict=True) if not is_touched(item)]
        assert all(right for item, right in untouched if item.answer_kind != "box"), (name, suite.name)
        if name not in RIGHT_RATES:  # a uniform draw is right in one of the number of options
            touched = [(item, right) for item, right in touched if item.view().reply.offered]
        if not touched:
            continue
        rate = RIGHT_RATES.get(name, float(np.mean([1 / len(item.view().reply.offered or "1") for item, _ in touched])))
        hits = sum(right for _, right in touched)
        lowest, highest = binom.interval(1 - ALARM, len(touched), rate) if rate else (0, 0)
        assert lowest <= hits <= highest, (name, suite.name, hits, len(touched), rate)


CASES = [(name, seed) for name in sorted(SETS) for seed in SEEDS]


@pytest.mark.slow
@pytest.mark.parametrize(("suite_name", "seed"), CASES)
def test_deficits_drop_exactly_the_cells_that_they_touch(
    suite_name: str, seed: int, sets_folder: Path, tmp_path: Path
) -> None:
    suite = SUITES.get(suite_name)
    items = undrawn_set(suite, sets_folder, seed=seed, test_items=TEST_ITEMS, tasks=SETS[suite.name])
    due = {("blind-to=colour", task) for task in COLOURED[suite.name]}
    due |= {(name, task) for (name, touched), levels in TOUCHED.items() if touched == suite.name for task in levels}
    assert _check(suite, items, tmp_path / "run") == due
