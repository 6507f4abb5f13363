"""Options and answers of a table by hand: labels, lists in questions, names of options, kinds, columns."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from snellen.core.errors import SnellenError
from snellen.datasets.question_tables import QuestionTable, RawRow
from snellen.suites.questions.lists import as_list, options_in, without_labels
from snellen.suites.questions.table.answers import (
    READINGS,
    TableQuestion,
    find_kind,
    find_reading,
    option_keys,
    refuse_lost_options,
)
from snellen.suites.questions.table.columns import find_columns
from snellen.suites.questions.table.rows import SPLITS
from tests.suites.questions import tables


def question(answer: Any, *texts: str) -> TableQuestion:
    row = RawRow(Path("t.csv"), 1, "t.csv line 2", {})
    return TableQuestion(row, "Which?", answer, (), tuple(zip("ABCD", texts, strict=False)))


@pytest.mark.parametrize(
    ("options", "bare"),
    [
        (["A. red", "B. blue"], ["red", "blue"]), (["(a) red", "(b) blue"], ["red", "blue"]),
        (["0. red", "1. blue"], ["red", "blue"]), (["1) red", "2) blue", "3) red"], ["red", "blue", "red"]),
        (["A. red", "C. blue"], None), (["B. red", "C. blue"], None), (["2. red", "3. blue"], None),
        (["A. red", "A. blue"], None), (["A. red", "blue"], None), (["B. red", "A. blue"], None), (["A. red"], None),
    ],
)  # fmt: skip
def test_labels_are_taken_off_if_they_count_from_the_first(options: list[str], bare: list[str] | None) -> None:
    assert without_labels(options) == (bare or options)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("Rows: (a) first (b) second? Choose: (a) red (b) blue", (("a", "red"), ("b", "blue"))),
        ("Which?\nA. red\nB. blue", (("A", "red"), ("B", "blue"))), ("Is (a) in (b)?", ()), ("Which? (b) x (c) y", ()),
    ],
)  # fmt: skip
def test_the_last_list_of_a_question_counts(text: str, options: tuple[tuple[str, str], ...]) -> None:
    assert options_in(text) == options


def test_a_list_of_very_many_values_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snellen.core.storage.user_files.MAX_LITERAL", 8)
    monkeypatch.setattr("snellen.core.storage.user_files.MAX_CELLS", 4)
    assert as_list('["a", "b", "c", "d"]') == as_list("['a', 'b', 'c', 'd']") == list("abcd")
    assert as_list('["a", "b", "c", "d", "e"]') is as_list("['a', 'b', 'c', 'd', 'e']") is None


@pytest.mark.parametrize("text", ["[{[]: 1}]", "[" * 5000, "[1", "{}"])
def test_a_text_that_is_no_list_is_none(text: str) -> None:
    assert as_list(text) is None


@pytest.mark.parametrize(
    ("answer", "keys"),
    [("C", ("A",)), ("A", None), ("B", ("B",)), ("A, B", None), ("B. A", ("B",)), ("A. A", None), ("D", None)],
)
def test_a_text_that_is_the_label_of_another_option_names_none(answer: str, keys: tuple[str, ...] | None) -> None:
    assert option_keys(question(answer, "C", "A"), READINGS[0]) == keys


def test_numbers_of_options_are_read_only_if_one_reading_fits() -> None:
    names = ("red", "blue", "green")
    assert find_reading([question("0", *names), question("2", *names)]) == READINGS[1]
    assert find_reading([question("3", *names), question("1", *names)]) == READINGS[2]
    with pytest.raises(SnellenError, match="the first may be 0 or 1"):
        find_reading([question("1", *names), question("2", *names)])
    assert find_reading([question("1", "1", "2"), question("2", "1", "2")]) == READINGS[0]
    with pytest.raises(SnellenError, match="may be texts or numbers of options"):
        find_reading([question("1", "2", "1"), question("2", "2", "1")])


def test_kinds_are_those_of_all_answers() -> None:
    kinds = [find_kind([question(cell) for cell in cells], READINGS[0]) for cells in
             (["1", "2"], ["1.5", "2"], ["1", "2 m"], ["yes", "no"], ["1", "01"], ["-3", "+4"])]  # fmt: skip
    assert kinds == ["integer", "number", "text", "true_false", "number", "integer"]


def test_letters_without_options_are_refused() -> None:
    with pytest.raises(SnellenError, match="all answers are letters, but no options were found"):
        refuse_lost_options([question("A"), question("B")], [], ["choices"])
    with pytest.raises(SnellenError, match="small numbers"):
        refuse_lost_options([question("0"), question("3")], ["choices"], [])
    refuse_lost_options([question("0"), question("3")], [], ["choices"])
    refuse_lost_options([question("A"), question("red")], [], ["choices"])
    refuse_lost_options([question("1" * 5000), question("2" * 5000)], ["choices"], [])


def test_an_answer_of_many_spaces_is_split_in_a_moment() -> None:
    assert option_keys(question("A , and  B\n&C", "red", "blue", "green"), READINGS[0]) is None
    assert option_keys(question("A , B\n&  C and A", "red", "blue", "green"), READINGS[0]) == ("A", "B", "C")
    start = time.process_time()
    assert option_keys(question(f"A{' ' * 50_000}B", "red", "blue"), READINGS[0]) is None
    assert time.process_time() - start < 2


def test_columns_are_found_in_any_case_and_validation_is_asked() -> None:
    layout = find_columns(["Question", "ANSWER", "Image", "VIDEO", "b", "c"], {}, Path("t"))
    assert (layout.question, layout.answer, layout.images, layout.options) == (
        "Question", "ANSWER", ("Image", "VIDEO"), ()
    )  # fmt: skip
    assert not layout.all_images
    both = find_columns(["question", "answer", "image_2", "image_1", "A", "B"], {}, Path("t"))
    assert (both.images, both.all_images, both.options) == (("image_1", "image_2"), True, ("A", "B"))
    assert [SPLITS[name] for name in ("dev", "val", "testmini", "train")] == ["test", "test", "test", "train"]


def test_two_columns_of_one_name_are_refused_and_a_row_with_a_cell_too_many_is_faulty(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("question,answer\na,b\na,b,c\n")
    assert [row.fault for row in QuestionTable(tmp_path / "t.csv").rows()] == [
        "", "has 3 cells, but the header has 2"
    ]  # fmt: skip
    (tmp_path / "t.csv").write_text("question,answer,answer\na,b,c\n")
    with pytest.raises(SnellenError, match="two columns are called 'answer'"):
        list(QuestionTable(tmp_path / "t.csv").rows())


def test_a_question_with_one_option_is_refused(tmp_path: Path) -> None:
    rows = [
        {"image": tables.image_text(), "question": "Which?", "A": "red", "B": blue, "answer": "A"}
        for blue in ("blue", "")
    ]
    with pytest.raises(SnellenError, match="only one option"):
        tables.build_set(tables.write_csv(tmp_path / "t.csv", rows), tmp_path / "items")
