"""Removes one person from a study: from the server's database, from imported folders, and from later imports."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from snellen.analysis.studies.people import HUMAN
from snellen.core.errors import SnellenError
from snellen.core.plain_text import no_formula
from snellen.core.storage import files
from snellen.core.storage.trees import refuse_links
from snellen.core.storage.user_files import MAX_CARD_BYTES, is_file, read_file
from snellen.runs.scores.judgements import SAMPLE_COLUMNS
from snellen.web import databases, store
from snellen.web.admission import code_digest, person_digests, start_digest
from snellen.web.importing import RECORDS, REFUSED, import_locked, imported, read_refused, write_refused
from snellen.web.plan import RecordRow, Start
from snellen.web.study import FORGOTTEN, LOCK, RESULTS, forgotten, read_study, write_private

TEXTS, MAX_FILES = (".json", ".jsonl", ".csv", ".tsv", ".html", ".md", ".yaml", ".half"), 20_000
"""Files that are searched for people's names, and the greatest number of them in a folder."""
_SAMPLE = re.compile(("[,;\t]".join(SAMPLE_COLUMNS) + '|"source": *"judgement sample"').encode())
"""In a sample for people who judge, which has words without the name of who wrote them."""


def forget(root: Path, participant: str, folders: Sequence[Path]) -> dict[str, Any]:
    """Remove a person, by name, alias or withdrawal code, and write a receipt; returns its content.

    Answers in the server's database are overwritten. In each folder of imported results, the record is deleted and all
    runs are written again without the person. Raises SnellenError if nobody, or more than one person, is meant, or if
    another process removes somebody at the same time.
    """
    for folder in folders:  # they may be a stranger's
        refuse_links(folder)
        if not any((folder / name).exists() for name in (RECORDS, REFUSED)):
            raise SnellenError(f"--imported {folder}: no one was imported there; give a folder that `import` wrote")
    with files.kernel_lock(root / LOCK, root):  # two at once would overwrite each other's list of the removed
        return _forget(root, participant, folders)


def _forget(root: Path, participant: str, folders: Sequence[Path]) -> dict[str, Any]:
    name, code = no_formula(participant), code_digest(participant)  # as tables have them
    in_database = [stored for stored in _in_database(root) if _is_meant(participant, stored.name, stored.rows)]
    starts = {start_digest(stored.rows[0]) for stored in in_database if stored.rows}
    recognised = {digest for stored in in_database for digest in person_digests(stored.rows)}
    written, refused_in, others = list[Path](), list[Path](), set[frozenset[str]]()
    records = {folder: list(imported(folder)) for folder in folders}
    for folder, participants in records.items():
        for other in participants:
            if _is_meant(participant, other.name, other.rows) or other.alias == participant:
                written.append(folder)
                starts.add(start_digest(other.rows[0]))
                recognised |= person_digests(other.rows)
        refused = read_refused(folder) if (folder / REFUSED).is_file() else []
        if meant := [row for row in refused if no_formula(row.person) == name or code in row.digests]:
            refused_in.append(folder)
            others |= {frozenset(row.digests.split()) for row in meant}
    for folder, participants in records.items():  # the person may have another name in each
        if any(start_digest(other.rows[0]) in starts for other in participants) and folder not in written:
            written.append(folder)
    aliases = {other.alias for others in records.values() for other in others if start_digest(other.rows[0]) in starts}
    # Whoever has another name in a folder is recognised in the database by their first row.
    same = [stored for stored in _in_database(root) if stored.rows and start_digest(stored.rows[0]) in starts]
    in_database += [stored for stored in same if stored not in in_database]
    persons = starts | {stored.name for stored in in_database if not stored.rows}
    is_repeated = code_digest(participant) in forgotten(root)  # interrupted before the receipt
    if not persons and not refused_in and not is_repeated:
        raise SnellenError(f"{participant}: nobody of this name or code is in {', '.join(map(str, [root, *folders]))}")
    others = {digests for digests in others if recognised.isdisjoint(digests) and digests}
    if len(persons) + len(others) > 1:
        raise SnellenError(f"{participant}: {len(persons) + len(others)} people are meant; give the code of one")
    recognised.update(*others)
    if recognised:
        write_private(root / FORGOTTEN, json.dumps(sorted(forgotten(root) | recognised)))
    deleted = sum(_delete(root, stored.number) for stored in in_database)
    has_copies = (root / RESULTS).is_file() and not _overwrite_deleted(root)
    for folder in folders:  # another copy of the study may be imported into it
        write_private(folder / FORGOTTEN, json.dumps(sorted(forgotten(root) | forgotten(folder))))
    for folder in dict.fromkeys(written):
        import_locked(root, (), folder)  # without those who are forgotten, and without earlier refusals
    for folder in refused_in:
        if folder not in written:
            kept = [row for row in read_refused(folder) if recognised.isdisjoint(row.digests.split())]
            write_refused(folder, [row for row in kept if no_formula(row.person) != name])
    holders, not_searched = _products(root, folders, aliases, {stored.name for stored in in_database})
    receipt = {
        "study": root.resolve().name,
        "person": participant,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "rows_deleted_from_database": deleted,
        "deleted_rows": "copies may be left; stop the server and repeat by code" if has_copies else "overwritten",
        "folders_written_again": list(map(str, dict.fromkeys([*written, *refused_in]))),
        "may_still_be_in": holders,
        "not_searched": not_searched,
        "not_touched": "what may still have the person, and files elsewhere or packed: delete or write them again",
    }
    path = root / f"forgotten-{hashlib.sha256(next(iter(persons or {participant})).encode()).hexdigest()[:8]}.json"
    write_private(path, json.dumps(receipt, indent=1) + "\n")
    return {**receipt, "receipt": str(path)}


def _products(
    root: Path, folders: Sequence[Path], aliases: Collection[str], names: Collection[str]
) -> tuple[list[str], str]:
    """What beside the study and the imported folders may have the person, and a sentence on what was not searched.

    These are folders with text on all people of the study, or on this person under an alias or a name in the database,
    and samples for people who judge. Imported folders have the others' runs: there, only the aliases count.
    """
    study = re.escape(f"{HUMAN}{read_study(root).name}")
    alias, person = (
        rf"{study}/(?:{'|'.join(map(re.escape, some))})(?!\w)" if some else r"(?!)"
        for some in (aliases, {*aliases, *names})
    )
    anybody, imports = re.compile(rf"{person}|{study}(?![\w/-])".encode()), [path.resolve() for path in folders]
    named, holders, unsearched = re.compile(alias.encode()), set[str](), set[str]()
    for place in sorted({path.resolve().parent for path in (root, *folders)}):
        texts = (path for path in place.rglob("*") if path.suffix in TEXTS and is_file(path))
        for path in islice(texts, MAX_FILES):
            try:
                content = read_file(path, MAX_CARD_BYTES)
            except OSError:  # too large, or of others
                unsearched.add(str(path))
                continue
            pattern = named if any(path.is_relative_to(folder) for folder in imports) else anybody
            if (is_sample := bool(_SAMPLE.search(content))) or pattern.search(content):
                holders.add(str(path if is_sample and path.suffix != ".json" else path.parent))
        unsearched |= {f"{place} beyond {MAX_FILES} files" for _ in islice(texts, 1)}
    listed = f"{', '.join(sorted(unsearched)[:10])} ({len(unsearched)} in all)"
    sentence = f"Not searched, as too many, too large or closed to you: {listed}." if unsearched else ""
    return sorted(holders), sentence


def _in_database(root: Path) -> Iterator[store.Stored]:
    """One after another: the database may be larger than what fits into the memory."""
    return store.read_stored(root, with_rows=False) if (root / RESULTS).is_file() else iter(())


def _is_meant(participant: str, name: str, record_rows: Sequence[RecordRow]) -> bool:
    codes = (row.record.code for row in record_rows if isinstance(row.record, Start))
    return participant in {name, *filter(None, codes)}


def _delete(root: Path, number: int) -> int:
    """Delete and overwrite a participant's rows, and return their number; a server may be running."""
    with contextlib.closing(databases.connect(root / RESULTS)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        deleted = store.delete_participant(connection, number)
        connection.execute("COMMIT")
    return deleted


def _overwrite_deleted(root: Path) -> bool:
    """Overwrite what is left of deleted rows, also in the log; False if there may be copies: others use it, no room."""
    with contextlib.closing(databases.connect(root / RESULTS)) as connection, contextlib.suppress(sqlite3.Error):
        connection.execute("VACUUM")  # a page that was split keeps copies, which `secure_delete` does not reach
        return not connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]  # waits `BUSY_SECONDS`
    return False
