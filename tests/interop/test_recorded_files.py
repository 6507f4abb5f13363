"""Files of answers as tools write them, and hostile ones, read as recorded subjects.

Layouts: lmms-eval, `save_results_samples` in lmms_eval/loggers/evaluation_tracker.py; VLMEvalKit,
docs/en/Development.md (a table with the columns of the data set and `prediction`, written by pandas); EvalScope,
`ModelResult` and `ReviewResult` in evalscope/api/evaluator/cache.py; XLSX, ECMA-376 part 1, section 18.3.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest

from snellen.core.storage import user_files
from snellen.core.storage.itemset import ItemSet, read_itemset
from snellen.exam.run import run
from snellen.interop import recorded_files
from snellen.subjects.recorded import Recording
from snellen.subjects.registry import subjects_of
from snellen.suites import SUITES
from tests.helpers.journey import colour_set, suite_of
from tests.helpers.logs import table
from tests.helpers.refusals import assert_refused

REPLIES = {"000": "red", "001": 'It is "green",\nsurely', "002": "blau 🟦", "003": "The colour is"}


def recordings(spec: object) -> list[Recording]:
    subjects = subjects_of(f"recorded:{spec}")
    return [subject for subject in subjects if isinstance(subject, Recording)]


def texts(spec: object) -> dict[str, str | None]:
    """The replies of the only model by id."""
    (recording,) = recordings(spec)
    replies = {row.item: row.answer.reply for row in recording.rows}
    return {item: None if reply is None else reply.text for item, reply in replies.items()}


def lines(path: Path, rows: Sequence[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def _json(path: Path, rows: object) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(rows))
    return path


def xlsx(path: Path, rows: Sequence[Sequence[str]], *, shared: bool = True, extra: str = "") -> Path:
    """A workbook with one sheet: texts shared, as openpyxl writes them, or inline."""
    path.parent.mkdir(parents=True, exist_ok=True)
    strings = [cell for row in rows for cell in row]
    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    sheet, n = [f"<?xml version='1.0'?>{extra}<worksheet {main}><sheetData>"], 0
    for number, row in enumerate(rows, 1):
        cells = []
        for column, cell in zip("ABCDEFGH", row, strict=False):
            name = f'r="{column}{number}"'
            if cell.isdecimal() and number > 1 and column == "A":
                cells.append(f"<c {name}><v>{cell}</v></c>")
            elif shared:
                cells.append(f'<c {name} t="s"><v>{n}</v></c>')
            elif cell:
                cells.append(f'<c {name} t="inlineStr"><is><t xml:space="preserve">{escape(cell)}</t></is></c>')
            n += 1
        sheet.append(f'<row r="{number}">{"".join(cells)}</row>')
    sheet.append("</sheetData></worksheet>")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", "".join(sheet))
        if shared:
            items = "".join(f"<si><t>{escape(cell)}</t><rPh><t>so</t></rPh></si>" for cell in strings)
            archive.writestr("xl/sharedStrings.xml", f"<sst {main}>{items}</sst>")
    return path


ROWS = [{"id": item_id, "reply": reply} for item_id, reply in REPLIES.items()]
CELLS = [["index", "question", "prediction"], *([item_id, "?", reply] for item_id, reply in REPLIES.items())]
LAYOUTS: dict[str, Callable[[Path], Path]] = {
    "JSON lines": lambda folder: lines(folder / "a.jsonl", ROWS),
    "JSON lines, compressed": lambda folder: lines(folder / "a.jsonl.gz", ROWS),
    "CSV": lambda folder: table(folder / "a.csv", ROWS),
    "TSV": lambda folder: table(folder / "a.tsv", ROWS, "\t"),
    "lmms-eval": lambda folder: lines(
        folder / "org__model" / "20260101_000000_samples_colours.jsonl",
        [
            {
                "doc_id": item_id, "target": "red", "filtered_resps": [reply], "doc_hash": "0", "input": "?",
                "exact_match": 1.0,
            }
            for item_id, reply in REPLIES.items()
        ],
    ),
    "lmms-eval with unfiltered replies to an export": lambda folder: lines(
        folder / "samples.jsonl",
        [
            {"doc_id": n, "accuracy": {"item_id": item_id}, "filtered_resps": ["A"], "resps": [[reply]], "input": []}
            for n, (item_id, reply) in enumerate(REPLIES.items())
        ],
    ),
    "VLMEvalKit TSV": lambda folder: table(
        folder / "Model" / "Model_Colours.tsv", [dict(zip(CELLS[0], row, strict=True)) for row in CELLS[1:]], "\t"
    ),
    "VLMEvalKit JSON of an evaluation": lambda folder: _json(
        folder / "Model" / "T20260818_G1" / "Model_Colours.json",
        [{"index": item_id, "question": "?", "prediction": reply} for item_id, reply in REPLIES.items()],
    ),
    "VLMEvalKit XLSX": lambda folder: xlsx(folder / "Model" / "Model_Colours.xlsx", CELLS, shared=False),
    "batch of OpenAI's responses": lambda folder: lines(folder / "a.jsonl", [
        {"custom_id": item_id, "error": None, "response": {"status_code": 200, "body": {
            "model": "gpt", "status": "completed",
            "output": [{"type": "reasoning"}, {"type": "message", "content": [{"type": "output_text", "text": reply}]}],
        }}}
        for item_id, reply in REPLIES.items()
    ]),
    "batch of Anthropic": lambda folder: lines(folder / "a.jsonl", [
        {"custom_id": item_id, "result": {"type": "succeeded", "message": {
            "model": "claude", "content": [{"type": "text", "text": reply}], "stop_reason": "end_turn",
        }}}
        for item_id, reply in REPLIES.items()
    ]),
    "LLaVA": lambda folder: lines(folder / "a.jsonl", [
        {"question_id": item_id, "prompt": "?", "text": reply, "answer_id": "x", "model_id": "llava"}
        for item_id, reply in REPLIES.items()
    ]),
    "EvalScope predictions": lambda folder: lines(
        folder / "predictions" / "model" / "general_vqa_colours.jsonl",
        [
            {
                "index": item_id, "model": "qwen-vl", "messages": [],
                "model_output": {
                    "model": "qwen-vl", "usage": {"output_tokens": 3},
                    "choices": [{"message": {"role": "assistant", "content": reply}, "stop_reason": "stop"}],
                },
            }
            for item_id, reply in REPLIES.items()
        ],
    ),
    "EvalScope reviews": lambda folder: lines(
        folder / "reviews" / "qwen-vl" / "general_vqa_colours.jsonl",
        [
            {
                "index": n, "input": "?", "target": "red",
                "sample_score": {
                    "score": {"value": {"acc": 1.0}, "extracted_prediction": "A", "prediction": reply},
                    "sample_id": n, "sample_metadata": {"item_id": item_id},
                },
            }
            for n, (item_id, reply) in enumerate(REPLIES.items())
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_files_are_read_without_settings(layout: str, tmp_path: Path) -> None:
    assert texts(LAYOUTS[layout](tmp_path)) == REPLIES


def test_names_of_models(tmp_path: Path) -> None:
    names = {layout: recordings(LAYOUTS[layout](tmp_path / layout))[0].card.name for layout in LAYOUTS}
    assert names["JSON lines"] == names["JSON lines, compressed"] == names["CSV"] == "recorded:a"
    assert names["lmms-eval"] == "recorded:org__model"
    assert {names[layout] for layout in LAYOUTS if layout.startswith("VLMEvalKit")} == {"recorded:Model"}
    batches = [names[layout] for layout in ("batch of OpenAI's responses", "batch of Anthropic", "LLaVA")]
    assert batches == ["recorded:gpt", "recorded:claude", "recorded:llava"]
    assert names["EvalScope predictions"] == names["EvalScope reviews"] == "recorded:qwen-vl"


def test_rows_of_xlsx_have_the_cells_that_are_filled(tmp_path: Path) -> None:
    """A row of a few bytes does not become one of thousands of cells."""
    head = "".join(f'<c t="str"><v>{name}</v></c>' for name in ("index", "prediction", *map(str, range(9))))
    rows = '<row/><row><c r="A3" t="str"><v>7</v></c><c r="K3" t="str"><v>x</v></c><c r="ZZ3"/></row><row/>'
    (tmp_path / "a.xlsx").write_bytes(in_xlsx(f"<w><row>{head}</row>{rows}</w>"))
    whole = dict.fromkeys(("prediction", *map(str, range(9))), "") | {"index": "7", "8": "x"}
    assert list(recorded_files.read_rows(tmp_path / "a.xlsx")) == [(1, whole)], "as of a CSV file"
    many = "".join(f'<c t="str"><v>c{n}</v></c>' for n in range(5000))
    (tmp_path / "b.xlsx").write_bytes(in_xlsx(f"<w><row>{many}</row>{'<row/>' * 9}<row><c r='A9' t='str'/></row></w>"))
    ((_, row),) = recorded_files.read_rows(tmp_path / "b.xlsx")
    assert len(row) == 100


def test_shared_texts_and_escapes_of_xlsx(tmp_path: Path) -> None:
    file = xlsx(tmp_path / "a.xlsx", [["index", "prediction"], ["7", "a_x000D_b & <c>"], ["8", ""]])
    assert texts(file) == {"7": "a\rb & <c>", "8": ""}
    sheet = '<row><c t="s"><v>0</v></c></row>' + '<row><c t="s"><v>1</v></c></row>' * 2
    with zipfile.ZipFile(tmp_path / "b.xlsx", "w") as archive:
        archive.writestr("xl/sharedStrings.xml", "<sst><si><t>id</t></si><si><t>_x005F_x0041_</t></si></sst>")
        archive.writestr("xl/worksheets/sheet1.xml", f"<w>{sheet}</w>")
    cells = [row["id"] for _, row in recorded_files.read_rows(tmp_path / "b.xlsx")]
    assert cells == ["_x0041_"] * 2
    assert cells[0] is cells[1], "a copy for each cell could take gigabytes"


def test_replies_of_several_files_are_joined_by_model(tmp_path: Path) -> None:
    lines(tmp_path / "out" / "m" / "1_samples_a.jsonl", [{"doc_id": 0, "filtered_resps": ["x"]}])
    lines(tmp_path / "out" / "m" / "1_samples_b.jsonl", [{"doc_id": 1, "filtered_resps": ["y"]}])
    assert texts(tmp_path / "out" / "*" / "*_samples_*.jsonl") == {"0": "x", "1": "y"}
    assert_refused(lambda: recordings(tmp_path / "out" / "*.csv"), "no such file")
    assert_refused(lambda: recordings(tmp_path / "out"), "not a file")


def test_columns_lead_into_objects(tmp_path: Path) -> None:
    body = {"choices": [{"message": {"content": [{"type": "text", "text": "red"}]}, "finish_reason": "length"}]}
    file = lines(tmp_path / "batch.jsonl", [{"custom_id": "7", "response": {"body": body}}])
    choice = "response.body.choices.0"
    settings = f"?id=custom_id&column={choice}.message.content&stop_column={choice}.finish_reason"
    (recording,) = recordings(f"{file}{settings}")
    (row,) = recording.rows
    assert row.item == "7"
    assert row.answer.reply is not None
    assert (row.answer.reply.text, row.answer.reply.stop) == ("red", "length")


CHOICE = {"message": {"content": "A. The r"}, "finish_reason": None}


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"prediction": "Failed to obtain answer: <class 'OSError'> full"}, "Failed to obtain answer: <class 'OSE"),
        ({"prediction": float("nan"), "error": float("nan")}, "no reply in the file"),
        ({"prediction": "nan"}, "no reply in the file"),
        ({"prediction": "#NAME?"}, "no reply in the file"),
        (
            {"custom_id": "a", "result": {"type": "errored", "error": {"error": {"message": "image exceeds 5 MB"}}}},
            "image exceeds 5 MB",
        ),
        ({"prediction": "A. The r", "finish_reason": "abort"}, "failure in place of a reply: finish_reason 'abort'"),
        ({"prediction": "", "error": {"message": "overloaded", "code": 502}}, "overloaded"),
        ({"prediction": "A", "error": "full", "finish_reason": "ABORT"}, "full"),
        ({"c": [{**CHOICE, "finish_reason": "error"}]}, "failure in place of a reply: finish_reason 'error'"),
        ({"c": [{**CHOICE, "error": {"message": "no worker"}}]}, "failure in place of a reply: no worker"),
    ],
)
def test_failures_of_services_and_tools_are_no_replies(cells: dict[str, Any], reason: str, tmp_path: Path) -> None:
    file = lines(tmp_path / "a.jsonl", [{"id": "a", **cells}])
    (recording,) = recordings(f"{file}?column=c.0.message.content" if "c" in cells else file)
    (row,) = recording.rows
    assert row.answer.reply is None
    assert row.answer.reason.startswith(reason)


@pytest.mark.parametrize("length", [32_766, 32_767, 32_768])
def test_a_cell_of_a_table_as_long_as_cells_can_be_was_cut_off(length: int, tmp_path: Path) -> None:
    row = {"id": "a", "reply": "x" * length}
    tables = [xlsx(tmp_path / "a.xlsx", [list(row), list(row.values())]), table(tmp_path / "a.csv", [row])]
    for file in (*tables, lines(tmp_path / "a.jsonl", [row])):
        reply = recordings(file)[0].rows[0].answer.reply
        assert reply is not None
        assert reply.is_cut_off == (length == 32_767 and file in tables)


def test_messages_hold_the_question_and_its_images(tmp_path: Path) -> None:
    digest = "0f" * 32
    image, text = base64.b64encode(b"p" * 90).decode(), {"type": "text", "text": "<image>What colour?"}
    parts = [
        {"type": "image", "image": f"images/{digest}.png"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{image}"}},
    ]
    turns = [{"role": "user", "content": [*parts, text]}, {"role": "assistant", "content": "A"}]
    file = lines(tmp_path / "a.jsonl", [{"messages": turns, "response": "red"}])
    (row,) = recordings(file)[0].rows
    assert row.question == "What colour?"
    assert row.images == (digest, f"{digest}.png", hashlib.sha256(b"p" * 90).hexdigest())
    assert recordings(f"{file}?image=none")[0].rows[0].images == ()
    plain = lines(tmp_path / "b.jsonl", [{"messages": [{"role": "user", "content": "Why?"}], "response": "red"}])
    assert recordings(plain)[0].rows[0].question == "Why?"


def test_several_replies_to_a_sample_are_repeats(tmp_path: Path) -> None:
    file = lines(tmp_path / "a.jsonl", [{"doc_id": "7", "resps": [["x", "y"]]}, {"doc_id": "8", "resps": [["z", "z"]]}])
    (recording,) = recordings(file)
    expected = [("7", 0), ("7", 1), ("8", 0), ("8", 1)]
    assert [(row.item, row.repeat) for row in recording.rows] == expected
    scores = [
        {"group_id": group, "generation_index": n, "score": {"prediction": "x"}} for group in (7, 8) for n in (0, 1)
    ]
    reviews = lines(tmp_path / "b.jsonl", [{"index": n + 14, "sample_score": score} for n, score in enumerate(scores)])
    assert [(row.item, row.repeat) for row in recordings(reviews)[0].rows] == expected


def test_images_in_base64_match_items(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SUITES._loaded, "hard", suite_of())
    items = read_itemset(colour_set(tmp_path / "items").root)
    rows = []
    for entry in items.items:
        raw = items.media.read(entry.query[0])
        rows.append({"question": "?", "image": base64.b64encode(raw).decode(), "prediction": str(entry.answer)})
    file = table(tmp_path / "a.tsv", rows, "\t")
    responses = run(items, [f"recorded:{file}"], tmp_path / "run", show_progress=False).responses
    assert {r.item_id: r.text for r in responses} == {entry.item_id: entry.answer for entry in items.items}


FORMS_OF_FILES: dict[str, tuple[str, str]] = {
    "semicolons": ("a.csv", "id;reply\n1;yes, red\n2;blue\n"),
    "separator of Excel": ("a.csv", "\ufeffsep=|\r\nid|reply\r\n1|yes, red\r\n2|blue\r\n"),
    "UTF-16": ("a.tsv", "id\treply\n1\tyes, red\n2\tblue\n"),
    "replies by id": ("a.json", '{"1": "yes, red", "2": "blue"}'),
    "rows by id": ("a.json", '{"1": {"reply": "yes, red"}, "2": {"reply": "blue"}}'),
    "data": ("a.json", '{"data": [{"id": 1, "reply": "yes, red"}, {"id": 2, "reply": "blue"}]}'),
}


@pytest.mark.parametrize("form", FORMS_OF_FILES)
def test_other_forms_of_files_are_read(form: str, tmp_path: Path) -> None:
    name, text = FORMS_OF_FILES[form]
    (tmp_path / name).write_text(text, "utf-16" if form == "UTF-16" else "utf-8")
    assert texts(tmp_path / name) == {"1": "yes, red", "2": "blue"}


@pytest.mark.parametrize("first", [0, 1, 2])
@pytest.mark.parametrize("settings", ["", "?column=response.body.choices.0.message.content&id=custom_id"])
def test_a_batch_with_failed_rows_is_read_and_its_refusals_are_replies(
    first: int, settings: str, tmp_path: Path
) -> None:
    def body(message: dict[str, Any]) -> dict[str, Any]:
        return {"response": {"body": {"model": "m", "choices": [{"message": message, "finish_reason": "stop"}]}}}

    rows = [
        {"custom_id": "1", "response": None, "error": {"message": "expired"}},
        {"custom_id": "2", "error": None, **body({"content": None, "refusal": "I cannot help."})},
        {"custom_id": "3", "error": None, **body({"content": "red", "refusal": None})},
    ]
    lines(tmp_path / "out.jsonl", rows[first:] + rows[:first])
    (recording,) = recordings(f"{tmp_path / 'out.jsonl'}{settings}")
    answers = {row.item: row.answer for row in recording.rows}
    assert recording.card.name == "recorded:m"
    assert answers["1"].reply is None
    assert "expired" in answers["1"].reason
    assert texts(f"{tmp_path / 'out.jsonl'}{settings}") == {"1": None, "2": "I cannot help.", "3": "red"}


def bomb() -> bytes:
    raw = io.BytesIO()
    with gzip.open(raw, "wb") as file:
        for _ in range(64):
            file.write(b" " * (1 << 20))
    return raw.getvalue()


def in_xlsx(sheet: str) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", sheet)
    return raw.getvalue()


GOOD = b'{"id": "1", "reply": "red"}\n'
HOSTILE: dict[str, tuple[str, bytes, str]] = {
    "empty": ("a.jsonl", b"", "no answers in it"),
    "blank lines": ("a.jsonl", b"\n\n \n", "no answers in it"),
    "empty CSV": ("a.csv", b"", "row 1: not readable (the first row must name the columns"),
    "head only": ("a.csv", b"id,reply\n", "no answers in it"),
    "no JSON": ("a.jsonl", GOOD + b"{", "row 2: not readable"),
    "a list": ("a.jsonl", b"[1]\n", "a list, not an object"),
    "deep JSON": ("a.jsonl", b"[" * 200_000, "not readable"),
    "no UTF-8": ("a.csv", b"id,reply\n1,\xff\n", "not readable"),
    "UTF-16 without its mark": ("a.csv", "id,reply\n1,red\n".encode("utf-16-le"), "NUL bytes"),
    "NUL in a cell": ("a.csv", b"id,reply\n1,a\0b\n", "NUL bytes"),
    "same column twice": ("a.csv", b"id,id,reply\n1,2,red\n", "each once"),
    "more cells": ("a.csv", b"id,reply\n1,red,blue\n", "3 cells under 2 columns"),
    "open quote": ("a.csv", b'id,reply\n1,"' + b"x\n" * 1000, "row 1: not readable (unexpected end of data)"),
    "stray quotes": ("a.tsv", b'id\treply\n0\tA\n1\t"A" is right\n2\tB"\n', "row 2: not readable ("),
    "long line": ("a.csv", b"id,reply\n1," + b"x" * 2_000_000, "a line of more than"),
    "long JSON line": ("a.jsonl", b'{"id": "' + b"x" * 2_000_000, "a line of more than"),
    "a key twice": ("a.jsonl", b'{"id": 1, "reply": "A", "reply": "B"}\n', "an object has the key 'reply' twice"),
    "a key twice in a list": ("a.json", b'[{"id": 1, "r": {"a": 1, "a": 2}}]', "an object has the key 'a' twice"),
    "no id": ("a.jsonl", b'{"reply": "red", "key": "a"}\n', "name the column of an id, ?id=COLUMN; it has reply, key"),
    "no reply": ("a.jsonl", b'{"id": 1, "answer": "red"}\n', "name the column of replies, ?column=COLUMN; it has id"),
    "reply is an object": ("a.jsonl", b'{"id": 1, "reply": {"a": 1}}\n', "the reply is a dict without texts"),
    "log-likelihoods": ("a.jsonl", b'{"doc_id": 1, "filtered_resps": [[-1.5, false]]}\n', "the reply is a list"),
    "deep reply": ("a.jsonl", b'{"id": 1, "reply": ' + b"[" * 900 + b"]" * 900 + b"}\n", ""),
    "huge number": ("a.jsonl", b'{"id": ' + b"9" * 5000 + b', "reply": "red"}\n', "not readable"),
    "model is an escape": ("a.jsonl", b'{"id": 1, "reply": "x", "model": "a\\u001b[2J"}\n', "no name of a model"),
    "model is a surrogate": ("a.jsonl", b'{"id": 1, "reply": "x", "model": "\\ud800"}\n', ""),
    "model is long": ("a.jsonl", b'{"id": 1, "reply": "x", "model": "' + b"m" * 300 + b'"}\n', "no name of a model"),
    "model is an object": ("a.jsonl", b'{"id": 1, "reply": "x", "model": {"a": 1}}\n', "no name of a model"),
    "many models": (
        "a.jsonl",
        b"".join(b'{"id": 1, "reply": "x", "model": %d}\n' % n for n in range(1002)),
        "more than 1000 models or repeats",
    ),
    "many repeats": (
        "a.jsonl",
        b"".join(b'{"id": 1, "reply": "x", "repeat": %d}\n' % n for n in range(1002)),
        "more than 1000 models or repeats",
    ),
    "huge stop": ("a.jsonl", b'{"id": 1, "reply": "x", "stop": "' + b"s" * 300 + b'"}\n', "stop has 300 characters"),
    "other ending": ("a.txt", GOOD, "its name ends in none of"),
    "no gzip": ("a.jsonl.gz", GOOD, "not readable"),
    "cut gzip": ("a.jsonl.gz", gzip.compress(GOOD * 1000)[:40], "not readable"),
    "gzip bomb": ("a.jsonl.gz", bomb(), "a line of more than"),
    "JSON object": ("a.json", b'{"a": 1}', "a dict, neither a list of objects nor replies by id"),
    "JSON log": ("a.json", b'{"eval": 1}', "not written by a Snellen task"),
    "JSON list of numbers": ("a.json", b"[1, 2]", "a int, not an object"),
    "table of numbers": ("a.json", b'{"columns": ["id"], "data": [5]}', "a int, not an object"),
    "part of a reply is a number": ("a.jsonl", b'{"id": 1, "reply": [{"content": [1]}]}\n', "a int, not an object"),
    "options with a list as key": ("a.csv", b"id,options,reply\n1,[{[]: 1}],red\n", ""),
    "no zip": ("a.xlsx", GOOD, "not readable"),
    "no sheet": ("a.xlsx", b"PK\x05\x06" + bytes(18), "no sheet in it"),
    "entities": (
        "a.xlsx",
        in_xlsx('<!DOCTYPE w [<!ENTITY a "aaaa">]><w><row><c t="str"><v>&a;</v></c></row></w>'),
        "it declares a document type",
    ),
    "cell far away": ("a.xlsx", in_xlsx('<w><row><c r="ZZZZ1" t="str"><v>id</v></c></row></w>'), "'ZZZZ1' is no cell"),
    "odd reference": ("a.xlsx", in_xlsx('<w><row><c r="-1" t="str"><v>id</v></c></row></w>'), "'-1' is no cell"),
    "many cells": ("a.xlsx", in_xlsx(f"<w><row>{'<c/>' * 20_000}</row></w>"), "more than 16384 columns"),
    "index of no text": ("a.xlsx", in_xlsx('<w><row><c r="A1" t="s"><v>9</v></c></row></w>'), "no shared text 9"),
    "negative index": ("a.xlsx", in_xlsx('<w><row><c r="A1" t="s"><v>-1</v></c></row></w>'), "no shared text -1"),
    "deep XML": ("a.xlsx", in_xlsx("<w>" * 1000), "nested too deeply"),
    "odd encoding": ("a.xlsx", in_xlsx("<?xml version='1.0' encoding='hex'?><w/>"), "not readable"),
    "broken XML": ("a.xlsx", in_xlsx("<w><row>"), "not readable"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files_are_refused_in_one_line(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_files, "MAX_LINE", 1_000_000)
    name, raw, reason = HOSTILE[case]
    (tmp_path / name).write_bytes(raw)
    if reason:
        assert_refused(lambda: recordings(tmp_path / name), reason)
    else:
        assert texts(tmp_path / name)


def test_sizes_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_files, "MAX_ROWS", 3)
    assert_refused(lambda: recordings(lines(tmp_path / "rows.jsonl", ROWS)), "row 5: not readable (more than 3 rows")
    (tmp_path / "a.json").write_text(f"[{', '.join(['{}'] * 13)}]")
    assert_refused(lambda: recordings(tmp_path / "a.json"), "more than 24 values")
    (tmp_path / "a.jsonl").write_text('{"id": 1, "reply": "x", "more": [[], [], [], [], []]}\n' * 2)
    assert_refused(lambda: recordings(tmp_path / "a.jsonl"), "row 2: not readable (more than 12 objects and lists")
    (tmp_path / "quote.csv").write_text('id,reply\n1,"' + "\n" * 60)
    with monkeypatch.context() as context:
        context.setattr(recorded_files, "MAX_LINE", 50)
        assert_refused(lambda: recordings(tmp_path / "quote.csv"), "a quotation mark that is not closed")
    monkeypatch.setattr(recorded_files, "MAX_LIST_BYTES", 10_000)
    packed = lines(tmp_path / "a.jsonl.gz", [{"id": n, "reply": "x" * 9000} for n in range(3)])
    assert packed.stat().st_size < 1000
    assert_refused(lambda: recordings(packed), "more bytes than are read; split the file")
    monkeypatch.setattr(recorded_files, "MAX_XLSX_BYTES", 500)
    assert_refused(lambda: recordings(xlsx(tmp_path / "a.xlsx", CELLS)), "more bytes than are read")


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.jsonl")
    assert_refused(lambda: recordings(tmp_path / "a.jsonl"), "not a file")


@pytest.mark.parametrize("name", ["", ".", "\0", "/", "a" * 5000, "none.jsonl", "[", "**"])
def test_odd_names_are_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert_refused(lambda: recordings(name), "file; write recorded:FILE")


def test_hostile_cells_make_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts that no table or terminal takes as they are: kept, scored as wrong, written."""
    monkeypatch.setitem(SUITES._loaded, "hard", suite_of())
    items: ItemSet = read_itemset(colour_set(tmp_path / "items").root)
    odd = ["\ud800", "\0\x1b[2J", "x" * 3_000_000, 7]
    file = lines(tmp_path / "a.jsonl", [{"id": f"{n:03}", "reply": reply} for n, reply in enumerate(odd)])
    examination = run(items, [f"recorded:{file}"], tmp_path / "run", show_progress=False)
    assert [response.status for response in examination.responses] == ["ok"] * 4
    assert examination.responses[3].text == "7"
    assert examination.all_results()["value"].iloc[0] == 0.0


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.xlsx"])
def test_blank_rows_are_limited_too(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_files, "MAX_LINES", 50)
    monkeypatch.setattr(recorded_files, "MAX_LINES", 50)
    sheet = in_xlsx(f"<w><row><c t='str'><v>id</v></c></row>{'<row/>' * 60}</w>")
    blank = b"id,reply\n" * name.endswith("csv") + b"\n" * 60
    (tmp_path / name).write_bytes(sheet if name.endswith("xlsx") else blank)
    assert_refused(lambda: recordings(tmp_path / name), "more than 50")


def test_files_are_read_once_until_they_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = lines(tmp_path / "a.jsonl", ROWS)
    first = recordings(file)
    with monkeypatch.context() as patch:
        patch.setattr(recorded_files, "read_rows", None)
        assert recordings(file) == first
    lines(file, ROWS[:3])
    assert len(texts(file)) == 3
