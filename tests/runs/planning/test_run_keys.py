"""What makes a finished run another one: every option, input and file that its answers depend on."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from snellen.core.subject import Base, SubjectCard
from snellen.runs.planning import stamp
from snellen.runs.planning.options import RunOptions
from snellen.runs.planning.stamp import is_stamped, run_key, write_stamp

DECIDING: dict[str, Any] = {
    "conditions": ("images=none",), "limit": 3, "repeats": 2, "until_decided": True, "max_items": 7, "seed": 1,
}  # fmt: skip
OTHER: dict[str, Any] = {
    "out": "run",
    "inputs": {"a": Path("b")},
    "budget": 1.0,
    "keep_going": True,
    "show_progress": False,
}
"""`inputs` count by their content."""


class Own(Base):
    """A subject of this package, as its module says."""


Own.__module__ = "snellen.own"


class Foreign(Base):
    """A subject of another package."""


def test_options_that_decide_about_answers_are_all_in_the_key() -> None:
    usual = RunOptions()
    assert {field.name for field in fields(RunOptions)} - {"_"} == {*DECIDING, *OTHER}
    for name, value in DECIDING.items():
        changed = replace(usual, **{name: value}).deciding()
        assert changed == {**usual.deciding(), name: [*value] if isinstance(value, tuple) else value}
        assert changed != usual.deciding(), name
    for name, other in OTHER.items():
        assert replace(usual, **{name: other}).deciding() == usual.deciding(), name


def test_each_input_of_a_run_changes_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items, table = tmp_path / "items", tmp_path / "table.csv"
    (items / "media" / "ab").mkdir(parents=True)
    image = items / "media" / "ab" / "x.png"
    for path in (image, items / "items.parquet", table):
        path.write_text("a")
    card = SubjectCard("own:a")

    def key(*subjects: SubjectCard, **options: Any) -> str:
        own: Any = [Own(subject) for subject in subjects or (card,)]
        return run_key(options.pop("items", items), own, options.pop("inputs", {"a": table}), **{"seed": 0, **options})

    keys = [key(), key(seed=1), key(items=table), key(inputs={}), key(inputs={"b": table}), key(card, card)]
    changes: list[dict[str, Any]] = [
        {"name": "own:b"}, {"settings": {"a": 1}}, {"accepts": frozenset({"image"})}, {"max_images": 1},
        {"attributes": {"a": "b"}}, {"token_limit": 5}, {"address": "x"},
    ]  # fmt: skip
    keys += [key(replace(card, **change)) for change in changes]
    for path in (table, items / "items.parquet"):
        path.write_text(path.read_text() + "a")
        keys.append(key())
    os.utime(image, ns=(0, 5))
    keys.append(key())
    for name in ("code_digest", "versions"):
        monkeypatch.setattr(stamp, name, lambda: "other")
        keys.append(key())
    assert len(set(keys)) == len(keys)
    assert "" not in keys
    mixed: Any = [Own(card), Foreign(card)]
    assert run_key(items, mixed, {}) == "", "the second of two has code that is not ours"


RECORD = ("run.json", "exchanges.parquet", "responses.parquet", "sent.parquet", "scores.strict.parquet", "judgements")


@pytest.mark.parametrize("name", [*RECORD, "parts/0001.jsonl"])
def test_each_file_of_a_run_invalidates_its_stamp(name: str, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for file in (*RECORD, "parts/0000.jsonl", "parts/0001.jsonl", "other.txt"):
        (tmp_path / file).write_text("a")
    write_stamp(tmp_path, "")
    assert not is_stamped(tmp_path, "")
    write_stamp(tmp_path, "key")
    assert [is_stamped(tmp_path, key) for key in ("key", "other", "")] == [True, False, False]
    (tmp_path / "other.txt").write_text("ab")
    assert is_stamped(tmp_path, "key")
    (tmp_path / name).write_text("ab")
    assert not is_stamped(tmp_path, "key")
