"""Questions at levels of reduction: the items, who is asked what, and the size kept of a reader that shrinks images."""

from __future__ import annotations

import csv
import random
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.score import MEASURED, NOT_UNDERSTOOD
from snellen.core.storage.itemset import ItemSet
from snellen.core.suite import Trial
from snellen.suites.questions import SUITE
from snellen.suites.questions.sizes import ANSWERS, LEVELS, PAIRS, advice, estimate, level_of, read

COUNT, SIDE = 110, 48
WORDS = ("red", "green", "blue", "grey")


def build(folder: Path, count: int | None = None, **settings: str) -> ItemSet:
    """A set of `COUNT` questions with four options about images of noise, all different."""
    (folder / "images").mkdir(parents=True)
    rng, rows = random.Random(2), [["image", "question", "A", "B", "C", "D", "answer"]]
    for number in range(COUNT):
        Image.frombytes("RGB", (SIDE, SIDE), rng.randbytes(3 * SIDE**2)).save(folder / f"images/{number}.png")
        rows.append([f"images/{number}.png", "Which?", *WORDS, WORDS[number % 4]])
    with (folder / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    sources = {"table": folder / "t.csv"}
    options = BuildOptions(folder / "set", n=count, sources=sources, settings=settings, show_progress=False)
    return SUITE.recipes["reduced"].build(options)


@pytest.fixture(scope="module")
def reduced(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    """The set with the default settings."""
    return build(tmp_path_factory.mktemp("reduced"))


def ask(items: ItemSet, need: float, blind: frozenset[str] = frozenset()) -> tuple[list[Item], list[float]]:
    """What a reader is asked that needs `need` of full size, and its errors; it knows `blind` questions anyway."""
    suite, rng = SUITE.of_items(items), random.Random(3)
    by_id, errors = {item.item_id: item for item in items.items}, dict[str, float]()
    schedule = suite.tasks["questions"].schedule
    assert schedule is not None
    order = schedule(items.items)([Trial((item.view(),)) for item in items.items])
    batch = next(order)
    while True:
        scores = {}
        for trial in batch:
            item = by_id[trial.views[0].item_id]
            threshold = need * 10 ** rng.gauss(0, 0.1)
            sees = level_of(item) >= 0 and LEVELS[level_of(item)] >= threshold
            is_right = sees or item.group_id in blind or rng.random() < 0.25
            scores[item.item_id] = 0.0 if is_right else 1.0
        assert not scores.keys() & errors.keys()
        errors |= scores
        try:
            batch = order.send(scores)
        except StopIteration:
            return [by_id[name] for name in errors], list(errors.values())


def test_full_size_keeps_its_bytes_and_levels_shrink(reduced: ItemSet) -> None:
    of_one = [item for item in reduced.items if item.group_id == reduced.items[0].group_id]
    widths = [item.query[0].width for item in of_one if level_of(item) >= 0]
    assert widths == [round(SIDE * share) for share in LEVELS]
    plain = SUITE.recipes["table"].build(
        BuildOptions(
            reduced.root.parent / "plain", sources={"table": reduced.root.parent / "t.csv"}, show_progress=False
        )
    )
    full = [item.query for item in reduced.items if level_of(item) == 0]
    assert full == [item.query for item in plain.items]
    assert len({item.options[0].text for item in of_one if level_of(item) < 0}) == 3


@pytest.mark.parametrize("need", [0.2, 0.45])
def test_the_size_that_a_reader_needs_is_found(reduced: ItemSet, need: float) -> None:
    items, errors = ask(reduced, need)
    measured = estimate("size_kept", items, errors)
    truth = need * 10 ** (0.1 * 1.5)
    assert measured.reason == MEASURED
    assert measured.low <= truth <= measured.high
    assert truth / 1.5 < measured.value < truth * 1.5
    reading = read(items, dict(zip([item.item_id for item in items], errors, strict=True)))
    assert len(reading.full_right) >= PAIRS
    assert "tokens instead of" in advice(reading, items)
    levels = Counter(level_of(item) for item in items)
    assert sum(levels.values()) - levels[-1] <= ANSWERS + 2 * PAIRS


def test_blind_questions_are_struck_and_asked_no_more(reduced: ItemSet) -> None:
    blind = frozenset({reduced.items[0].group_id, reduced.items[-1].group_id})
    items, errors = ask(reduced, 0.3, blind)
    reading = read(items, dict(zip([item.item_id for item in items], errors, strict=True)))
    assert blind <= reading.struck
    assert len(reading.struck) <= 10
    assert not [item for item in items if item.group_id in blind and level_of(item) >= 0]


def test_a_subject_that_guesses_has_no_size(reduced: ItemSet) -> None:
    assert estimate("size_kept", *ask(reduced, 100.0)).reason == NOT_UNDERSTOOD


def test_no_advice_without_pairs(reduced: ItemSet) -> None:
    items = [item for item in reduced.items if level_of(item) > 0][:50]
    assert "no advice" in advice(read(items, {item.item_id: 0.0 for item in items}), items)


@pytest.mark.parametrize("reduction", ["jpeg", "blur", "contrast", "noise"])
def test_other_reductions_keep_the_size_and_change_the_pixels(tmp_path: Path, reduction: str) -> None:
    items = build(tmp_path, 2, level=reduction, blind="no").items[: len(LEVELS)]
    assert {(item.query[0].width, item.query[0].height) for item in items} == {(SIDE, SIDE)}
    assert len({item.query[0].sha256 for item in items}) == len(LEVELS)


def test_boxes_become_questions_with_the_size_of_the_thing(tmp_path: Path) -> None:
    """Two kinds of marks at known ninths; one in the middle of an edge of a ninth is not asked for its place."""
    (tmp_path / "images").mkdir()
    rows = [["path", "class", "x1", "y1", "x2", "y2", "exhaustive"]]
    for number, (name, x, y) in enumerate([("dent", 10, 10), ("scratch", 60, 110), ("dent", 30, 10)]):
        Image.frombytes("RGB", (120, 120), random.Random(number).randbytes(3 * 120**2)).save(
            tmp_path / f"images/{number}.png"
        )
        rows.append([f"{number}.png", name, str(x), str(y), str(x + 16), str(y + 4), "yes"])
    with (tmp_path / "boxes.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    sources = {"images": tmp_path / "images", "boxes": tmp_path / "boxes.csv"}
    items = SUITE.recipes["reduced"].build(BuildOptions(tmp_path / "set", sources=sources, show_progress=False)).items
    full = {item.item_id: item for item in items if level_of(item) == 0}
    words = {
        name: next((option.text for option in item.options if option.key == item.answer), item.answer)
        for name, item in full.items()
    }
    assert words == {
        "0.png/is-there/dent@1.000": "Yes", "0.png/is-there/scratch@1.000": "No",
        "1.png/is-there/scratch@1.000": "Yes", "1.png/is-there/dent@1.000": "No",
        "2.png/is-there/dent@1.000": "Yes", "2.png/is-there/scratch@1.000": "No",
        "0.png/where/dent@1.000": "upper left", "1.png/where/scratch@1.000": "lower centre",
    }  # fmt: skip
    assert {item.measures["thing_px"] for item in items} == {8.0}


def test_boxes_without_a_question_are_refused(tmp_path: Path) -> None:
    Image.new("RGB", (50, 50)).save(tmp_path / "a.png")
    (tmp_path / "boxes.csv").write_text("path,class,x1,y1,x2,y2\na.png,,,,,\n")
    sources = {"images": tmp_path, "boxes": tmp_path / "boxes.csv"}
    with pytest.raises(SnellenError, match="no image with a box of a named class"):
        SUITE.recipes["reduced"].build(BuildOptions(tmp_path / "set", sources=sources, show_progress=False))
