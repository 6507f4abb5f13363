"""Whether a report still says what its runs do: it is written again only where runs, items, code or options changed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from snellen.core.hashing import digest, sha256
from snellen.core.storage import files
from snellen.core.storage.runfolder import read_run_card
from snellen.core.storage.trees import code_digest, tree_digest, tree_files
from snellen.remote import fetched

STAMP = "stamp.json"


def report_stamp(runs: Sequence[Path], options: Mapping[str, Any], inputs: Mapping[str, Path]) -> str:
    """A digest of all that a report is made of. Raises SnellenError where a run cannot be read."""
    item_sets = [fetched(read_run_card(root).itemset) for root in runs]
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
    checksums = {str(path.relative_to(out)): sha256(path.read_bytes()) for path in tree_files(out)}
    files.write_text(out / STAMP, json.dumps({"stamp": stamp, "files": checksums}, indent=1) + "\n")


def remove_stamp(out: Path) -> None:
    """Before a report is written: what is cut off is not taken for whole."""
    (out / STAMP).unlink(missing_ok=True)
