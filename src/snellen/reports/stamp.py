"""The stamp of a report, so that it is written again only if runs, items, code or options changed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.storage import files
from snellen.core.storage.itemset_cards import is_itemset
from snellen.core.storage.runfolder import is_run, read_run_card
from snellen.core.storage.trees import code_digest, refuse_links, tree_digest, tree_files
from snellen.core.storage.user_files import MAX_CARD_BYTES, file_mark, read_text

STAMP = "stamp.json"


def report_stamp(runs: Sequence[Path], options: Mapping[str, Any], inputs: Mapping[str, Path]) -> str:
    """A digest of all inputs of a report. Raises SnellenError if a run cannot be read."""
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
    """True if the report in `out` was completed with this stamp, and all of its files are unchanged."""
    try:
        facts = json.loads(read_text(out / STAMP, limit=MAX_CARD_BYTES, regular=True))
        return facts["stamp"] == stamp and all(
            file_mark(out / name) == checksum for name, checksum in facts["files"].items()
        )
    except (AttributeError, KeyError, OSError, RecursionError, TypeError, ValueError):
        return False


def write_stamp(out: Path, stamp: str) -> None:
    """Write the stamp of the report in `out`, with the checksums of its files; remove it if it is empty."""
    if not stamp:
        (out / STAMP).unlink()
        return
    checksums = {str(path.relative_to(out)): file_mark(path) for path in tree_files(out)}
    files.write_text(out / STAMP, json.dumps({"stamp": stamp, "files": checksums}, indent=1) + "\n")


def begin(out: Path) -> None:
    """Empty the stamp before a report is written, so that an interrupted report does not count as complete.

    Raises SnellenError for a folder with other files than those of a report, which would be overwritten.
    """
    is_report = (out / STAMP).is_file() or (out / "results.parquet").is_file()
    if is_run(out) or is_itemset(out) or (out.is_dir() and not is_report and next(out.iterdir(), None)):
        raise SnellenError(f"{out}: holds other files than a report; choose another --out")
    refuse_links(out)
    files.write_text(out / STAMP, "{}\n")
