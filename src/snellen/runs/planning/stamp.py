"""Stamps of finished runs: an up-to-date run is neither asked, computed nor written again.

A finished run is stamped with a digest of everything that its responses and `strict` scores depend on, including this
code, and a digest of the files that hold them. The stamp is ignored if those files have changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from snellen.core.hashing import digest
from snellen.core.storage import files
from snellen.core.storage.trees import code_digest, marks_digest, tree_digest
from snellen.core.storage.user_files import MAX_CARD_BYTES, MAX_CARD_VALUES, bounded_json, file_mark, read_file
from snellen.core.storage.versions import versions
from snellen.core.subject import Subject

STAMP = "stamp.json"
RECORD = ("run.json", "exchanges.parquet", "responses.parquet", "sent.parquet", "scores.strict.parquet", "judgements")
"""Files that asking and scoring write into a run, in addition to `parts`."""


class RunStamp(BaseModel):
    """`stamp.json` of a run. `key` is the digest of the inputs, `record` that of the outputs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str
    record: str


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


def is_stamped(root: Path, key: str) -> bool:
    """True if the stamp of a run has this key, and the run's files are unchanged."""
    try:
        stamp = RunStamp.model_validate_json(bounded_json(read_file(root / STAMP, MAX_CARD_BYTES), MAX_CARD_VALUES))
    except (OSError, ValueError):
        return False
    return bool(key) and stamp.key == key and stamp.record == _record(root)


def write_stamp(root: Path, key: str) -> None:
    """Stamp a run whose items were all asked and scored without failure; without a key, do nothing."""
    if key:
        files.write_text(root / STAMP, RunStamp(key=key, record=_record(root)).model_dump_json(indent=1) + "\n")


def _record(root: Path) -> str:
    parts = [[part.name, file_mark(part)] for part in sorted((root / "parts").glob("*.jsonl"))]
    return digest([parts, *(tree_digest(root / name) for name in RECORD)])
