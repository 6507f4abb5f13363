"""Report sections of VLM2-Bench, on a few questions whose answers and tables are computed by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from snellen.analysis.tables.run_view import ReportArm
from snellen.analysis.tables.section import ReportSection, Run
from snellen.core.item import Item, ReplySpec
from snellen.core.seeds import stream
from snellen.scoring.uncertainty import mean_interval, wilson
from snellen.suites.vlm2_bench.items import video_item
from snellen.suites.vlm2_bench.published import COLUMNS, TABLE_1
from snellen.suites.vlm2_bench.report.answers import leaning
from snellen.suites.vlm2_bench.report.sections import difference_of_shares, hardest, mean_of_tasks, sections
from tests.goldens.golden import assert_golden
from tests.goldens.sections import sections_text
from tests.helpers.sections import by_name, row_of
from tests.suites.vlm2_bench.run_fixture import Says, made_items, made_run, media


def _knows(item: Item, spec: ReplySpec) -> str:
    return "two people" if item.answer_kind == "description" else spec.write(item.answer)


def _says_yes(item: Item, spec: ReplySpec) -> str:
    return {"true_false": "T", "choice": "A", "integer": "1"}.get(item.answer_kind, "one person")


def _report(run: Run) -> dict[str, ReportSection]:
    return by_name(sections(run), with_figures=False)


@pytest.fixture(scope="module")
def report() -> dict[str, ReportSection]:
    """`own:model` knows Mat only about things added or removed; with steps all but pair 0, and its Trk calls fail."""

    def plainly(item: Item, spec: ReplySpec) -> str:
        if item.task == "gc-mat":
            return spec.write(item.answer) if item.factors["cue"] == "add/remove" else "T"
        if item.task == "pc-cpr":
            return "I'm sorry, but I can't identify people in images."
        return _says_yes(item, spec)

    def in_steps(item: Item, spec: ReplySpec) -> str | None:
        if item.task == "gc-mat" and item.group_id == "gc-mat-0":
            return "T"  # was right without steps
        if item.task == "pc-cpr":
            return f"Step 1: this is Tom Hanks. The answer is {_knows(item, spec)}"
        return None if item.task == "gc-trk" else _knows(item, spec)

    replies: dict[tuple[str, str], Says] = {
        ("fake:always-true", "vanilla"): _says_yes,
        ("own:model", "vanilla"): plainly,
        ("own:model", "method=cot"): in_steps,
        ("fake:oracle", "vanilla"): _knows,
    }
    return _report(made_run(replies, made_items(), {"PQ": "Score: 1", "PQP": "no idea"}))


def test_every_section_exists(report: dict[str, ReportSection]) -> None:
    names = ["table-1", "methods", "cues", "people-objects", "yes-bias", "letters", "counts", "people-named"]
    assert list(report) == names
    assert not any(section.detail for section in report.values())


# Table 1


def test_table_1_has_a_mean_only_if_all_of_its_tasks_were_answered(report: dict[str, ReportSection]) -> None:
    table = report["table-1"].table
    assert list(table["subject"][:2]) == ["own:model"] * 2  # simulated observers come last
    assert list(table.columns[4:]) == list(COLUMNS)
    oracle = row_of(report["table-1"], subject="fake:oracle")
    assert oracle["mean of the eight"].startswith("100 [")
    # VID: the judge gives 1 of 1 to PQ, and nothing readable to PQP, so 0.5; the mean of nine is 8.5 / 9.
    assert oracle["mean of all nine"].split()[0] == "94"
    steps = row_of(report["table-1"], subject="own:model", condition="method=cot")
    assert (steps["gc-trk"], steps["pc-vid"]) == ("–", "–")  # all calls failed; never asked
    assert (steps["mean of the eight"], steps["mean of all nine"]) == ("–", "–")


def test_both_chances_are_shown_and_differ_where_in_the_paper_one_guess_decides(
    report: dict[str, ReportSection],
) -> None:
    printed = row_of(report["table-1"], subject="(chance as printed)")
    computed = row_of(report["table-1"], subject="(chance of guesses)")
    assert (printed["oc-cpr"], printed["oc-cnt"], printed["mean of the eight"]) == ("50.00", "34.88", "33.72")
    # Two questions of two images (1/2 each), two of three (1/3 each): 5/12. Eight tasks: (6 * 25 + 2 * 41.667) / 8.
    assert (computed["oc-cpr"], computed["oc-cnt"]) == ("25", "41.7")
    assert computed["mean of the eight"] == "29.2"


def test_our_twin_task_is_in_no_mean() -> None:
    items = [item for item in made_items() if item.task.startswith("gc")]
    items.append(video_item("oc", "v", media("v", "video"), "PQ", answer="", cluster="c"))
    table = _report(made_run({("own:model", "vanilla"): _knows}, items, {"PQ": "Score: 1"}))["table-1"]
    assert row_of(table, subject="own:model")["oc-vid"].startswith("100")
    assert row_of(table, subject="own:model")["mean of all nine"] == "–"
    assert "oc-vid is our twin" in table.note
    assert "No subject answered oc-cpr, oc-cnt, oc-grp, pc-cpr, pc-cnt, pc-grp and pc-vid here" in table.note


def _two_each(means: Sequence[float], clusters: Sequence[str]) -> dict[str, dict[ReportArm, pd.DataFrame]]:
    """Units of each task with the given mean."""
    spread = np.resize((0.05, -0.05), len(clusters))
    return {
        task: {
            ReportArm("m", "vanilla"): pd.DataFrame({"value": mean / 100 + spread, "right": 0.0, "cluster": clusters})
        }
        for task, mean in zip(COLUMNS, means, strict=False)
    }


def test_both_means_agree_with_the_printed_row() -> None:
    scores = [score for score in TABLE_1["Qwen2.5-VL-7B"].scores if score is not None]
    units = _two_each(scores, [f"c{n}" for n in range(30)])
    assert mean_of_tasks(units, ReportArm("m", "vanilla"), COLUMNS[:8]).split()[0] == "55.9"  # 55.86
    assert mean_of_tasks(units, ReportArm("m", "vanilla"), COLUMNS).split()[0] == "54.8"  # 54.82
    assert mean_of_tasks(units, ReportArm("m", "method=cot"), COLUMNS) == "–"


def test_tasks_about_the_same_images_do_not_narrow_the_interval_of_a_mean() -> None:
    values = np.random.default_rng(1).random(120)
    clusters = [f"c{n // 4}" for n in range(120)]
    units = pd.DataFrame({"value": values, "right": 0.0, "cluster": clusters})
    tasks = ("gc-mat", "gc-trk")
    cell = mean_of_tasks({task: {ReportArm("m", "v"): units} for task in tasks}, ReportArm("m", "v"), tasks)
    low, high, _ = mean_interval(values, clusters, None, stream("vlm2-bench", "mean of tasks", "m", "v", *tasks))
    assert cell == f"{100 * values.mean():.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def test_a_mean_of_equal_units_still_has_an_interval() -> None:
    units = pd.DataFrame({"value": 1.0, "right": 1.0, "cluster": [f"c{n}" for n in range(10)]})
    low, _ = wilson(10, 10)
    assert (
        mean_of_tasks({"gc-mat": {ReportArm("m", "v"): units}}, ReportArm("m", "v"), ("gc-mat",))
        == f"100 [{100 * low:.0f}, 100]"
    )


def test_whoever_answered_only_later_tasks_is_in_table_1_and_compared_with_people() -> None:
    """`own:late` and one of the studies have no answer to Mat, the first task; `own:m` is wrong about all of Trk."""

    def late(item: Item, spec: ReplySpec) -> str | None:
        return None if item.task == "gc-mat" else _knows(item, spec)

    def half(item: Item, spec: ReplySpec) -> str:
        return (_knows if item.task == "gc-mat" else _says_yes)(item, spec)

    items, both = [item for item in made_items() if item.task in ("gc-mat", "gc-trk")], "gc-mat, gc-trk"
    studies: list[tuple[Says, str, str]] = [(late, "gc-trk", "0.0"), (_knows, both, "50.0")]
    for people, tasks, right in studies:
        subjects = {"fake:oracle": _knows, "own:m": half, "human:study": people, "own:late": late}
        report = _report(made_run({(name, "vanilla"): says for name, says in subjects.items()}, items))
        assert list(report["table-1"].table["subject"][:4]) == ["own:m", "human:study", "own:late", "fake:oracle"]
        lines = report["below-people"].table[["subject", "tasks", "percent right", "people's"]]
        assert lines.to_numpy().tolist() == [
            ["own:m", tasks, right, "100.0"], ["own:late", "gc-trk", "100.0", "100.0"],
            ["fake:oracle", tasks, "100.0", "100.0"],
        ]  # fmt: skip


# Findings II and III


def test_cues_are_compared_by_pairs(report: dict[str, ReportSection]) -> None:
    line = row_of(report["cues"], task="gc-mat", subject="own:model", condition="vanilla")
    assert [line[name].split()[0] for name in ("add/remove", "swap")] == ["100", "0"]
    assert line["swap"].endswith("n 2")
    assert (line["attribute"], line["hardest"]) == ("–", "–")  # two pairs against two are too few


def test_one_cue_is_not_compared() -> None:
    items = [replace(item, factors={"cue": "swap"}) for item in made_items() if item.task in ("gc-mat", "gc-trk")]
    assert "cues" not in _report(made_run({("own:model", "vanilla"): _knows}, items))


def _row(k: int, n: int) -> SimpleNamespace:
    low, high = wilson(k, n)
    return SimpleNamespace(value=k / n, low=low, high=high, n=n)


def test_the_hardest_cue_is_named_only_if_it_is_clear_against_every_other() -> None:
    assert hardest({"swap": _row(10, 100), "attribute": _row(40, 100), "add/remove": _row(60, 100)}) == "swap"
    assert hardest({"swap": _row(10, 100), "attribute": _row(15, 100), "add/remove": _row(60, 100)}) == "–"
    assert hardest({"swap": _row(10, 100)}) == "–"
    assert hardest({"swap": _row(0, 5), "attribute": _row(5, 5)}) == "swap"
    assert hardest({"swap": _row(0, 4), "attribute": _row(5, 5)}) == "–"


def test_the_interval_of_two_independent_shares_is_that_of_newcombe() -> None:
    # Newcombe 1998, Statistics in Medicine 17, Table II, method 10: 56/70 - 48/80 is 0.2000 [0.0524, 0.3339].
    assert [round(x, 4) for x in difference_of_shares(_row(56, 70), _row(48, 80))] == [0.2, 0.0524, 0.3339]


def test_people_are_compared_with_objects_if_both_were_asked(report: dict[str, ReportSection]) -> None:
    # Without steps own:model is right on one of four counts per family: "1" for a truth of 1; one off earns nothing.
    line = row_of(report["people-objects"], task="cnt", subject="own:model", condition="vanilla")
    assert [line[name].split()[0] for name in ("people (pc)", "objects (oc)")] == ["25", "25"]
    assert line["difference"].startswith("+0.0 [-")
    assert set(report["people-objects"].table["task"]) == {"cpr", "cnt", "grp"}


# Figure 5


def test_changes_by_a_method_are_counted_by_pairs(report: dict[str, ReportSection]) -> None:
    # Without steps pairs 0 and 2 are right (added or removed); with steps all but pair 0: 50, 75, one lost, two won.
    line = row_of(report["methods"], subject="own:model", task="gc-mat")
    assert (line["method"], line["units"], line["plain"], line["with it"]) == ("cot", 4, "50", "75")
    assert line["difference"].startswith("+25.0 [")
    assert (line["wrong to right"], line["right to wrong"]) == (2, 1)
    assert line["McNemar p"] == "1.00"  # 2 against 1
    # Four questions without a readable answer, then all right: p = 2 / 2^4.
    assert row_of(report["methods"], subject="own:model", task="pc-cpr")["McNemar p"] == "0.12"
    assert "gc-trk" not in set(report["methods"].table["task"])  # its calls failed, so no unit has both


# Biases


def test_a_subject_that_always_says_yes_is_flagged_and_an_oracle_is_not(report: dict[str, ReportSection]) -> None:
    table = report["yes-bias"].table
    flags = table.groupby("subject")["flag"].agg(set)
    assert flags["fake:oracle"] == {""}
    assert (
        row_of(report["yes-bias"], subject="own:model", task="gc-mat", condition="vanilla")["flag"] == ""
    )  # solves half
    always = row_of(report["yes-bias"], subject="fake:always-true", task="gc-mat")
    assert (always["said true"].split()[0], always["true"], always["T-T"]) == ("100", "50", "100")
    oracle = row_of(report["yes-bias"], subject="fake:oracle", task="oc-cpr")
    # One sequence shows the same twice, three do not.
    assert (oracle["T-T"], oracle["F-F"], oracle["T-F"], oracle["F-T"]) == ("0", "0", "25", "75")


def _answered(yes: Sequence[bool]) -> tuple[list[float], list[str], SimpleNamespace]:
    """Answers to pairs of a true and a false statement, and the row with their pair accuracy."""
    pairs = np.asarray(yes).reshape(-1, 2)
    row = _row(int((pairs[:, 0] & ~pairs[:, 1]).sum()), len(pairs))
    row.chance = 0.25
    return [float(answer) for answer in yes], [f"p{n // 2}" for n in range(len(yes))], row


def test_guessing_is_no_bias_but_leaning_is() -> None:
    def flag(yes: Sequence[bool]) -> str:
        answers, pairs, row = _answered(yes)
        return leaning(answers, pairs, 0.5, row)

    rng = stream("test", "guesses")
    assert {flag(list(rng.random(80) < 0.5)) for _ in range(400)} == {""}
    assert flag([True] * 16) == "yes-bias"
    assert flag([False] * 16) == "no-bias"
    assert {flag(list(rng.random(80) < 0.85)) for _ in range(50)} == {"yes-bias"}
    assert flag([True, False] * 30 + [True, True] * 30) == ""  # leans to yes, but solves half of the pairs
    assert flag([True] * 4) == ""  # two pairs are too few


def test_letters_and_none_are_shown_with_their_share_of_right_answers(report: dict[str, ReportSection]) -> None:
    line = row_of(report["letters"], subject="fake:always-true", task="oc-grp")
    assert line["A"].startswith("100 [")
    oracle = row_of(report["letters"], subject="fake:oracle", task="oc-grp")
    assert all(oracle[letter].split()[0] == oracle[letter].split("(")[1].rstrip(")") for letter in "ABCD")
    assert oracle["None"].split()[0] == "25"  # only ABC
    assert line["None"].endswith("(25)")


def test_counts_are_shown_by_number_of_images(report: dict[str, ReportSection]) -> None:
    # The truths are 1 and 2 of two images, 2 and 3 of three; fake:always-true says 1.
    two = row_of(report["counts"], subject="fake:always-true", task="oc-cnt", images=2)
    three = row_of(report["counts"], subject="fake:always-true", task="oc-cnt", images=3)
    assert (two["mean error"].split()[0], three["mean error"].split()[0]) == ("-0.50", "-1.50")
    assert (two["said 1"], two["said 2"], two["said 3"], two["other"]) == ("100 (50)", "0 (50)", "", "0")
    assert (three["said 1"], three["said 3"], three["other"]) == ("100 (0)", "0 (50)", "0")
    assert row_of(report["counts"], subject="fake:oracle", task="oc-cnt", images=3)["mean error"] == "+0.00"


# People


def test_refusals_and_names_are_shown_next_to_vanilla(report: dict[str, ReportSection]) -> None:
    plain = row_of(report["people-named"], subject="own:model", task="pc-cpr", condition="vanilla")
    steps = row_of(report["people-named"], subject="own:model", task="pc-cpr", condition="method=cot")
    assert (plain["declines"].split()[0], plain["names somebody"].split()[0]) == ("100", "0")
    assert (steps["declines"].split()[0], steps["names somebody"].split()[0]) == ("0", "100")
    assert "no answer 100 %" in plain["score"]
    assert set(report["people-named"].table["task"]) == {"pc-cpr", "pc-cnt", "pc-grp", "pc-vid"}


# Missing sections


def test_a_run_without_people_methods_or_judges_has_no_section_of_them() -> None:
    items = [item for item in made_items() if item.task in ("gc-mat", "oc-cnt")]
    names = list(_report(made_run({("own:model", "vanilla"): _knows}, items)))
    assert names == ["table-1", "cues", "yes-bias", "counts"]


def test_the_figures_can_be_drawn(report: dict[str, ReportSection], tmp_path: Path) -> None:
    figures = {name: section.figure() for name, section in report.items() if section.figure is not None}
    assert set(figures) == {"methods", "cues"}
    for name, figure in figures.items():
        figure.savefig(tmp_path / f"{name}.svg")
    bars = [patch for axes in figures["methods"].axes for patch in axes.patches]
    assert any(math.isclose(bar.get_height(), 0.25) for bar in bars)  # gc-mat, computed above


def _varied(rate: float, *key: str) -> Says:
    """Right at this rate, else another answer, an unreadable one, a refusal, a name or a failed call."""

    def says(item: Item, spec: ReplySpec) -> str | None:
        rng = stream("test", "varied", *key, item.item_id)
        if item.answer_kind == "description" or rng.random() < rate:
            return _knows(item, spec)
        keys = {"true_false": ["T", "F"], "choice": list("ABCD"), "integer": list("12345")}[item.answer_kind]
        others: list[str | None] = [*keys, *keys, "I cannot identify people.", "Here is Tom Hanks.", None]
        return others[int(rng.integers(len(others)))]

    return says


def test_all_sections_of_a_large_run_equal_their_golden() -> None:
    """Three of every item, two subjects with methods, and a study of people who are asked plainly."""
    items = [
        replace(item, item_id=f"{n}{item.item_id}", group_id=f"{n}{item.group_id}", cluster_id=f"{n}{item.cluster_id}")
        for n in range(3)
        for item in made_items()
    ]
    conditions = [("own:m", "method=cot"), ("own:m", "visual_prompt=grid,method=cot"), ("own:n", "visual_prompt=grid")]
    replies: dict[tuple[str, str], Says] = {
        (name, condition): _varied(0.4 + 0.1 * n, name, condition)
        for n, (name, condition) in enumerate([("own:m", "vanilla"), ("own:n", "vanilla"), *conditions])
    }
    replies |= {("human:study", "vanilla"): _varied(0.9, "people"), ("fake:yes", "vanilla"): _says_yes}
    run = made_run(replies, items, {"PQ": "Score: 1", "PQP": "Score: 2"})
    assert_golden("suites/vlm2-bench-sections.txt", sections_text(sections(run)))
