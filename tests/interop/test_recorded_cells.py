"""Cells of recorded answers: every word for no text, for a failure and for the end of a reply."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from pathlib import Path
from typing import Any

import pytest

from snellen.core.errors import SnellenError
from snellen.interop.recorded_answers import AnswerReader
from snellen.interop.recorded_files import _xml_cell, telling_column
from snellen.subjects.joins import AnswerRow


def read(folder: Path, *cells: dict[str, Any], **settings: str) -> list[AnswerRow]:
    """The rows of a file with these cells, of whatever model."""
    path = folder / "a.jsonl"
    path.write_text("".join(json.dumps({"id": f"q{n}", "reply": "A", **row}) + "\n" for n, row in enumerate(cells)))
    reader = AnswerReader(settings)
    reader.read(path)
    return [row for rows in reader.rows.values() for row in rows]


def test_what_tools_write_in_place_of_a_reply_is_none(tmp_path: Path) -> None:
    words = ["nan", "NaN", "#N/A", "#NAME?", "#VALUE!", "#REF!", "#DIV/0!", "#NUM!", "#NULL!"]
    failures = ["[LMMS_EVAL_REQUEST_FAILED", "Failed to obtain answer via API.", "Failed to obtain answer: <class 'E'>"]
    rows = read(tmp_path, *({"reply": text} for text in (*words, *failures, "Failed to obtain it", "nano", "")))
    assert [row.answer.reason for row in rows] == ["no reply in the file"] * len(words) + failures + [""] * 3
    texts = [row.answer.reply.text for row in rows if row.answer.reply]
    assert texts == ["Failed to obtain it", "nano", ""]
    errors = read(tmp_path, *({"error": text, "target": [text, "x"]} for text in words))
    assert all(row.answer.reply and row.target == ("x",) for row in errors), "neither errors nor targets"


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("length", "length max_tokens max_output_tokens model_length LENGTH"), ("tool_use", "tool_use"),
        ("filter", "content_filter safety refusal"), ("end", "stop end end_turn eos stop_sequence eos_token Stop"),
    ],
)  # fmt: skip
def test_the_end_of_a_reply_has_each_word(end: str, words: str, tmp_path: Path) -> None:
    for column in ("finish_reason", "stop_reason", "stop"):
        rows = read(tmp_path, *({column: word} for word in words.split()))
        assert {row.answer.reply.stop for row in rows if row.answer.reply} == {end}
        assert len(rows) == len(words.split())


def test_a_score_is_of_one_reply_and_an_image_has_more_than_64_letters(tmp_path: Path) -> None:
    raw = b"p" * 60
    image = base64.b64encode(raw).decode()
    rows = read(tmp_path, {"score": 0.5, "image": image}, {"reply": ["A", "B"], "score": 1, "image": image[:64]})
    assert [row.answer.score for row in rows[:1]] == [0.5]
    assert all(math.isnan(row.answer.score) for row in rows[1:])
    assert [row.images for row in rows] == [(hashlib.sha256(raw).hexdigest(),), (), ()]


def test_a_row_without_a_model_is_of_the_only_one_of_its_file(tmp_path: Path) -> None:
    assert len(read(tmp_path, {"model": "m"}, {"model": None}, {"model": "m"})) == 3
    with pytest.raises(SnellenError, match="row 3: '' is no name of a model"):
        read(tmp_path, {"model": "m"}, {"model": "n"}, {"model": None})


def test_a_column_of_few_words_tells_rows_of_one_item_apart(tmp_path: Path) -> None:
    """Words before numbers, and at most 20 values."""
    path = tmp_path / "a.jsonl"
    for count, column in ((3, "filter"), (20, "filter"), (21, "")):
        rows = [{"id": "q", "seed": n, "filter": f"f{n}", "same": "x"} for n in range(count)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        name, values = telling_column(path, dict.fromkeys(range(1, count + 1), "q"), {"id"})
        assert (name, len(values)) == (column, count if column else 0)


def test_the_first_columns_tell_rows_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file may have very many columns: time would grow with their number times that of rows."""
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"id": "q", "same": 1, "filter": f"f{n}"}) + "\n" for n in range(3)))
    for count, column in ((2, "filter"), (1, "")):
        monkeypatch.setattr("snellen.interop.recorded_files.MAX_TOLD", count)
        assert telling_column(path, dict.fromkeys(range(1, 4), "q"), {"id"})[0] == column


def test_truth_in_xlsx_is_written_as_in_csv() -> None:
    assert [_xml_cell(0, {"t": "b"}, text, [])[1] for text in ("1", "0", "")] == ["TRUE", "FALSE", ""]
    assert _xml_cell(0, {"t": "n"}, "1", []) == (0, "1")


def test_cells_of_xlsx_lie_in_the_columns_of_their_letters() -> None:
    columns = [_xml_cell(0, {"r": f"{letters}7"}, "x", [])[0] for letters in ("A", "Z", "AA", "AB", "BA", "ZZ", "AAA")]
    assert columns == [0, 25, 26, 27, 52, 701, 702]
