"""Values of the result table and the columns that go with them, worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from snellen.analysis.grading.results import over_draws, results, with_python_strings
from snellen.analysis.grading.rows import KEYS, result_columns
from snellen.analysis.units import parts_of, summary
from snellen.core.condition import Axis
from snellen.core.item import Item, Option
from snellen.core.response import Response, Status
from snellen.core.score import ABOVE, BELOW, MEASURED, NOT_UNDERSTOOD, Measurement, Metric
from snellen.core.storage.itemset import ItemSet, write_itemset
from snellen.core.storage.runfolder import ArmCard
from snellen.core.suite import Ceiling, Suite
from snellen.runs.scores.score import score
from snellen.scoring.metrics import mae_over_gt
from snellen.scoring.protocols import all_right
from snellen.scoring.uncertainty import BOOTSTRAP_T
from tests.helpers.journey import NAMED, PUBLISHED, STRICT, item, row, suite_of, value

AXIS = Axis("shots", (0, 1))
FAIL, DECLINE = "<failed>", "<declined>"


def build(root: Path, items: Sequence[Item]) -> ItemSet:
    return write_itemset(root, items, source="generated", recipe={})


def replied(built: ItemSet, texts: Sequence[str | None], **fields: Any) -> list[Response]:
    """One response per item: its text, FAIL, DECLINE, or None if the call returned no answer for it."""
    responses = []
    for test_item, text in zip(built.items, texts, strict=True):
        status: Status = "failed" if text == FAIL else "declined" if text == DECLINE else "ok"
        reply = text if status == "ok" else None
        fields = {"subject": "own:x", "condition": "vanilla", "repeat": 0, **fields}
        response_id = f"{fields['subject']}/{fields['condition']}/{fields['repeat']}/{test_item.item_id}"
        responses.append(
            Response(
                response_id=response_id,
                fingerprint="f" * 12,
                item_id=test_item.item_id,
                task=test_item.task,
                status=status,
                text=reply,
                reason="",
                reply_spec=test_item.view().reply,
                calls=(response_id,),
                **fields,
            )
        )
    return responses


def card(subject: str = "own:x", condition: str = "vanilla", shots: int = 0) -> ArmCard:
    return ArmCard(
        subject=subject,
        fingerprint="f" * 12,
        settings={},
        attributes={},
        condition=condition,
        columns={"shots": shots},
        repeat=0,
    )


def table(built: ItemSet, suite: Suite, responses: Sequence[Response], protocol: str = "strict") -> pd.DataFrame:
    arms = [card(s, c, int(c == "shots=1")) for s, c in dict.fromkeys((r.subject, r.condition) for r in responses)]
    return results(score(responses, built, suite, protocol), built, suite, arms)


def colours(n: int, **fields: Any) -> list[Item]:
    names = ("red", "green", "blue")
    return [item(f"{k:02}", [], names[k % 3], "choice", options=NAMED, **fields) for k in range(n)]


def test_one_arm_by_hand(tmp_path: Path) -> None:
    built, suite = build(tmp_path, colours(6)), suite_of(AXIS)
    answers = replied(built, ["red", "the green one", "blue", None, "red", FAIL])
    done = table(built, suite, answers)
    assert list(done.columns) == result_columns(suite)
    first = ["subject", "role", "source", "suite", "task", "condition", "shots", "split"]
    assert result_columns(suite)[:8] == first
    assert set(KEYS) < set(done.columns)
    main = row(done)
    # Replies: 5, of which 3 right, 1 wrong ("red" is green), 1 without an answer. Tried: 6.
    assert (main["value"], main["n"], main["clusters"]) == (pytest.approx(3 / 5), 5, 5)
    assert (main["no_answer_rate"], main["failure_rate"]) == (pytest.approx(1 / 5), pytest.approx(1 / 6))
    # Wilson for 3 of 5 is .2307 to .8824; the exact ends are farther out, where 3 right (2 wrong) or more of 5 have a
    # probability of .05: p^3 (10 - 15 p + 6 p^2) gives p = .1893, q^2 (10 - 20 q + 15 q^2 - 4 q^3) gives q = .0764.
    assert tuple(main[["low", "high"]]) == pytest.approx((0.1893, 0.9236), abs=1e-4)
    assert main["interval"] == "95 % Wilson, adjusted for clusters"
    # Read: 4 of the 5 replies, of which 3 right.
    assert main["value_answered"] == pytest.approx(3 / 4)
    assert (main["chance"], main["not_applicable"], main["degenerate"], main["shots"]) == (
        pytest.approx(1 / 3),
        0,
        False,
        0,
    )
    assert math.isnan(main["ceiling"])
    lenient = row(table(built, suite, answers, "published"))
    assert (lenient["value"], lenient["n"], lenient["no_answer_rate"]) == (
        pytest.approx(3 / 4),
        4,
        pytest.approx(1 / 5),
    )


def test_value_answered_counts_only_fully_read_units(tmp_path: Path) -> None:
    # Three groups of two: right and unread, both right, right and wrong. All right: 1 of 3 groups; of the two whose
    # replies were all read, 1 of 2.
    items = [replace(item, group_id=f"g{k // 2}") for k, item in enumerate(colours(6))]
    suite = suite_of(AXIS)
    grouped = replace(STRICT, units=all_right)
    suite = replace(suite, tasks={"task": replace(suite.tasks["task"], protocols={"strict": grouped})})
    built = build(tmp_path, items)
    item = row(table(built, suite, replied(built, ["red", "hm", "blue", "red", "green", "red"])))
    assert (item["n"], item["value"]) == (3, pytest.approx(1 / 3))
    assert item["value_answered"] == pytest.approx(1 / 2)
    none = row(table(built, suite, replied(built, ["hm"] * 6)))
    assert (none["value"], none["no_answer_rate"]) == (0, 1)
    assert math.isnan(none["value_answered"])


def test_a_declined_arm_is_one_row_without_a_value(tmp_path: Path) -> None:
    built = build(tmp_path, colours(3, requires=("colour",), factors={"level": "hard"}))
    suite = suite_of(AXIS, split_by=("level",))
    done = table(built, suite, [*replied(built, [DECLINE] * 3), *replied(built, ["red"] * 3, subject="own:y")])
    declined = done[done["subject"] == "own:x"]
    assert len(declined) == 1
    main = row(declined)
    assert (main["n"], main["clusters"], main["not_applicable"], main["interval"]) == (0, 0, 3, "")
    assert declined[["value", "low", "high", "chance", "no_answer_rate", "failure_rate"]].isna().all(axis=None)
    assert not main["degenerate"]
    assert len(done) == 1 + 3


def test_an_arm_that_was_never_asked_has_no_row(tmp_path: Path) -> None:
    built, suite = build(tmp_path, colours(3)), suite_of(AXIS)
    responses = replied(built, ["red"] * 3, subject="own:y", condition="shots=1")
    done = results(score(responses, built, suite), built, suite, [card(), card("own:y", "shots=1", 1)])
    assert done[["subject", "condition", "shots"]].to_numpy().tolist() == [["own:y", "shots=1", 1]]
    assert results(score([], built, suite), built, suite, [card()]).columns.to_list() == result_columns(suite)


def test_subgroups_by_requirement_and_by_factor(tmp_path: Path) -> None:
    needs: list[tuple[str, ...]] = [("colour",), ("colour", "shape"), ("shape",), (), (), ()]
    levels = ["easy", "hard", "hard", "easy", "", "easy"]
    items = [
        replace(item, requires=need, factors={"level": level} if level else {})
        for item, need, level in zip(colours(6), needs, levels, strict=True)
    ]
    built, suite = build(tmp_path, items), suite_of(AXIS, split_by=("level",))
    done = table(built, suite, replied(built, ["red", "green", "red", "red", "red", "red"]))  # right: 0, 1, 3
    cells = {(f, v): (n, k) for f, v, n, k in zip(done["factor"], done["level"], done["n"], done["value"], strict=True)}
    assert cells == {
        ("", ""): (6, pytest.approx(3 / 6)),
        ("level", "easy"): (3, pytest.approx(2 / 3)),
        ("level", "hard"): (2, pytest.approx(1 / 2)),
        ("requires", "colour"): (2, 1.0),
        ("requires", "not colour"): (4, pytest.approx(1 / 4)),
        ("requires", "shape"): (2, pytest.approx(1 / 2)),
        ("requires", "not shape"): (4, pytest.approx(1 / 2)),
    }


def test_a_requirement_of_all_items_has_no_complement(tmp_path: Path) -> None:
    built, suite = build(tmp_path, colours(3, requires=("colour",))), suite_of(AXIS)
    assert table(built, suite, replied(built, ["red"] * 3))["level"].to_list() == ["", "colour"]


@pytest.mark.parametrize(
    ("texts", "flagged"),
    [
        (["red"] * 12, True),  # one and the same answer throughout
        (["red"] * 11 + ["blue"], False),
        (["red"] * 10 + [None] * 2, True),
        (["red"] * 9 + [None] * 3, False),  # nine answers are too few
        (["red", "blue"] * 3 + ["who knows"] * 6, True),  # half are unreadable
        (["red", "blue"] * 3 + ["red"] + [None] * 5, False),
        ([FAIL] * 12, False),  # a failure is no reply
        ([FAIL] * 10 + [None, "red"], True),
    ],
)
def test_degenerate_is_a_flag_next_to_the_score(tmp_path: Path, texts: list[str | None], flagged: bool) -> None:
    built, suite = build(tmp_path, colours(12)), suite_of(AXIS)
    main = row(table(built, suite, replied(built, texts)))
    assert bool(main["degenerate"]) is flagged
    assert math.isnan(main["value"]) == (set(texts) == {FAIL})


def test_a_constant_answer_that_is_always_right_is_not_degenerate(tmp_path: Path) -> None:
    built, suite = build(tmp_path, [replace(item, answer="red") for item in colours(12)]), suite_of(AXIS)
    item = row(table(built, suite, replied(built, ["red"] * 12)))
    assert (item["value"], item["degenerate"]) == (1.0, False)


@pytest.mark.parametrize(
    ("replies", "truths", "flagged"),
    [
        (["Red"] * 12, ["red", "blue"] * 6, True),  # one text, whose key alternates
        (["Red"] * 11 + ["blue"], ["red", "blue"] * 6, False),
        (["red", "blue"] * 6, ["red", "blue", "blue", "red"] * 3, True),  # one key, whose text alternates
        (["Red"] * 12, ["red"] * 12, False),  # always right, and the key of the right answer alternates
    ],
)
def test_one_answer_by_its_key_or_by_its_text(
    tmp_path: Path, replies: list[str], truths: list[str], flagged: bool
) -> None:
    orders = [("red", "blue"), ("blue", "red")] * 6  # the texts of the keys c0 and c1
    items = [
        item(
            f"{k:02}", [], f"c{order.index(truth)}", "choice", options=(Option("c0", order[0]), Option("c1", order[1]))
        )
        for k, (order, truth) in enumerate(zip(orders, truths, strict=True))
    ]
    built, suite = build(tmp_path, items), suite_of(AXIS)
    assert bool(row(table(built, suite, replied(built, replies)))["degenerate"]) is flagged


def test_repeats_of_an_item_share_its_cluster(tmp_path: Path) -> None:
    built, suite = build(tmp_path, colours(3)), suite_of(AXIS)
    first, second = replied(built, ["red", "green", "red"]), replied(built, ["red", "red", "red"], repeat=1)
    main = row(table(built, suite, [*first, *second]))
    assert (main["value"], main["n"], main["clusters"]) == (pytest.approx(3 / 6), 6, 3)


def test_groups_are_scored_as_a_whole_within_a_repeat(tmp_path: Path) -> None:
    items = [item(f"{g}{t}", [], t, "true_false", group_id=g) for g in "ab" for t in ("true", "false")]
    protocols = {
        name: replace(protocol, units=all_right)
        for name, protocol in {"strict": STRICT, "published": PUBLISHED}.items()
    }
    built, suite = build(tmp_path, items), suite_of(AXIS, kind="true_false", protocols=protocols)
    # Repeat 0: a all right, b half right. Repeat 1: a has a failed call, b an unreadable reply.
    answers = [*replied(built, ["T", "F", "T", "T"]), *replied(built, ["T", FAIL, "T", "dunno"], repeat=1)]
    protocol = row(table(built, suite, answers))
    assert (protocol["value"], protocol["n"], protocol["clusters"], protocol["chance"]) == (
        pytest.approx(1 / 3),
        3,
        2,
        0.25,
    )
    lenient = row(table(built, suite, answers, "published"))
    assert (lenient["value"], lenient["n"]) == (pytest.approx(1 / 2), 2)


def test_chance_is_the_mean_over_the_items_scored(tmp_path: Path) -> None:
    two = (Option("red"), Option("green"))
    items = [replace(colours(1)[0], item_id=str(n), options=two if n else NAMED) for n in range(3)]
    built, suite = build(tmp_path, items), suite_of(AXIS)
    assert row(table(built, suite, replied(built, ["red", "red", FAIL])))["chance"] == pytest.approx(
        (1 / 3 + 1 / 2) / 2
    )


def test_a_ceiling_applies_to_its_task_metric_and_level(tmp_path: Path) -> None:
    built = build(tmp_path, colours(3, factors={"level": "hard"}))
    base = suite_of(AXIS, split_by=("level",))
    ceilings = [
        Ceiling(task="task", metric="accuracy", value=0.9, source="by hand"),
        Ceiling(task="task", metric="accuracy", value=0.7, source="by hand", factor="level", level="hard"),
        Ceiling(task="other", metric="accuracy", value=0.1, source="by hand"),
    ]
    suite = replace(base, card=base.card.model_copy(update={"ceilings": ceilings}))
    done = table(built, suite, replied(built, ["red"] * 3))
    assert done["ceiling"].to_list() == [0.9, 0.7]
    own = replace(built, card=built.card.model_copy(update={"source": "own"}))
    assert table(own, suite, replied(own, ["red"] * 3))["ceiling"].isna().all(), "the paper's people saw other images"


def test_errors_are_aggregated_as_their_metric_states(tmp_path: Path) -> None:
    items = [item(str(n), [], truth, "number") for n, truth in enumerate((10.0, 10.0, 2.0, 8.0))]

    def error(item: Item, answer: float) -> float:
        return mae_over_gt(item.answer, answer)

    metrics = tuple(
        Metric(name, error, worst=9.0, higher_is_better=False, summary=name, bounds=(0.0, 9.0))
        for name in ("mean", "median", "root mean square")
    )
    protocols = {"strict": replace(STRICT, metrics=metrics)}
    built, suite = build(tmp_path, items), suite_of(AXIS, kind="number", protocols=protocols)
    done = table(built, suite, replied(built, ["11", "7", "3", "none"]))  # errors 0.1, 0.3, 0.5, and the worst: 9
    assert [value(done, metric=metric.name) for metric in metrics] == pytest.approx(
        [(0.1 + 0.3 + 0.5 + 9) / 4, (0.3 + 0.5) / 2, math.sqrt((0.01 + 0.09 + 0.25 + 81) / 4)]
    )
    # Four clusters are too few for a bootstrap, but the worst error bounds mean and root mean square.
    by_spread = "95 % Gaffke, adjusted for clusters"
    assert list(done["interval"]) == [by_spread, "not estimable: a median of 4 units in 4 clusters", by_spread]
    ends = done[done["interval"] == by_spread]
    assert ((ends["low"] < ends["value"]) & (ends["value"] < ends["high"])).all()
    assert done["low"].isna().to_list() == [False, True, False]
    unbounded = replace(STRICT, metrics=tuple(replace(metric, bounds=None) for metric in metrics[:1]))
    alone = table(
        built, suite_of(AXIS, kind="number", protocols={"strict": unbounded}), replied(built, ["11", "7", FAIL, FAIL])
    )
    assert row(alone)["interval"] == "not estimable: 2 clusters"
    narrow = replace(STRICT, metrics=tuple(replace(metric, bounds=(0.0, 1.0)) for metric in metrics[:1]))
    with pytest.raises(ValueError, match=r"metric mean: values from 0.1 to 9, outside of 0 to 1"):
        table(
            built, suite_of(AXIS, kind="number", protocols={"strict": narrow}), replied(built, ["11", "7", "3", "none"])
        )
    again = table(built, suite, replied(built, ["11", "7", "3", "none"]))
    pd.testing.assert_frame_equal(done, again)
    assert math.isnan(summary(np.array([]), metrics[0]))


def test_an_interval_of_errors_without_a_largest_one_starts_at_0_or_above(tmp_path: Path) -> None:
    """Errors of twenty clusters, one of them 20: the bootstrap-t alone reaches below 0."""
    errors = [0.01] * 8 + [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 3.0, 4.0, 5.0, 6.0, 20.0]
    items = [item(f"{n}", [], 1.0, "number", cluster_id=f"c{n}") for n in range(20)]
    built, replies = build(tmp_path, items), [str(1.0 + error) for error in errors]
    done = {}
    for higher in (False, True):
        metric = Metric("apart", lambda item, answer: answer - item.answer, higher_is_better=higher, bounds=None)
        protocols = {"strict": replace(STRICT, metrics=(metric,))}
        suite = suite_of(AXIS, kind="number", protocols=protocols)
        done[higher] = row(table(built, suite, replied(built, replies)))
    assert done[True]["low"] < 0, "a score without bounds may be negative"
    assert done[False]["low"] == 0
    assert done[False]["high"] == done[True]["high"]
    assert done[False]["interval"] == BOOTSTRAP_T


@pytest.mark.skipif(int(pd.__version__.partition(".")[0]) < 3, reason="strings are objects already")
def test_strings_as_objects_are_equal_and_interned() -> None:
    rows = pd.DataFrame({"name": pd.Series(["b", None, "a", "b"], dtype="str"), "n": [1, 2, 3, 4]}, index=[4, 3, 2, 1])
    python = with_python_strings(rows)
    pd.testing.assert_frame_equal(
        python, rows.astype({"name": object}).set_axis(pd.Index(["name", "n"], dtype=object), axis=1)
    )
    assert python["name"].dtype == object
    assert python["name"].iloc[0] is python["name"].iloc[3]


def test_a_level_has_the_scores_of_its_own_items(tmp_path: Path) -> None:
    levels = ("hard", "easy", "hard")
    items = [replace(of_one, factors={"level": level}) for of_one, level in zip(colours(3), levels, strict=True)]
    built, suite = build(tmp_path, items), suite_of(AXIS, split_by=("level",))
    scores = score(replied(built, ["red", "green", "blue"]), built, suite, "strict")
    of_metric = scores[scores["metric"] == "accuracy"].reset_index(drop=True)
    parts = {(factor, level): list(part["item_id"]) for factor, level, part in
             parts_of(of_metric, built.by_id, suite.tasks["task"])}  # fmt: skip
    assert parts == {("", ""): ["00", "01", "02"], ("level", "easy"): ["01"], ("level", "hard"): ["00", "02"]}


def test_an_estimate_of_two_draws_is_worked_out_by_hand() -> None:
    nan, middle = math.nan, Measurement(4.0, 2.0, 6.0, "credible", MEASURED, "4 px")
    high = Measurement(8.0, 5.0, 9.0, "credible", MEASURED, "8 px")
    least, most = (Measurement(end, nan, nan, "", reason, "") for end, reason in ((0.5, BELOW), (32.0, ABOVE)))
    unread = Measurement(nan, nan, nan, "", NOT_UNDERSTOOD, "1 of 4")

    def joint(*estimates: Measurement) -> tuple[Any, ...]:
        whole = over_draws(estimates)
        return whole.reason, *(None if math.isnan(end) else end for end in (whole.value, whole.low, whole.high))

    assert joint(middle, high) == (MEASURED, 6.0, 2.0, 9.0)
    assert over_draws([middle, high]).note == (
        "repeat 1, after its draw of training items, 4 px; repeat 2, after its draw of training items, 8 px"
    )
    assert joint(middle, least) == (BELOW, 6.0, None, None)
    assert joint(high, most) == (ABOVE, 5.0, None, None)
    assert joint(high, unread) == joint(unread, high) == (NOT_UNDERSTOOD, None, None, None)
    assert joint(least, most) == ("no baseline", None, None, None)
    assert over_draws([middle]) is middle
    assert over_draws([most, most]) == most
