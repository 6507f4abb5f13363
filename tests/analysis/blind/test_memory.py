"""The attacker with a memory of the exam, on items that other questions give away and on items that none does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from snellen.analysis.blind.measure import across_questions, measure_by_folds
from snellen.analysis.blind.memory import MOST_USES, ExamMemory
from snellen.core.item import Demo, Item, Media, Option, Split
from snellen.core.seeds import stream
from snellen.scoring.protocols import ACCURACY
from tests.helpers.journey import item, suite_of

NAMES = ("cube", "cone", "sphere", "torus")
COUNT = 80


def image(*key: str | int) -> Media:
    return Media(f"{int(stream('file', *key).integers(10**15)):064d}", "image", "png", 200, 100)


def named(n: int, media: Sequence[Media], answer: str, split: Split = "test", text: str = "Which?") -> Item:
    options = tuple(Option(str(number), name) for number, name in enumerate(NAMES))
    return item(f"{split}-{n}", media, str(NAMES.index(answer)), "choice", options=options, question=text, split=split)


def answer_of(n: int) -> str:
    return NAMES[int(stream("answer", n).integers(4))]


def share_right(items: Sequence[Item], exam: Sequence[Item]) -> float:
    """The score on the second half of some items of an attacker fitted to the first."""
    half = len(items) // 2
    answers = across_questions(exam).fit(items[:half], ACCURACY)(items[half:])
    return sum(ACCURACY.score(*pair) for pair in zip(items[half:], answers, strict=True)) / half


@pytest.mark.parametrize(("is_shared", "least", "most"), [(True, 0.95, 1.0), (False, 0.0, 0.45)])
def test_an_image_that_is_a_labelled_example_elsewhere(is_shared: bool, least: float, most: float) -> None:
    """Chance is 25 %; three standard errors of 40 items are 20 points."""
    items = [named(n, [image("query", n)], answer_of(n)) for n in range(COUNT)]
    others = []
    for n, former in enumerate(items):
        demo = Demo((former.query[0] if is_shared else image("demo", n),), str(former.answer), 1)
        others.append(replace(named(COUNT + n, [image("other", n)], answer_of(COUNT + n)), support=(demo,)))
    assert least <= share_right(items, [*items, *others]) <= most


def test_what_no_subject_remembers_is_no_floor_of_a_users_set() -> None:
    """Each image of a few is a labelled example in other questions."""
    items = []
    for n in range(COUNT):
        demo = Demo((image("query", (n + 1) % COUNT),), str(NAMES.index(answer_of((n + 1) % COUNT))), 1)
        items.append(replace(named(n, [image("query", n)], answer_of(n)), support=(demo,)))
    assert share_right(items, items) >= 0.95
    blind = next(row for row in measure_by_folds(items, suite_of()) if row.protocol == "strict")
    assert blind.value <= 0.45


@pytest.mark.parametrize(
    ("is_shared", "words", "least", "most"),
    [
        (True, "in the red box", 0.95, 1.0),
        (False, "in the red box", 0.0, 0.45),
        (True, "(red box)", 0.0, 0.45),  # in brackets: drawn under a condition alone
    ],
)
def test_a_box_whose_content_another_question_names(is_shared: bool, words: str, least: float, most: float) -> None:
    items, others = [], []
    for n in range(COUNT):
        scene, boxes = [image("scene", n)], [[10.0 * k, 0.0, 10.0 * k + 9, 9.0] for k in range(4)]
        order = [NAMES[int(k)] for k in stream("order", n).permutation(4)]
        question = named(n, scene, order[0], text="What is in the red box?")
        items.append(replace(question, regions={"red": boxes[0]}))
        for k in range(4):
            box = boxes[k] if is_shared else boxes[(k + 1 + n) % 4]
            asks = named(COUNT + 4 * n + k, scene, NAMES[0], text=f"How far is the {order[k]} {words}?")
            others.append(replace(asks, regions={"red": box}, task="distance"))
    assert least <= share_right(items, [*items, *others]) <= most


@pytest.mark.parametrize(("views", "least", "most"), [(4, 0.7, 1.0), (400, 0.0, 0.65)])
def test_images_that_are_shown_together_often(views: int, least: float, most: float) -> None:
    """Whether three images show one thing, of which there are 4 files for 12 questions or as many as are needed."""
    items = []
    for n in range(COUNT * 3):
        rng, family = stream("sequence", n), n // 12
        same = bool(rng.integers(2))
        kinds = ["main"] * 3 if same else ["main"] * int(rng.integers(1, 3))
        kinds += ["other"] * (3 - len(kinds))
        numbers = [int(k) for k in rng.permutation(4)] if views == 4 else [8 * n + k for k in range(3)]
        files = [image(family, kind, number) for kind, number in zip(kinds, numbers, strict=False)]
        files = [files[int(k)] for k in rng.permutation(3)]
        answer = "true" if same else "false"
        items.append(item(f"s-{n}", files, answer, "true_false", question="Do all images show the same object?"))
    score = share_right(items, items)
    assert least <= score <= most


@pytest.mark.parametrize(("questions", "clues"), [(MOST_USES, {"named=True"}), (MOST_USES + 1, {"named=False"})])
def test_a_file_that_stands_for_all_images_is_not_recognised(questions: int, clues: set[str]) -> None:
    """Items without drawn images share one file; comparing each with all others would take quadratic time."""
    items = [named(n, [image("blank")], answer_of(n), text="Where is the cube?") for n in range(questions)]
    words = {clue.removeprefix("elsewhere ").split("/")[0] for clue in ExamMemory(items).clues(items[0], "0")}
    assert {word for word in words if word.startswith("named=")} == clues
