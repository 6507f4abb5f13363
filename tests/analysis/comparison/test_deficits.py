"""Deciding properties: those planted in synthetic answers are found, and none is found if none was planted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snellen.analysis.comparison.deficits import (
    MAX_COUNT,
    Deficit,
    Findings,
    Property,
    ScoredAnswer,
    Share,
    answers_by_arm,
    deciding_images,
    find_deficits,
    least_difference,
    properties_of,
    upper_tail,
)
from snellen.analysis.grading.grades import FULL, baseline, ceiling_of, progress
from snellen.analysis.tables.run_view import lines_of
from snellen.core.item import Item, Option
from snellen.core.seeds import stream
from snellen.exam.run import run
from snellen.reports import load_run
from snellen.reports.deficit_words import sentences
from snellen.scoring.protocols import ACCURACY
from snellen.suites import SUITES
from tests.helpers.sets import small_set


def item(number: int, **cells: Any) -> Item:
    name = f"i{number}"
    ids = {"item_id": name, "stimulus_id": name, "group_id": name, "cluster_id": name}
    return Item(**{**ids, "suite": "s", "task": "t", "question": "?", "query": (), **cells})


def words(findings: Findings) -> str:
    return ". ".join(sentences(findings))


def choices(count: int, right: Callable[[Item, np.random.Generator], bool], seed: int = 0) -> Iterator[ScoredAnswer]:
    """Four options with words in random order; every third item requires colour, every second shape; two levels."""
    rng = stream("choices", seed)
    for number in range(count):
        names = [("red", "green", "blue", "white")[k] for k in rng.permutation(4)]
        options = tuple(Option(f"o{k}", name) for k, name in enumerate(names))
        needs = tuple(name for name, period in (("colour", 3), ("shape", 2)) if number % period == 0)
        level = {"difficulty": ("easy", "hard")[number % 5 % 2]}
        question = item(number, options=options, answer="o1", answer_kind="choice", requires=needs, factors=level)
        is_right = right(question, rng)
        position = 1 if is_right else int(rng.choice([0, 2, 3]))
        yield ScoredAnswer(question, "s/t", ("difficulty",), is_right, 0.25, position)


def test_a_colour_blind_subject_is_named_for_colour_only() -> None:
    findings = find_deficits(list(choices(60, lambda i, rng: "colour" not in i.requires or rng.random() < 0.25)))
    (deficit,) = findings.deficits
    assert deficit.properties == (Property("requires", "colour"),)
    assert (deficit.affected.n, deficit.elsewhere.n, deficit.elsewhere.right) == (20, 40, 1.0)
    assert findings.dimensions == ("shape",)
    assert words(findings).startswith("cannot tell the colour (")
    assert words(findings).endswith(
        "% of 20 right, blind 25 %; elsewhere 100 % of 40); does most of what depends on the shape"
    )


def test_two_properties_are_named_separately() -> None:
    def knows(question: Item, rng: np.random.Generator) -> bool:
        return rng.random() < 0.25 or not ("colour" in question.requires or "hard" in question.factors.values())

    findings = find_deficits(list(choices(240, knows)))
    named = {deficit.properties[0] for deficit in findings.deficits}
    assert named == {Property("factor", "difficulty", "hard"), Property("requires", "colour")}
    assert findings.deficits[1].elsewhere.right == 1.0, "items that the first property decides are left out"


@pytest.mark.parametrize("skill", [0.0, 0.25, 0.6, 1.0])
def test_no_subject_without_a_deficit_is_accused(skill: float) -> None:
    """Of 100 subjects that know a random share of all items and guess the rest, hardly any is named for a deficit."""
    accused = 0
    for seed in range(100):
        knows = list(choices(40, lambda i, rng: rng.random() < skill + (1 - skill) / 4, seed))
        findings = find_deficits(knows)
        accused += bool(findings.deficits or findings.preference)
    assert accused <= 5


def test_the_count_from_which_a_subject_fails_is_named() -> None:
    counts = [number for number in range(1, 13) for _ in range(3)]
    answers = [
        ScoredAnswer(item(n, answer=count, answer_kind="integer"), "s/t", (), count <= 4, 0.05)
        for n, count in enumerate(counts)
    ]
    findings = find_deficits(answers)
    assert [deficit.properties for deficit in findings.deficits] == [(Property("count", "4"),)]
    assert words(findings).startswith(
        "does not count beyond four (from five on: 0 % of 24 right, blind 5 %; elsewhere 100 % of 12)"
    )
    assert words(find_deficits([replace(answer, task="s/u") for answer in answers])) == words(findings)
    assert sentences(findings, {"s/t", "s/u"})[0].startswith("is worse at counting beyond four"), "its task is open"
    without_five = [answer for answer in answers if answer.item.answer not in (5, 6)]
    assert words(find_deficits(without_five)).startswith("does not count beyond four (from seven on: 0 %")


def test_counts_are_tested_up_to_the_largest_in_the_items() -> None:
    """A count of five requires passing one, two, three and four; of large counts, only the first `MAX_COUNT`."""
    counts = [
        [prop.name for prop, _ in properties_of(item(0, answer=answer, answer_kind="integer"), ())]
        for answer in (1, 5, MAX_COUNT, MAX_COUNT + 1, MAX_COUNT + 2, 99)
    ]
    all_counts = [str(k) for k in range(1, MAX_COUNT + 1)]
    assert counts == [[], all_counts[:4], all_counts[:-1], all_counts, all_counts, all_counts]


def test_always_saying_yes_is_right_where_yes_is_right() -> None:
    answers = [
        ScoredAnswer(item(n, answer=("true", "false")[n % 2], answer_kind="true_false"), "s/t", (), n % 2 == 0, 0.5)
        for n in range(30)
    ]
    assert words(find_deficits(answers)).startswith("says yes too readily (where a statement is false: 0 % of 15")
    says_no = [ScoredAnswer(a.item, a.task, (), not a.right, 0.5) for a in answers]
    assert words(find_deficits(says_no)).startswith("says no too readily (where a statement is true:")


def test_an_option_is_preferred_if_wrong_answers_choose_it() -> None:
    fair = list(choices(40, lambda i, rng: rng.random() < 0.5))
    assert find_deficits(fair).preference is None
    biased = [ScoredAnswer(a.item, a.task, (), a.right, 0.25, a.position if a.right else 0) for a in fair]
    wrong = sum(not answer.right for answer in fair)
    preference = find_deficits(biased).preference
    assert preference is not None
    assert (preference.position, preference.taken, preference.wrong) == (0, wrong, wrong)
    assert preference.expected == pytest.approx(wrong / 3)
    assert words(find_deficits(biased)).startswith(f"prefers option A (the first): {wrong} of {wrong} wrong answers")
    # If words have fixed positions, a position equals a word: it is not reported.
    fixed = [
        ScoredAnswer(
            item(n, options=biased[0].item.options, answer="o1", answer_kind="choice"),
            "s/t",
            (),
            a.right,
            0.25,
            a.position,
        )
        for n, a in enumerate(biased)
    ]
    assert find_deficits(fixed).preference is None


def test_upper_tails_are_sums_of_products() -> None:
    # 1/2 and 1/3: none 1/3, both 1/6, one 1/2.
    assert upper_tail([1 / 2, 1 / 3], 2) == pytest.approx(1 / 6)
    assert upper_tail([1 / 2, 1 / 3], 1) == pytest.approx(2 / 3)
    assert upper_tail([], 0) == 1.0


def test_differences_have_newcombe_intervals() -> None:
    """Newcombe 1998, table II, case (a), method 10: 56/70 less 48/80 is .2000 [.0524, .3339]."""
    from snellen.scoring.uncertainty import wilson

    first, second = ((Share(k / n, k / n, *wilson(k, n), n)) for k, n in ((48, 80), (56, 70)))
    assert least_difference(first, second) == pytest.approx(0.0524, abs=5e-5)
    assert math.isnan(least_difference(first, Share(0.8, 0.8, math.nan, math.nan, 1)))


def test_an_image_decides_if_the_answer_is_open_without_it() -> None:
    """Whether three images are all the same (AAA): in AAB the first two are the same, so that the third decides."""
    patterns = {"AAA": "true", "AAB": "false", "ABA": "false", "ABB": "false", "ABC": "false"}

    def decides(order: str) -> list[bool]:
        images: Any = (None,) * 3
        question = item(
            0, answer="true", answer_kind="true_false", latent={"partitions": patterns, "order": order}, query=images
        )
        return [is_open for _, is_open in deciding_images(question)]

    assert decides("AAA") == [True, True, True]
    assert decides("AAB") == [False, False, True]
    assert decides("ABB") == [True, False, False]
    assert decides("ABC") == [False, False, False]
    assert list(deciding_images(item(0, answer="true", answer_kind="true_false"))) == []


HARD = Property("factor", "difficulty", "hard")
COLOUR = Property("requires", "colour")


def test_a_level_is_judged_from_its_own_floor() -> None:
    """60 % right is far above a floor of 25 %, and less than a quarter of the way from 55 %."""
    answers = list(choices(800, lambda i, rng: rng.random() < (0.6 if "hard" in i.factors.values() else 0.95)))
    (deficit,) = find_deficits(answers).deficits
    assert (deficit.properties, deficit.affected.floor) == ((HARD,), 0.25)
    assert words(find_deficits(answers)).startswith("is worse where the difficulty is hard (")
    by_level = [replace(answer, floors={HARD: 0.55}, words={HARD.key: "hard things"}) for answer in answers]
    (deficit,) = find_deficits(by_level).deficits
    assert deficit.affected.floor == pytest.approx(0.55)
    assert deficit.elsewhere.floor == 0.25
    assert words(find_deficits(by_level)).startswith("cannot tell hard things (")
    assert ", blind 55 %; elsewhere " in words(find_deficits(by_level))


def test_equal_shares_do_not_differ_by_their_floors() -> None:
    """A subject that is right on 60 % everywhere has no deficit, although a level has a greater floor than its task."""
    for seed in range(20):
        answers = choices(800, lambda i, rng: rng.random() < 0.6, seed)
        assert not find_deficits([replace(answer, floors={HARD: 0.55}) for answer in answers]).deficits


def test_people_are_the_end_of_the_way() -> None:
    """40 % right is a fifth of the way from 25 % to 100 %, and three fifths of the way to people with 50 %."""
    answers = list(choices(800, lambda i, rng: rng.random() < (0.4 if "colour" in i.requires else 0.95)))
    far, near = (find_deficits([replace(a, ceiling=end) for a in answers]).deficits[0].affected for end in (1.0, 0.5))
    assert far.progress == pytest.approx((far.right - 0.25) / 0.75)
    assert near.progress == pytest.approx((far.right - 0.25) / 0.25)


def test_most_is_judged_from_the_greatest_floor() -> None:
    answers = list(choices(400, lambda i, rng: "colour" not in i.requires or rng.random() < 0.25))
    assert find_deficits(answers).dimensions == ("shape",)
    assert find_deficits([replace(answer, greatest=1.0) for answer in answers]).dimensions == ()


def test_sentences_use_the_words_of_the_card() -> None:
    card = {"colour": "the colour of an object"}
    low, high = (Share(0.2, 0.0, -0.1, 0.1, 22, 0.2), Share(0.5, 0.4, 0.3, 0.5, 30, 0.2))

    def sentence(*properties: Property, affected: Share = low) -> str:
        findings = Findings((Deficit(properties, affected, replace(high, n=44), frozenset("t")),), words=card)
        return words(findings).partition(" (")[0]

    assert sentence(COLOUR) == "cannot tell the colour of an object"
    assert sentence(COLOUR, affected=high) == "is worse at telling the colour of an object"
    assert sentence(*(Property("requires", name) for name in ("a-b", "c", "d"))) == (
        "cannot tell the a b, the c or the d, which the same items need"
    )
    industry = Property("factor", "image_industry", "Dry-goods 1-5")
    assert sentence(industry) == "fails where the image industry is Dry goods 1-5"
    card["image_industry="] = "the trade"
    assert sentence(industry) == "fails where the trade is Dry goods 1-5"
    many = Findings((Deficit((COLOUR,), low, high, frozenset("t")),), dimensions=tuple("abcdef"), words=card)
    assert words(many).endswith("; does most of what depends on the a, the b, the c and 3 other properties")
    assert sentence(Property("image", "3")) == "ignores the third image"
    assert sentence(Property("image", "3"), affected=high) == "makes little use of the third image"
    assert sentence(Property("count", "4"), affected=high) == "is worse at counting beyond four"
    assert sentence(Property("false", "statement"), affected=high) == "tends to say yes"


def test_floors_and_ceilings_are_those_of_the_grades(sets_folder: Path, tmp_path: Path) -> None:
    """The mean floor of the answers at a level is the baseline of its row, where it leaves something to grade."""
    for name in ("combo", "vfm-bench", "vlm2-bench"):
        run(small_set(name, sets_folder), ["fake:chance"], tmp_path / name, show_progress=False)
        loaded = load_run(tmp_path / name, SUITES.get)
        (answers,) = answers_by_arm(loaded).values()
        rows = loaded.results[(loaded.results["protocol"] == "strict") & (loaded.results["metric"] == ACCURACY.name)]
        wholes = {row.task: row for row in lines_of(rows[rows["factor"] == ""])}
        for row in lines_of(rows):
            of_task = [answer for answer in answers if answer.item.task == row.task]
            whole, end = wholes[row.task], ceiling_of(wholes[row.task], ACCURACY)
            assert {answer.ceiling for answer in of_task} == {end}
            if row.factor == "":
                assert np.mean([answer.floor for answer in of_task]) == pytest.approx(baseline(row, ACCURACY))
            elif not row.level.startswith("not "):
                parts = ("requires", row.level) if row.factor == "requires" else ("factor", row.factor, row.level)
                floors = [answer.floors[Property(*parts)] for answer in of_task if Property(*parts) in answer.floors]
                is_graded = progress(baseline(row, ACCURACY), baseline(whole, ACCURACY), end) < FULL
                assert bool(floors) == (is_graded and not math.isnan(row.blind)), (name, row.task, row.level)
                assert not floors or np.mean(floors) == pytest.approx(baseline(row, ACCURACY))
