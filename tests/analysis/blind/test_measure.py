"""Blind scores by hand: pairs answered oppositely, what is named as too blind, and which items attackers learn from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from snellen.analysis.blind import measure
from snellen.analysis.blind.attacks import (
    MIN_ALIKE,
    Attack,
    Attacker,
    applied,
    best_answer,
    best_answer_by_question,
    best_position,
    labels,
    odd_one,
    portable,
)
from snellen.analysis.blind.measure import (
    CONSTANTS,
    MIN_PART,
    MIN_TRAIN,
    OPPOSITE,
    PartReplies,
    measure_blind,
    measure_by_folds,
    opposite_answers,
    score_frame,
    too_blind,
)
from snellen.core.item import Item, Media, Option, Split
from snellen.core.score import Metric
from snellen.core.storage.itemset_cards import BlindScore
from snellen.scoring.protocols import ACCURACY, all_right
from tests.helpers.journey import STRICT, item, suite_of

IMAGE = Media("0" * 64, "image", "png", 200, 100)
PAIRED = replace(STRICT, units=all_right)


def statements(*groups: str, split: Split = "test") -> list[Item]:
    """A group per word: an item per letter, T for true statements and F for false ones."""
    return [
        item(f"{split}-{n}-{k}", [IMAGE], {"T": "true", "F": "false"}[key], "true_false", group_id=f"{split}-{n}",
             split=split)
        for n, group in enumerate(groups)
        for k, key in enumerate(group)
    ]  # fmt: skip


def choice(n: int, answer: int, split: Split = "test", count: int = 3, **fields: Any) -> Item:
    """An item whose right option is at this place among `count`."""
    options = tuple(Option(f"o{k}", f"text {k}") for k in range(count))
    return item(f"{split}-{n}", [IMAGE], f"o{answer}", "choice", options=options, split=split, **fields)


@pytest.mark.parametrize(
    ("groups", "share"),
    [
        (("TF", "FT", "TT", "TT", "FF"), 0.6),  # half of the two whose keys differ, and both pairs of true ones
        (("TF", "FT", "TF"), 0.5),
        (("TT", "FF", "FF"), 2 / 3),
        (("TF", "TFT"), math.nan),  # no pair
        ((), math.nan),
    ],
)
def test_a_rule_that_answers_the_statements_of_a_pair_oppositely(groups: tuple[str, ...], share: float) -> None:
    items = statements(*groups)
    frame = score_frame(items, {of_one.item_id: "true" for of_one in items}, PAIRED)
    assert opposite_answers(frame, PAIRED) == pytest.approx(share, nan_ok=True)
    assert math.isnan(opposite_answers(frame, STRICT)), "items are scored one by one"


def test_pairs_of_options_are_no_pairs_of_statements() -> None:
    items = [replace(choice(n, 0), group_id=str(n // 2)) for n in range(4)]
    assert math.isnan(opposite_answers(score_frame(items, {of_one.item_id: "o0" for of_one in items}, PAIRED), PAIRED))


def test_opposite_answers_replace_a_lower_blind_score_alone() -> None:
    """Whoever calls every statement true gets no pair of a true and a false one, and every pair of true ones."""
    suite = suite_of(protocols={"strict": PAIRED})
    for groups, value, attack in ((["TF"] * 4, 0.5, OPPOSITE), (["TT"] * 4, 1.0, "best answer")):
        (row,) = measure_blind(statements(*groups, split="train"), statements(*groups), suite, CONSTANTS[:1])
        assert (row.value, row.attack, row.chance, row.n) == (value, attack, 0.25, 4)
    measured = Metric("threshold", lambda of_one, answer: 0.0, estimate=lambda *_: pytest.fail("it has no blind score"))
    error = replace(PAIRED, metrics=(Metric("error", lambda of_one, answer: 0.0, higher_is_better=False), measured))
    of_errors = suite_of(protocols={"strict": error})
    (row,) = measure_blind(statements(*["TF"] * 4, split="train"), statements(*["TF"] * 4), of_errors, CONSTANTS[:1])
    assert (row.value, row.attack) == (0.0, "best answer"), "an error of 0 is better"
    single = suite_of(protocols={"strict": replace(error, units=STRICT.units)})
    (row,) = measure_blind(statements("T", split="train"), statements("T"), single, CONSTANTS[:1])
    assert row.chance is None


def test_scores_of_main_metrics_above_the_tolerance_are_named() -> None:
    """On the way from .25 to 1, .05 are .0375."""
    suite = suite_of()
    facts: Any = {"task": "task", "protocol": "strict", "metric": "accuracy", "n": 100, "attack": "by hand"}
    named = BlindScore(value=0.29, chance=0.25, **facts)
    others: list[dict[str, Any]] = [
        {"value": 0.287}, {"chance": None}, {"chance": 1.0, "value": 1.0}, {"protocol": "published"},
        {"metric": "pairs"}, {"factor": "level", "level": "hard"},
    ]  # fmt: skip
    assert too_blind([named, *(named.model_copy(update=other) for other in others)], suite) == [named]


def test_answers_of_folds_are_named_after_the_attack_chosen_most_often() -> None:
    parts = [PartReplies(name, {str(n): name}) for n, name in enumerate("abb")]
    assert measure._merged(parts) == PartReplies("b", {"0": "a", "1": "b", "2": "b"})


@pytest.mark.parametrize(("count", "value"), [(MIN_TRAIN - 1, 1.0), (MIN_TRAIN, 0.0)])
def test_enough_training_items_are_learnt_from_alone(count: int, value: float) -> None:
    """Their right option is the second, that of test items the first."""
    items = [*(choice(n, 1, "train") for n in range(count)), *(choice(n, 0) for n in range(12))]
    rows = [row for row in measure_by_folds(items, suite_of(), CONSTANTS[1:]) if row.protocol == "strict"]
    assert [(row.value, row.n) for row in rows] == [(value, 12)]


def test_no_attacker_has_learnt_from_the_fold_that_it_answers() -> None:
    def remember(items: Sequence[Item], metric: Metric) -> Attacker:
        answers = {item.item_id: item.answer for item in items}
        return lambda asked_items: [answers.get(item.item_id, "o2") for item in asked_items]

    items = [choice(n, n % 2) for n in range(12)]
    rows = measure_by_folds(items, suite_of(), [Attack("memory", remember)])
    assert [(row.value, row.n) for row in rows if row.protocol == "strict"] == [(0.0, 12)]


@pytest.mark.parametrize(("count", "value"), [(MIN_PART - 1, 0.0), (MIN_PART, 1.0)])
def test_a_level_with_enough_items_has_an_answer_of_its_own(count: int, value: float) -> None:
    train = [choice(n, int(n >= count), "train", factors={"level": f"{n < count}"}) for n in range(80)]
    test = [choice(n, 0, factors={"level": "True"}) for n in range(3)]
    rows = measure_blind(train, test, suite_of(split_by=("level",)), CONSTANTS[:1])
    assert [row.value for row in rows if (row.protocol, row.level) == ("strict", "True")] == [value]


def test_tasks_that_a_judge_scores_or_vanilla_does_not_ask_have_no_blind_score() -> None:
    items = [choice(n, 0) for n in range(12)]
    judged = {"strict": replace(STRICT, judge=lambda of_one, response: of_one)}
    for suite in (suite_of(protocols=judged), suite_of(asks=lambda of_one, condition: False)):
        assert measure_by_folds(items, suite, CONSTANTS) == []
    some = suite_of(asks=lambda of_one, condition: of_one.item_id != "test-0")
    assert {row.n for row in measure_by_folds(items, some, CONSTANTS)} == {11}


def test_truths_carry_over_to_other_items() -> None:
    """(10, 5) in 40 x 10 pixels is (1/4, 1/2); in 80 x 40 that is (20, 20)."""
    flat, large = Media("1" * 64, "image", "png", 40, 10), Media("2" * 64, "image", "png", 80, 40)
    point = item("p", [flat], (10.0, 5.0), "point")
    assert portable(point) == (0.25, 0.5)
    assert applied(portable(point), replace(point, query=(large,))) == (20.0, 20.0)
    assert portable(item("t", [flat], ("first", "second"), "text")) == "first"
    several = item("s", [flat], ["a", "b"], "choices", options=(Option("a"), Option("b"), Option("c")))
    assert portable(several) == ("a", "b")
    assert applied(("a", "b"), several) == ("a", "b")
    assert applied(("a", "z"), several) is None
    assert labels(choice(0, 0)) == {"o0": "text 0", "o1": "text 1", "o2": "text 2"}
    pictured = item("i", [flat], "a", "choice", options=(Option("a"), Option("b")))
    assert labels(pictured) == {"a": "image 1", "b": "image 2"}


def test_the_best_place_is_that_among_as_many_options() -> None:
    train = [*(choice(n, 2) for n in range(5)), *(choice(n, 1, count=2) for n in range(9))]
    unseen = choice(0, 0, count=4)
    assert best_position(train, ACCURACY)([choice(0, 0), choice(0, 0, count=2), unseen]) == ["o2", "o1", "o0"]


@pytest.mark.parametrize(("alike", "answer"), [(MIN_ALIKE - 1, "o1"), (MIN_ALIKE, "o0")])
def test_a_question_with_enough_items_has_an_answer_of_its_own(alike: int, answer: str) -> None:
    train = [choice(n, 0, question="rare") for n in range(alike)] + [choice(n, 1, question="usual") for n in range(30)]
    attacker = best_answer_by_question(train, ACCURACY)
    assert attacker([choice(0, 0, question="rare")]) == [answer]
    other_options = replace(choice(0, 0, question="rare"), options=choice(0, 0, count=2).options)
    assert attacker([other_options]) == ["o1"], "another question, for its options differ"


def test_an_item_without_a_known_option_gets_its_first() -> None:
    odd = item("odd", [IMAGE], "y", "choice", options=(Option("y", "why"), Option("z", "zed")))
    assert best_answer([choice(0, 1)], ACCURACY)([odd]) == ["y"]


def test_the_option_most_like_the_others_is_found_too() -> None:
    """The first option shares a word with each of the others."""
    texts = {"a": "red big cup", "b": "red pen", "c": "big hat", "d": "tin cup"}
    options = tuple(Option(*pair) for pair in texts.items())
    items = [item(f"{n}", [IMAGE], "a", "choice", options=options) for n in range(4)]
    assert odd_one(items, ACCURACY)(items) == ["a"] * 4
    assert odd_one([replace(of_one, answer="b") for of_one in items], ACCURACY)(items) != ["a"] * 4
