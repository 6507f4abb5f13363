"""Stamps of finished runs: an up-to-date run is neither asked, computed nor written again.

A finished run is stamped with a digest of everything that its responses and `strict` scores depend on, including this
code, and a digest of the files that hold them. The stamp is ignored if those files have changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from snellen.core.hashing import digest
from snellen.core.storage import files
from snellen.core.storage.trees import code_digest, marks_digest, tree_digest
from snellen.core.storage.user_files import MAX_CARD_BYTES, file_mark, read_file
from snellen.core.storage.versions import versions
from snellen.core.subject import Subject

STAMP = "stamp.json"
RECORD = ("run.json", "exchanges.parquet", "responses.parquet", "sent.parquet", "scores.strict.parquet", "judgements")
"""Files that asking and scoring write into a run, in addition to `parts`."""


class RunStamp(BaseModel):
    """`stamp.json` of a run. `key` is the digest of the inputs, `record` that of the outputs.

    `declines` are reasons by subject. `subjects`, `columns`, `note` and `warning` are the table that a command prints,
    made from scores with the digest `scores`; empty if it has not been printed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str
    record: str
    responses: int
    declines: dict[str, list[str]] = {}
    scores: str = ""
    subjects: tuple[str, ...] = ()
    columns: tuple[tuple[str, tuple[str, ...]], ...] = ()
    note: str = ""
    warning: str = ""


def run_key(itemset: Path, subjects: Sequence[Subject], inputs: Mapping[str, Path], **options: Any) -> str:
    """A digest of everything that determines the responses and scores of a run; empty if that is unknown.

    It is unknown for a subject of a class outside this package, whose code may change unnoticed. `options` is plain
    data: conditions, repeats, seed, limit.
    """
    if any(not type(subject).__module__.startswith("snellen.") for subject in subjects):
        return ""
    cards = [asdict(subject.card) | {"accepts": sorted(subject.card.accepts)} for subject in subjects]
    return digest(
        {
            "code": code_digest(),
            "versions": versions(),
            "items": [str(itemset.resolve()), tree_digest(itemset), marks_digest(itemset / "media")],
            "subjects": cards,
            "inputs": {name: tree_digest(path) for name, path in inputs.items()},
            "options": options,
        }
    )


def read_stamp(root: Path, key: str) -> RunStamp | None:
    """The stamp of a run if it matches the key and its files are unchanged; else None."""
    stamp = stored_stamp(root)
    return stamp if stamp and key and stamp.key == key and stamp.record == _record(root) else None


def stored_stamp(root: Path) -> RunStamp | None:
    """The stamp of a run; None if it has none, or a damaged one."""
    try:
        return RunStamp.model_validate_json(read_file(root / STAMP, MAX_CARD_BYTES))
    except (OSError, ValidationError):
        return None


def has_table(root: Path, stamp: RunStamp) -> bool:
    """True if the stamp holds the printed table of the current scores."""
    return bool(stamp.columns) and stamp.scores == _scores(root)


def write_stamp(root: Path, key: str, responses: int, declines: Mapping[str, list[str]]) -> None:
    """Stamp a run whose items were all asked and scored without failure; without a key, do nothing."""
    if key:
        _write(root, RunStamp(key=key, record=_record(root), responses=responses, declines=dict(declines)))


def add_table(
    root: Path, subjects: Sequence[str], columns: Sequence[tuple[str, Sequence[str]]], note: str, warning: str
) -> None:
    """Add the printed table to the stamp of a run, if it has one."""
    if stamp := stored_stamp(root):
        table = {"subjects": tuple(subjects), "columns": tuple((head, tuple(cells)) for head, cells in columns)}
        _write(root, stamp.model_copy(update={**table, "note": note, "warning": warning, "scores": _scores(root)}))


def _write(root: Path, stamp: RunStamp) -> None:
    files.write_text(root / STAMP, stamp.model_dump_json(indent=1) + "\n")


def _record(root: Path) -> str:
    parts = [[part.name, file_mark(part)] for part in sorted((root / "parts").glob("*.jsonl"))]
    return digest([parts, *(tree_digest(root / name) for name in RECORD)])


def _scores(root: Path) -> str:
    return digest([[path.name, tree_digest(path)] for path in sorted(root.glob("scores.*.parquet"))])
