"""Tasks, chance and clusters of a table by hand: several kinds of one task, several tasks, splits and images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from snellen.core.build_options import BuildOptions
from snellen.core.condition import Axis
from snellen.core.errors import SnellenError
from snellen.core.item import Item, Media, Option, View
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.presentation.controls import FRAMES, IMAGES, ORDER
from snellen.suites.questions import SUITE
from snellen.suites.questions.kinds import METHOD, PROTOCOLS, Named, tasks_of, with_chance
from snellen.suites.questions.prompts import form_of, most_mentioned
from tests.suites.questions import tables

IMAGE = Media("a" * 64, "image", "png", 8, 6)
VIDEO = Media("b" * 64, "video", "mp4", 8, 6, 2.0)


def item(name: str, answer: Any, kind: Any = "integer", texts: Sequence[str] = (), **changes: Any) -> Item:
    """An item with an image and options of these texts."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabc"[: len(texts)]
    options = tuple(Option(key, text) for key, text in zip(letters, texts, strict=True))
    plain = Item(name, "questions", "t", "Which?", (IMAGE,), answer, kind, "s", name, name, options=options)
    return replace(plain, **changes)


def test_the_chance_of_a_free_answer_is_the_score_of_other_answers_of_its_task() -> None:
    """Answers 3, 3 and 4; the other task, training items and choices have no part in it."""
    items = [item("a", 3), item("b", 3), item("c", 4), item("train", 3, split="train"), item("other", 3, task="u")]
    items += [item("choice", "A", "choice", ("x", "y"))]
    chances = {one.item_id: dict(one.measures) for one in with_chance(items)}
    assert chances == {
        "a": {"chance_accuracy": 0.5}, "b": {"chance_accuracy": 0.5}, "c": {"chance_accuracy": 0.0},
        "train": {}, "other": {}, "choice": {},
    }  # fmt: skip
    assert [one.item_id for one in with_chance(items)] == [one.item_id for one in items]


def test_the_chance_of_numbers_and_texts_is_that_of_every_metric() -> None:
    """1.02 is within 5 % of 1 and not equal. Of several accepted texts the first is what a guesser says."""
    numbers = [item(name, value, "number") for name, value in (("a", 1.0), ("b", 1.02), ("c", 9.0))]
    assert dict(with_chance(numbers)[0].measures) == {"chance_accuracy": 0.0, "chance_relaxed_accuracy": 0.5}
    texts = [item("a", ("stop", "halt"), "text"), item("b", "halt", "text"), item("c", "step", "text")]
    first, second, third = (dict(one.measures) for one in with_chance(texts))
    assert first == {"chance_accuracy": 0.5, "chance_anls": pytest.approx((1 + 0.75) / 2)}
    assert second["chance_accuracy"] == 0.0, "nobody says halt first but the item itself"
    assert third["chance_anls"] == pytest.approx((0.75 + 0) / 2)
    accuracy = PROTOCOLS["text"].metrics[1]
    assert accuracy.chance(with_chance(texts)[0]) == 0.5
    assert math.isnan(accuracy.chance(texts[0]))


def test_a_text_agrees_only_if_it_is_the_same() -> None:
    protocol, text = PROTOCOLS["text"], item("a", "stop here", "text")
    assert protocol.agrees is not None
    assert [protocol.agrees(text, words) for words in ("Stop  here.", "stop her")] == [True, False]
    number = item("b", -40.0, "number")
    accuracy, relaxed = PROTOCOLS["number"].metrics
    assert [accuracy.score(number, value) for value in (-40.00003, -40.001)] == [1, 0]
    assert [relaxed.score(number, value) for value in (-38.0, -42.0, -37.9)] == [1, 1, 0]


def named(one: Item) -> View:
    return Named()(one.view(), MediaFolder(Path()), np.random.default_rng(0))


def test_options_are_named_by_letters_words_or_keys() -> None:
    """More options than letters have words; an option that is a letter itself would name two."""
    few, many = item("a", "A", "choice", ("red", "blue")), item("b", "A", "choice", [f"thing {n}" for n in range(27)])
    assert named(few).reply.keys == (("A", "A"), ("red", "A"), ("B", "B"), ("blue", "B"))
    assert (named(many).reply.keys[0], form_of(named(many))) == (("thing 0", "A"), "one of the options")
    assert form_of(named(few)) == "the letter of one option"
    listed = replace(item("c", "A", "choice", ("C", "red")), question="Which? (A) C (B) red")
    assert named(listed).reply.keys == (("A", "A"), ("B", "B"), ("red", "B"))
    truth = replace(
        item("d", "true", "true_false", ("Yes", "No")), options=(Option("true", "Yes"), Option("false", "No"))
    )
    assert named(truth).reply.keys == (("Yes", "true"), ("No", "false"))
    assert form_of(named(truth)) == "Yes or No"


def test_unnumbered_images_count_one_each() -> None:
    assert most_mentioned("<image> like <image>?", ["<image>", "<image 2>"]) == 3
    assert most_mentioned("Like <image 4>?", ["<image>"]) == 4
    assert most_mentioned("Which?", ["red"]) == 0


def test_a_task_is_as_all_of_its_items_are() -> None:
    """One of three items is a video, shows images as options, is for training, or shares a group with another."""
    plain = [item(name, "A", "choice", ("x", "y"), factors={"half": "1"}) for name in "abc"]

    def task(**changes: Any) -> Any:
        return tasks_of([*plain[:2], replace(plain[2], **changes)])["t"]

    usual = task()
    assert (usual.axes, usual.train_split, usual.split_by) == ((METHOD.name, ORDER.name, IMAGES.name), None, ("half",))
    assert (list(usual.protocols), usual.schedule) == (["strict"], None)
    assert usual.question_for_people is not None
    axes: tuple[Axis, ...] = (METHOD, ORDER, FRAMES, IMAGES)
    assert task(query=(IMAGE, VIDEO)).axes == tuple(axis.name for axis in axes)
    assert task(options=(Option("A", "x"), Option("B", "<image 2>"))).question_for_people is None
    assert task(split="train").train_split == "train"
    grouped = task(group_id="a").protocols["all-right"]
    assert (grouped.name, [metric.name for metric in grouped.metrics]) == ("all-right", ["accuracy"])
    assert grouped.units is not usual.protocols["strict"].units
    levels = [replace(one, measures={"sent_level": 0.0}) for one in plain]
    reduced = tasks_of([*levels, replace(levels[0], item_id="d")])["t"]
    assert (list(reduced.protocols), reduced.split_by, reduced.schedule is None) == (["strict"], (), False)
    several = [item(name, ("A",), "choices", ("x", "y"), group_id="g") for name in "ab"]
    assert [metric.name for metric in tasks_of(several)["t"].protocols["all-right"].metrics] == ["accuracy"]


def rows_of(*answers: Any, **columns: Sequence[Any]) -> list[dict[str, Any]]:
    """Rows about one image each."""
    rows = [{"image": tables.image_text(n), "question": f"What {n}?", "answer": a} for n, a in enumerate(answers)]
    return [row | {name: cells[n] for name, cells in columns.items()} for n, row in enumerate(rows)]


def build(folder: Path, rows: Sequence[Any], **options: Any) -> ItemSet:
    folder.mkdir(exist_ok=True)
    return tables.build_set(tables.write_jsonl(folder / "t.jsonl", rows), folder / "set", **options)


def test_numbers_are_apart_from_a_tenth_of_the_answers_on(tmp_path: Path) -> None:
    tenth, fewer = (build(tmp_path / f"{n}", rows_of("7", *["words"] * n)) for n in (9, 10))
    assert tenth.card.counts == {"questions": {"test": 9}, "questions--numbers": {"test": 1}}
    assert fewer.card.counts == {"questions": {"test": 11}}
    assert [one.item_id for one in tenth.items][:2] == ["01", "02"], "numbers of rows have equally many digits"


def test_a_column_of_many_values_is_no_task_unless_it_is_given(tmp_path: Path) -> None:
    """Two rows of a value are a task, fewer none."""
    rows = rows_of(*["words"] * 4, task=["a", "b", "a", "b"])
    assert set(build(tmp_path / "two", rows).card.counts) == {"a", "b"}
    rows = rows_of(*["words"] * 4, task=["a", "b", "c", "a"])
    assert set(build(tmp_path / "few", rows).card.counts) == {"questions"}
    assert set(build(tmp_path / "given", rows, columns={"task": "task"}).card.counts) == {"a", "b", "c"}


def test_images_that_are_alike_or_share_a_row_or_group_are_one_cluster(tmp_path: Path) -> None:
    """A near copy of the first; a row about the second and third; one in the group of the fourth; one alone."""
    pixels = np.asarray(Image.effect_noise((64, 64), 90).resize((16, 16)).resize((64, 64)))
    Image.fromarray(pixels).save(tmp_path / "a.png")
    Image.fromarray(np.maximum(pixels, 4)).save(tmp_path / "near.png")
    images: list[Any] = ["a.png", "near.png", tables.image_text(2), tables.image_text(3), tables.image_text(4)]
    images += [[tables.image_text(2), tables.image_text(3)], tables.image_text(5), tables.image_text(6)]
    rows = [
        {"image": image, "question": f"What {n}?", "answer": "x", "pair": "g" if n in (4, 6) else ""}
        for n, image in enumerate(images)
    ]
    clusters = [one.cluster_id for one in build(tmp_path, rows, columns={"group": "pair"}).items]
    alike = {tuple(n for n, other in enumerate(clusters) if other == cluster) for cluster in clusters}
    assert alike == {(0, 1), (2, 3, 5), (4, 6), (7,)}


def test_a_draw_is_of_each_task_and_in_the_order_of_the_table(tmp_path: Path) -> None:
    rows = rows_of(*["words"] * 12, task=["a", "b"] * 6, split=["test"] * 10 + ["train"] * 2)
    drawn = build(tmp_path / "a", rows, n=2, columns={"task": "task"}, seed=1)
    assert drawn.card.counts == {"a": {"train": 1, "test": 2}, "b": {"train": 1, "test": 2}}
    assert [one.item_id for one in drawn.items] == sorted(one.item_id for one in drawn.items)
    draws = {
        tuple(one.item_id for one in build(tmp_path / f"{seed}", rows, n=2, columns={"task": "task"}, seed=seed).items)
        for seed in range(2, 6)
    }
    assert len(draws) > 1
    planned = tables.plan(tables.write_jsonl(tmp_path / "t.jsonl", rows), columns={"task": "task"})
    assert planned["items"] == {"a": 5, "b": 5}, "a plan counts test items"


def test_the_card_identifies_every_row(tmp_path: Path) -> None:
    """Another id, question, answer or image is another set."""
    usual = {"id": "a", "question": "What?", "answer": "x", "image": tables.image_text(1)}
    changed = [
        usual,
        *({**usual, name: "b"} for name in ("id", "question", "answer")),
        {**usual, "image": tables.image_text(2)},
    ]
    cards = [build(tmp_path / f"{n}", [row], seed=3, skip_bad=n > 0).card.recipe for n, row in enumerate(changed)]
    assert len({card["rows"] for card in cards}) == len(cards)
    assert {name: cards[0][name] for name in ("seed", "n", "columns", "skip_bad")} == {
        "seed": 3, "n": None, "columns": {}, "skip_bad": False,
    }  # fmt: skip
    assert cards[1]["skip_bad"] is True


def test_bad_rows_are_named_and_left_out_only_if_asked(tmp_path: Path) -> None:
    rows = [*rows_of("x", "y", "z"), {"image": tables.image_text(), "question": "", "answer": "x"}]
    with pytest.raises(SnellenError, match=r"line 4, column `question`: empty \(--skip-bad leaves such rows out\)"):
        build(tmp_path / "a", rows)
    notes = build(tmp_path / "b", rows, skip_bad=True).card.notes
    assert (
        notes[0]
        == "read: question from `question`, answer from `answer`, image from `image`; 3 rows; one task; answers: text"
    )
    assert notes[-1].startswith("1 bad rows left out: ")
    with pytest.raises(
        SnellenError, match=r"t\.jsonl: has no usable row; the first: .*line 1, column `question`: empty"
    ):
        build(tmp_path / "c", rows[3:], skip_bad=True)
    with pytest.raises(
        SnellenError, match=r"t\.jsonl: no usable row; the first: .*line 1, column `answer`: 'x' is not a"
    ):
        build(tmp_path / "d", rows[:1], skip_bad=True, columns={"kind": "number"})
    for options, problem in (
        (BuildOptions(tmp_path / "e"), "give --source table=FILE, or a folder of tables"),
        (
            BuildOptions(tmp_path / "e", sources={"table": tmp_path}, balance="answers"),
            "takes no task and no --balance",
        ),
    ):
        with pytest.raises(SnellenError, match=problem):
            SUITE.recipes["table"].build(options)
