"""Rows, columns, tasks and chance of a table by hand: all like fields, both sides of limits, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snellen.core.errors import SnellenError
from snellen.core.item import Item, Media, Option
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.datasets.question_tables import BadRow, RawRow
from snellen.suites.questions.kinds import PROTOCOLS, Named, tasks_of, with_chance
from snellen.suites.questions.prompts import form_of
from snellen.suites.questions.table.answers import READINGS, TableQuestion, read_answer_cell
from snellen.suites.questions.table.columns import find_columns
from snellen.suites.questions.table.images import TableImages
from snellen.suites.questions.table.rows import SPLITS, read_question
from tests.suites.questions import tables

USUAL = ("question", "answer", "image", "id", "task", "hint", "split", "group", "cluster")
IMAGE, VIDEO = Media("a" * 64, "image", "png", 8, 6), Media("b" * 64, "video", "mp4", 8, 6, 2.0)


def read(folder: Path, cells: dict[str, Any], **given: str) -> TableQuestion:
    """The question of a row about one image, with these cells besides."""
    row = {"question": "Which?", "answer": "red", "image": tables.image_text(), **cells}
    images = TableImages(MediaFolder(folder / "media"), folder)
    layout = find_columns(list(row), given, Path("t"))
    return read_question(RawRow(Path("t.csv"), 1, "t.csv line 2", row), layout, images)


@pytest.mark.parametrize("field", [name for name in USUAL if name != "image"])
def test_every_field_can_be_named_and_no_other_changes(field: str) -> None:
    before, after = (vars(find_columns([*USUAL, "mine"], given, Path("t"))) for given in ({}, {field: "mine"}))
    assert before[field] == ("" if field in ("group", "cluster") else field), "groups and clusters are given alone"
    assert (after[field], before["others"]) == ("mine", ("group", "cluster", "mine"))
    assert {name for name in before if before[name] != after[name]} == {field, "others"}


def test_a_field_that_is_given_no_column_has_none_although_a_usual_name_is_there(tmp_path: Path) -> None:
    names = [*USUAL, "options", "A", "B"]
    before = vars(find_columns(names, {}, Path("t")))
    for field, columns in {**{name: [name] for name in ("id", "task", "hint", "split")}, "options": ["A", "B"]}.items():
        after = vars(find_columns(names, {field: ""}, Path("t")))
        assert {name for name in before if before[name] != after[name]} == {field, "others"}
        assert (len(after[field]), set(after["others"])) == (0, {"group", "cluster", "options", *columns})
    for field in ("question", "answer", "image"):
        with pytest.raises(SnellenError, match=f"no column for the {field}"):
            find_columns(names, {field: ""}, Path("t"))
    assert [read(tmp_path, {"hint": "Look."}, **given).text for given in ({}, {"hint": ""})] == [
        "Look.\nWhich?", "Which?",
    ]  # fmt: skip


def test_the_first_of_the_usual_names_counts_and_numbers_are_in_order() -> None:
    layout = find_columns(["gt", "Question", "question", "answer", "image_2", "image_10", "image_1"], {}, Path("t"))
    assert (layout.question, layout.answer, layout.images) == ("Question", "answer", ("image_1", "image_2", "image_10"))
    cases: dict[str, tuple[str, ...]] = {
        "option_10 option_2 option_1": ("option_1", "option_2", "option_10"), "opt_b opt_a": ("opt_a", "opt_b"),
        "b a": ("a", "b"), "option_a": (), "A C": (), "options choices": ("options",),
    }  # fmt: skip
    for names, options in cases.items():
        assert find_columns(["question", "answer", "image", *names.split()], {}, Path("t")).options == options
    given = {"factors": "size+place", "image": "image+group"}
    assert find_columns([*USUAL, "A", "B", "C", "size", "place"], given, Path("t")).describe(False) == (
        "question from `question`, hint from `hint`, options from `A`..`C`, answer from `answer`, image from `image` "
        "and `group`, id from `id`, split from `split`, factors from `size`, `place`"
    )
    plain, ends = find_columns(["question", "answer", "image", "video"], {}, Path("t")), "image from `image` or `video`"
    assert plain.describe(False) == f"question from `question`, answer from `answer`, {ends}"
    assert plain.describe(True) == f"question from `question`, options from the question, answer from `answer`, {ends}"


def test_a_row_keeps_its_names_images_and_options(tmp_path: Path) -> None:
    cells = {"id": 7.0, "task": " Art ", "split": "Training", "size": 3.5, "kind": "", "hint": "Look.\r\nTwice.\rOr."}
    row = read(tmp_path, {**cells, "g": 2, "c": "x"}, factors="size+kind", group="g", cluster="c")
    assert (row.id, row.task, row.split, row.group, row.cluster) == ("7", "Art", "train", "2", "x")
    assert (row.factors, row.text) == ({"size": "3.5", "kind": "none"}, "Look.\nTwice.\nOr.\nWhich?")
    assert (read(tmp_path, {"split": ""}).split, SPLITS["calibration"]) == ("test", "calibration")
    assert read(tmp_path, {"task": "x" * 200}).task == "x" * 200
    first, second = tables.image_text(1), tables.image_text(2)
    first_images, second_images = (read(tmp_path, {"image": text}).images for text in (first, second))
    assert read(tmp_path, {"image": first, "img": second}).images == first_images
    assert read(tmp_path, {"image": "", "img": second}).images == second_images
    assert read(tmp_path, {"image": first, "img": second}, image="image+img").images == (*first_images, *second_images)
    many = read(tmp_path, {"options": [f"thing {n}" for n in range(27)]}).options
    assert (many[0], many[-1]) == (("1", "thing 0"), ("27", "thing 26"))
    assert read(tmp_path, {"options": [1.0, 2.5, 3]}).options == (("A", "1"), ("B", "2.5"), ("C", "3"))
    assert read(tmp_path, {"options": {"A": "red", "B": "blue"}}).options == (("A", "red"), ("B", "blue"))
    assert read(tmp_path, {"options": ["A. red", "B. blue"], "answer": ["B. blue", "red"]}).answer == ["blue", "red"]
    assert read(tmp_path, {"question": "Which?\n(a) red\n(b) blue", "answer": "a long word"}).options == ()
    bad: list[tuple[str, Any, str]] = [
        ("task", "x" * 201, ".* is not a name of at most 200"), ("image", "", "no image"),
        ("split", "exam", "split 'exam'; write train"), ("options", ["red", None], "an empty option"),
        ("options", ["red"], "only one option"), ("options", 3, "3 is not a list of options"),
        *(("options", dict.fromkeys(keys, "x"), ".* is not a list of options") for keys in ("BA", "AC", "ab")),
    ]  # fmt: skip
    for column, cell, problem in bad:
        with pytest.raises(BadRow, match=f"column `{column}`: {problem}"):
            read(tmp_path, {column: cell, "img": ""})


def question(answer: Any, *texts: str) -> TableQuestion:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ+"
    return TableQuestion(RawRow(Path(), 1, "line 2", {}), "?", answer, (), tuple(zip(letters, texts, strict=False)))


MANY = tuple(map(str, range(100, 127)))
ANSWERS: list[tuple[Any, TableQuestion, Any]] = [
    ("integer", question(" +7 "), 7), ("number", question("-1.5e2"), -150.0), ("true_false", question("YES"), "true"),
    ("text", question(["a", "b"]), ("a", "b")), ("true_false", question("False"), "false"),
    ("text", question("['a', 'b ', '']"), ("a", "b")), ("text", question('["a"]'), ("a",)),
    *(("text", question(text), text) for text in ("[1,2]", "['']", "['a',1]", "[]", "[a]", "['a'\t'b']")),
    ("choices", question(["green", "A"], "red", "blue", "green"), ("A", "C")),
    ("choice", question("A, B", "red", "blue"), "'A, B' is not one of A, B"),
    ("choices", question("A, Z", "red", "blue"), "'A, Z' is not some of A, B"),
    ("choice", question("red"), "'red' is not one of no options"),
    ("choices", question(["A", "B"], *MANY), "several of more than 26 options"),
    ("true_false", question("maybe"), "'maybe' is neither true nor false, yes nor no"),
    ("integer", question("1.5"), "'1.5' is not a whole number"), ("number", question("1,5"), "'1,5' is not a number"),
    ("text", question([1, 2]), "'[1, 2]' is a list of numbers; boxes and other vectors are not read"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "question", "expected"), ANSWERS)
def test_an_answer_is_of_its_kind_or_refused_with_its_column(kind: Any, question: TableQuestion, expected: Any) -> None:
    if not isinstance(expected, str) or " " not in expected:
        answer = read_answer_cell(question, kind, READINGS[0], "key")
        assert (answer, type(answer)) == (expected, type(expected))
        return
    with pytest.raises(BadRow) as error:
        read_answer_cell(question, kind, READINGS[0], "key")
    assert str(error.value) == f"line 2, column `key`: {expected}"


def item(name: str, answer: Any, kind: Any = "integer", texts: Sequence[str] = (), **changes: Any) -> Item:
    """An item with an image and options of these texts."""
    options = tuple(Option(key, text) for key, text in zip("ABCDEFGHIJKLMNOPQRSTUVWXYZabc", texts, strict=False))
    plain = Item(name, "questions", "t", "Which?", (IMAGE,), answer, kind, "s", name, name, options=options)
    return replace(plain, **changes)


def test_the_chance_of_a_free_answer_is_the_score_of_other_answers_of_its_task() -> None:
    """Answers 3, 3 and 4; the other task, training items and choices have no part in it. Of texts the first is said."""
    items = [item("a", 3), item("b", 3), item("c", 4), item("d", 3, split="train"), item("e", 3, task="u")]
    chances = [dict(item.measures) for item in with_chance([*items, item("f", "A", "choice", ("x", "y"))])]
    assert chances == [{"chance_accuracy": chance} for chance in (0.5, 0.5, 0.0)] + [{}] * 3
    numbers = with_chance([item(name, value, "number") for name, value in (("a", 1.0), ("b", 1.02), ("c", 9.0))])
    assert dict(numbers[0].measures) == {"chance_accuracy": 0.0, "chance_relaxed_accuracy": 0.5}
    texts = [item("a", ("stop", "halt"), "text"), item("b", "halt", "text"), item("c", "step", "text")]
    first, second, third = (dict(item.measures) for item in with_chance(texts))
    assert first == {"chance_accuracy": 0.5, "chance_anls": (1 + 0.75) / 2}
    assert (second["chance_accuracy"], third["chance_anls"]) == (0.0, 0.75 / 2)
    assert PROTOCOLS["text"].agrees is not None
    assert [PROTOCOLS["text"].agrees(texts[1], words) for words in ("Halt.", "hal")] == [True, False]
    exact = [PROTOCOLS["number"].metrics[0].score(item("a", -40.0, "number"), value) for value in (-40.00003, -40.001)]
    assert exact == [1, 0]


def test_a_task_is_as_all_of_its_items_are() -> None:
    """One of three items is a video, shows images as options, is for training, or shares a group with another."""
    plain = [item(name, "A", "choice", ("x", "y"), factors={"half": "1"}) for name in "abc"]

    def task(**changes: Any) -> Any:
        return tasks_of([*plain[:2], replace(plain[2], **changes)])["t"]

    usual, grouped = task(), task(group_id="a").protocols["all-right"]
    assert (usual.axes, usual.train_split, usual.split_by) == (("method", "order", "images"), None, ("half",))
    assert (list(usual.protocols), usual.schedule, usual.question_for_people is None) == (["strict"], None, False)
    assert task(query=(IMAGE, VIDEO)).axes == ("method", "order", "frames", "images")
    assert task(options=(Option("A", "x"), Option("B", "<image 2>"))).question_for_people is None
    assert (task(split="train").train_split, grouped.name) == ("train", "all-right")
    assert grouped.units is not usual.protocols["strict"].units
    (levels,) = tasks_of([replace(plain[0], measures={"sent_level": 0.0}), plain[1]]).values()
    assert (list(levels.protocols), levels.split_by, levels.schedule is None) == (["strict"], (), False)
    several = tasks_of([item(name, ("A",), "choices", ("x", "y"), group_id="g") for name in "ab"])["t"]
    assert [metric.name for metric in several.protocols["all-right"].metrics] == ["accuracy"]
    listed = item("a", "A", "choice", ("C", "red"), question="Which? (A) C (B) red")
    words = item("b", "A", "choice", [f"thing {n}" for n in range(27)])
    few, many = (Named()(item.view(), MediaFolder(Path()), np.random.default_rng(0)) for item in (listed, words))
    assert few.reply.keys == (("A", "A"), ("B", "B"), ("red", "B")), "an option that is a letter would name two"
    assert (many.reply.keys[0], form_of(many)) == (("thing 0", "A"), "one of the options")


def build(folder: Path, rows: Sequence[Any], **options: Any) -> ItemSet:
    folder.mkdir(exist_ok=True)
    return tables.build_set(tables.write_jsonl(folder / "t.jsonl", rows), folder / "set", **options)


def test_a_plan_writes_nothing(tmp_path: Path) -> None:
    row = {"question": "What?", "answer": "x", "image": tables.image_text()}
    path = tables.write_jsonl(tmp_path / "t.jsonl", [row])
    assert tables.plan(path)["items"] == {"questions": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_each_seed_draws_other_questions_in_the_order_of_the_table(tmp_path: Path) -> None:
    rows = [{"question": f"What is {n}?", "answer": "x", "image": tables.image_text(n)} for n in range(20)]
    samples = [
        [item.question for item in build(tmp_path / f"{n}", rows, n=6, seed=seed).items]
        for n, seed in enumerate((0, 0, 1, 2))
    ]
    assert samples[0] == samples[1]
    assert len({tuple(questions) for questions in samples}) == 3
    for questions in samples:
        assert questions == [row["question"] for row in rows if row["question"] in questions]
        assert len(questions) == 6


def test_the_card_identifies_every_row_and_bad_ones_are_left_out_only_if_asked(tmp_path: Path) -> None:
    """Another id, question, answer or image is another set."""
    row = {"id": "a", "question": "What?", "answer": "x", "image": tables.image_text(1)}
    changed = [
        row,
        *(row | {name: "b"} for name in ("id", "question", "answer")),
        row | {"image": tables.image_text(2)},
    ]
    cards = [build(tmp_path / f"{n}", [cells], seed=n, skip_bad=n > 0).card.recipe for n, cells in enumerate(changed)]
    assert len({card["rows"] for card in cards}) == len(cards)
    assert [(card["seed"], card["skip_bad"]) for card in cards[:2]] == [(0, False), (1, True)]
    bad = {**row, "id": "z", "question": ""}
    with pytest.raises(SnellenError, match=r"line 2, column `question`: empty \(--skip-bad leaves such rows out\)"):
        build(tmp_path / "a", [row, bad])
    assert build(tmp_path / "b", [row, bad], skip_bad=True).card.notes[-1].startswith("1 bad rows left out: ")
    with pytest.raises(SnellenError, match=r"has no usable row; the first: .*line 1, column `question`: empty"):
        build(tmp_path / "c", [bad], skip_bad=True)
    with pytest.raises(SnellenError, match=r"no usable row; the first: .*column `answer`: 'x' is not a number"):
        build(tmp_path / "d", [row], skip_bad=True, columns={"kind": "number"})
