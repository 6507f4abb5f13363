"""Numbers of the sections that a run with one repeat and tasks of equal size cannot tell apart."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from snellen.analysis.tables.run_view import ReportArm
from snellen.core.item import Item, ReplySpec
from snellen.suites.vlm2_bench.report.answers import paired_answers
from snellen.suites.vlm2_bench.report.methods_compared import _p_cell, compare
from snellen.suites.vlm2_bench.report.sections import families, task_mean
from tests.helpers.sections import row_of
from tests.suites.vlm2_bench.run_fixture import made_items, made_run


def _always_one(item: Item, spec: ReplySpec) -> str:
    """Right about objects only."""
    return spec.write(item.answer) if item.task.startswith("oc") else "A"


def test_people_come_before_objects_and_are_the_first_of_the_difference() -> None:
    (section,) = families(made_run({("own:m", "vanilla"): _always_one}, made_items()))
    line = row_of(section, task="cnt", subject="own:m")
    assert (line["people (pc)"].split(",")[0], line["objects (oc)"].split()[0]) == ("0 [0", "100")
    assert line["difference"].startswith("-100")


def test_pairs_of_each_repeat_are_counted_by_the_positive_statement_first() -> None:
    items = made_items()
    run = made_run({("own:m", "vanilla"): _always_one}, items)
    wording = {item.item_id: item.factors.get("wording", "") for item in items}
    pair = [item for item in items if item.group_id == "gc-mat-0"]
    negative_first = sorted(pair, key=lambda item: wording[item.item_id])
    rows = [
        (repeat, item.group_id, item.item_id, answer)
        for repeat, answers in enumerate((("true", "false"), ("false", "true"), ("true", "false")))
        for item, answer in zip(negative_first, answers, strict=True)
    ]
    rows += [(0, "a group of four", item.item_id, "true") for item in pair * 2]
    part = pd.DataFrame(rows, columns=["repeat", "group_id", "item_id", "prediction"])
    assert paired_answers(run, part) == {"F-T": 2, "T-F": 1}


def test_tasks_count_equally_whatever_their_size() -> None:
    """The mean of 0.5 and 0.3, and its standard error, half the root of the sum of both variances of a mean."""
    small, large = np.resize([0.0, 1.0], 40), np.resize([0.2, 0.4], 400)
    parts = [
        pd.DataFrame({"value": values, "cluster": [f"{len(values)}-{n}" for n in range(len(values))]})
        for values in (small, large)
    ]
    error = math.sqrt(small.var(ddof=1) / 40 + large.var(ddof=1) / 400) / 2
    for ordered in (parts, parts[::-1]):
        average, low, high = task_mean(ordered, "test")
        assert average == pytest.approx(0.4)
        assert high - low == pytest.approx(2 * 1.96 * error, rel=0.1)


@pytest.mark.parametrize(
    ("p", "cell"),
    [
        (None, "–"), (1.0, "1.00"), (0.125, "0.12"), (0.1, "0.10"), (0.0996, "0.100"), (0.0625, "0.062"),
        (0.001, "0.001"), (0.00098, "< 0.001"),
    ],
)  # fmt: skip
def test_small_p_values_have_three_decimals_and_the_smallest_a_bound(p: float | None, cell: str) -> None:
    assert _p_cell(p) == cell


def test_a_unit_is_right_if_more_than_half_of_its_repeats_are() -> None:
    """Plain 0, 1/2, 1, 1; with the method 2/3, 1, 1/2, 1: two become right, one wrong; two against one has p = 1."""
    plain, changed = ReportArm("m", "vanilla"), ReportArm("m", "method=cot")
    shares = {"before": [0.0, 0.5, 1.0, 1.0], "after": [2 / 3, 1.0, 0.5, 1.0]}
    before, after = (
        pd.DataFrame({"value": values, "right": values, "cluster": list("abcd")}, index=list("wxyz"))
        for values in shares.values()
    )
    change = compare("gc-mat", "cot", plain, changed, before, after.iloc[::-1])
    assert (change.gained, change.lost, change.p) == (2, 1, 1.0)
    assert (change.before, change.after) == pytest.approx((2.5 / 4, 19 / 24))
    assert change.gap.difference == pytest.approx(19 / 24 - 2.5 / 4)
    ps = [compare("gc-mat", "cot", plain, changed, before.loc[[unit]], after).p for unit in "zyx"]
    assert ps == [None, 1.0, 1.0], "no change, one lost, one gained"
