"""Removes one person from a study: from the server's database, from imported folders, and from later imports."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from snellen.core.errors import SnellenError
from snellen.core.storage import files
from snellen.web import store
from snellen.web.admission import start_digest
from snellen.web.importing import import_study, imported, write_private
from snellen.web.plan import RecordRow, Start
from snellen.web.study import FORGOTTEN, RESULTS, forgotten


@dataclass(frozen=True)
class Match:
    """A person who is to be removed: their name in the database, and their rows there."""

    number: int
    name: str
    rows: Sequence[RecordRow]


def forget(root: Path, participant: str, folders: Sequence[Path]) -> dict[str, Any]:
    """Remove a person, by name, alias or withdrawal code, and write a receipt; returns its content.

    Answers in the server's database are overwritten. In each folder of imported results, the record is deleted and all
    runs are written again without the person. Raises SnellenError if nobody, or more than one person, is meant.
    """
    in_database = [match for match in _people(root) if _is_meant(participant, match.name, match.rows)]
    starts = {start_digest(match.rows[0]) for match in in_database}
    written = []
    for folder in folders:
        for other in imported(folder):
            if _is_meant(participant, other.name, other.rows) or other.alias == participant:
                written.append(folder)
                starts.add(start_digest(other.rows[0]))
    if not starts:
        raise SnellenError(f"{participant}: nobody of this name or code is in {', '.join(map(str, [root, *folders]))}")
    if len(starts) > 1:
        raise SnellenError(f"{participant}: {len(starts)} people are meant; give the code of one")
    files.write_text(root / FORGOTTEN, json.dumps(sorted(forgotten(root) | starts)))
    deleted = sum(_delete(root, match.number) for match in in_database)
    for folder in written:
        import_study(root, (), folder)  # without those who are forgotten
    receipt = {
        "study": root.resolve().name,
        "person": participant,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "rows_deleted_from_database": deleted,
        "folders_written_again": [str(folder) for folder in written],
        "not_touched": "files of results, archives and reports elsewhere: delete the person there, too",
    }
    path = root / f"forgotten-{next(iter(starts))[:8]}.json"
    write_private(path, json.dumps(receipt, indent=1) + "\n")
    return {**receipt, "receipt": str(path)}


def _is_meant(participant: str, name: str, record_rows: Sequence[RecordRow]) -> bool:
    return participant in {
        name,
        *(row.record.code for row in record_rows if isinstance(row.record, Start) and row.record.code),
    }


def _people(root: Path) -> list[Match]:
    path = root / RESULTS
    if not path.is_file():
        return []
    with contextlib.closing(sqlite3.connect(path, timeout=store.BUSY_SECONDS)) as connection:
        people = connection.execute("SELECT number, name FROM participants").fetchall()
        everyone = (Match(number, name, store.rows_of(connection, number)) for number, name in people)
        return [match for match in everyone if match.rows]


def _delete(root: Path, number: int) -> int:
    """Delete and overwrite a participant's rows, also in the write-ahead log; a server may be running."""
    with contextlib.closing(store.connect(root / RESULTS)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        deleted = store.delete_participant(connection, number)
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return deleted
