"""Whether a run still is what a command would make of it: then nothing is asked, computed or written.

A finished run is stamped with all that its responses and `strict` scores were made of, this code among it, and with the
digest of the files that hold them. Nothing is believed of a run whose files are others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from snellen.core.hashing import digest, sha256
from snellen.core.storage import files
from snellen.core.storage.trees import code_digest, marks_digest, tree_digest
from snellen.core.storage.versions import versions
from snellen.core.subject import Subject

STAMP = "stamp.json"
RECORD = ("run.json", "exchanges.parquet", "responses.parquet", "sent.parquet", "scores.strict.parquet", "judgements")
"""What asking and scoring leaves in a run, beside `parts`."""


class RunStamp(BaseModel):
    """`stamp.json` of a run. `key` is what was wanted, `record` the digest of what came of it.

    `declines` are reasons by subject. `subjects` and `columns` are the table that the command prints, which was made of
    scores with the digest `scores`; empty where nobody wanted to see it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str
    record: str
    responses: int
    declines: dict[str, list[str]] = {}
    scores: str = ""
    subjects: tuple[str, ...] = ()
    columns: tuple[tuple[str, tuple[str, ...]], ...] = ()


def run_key(itemset: Path, subjects: Sequence[Subject], inputs: Mapping[str, Path], **options: Any) -> str:
    """A digest of all that decides the responses and scores of a run; empty where that cannot be known.

    That is where a subject is of a class outside this package, since nobody would see its code change. `options` is
    plain data: conditions, repeats, seed, limit.
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
    """The stamp of a run that holds what the key wants, with all of its files as they were; else None."""
    try:
        stamp = RunStamp.model_validate_json((root / STAMP).read_bytes())
    except (OSError, ValidationError):
        return None
    return stamp if key and stamp.key == key and stamp.record == _record(root) else None


def has_table(root: Path, stamp: RunStamp) -> bool:
    """Whether the stamp holds the table that the command prints of the scores there are now."""
    return bool(stamp.columns) and stamp.scores == _scores(root)


def write_stamp(root: Path, key: str, responses: int, declines: Mapping[str, list[str]]) -> None:
    """Stamp a run whose items were all asked, without a failure, and scored; without a key it gets none."""
    if key:
        _write(root, RunStamp(key=key, record=_record(root), responses=responses, declines=dict(declines)))


def add_table(root: Path, subjects: Sequence[str], columns: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Keep the table that is printed of a stamped run."""
    if (root / STAMP).is_file():
        stamp = RunStamp.model_validate_json((root / STAMP).read_bytes())
        table = {"subjects": tuple(subjects), "columns": tuple((head, tuple(cells)) for head, cells in columns)}
        _write(root, stamp.model_copy(update={**table, "scores": _scores(root)}))


def _write(root: Path, stamp: RunStamp) -> None:
    files.write_text(root / STAMP, stamp.model_dump_json(indent=1) + "\n")


def _record(root: Path) -> str:
    parts = [[part.name, sha256(part.read_bytes())] for part in sorted((root / "parts").glob("*.jsonl"))]
    return digest([parts, *(tree_digest(root / name) for name in RECORD)])


def _scores(root: Path) -> str:
    return digest([[path.name, tree_digest(path)] for path in sorted(root.glob("scores.*.parquet"))])
