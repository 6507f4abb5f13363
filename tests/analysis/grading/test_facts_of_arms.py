"""What a row of results takes from its arm, its set and its floors, on tables of a few items."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from snellen.analysis.grading.answer_forms import box_units
from snellen.analysis.grading.floors import Floors
from snellen.analysis.grading.grades import UnitFloor, grade_of
from snellen.analysis.grading.results import SEQUENTIAL, results
from snellen.analysis.grading.rows import Grade
from snellen.analysis.units import groups_by_cluster
from snellen.core.condition import Axis
from snellen.core.item import Item, Option
from snellen.core.response import Response
from snellen.core.score import MEASURED, Measurement, Metric
from snellen.core.storage.itemset import ItemSet, write_itemset
from snellen.core.storage.itemset_cards import BlindCard, BlindScore
from snellen.core.storage.runfolder import ArmCard
from snellen.core.suite import Suite
from snellen.runs.scores.score import score
from snellen.scoring.protocols import ACCURACY, all_right
from tests.helpers.journey import NAMED, STRICT, item, row, suite_of, task

AXIS = Axis("shots", (0, 1))
FAIL, DECLINE = "<failed>", "<declined>"
NAMES = ("red", "green", "blue")


def colours(root: Path, n: int, **fields: Any) -> ItemSet:
    """Items whose right answers are red, green, blue in turn."""
    items = [item(f"{k:02}", [], NAMES[k % 3], "choice", options=NAMED, **fields) for k in range(n)]
    return write_itemset(root, items, source="generated", recipe={})


def replied(built: ItemSet, texts: Sequence[str], repeat: int = 0, fingerprint: str = "f" * 12) -> list[Response]:
    """One response per item; those with FAIL or DECLINE have no text, those that end with … were cut off."""
    responses = []
    for of_one, text in zip(built.items, texts, strict=True):
        status: Any = {FAIL: "failed", DECLINE: "declined"}.get(text, "ok")
        name, reply = f"{repeat}/{of_one.item_id}", text if status == "ok" else None
        responses.append(
            Response(
                name, "own:x", fingerprint, of_one.item_id, of_one.task, "vanilla", repeat, status, reply, "",
                of_one.view().reply, (name,), text.endswith("…"),
            )
        )  # fmt: skip
    return responses


def arm(**fields: Any) -> ArmCard:
    facts: dict[str, Any] = {
        "subject": "own:x", "fingerprint": "f" * 12, "settings": {}, "attributes": {}, "condition": "vanilla",
        "columns": {"shots": 0}, "repeat": 0,
    }  # fmt: skip
    return ArmCard(**{**facts, **fields})


def tabulated(
    built: ItemSet, suite: Suite, responses: Sequence[Response], card: ArmCard | None = None, floors: Any = None
) -> pd.DataFrame:
    scores = score(responses, built, suite, "strict")
    return results(scores, built, suite, [card or arm()], floors=cast(Floors | None, floors))


def test_a_subject_has_one_role_and_source_under_every_condition(tmp_path: Path) -> None:
    built, suite = colours(tmp_path, 3), suite_of(AXIS)
    for condition in ("vanilla", "shots=1"):
        card = arm(condition=condition, role="encoder", source="recorded")
        done = row(tabulated(built, suite, replied(built, NAMES), card))
        assert (done["role"], done["source"], done["condition"]) == ("encoder", "recorded", "vanilla")


def test_replies_are_counted_by_their_outcome(tmp_path: Path) -> None:
    """Of 8 items 1 is declined, 1 failed; of 6 replies 2 were cut off and 1 has no answer, 2 are right and 1 wrong."""
    built, suite = colours(tmp_path, 8), suite_of(AXIS)
    texts = ["red", "green", "red", "hm …", "hm …", "hm", FAIL, DECLINE]
    done = row(tabulated(built, suite, replied(built, texts)))
    shares = [done[name] for name in ("no_answer_rate", "cut_off_rate", "failure_rate", "value", "value_answered")]
    assert shares == pytest.approx([1 / 6, 2 / 6, 1 / 7, 2 / 6, 2 / 3])
    assert (done["items"], done["not_applicable"], done["n"]) == (8, 1, 6)
    assert (done["state"], done["note"]) == ("failed", "6 of 8")
    assert done["degenerate"], "half of the replies have no answer"


def test_each_part_of_a_task_has_its_own_blind_baseline(tmp_path: Path) -> None:
    """Items needed are those against the better of chance (1/3) and blind."""
    built, suite = colours(tmp_path, 6, factors={"level": "hard"}), suite_of(AXIS, split_by=("level",))
    facts: Any = {"protocol": "strict", "metric": "accuracy", "chance": None, "n": 99, "attack": "by hand"}
    scores = [
        BlindScore(task=task, value=blind, factor=factor, level=level, **facts)
        for task, factor, level, blind in (
            ("task", "level", "hard", 0.7),
            ("task", "", "", 0.2),
            ("other", "", "", 0.9),
        )
    ]
    measured = replace(built, blind=BlindCard(method="by hand", scores=tuple(scores)))
    done = tabulated(measured, suite, replied(built, ["red", "green", "blue", "red", "red", "red"]))
    assert done["blind"].to_list() == [0.2, 0.7]
    for _, part in done.iterrows():
        gap = part["value"] - max(1 / 3, part["blind"])
        assert part["value"] == pytest.approx(4 / 6)
        assert part["items_needed"] == math.ceil(6 * (part["minimum_detectable_effect"] / gap) ** 2)
        # (1.960 + 0.842) standard errors; the interval is 2 x 1.960 of them.
        ratio = part["minimum_detectable_effect"] / (part["high"] - part["low"])
        assert ratio == pytest.approx((1.959964 + 0.841621) / (2 * 1.959964), rel=1e-6)


@dataclass
class KnownFloors:
    """Floors that are asked by results: each call is kept, and every floor is right on all units."""

    calls: list[tuple[bool, list[str]]] = field(default_factory=list)

    def greatest(self, row: Any, protocol: Any, metric: Metric, is_fitted: bool, units: list[str]) -> list[UnitFloor]:
        self.calls.append((is_fitted, units))
        return [UnitFloor("drawn boxes", "boxes only", np.full(len(units), 0.9), 0.9, 0.9)]

    def thumbnail(self, task: str, protocol: Any, metric: Metric) -> float:
        return 0.8


@pytest.mark.parametrize(
    ("fields", "fingerprint", "is_fitted"),
    [
        ({}, "f" * 12, False),
        ({"fitted": True}, "f" * 12, True),
        ({}, "0" * 12, True),  # that of the subject with examples
        ({"fitted": True, "role": "person"}, "f" * 12, False),
    ],
)
def test_floors_are_those_of_the_scored_units(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], fingerprint: str, is_fitted: bool
) -> None:
    built, suite, floors, used = colours(tmp_path, 4), suite_of(AXIS), KnownFloors(), list[UnitFloor]()

    def grade_given(*given: Any) -> Grade:
        used.extend(given[3])
        return grade_of(*given)

    monkeypatch.setattr("snellen.analysis.grading.results.grade_of", grade_given)
    responses = replied(built, ["red", FAIL, "red", "red"], fingerprint=fingerprint)
    done = row(tabulated(built, suite, responses, arm(**fields), floors))
    assert floors.calls == [(is_fitted, ["00", "02", "03"])], "one item has no score"
    assert (done["floor"], done["floor_name"]) == (0.9, "drawn boxes")
    assert [len(floor.values) for floor in used] == [1 if "role" in fields else 3], "of people it is one number"
    assert ("a thumbnail gives 80 %" in done["note"]) is not is_fitted, "a remark where it is no floor"


def test_floors_of_groups_are_asked_by_the_names_of_groups(tmp_path: Path) -> None:
    items = [item(f"{g}{t}", [], t, "true_false", group_id=g) for g in "ab" for t in ("true", "false")]
    built = write_itemset(tmp_path, items, source="generated", recipe={})
    suite, floors = suite_of(AXIS, protocols={"strict": replace(STRICT, units=all_right)}), KnownFloors()
    tabulated(built, suite, replied(built, ["T", "F", "T", FAIL]), floors=floors)
    assert floors.calls == [(False, ["a"])]


def estimate(items: Sequence[Item], values: Sequence[float]) -> Measurement:
    """The share right; its note names the items."""
    share = sum(values) / max(len(values), 1)
    return Measurement(share, share - 0.1, share + 0.1, "credible", MEASURED, " ".join(item.item_id for item in items))


THRESHOLD = Metric("threshold", ACCURACY.score, chance=lambda of_one: 0.5, estimate=estimate, share=False)
ESTIMATED = {"strict": replace(STRICT, metrics=(THRESHOLD, ACCURACY))}


def test_a_threshold_is_estimated_from_all_answers_and_after_each_draw_of_examples(tmp_path: Path) -> None:
    built, suite = colours(tmp_path, 2), suite_of(AXIS, protocols=ESTIMATED)
    responses = [*replied(built, ["red", "red"]), *replied(built, ["red", "green"], repeat=1)]
    facts: Any = {"task": "task", "protocol": "strict", "metric": "threshold", "chance": None, "n": 9, "attack": "none"}
    measured = replace(built, blind=BlindCard(method="by hand", scores=(BlindScore(value=0.1, **facts),)))
    alone = row(tabulated(measured, suite, responses), metric="threshold")
    assert (alone["value"], alone["low"], alone["high"]) == pytest.approx((0.75, 0.65, 0.85))
    assert (alone["interval"], alone["note"]) == ("credible", "00 01 00 01")
    assert (alone["state"], alone["reason"], alone["decided_by"]) == ("threshold", MEASURED, "all answers")
    fitted = row(tabulated(built, suite, responses, arm(fitted=True)), metric="threshold")
    assert (fitted["value"], fitted["low"], fitted["high"]) == pytest.approx((0.75, 0.4, 1.1))
    assert fitted["interval"] == "credible"
    assert fitted["note"] == (
        "repeat 1, after its draw of training items, 00 01; repeat 2, after its draw of training items, 00 01"
    )
    unknown = ["value_answered", "minimum_detectable_effect", "items_needed", "blind"]
    assert alone[unknown].isna().all(), "they follow from a mean, or are of one"


def test_other_scores_beside_a_threshold_have_no_grade(tmp_path: Path) -> None:
    built, suite = colours(tmp_path, 2), suite_of(AXIS, protocols=ESTIMATED)
    shares = row(tabulated(built, suite, replied(built, ["red", "red"])), metric="accuracy")
    assert (shares["grade"], shares["state"], shares["reason"]) == ("", "open", "no baseline")
    assert shares["note"] == "depends on the levels that were asked"


@pytest.mark.parametrize(
    ("texts", "state", "reason"),
    [
        ([DECLINE] * 4, "declined", "all"),
        ([FAIL] * 4, "failed", "all"),
        (["red", "green", "blue", FAIL], "failed", "in part"),
        (["red", "green", "blue", "hm"], "threshold", MEASURED),
    ],
)
def test_a_threshold_of_a_chosen_part_of_the_items_is_none(
    tmp_path: Path, texts: list[str], state: str, reason: str
) -> None:
    built, suite = colours(tmp_path, 4), suite_of(AXIS, protocols=ESTIMATED)
    done = row(tabulated(built, suite, replied(built, texts)), metric="threshold")
    assert (done["state"], done["reason"]) == (state, reason)


def forms(*rows: tuple[str, str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["form", "outcome"])


def test_the_units_of_an_arms_boxes() -> None:
    """Rows of other metrics have no form, and boxes that were read are as asked."""
    unread = forms(*[("thousandths", "no_answer")] * 9, ("as asked", "answered"), ("", "answered"))
    assert box_units(unread, "") == ("thousandths", "")
    assert box_units(unread, "1024ths-y-first") == ("1024ths-y-first", "")
    assert box_units(forms(*[("pixels", "answered")] * 3, ("percent", "answered")), "") == (
        "", "boxes read in percent, pixels",
    )  # fmt: skip
    assert box_units(unread.drop(columns="form"), "") == box_units(forms(("", "answered")), "") == ("", "")


def test_a_note_tells_in_which_unit_boxes_were_read(tmp_path: Path) -> None:
    built, suite = colours(tmp_path, 4), suite_of(AXIS)
    scores = score(replied(built, ["red", "green", "blue", DECLINE]), built, suite, "strict")
    done = row(results(scores.assign(form="pixels"), built, suite, [arm()]))
    assert done["note"] == "3 of 4; boxes read in pixels"
    unread = scores.assign(form="thousandths", outcome="no_answer", value=0.0)
    card = arm(attributes={"box_unit": "1024ths"})
    assert row(results(unread, built, suite, [card]))["boxes_in"] == "1024ths", "the family's own"


def test_answers_without_words_are_compared_by_their_keys(tmp_path: Path) -> None:
    """Ten answers of two options without texts: the same key throughout is one answer, and two keys are two."""
    options = (Option("a"), Option("b"))
    items = [item(f"{k:02}", [], "ab"[k % 2], "choice", options=options) for k in range(10)]
    built, suite = write_itemset(tmp_path, items, source="generated", recipe={}), suite_of(AXIS)
    for texts, is_same in ((["a"] * 10, True), (["a", "b"] * 5, False)):
        assert bool(row(tabulated(built, suite, replied(built, texts)))["degenerate"]) is is_same


def test_option_texts_of_another_case_are_one_answer(tmp_path: Path) -> None:
    orders = [("Red", "blue"), ("blue", " red")] * 6
    items = [
        item(f"{k:02}", [], "ab"[k % 3 % 2], "choice", options=(Option("a", order[0]), Option("b", order[1])))
        for k, order in enumerate(orders)
    ]
    built = write_itemset(tmp_path, items, source="generated", recipe={})
    done = row(tabulated(built, suite_of(AXIS), replied(built, ["Red"] * 12)))
    assert (done["no_answer_rate"], done["degenerate"]) == (0, True), "the key alternates"


def test_replies_that_were_cut_off_alone_are_left_out_of_the_score_of_read_ones(tmp_path: Path) -> None:
    built, suite = colours(tmp_path, 3), suite_of(AXIS)
    for unread in ("hm …", "hm"):
        done = row(tabulated(built, suite, replied(built, ["red", "green", unread])))
        assert (done["value"], done["value_answered"]) == (pytest.approx(2 / 3), 1.0)


@pytest.mark.parametrize(("repeats", "state"), [(1, "failed"), (2, "open")])
def test_a_group_with_a_failed_item_is_left_out_of_its_repeat(tmp_path: Path, repeats: int, state: str) -> None:
    """One of five groups is a fifth, though one of ten items is a tenth; of two repeats it is one of ten groups."""
    items = [item(f"{g}{t}", [], t, "true_false", group_id=g) for g in "abcde" for t in ("true", "false")]
    built = write_itemset(tmp_path, items, source="generated", recipe={})
    suite = suite_of(AXIS, protocols={"strict": replace(STRICT, units=all_right)})
    texts = [["T", "T"] * 4 + ["T", FAIL], ["T", "T"] * 5]
    responses = [reply for n in range(repeats) for reply in replied(built, texts[n], repeat=n)]
    assert row(tabulated(built, suite, responses))["state"] == state


def test_replies_that_wait_for_a_judge_have_a_state_of_their_own(tmp_path: Path) -> None:
    judged = replace(STRICT, judge=lambda of_one, response: of_one)
    built, suite = colours(tmp_path, 3), suite_of(AXIS, protocols={"strict": judged})
    scores = score(replied(built, NAMES), built, suite, "strict")
    waiting = row(results(scores, built, suite, [arm()]))
    assert (waiting["state"], waiting["reason"], waiting["decided_by"]) == (
        "not asked", "unjudged", "items without a score",
    )  # fmt: skip
    named = row(results(scores.assign(judge="someone"), built, suite, [arm()]))
    assert named["reason"] != "unjudged"
    known = row(results(scores.assign(outcome="answered", value=1.0), built, suite, [arm()]))
    assert known["reason"] != "unjudged"
    declined = row(tabulated(built, suite, replied(built, [DECLINE] * 3)))
    assert (declined["state"], declined["reason"]) == ("declined", "all")


def test_each_task_that_is_asked_until_decided_has_an_order_of_its_own(tmp_path: Path) -> None:
    items = [item(f"{name}{k}", [], "red", "choice", options=NAMED, task=name) for name in "ab" for k in range(3)]
    built = write_itemset(tmp_path, items, source="generated", recipe={})
    suite = suite_of(AXIS, tasks=[task(id=name, axes=("shots",)) for name in "ab"])
    done = tabulated(built, suite, replied(built, ["red"] * 6)[::-1], arm(decide="none", max_items=3))
    assert done["interval"].to_list() == [SEQUENTIAL] * 2
    assert done["low"].nunique() == 1, "three right answers of three clusters each"
    assert done["task"].to_list() == ["b", "a"], "rows are in the order of scores"


def test_a_task_that_is_declined_in_part_has_rows_of_its_levels(tmp_path: Path) -> None:
    built, suite = colours(tmp_path, 3, factors={"level": "hard"}), suite_of(AXIS, split_by=("level",))
    assert len(tabulated(built, suite, replied(built, ["red", "green", DECLINE]))) == 2
    assert len(tabulated(built, suite, replied(built, [DECLINE] * 3))) == 1


def test_groups_of_a_cluster_keep_their_items_in_order() -> None:
    places = {"1": ("g", "c"), "2": ("h", "d"), "3": ("k", "c"), "4": ("g", "c")}
    items = [item(name, [], "red", "choice", group_id=g, cluster_id=c) for name, (g, c) in places.items()]
    groups = groups_by_cluster(items)
    names = {cluster: [[of_one.item_id for of_one in group] for group in each] for cluster, each in groups.items()}
    assert names == {"c": [["1", "4"], ["3"]], "d": [["2"]]}
