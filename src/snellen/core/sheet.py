"""Sheets: several views answered by one reply, a JSON list with one object per sample and one cell per question.

Samples are numbered from 1, questions are named `q1`, `q2`, … in the order asked. A sheet is read by the sample
numbers that it states. A missing cell, or a sample that is missing or given twice, is read as None, never guessed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from snellen.core.item import View


def sheet_places(views: Sequence[View]) -> list[tuple[int, str]]:
    """(sample number, question name) of each view."""
    samples = {stimulus: n for n, stimulus in enumerate(dict.fromkeys(view.stimulus_id for view in views), 1)}
    names = {question: f"q{n}" for n, question in enumerate(dict.fromkeys(view.question for view in views), 1)}
    return [(samples[view.stimulus_id], names[view.question]) for view in views]


def write_sheet(views: Sequence[View], texts: Sequence[str]) -> str:
    """The sheet that gives these texts."""
    rows: dict[int, dict[str, Any]] = {}
    for (sample, name), text in zip(sheet_places(views), texts, strict=True):
        rows.setdefault(sample, {"sample": sample})[name] = text
    return json.dumps(list(rows.values()))


def read_sheet(views: Sequence[View], rows: Any) -> dict[str, str | None]:
    """The cell of each view by item id. `rows` is the decoded JSON of a reply: a list of objects, or one object."""
    if isinstance(rows, dict):
        nested_rows = next((value for value in rows.values() if _is_rows(value)), None)
        alone = {"sample": 1} if len({view.stimulus_id for view in views}) == 1 else {}
        rows = nested_rows if nested_rows is not None else [{**alone, **rows}]
    claims: dict[int, list[dict[str, Any]]] = {}
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict) and (number := _number(row.get("sample"))) is not None:
            claims.setdefault(number, []).append(row)
    answers: dict[str, str | None] = {}
    for view, (sample, name) in zip(views, sheet_places(views), strict=True):
        claimed = claims.get(sample, [])
        cell = claimed[0].get(name) if len(claimed) == 1 else None
        answers[view.item_id] = None if cell is None else cell if isinstance(cell, str) else json.dumps(cell)
    return answers


def answer_views(views: Sequence[View], answer: Callable[[View], str]) -> str:
    """The reply of a subject that answers view by view: a text for one view, a sheet for several."""
    texts = [answer(view) for view in views]
    return texts[0] if len(texts) == 1 else write_sheet(views, texts)


def _is_rows(value: Any) -> bool:
    """True for samples; false for a cell that holds a list, such as a colour."""
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _number(cell: Any) -> int | None:
    if isinstance(cell, bool):
        return None
    if isinstance(cell, int):
        return cell
    return int(cell) if isinstance(cell, str) and cell.strip().isascii() and cell.strip().isdigit() else None
