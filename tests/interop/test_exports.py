"""Exports of item sets, read back by short readers that share no code with the writers."""

from __future__ import annotations

import ast
import base64
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

import snellen
from snellen.analysis.comparison.log_changes import LogChanges
from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import SubjectCard
from snellen.exam.run import run
from snellen.interop.exporting import FORMATS, ExportAccount, export
from snellen.interop.questions import select_questions
from snellen.runs.asking.preview import first_calls
from snellen.suites import SUITES
from tests.goldens.golden import assert_golden
from tests.helpers.sets import small_set


@dataclass(frozen=True)
class Row:
    """A row read back: the key and options as written, and SHA-256 of each image's bytes."""

    key: str
    options: list[str]
    images: list[str]
    prompt: str


def _sha(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def read_csv(folder: Path) -> dict[str, Row]:
    table = pd.read_csv(folder / "questions.csv", dtype=str, keep_default_na=False)
    return {
        row["item_id"]: Row(
            row["key"],
            json.loads(row["options"]),
            [_sha((folder / name).read_bytes()) for name in json.loads(row["images"])],
            row["prompt"],
        )
        for row in table.to_dict("records")
    }


def read_jsonl(folder: Path) -> dict[str, Row]:
    rows = {}
    for line in (folder / "questions.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        images = [part for part in row["prompt"] if part["type"] == "image"]
        text = "\n".join(part.get("text", "<image>") for part in row["prompt"])
        hashes = [_sha((folder / part["path"]).read_bytes()) for part in images]
        assert hashes == [part["sha256"] for part in images]
        rows[row["item_id"]] = Row(row["key"], row["options"], hashes, text)
    return rows


def read_hf(folder: Path) -> dict[str, Row]:
    return {
        row["item_id"]: Row(row["key"], row["options"], [_sha(i["bytes"]) for i in row["images"]], row["prompt"])
        for row in pq.read_table(folder / "test.parquet").to_pylist()
    }


def read_vlmevalkit(folder: Path) -> dict[str, Row]:
    """As the kit reads: `pandas.read_csv` with its defaults for empty cells, lists by evaluation."""
    rows = {}
    for path in folder.glob("*.tsv"):
        for row in pd.read_csv(path, sep="\t").to_dict("records"):
            cells = ast.literal_eval(row["image"]) if row["image"].startswith("[") else [row["image"]]
            letters = [letter for letter in ascii_uppercase if letter in row and not pd.isna(row[letter])]
            options = [str(row[letter]).strip() for letter in letters]
            key = options[letters.index(row["answer"])] if letters else str(row["answer"])
            rows[row["item_id"]] = Row(key, options, [_sha(base64.b64decode(c)) for c in cells], row["question"])
    return rows


def read_evalscope(folder: Path) -> dict[str, Row]:
    """Questions as messages; options of the same questions from the other files, if they have any."""
    rows, choices = dict[str, Row](), dict[str, Any]()
    for path in folder.glob("mcq/*.jsonl"):
        choices |= {row["item_id"]: row for row in map(json.loads, path.read_text("utf-8").splitlines())}
    lines = [line for path in folder.glob("vqa/*.jsonl") for line in path.read_text("utf-8").splitlines()]
    for row in map(json.loads, lines):
        content = row["messages"][0]["content"]
        urls = [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
        choice = choices.get(row["item_id"], {"options": []})
        assert [choice[f"image_{n}"] for n in range(1, len(urls) + 1) if choice["options"]] in ([], urls)
        text = "\n".join(part.get("text", "<image>") for part in content)
        hashes = [_sha((folder / url).read_bytes()) for url in urls]
        rows[row["item_id"]] = Row(row["answer"], choice["options"], hashes, text)
    return rows


def read_lmms_eval(folder: Path) -> dict[str, Row]:
    """Texts and images in the order of `parts`, as `doc_to_messages` sends them."""
    rows = {}
    for path in folder.glob("*.parquet"):
        for row in pq.read_table(path).to_pylist():
            parts, hashes = json.loads(row["parts"]), [_sha(image["bytes"]) for image in row["images"]]
            assert hashes == [part["sha256"] for part in parts if part["type"] == "image"]
            text = "\n".join(part.get("text", "<image>") for part in parts)
            rows[row["item_id"]] = Row(row["key"], row["options"], hashes, text)
    return rows


READERS: dict[str, Callable[[Path], dict[str, Row]]] = {
    "csv": read_csv, "jsonl": read_jsonl, "hf": read_hf, "evalscope": read_evalscope,
    "lmms-eval": read_lmms_eval, "vlmevalkit": read_vlmevalkit,
}  # fmt: skip


@pytest.fixture(
    scope="module",
    params=["combo", *(pytest.param(name, marks=pytest.mark.slow) for name in ("vlm2-bench", "ava-bench"))],
)
def items(request: pytest.FixtureRequest, sets_folder: Path) -> ItemSet:
    return small_set(request.param, sets_folder)


@pytest.fixture(scope="module")
def accounts(items: ItemSet, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, ExportAccount]]:
    root = tmp_path_factory.mktemp("exports")
    return {name: (root / name, export(items.root, name, root / name)) for name in READERS}


@pytest.mark.parametrize("name", READERS)
def test_keys_options_and_images_come_back(
    name: str, items: ItemSet, accounts: dict[str, tuple[Path, ExportAccount]]
) -> None:
    folder, account = accounts[name]
    rows = READERS[name](folder)
    assert len(rows) == sum(account.exported.values()) > 0
    suite = SUITES.get(items.card.suite)
    (vanilla,) = parse_conditions(suite.axes, "vanilla")
    media = MediaFolder(folder.parent / f"{name}-media", items.media)
    calls = {call.item_ids: call.prompt for call in first_calls(items, suite, vanilla, SubjectCard("x"), media)}
    for item_id, row in rows.items():
        item, prompt = items.by_id[item_id], calls[(item_id,)]
        assert row.images == [image.sha256 for image in prompt.media()]
        assert row.images
        texts = [part for part in prompt.parts if isinstance(part, str)]
        if name != "vlmevalkit":  # with images first, and numbered placeholders
            assert re.sub(r"<image( \d+)?>\n?", "", row.prompt) == "\n".join(texts)
        view = prompt.views[0]
        protocol = suite.tasks[item.task].protocols["strict"]
        if item.answer_kind in ("choice", "true_false"):
            assert len(row.options) == len(view.reply.offered)
        if item.options and any(option.text for option in item.options) and name != "vlmevalkit":
            assert set(row.options) == {option.text or option.key for option in item.options}
        if name != "vlmevalkit":
            prediction, metric = protocol.read(row.key, view.reply), protocol.metrics[0]
            assert protocol.values(item, prediction)[metric.name] == pytest.approx(
                metric.best, abs=1e-4
            )  # boxes are rounded


@pytest.mark.parametrize("name", READERS)
def test_every_item_is_exported_or_counted(
    name: str, items: ItemSet, accounts: dict[str, tuple[Path, ExportAccount]]
) -> None:
    folder, account = accounts[name]
    assert sum(account.exported.values()) + sum(account.left_out.values()) == items.card.items
    readme = (folder / "README.md").read_text("utf-8")
    assert all(f"| {task} | {count} |" in readme for task, count in account.exported.items())
    assert all(reason in readme for reason in account.left_out)
    assert items.card.content_hash in readme
    assert ("equal those of `snellen run`" in readme) == (name == "lmms-eval")


def test_vlmevalkit_keeps_an_option_called_none(sets_folder: Path, tmp_path: Path) -> None:
    export(small_set("vlm2-bench", sets_folder).root, "vlmevalkit", tmp_path / "kit")
    rows = read_vlmevalkit(tmp_path / "kit")
    assert sum("None" in row.options for row in rows.values()) >= 5


def test_datasets_reads_the_folder(sets_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets", reason="the extra 'hub' is not installed")
    folder = tmp_path / "hf"
    account = export(small_set("vlm2-bench", sets_folder).root, "hf", folder)
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    rows = datasets.load_dataset(str(folder), split="test", cache_dir=str(tmp_path / "cache"))
    assert rows.num_rows == sum(account.exported.values())
    assert {image.format for image in rows[0]["images"]} == {"PNG"}


def test_a_condition_changes_what_is_written(sets_folder: Path, tmp_path: Path) -> None:
    """Questions of ComBo's perception share a sheet by default and are left out; single questions are not."""
    items = small_set("combo", sets_folder)
    account = export(items.root, "jsonl", tmp_path / "single", "samples=1,questions=one")
    vanilla = export(items.root, "jsonl", tmp_path / "vanilla")
    sheets = vanilla.left_out["asked with others in one call"]
    assert account.exported == {"pattern-perception": sheets}
    grey = export(items.root, "jsonl", tmp_path / "grey", "images=grey")
    assert grey.exported == vanilla.exported
    before, after = (read_jsonl(tmp_path / name) for name in ("vanilla", "grey"))
    assert all(before[item_id].images != after[item_id].images for item_id in before)
    assert all(before[item_id].key == after[item_id].key for item_id in before)


def test_exported_scores_are_those_of_the_protocol(items: ItemSet, tmp_path: Path) -> None:
    suite = SUITES.get(items.card.suite)
    (vanilla,) = parse_conditions(suite.axes, "vanilla")
    for question in select_questions(items, suite, vanilla, tmp_path).questions:
        metric = question.protocol.metrics[0]
        outcome, value = question.score(question.key)
        assert outcome == "answered"
        assert value == pytest.approx(metric.best, abs=1e-4)  # boxes are rounded
        outcome, value = question.score("")
        assert (outcome, value) == ("no_answer", metric.worst)
        for key in question.view.reply.offered if question.item.answer_kind in ("choice", "true_false") else ():
            is_right = key == str(question.item.answer)
            assert (question.score(question.view.reply.name(key))[1] == metric.best) == is_right


def test_refusals_have_one_line(sets_folder: Path, tmp_path: Path) -> None:
    items = small_set("vlm2-bench", sets_folder)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    for arguments, reason in (
        ((items.root, "hff", tmp_path / "a"), "did you mean 'hf'"),
        ((items.root, "csv", tmp_path / "full"), "not empty"),
        ((items.root, "csv", tmp_path / "a", "images=none,prompt=full,prompt=short"), "given twice"),
        ((items.root, "csv", tmp_path / "a", "images=nonee"), "did you mean 'none'"),
        ((items.root, "vlmevalkit", tmp_path / "a", "images=none"), "nothing can be exported"),
        ((tmp_path, "csv", tmp_path / "a"), "no item set"),
    ):
        with pytest.raises(SnellenError, match=reason):
            export(*arguments)
    assert not (tmp_path / "a").exists()


def test_every_format_has_a_description() -> None:
    assert set(READERS) == set(FORMATS)
    assert all(FORMATS.get(name).name == name and FORMATS.get(name).usage for name in FORMATS)


@pytest.mark.parametrize("suite", ["vlm2-bench", "ava-bench"])
@pytest.mark.parametrize("tool", ["evalscope", "vlmevalkit"])
def test_right_answers_come_back_from_the_files_that_tools_write(
    tool: str, suite: str, sets_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """EvalScope numbers the rows of a file; VLMEvalKit adds a column to them. Every exported item scores 1."""
    monkeypatch.chdir(tmp_path)
    items = small_set(suite, sets_folder)
    account = export(items.root, tool, tmp_path / "export")
    out = tmp_path / "predictions" / "stub"
    out.mkdir(parents=True)
    if tool == "evalscope":
        for path in (tmp_path / "export" / "vqa").glob("*.jsonl"):
            exported = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            rows = [
                {
                    "index": n, "model": "stub", "messages": row["messages"],
                    "model_output": {"choices": [{"message": {"content": row["answer"]}}]},
                }
                for n, row in enumerate(exported)
            ]  # fmt: skip
            (out / f"general_vqa_{path.name}").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    else:
        for path in (tmp_path / "export").glob("*.tsv"):
            table = pd.read_csv(path, sep="\t", keep_default_na=False)
            table.assign(prediction=table["answer"]).to_csv(out / f"stub_{path.name}", sep="\t", index=False)
    done = run(items, ["recorded:predictions/stub/*"], tmp_path / "run", show_progress=False)
    answered = [response for response in done.responses if response.text is not None]
    assert len(answered) == sum(account.exported.values()) > 20
    scores = done.all_results()
    main = scores[(scores["protocol"] == "strict") & (scores["factor"] == "") & (scores["metric"] == "accuracy")]
    assert (main["value"] == 1).all()
    if tool == "vlmevalkit":  # the same file as a log beside the run, its replies read by the letters of its options
        (log,) = (path for path in out.glob("*.tsv") if "_openended" not in path.name)
        compared = snellen.compare(tmp_path / "run", log, read=True)
        assert isinstance(compared, LogChanges)
        assert compared.joined.counts == {"id": compared.pairs}
        assert (compared.table[["before", "after"]] == 1).all(axis=None)


def _plain(cell: Any) -> Any:
    """A cell with digests in place of images."""
    if isinstance(cell, dict):
        return {name: _plain(value) for name, value in cell.items()}
    if isinstance(cell, list):
        return [_plain(value) for value in cell]
    if isinstance(cell, bytes):
        return _sha(cell)[:10]
    is_url = isinstance(cell, str) and cell.startswith("data:")
    return f"{cell[:22]} {_sha(cell.encode())[:10]}" if is_url else cell


@pytest.mark.parametrize(("suite", "tool"), [("ava-bench", "hf"), ("vlm2-bench", "lmms-eval")])
def test_tables_of_exports_are_as_they_were(suite: str, tool: str, sets_folder: Path, tmp_path: Path) -> None:
    """The number of rows and the first row of each, and a digest of all."""
    export(small_set(suite, sets_folder).root, tool, tmp_path / "out")
    lines = list[str]()
    for path in sorted((tmp_path / "out").rglob("*.parquet")):
        rows = [json.dumps(_plain(row), ensure_ascii=False) for row in pq.read_table(path).to_pylist()]
        digest = _sha("\n".join(rows).encode())[:16]
        lines += [f"== {path.relative_to(tmp_path / 'out')}: {len(rows)} rows {digest}", rows[0]]
    if tool == "lmms-eval":
        path = min((tmp_path / "out").glob("snellen_*_oc_cpr.yaml"))
        lines.append(path.read_text("utf-8"))
    assert_golden(f"export-{tool}.txt", "\n".join(lines) + "\n")
