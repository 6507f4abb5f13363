"""Rows and columns by hand: every field, names, options, images, splits, and what is refused with its column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from snellen.core.errors import SnellenError
from snellen.core.item import Media
from snellen.core.storage.media import MediaFolder
from snellen.datasets.question_tables import BadRow, RawRow
from snellen.suites.questions.table.answers import READINGS, TableQuestion, find_reading, read_answer_cell
from snellen.suites.questions.table.columns import find_columns
from snellen.suites.questions.table.images import TableImages
from snellen.suites.questions.table.rows import SPLITS, read_question, safe_name
from tests.suites.questions import tables

USUAL = ("question", "answer", "image", "id", "task", "hint", "split", "group", "cluster")


def row_of(cells: dict[str, Any]) -> RawRow:
    return RawRow(Path("t.csv"), 1, "t.csv line 2", cells)


def read(folder: Path, cells: dict[str, Any], **given: str) -> TableQuestion:
    """The question of a row about one image, with these cells besides."""
    row = {"question": "Which?", "answer": "red", "image": tables.image_text(), **cells}
    layout = find_columns(list(row), given, Path("t.csv"))
    return read_question(row_of(row), layout, TableImages(MediaFolder(folder / "media"), folder))


@pytest.mark.parametrize("field", [name for name in USUAL if name != "image"])
def test_every_field_can_be_named_and_no_other_changes(field: str) -> None:
    usual, named = (find_columns([*USUAL, "mine"], given, Path("t")) for given in ({}, {field: "mine"}))
    before, after = vars(usual), vars(named)
    assert before[field] == ("" if field in ("group", "cluster") else field), "groups and clusters are given alone"
    assert after[field] == "mine"
    assert usual.others == ("group", "cluster", "mine")
    assert {name for name in before if before[name] != after[name]} == {field, "others"}


def test_the_first_of_the_usual_names_counts_and_numbers_are_in_order() -> None:
    layout = find_columns(["gt", "Question", "question", "answer", "image_2", "image_10", "image_1"], {}, Path("t"))
    assert (layout.question, layout.answer, layout.images) == ("Question", "answer", ("image_1", "image_2", "image_10"))
    rest = ["question", "answer", "image"]
    for names, options in (
        (["option_10", "option_2", "option_1"], ("option_1", "option_2", "option_10")),
        (["opt_b", "opt_a"], ("opt_a", "opt_b")), (["b", "a"], ("a", "b")), (["option_a"], ()), (["A", "C"], ()),
        (["options", "choices"], ("options",)),
    ):  # fmt: skip
        assert find_columns([*rest, *names], {}, Path("t")).options == options
    with pytest.raises(
        SnellenError, match=r"no column for the image; it has question, answer\. Name it with --map image="
    ):
        find_columns(["question", "answer"], {}, Path("t"))


def test_a_layout_tells_every_source() -> None:
    names = [*USUAL, "A", "B", "C", "size", "place"]
    given = {"factors": "size+place", "image": "image+group"}
    assert find_columns(names, given, Path("t")).describe(False) == (
        "question from `question`, hint from `hint`, options from `A`..`C`, answer from `answer`, image from `image` "
        "and `group`, id from `id`, split from `split`, factors from `size`, `place`"
    )
    plain = find_columns(["question", "answer", "image", "video"], {}, Path("t"))
    ends = "answer from `answer`, image from `image` or `video`"
    assert plain.describe(False) == f"question from `question`, {ends}"
    assert plain.describe(True) == f"question from `question`, options from the question, {ends}"


def test_the_first_filled_column_has_the_image_unless_all_are_shown(tmp_path: Path) -> None:
    first, second = tables.image_text(1), tables.image_text(2)
    hashes = [read(tmp_path, {"image": text}).images for text in (first, second)]
    assert read(tmp_path, {"image": first, "img": second}).images == hashes[0]
    assert read(tmp_path, {"image": "", "img": second}).images == hashes[1]
    assert read(tmp_path, {"image": first, "img": second}, image="image+img").images == (*hashes[0], *hashes[1])
    with pytest.raises(BadRow, match="column `image`: no image"):
        read(tmp_path, {"image": "", "img": ""})


def test_a_row_keeps_its_names_as_written(tmp_path: Path) -> None:
    cells = {
        "id": 7.0,
        "task": " Art ",
        "split": "Training",
        "size": 3.5,
        "kind": "",
        "hint": "Look.\r\nTwice.\rOr not.",
    }
    question = read(tmp_path, {**cells, "g": 2, "c": "x"}, factors="size+kind", group="g", cluster="c")
    assert (question.id, question.task, question.split) == ("7", "Art", "train")
    assert (question.group, question.cluster) == ("2", "x")
    assert question.factors == {"size": "3.5", "kind": "none"}
    assert question.text == "Look.\nTwice.\nOr not.\nWhich?"
    assert read(tmp_path, {"split": ""}).split == "test"
    assert read(tmp_path, {"task": "x" * 200}).task == "x" * 200
    for column, cell in (("task", "x" * 201), ("id", [1])):
        with pytest.raises(BadRow, match=f"column `{column}`: .* is not a name of at most 200 characters"):
            read(tmp_path, {column: cell})
    with pytest.raises(BadRow, match="column `split`: split 'exam'"):
        read(tmp_path, {"split": "exam"})
    assert [SPLITS[name] for name in ("training", "calibration", "test")] == ["train", "calibration", "test"]


def test_options_of_a_list(tmp_path: Path) -> None:
    many = read(tmp_path, {"options": [f"thing {n}" for n in range(27)], "answer": "thing 26"})
    assert (many.options[0], many.options[-1]) == (("1", "thing 0"), ("27", "thing 26"))
    numbers = read(tmp_path, {"options": [1.0, 2.5, 3], "answer": "3"})
    assert numbers.options == (("A", "1"), ("B", "2.5"), ("C", "3"))
    labelled = read(tmp_path, {"options": ["A. red", "B. blue"], "answer": ["B. blue", "red"]})
    assert (labelled.answer, labelled.is_labelled, labelled.is_listed) == (["blue", "red"], True, False)
    for cell, problem in (
        (["red", None], "an empty option"),
        (["red", ""], "empty"),
        (["red"], "only one option"),
        (3, "3 is not a list of options"),
    ):
        with pytest.raises(BadRow, match=f"column `options`: {problem}"):
            read(tmp_path, {"options": cell})
    listed = read(tmp_path, {"question": "Which?\n(a) red\n(b) blue", "answer": "a long sentence"})
    assert (listed.options, listed.is_listed) == ((), False), "the answer names none of them"


def question(answer: Any, *texts: str) -> TableQuestion:
    return TableQuestion(
        row_of({}), "Which?", answer, (), tuple(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ+", texts, strict=False))
    )


@pytest.mark.parametrize(
    ("kind", "asked", "problem"),
    [
        ("choice", question("A, B", "red", "blue"), "'A, B' is not one of A, B"),
        ("choices", question("A, Z", "red", "blue"), "'A, Z' is not some of A, B"),
        ("choice", question("red"), "'red' is not one of no options"),
        ("choices", question(["A", "B"], *map(str, range(100, 127))), "several of more than 26 options"),
        ("true_false", question("maybe"), "'maybe' is neither true nor false, yes nor no"),
        ("integer", question("1.5"), "'1.5' is not a whole number"),
        ("number", question("1,5"), "'1,5' is not a number"),
        ("text", question([1, 2]), "'[1, 2]' is a list of numbers; boxes and other vectors are not read"),
    ],
)  # fmt: skip
def test_an_answer_of_another_kind_is_refused_with_its_column(kind: Any, asked: TableQuestion, problem: str) -> None:
    with pytest.raises(BadRow) as error:
        read_answer_cell(asked, kind, READINGS[0], "key")
    assert str(error.value) == f"t.csv line 2, column `key`: {problem}"


def test_answers_are_read_in_the_terms_of_their_kind() -> None:
    cells = [
        ("integer", " +7 ", 7),
        ("number", "-1.5e2", -150.0),
        ("text", ["a", "b"], ("a", "b")),
        ("text", " x ", "x"),
    ]
    words = [("true_false", word, truth) for word, truth in (("True", "true"), ("YES", "true"), ("False", "false"))]
    for kind, cell, value in (*cells, *words):
        answer = read_answer_cell(question(cell), kind, READINGS[0], "key")  # type: ignore[arg-type]
        assert (answer, type(answer)) == (value, type(value))
    options = ("red", "blue", "green")
    assert read_answer_cell(question("2", *options), "choice", READINGS[1], "key") == "C"
    assert read_answer_cell(question("2", *options), "choice", READINGS[2], "key") == "B"
    assert read_answer_cell(question(["green", "A"], *options), "choices", READINGS[0], "key") == ("A", "C")


def test_the_reading_of_most_answers_counts() -> None:
    """Two letters and one number: the number is a bad row, not a reason to read numbers."""
    options = ("red", "blue", "green")
    assert find_reading([question(cell, *options) for cell in ("A", "blue", "0")]) == READINGS[0]
    assert find_reading([question(cell, *options) for cell in ("0", "2", "B")]) == READINGS[1]


def test_names_of_tasks_are_safe_and_short() -> None:
    assert safe_name("  Ärger & Co./2 ") == "rger-co-2"
    assert safe_name("x" * 59 + " long") == "x" * 59, "no hyphen at the end"
    assert safe_name("x" * 99) == "x" * 60


def test_images_are_found_by_path_number_and_text(tmp_path: Path) -> None:
    """A reference is short and has neither a dot nor a slash; a file that is named twice is one image."""
    images = TableImages(MediaFolder(tmp_path / "media"), tmp_path)
    name = tables.image_file(tmp_path, 1)
    (stored,) = images.read(name)
    assert isinstance(stored, Media)
    assert images.read([name, f" {name} "]) == (stored, stored)
    assert images.read(f"data:image/png;base64,{tables.image_text(1)}") == (stored,)
    assert images.read({"bytes": tables.image_bytes(1), "path": "x"}) == (stored,)
    assert images.read({"bytes": None, "path": name}) == (stored,)
    assert (images.read(12), images.read("x" * 64)) == (("12",), ("x" * 64,))
    assert images.read(None) == images.read("") == images.read([]) == ()
    for wrong in ("x" * 65, "a.b", "a/b"):
        with pytest.raises(SnellenError, match=f"no image '{wrong}' in .*; give --source images=DIR"):
            images.read(wrong)
    for cell in (True, 1.5, [["x"]]):
        with pytest.raises(SnellenError, match="is neither a path nor an image"):
            images.read(cell)
