"""Whether a report still says what its runs do: it is written again only where runs, items, code or options changed."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from snellen.core import files
from snellen.core.hashing import digest, sha256
from snellen.core.runfolder import read_run_card

STAMP = "stamp.json"
LIBRARIES = ("jinja2", "matplotlib", "numpy", "pandas", "pillow", "pyarrow", "scikit-learn", "scipy")
"""Packages whose version may change a number or a figure."""
UNREAD = ("media", "parts", "lock", "__pycache__")
"""Names in a run and an item set that tables are made of, or that the hashes in these tables stand for."""


def report_stamp(runs: Sequence[Path], options: Mapping[str, Any], inputs: Mapping[str, Path]) -> str:
    """A digest of all that a report is made of. Raises SnellenError where a run cannot be read."""
    item_sets = [Path(read_run_card(root).itemset) for root in runs]
    return digest(
        {
            "code": code_digest(),
            "options": dict(options),
            "runs": [[str(root), tree_digest(root)] for root in runs],
            "items": [tree_digest(root) for root in item_sets],
            "inputs": {name: tree_digest(path) for name, path in inputs.items()},
        }
    )


def is_current(out: Path, stamp: str) -> bool:
    """Whether the report in `out` was written whole with this stamp, and all of its files are as they were."""
    try:
        facts = json.loads((out / STAMP).read_text("utf-8"))
        return facts["stamp"] == stamp and all(
            sha256((out / name).read_bytes()) == checksum for name, checksum in facts["files"].items()
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def write_stamp(out: Path, stamp: str) -> None:
    """Say with what the report in `out` was made, and what its files hold."""
    checksums = {str(path.relative_to(out)): sha256(path.read_bytes()) for path in _files(out) if path.name != STAMP}
    files.write_text(out / STAMP, json.dumps({"stamp": stamp, "files": checksums}, indent=1) + "\n")


def remove_stamp(out: Path) -> None:
    """Before a report is written: what is cut off is not taken for whole."""
    (out / STAMP).unlink(missing_ok=True)


def tree_digest(path: Path) -> str:
    """A digest of a file, or of all files of a folder that tables are made of; of what is not there, one of nothing."""
    return digest([[str(file.relative_to(path)), sha256(file.read_bytes())] for file in _files(path)])


@functools.cache
def code_digest() -> str:
    """A digest of this package's own files and of the versions of libraries."""
    package = Path(__file__).parents[1]
    return digest([tree_digest(package), {name: version(name) for name in LIBRARIES}])


def _files(path: Path) -> Iterable[Path]:
    return sorted(_walk(path)) if path.is_dir() else [path] if path.is_file() else []


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name in UNREAD:
            continue
        if path.is_dir():
            yield from _walk(path)
        else:
            yield path
