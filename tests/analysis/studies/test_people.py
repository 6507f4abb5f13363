"""People as subjects of a run: names, the study as one subject, and the row per person."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from snellen.analysis.grading.rows import rows_of
from snellen.analysis.studies import people_tables
from snellen.analysis.studies.people import (
    ceiling_source,
    number_of_people,
    people_of,
    pooled,
    studies_of,
    study_of,
    study_subject,
    with_people_as_ceilings,
)
from snellen.analysis.tables.run_view import ReportArm, lines_of, result_rows, row_of, score_rows, scored_units
from snellen.analysis.tables.section import Run
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.runfolder import ArmCard
from snellen.reports import load_run
from snellen.scoring.crossed import BOOTSTRAP, WILSON, crossed_interval
from snellen.scoring.uncertainty import UNTOLD
from tests.helpers.people import Form, ask_people, everything, person
from tests.reports.exam import SUITE, able, suite_of, write_items

PERFECT = {"naming": 1.0, "finding": 1.0, "building": 1.0, "sizing": 1.0}
N = 12
SKILLS = (0.9, 0.2, 1.0, 0.6, 0.8)
"""Of p01 to p05; p03 is the best and p02 the worst."""


def without_third(third: int) -> Form:
    def asks(item_id: str) -> bool:
        return int(item_id[-4:]) % 3 != third

    return asks


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    return write_items(tmp_path_factory.mktemp("people") / "items", N)


@pytest.fixture(scope="module")
def run(items: ItemSet) -> Run:
    """Five people, each without another third of the items, and a model; p05's form has 40 items."""
    subjects = [able("x", items, dict.fromkeys(PERFECT, skill)) for skill in SKILLS]
    sizes = ["32", "32", "32", "32", "40"]
    people = [
        person(f"human:eyes/p{n:02d}", subject, n, questions=size)
        for n, (subject, size) in enumerate(zip(subjects, sizes, strict=True), 1)
    ]
    model, forms = able("chat:m", items, dict.fromkeys(PERFECT, 0.5)), [without_third(k) for k in range(3)]
    return load_run(ask_people(items.root.parent / "run", items, SUITE, people, forms, others=[model]), suite_of)


@pytest.mark.parametrize(
    ("subject", "is_one", "are_all", "study"),
    [
        ("human:eyes/p07", True, False, "eyes"),
        ("human:eyes/p07 (run 2)", True, False, "eyes (run 2)"),
        ("human:eyes", False, True, "eyes"),
        ("human:eyes [shots=0]", False, True, "eyes [shots=0]"),
    ],
)
def test_names_identify_people(subject: str, is_one: bool, are_all: bool, study: str) -> None:
    arms = [_arm(subject, role="person")]
    assert (subject in people_of(arms), subject in studies_of(arms), study_of(subject)) == (is_one, are_all, study)
    assert study_subject(subject) == f"human:{study}"


def test_who_is_a_person_is_stated_by_the_card() -> None:
    arms = [_arm("chat:openai/gpt-4o"), _arm("human:x/p01", role="model"), _arm("visitor/p01", role="person")]
    assert people_of(arms) == {"visitor/p01"}
    assert not studies_of(arms)


def _arm(subject: str, **fields: Any) -> ArmCard:
    card: dict[str, Any] = {
        "fingerprint": "f", "settings": {}, "attributes": {}, "condition": "vanilla", "columns": {}, "repeat": 0,
    }  # fmt: skip
    return ArmCard(subject=subject, **card, **fields)


def test_a_study_is_one_subject_before_all_others(run: Run) -> None:
    together = pooled(run)
    assert list(dict.fromkeys(arm.subject for arm in together.card.arms)) == ["human:eyes", "chat:m"]
    assert [arm.repeat for arm in together.card.arms if arm.subject == "human:eyes"] == [0, 1, 2, 3, 4]
    assert {arm.fingerprint for arm in run.card.arms}.isdisjoint(
        arm.fingerprint for arm in together.card.arms if arm.subject == "human:eyes"
    )
    assert number_of_people(together, "human:eyes", "vanilla") == 5
    assert list(together.results["subject"].unique()) == ["human:eyes", "chat:m"]
    assert {response.subject for response in together.responses} == {"human:eyes", "chat:m"}
    keys = [(r.subject, r.condition, r.repeat, r.item_id) for r in together.responses]
    assert len(set(keys)) == len(keys) == len(run.responses)


def test_a_person_has_the_same_number_under_every_condition_and_each_study_counts_from_0(
    items: ItemSet, tmp_path: Path
) -> None:
    names, conditions = ("human:eyes/p01", "human:ears/p01", "human:eyes/p02"), ["vanilla", "samples=1"]
    people = [person(name, able("x", items, PERFECT), questions="1") for name in names]
    suite = replace(SUITE, tasks={"naming": SUITE.tasks["naming"]})
    together = pooled(load_run(ask_people(tmp_path / "run", items, suite, people, conditions=conditions), suite_of))
    numbers = {
        (f"human:{study}", text, n) for study, n in (("eyes", 0), ("eyes", 1), ("ears", 0)) for text in conditions
    }
    assert {arm.arm_key for arm in together.card.arms} == numbers
    assert {response.arm_key for response in together.responses} == numbers
    scores = together.scores["strict"]
    assert set(zip(scores["subject"], scores["condition"], scores["repeat"], strict=True)) == numbers
    assert [number_of_people(together, "human:eyes", text) for text in conditions] == [2, 2]


def test_a_run_without_people_is_unchanged(run: Run, items: ItemSet) -> None:
    model = able("chat:m", items, PERFECT)
    alone = load_run(ask_people(items.root.parent / "alone", items, SUITE, [], others=[model]), suite_of)
    assert pooled(alone) is alone


def test_the_pooled_interval_is_clustered_by_people_and_items(run: Run) -> None:
    answers = [
        (arm.subject, cluster, value)
        for arm, units in scored_units(run, "finding").items()
        if arm.subject in people_of(run.card.arms)
        for cluster, value in zip(units["cluster"], units["value"], strict=True)
    ]
    people, clusters, values = (list(column) for column in zip(*answers, strict=True))
    row = row_of(result_rows(pooled(run), "finding"), ReportArm("human:eyes", "vanilla"))
    assert row is not None
    assert row.value == pytest.approx(np.mean(values))
    assert (row.n, row.interval) == (5 * 8, WILSON)
    low, high, _ = crossed_interval(values, people, clusters, "mean", (0, 1), np.random.default_rng())
    assert (row.low, row.high) == (low, high)
    assert math.isnan(row.items_needed)


def test_a_metric_of_another_unit_has_an_interval_too(run: Run) -> None:
    row = row_of(result_rows(pooled(run), "sizing"), ReportArm("human:eyes", "vanilla"))
    assert row is not None
    assert row.interval == BOOTSTRAP
    assert row.low < row.value < row.high


def test_units_are_averaged_over_people_in_comparisons(run: Run) -> None:
    units = scored_units(pooled(run), "finding")[ReportArm("human:eyes", "vanilla")]
    assert len(units) == N
    people = people_of(run.card.arms)
    by_person = [units for arm, units in scored_units(run, "finding").items() if arm.subject in people]
    expected = pd.concat(by_person).groupby("unit")["value"].mean()
    pd.testing.assert_series_equal(units["value"].sort_index(), expected.sort_index(), check_names=False)


def test_one_person_has_no_interval_over_people(items: ItemSet) -> None:
    alone = [person("human:me/p01", able("x", items, PERFECT))]
    row = next(lines_of(pooled(load_run(ask_people(items.root.parent / "me", items, SUITE, alone), suite_of)).results))
    assert row.interval == UNTOLD + "one person"
    assert math.isnan(row.low)


# Trimmed, best, worst


def test_best_and_worst_are_dropped_by_their_overall_share(run: Run) -> None:
    for task in ("naming", "finding", "building"):
        assert people_tables.trimmed(run, task, "eyes", "vanilla").dropped == ("human:eyes/p03", "human:eyes/p02")
    rest = people_tables.person_units(run, "finding", "eyes", "vanilla")
    rest = rest[~rest["person"].isin(["human:eyes/p02", "human:eyes/p03"])]
    trimmed = people_tables.trimmed(run, "finding", "eyes", "vanilla")
    assert trimmed.value == pytest.approx(rest["value"].mean())
    assert trimmed.low < trimmed.value < trimmed.high


def test_lower_is_better_makes_the_least_the_best(run: Run) -> None:
    units = people_tables.person_units(run, "sizing", "eyes", "vanilla")
    means = units.groupby("person")["value"].mean()
    assert people_tables.trimmed(run, "sizing", "eyes", "vanilla").dropped == (means.idxmin(), means.idxmax())


def test_no_one_of_two_people_is_dropped(items: ItemSet) -> None:
    two = [person(f"human:two/p{n}", able("x", items, PERFECT)) for n in (1, 2)]
    both = load_run(ask_people(items.root.parent / "two", items, SUITE, two), suite_of)
    trimmed = people_tables.trimmed(both, "finding", "two", "vanilla")
    assert math.isnan(trimmed.value)
    assert trimmed.dropped == ()


# Reliability and agreement


def test_agreement_by_hand(items: ItemSet) -> None:
    """Two of three people are always right; the third is right on the first four items and not asked the rest.

    On the 8 items two people agree: share 1. With a third who is wrong on 4 items, 1 of 3 pairs agrees.
    """
    right, wrong = able("x", items, PERFECT), able("x", items, dict.fromkeys(PERFECT, 0.0))
    people = [person(f"human:three/p{n}", subject) for n, subject in enumerate((right, right, right), 1)]

    def first_four(item_id: str) -> bool:
        return int(item_id[-4:]) < 4

    same = load_run(
        ask_people(items.root.parent / "three", items, SUITE, people, [everything, everything, first_four]), suite_of
    )
    alike = people_tables.agreement(same, "finding", "three", "vanilla")
    assert (alike.share, alike.items, alike.rated, alike.raters) == (1.0, N, N - 4, 2)
    assert alike.kappa == pytest.approx(1)
    people = [person("human:odd/p1", right), person("human:odd/p2", right), person("human:odd/p3", wrong)]
    odd = load_run(ask_people(items.root.parent / "odd", items, SUITE, people), suite_of)
    predictions = score_rows(odd, "finding").pivot(index="item_id", columns="subject", values="prediction")
    differs = (predictions["human:odd/p3"] != predictions["human:odd/p1"]).mean()
    alike = people_tables.agreement(odd, "finding", "odd", "vanilla")
    assert alike.share == pytest.approx(1 - differs * 2 / 3)
    assert (alike.rated, alike.raters) == (N, 3)


def test_free_answers_are_not_compared(run: Run) -> None:
    assert math.isnan(people_tables.agreement(run, "sizing", "eyes", "vanilla").share)


def test_reliability_is_high_for_people_who_differ(run: Run) -> None:
    assert people_tables.reliability(run, "finding", "eyes", "vanilla") > 0.3


# Tables


def test_the_table_of_studies_has_one_row_per_task(run: Run) -> None:
    table = people_tables.study_table(run, pooled(run))
    assert list(table["task"]) == ["naming", "finding", "building", "sizing relative error"]
    rows = {row["task"]: row for row in table.to_dict("records")}
    row = rows["finding"]
    assert (row["people"], row["units per person"]) == ("5", f"8 of {N}")
    best, worst = row["best and worst"].split(", ")
    assert best == "p01 100"  # as p03, which comes later by name
    assert worst.startswith("p02 ")
    study = ("finding", "eyes", "vanilla")
    together = row_of(result_rows(pooled(run), "finding"), ReportArm("human:eyes", "vanilla"))
    rest, alike = people_tables.trimmed(run, *study), people_tables.agreement(run, *study)
    assert together is not None
    assert row["pooled"].startswith(f"{100 * together.value:.0f} [")
    assert row["without best and worst"].startswith(f"{100 * rest.value:.0f} [")
    assert row["reliability"] == f"{people_tables.reliability(run, *study):.2f}"
    assert row["agreement"] == f"{100 * alike.share:.0f} % ({alike.items} items)"
    assert row["Fleiss' kappa"] == f"{alike.kappa:.2f} ({alike.rated} × {alike.raters})"


def test_each_person_has_a_row_with_times_and_completion(run: Run) -> None:
    table = people_tables.person_table(run)
    assert list(table["answered of shown"]) == ["32 of 32"] * 5
    assert list(table["median seconds"]) == ["1.0", "2.0", "3.0", "4.0", "5.0"]
    assert list(table["remark"]) == [""] * 4 + ["partial: 32 of 40 items in all"]
    assert table["finding"].tolist()[2].startswith("100 [")


def test_a_form_is_finished_under_all_conditions_together(items: ItemSet, tmp_path: Path) -> None:
    """Two people answer all items of naming under two conditions; the form of the second has one item more.

    The lengths of two other forms, in a stranger's run, are no numbers.
    """
    both = 2 * sum(item.split == "test" for item in items.task("naming"))
    subject = able("x", items, PERFECT)
    sizes = (str(both), str(both + 1), "\u00b2", "9" * 5000)
    people = [person(f"human:eyes/p{n:02d}", subject, questions=size) for n, size in enumerate(sizes, 1)]
    conditions = ["vanilla", "samples=1"]
    root = ask_people(
        tmp_path / "run", items, replace(SUITE, tasks={"naming": SUITE.tasks["naming"]}), people, conditions=conditions
    )
    remarks = people_tables.person_table(load_run(root, suite_of)).groupby("person")["remark"].agg(list)
    partial = [f"partial: {both} of {both + 1} items in all"] * 2
    assert remarks.to_dict() == {"p01": ["", ""], "p02": partial, "p03": ["", ""], "p04": ["", ""]}


# Ceilings


def test_people_on_the_same_items_are_the_ceiling(run: Run) -> None:
    together = pooled(run)
    rows = with_people_as_ceilings(together.results, together)
    finding = rows[(rows["task"] == "finding") & (rows["factor"] == "") & (rows["metric"] == "accuracy")]
    by_subject = {row.subject: row for row in rows_of(finding)}
    people, model = by_subject["human:eyes"], by_subject["chat:m"]
    assert model.ceiling == people.value
    assert math.isnan(people.ceiling)
    assert ceiling_source(together, model) == "5 people of eyes"


@pytest.mark.parametrize(("source", "expected"), [("generated", "people"), ("released", "printed")])
def test_printed_ceilings_stay_on_the_papers_own_items_only(run: Run, source: str, expected: str) -> None:
    """The card of the suite prints .97 for naming."""
    together = pooled(run)
    card = together.items.card.model_copy(update={"source": source})
    together = replace(together, items=replace(together.items, card=card))
    rows = with_people_as_ceilings(together.results, together)
    naming = rows[(rows["task"] == "naming") & (rows["factor"] == "") & (rows["metric"] == "accuracy")]
    by_subject = {row.subject: row for row in rows_of(naming)}
    model, people = by_subject["chat:m"], by_subject["human:eyes"]
    assert model.ceiling == (0.97 if expected == "printed" else people.value)
    assert ceiling_source(together, model) == ("" if expected == "printed" else "5 people of eyes")


def test_people_are_the_ceiling_where_the_paper_prints_none(run: Run) -> None:
    """Also on its own items: it prints none for finding."""
    together = pooled(run)
    card = together.items.card.model_copy(update={"source": "released"})
    together = replace(together, items=replace(together.items, card=card))
    rows = with_people_as_ceilings(together.results, together)
    finding = rows[(rows["task"] == "finding") & (rows["factor"] == "") & (rows["metric"] == "accuracy")]
    by_subject = {row.subject: row for row in rows_of(finding)}
    assert by_subject["chat:m"].ceiling == by_subject["human:eyes"].value
