"""Deficits at their limits: how many items, which tasks, what weights, whose clusters, which places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from snellen.analysis.comparison.deficits import (
    MAX_NAMED,
    Property,
    ScoredAnswer,
    Trials,
    _free_positions,
    _preference,
    answers_by_arm,
    find_deficits,
)
from snellen.core.item import Item, Option
from tests.analysis.comparison.test_deficits import item
from tests.helpers.guard import run_of
from tests.reports.exam import write_items

COLOUR, SHAPE = (Property("requires", name) for name in ("colour", "shape"))


def answer(number: int, right: bool = True, needs: str = "", task: str = "s/t", **cells: Any) -> ScoredAnswer:
    question = item(number, requires=tuple(needs.split()), answer="x", answer_kind="text", **cells)
    return ScoredAnswer(question, task, (), right, 0.0)


@pytest.mark.parametrize(("decided", "others", "is_tried"), [(4, 4, True), (3, 5, False), (5, 3, False)])
def test_a_property_needs_four_items_on_either_side(decided: int, others: int, is_tried: bool) -> None:
    trials = Trials([answer(n, needs="colour" if n < decided else "") for n in range(decided + others)])
    assert (trials.sides(COLOUR, np.ones(decided + others, np.bool_)) is not None) is is_tried


def test_other_items_are_those_of_the_same_tasks_and_weigh_as_much_as_those_decided() -> None:
    """Task a: 6 decided and 2 others, of weight 3 each; task b: 2 and 4, of weight 1/2; c has none decided.

    Elsewhere half of a and all of b are right: (3 + 4 / 2) / 8 = 5/8, not 5 of 6.
    """
    numbers = {"s/a": (6, 2), "s/b": (2, 4), "s/c": (0, 9)}
    plan = [(task, n < count) for task, (count, others) in numbers.items() for n in range(count + others)]
    answers = [
        answer(n, task != "s/a" or decided or n == 6, "colour" if decided else "", task)
        for n, (task, decided) in enumerate(plan)
    ]
    trials = Trials(answers)
    sides = trials.sides(COLOUR, np.ones(len(answers), np.bool_))
    assert sides is not None
    assert trials.weights(*sides).tolist() == [3.0, 3.0, 0.5, 0.5, 0.5, 0.5]
    affected, elsewhere = trials.shares(COLOUR, *sides, 0.95)
    assert (affected.right, affected.n, elsewhere.right, elsewhere.n) == (1.0, 8, 5 / 8, 6)


def test_clusters_of_one_name_in_two_suites_are_two() -> None:
    same = [answer(n, task=task, cluster_id="object-1") for n, task in enumerate(("s/a", "s/b", "other/a"))]
    assert len(set(Trials(same).clusters)) == 2


def test_three_deficits_are_named_at_most_and_each_is_of_what_is_left() -> None:
    """Five kinds of items of which one is known; a fourth dimension is unknown, too, but not named."""
    names = ("colour", "shape", "size", "place", "")
    findings = find_deficits([answer(n, not names[n % 5], names[n % 5]) for n in range(300)])
    assert len(findings.deficits) == MAX_NAMED == 3
    assert [deficit.affected.n for deficit in findings.deficits] == [60] * 3
    assert [deficit.elsewhere.n for deficit in findings.deficits] == [240, 180, 120]
    assert {deficit.affected.right for deficit in findings.deficits} == {0.0}


@pytest.mark.parametrize(("right", "levels", "count"), [(23, 1, 1), (24, 1, 0), (22, 7, 1), (23, 7, 0)])
def test_levels_of_a_factor_share_its_part_of_the_error(right: int, levels: int, count: int) -> None:
    """The same shares, of 40 items at one level and 80 % of 400 at others, whose number alone differs."""
    sizes = ["big"] * 40 + [f"level {n % levels}" for n in range(400)]
    of_item = [n < right if n < 40 else n % 5 > 0 for n in range(440)]
    answers = [answer(n, of_item[n], factors={"size": size}) for n, size in enumerate(sizes)]
    deficits = find_deficits([replace(each, split_by=("size",)) for each in answers]).deficits
    assert [deficit.properties for deficit in deficits] == [(Property("factor", "size", "big"),)] * count


def test_no_deficit_is_told_of_a_subject_that_is_below_the_floor_elsewhere_too() -> None:
    right = [n % 2 == 1 and n % 20 < 10 for n in range(400)]
    answers = [answer(n, is_right, "colour" if n % 2 == 0 else "") for n, is_right in enumerate(right)]
    assert find_deficits(answers).deficits
    assert not find_deficits([replace(each, floor=0.6) for each in answers]).deficits


def test_dimensions_that_the_same_items_need_are_named_together_and_others_apart() -> None:
    findings = find_deficits([answer(n, n % 2 == 1, "colour shape" if n % 2 == 0 else "size") for n in range(80)])
    assert findings.deficits[0].properties == (COLOUR, SHAPE)
    assert findings.dimensions == ("size",)
    assert not find_deficits([answer(n, True, "size") for n in range(80)]).dimensions


# Places of options


def _choice(number: int, words: Sequence[str], right: int = 0, position: int = -1, task: str = "s/t") -> ScoredAnswer:
    options = tuple(Option(f"o{n}", word) for n, word in enumerate(words))
    question: Item = item(number, options=options, answer=f"o{right}", answer_kind="choice")
    return ScoredAnswer(question, task, (), position == right, 0.25, position)


def test_places_are_free_where_more_than_half_of_the_repeated_words_move() -> None:
    moved, half = (("red", "blue"), ("blue", "red")), (("red", "blue", "grey"), ("grey", "blue", "white", "red"))
    fixed = (("red", "blue"), ("red", "blue"))
    letters = (("o0", "o1"), ("o0", "o1"))
    for words, is_free in ((moved, True), (fixed, False), (letters, True), ((*half, ("x", "blue")), True)):
        answers = [_choice(n, of_item) for n, of_item in enumerate(words)]
        assert _free_positions(answers).tolist() == [is_free] * len(words), words
    half_moves = [_choice(n, words) for n, words in enumerate((("red", "blue"), ("red", "grey", "blue")))]
    assert not _free_positions(half_moves).any()
    both = [_choice(0, moved[0]), _choice(1, moved[1]), *(_choice(n, fixed[0], task="s/u") for n in (2, 3))]
    assert _free_positions(both).tolist() == [True, True, False, False]


def test_a_preferred_place_is_tested_over_all_places_and_only_where_it_is_wrong() -> None:
    """Three of three wrong answers at the second of three places, each with a chance of 1/2: 1/8, over three places."""
    at_second = [_choice(n, "abc", 0, 1) for n in range(3)]
    right_there = [_choice(n, "abc", 1, 0) for n in range(3, 5)]  # the second place is right
    unknown = [_choice(9, "abc", 0, -1)]
    answers = [*at_second, *right_there, *unknown, _choice(10, "abc", 0, 0)]
    preference = _preference(answers, 0.38)
    assert preference is not None
    assert (preference.position, preference.taken, preference.wrong, preference.expected) == (1, 3, 3, 1.5)
    assert _preference(answers, 0.37) is None
    two = [_choice(n, "ab", 0, 1) for n in range(9)]
    assert _preference(two, 0.05) is None, "a wrong answer of two has no other place"


def test_a_place_is_not_known_of_shuffled_options_and_a_floor_is_the_better_of_two(tmp_path: Path) -> None:
    items = write_items(tmp_path / "items", 4, tasks=("naming",))
    conditions = {"vanilla": "original", "order=last": "original"}
    run = run_of(items, lambda item: 1.0, tasks=("naming",), conditions=conditions)
    whole = {"subject": "chat:model", "condition": "vanilla", "task": "naming", "protocol": "strict", "factor": "",
             "level": "", "metric": "accuracy", "grade": "some", "chance": 0.25, "blind": 0.3, "ceiling": 0.9,
             "floor": 0.4, "floor_name": "thumbnail"}  # fmt: skip
    other = {**whole, "condition": "order=last", "blind": 0.2, "floor_name": "blind baseline"}
    level = {**whole, "factor": "question", "level": "shape", "blind": 0.5}
    full = {**level, "level": "colour", "blind": 0.89}  # leaves less than a tenth of the way from 0.3 to 0.9
    scores = run.scores["strict"].assign(prediction='"o2"')
    run = replace(run, scores={"strict": scores}, results=pd.DataFrame([whole, other, level, full]))
    plain, shuffled = answers_by_arm(run).values()
    assert [{each.position for each in answers} for answers in (plain, shuffled)] == [{2}, {-1}]
    assert [{each.floor for each in answers} for answers in (plain, shuffled)] == [{0.3}, {0.25}]
    assert [list(each.floors.values()) for each in plain] == [[0.5], []] * 2
    assert [{(each.greatest, each.ceiling) for each in plain}] == [{(0.4, 0.9)}]
    assert all(math.isnan(each.greatest) for each in shuffled)
