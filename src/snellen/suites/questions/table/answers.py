"""The answers of a table, and their kind: found from all rows of a task, never guessed for one row."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import Any

from snellen.core.errors import SnellenError
from snellen.core.item import AnswerKind, Media, Split
from snellen.datasets.question_tables import RawRow
from snellen.suites.questions.lists import as_list
from snellen.suites.questions.table.images import Reference

READINGS = ("letter or text", "number of the option from 0", "number of the option from 1")
"""How an answer names an option. All rows of a table are read in the same way."""
TRUTHS = {"true": "true", "yes": "true", "false": "false", "no": "false"}
WORDS = {"true": ("True", "False"), "false": ("True", "False"), "yes": ("Yes", "No"), "no": ("Yes", "No")}
INTEGER = re.compile(r"[-+]?(?:0|[1-9]\d{0,14})")
NUMBER = re.compile(r"[-+]?\d{1,15}(?:\.\d{1,15})?(?:[eE][-+]?\d{1,2})?")
DECIMAL_COMMA = re.compile(r"[-+]?\d{1,15},\d{1,15}")
SEPARATOR = re.compile(r"(?:(?<!\s)\s+)?(?:[,;&]|\band\b)\s*")
LABELLED = re.compile(r"[(\[]?([A-Za-z])[)\].:]{1,2}\s{1,4}(.+)", re.DOTALL)


@dataclass(frozen=True)
class TableQuestion:
    """A row in the terms of an item, with its answer as written.

    `is_listed`: the question lists its options itself; `is_labelled`: the options had labels, which were taken off.
    """

    row: RawRow
    text: str
    answer: Any
    images: tuple[Media | Reference, ...]
    options: tuple[tuple[str, str], ...] = ()
    is_listed: bool = False
    is_labelled: bool = False
    id: str = ""
    task: str = ""
    split: Split = "test"
    group: str = ""
    cluster: str = ""
    factors: Mapping[str, str] = field(default_factory=dict)


def option_keys(question: TableQuestion, reading: str) -> tuple[str, ...] | None:
    """The sorted keys that the answer names under a reading; None if a part of it names none."""
    cell = question.answer
    parts = cell if isinstance(cell, list) else as_list(cell) if str(cell).startswith("[") else None
    if parts is None:
        if (key := _key(cell, question.options, reading)) is not None:
            return (key,)
        text = str(cell)
        is_compact = text.isupper() and text.isalpha() and list(text) == sorted(set(text))
        parts = list(text) if is_compact else SEPARATOR.split(text)
    keys = [_key(part, question.options, reading) for part in parts]
    return tuple(sorted({key for key in keys if key})) if keys and None not in keys else None


def _key(part: Any, options: Sequence[tuple[str, str]], reading: str) -> str | None:
    text = _folded(str(part))
    if reading != READINGS[0]:
        number = int(text) - READINGS.index(reading) + 1 if INTEGER.fullmatch(text) else -1
        return options[number][0] if 0 <= number < len(options) else None
    labels = {key.casefold(): key for key, _ in options}
    texts = Counter(_folded(text) for _, text in options)
    by_label = labels.get(text.strip("()[].: "))
    if texts[text] == 1:
        by_text = next(key for key, option in options if _folded(option) == text)
        return by_text if by_label in (None, by_text) else None  # the text "A" of the option B
    if by_label:
        return by_label
    match = LABELLED.fullmatch(text)
    is_pair = match and match[1] in labels and (labels[match[1]], match[2]) in [(k, _folded(t)) for k, t in options]
    return labels[match[1]] if match and is_pair else None


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def find_reading(questions: Sequence[TableQuestion]) -> str:
    """The reading under which most answers name an option.

    Raises SnellenError if the first option may be 0 or 1, and if numbers may be texts or numbers of options.
    """
    counts = Counter({r: sum(option_keys(q, r) is not None for q in questions) for r in READINGS})
    by_text, from_0, from_1 = (counts[reading] for reading in READINGS)
    if from_0 == from_1 > by_text:
        raise SnellenError(
            "the answers are numbers of options, and the first may be 0 or 1; write the letters or the texts of options"
        )
    if by_text == len(questions) in (from_0, from_1):
        keys = [[option_keys(question, reading) for question in questions] for reading in READINGS]
        if keys[0] not in keys[1:]:
            raise SnellenError(
                "the answers are numbers, which may be texts or numbers of options; write the letters of options"
            )
    return max(READINGS, key=lambda reading: counts[reading])


def refuse_lost_options(questions: Sequence[TableQuestion], lists: Sequence[str], others: Sequence[str]) -> None:
    """Raise SnellenError if the answers look like names of options, but the table shows none.

    These are letters up to J, or small numbers beside columns of `lists`; the message names the columns not used.
    """
    answers = {str(question.answer).strip() for question in questions}
    is_lettered = all(len(answer) == 1 and answer in ascii_uppercase[:10] for answer in answers)
    is_numbered = bool(lists) and all(re.fullmatch(r"0{0,8}\d", answer) for answer in answers)
    if len(answers) > 1 and (is_lettered or is_numbered) and not any(question.options for question in questions):
        columns = ", ".join(f"`{name}`" for name in (lists or others)[:10]) or "none"
        raise SnellenError(
            f"all answers are {'letters' if is_lettered else 'small numbers'}, but no options were found (columns not "
            f"used: {columns}); name theirs with --map options=COLUMN, or the kind of the answers with --map kind=text"
        )


def find_kind(questions: Sequence[TableQuestion], reading: str) -> AnswerKind:
    """The kind of answer of a task, from all of its rows: either all of them have options or none has."""
    if all(truth_words(question) for question in questions):
        return "true_false"
    if questions[0].options:
        keys = [option_keys(question, reading) or () for question in questions]
        return "choices" if max(map(len, keys)) > 1 else "choice"
    cells = [question.answer for question in questions]
    if any(isinstance(cell, list) for cell in cells):
        return "text"
    if all(INTEGER.fullmatch(str(cell)) for cell in cells):
        return "integer"
    return "number" if all(NUMBER.fullmatch(str(cell)) for cell in cells) else "text"


def truth_words(question: TableQuestion) -> tuple[str, str] | None:
    """The words for true and false if the answer is one of them, and the options, if there are any, both; else None."""
    words = WORDS.get(str(question.answer).strip().casefold())
    texts = {_folded(text) for _, text in question.options}
    is_alike = words is not None and (not texts or texts == {text.casefold() for text in words})
    return words if is_alike and not question.is_listed else None


def read_answer_cell(question: TableQuestion, kind: AnswerKind, reading: str, column: str) -> Any:
    """The answer in the item's terms. Raises BadRow if it is not of this kind."""
    cell, text = question.answer, str(question.answer).strip()
    if kind in ("choice", "choices"):
        keys = option_keys(question, reading)
        if keys is None or (kind == "choice" and len(keys) != 1):
            names = ", ".join(key for key, _ in question.options) or "no options"
            raise question.row.bad(column, f"{text!r:.60} is not {'one' if kind == 'choice' else 'some'} of {names}")
        if kind == "choices" and len(question.options) > len(ascii_uppercase):
            raise question.row.bad(column, f"several of more than {len(ascii_uppercase)} options")
        return keys[0] if kind == "choice" else keys
    if kind == "true_false":
        if not truth_words(question):
            raise question.row.bad(column, f"{text!r:.60} is neither true nor false, yes nor no")
        return TRUTHS[text.casefold()]
    if kind in ("integer", "number"):
        if not (INTEGER if kind == "integer" else NUMBER).fullmatch(text):
            raise question.row.bad(column, f"{text!r:.60} is not {'a whole' if kind == 'integer' else 'a'} number")
        return int(text) if kind == "integer" else float(text)
    listed = as_list(text) if isinstance(cell, str) and text.startswith("[") else None
    if listed and all(isinstance(part, str) for part in listed):
        cell = [part.strip() for part in listed if part.strip()] or text
    if isinstance(cell, list) and not all(isinstance(part, str) for part in cell):
        raise question.row.bad(column, f"{text!r:.60} is a list of numbers; boxes and other vectors are not read")
    return tuple(cell) if isinstance(cell, list) else text


def clean_answer(row: RawRow, column: str) -> Any:
    """The text of the cell, or a list of texts and numbers. Raises BadRow for an empty cell, and for structures."""
    cell = row.cells.get(column)
    parts = cell if isinstance(cell, list) else [cell]
    parts = [part for part in parts if part != "" and not str(part).isspace()] or parts
    if not parts or not all(isinstance(part, str | int | float) and str(part).strip() for part in parts):
        raise row.bad(column, "no answer" if cell in (None, []) else "neither a text, a number, nor a list of these")
    plain = [part.strip() if isinstance(part, str) else _whole(part) for part in parts]
    return plain if isinstance(cell, list) else str(plain[0])


def _whole(part: Any) -> Any:
    """3 for 3.0: a column of integers with gaps is one of floats in many tools."""
    return int(part) if isinstance(part, float) and part.is_integer() and abs(part) < 1e15 else part
