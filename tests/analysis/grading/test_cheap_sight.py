"""Answers from thumbnails and from coordinates, on images drawn here."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from snellen.analysis.grading import cheap_sight
from snellen.analysis.grading.cheap_sight import (
    MIN_ALIKE,
    box_features,
    forest_answers,
    image_features,
    nearest_answers,
)
from snellen.core.item import Demo, Item, Media, Option
from snellen.core.score import Metric
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.scoring.protocols import ACCURACY

COLOURS = {"red": (200, 40, 40), "blue": (40, 40, 200)}
OPTIONS = tuple(Option(key, name) for key, name in zip("AB", COLOURS, strict=True))
ERROR = Metric("error", lambda item, answer: abs(item.answer - answer), higher_is_better=False)


@pytest.fixture
def media(tmp_path: Path) -> MediaFolder:
    return MediaFolder(tmp_path)


def patch(media: MediaFolder, colour: str, number: int) -> Media:
    """A noisy image of one colour."""
    noise = stream("test patch", colour, number).normal(0, 20, (30, 40, 3))
    return media.add_image(Image.fromarray(np.clip(COLOURS[colour] + noise, 0, 255).astype(np.uint8)))


def item(number: int, query: Media, answer: Any, kind: Any = "choice", **fields: Any) -> Item:
    name = f"item-{number}"
    facts = {"question": "What colour?", "options": OPTIONS if kind == "choice" else (), "split": "train", **fields}
    return Item(
        name, "suite", "task", query=(query,), answer=answer, answer_kind=kind, stimulus_id=name, group_id=name,
        cluster_id=name, **facts,
    )  # fmt: skip


def of_both_colours(media: MediaFolder, numbers: range, **fields: Any) -> list[Item]:
    """An item of each colour per number."""
    return [
        item(2 * number + offset, patch(media, name, number), key, **fields)
        for number in numbers
        for offset, (key, name) in enumerate(zip("AB", COLOURS, strict=True))
    ]


def test_a_forest_tells_colours_from_thumbnails(media: MediaFolder) -> None:
    train, test = of_both_colours(media, range(10)), of_both_colours(media, range(100, 105))
    answers = forest_answers(train, test, partial(image_features(media), ()), ACCURACY)
    assert answers == [solved.answer for solved in test]


def test_a_question_with_many_examples_has_a_forest_of_its_own(media: MediaFolder) -> None:
    """The second question has the answers of the first one reversed."""
    first = of_both_colours(media, range(MIN_ALIKE), question="one")
    second = [
        replace(solved, item_id=f"{solved.item_id} reversed", question="two", answer="BA"["AB".index(solved.answer)])
        for solved in first
    ]
    test = [item(1000 + n, patch(media, "red", 1000 + n), "", question=q) for n, q in enumerate(("one", "two"))]
    answers = forest_answers([*first, *second], test, partial(image_features(media), ()), ACCURACY)
    assert answers == ["A", "B"]


def test_coordinates_of_boxes_are_shares_of_the_image(media: MediaFolder) -> None:
    image = patch(media, "red", 0)
    features = box_features(("red", "blue"))(item(0, image, "A", regions={"red": [4, 3, 20, 15]}))
    assert features[:4] == pytest.approx([0.1, 0.1, 0.5, 0.5])
    assert features[4:8] == pytest.approx([0, 0, 0, 0]), "there is no blue box"
    assert features[8:12] == pytest.approx([0.4, 0.4, 0, 0])
    assert features[12:] == pytest.approx([0.16, 0, np.pi / 4, 0])


def test_counts_are_answered_with_the_least_expected_error(media: MediaFolder) -> None:
    """Boxes say nothing here, and counts are 1, 1, 1, 9, 9: the median is right, not the mean."""
    image = patch(media, "red", 0)
    train = [item(n, image, count, "integer") for n, count in enumerate([1, 1, 1, 9, 9] * 4)]
    (answer,) = forest_answers(train, [item(99, image, 0, "integer")], box_features(("red",)), ERROR)
    assert answer == 1


def test_boxes_are_answered_in_pixels_and_texts_not_at_all(media: MediaFolder) -> None:
    image = patch(media, "red", 0)
    boxes = [item(n, image, [4, 3, 20, 15], "box") for n in range(6)]
    (answer,) = forest_answers(boxes, boxes[:1], box_features(("red",)), ACCURACY)
    assert answer == pytest.approx((4, 3, 20, 15))
    texts = [item(n, image, "word", "text") for n in range(6)]
    assert forest_answers(texts, texts[:1], box_features(("red",)), ACCURACY) == [None]


def test_solved_examples_are_answered_by_the_nearest_mean(media: MediaFolder) -> None:
    support = tuple(
        Demo((patch(media, name, shot),), key, shot) for shot in range(3) for key, name in (("A", "red"), ("B", "blue"))
    )
    test = [item(n, patch(media, "blue", 50 + n), "B", split="test", support=support) for n in range(4)]
    assert nearest_answers(test, partial(image_features(media), ())) == ["B"] * 4
    bare = [replace(item_with_examples, support=()) for item_with_examples in test]
    assert nearest_answers(bare, partial(image_features(media), ())) == [None] * 4


def test_a_forest_learns_from_a_bounded_number_of_images(media: MediaFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cheap_sight, "MAX_TRAIN", 8)
    train, test = of_both_colours(media, range(50)), of_both_colours(media, range(100, 102))
    opened: list[str] = []

    def features(item: Item) -> Any:
        opened.append(item.item_id)
        return image_features(media)((), item)

    assert len(forest_answers(train, test, features, ACCURACY)) == len(test)
    assert len(opened) == 8 + len(test)


def test_features_are_equal_for_equal_images(media: MediaFolder) -> None:
    boxed = item(0, patch(media, "red", 7), "A", regions={"red": [4, 3, 20, 15]})
    first, again = (image_features(media)(("red",), boxed) for _ in range(2))
    assert first.tolist() == again.tolist()
    assert len(first) == 8 * 8 * 3 + 3 * 16 + 2 + 1 + 4 * 4 * 3
