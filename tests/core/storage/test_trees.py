"""What digests of folders and of finished runs cover: every file that decides, and none that is made again."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from snellen.core.storage import files, trees, versions
from snellen.core.storage.run_digest import RunDigest, check_digest, write_digest
from snellen.core.storage.trees import UNREAD, code_digest, marks_digest, odd_file, tree_digest, tree_files
from tests.helpers.refusals import assert_refused


def written(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)


def test_a_digest_of_a_folder_covers_names_and_bytes_of_all_files_that_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "a", "b", "c/d")
    written(tmp_path / "b", "c/d", "b", *UNREAD, *(f"c/{name}" for name in UNREAD))
    assert tree_digest(tmp_path / "a") == tree_digest(tmp_path / "b"), "in any order, without what is not read"
    assert list(tree_files(tmp_path / "b")) == [tmp_path / "b" / "b", tmp_path / "b" / "c" / "d"]
    assert {"media", "parts", "drawing", "lock", "stamp.json", "revealed.json", "__pycache__"} == set(UNREAD)
    digests, listing = {tree_digest(tmp_path / "a")}, Path.iterdir
    for is_reversed in (False, True):
        monkeypatch.setattr(Path, "iterdir", lambda path, r=is_reversed: iter(sorted(listing(path), reverse=r)))
        assert {tree_digest(tmp_path / "a")} == digests, "the order of a disk does not matter"
    for change in ("c/e", "c/d"):
        (tmp_path / "a" / change).write_text("new")
        digests.add(tree_digest(tmp_path / "a"))
    (tmp_path / "a" / "b").rename(tmp_path / "a" / "B")
    assert len(digests | {tree_digest(tmp_path / "a"), tree_digest(tmp_path / "none")}) == 5


def test_marks_are_names_sizes_and_times_of_files_two_levels_down(tmp_path: Path) -> None:
    written(tmp_path, "ab/x", "cd/y")
    digests, path = [marks_digest(tmp_path)], tmp_path / "cd" / "y"
    written(tmp_path, "above", "ab/deep/below")
    assert marks_digest(tmp_path) == digests[0]
    for change in (
        lambda: os.utime(path, ns=(0, 5)),
        lambda: path.write_text("longer"),
        lambda: path.rename(f"{path}z"),
    ):
        change()
        digests.append(marks_digest(tmp_path))
    assert len({*digests, marks_digest(tmp_path / "none")}) == 5


def test_a_digest_of_the_code_covers_the_versions_of_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "tree_digest", lambda path: path.name)
    digests = set[str]()
    for changed in ("", *trees.LIBRARIES):
        monkeypatch.setattr(trees, "version", lambda name, changed=changed: "2" if name == changed else "1")
        digests.add(code_digest.__wrapped__())
    assert len(digests) == 1 + len(trees.LIBRARIES)
    assert {"numpy", "pandas", "pillow", "pyarrow", "scikit-learn", "scipy"} <= set(trees.LIBRARIES)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with every file that a digest covers, and its items."""
    root = tmp_path / "run"
    names = ["parts/0000.jsonl", "parts/0001.jsonl", "exchanges.parquet", "responses.parquet", "sent.parquet"]
    written(root, *names, "box_units.json", "judgements/a/b.parquet", "judgements/c/d.parquet", "stamp.json")
    rows = [{"value": 1.0}, {"value": 0.5}]
    files.write_table(root / "scores.strict.parquet", pa.Table.from_pylist(rows))
    cards = {"run/run.json": {"itemset": "x", "seed": 0}, "items/blind.json": {"method": "m"},
             "items/itemset.json": {"items": 2, "counts": {}, "parts": []}}  # fmt: skip
    for name, card in cards.items():
        written(tmp_path, name)
        (tmp_path / name).write_text(json.dumps(card))
    return root


COVERED = ["parts/0000.jsonl", "parts/0001.jsonl", "exchanges.parquet", "responses.parquet", "sent.parquet",
           "box_units.json", "judgements"]  # fmt: skip


def test_a_digest_of_a_run_names_each_file_that_was_changed_added_or_removed(run: Path, tmp_path: Path) -> None:
    digest = write_digest(run, tmp_path / "items")
    assert write_digest(run, tmp_path / "items") == digest, "it still holds"
    cards = ["run.json", "items/itemset.json", "items/blind.json", "scores.strict.parquet"]
    assert sorted(digest.parts) == sorted([*COVERED, *cards])

    def refused(path: Path, change: Callable[[Path], object], name: Path) -> None:
        content = path.read_bytes() if path.exists() else None
        change(path)
        assert_refused(
            lambda: check_digest(run, tmp_path / "items", digest.total), f"{name}: changed, added or removed"
        )
        path.unlink(missing_ok=True) if content is None else path.write_bytes(content)

    for name in (*COVERED[:6], "judgements/a/b.parquet", "judgements/c/d.parquet"):
        file = run / ("judgements" if name.startswith("judgements") else name)
        refused(run / name, lambda path: path.write_text("other"), file)
        refused(run / name, Path.unlink, file)
    for path in (run / "parts" / "0002.jsonl", run / "judgements" / "new"):
        refused(path, lambda path: path.write_text("new"), run / "judgements" if path.name == "new" else path)
    refused(run / "run.json", lambda path: path.write_text('{"itemset": "x", "seed": 1}'), run / "run.json")
    for name in ("itemset.json", "blind.json"):
        refused(tmp_path / "items" / name, lambda path: path.write_text('{"items": 3}'), tmp_path / "items" / name)
    (run / "run.json").write_text('{"seed": 0, "itemset": "moved"}')
    files.write_table(run / "scores.strict.parquet", files.read_table(run / "scores.strict.parquet"))
    check_digest(run, tmp_path / "items", f" {digest.total.upper()}\n")
    for other in ("0" * 64, "", " ", digest.total[:-1], digest.total[:8], digest.total[1:], f"{digest.total}0"):
        words = f"gives digest {digest.total}, not the published {other};"
        assert_refused(partial(check_digest, run, tmp_path / "items", other), words)
    (run / RunDigest.file).unlink()
    assert_refused(lambda: check_digest(run, tmp_path / "items", digest.total), f"{run}: has no digest.json")


def test_what_is_no_regular_file_is_in_no_digest_of_a_run(run: Path, tmp_path: Path) -> None:
    os.mkfifo(run / "judgements" / "pipe")
    assert odd_file(run / "judgements") == run / "judgements" / "pipe"
    assert odd_file(run / "parts") is None
    assert_refused(lambda: write_digest(run, tmp_path / "items"), "pipe: not a regular file below 2 GB")


def test_a_published_digest_is_one_of_sha256_and_canonical_json(run: Path, tmp_path: Path) -> None:
    """By hand: whoever published a digest compares it with that of a later version."""

    def hashed(value: object) -> str:
        return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def of_text(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    names = ["exchanges.parquet", "responses.parquet", "sent.parquet", "box_units.json"]
    expected = {name: hashed([[".", of_text(name)]]) for name in names}
    expected |= {f"parts/000{n}.jsonl": of_text(f"parts/000{n}.jsonl") for n in range(2)}
    verdicts = [[name, of_text(f"judgements/{name}")] for name in ("a/b.parquet", "c/d.parquet")]
    expected |= {"judgements": hashed(verdicts), "scores.strict.parquet": hashed([{"value": 1.0}, {"value": 0.5}])}
    expected |= {"run.json": hashed({"seed": 0}), "items/blind.json": hashed({"method": "m"})}
    whole_set, items = {"items": 2, "counts": {}, "parts": [{"items": 2}]}, tmp_path / "items"
    (items / "itemset.json").write_text(json.dumps(whole_set))
    assert write_digest(run, items).parts == expected | {"items/itemset.json": hashed(whole_set)}
    growing_set: dict[str, Any] = {
        "declaration": {"parts": 3},
        "notes": ["a"],
        **whole_set,
        "parts": [{"items": 1}, {"items": 2}],
    }
    (items / "itemset.json").write_text(json.dumps(growing_set))
    expected |= {"items/itemset.json": hashed({"declaration": {"parts": 3}, "notes": ["a"]})}
    expected |= {"items/part 0": hashed({"items": 1}), "items/part 1": hashed({"items": 2})}
    digest = write_digest(run, items)
    assert digest.parts == expected
    assert digest.total == hashed({"date": digest.date, "parts": expected, "schema_version": 2})
    grown = {"items": 9, "counts": {"a": 9}, "parts": [*growing_set["parts"], {"items": 6}]}
    changes: list[tuple[dict[str, object], str]] = [(grown, ""), ({"notes": []}, "itemset.json")]
    changes += [({"parts": growing_set["parts"][:1]}, "part 1"), ({"parts": "x"}, "part 0")]
    for change, fault in changes:
        (items / "itemset.json").write_text(json.dumps(growing_set | change))
        if fault:
            assert_refused(lambda: check_digest(run, items, digest.total), f"{items / fault}: changed, added or rem")
        else:
            check_digest(run, items, digest.total)


def test_a_run_records_the_versions_of_what_may_change_its_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    names = "snellen numpy pandas pyarrow pillow scikit-learn onnxruntime torch transformers inspect_ai httpx mitsuba"
    parser = tree_digest(Path(versions.__file__).parents[2] / "scoring" / "answers")[:16]
    known = {"python": platform.python_version(), "parser": parser}
    with monkeypatch.context() as patch:
        patch.setattr(versions, "version", lambda name: f"of {name}")
        assert versions._versions.__wrapped__() == known | {name: f"of {name}" for name in names.split()}
    monkeypatch.setattr(versions, "RECORDED", ("numpy", "no-such-package", "pyarrow"))
    installed = {"numpy": np.__version__, "pyarrow": pa.__version__}
    assert versions._versions.__wrapped__() == known | installed, "without what is not installed"
