"""A hostile table gives one line that names the file; with `--skip-bad` the good rows are built. No tracebacks."""

from __future__ import annotations

import base64
import gzip
import json
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snellen.core.errors import SnellenError
from snellen.core.item import Media
from snellen.datasets import question_tables
from tests.suites.questions import tables

GOOD = {"image": tables.image_text(), "question": "Which?", "A": "red", "B": "blue", "answer": "A"}
Write = Callable[[Path], Path]


def bomb_png(side: int) -> bytes:
    """A PNG of a few bytes whose header claims this side."""
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 99)) + chunk(b"IEND", b"")
    )


def _text(name: str, content: str | bytes) -> Write:
    def write(folder: Path) -> Path:
        raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        (folder / name).write_bytes(raw)
        return folder / name

    return write


def _rows(*rows: Any) -> Write:
    return _text("t.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))


def _parquet(**columns: Any) -> Write:
    def write(folder: Path) -> Path:
        pq.write_table(pa.table(columns), folder / "t.parquet")
        return folder / "t.parquet"

    return write


LONG = "x" * 2_000_000
DEEP = "[" * 50_000 + "]" * 50_000
BAD_CELLS: dict[str, list[Any]] = {
    "question": [None, "", "   ", 3, True, [], {"a": 1}, ["x"], "nul\0", "esc\x1b[2J", "half \ud800", LONG,
                 "<image 2>", "<image><image>", "<image 99>", "<image 1> " * 50_000 + "<image 3>"],
    "answer": [None, "", " ", [], {}, {"a": 1}, [None], [[1]], "Z", "A, Z", "A or B", "\0", 7, -1, 1e300, [1.5],
               "red blue", True, LONG[:5000], "AB C", ["A", None]],
    "image": [None, "", [], {}, 5, 1.5, True, "nothing.png", "../../etc/passwd", "/etc/passwd", "/dev/zero", "~",
              "nul\0", "http://example.org/a.png", "https://example.org/a.png", "file:///etc/passwd", "s3://bucket/a.png",
              "data:image/png;base64,!!!!", "data:image/png;base64,", "A" * 100, "#" * 100, LONG, [[["x"]]], [None, {}],
              {"bytes": None, "path": None}, {"path": "/etc/passwd"}, {"bytes": "text"}, DEEP,
              base64.b64encode(b"no image " * 20).decode(), base64.b64encode(tables.image_bytes()[:60] * 2).decode(),
              base64.b64encode(bomb_png(9_000)).decode(), base64.b64encode(bomb_png(60_000)).decode(),
              base64.b64encode(bomb_png(0)).decode(), base64.b64encode(b"<svg xmlns='http://x.org/svg'/>" * 4).decode(),
              base64.b64encode(b"%!PS-Adobe-3.0 EPSF-3.0\n" * 9).decode()],
    "A": [None, 3.5, {"x": 1}, ["x"], "blue", "\0", LONG],
}  # fmt: skip
FINE = {"A": (3.5,)}
"""Cells that only look odd."""
FILES: dict[str, Write] = {
    "an empty file": _text("t.jsonl", ""),
    "blank lines": _text("t.jsonl", "\n\n \n"),
    "an empty list": _text("t.json", "[]"),
    "an empty csv": _text("t.csv", ""),
    "a header alone": _text("t.csv", "image,question,answer\n"),
    "no json": _text("t.json", "hello"),
    "half a list": _text("t.json", json.dumps([GOOD])[:-4]),
    "nested lists": _text("t.json", DEEP),
    "nested lists in a line": _text("t.jsonl", DEEP),
    "lists as rows": _rows([1, 2], [3]),
    "numbers as rows": _text("t.json", "[1, 2, 3]"),
    "a number": _text("t.json", "7"),
    "an object": _text("t.json", json.dumps({"a": [GOOD]})),
    "a huge number": _text("t.jsonl", '{"question": ' + "9" * 5000 + "}"),
    "a binary file": _text("t.csv", bytes(range(256)) * 8),
    "latin 1": _text("t.csv", "image,question,answer\n1.png,caf\xe9,x\n".encode("latin-1")),
    "nul bytes": _text("t.csv", b"image,question,answer\n\0,\0,\0\n"),
    "an open quote": _text("t.csv", 'image,question,answer\n1.png,"What,x\n2.png,y,z\n'),
    "stray quotes": _text("t.csv", 'image,question,answer\n1.png,"a"b,x\n'),
    "two columns of one name": _text("t.csv", "image,question,question,answer\n1,2,3,4\n"),
    "too many cells": _text("t.csv", "image,question,answer\n1.png,2,3,4,5\n"),
    "no question": _rows({"image": "a", "answer": "b"}),
    "no answer": _rows({"image": "a", "question": "b"}),
    "no image": _rows({"question": "a", "answer": "b"}),
    "conversations of many turns": _rows({"image": "a", "conversations": [{"from": "human", "value": "x"}] * 3}),
    "conversations that are none": _rows({"image": "a", "conversations": [1, 2]}),
    "no parquet": _text("t.parquet", b"PAR1 nothing PAR1"),
    "half a parquet": lambda folder: _halved(_parquet(image=[b"x"], question=["a"], answer=["b"])(folder)),
    "parquet without rows": _parquet(**{name: pa.array([], pa.string()) for name in ("image", "question", "answer")}),
    "parquet of other types": _parquet(image=[b"x"], question=[7], answer=[pa.scalar(1).as_py()]),
    "parquet with bytes that are no image": _parquet(image=[b"x" * 99], question=["a"], answer=["b"]),
    "parquet with a bomb": _parquet(image=[bomb_png(60_000)], question=["a"], answer=["b"]),
    "no gzip": _text("t.jsonl.gz", b"hello"),
    "half a gzip": _text("t.jsonl.gz", gzip.compress(json.dumps(GOOD).encode())[:-20]),
    "another suffix": _text("t.xlsx", b"PK"),
    "a packed list": _text("t.json.gz", gzip.compress(b"[]")),
    "a gzip bomb": _text("t.jsonl.gz", gzip.compress(b"0" * 3_000_000)),
    "a gzip bomb of many lines": _text("t.jsonl.gz", gzip.compress(b"{}\n" * 2_000_000)),
    "a line without end": _text("t.csv", "image,question,answer\n" + "x" * 3_000_000),
    "a cell without end": _text("t.csv", 'image,question,answer\n"' + "x\n" * 1_500_000),
}  # fmt: skip


def _halved(path: Path) -> Path:
    path.write_bytes(path.read_bytes()[:-30])
    return path


def cases() -> Iterator[tuple[str, Write]]:
    yield from FILES.items()
    for column, cells in BAD_CELLS.items():
        for number, cell in enumerate(cells):
            if cell not in FINE.get(column, ()):
                yield f"{column} {number}", _rows(GOOD, GOOD | {column: cell}, GOOD | {"question": "Another?"})


@pytest.fixture(autouse=True)
def _low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question_tables, "MAX_ROW_BYTES", 2_900_000)
    monkeypatch.setattr(question_tables, "MAX_LIST_BYTES", 4_000_000)


def test_hostile_tables_give_one_line(tmp_path: Path) -> None:
    assert len(dict(cases())) > 100
    for number, (name, write) in enumerate(cases()):
        (folder := tmp_path / str(number)).mkdir()
        path = write(folder)
        with pytest.raises(SnellenError) as error:
            tables.plan(path)
        message = str(error.value)
        assert str(path) in message, name
        assert len(message) < 700, (name, message)
        assert message.isprintable(), (name, message)
        if path.name == "t.jsonl" and name not in FILES:
            column = name.split()[0]
            assert f"line 2, column `{column}`" in message or "line 2" in message, (name, message)
            planned = tables.plan(path, skip_bad=True)
            assert sum(planned["items"].values()) == 2, (name, planned)
            assert any(note.startswith("1 bad rows left out") for note in planned["notes"]), (name, planned)


def test_options_that_are_no_list_are_not_left_out(tmp_path: Path) -> None:
    rows = [{"image": GOOD["image"], "question": "Which?", "options": cell, "answer": "red"} for cell in (DEEP, "[red")]
    for row in rows:
        with pytest.raises(SnellenError, match=r"line 1, column `options`: .* is not a list of options"):
            tables.plan(tables.write_jsonl(tmp_path / "t.jsonl", [row]))


def test_the_fault_of_an_image_is_named(tmp_path: Path) -> None:
    bomb = base64.b64encode(bomb_png(9_000)).decode()
    with pytest.raises(SnellenError, match=r"line 1, column `image`: an image of 9000 x 9000 pixels is larger"):
        tables.plan(tables.write_jsonl(tmp_path / "t.jsonl", [GOOD | {"image": bomb}]))
    with pytest.raises(SnellenError, match="is an address, and none is opened"):
        tables.plan(tables.write_jsonl(tmp_path / "t.jsonl", [GOOD | {"image": "https://example.org/a.png"}]))


def test_a_folder_without_a_table_and_a_table_of_other_columns(tmp_path: Path) -> None:
    with pytest.raises(SnellenError, match="no table in this folder"):
        tables.build_set(tmp_path, tmp_path / "set")
    tables.write_jsonl(tmp_path / "a.jsonl", [GOOD])
    tables.write_jsonl(tmp_path / "b.jsonl", [{"image": "x", "prompt": "y", "answer": "z"}])
    with pytest.raises(SnellenError, match=r"b\.jsonl: no column 'question', unlike a\.jsonl"):
        tables.build_set(tmp_path, tmp_path / "set")


def test_ids_that_are_not_unique_are_replaced_by_row_numbers(tmp_path: Path) -> None:
    path = tables.write_jsonl(tmp_path / "t.jsonl", [GOOD | {"id": "a"}, GOOD | {"id": "a", "question": "Another?"}])
    items = tables.build_set(path, tmp_path / "set")
    assert [item.item_id for item in items.items] == ["1", "2"]
    assert [item.provenance for item in items.items] == [{"id": "a", "row": n, "file": "t.jsonl"} for n in (1, 2)]
    assert "`id` is not unique" in items.card.notes[1]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"questions": "prompt"}, "no field 'questions'; did you mean 'question'"),
        ({"question": "prompts"}, "no column 'prompts'; did you mean 'prompt'"),
        ({"kind": "box"}, "--map kind: 'box'"),
        ({"split": "prompt"}, "write train, calibration or test"),
    ],
)
def test_a_mapping_that_does_not_fit(columns: dict[str, str], message: str, tmp_path: Path) -> None:
    path = tables.write_jsonl(tmp_path / "t.jsonl", [GOOD | {"prompt": "Why?"}])
    with pytest.raises(SnellenError, match=message.replace("(", r"\(")):
        tables.build_set(path, tmp_path / "set", columns=columns)


def test_an_image_is_decoded_only_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many rows about one image need neither time nor memory for it."""
    decoded: list[Media] = []

    def image_fault(raw: bytes, media: Media) -> None:
        decoded.append(media)

    monkeypatch.setattr("snellen.suites.questions.table.images.image_fault", image_fault)
    path = tables.write_jsonl(tmp_path / "t.jsonl", [GOOD | {"question": f"Which {n}?"} for n in range(50)])
    assert len(tables.build_set(path, tmp_path / "set").items) == 50
    assert len(decoded) == 1
