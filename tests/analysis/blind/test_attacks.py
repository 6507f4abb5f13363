"""Attackers on items that leak the answer by words, positions or base rates, and on items that leak nothing."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from snellen.analysis.blind import attacks, measure_blind, measure_by_folds, too_blind
from snellen.analysis.blind.attacks import (
    applied,
    best_answer,
    best_answer_by_question,
    best_position,
    odd_one,
    portable,
    word_weights,
)
from snellen.analysis.blind.learner import learner
from snellen.analysis.blind.measure import CONSTANTS, FOLDS, MIN_CLUSTERS, fold_numbers, some_clusters
from snellen.core.item import Item, Media, Option, Split
from snellen.core.score import Metric
from snellen.core.seeds import stream
from snellen.scoring.metrics import giou
from snellen.scoring.protocols import ACCURACY, strict
from tests.helpers.journey import item, suite_of

IMAGE = Media("0" * 64, "image", "png", 200, 100)
COLOURS = ("red", "green", "blue", "grey")
SUITE = suite_of()


def question(
    n: int, answer: str, options: Sequence[str] = COLOURS, text: str = "Which?", split: Split = "test"
) -> Item:
    named = tuple(Option(name, name) for name in options)
    return item(f"{split}-{n}", [IMAGE], answer, "choice", options=named, question=text, split=split)


def shuffled(n: int) -> list[str]:
    return [COLOURS[int(k)] for k in stream("test", n).permutation(4)]


def fair(count: int, split: Split = "test") -> list[Item]:
    """Only the image determines the answer."""
    rng = stream("fair", split)
    return [
        question(n, COLOURS[int(rng.integers(4))], shuffled(int(rng.integers(10**9))), split=split)
        for n in range(count)
    ]


def right(answers: list[object], items: Sequence[Item]) -> float:
    return sum(ACCURACY.score(item, answer) for answer, item in zip(answers, items, strict=True)) / len(items)


def test_a_base_rate_is_found() -> None:
    """Red is right in three of four items: always answering red gets 75 %."""
    items = [question(n, "red" if n % 4 else "blue", shuffled(n)) for n in range(40)]
    assert best_answer(items, ACCURACY)(items) == ["red"] * 40


def test_a_base_rate_of_each_question_is_found() -> None:
    items = [question(n, COLOURS[n % 2], shuffled(n), text=f"Kind {n % 2}?") for n in range(40)]
    assert right(best_answer(items, ACCURACY)(items), items) == 0.5
    assert right(best_answer_by_question(items, ACCURACY)(items), items) == 1.0


def test_options_that_are_seldom_wrong_when_offered_are_found() -> None:
    """Grey is offered as often as the others and is right whenever offered; otherwise any option may be right."""
    items = []
    for n in range(40):
        options = [name for name in shuffled(n) if n % 2 or name != "grey"]
        items.append(question(n, "grey" if n % 2 else options[0], options))
    assert right(best_answer(items, ACCURACY)(items), items) >= 0.5 + 0.5 / 3


def test_a_position_is_found() -> None:
    items = [question(n, (options := shuffled(n))[2], options) for n in range(40)]
    assert right(best_position(items, ACCURACY)(items), items) == 1.0
    assert right(best_answer(items, ACCURACY)(items), items) < 0.5


def test_the_odd_option_is_found() -> None:
    """Three of four options share a word; the fourth is right."""
    items = [question(n, f"a {n}", [f"the {n} cup", f"the {n} pen", f"a {n}", f"the {n} hat"]) for n in range(20)]
    assert right(odd_one(items, ACCURACY)(items), items) == 1.0


def test_thousands_of_options_take_a_moment() -> None:
    """Without counting words and looking answers up, every option is compared with every other: over a minute."""
    start = time.process_time()
    items = [question(n, f"a {n} 0", [f"a {n} {k}" for k in range(4000)]) for n in range(24)]
    assert best_answer(items[:4], ACCURACY)(items[4:]) == [f"a {n} 0" for n in range(4, 24)]
    assert right(odd_one(items[:4], ACCURACY)(items[4:]), items[4:]) == 1.0
    assert time.process_time() - start < 5


def test_of_options_with_one_name_the_first_is_given() -> None:
    options = tuple(Option(key, "a cup" if key != "C" else "a pen") for key in "ABC")
    items = [item(f"{n}", [IMAGE], "B", "choice", options=options, question="Which?") for n in range(3)]
    assert best_answer(items, ACCURACY)(items) == ["A"] * 3


def test_statements_without_pairs_are_not_decomposed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing differs within groups of one item, of which the decomposition takes minutes and gives single words."""
    assert np.array_equal(np.linalg.svd(np.zeros((5, 9)), full_matrices=False)[2], np.eye(5, 9))
    assert np.array_equal(np.linalg.svd(np.zeros((9, 5)), full_matrices=False)[2], np.eye(5))
    items = [item(f"{n}", [IMAGE], "true", "true_false", question=f"w{n} a", group_id=f"{n}") for n in range(9)]
    usual = word_weights(items, ACCURACY)(items)
    monkeypatch.setattr(np.linalg, "svd", None)
    assert word_weights(items, ACCURACY)(items) == usual


def test_the_most_frequent_words_are_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One word per statement tells whether it is true, and each statement has words of its own."""
    items = [
        item(f"{n}", [IMAGE], ("true", "false")[n % 2], "true_false", question=f"w{n} {('yes', 'no')[n % 2]} v{n}")
        for n in range(40)
    ]
    monkeypatch.setattr(attacks, "MAX_WORDS", 2)
    widths, count = list[int](), attacks._word_counts

    def watched(some: Sequence[Item], columns: Mapping[str, int]) -> NDArray[np.float64]:
        widths.append(len(columns))
        return count(some, columns)

    monkeypatch.setattr(attacks, "_word_counts", watched)
    assert right(word_weights(items, ACCURACY)(items), items) == 1.0
    assert widths == [2, 2]


def test_the_learner_finds_words_that_go_with_answers() -> None:
    """The word `dark` in the question means grey; no two questions are the same."""

    def about(n: int) -> Item:
        word, answer = ("dark", "grey") if n % 2 else ("light", "red")
        return question(n, answer, shuffled(n), text=f"Number {n}, {word}?")

    train, test = [about(n) for n in range(200)], [about(n) for n in range(200, 260)]
    assert right(learner(train, ACCURACY)(test), test) == 1.0
    assert right(best_answer_by_question(train, ACCURACY)(test), test) <= 0.5


def test_counts_are_answered_by_the_value_with_the_best_score() -> None:
    """Errors |a - p|: of 1, 1, 1, 9, 9 the median 1 has the least sum; the question's word distinguishes them."""
    error = Metric("error", lambda item, answer: abs(item.answer - answer), higher_is_better=False, share=False)
    counts = [item(f"{n}", [IMAGE], 9 if n % 5 > 2 else 1, "integer") for n in range(50)]
    assert learner(counts, error)(counts[:1]) == best_answer(counts, error)(counts[:1]) == [1]
    items = [
        item(f"{n}", [IMAGE], 9 if n % 5 > 2 else 1, "integer", question="many?" if n % 5 > 2 else "few?")
        for n in range(50)
    ]
    assert learner(items, error)(items) == [item.answer for item in items]


def test_boxes_carry_over_as_shares_of_the_image() -> None:
    """Boxes are always the left half; for an image of another size the answer is its left half too."""
    overlap = Metric("giou", lambda target, answer: giou(target.answer, answer), worst=-1.0, share=False)
    train = [item(f"{n}", [IMAGE], (0.0, 0.0, 100.0, 100.0), "box") for n in range(30)]
    wide = item("wide", [Media("1" * 64, "image", "png", 600, 300)], (0.0, 0.0, 300.0, 300.0), "box")
    assert best_answer(train, overlap)([wide]) == [(0.0, 0.0, 300.0, 300.0)]
    (learnt,) = learner(train, overlap)([wide])
    assert learnt == pytest.approx((0.0, 0.0, 300.0, 300.0), abs=1e-6)


def test_each_side_of_a_box_is_a_share_of_its_own_length() -> None:
    """In 40 x 10 pixels, (10, 5, 20, 10) is (1/4, 1/2, 1/2, 1); in 80 x 40 that is (20, 20, 40, 40)."""
    flat = item("flat", [Media("1" * 64, "image", "png", 40, 10)], (10.0, 5.0, 20.0, 10.0), "box")
    large = item("large", [Media("2" * 64, "image", "png", 80, 40)], (0.0, 0.0, 1.0, 1.0), "box")
    assert portable(flat) == (0.25, 0.5, 0.5, 1.0)
    assert applied(portable(flat), large) == (20.0, 20.0, 40.0, 40.0)


@pytest.mark.parametrize("by_folds", [True, False])
def test_attacks_on_fair_items_score_at_chance(by_folds: bool) -> None:
    """Chance is 1 in 4; the tolerance is three standard errors of sqrt(.25 x .75 / 200) = 3.1 points."""
    test = fair(200)
    rows = measure_by_folds(test, SUITE) if by_folds else measure_blind(fair(200, "train"), test, SUITE)
    (row,) = [row for row in rows if (row.protocol, row.metric) == ("strict", "accuracy")]
    assert row.n == 200
    assert row.chance == 0.25
    assert abs(row.value - 0.25) < 3 * 0.031
    assert not too_blind([row.model_copy(update={"value": 0.28})], SUITE)


def test_a_leak_is_scored_on_items_outside_its_training_set() -> None:
    items = [question(n, (options := shuffled(n))[1], options) for n in range(60)]
    for rows in (measure_by_folds(items, SUITE), measure_blind(items[:30], items[30:], SUITE)):
        row = next(row for row in rows if row.protocol == "strict")
        assert (row.value, row.chance) == (1.0, 0.25)
        assert [named.task for named in too_blind(rows, SUITE)] == ["task"]


def test_no_cluster_is_answered_by_a_learner_trained_on_it() -> None:
    """Every cluster has its own answer, which a learner cannot know before it has seen the cluster."""
    names = [f"name {n}" for n in range(40)]
    items = [
        question(n, names[n // 4], [names[(n // 4 + 10 * k) % 40] for k in range(4)][:: 1 if n % 2 else -1])
        for n in range(80)
    ]
    items = [replace(item, cluster_id=str(n // 4)) for n, item in enumerate(items)]
    row = next(row for row in measure_by_folds(items, SUITE) if row.protocol == "strict")
    assert row.value <= 0.6
    folds = fold_numbers(items)
    assert sorted(folds) == sorted({item.cluster_id for item in items})
    assert set(folds.values()) == set(range(FOLDS))


def test_too_few_clusters_give_no_score() -> None:
    assert not measure_by_folds(fair(MIN_CLUSTERS - 1), SUITE)
    assert measure_by_folds(fair(MIN_CLUSTERS), SUITE)


def test_protocols_read_attackers_and_subjects_alike() -> None:
    """A protocol that reads nothing leaves nothing to score; `strict` counts it as wrong."""
    deaf = strict(ACCURACY)
    suite = suite_of(protocols={"strict": deaf.__class__("strict", lambda text, spec: None, (ACCURACY,), deaf.units)})
    assert {row.value for row in measure_by_folds(fair(20), suite)} == {0.0}


def test_large_sets_are_thinned_by_whole_clusters() -> None:
    """Statements come in pairs: taking every second item would keep only the first of each pair."""
    items = [replace(item, cluster_id=str(n // 2)) for n, item in enumerate(fair(60))]
    some = some_clusters(items, 20)
    assert len(some) == 20
    assert set(Counter(item.cluster_id for item in some).values()) == {2}
    assert some_clusters(items, 60) == items


def test_levels_that_follow_from_the_answer_are_answered_by_a_constant() -> None:
    """Red is right on the whole level "red", but on only one in four items of the task."""
    items = [replace(item, factors={"answer": str(item.answer)}) for item in fair(240)]
    for rows in (
        measure_by_folds(items, suite_of(split_by=("answer",)), CONSTANTS),
        measure_blind(items[:160], items[160:], suite_of(split_by=("answer",)), CONSTANTS),
    ):
        levels = {row.level: row.value for row in rows if (row.protocol, row.metric) == ("strict", "accuracy")}
        assert levels.pop("") < 0.4
        assert levels == dict.fromkeys(COLOURS, 1.0)


def test_answering_two_statements_differently_gets_more_pairs_than_guessing() -> None:
    """One of two statements about cups of two colours is true, and nothing leaks which: guessing gets both in 1 of 4.

    Calling half of the colours true gets half of the pairs that are answered differently, which are 4 of 7, and
    with separate weights per statement at most half of all pairs.
    """
    rng, names = stream("pairs"), [f"colour{n}" for n in range(8)]
    items = []
    for n in range(800):
        right_name, wrong_name = (names[int(k)] for k in rng.permutation(8)[:2])
        for name, answer in ((right_name, "true"), (wrong_name, "false")):
            text = f"the {name} cup moved"
            items.append(item(f"{n}-{name}", [IMAGE], answer, "true_false", question=text, group_id=str(n)))
    attacker = word_weights(items[:800], ACCURACY)
    answers = dict(zip((item.item_id for item in items[800:]), attacker(items[800:]), strict=True))
    groups = {item.group_id for item in items[800:]}
    wrong = {item.group_id for item in items[800:] if answers[item.item_id] != item.answer}
    assert 0.25 < 1 - len(wrong) / len(groups) < 0.4
