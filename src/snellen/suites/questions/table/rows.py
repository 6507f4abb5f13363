"""One row of a table as a question."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from string import ascii_lowercase, ascii_uppercase
from typing import Any, TypeAlias

from snellen.core.errors import SnellenError
from snellen.core.item import Media, Split
from snellen.core.item_checks import MAX_TEXT
from snellen.core.plain_text import control_character
from snellen.datasets.question_tables import RawRow
from snellen.suites.questions.lists import LABEL, as_list, options_in, without_labels
from snellen.suites.questions.prompts import most_mentioned, numbered_places
from snellen.suites.questions.table.answers import READINGS, TableQuestion, clean_answer, option_keys
from snellen.suites.questions.table.columns import TableLayout
from snellen.suites.questions.table.images import Reference, TableImages

SPLITS: Mapping[str, Split] = {
    **dict.fromkeys(("test", "testmini", "minitest", "val", "valid", "validation", "dev"), "test"),
    **dict.fromkeys(("train", "training"), "train"),
    "calibration": "calibration",
}
"""Splits by their usual names: a benchmark's validation part is asked too."""
Pairs: TypeAlias = tuple[tuple[str, str], ...]
"""Options: key and text."""
MAX_LEVEL = 200
"""Characters of a task, a level of a factor, and other names."""


def read_question(row: RawRow, layout: TableLayout, images: TableImages) -> TableQuestion:
    """The question of a row; its images are stored. Raises BadRow naming the column."""
    if row.fault:
        raise row.bad("all", row.fault)
    text = _text(row, layout.question, required=True)
    answer = clean_answer(row, layout.answer)
    options, is_listed, is_labelled = _options(row, layout, text, answer)
    if layout.hint and (hint := _text(row, layout.hint)):
        text = f"{hint}\n{text}"
    if not is_listed:
        options = tuple(zip(dict(options), numbered_places(text, [shown for _, shown in options]), strict=True))
    row_images = _images(row, layout, images)
    if (number := most_mentioned(text, [option for _, option in options])) > len(row_images):
        raise row.bad(layout.question, f"it mentions image {number}, but the row has {len(row_images)}")
    split = _name(row, layout.split).lower() or "test"
    if split not in SPLITS:
        raise row.bad(layout.split, f"split {split!r:.60}; write train, calibration or test")
    return TableQuestion(
        row=replace(row, cells={}),
        text=text,
        answer=_without_label(answer, options) if is_labelled else answer,
        images=row_images,
        options=options,
        is_listed=is_listed,
        is_labelled=is_labelled,
        id=_name(row, layout.id),
        task=_name(row, layout.task),
        split=SPLITS[split],
        group=_name(row, layout.group),
        cluster=_name(row, layout.cluster),
        factors={name: _name(row, name) or "none" for name in layout.factors},
    )


def _text(row: RawRow, column: str, *, required: bool = False) -> str:
    """A cell as text, with line feeds as line ends; empty for an empty cell that is not required."""
    cell = row.cells.get(column)
    if cell is None and not required:
        return ""
    if not isinstance(cell, str) or not cell.strip():
        raise row.bad(column, "empty" if cell is None or cell == "" else f"{cell!r:.60} is not a text")
    text = cell.replace("\r\n", "\n").replace("\r", "\n").strip()
    if len(text) > MAX_TEXT:
        raise row.bad(column, f"more than {MAX_TEXT} characters")
    if character := control_character(text):
        raise row.bad(column, f"the control character {character}")
    return text


def _name(row: RawRow, column: str) -> str:
    """A short cell as text: a number as it is written, empty for none."""
    cell = row.cells.get(column) if column else None
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    text = "" if cell is None else str(cell).strip()
    if not isinstance(cell, str | int | float | None) or len(text) > MAX_LEVEL:
        raise row.bad(column, f"{str(cell)[:60]!r} is not a name of at most {MAX_LEVEL} characters")
    return text


def _options(row: RawRow, layout: TableLayout, question: str, answer: Any) -> tuple[Pairs, bool, bool]:
    """The options (key, text), whether the question lists them itself, and whether labels were taken off them."""
    labelled = _given_options(row, layout)
    texts = without_labels([text for _, text in labelled])
    given = tuple(zip(dict(labelled), texts, strict=True))
    embedded = options_in(question)
    letters = [text for _, text in given]
    if embedded and (not given or [key for key, _ in embedded] == letters):
        names_option = option_keys(TableQuestion(row, question, answer, (), embedded), READINGS[0]) is not None
        if given or names_option or (isinstance(answer, str) and len(answer) == 1 and answer.isalpha()):
            return embedded, True, False
        return (), False, False
    if given and "".join(letters).lower() == ascii_lowercase[: len(given)]:  # the names of things in the image
        return tuple((letter, "") for letter in letters), False, False
    return given, False, given != labelled


def _without_label(answer: Any, options: Pairs) -> Any:
    """The answer, with no label if without it it is the text of an option."""
    if isinstance(answer, list):
        return [_without_label(part, options) for part in answer]
    bare = LABEL.sub("", str(answer), count=1)
    return bare if bare in dict(options).values() else answer


def _given_options(row: RawRow, layout: TableLayout) -> Pairs:
    """The options in the row's columns, with letters as keys; those with the same text are a bad row."""
    if len(layout.options) > 1:
        texts = [_option_text(row, column, row.cells.get(column)) for column in layout.options]
        pairs = [(key, text) for key, text in zip(_keys(len(texts)), texts, strict=True) if text]
    else:
        column = "".join(layout.options)
        cell = row.cells.get(column)
        if isinstance(cell, str):
            text = cell.strip()
            listed = as_list(text) if text.startswith("[") else None
            cell = listed if listed is not None else [part for _, part in options_in(text)] or text or None
        if isinstance(cell, Mapping) and [*cell] == _keys(len(cell)):
            cell = list(cell.values())
        if cell is not None and not isinstance(cell, list):
            raise row.bad(column, f"{cell!r:.60} is not a list of options")
        texts = [_option_text(row, column, part) for part in cell or ()]
        pairs = list(zip(_keys(len(texts)), texts, strict=True))
        if not all(texts):
            raise row.bad(column, "an empty option")
    if len(pairs) == 1:
        raise row.bad(layout.options[0], "only one option")
    return tuple(pairs)


def _keys(count: int) -> list[str]:
    """A, B, C .., or numbers for more options than letters."""
    return list(ascii_uppercase[:count]) if count <= len(ascii_uppercase) else [str(n) for n in range(1, count + 1)]


def _option_text(row: RawRow, column: str, cell: Any) -> str:
    if isinstance(cell, int | float):
        cell = str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell)
    return _text(replace(row, cells={column: cell}), column)


def _images(row: RawRow, layout: TableLayout, images: TableImages) -> tuple[Media | Reference, ...]:
    """The images of all image columns, or of the first that is filled."""
    row_images: list[Media | Reference] = []
    for column in layout.images:
        try:
            row_images += images.read(row.cells.get(column))
        except SnellenError as error:
            raise row.bad(column, str(error)) from None
        if row_images and not layout.all_images:
            break
    if not row_images:
        raise row.bad(layout.images[0], "no image")
    return tuple(row_images)


def safe_name(text: str) -> str:
    """A name for a task: lower case letters, digits and hyphens, at most 60 characters."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60].strip("-")
