"""From subjects with attributes to the report: pairs with families, ranks, groups."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from snellen.analysis.comparison.groups import group_contrasts, groupings
from snellen.analysis.tables.rank_table import AVERAGE, rank_table
from snellen.analysis.tables.run_view import main_arms, scored_units
from snellen.core.condition import parse_conditions
from snellen.core.storage.itemset import ItemSet
from snellen.core.subject import Subject
from snellen.reports import Report, Run, load_run, write_report
from snellen.reports.comparisons import compared, families, paired, rank_cells
from snellen.reports.figures import overview, strip
from snellen.subjects.fakes.make import make_fake
from tests.reports.exam import SUITE, Able, able, leave_out_figures, suite_of, write_items, write_run

THINKER, PLAIN, OTHER, WEAK = "chat:o3", "chat:gpt-4o", "chat:gemini", "chat:llava"
TASKS = ("naming", "finding")


def described(items: ItemSet, name: str, skill: float, refuses: str = "", **attributes: str) -> Able:
    subject = able(name, items, dict.fromkeys(TASKS, skill), refuses=refuses)
    return replace(subject, card=replace(subject.card, attributes=attributes))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two closed models, one with a counterpart, and two open ones, one of which declines `finding`."""
    folder = tmp_path_factory.mktemp("groups")
    items = write_items(folder / "items", 32, tasks=TASKS)
    examined: list[Subject] = [
        described(items, PLAIN, 0.4, weights="closed"),
        described(items, THINKER, 1.0, weights="closed", reasoning="yes", counterpart=PLAIN),
        described(items, OTHER, 0.0, refuses="finding", weights="open"),
        described(items, WEAK, 0.0, weights="open"),
        make_fake("oracle", {}, items.items),
    ]
    return write_run(folder / "run", items, examined, protocols=("strict",), tasks=TASKS)


@pytest.fixture(scope="module")
def run(root: Path) -> Run:
    return load_run(root, suite_of)


@pytest.fixture(scope="module")
def report(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Report:
    with pytest.MonkeyPatch.context() as patch:
        leave_out_figures(patch)
        return write_report([root], tmp_path_factory.mktemp("report"), suite_of=suite_of)


def values(run: Run, task: str) -> Mapping[str, pd.Series]:
    return {arm.subject: units["value"] for arm, units in scored_units(run, task).items()}


def table(report: Report, name: str) -> pd.DataFrame:
    return pd.read_csv(report.root / "tables" / "more" / f"shapes-{name}.csv", keep_default_na=False)


def lines(frame: pd.DataFrame, *names: str) -> dict[tuple[str, ...], Any]:
    """The rows of a table by their values in these columns."""
    return {tuple(getattr(row, name) for name in names): row for row in frame.itertuples()}


def words(report: Report) -> str:
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", report.pages[1].read_text("utf-8"))).split())


@pytest.mark.slow
def test_families_have_all_tasks_and_no_simulated_observer(run: Run, report: Report) -> None:
    pairs = paired(run)
    # Four subjects have 6 pairs in naming, three have 3 in finding; each subject also has one with the oracle.
    assert pairs["family"].value_counts().to_dict() == {"subjects": 9, "simulated": 7}
    assert [(family.tests, family.clusters) for family in families(pairs)] == [(9, 9), (7, 9)]
    ours = pairs[pairs["family"] == "subjects"]
    assert ours["p_holm"].min() == pytest.approx(9 * ours["p"].min())
    assert (ours.loc[ours["clear"], "p_holm"] < 0.05).all()
    assert "Family of 9 pairs: two examined subjects under one condition, over all tasks." in words(report)
    assert re.search(rf"{THINKER} is better than {PLAIN} by \d+ points \[\d+, \d+\], p (< )?0\.\d+", words(report))


def test_conditions_are_a_separate_family(tmp_path: Path) -> None:
    items = write_items(tmp_path / "items", 8, tasks=("naming",))
    conditions = parse_conditions(SUITE.axes, "samples=1")
    examined = [able("chat:a", items, {"naming": 1.0}), able("chat:b", items, {"naming": 0.1})]
    root = write_run(tmp_path / "run", items, examined, conditions, protocols=("strict",), tasks=("naming",))
    run = load_run(root, suite_of)
    pairs = paired(run)
    assert pairs["family"].value_counts().to_dict() == {"subjects": 2, "conditions": 2}
    # Eight items are four clusters: no answers could make p less than 2 / 16.
    assert pairs["too_few_clusters"].all()
    assert not pairs["clear"].any()
    assert [
        (comparison.clear, comparison.too_few_clusters, comparison.pairs) for comparison in compared(run, pairs)
    ] == [(0, 4, 4)]


def test_ranks_are_among_subjects_that_answered(run: Run, report: Report) -> None:
    frame = rank_table(run)
    assert (frame["low"] <= frame["rank"]).all()
    assert (frame["rank"] <= frame["high"]).all()
    ranks = lines(frame, "task", "subject")
    means = {task: {name: scores.mean() for name, scores in values(run, task).items()} for task in TASKS}
    for task, count in (("naming", 4), ("finding", 3)):
        order = sorted(
            (name for name in means[task] if not name.startswith("fake:")), key=lambda name: -means[task][name]
        )
        assert [(ranks[task, name].rank, ranks[task, name].subjects) for name in order] == [
            (rank, count) for rank in range(1, count + 1)
        ]
    # The subject without finding is in no average, and the other three are ranked among themselves.
    assert {name: ranks[task, name].subjects for task, name in ranks if task == AVERAGE} == dict.fromkeys(
        (PLAIN, THINKER, WEAK), 3
    )
    assert ranks[AVERAGE, THINKER].rank == 1
    cells = rank_cells(frame)
    assert list(cells.columns) == ["subject", "average rank", *TASKS]
    assert cells["subject"].iloc[0] == THINKER
    assert cells[cells["subject"] == OTHER].to_numpy()[0].tolist()[1::2] == ["–", "–"]
    assert len(table(report, "ranks")) == 4 + 3 + 3
    assert "Ranks The rank of each examined subject" in words(report)


def test_groups_are_means_of_their_subjects_on_the_same_items(run: Run, report: Report) -> None:
    frame = group_contrasts(run)
    rows = lines(frame, "family", "task")
    scores = values(run, "naming")
    # Equal weight per subject: half of each of two closed ones against half of each of two open ones.
    expected = (scores[PLAIN] + scores[THINKER]) / 2 - (scores[OTHER] + scores[WEAK]) / 2
    row = rows["weights", "naming"]
    assert row.difference == pytest.approx(expected.mean())
    assert (row.first, row.second, row.n, row.clusters) == ("closed", "open", 32, 16)
    assert (row.subjects_first, row.subjects_second) == (2, 2)
    assert row.low < row.difference < row.high
    # One of the open ones declines finding, and is left out there.
    finding = values(run, "finding")
    row = rows["weights", "finding"]
    assert row.difference == pytest.approx(((finding[PLAIN] + finding[THINKER]) / 2 - finding[WEAK]).mean())
    assert (row.subjects_first, row.subjects_second) == (2, 1)
    written = table(report, "groups")
    assert list(written["difference"]) == pytest.approx(list(frame["difference"]))
    assert "closed ( chat:gpt-4o and chat:o3 ) against open" in words(report)
    assert "not to other subjects" in words(report)


def test_a_reasoning_model_is_compared_with_its_counterpart(run: Run) -> None:
    rows = lines(group_contrasts(run), "family", "task")
    scores = values(run, "naming")
    row = rows["counterpart", "naming"]
    assert row.difference == pytest.approx((scores[THINKER] - scores[PLAIN]).mean())
    assert (row.subjects_first, row.subjects_second, row.clear) == (1, 1, True)
    # The same items, differences and clusters as the pair of subjects, with other random draws.
    pair = lines(paired(run), "task", "first", "second")["naming", PLAIN, THINKER]
    assert (row.difference, row.n, row.clusters) == (-pair.difference, pair.n, pair.clusters)
    # Two tasks are a family of two.
    tests = [rows["counterpart", task] for task in TASKS]
    assert min(test.p_holm for test in tests) == pytest.approx(2 * min(test.p for test in tests))


def test_a_subject_without_attributes_is_in_no_group(run: Run) -> None:
    arms = main_arms(run)
    assert [(group.family, group.first, group.second) for group in groupings(arms)] == [
        ("counterpart", "reasoning", "counterpart"),
        ("weights", "closed", "open"),
    ]
    assert groupings([arm.model_copy(update={"attributes": {}}) for arm in arms]) == []
    # A subject examined twice counts once.
    twice = arms[0].model_copy(update={"subject": f"{arms[0].subject} (run 2)"})
    assert groupings([*arms, twice]) == groupings(arms)
    simulated = [arm.model_copy(update={"role": "simulated"}) for arm in arms]
    assert groupings(simulated) == []


def test_unlike_groups_differ_clearly_and_equal_ones_do_not(run: Run) -> None:
    """The thinker against the weak one, and against a twin with the same answers: then 0 with p 1."""
    cards, scores = {arm.subject: arm for arm in run.card.arms}, run.scores["strict"]
    twin = scores[scores["subject"] == THINKER].assign(subject="chat:twin")

    def against(subject: str) -> Any:
        first = cards[THINKER].model_copy(update={"attributes": {"supervision": "labels"}})
        other = cards[WEAK].model_copy(update={"subject": subject, "attributes": {"supervision": "pairs"}})
        card = run.card.model_copy(update={"arms": [first, other]})
        both = replace(run, card=card, scores={"strict": pd.concat([scores, twin], ignore_index=True)})
        return lines(group_contrasts(both), "family", "task")["supervision", "naming"]

    weak, alike = against(WEAK), against("chat:twin")
    assert (weak.clear, weak.difference > 0.4) == (True, True)
    assert (alike.clear, alike.difference, alike.p, alike.too_few_clusters) == (False, 0, 1, False)


def test_one_subject_has_no_rank_and_no_group(run: Run) -> None:
    alone = replace(
        run, card=run.card.model_copy(update={"arms": [arm for arm in run.card.arms if arm.subject == PLAIN]})
    )
    assert rank_table(alone).empty
    assert group_contrasts(alone).empty


def test_subjects_without_the_first_task_are_in_every_panel(run: Run) -> None:
    rows = run.results
    task = next(task for task in run.suite.tasks if task in set(rows["task"]))
    fewer = replace(run, results=rows[(rows["subject"] != rows["subject"].iloc[-1]) | (rows["task"] != task)])
    for draw in (overview, strip):
        counts = [max(len(axes.get_yticks()) for axes in draw(each).axes) for each in (run, fewer)]
        assert counts[0] == counts[1] > 1
