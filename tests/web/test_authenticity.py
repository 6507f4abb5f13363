"""Verdicts on participants from easy items and times, by hand; no participant is left out."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from snellen.analysis.tables.section import Run
from snellen.core.storage.itemset import ItemSet
from snellen.reports import load_run
from snellen.web.authenticity import AuthenticityRule, _reasons, authenticity
from tests.helpers.people import ask_people, everything, person
from tests.reports.exam import SUITE, able, suite_of, write_items

EASY = frozenset(f"finding-{n:04d}" for n in range(4))


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    return write_items(tmp_path_factory.mktemp("authenticity") / "items", 6)


@pytest.fixture(scope="module")
def run(items: ItemSet) -> Run:
    """p1 right in 3 s, p2 wrong in 3 s, p3 right in 0.5 s, p4 right in a minute, p5 with one easy item only.

    With this seed no reply of the participant with accuracy 0 is right.
    """
    right, guess = dict.fromkeys(SUITE.tasks, 1.0), dict.fromkeys(SUITE.tasks, 0.0)
    people = [
        person(f"human:s/p{n}", able("x", items, skill), seconds)
        for n, (skill, seconds) in enumerate([(right, 3), (guess, 3), (right, 0.5), (right, 60), (right, 3)], 1)
    ]
    forms = [everything] * 4 + [lambda item_id: item_id == "finding-0000"]
    return load_run(ask_people(items.root.parent / "run", items, SUITE, people, forms), suite_of)


@pytest.fixture(scope="module")
def easy(run: Run) -> Run:
    responses = tuple(response for response in run.responses if response.item_id in EASY)
    scores = {name: rows[rows["item_id"].isin(EASY)] for name, rows in run.scores.items()}
    return replace(run, responses=responses, scores=scores)


def verdicts(run: Run, rule: AuthenticityRule) -> dict[str, str]:
    table = authenticity(run, rule)
    return {str(row["subject"])[-2:]: str(row["authentic"]) for row in table.to_dict("records")}


def test_accuracy_and_the_number_of_items(easy: Run) -> None:
    table = {str(row["subject"])[-2:]: row for row in authenticity(easy, AuthenticityRule()).to_dict("records")}
    assert [table[name]["items"] for name in table] == [4, 4, 4, 4, 1]
    assert table["p1"]["accuracy"] == 1
    assert table["p2"]["accuracy"] < 0.8
    expected = {"p1": "passed", "p2": "failed", "p3": "passed", "p4": "passed", "p5": "too few"}
    assert verdicts(easy, AuthenticityRule(min_accuracy=0.8, min_items=4)) == expected


def test_times(easy: Run) -> None:
    median = AuthenticityRule(min_median_seconds=1, max_median_seconds=30)
    assert verdicts(easy, median) == {"p1": "passed", "p2": "passed", "p3": "failed", "p4": "failed", "p5": "passed"}
    fast = AuthenticityRule(possible_seconds=0.6)
    assert verdicts(easy, fast) == {"p1": "passed", "p2": "passed", "p3": "failed", "p4": "passed", "p5": "passed"}
    assert verdicts(easy, AuthenticityRule(possible_seconds=0.5))["p3"] == "passed", "0.5 s are not less than 0.5 s"
    row = {str(row["subject"]): row for row in authenticity(easy, fast).to_dict("records")}["human:s/p3"]
    assert row["fast_share"] == 1
    assert row["reasons"] == "100 % of pages in less than 0.6 s"


def test_an_unknown_accuracy_passes_no_threshold() -> None:
    assert list(_reasons(math.nan, 3.0, math.nan, AuthenticityRule(min_accuracy=0.8))) == ["accuracy nan under 0.8"]


def test_without_thresholds_everyone_passes_and_all_items_count(run: Run) -> None:
    rows = authenticity(run, AuthenticityRule()).to_dict("records")
    assert {row["authentic"] for row in rows} == {"passed"}
    assert [row["items"] for row in rows] == [24, 24, 24, 24, 1]
    assert all(math.isnan(row["fast_share"]) for row in rows)


RULE = AuthenticityRule(0.75, min_median_seconds=2, max_median_seconds=8, possible_seconds=0.5, max_fast_share=0.25)


@pytest.mark.parametrize(
    ("accuracy", "median", "fast", "reasons"),
    [
        (0.75, 2.0, 0.25, []),
        (0.75, 8.0, 0.25, []),
        (0.74, 2.0, 0.25, ["accuracy 0.74 under 0.75"]),
        (0.75, 1.99, 0.25, ["median of 1.99 s under 2 s"]),
        (0.75, 8.01, 0.25, ["median of 8.01 s over 8 s"]),
        (0.0, 9.0, 0.26, ["accuracy 0.00 under 0.75", "median of 9.00 s over 8 s", "26 % of pages in less than 0.5 s"]),
    ],
)
def test_thresholds_are_kept_at_their_value_and_named_beyond(
    accuracy: float, median: float, fast: float, reasons: list[str]
) -> None:
    assert list(_reasons(accuracy, median, fast, RULE)) == reasons
