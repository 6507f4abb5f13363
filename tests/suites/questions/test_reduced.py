"""Questions at levels of reduction: the items, who is asked what, and the size kept of a reader that shrinks images."""

from __future__ import annotations

import csv
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.score import MEASURED, NOT_UNDERSTOOD
from snellen.core.storage.itemset import ItemSet
from snellen.core.suite import Trial
from snellen.exam.run import run
from snellen.suites.questions import SUITE
from snellen.suites.questions.sizes import (
    ANSWERS,
    LEVELS,
    PAIRS,
    advice,
    bias,
    estimate,
    key_text,
    level_of,
    next_level,
    read,
)
from tests.goldens.descriptions import line, set_text, task_lines
from tests.goldens.golden import assert_golden
from tests.suites.questions.tables import write_csv

COUNT, SIDE = 110, 48
WORDS = ("red", "green", "blue", "grey")


def write_table(folder: Path, rows: Sequence[tuple[str, str, str]], options: Sequence[str] = WORDS) -> dict[str, Path]:
    """A table of questions, answers and splits about images of noise, all different, as the sources of a build."""
    (folder / "images").mkdir(parents=True)
    rng, table = random.Random(2), []
    for number, (question, answer, split) in enumerate(rows):
        image = f"images/{number}.png"
        Image.frombytes("RGB", (SIDE, SIDE), rng.randbytes(3 * SIDE**2)).save(folder / image)
        letters = dict(zip("ABCD", options, strict=False))
        table.append({"image": image, "question": question, "answer": answer, "split": split, **letters})
    return {"table": write_csv(folder / "t.csv", table)}


def build(folder: Path, count: int | None = None, **settings: str) -> ItemSet:
    """A set of `COUNT` questions with four options."""
    sources = write_table(folder, [(f"Which, {number}?", WORDS[number % 4], "test") for number in range(COUNT)])
    options = BuildOptions(folder / "set", n=count, sources=sources, settings=settings, show_progress=False)
    return SUITE.recipes["reduced"].build(options)


@pytest.fixture(scope="module")
def reduced(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    """The set with the default settings."""
    return build(tmp_path_factory.mktemp("reduced"))


def batches(items: ItemSet, is_right: Callable[[Item, int], bool]) -> list[dict[str, float]]:
    """The errors of each batch that is asked; `is_right` takes an item and the number of those already asked."""
    suite, by_id = SUITE.of_items(items), {item.item_id: item for item in items.items}
    errors = list[dict[str, float]]()
    schedule = suite.tasks["questions"].schedule
    assert schedule is not None
    order = schedule(items.items)([Trial((item.view(),)) for item in items.items if item.split == "test"])
    batch = next(order)
    while True:
        count = sum(map(len, errors))
        names = [trial.views[0].item_id for trial in batch]
        errors.append({name: 1.0 - is_right(by_id[name], count) for name in names})
        try:
            batch = order.send(errors[-1])
        except StopIteration:
            return errors


def ask(items: ItemSet, need: float, blind: frozenset[str] = frozenset()) -> tuple[list[Item], list[float]]:
    """What a reader is asked that needs `need` of full size, and its errors; it knows `blind` questions anyway."""
    by_id, rng, errors = {item.item_id: item for item in items.items}, random.Random(3), dict[str, float]()

    def is_right(item: Item, count: int) -> bool:
        sees = level_of(item) >= 0 and LEVELS[level_of(item)] >= need * 10 ** rng.gauss(0, 0.1)
        return sees or item.group_id in blind or rng.random() < 0.25

    for scores in batches(items, is_right):
        assert not scores.keys() & errors.keys()
        errors |= scores
    return [by_id[name] for name in errors], list(errors.values())


@pytest.mark.parametrize("reduction", ["size", "blur", "noise"])
def test_the_card_and_the_items_equal_their_golden(tmp_path: Path, reduction: str) -> None:
    """Three questions with a limit of two."""
    questions = [("Which?", "red", "test"), ("Which, then?", "blue", "train"), ("Which is it?", "grey", "test")]
    options = BuildOptions(
        tmp_path / "set", n=2, sources=write_table(tmp_path, questions), settings={"reduction": reduction}
    )
    assert_golden(f"suites/questions-{reduction}.txt", set_text(SUITE.recipes["reduced"].build(options)))


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
    assert len(reading.pairs) >= PAIRS
    assert "tokens instead of" in advice(reading, items)
    levels = Counter(level_of(item) for item in items)
    assert sum(levels.values()) - levels[-1] <= ANSWERS + 2 * PAIRS


def test_tasks_batches_and_estimates_equal_their_golden(reduced: ItemSet) -> None:
    """Readers that need a quarter and half of full size; the second knows some answers blind."""
    lines = [text for task in SUITE.of_items(reduced).tasks.values() for text in task_lines(task)]
    known = frozenset(sorted({item.group_id for item in reduced.items})[:9])
    for need, blind in ((0.25, frozenset[str]()), (0.5, known)):
        batch_items, errors = ask(reduced, need, blind)
        lines += [
            line([[item.group_id, level_of(item), error] for item, error in zip(batch_items, errors, strict=True)])
        ]
        lines += [line(estimate(name, batch_items, errors)) for name in ("size_kept", "threshold")]
    assert_golden("suites/questions-sizes.txt", "\n".join(lines) + "\n")


def test_pairs_of_equally_many_questions_are_those_next_to_the_size_kept(reduced: ItemSet) -> None:
    """Twenty questions are asked at levels 0, 3 and 11, and right at the first two; all others are wrong at level 5."""
    names = sorted({item.group_id for item in reduced.items})
    errors = {
        item.item_id: float(level_of(item) > 3)
        for item in reduced.items
        if level_of(item) in ((0, 3, 11) if item.group_id in names[:20] else (5,))
    }
    reading = read(reduced.items, errors)
    assert next_level(reading.fit.size) in (2, 3, 4)
    assert (reading.pair_level, set(reading.pairs.values())) == (3, {(True, True)})


def test_blind_questions_are_struck_and_asked_no_more(reduced: ItemSet) -> None:
    blind = frozenset({reduced.items[0].group_id, reduced.items[-1].group_id})
    items, errors = ask(reduced, 0.3, blind)
    reading = read(items, dict(zip([item.item_id for item in items], errors, strict=True)))
    assert blind <= reading.struck
    assert len(reading.struck) <= 10
    assert not [item for item in items if item.group_id in blind and level_of(item) >= 0]


def test_only_questions_that_words_may_tell_are_asked_blind(tmp_path: Path) -> None:
    """Two have the same words and other answers, two the same answer; one has training items, at full size alone."""
    rows = [*(("Which?", name, "test") for name in ("red", "green")), *2 * [("What is it?", "blue", "test")]]
    sources = write_table(tmp_path, [*rows, *(("Which of these?", "red", split) for split in ("test", "train"))])
    items = SUITE.recipes["reduced"].build(BuildOptions(tmp_path / "set", sources=sources, show_progress=False)).items
    assert {item.question for item in items if level_of(item) < 0} == {"Which of these?", "What is it?"}
    assert [(item.question, level_of(item)) for item in items if item.split == "train"] == [("Which of these?", 0)]
    assert len([item for item in items if item.split == "test" and level_of(item) >= 0]) == 5 * len(LEVELS)


def test_options_in_another_order_are_the_same_words(tmp_path: Path) -> None:
    names = ("image", "question", "answer", *"ABCD")
    rows = [("1.png", "What is it?", "red", *WORDS), ("2.png", "What is it?", "green", *WORDS[::-1])]
    for image, *_ in rows:
        Image.new("RGB", (SIDE, SIDE), f"#0000{image[0] * 2}").save(tmp_path / image)
    table = write_csv(tmp_path / "t.csv", [dict(zip(names, row, strict=True)) for row in rows])
    options = BuildOptions(tmp_path / "set", sources={"table": table}, show_progress=False)
    items = SUITE.recipes["reduced"].build(options).items
    assert {key_text(item) for item in items} == {"red", "green"}
    assert all(level_of(item) >= 0 for item in items), "words alone cannot tell which"


def test_yes_and_no_are_counted_apart(tmp_path: Path) -> None:
    """Six questions, half of them with *yes*: at full size one *no* is missed, at half size two *yes* as well."""
    rows = [("A dent?", "yes" if n % 2 else "no", "test") for n in range(6)]
    sources = write_table(tmp_path, rows, ("yes", "no"))
    items = SUITE.recipes["reduced"].build(BuildOptions(tmp_path / "set", sources=sources, show_progress=False)).items
    half = LEVELS.index(0.5)
    wrong = {(0, 0), (0, half), (1, half), (3, half)}
    number_of = {name: n for n, name in enumerate(dict.fromkeys(item.group_id for item in items))}
    errors = {
        item.item_id: float((number_of[item.group_id], level_of(item)) in wrong)
        for item in items
        if level_of(item) in (0, half)
    }
    assert bias(read(items, errors), items) == (
        '; of 3 "yes" missed 0 at full size, 2 reduced; of 3 "no" missed 1 at full size, 1 reduced'
    )


def test_pairs_are_asked_again_at_a_higher_level_while_they_lose(reduced: ItemSet) -> None:
    """A reader that needs little in the search, and then more than half of the size."""
    by_id = {item.item_id: item for item in reduced.items}
    count_blind = sum(level_of(item) < 0 for item in reduced.items)

    def is_right(item: Item, count: int) -> bool:
        return 0 <= level_of(item) <= (9 if count < count_blind + ANSWERS else 2)

    levels_of_batches = [{level_of(by_id[name]) for name in errors} for errors in batches(reduced, is_right)]
    first = max(n for n, levels in enumerate(levels_of_batches) if 0 in levels and len(levels) == 2)
    pairs = list(map(max, levels_of_batches[first:]))
    assert len(pairs) > 1
    assert pairs == sorted(set(pairs), reverse=True)
    assert pairs[-1] <= 3


def test_a_subject_that_guesses_has_no_size(reduced: ItemSet) -> None:
    assert estimate("size_kept", *ask(reduced, 100.0)).reason == NOT_UNDERSTOOD


def test_the_next_level_is_not_below_the_size_and_never_full_size() -> None:
    """Levels are 1, 0.79, 0.63, 0.5 … 0.0625; pairs of full size with itself would show no loss."""
    assert [next_level(size) for size in (1.0, 0.8, 0.79, 0.51, 0.5, 0.01)] == [1, 1, 1, 2, 3, 12]


def test_no_advice_without_pairs(reduced: ItemSet) -> None:
    items = [item for item in reduced.items if level_of(item) > 0][:50]
    assert "no advice" in advice(read(items, {item.item_id: 0.0 for item in items}), items)


@pytest.mark.parametrize("reduction", ["jpeg", "blur", "contrast", "noise"])
def test_other_reductions_keep_the_size_and_change_the_pixels(tmp_path: Path, reduction: str) -> None:
    items = build(tmp_path, 2, level=reduction, blind="no").items[: len(LEVELS)]
    assert {(item.query[0].width, item.query[0].height) for item in items} == {(SIDE, SIDE)}
    assert len({item.query[0].sha256 for item in items}) == len(LEVELS)


def test_boxes_become_questions_with_the_size_of_the_thing(tmp_path: Path) -> None:
    """Two kinds of marks at known ninths; one in the middle of an edge of a ninth is not asked for its place.

    Of the last image a box cannot be read: it may be a scratch, or a second dent.
    """
    (tmp_path / "images").mkdir()
    rows = [["path", "class", "x1", "y1", "x2", "y2", "exhaustive"]]
    for number, (name, x, y) in enumerate([("dent", 10, 10), ("scratch", 60, 110), ("dent", 30, 10), ("dent", 10, 10)]):
        Image.frombytes("RGB", (120, 120), random.Random(number).randbytes(3 * 120**2)).save(
            tmp_path / f"images/{number}.png"
        )
        rows.append([f"{number}.png", name, str(x), str(y), str(x + 16), str(y + 4), "yes"])
    rows.append(["3.png", "scratch", "?", "60", "76", "64", "yes"])
    with (tmp_path / "boxes.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    sources = {"images": tmp_path / "images", "boxes": tmp_path / "boxes.csv"}
    built = SUITE.recipes["reduced"].build(BuildOptions(tmp_path / "set", sources=sources, show_progress=False))
    items = built.items
    assert_golden("suites/questions-boxes.txt", set_text(replace(built, items=items[::7])))
    full = {item.item_id: item for item in items if level_of(item) == 0}
    words = {
        name: next((option.text for option in item.options if option.key == item.answer), item.answer)
        for name, item in full.items()
    }
    assert words == {
        "0.png/is-there/dent@1.000": "Yes", "0.png/is-there/scratch@1.000": "No",
        "1.png/is-there/scratch@1.000": "Yes", "1.png/is-there/dent@1.000": "No",
        "2.png/is-there/dent@1.000": "Yes", "2.png/is-there/scratch@1.000": "No",
        "3.png/is-there/dent@1.000": "Yes",
        "0.png/where/dent@1.000": "upper left", "1.png/where/scratch@1.000": "lower centre",
    }  # fmt: skip
    assert {item.measures["thing_px"] for item in items} == {8.0}


def test_boxes_without_a_question_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SnellenError, match="--from reduced: give --source table=FILE, or images=DIR and boxes=FILE"):
        SUITE.recipes["reduced"].build(BuildOptions(tmp_path / "set", show_progress=False))
    Image.new("RGB", (50, 50)).save(tmp_path / "a.png")
    (tmp_path / "boxes.csv").write_text("path,class,x1,y1,x2,y2\na.png,,,,,\n")
    sources = {"images": tmp_path, "boxes": tmp_path / "boxes.csv"}
    with pytest.raises(SnellenError, match="no image with a box of a named class"):
        SUITE.recipes["reduced"].build(BuildOptions(tmp_path / "set", sources=sources, show_progress=False))


def test_an_encoder_learns_from_training_items_at_full_size(tmp_path: Path) -> None:
    """Level or upright stripes of 2 px, which are gone at half size."""
    rows = [("Which way?", ("level", "upright")[n % 2], ("train", "test")[n % 6 > 1]) for n in range(60)]
    sources = write_table(tmp_path, rows, ("level", "upright"))
    for number in range(60):
        pixels = np.random.default_rng(number).normal(128, 10, (SIDE, SIDE)) + 40 * (np.arange(SIDE) // 2 % 2)
        image = Image.fromarray((pixels if number % 2 else pixels.T).clip(0, 255).astype(np.uint8)).convert("RGB")
        image.save(tmp_path / f"images/{number}.png")
    items = SUITE.recipes["reduced"].build(BuildOptions(tmp_path / "set", sources=sources, show_progress=False))
    results = run(items, ["encoder:hog"], tmp_path / "run", show_progress=False).all_results()
    [row] = results[results["metric"] == "size_kept"].to_dict("records")
    assert row["reason"] == MEASURED
    assert 0.4 < row["value"] < 0.9
