"""Parts of comparisons with two of everything: conditions, kinds of rows, groups, drops, targets of logs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from snellen.analysis.comparison import logs
from snellen.analysis.comparison.changes import changes
from snellen.analysis.comparison.groups import counterparts, groupings
from snellen.analysis.comparison.log_changes import _read_scores, log_changes, log_ranks, plain_log_changes
from snellen.analysis.comparison.logs import ItemPair, Log, LogRow, join, targets_agree
from snellen.analysis.comparison.unpaired import _refuse_unlike, is_undecided, unpaired_changes
from snellen.analysis.comparison.verdicts import COLUMNS, Comparison, Unpaired, flips, plain_comparison, unpaired
from snellen.core.errors import SnellenError
from snellen.core.score import Metric
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.runfolder import ArmCard
from snellen.scoring.protocols import ACCURACY
from snellen.suites.thresholds import SUITE as THRESHOLDS
from tests.helpers.guard import run_of
from tests.reports.exam import write_items

ERROR = Metric("error", lambda item, prediction: 0.0, higher_is_better=False, share=False, bounds=(0.0, 2.0))
TWO = {"vanilla": "original", "samples=1": "original"}
NAN = math.nan


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    return write_items(tmp_path_factory.mktemp("parts") / "items", 8, tasks=("naming", "finding"))


# Comparisons


def test_a_score_flips_by_half_of_the_range_of_its_metric_in_its_better_direction() -> None:
    pair = pd.DataFrame({"before": [0, 1, 0.25, 0.25, NAN], "after": [1, 0, 0.75, 0.74, 1]}, index=list("abcde"))
    wide = pd.DataFrame({"before": [0, 0, 1.5], "after": [1, 0.9, 0.5]}, index=list("fgh"))
    table = flips({"t": ACCURACY, "u": ERROR}, {("t", "vanilla"): pair, ("u", "k=1"): wide})
    assert table.to_numpy().tolist() == [
        ["vanilla", "t", "a", 0, 1, True], ["vanilla", "t", "b", 1, 0, False], ["vanilla", "t", "c", 0.25, 0.75, True],
        ["k=1", "u", "f", 0, 1, False], ["k=1", "u", "h", 1.5, 0.5, True],
    ]  # fmt: skip
    assert flips({"t": replace(ACCURACY, bounds=None)}, {("t", "vanilla"): pair}).empty
    assert unpaired(pair.assign(before=[NAN, 1, NAN, 0, NAN], after=[1, NAN, NAN, 0, 1])) == Unpaired(1, 2, 1)


def test_names_and_needs_are_those_of_the_rows_with_the_verdict() -> None:
    kinds = [
        ("vanilla", "task", "t", ("t",), "dropped", 9.0), ("vanilla", "task", "u", ("u",), "dropped", NAN),
        ("k=1", "task", "t", ("t",), "dropped", math.inf), ("vanilla", "ability", "hue", ("t", "w"), "dropped", 5.0),
        ("vanilla", "class", "cat", ("t",), "dropped", 7.0), ("vanilla", "whole", "all", ("t",), "rose", NAN),
        ("vanilla", "estimate", "t: bias", ("t",), "moved", NAN),
    ]  # fmt: skip
    columns = ["condition", "kind", "name", "tasks", "verdict", "items_needed"]
    table = pd.DataFrame(kinds, columns=columns).reindex(columns=list(COLUMNS))
    sides = {("vanilla", "t"): Unpaired(1, 2, 3), ("k=1", "t"): Unpaired(10, 20, 30)}
    compared = Comparison("x", ("a", "b"), {}, {}, table, flips({}, {}), 4, sides, ("u [k=1]",), 0.2)
    plain = plain_comparison(compared)
    # The ability explains the drop of its task under its own condition alone.
    assert plain["dropped"] == ["hue (t, w)", "u", "t [k=1]", "class cat"]
    assert (plain["rose"], plain["moved"]) == (["all"], ["t: bias"])
    assert plain["undetectable"] == {"t": 9.0, "t [k=1]": None}
    assert plain["unpaired"] == {"only_before": 11, "only_after": 22, "neither": 33}
    assert (plain["before"], plain["after"], plain["paired"], plain["nothing_pairs_in"]) == ("a", "b", 4, ["u [k=1]"])
    assert (plain["rows"][3]["tasks"], plain["rows"][0]["p"], compared.unpaired_items.total) == (["t", "w"], None, 66)
    assert repr(compared) == "<Comparison from a to b: 4 answers paired; 4 dropped, 1 rose>"


def _results(*rows: Mapping[str, Any]) -> pd.DataFrame:
    usual = {"subject": "chat:model", "condition": "vanilla", "task": "naming", "protocol": "strict", "judge": "",
             "metric": "accuracy", "factor": "", "n": 100, "value": 0.5, "low": 0.4, "high": 0.6, "grade": "some",
             "state": "", "reason": ""}  # fmt: skip
    return pd.DataFrame([{**usual, **row} for row in rows])


def test_grades_are_those_of_the_row_of_the_task_under_its_condition(items: ItemSet) -> None:
    both = [run_of(items, lambda item: 1.0, tasks=("naming",), conditions=TWO)] * 2
    others = [{"factor": "size"}, {"protocol": "published"}, {"metric": "accuracy_rough"}, {"task": "finding"}]
    wrong = [{"grade": "wrong", **other} for other in others]
    first = _results({"grade": "none"}, {"condition": "samples=1"}, *wrong)
    second = _results({"grade": "", "state": "open", "reason": "too few items"}, *wrong)
    compared = changes(replace(both[0], results=first), replace(both[1], results=second))
    rows = compared.table[compared.table["kind"] == "task"].set_index("condition")
    assert rows["grade_before"].to_dict() == {"vanilla": "none", "samples=1": "some"}
    assert rows["grade_after"].to_dict() == {"vanilla": "open: too few items", "samples=1": ""}


def test_unpaired_changes_are_corrected_over_all_tasks_and_conditions(items: ItemSet) -> None:
    """Of three tests two are clear alone; the sign of an error is turned, and a row without a partner has none."""
    sides = [{"value": 0.5, "low": 0.4, "high": 0.6}, {"value": 0.5 - 0.28, "low": 0.12, "high": 0.32}]
    error = {"task": "sizing", "metric": "mae_over_gt"}
    first = _results(sides[0], {**sides[0], "condition": "samples=1"}, {**sides[0], **error}, {"condition": "only"})
    second = _results(sides[1], {**sides[0], "condition": "samples=1"}, {**sides[1], **error, "n": 50})
    runs = [replace(run_of(items, lambda item: 1.0), results=rows) for rows in (first, second)]
    rows = {(row.task, row.condition): row for row in unpaired_changes(*runs)}
    assert {key: row.verdict for key, row in rows.items()} == {
        ("naming", "vanilla"): "dropped", ("naming", "samples=1"): "no clear change", ("sizing", "vanilla"): "rose",
        ("naming", "only"): "only before",
    }  # fmt: skip
    naming, sizing = rows["naming", "vanilla"], rows["sizing", "vanilla"]
    assert (naming.difference, sizing.difference) == pytest.approx((-0.28, 0.28))
    assert (sizing.before, sizing.after, sizing.n_before, sizing.n_after) == pytest.approx((0.5, 0.22, 100, 50))
    # Both sides are 0.1: z = 0.28 / (0.1 * sqrt 2 / 1.96) = 3.881, p 0.000104; the least of three is tripled.
    assert naming.p == pytest.approx(3 * 0.000104, rel=0.01)
    assert (naming.low, naming.high) == pytest.approx((-0.28 - 0.02**0.5, -0.28 + 0.02**0.5))
    untested = [_results({**side, "low": NAN, "high": NAN}) for side in sides]
    (row,) = unpaired_changes(*(replace(run, results=table) for run, table in zip(runs, untested, strict=True)))
    assert (row.verdict, math.isnan(row.p)) == ("no interval", True)


@pytest.mark.parametrize(
    ("before", "after", "margin", "verdict", "is_missable"),
    [
        ({}, {}, None, "no clear change", False),
        ({}, {}, 0.21, "no clear change", False),  # (1.96 + 0.84) * sqrt 2 * 0.1 / 1.96 = 0.202
        ({}, {}, 0.2, "no clear change", True),
        ({}, {"failure_rate": 0.1}, None, "no clear change", True),
        ({"failure_rate": 0.1}, {"failure_rate": NAN}, None, "no clear change", True),
        ({}, {"n": 0}, None, "only before", True),
        ({"n": 0}, {}, None, "only after", True),
        ({}, {"low": NAN, "high": NAN}, None, "no interval", True),
    ],
)
def test_a_row_in_which_a_drop_may_be_missed_is_undecided(
    before: Mapping[str, Any], after: Mapping[str, Any], margin: float | None, verdict: str, is_missable: bool,
    items: ItemSet,
) -> None:  # fmt: skip
    """Beside a task without interval, and under a control, in which nothing can drop."""
    both = {"vanilla": "original", "images=none": "none"}
    tables = [
        _results(row, {"task": "finding", "low": NAN}, {**row, "condition": "images=none", "value": 1 - n})
        for n, row in enumerate((before, after))
    ]
    run = run_of(items, lambda item: 1.0, conditions=both)
    rows = {row.task: row for row in unpaired_changes(*(replace(run, results=table) for table in tables))}
    assert {row.condition for row in rows.values()} == {"vanilla"}
    assert (rows["naming"].verdict, is_undecided(rows["naming"], run, margin)) == (verdict, is_missable)


def test_a_threshold_measured_once_cannot_be_compared(items: ItemSet) -> None:
    """One that was not understood, or is beyond the levels, in both runs has not changed."""
    states = {
        "acuity": ("value", "value"), "vernier": ("value", "question not understood"), "number": ("below", "value"),
        "contrast": ("below", "below"), "length": ("below", "above"), "orientation": ("value", None),
    }  # fmt: skip
    runs = []
    for side in (0, 1):
        rows = [
            {"task": task, "metric": main, "n": 30, "value": 3.0, "low": 2.0, "high": 4.0, "grade": "",
             "state": "threshold", "reason": reasons[side]}
            for task, reasons in states.items() if reasons[side]
            for main in [THRESHOLDS.tasks[task].protocols["strict"].metrics[0].name]
        ]  # fmt: skip
        control = {**rows[0], "condition": "images=none", "reason": ("value", "above")[side]}
        run = run_of(items, lambda item: 1.0, tasks=(), conditions={"vanilla": "original", "images=none": "none"})
        runs.append(replace(run, suite=THRESHOLDS, results=_results(*rows, control)))
    compared = changes(*runs)
    assert list(compared.table["name"]) == ["acuity"]
    assert set(compared.left_out) == {
        "vernier [vanilla] (value → question not understood)", "number [vanilla] (below → value)",
        "contrast [vanilla] (below)", "length [vanilla] (below → above)",
        "orientation [vanilla] (value → not asked: never asked)",
    }  # fmt: skip
    assert compared.unpaired_items == Unpaired(only_before=60, only_after=30, neither=30)


@pytest.mark.parametrize(
    ("former", "current", "refusal"),
    [
        ({"n": 4, "per_task": {"a": 1}, "seed": 1}, {"n": 9, "per_task": {"a": 2}, "seed": 2, "sealed": "c"}, ""),
        ({"balance": True}, {"balance": False}, "differ in balance"), ({"quality": "low"}, {}, "differ in quality"),
        ({}, {"size": [1, 2], "quality": "low"}, "differ in size, quality"), ({"mix": {"a": 0.5}}, {}, "differ in mix"),
    ],
)  # fmt: skip
def test_sets_of_one_recipe_may_differ_in_amounts_and_seeds_alone(
    former: dict[str, Any], current: dict[str, Any], refusal: str
) -> None:
    def run(recipe: Any, source: str = "generated") -> Any:
        card = SimpleNamespace(suite="s", version="1", source=source, recipe=recipe)
        return SimpleNamespace(root=Path("run"), items=SimpleNamespace(card=card))

    if refusal:
        with pytest.raises(SnellenError, match=refusal):
            _refuse_unlike(run(former), run(current))
    else:
        _refuse_unlike(run(former), run(current))
        with pytest.raises(SnellenError, match="have different items; ask both"):
            _refuse_unlike(run(former, "own"), run(current, "own"))


# Groups of subjects


def _arm(subject: str, **cells: Any) -> ArmCard:
    usual: dict[str, Any] = {"fingerprint": subject, "settings": {}, "attributes": {}, "condition": "vanilla",
                             "columns": {}, "repeat": 0, "role": "model"}  # fmt: skip
    return ArmCard(subject=subject, **usual | cells)


def test_a_counterpart_is_named_or_has_the_same_settings_without_reasoning() -> None:
    def thinks(subject: str, effort: str, seed: int = 0) -> ArmCard:
        return _arm(subject, settings={"reasoning_effort": effort, "seed": seed})

    named = _arm("r1", attributes={"reasoning": "yes", "counterpart": "v3"})
    arms = [named, _arm("v3", attributes={"reasoning": "No", "counterpart": "r1"}), thinks("high", "high"),
            thinks("low", "low"), thinks("plain", "none"), thinks("seeded", "high", 1),
            _arm("lost", attributes={"reasoning": "yes", "counterpart": "gone"})]  # fmt: skip
    assert counterparts(arms) == [("r1", "v3"), ("high", "plain"), ("low", "plain")]
    assert counterparts([*arms, *arms]) == counterparts(arms)


def test_every_two_levels_of_an_attribute_are_compared_in_the_order_of_the_run() -> None:
    levels = ("open", "closed", "open", "partly", "")
    arms = [_arm(f"m{n}", attributes={"weights": level} if level else {}) for n, level in enumerate(levels)]
    assert [(g.family, g.first, g.second, g.first_subjects, g.second_subjects) for g in groupings(arms)] == [
        ("weights", "open", "closed", ("m0", "m2"), ("m1",)), ("weights", "open", "partly", ("m0", "m2"), ("m3",)),
        ("weights", "closed", "partly", ("m1",), ("m3",)),
    ]  # fmt: skip


# Logs of other tools


@pytest.mark.parametrize(
    ("target", "other", "agree"),
    [
        ("A", "(a)", True), ("B.", "A", False), ("A", "cat", None), ("yes", "true", True), ("no", "true", False),
        ("1", "1.0000001", True), ("1", "1.1", False), ("cat", "A cat", True), ("cat", "dog", False),
        ("cat|dog", "dog", True), ("cat|A", "dog", None),
    ],
)  # fmt: skip
def test_right_answers_agree_if_they_are_one_letter_truth_number_or_text(target: str, other: str, agree: Any) -> None:
    rows = [LogRow("q", target=tuple(texts.split("|"))) for texts in (target, other)]
    assert targets_agree(*rows) is agree
    assert targets_agree(*reversed(rows)) is agree


def test_very_many_right_answers_are_compared_as_they_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [LogRow("q", target=tuple(f"{side}{n}" for n in range(50))) for side in "xy"]
    assert targets_agree(*rows) is False
    monkeypatch.setattr(logs, "_texts_agree", lambda *_: pytest.fail("compared"))
    many = replace(rows[0], target=(*rows[0].target, "Y3"))
    assert targets_agree(many, rows[1]) is None
    assert targets_agree(replace(many, target=(*many.target, "y3")), rows[1]) is True


def _log(name: str, *rows: Mapping[str, Any], **usual: Any) -> Log:
    return Log(name, [LogRow(**{"item": f"q{n}", "number": n, **usual, **row}) for n, row in enumerate(rows)])


def test_clusters_of_logs_are_groups_or_else_images_or_else_items() -> None:
    grouped = [{"score": 1.0, "group": group} for group in ("g", "g", "", "h")]
    pictured = [{"score": 0.0, "images": images} for images in (("x",), ("y",), ("z",), ("z",))]
    bare = [{"score": 0.0}] * 4
    cases = ((grouped, pictured, 3), (pictured, grouped, 3), (pictured, bare, 3), (bare, bare, 4), (bare, pictured, 3))
    counts = [log_changes(_log("a", *first), _log("b", *second)).table["clusters"][0] for first, second, _ in cases]
    assert counts == [expected for *_, expected in cases]


def test_tasks_of_logs_are_rows_with_one_of_all_items_and_what_failed_is_told() -> None:
    scores = [("t", 1.0, 0.0), ("t", 1.0, 1.0), ("u", 0.0, 1.0), ("u", NAN, 1.0), ("v", NAN, 1.0)]
    first = _log("a", *({"task": task, "score": before} for task, before, _ in scores))
    afters = [{"task": task, "score": after, "failure": ""} for task, _, after in scores]
    second = _log("b", afters[0], {**afters[1], "failure": "timeout"}, *afters[2:])
    compared = log_changes(first, second)
    assert compared.table[["name", "kind", "n", "before", "after"]].to_numpy().tolist() == [
        ["t", "task", 2, 1, 0.5], ["u", "task", 1, 0, 1], ["all items", "whole", 3, 2 / 3, 2 / 3],
    ]  # fmt: skip
    plain = plain_log_changes(compared)
    assert (plain["nothing_pairs_in"], plain["joined"], plain["paired"]) == (["v"], {"id": 5}, 3)
    assert plain["notes"][0] == "5 items joined: 100% by id; 0 of 0 with texts to compare contradict each other."
    assert plain["notes"][-1] == "b: 1 of 5 calls failed; they count as the log scored them."
    assert plain["causes"] == {"not known: a log has no replies": 2}
    lacking = join(_log("a", {}, {}, {}), _log("b", {}, {}, {}, {}, {}))
    assert (len(lacking.pairs), lacking.only_before, lacking.only_after) == (3, 0, 2)


def test_ranks_of_logs_have_their_own_scores_and_numbers_by_task() -> None:
    tasks = ["t"] * 8 + ["u"] * 8
    values = {"a": [0.0] * 16, "b": [1.0] * 8 + [0.0] * 8, "c": [1.0] * 15 + [NAN]}
    logs = [_log(name, *({"task": task, "score": score} for task, score in zip(tasks, scores, strict=True)))
            for name, scores in values.items()]  # fmt: skip
    compared = log_ranks(logs)
    ranks = {(row["task"], row["log"]): (row["score"], row["n"], row["rank"]) for row in compared.plain()["ranks"]}
    assert ranks["t", "a"] == (0, 8, 3)
    assert ranks["t", "b"] == ranks["t", "c"] == (1, 8, 1.5)
    assert (ranks["u", "b"], ranks["u", "c"]) == ((0, 8, 2.5), (1, 7, 1))
    assert (ranks["all items", "b"], ranks["all items", "c"]) == ((0.5, 16, 2), (1, 15, 1))
    assert [note.partition(":")[0] for note in compared.notes] == ["b", "c"]
    assert np.isclose(compared.table.set_index(["task", "first", "second"])["difference"]["u", "a", "c"], -1)


def test_replies_are_read_by_their_own_log_s_options_or_else_by_the_other_s() -> None:
    before = LogRow("1", options=(("A", "cat"), ("B", "dog")), target=("A",), reply="A")
    turned = LogRow("1", options=(("A", "dog"), ("B", "cat")), target=("B",), reply="B")
    bare = LogRow("1", reply="A")
    for after, scores in ((turned, [1, 1]), (replace(turned, reply="A"), [1, 0]), (bare, [1, 1])):
        assert _read_scores(ItemPair("1", "", [before], [after])) == scores
    assert _read_scores(ItemPair("1", "", [bare], [turned])) == [0, 1]
    for target in ("(A)", "A.", "A:", " a ", "(a).", "Cat", "cat.", "(CAT)"):
        assert _read_scores(ItemPair("1", "", [replace(before, target=(target,))], [bare])) == [1, 1], target
    sentences = replace(before, options=(("A", "A cat."), ("B", "(dog)")), target=("a cat.",))
    assert _read_scores(ItemPair("1", "", [sentences], [bare])) == [1, 1]
    assert _read_scores(ItemPair("1", "", [replace(sentences, target=("(Dog)",))], [bare])) == [0, 0]
