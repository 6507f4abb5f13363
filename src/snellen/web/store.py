"""Answers of a study in SQLite: one thread writes, and an answer is acknowledged when it is on the disk.

With a write-ahead log and `synchronous=FULL`, a committed answer survives a killed process and a power cut. Answers
that arrive during a commit are committed together, so that many participants share the wait for the disk.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

from snellen.core.errors import SnellenError
from snellen.core.plain_text import short_reason
from snellen.core.storage.system_calls import UNFOLLOWED
from snellen.web.admission import FormProgress
from snellen.web.databases import TABLES, connect, open_database
from snellen.web.plan import RecordRow
from snellen.web.study import RESULTS

MAX_BATCH = 256
CLOSE_SECONDS = 2.0


class Refusal(Exception):
    """A refused request, with an HTTP status and a sentence for the sender."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


@dataclass(frozen=True)
class Slot:
    """One participant's place in the study: number from 0, name, form, secret, and link."""

    number: int
    name: str
    secret: str
    form: int
    link: str


@dataclass(frozen=True)
class Link:
    """A link to the study: its token, and the reviewer it belongs to (empty: anyone who has it)."""

    token: str
    reviewer: str = ""

    def address(self, base: str) -> str:
        """The address of the link on a server at `base`: studies under `/s/`, reviews under `/r/`."""
        return f"{base}/{'r' if self.reviewer else 's'}/{self.token}/"


Job: TypeAlias = Callable[[sqlite3.Connection], Any]
"""Function that reads, checks (raising Refusal) and then writes; it must not refuse after the first write."""


class Store:
    """The database of a study. `submit` hands a job to the one thread that writes."""

    def __init__(self, path: Path, plan_hash: str) -> None:
        self._queue: queue.SimpleQueue[tuple[Job, Future[Any]] | None] = queue.SimpleQueue()
        self._path = path
        with _faults(path):
            if not path.is_symlink():  # which `connect` refuses
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | UNFOLLOWED, 0o600))  # before anything is written
            with contextlib.closing(connect(path)) as connection:
                connection.executescript(TABLES)
                connection.execute("INSERT OR IGNORE INTO facts VALUES ('plan_hash', ?)", (plan_hash,))
                (kept_hash,) = connection.execute("SELECT text FROM facts WHERE name = 'plan_hash'").fetchone()
            path.chmod(0o600)  # secrets of participants
        if kept_hash != plan_hash:
            raise SnellenError(f"{path}: answers to another plan ({kept_hash}); move it away, or restore that bundle")
        self._reading, self._reader = threading.Lock(), cast("sqlite3.Connection | None", None)
        self._thread = threading.Thread(target=self._write, name="store", daemon=True)
        self._thread.start()

    def links(self) -> list[Link]:
        """The links as they are now; another process may renew them."""
        return [Link(*row) for row in self._read("SELECT token, reviewer FROM links")]

    def rows_text(self, number: int) -> str:
        """The rows of participant `number` in order, as JSON text, read apart from the thread that writes."""
        query = "SELECT sequence, record FROM rows WHERE participant = ? ORDER BY sequence"
        rows = (f'{{"sequence":{sequence},"record":{record}}}' for sequence, record in self._read(query, number))
        return f"[{','.join(rows)}]"

    def _read(self, query: str, *values: int) -> list[tuple[Any, ...]]:
        """Rows of the database as it was opened first: another study may be at its path by now."""
        with self._reading:
            self._reader = self._reader or connect(self._path, shared=True)
            return self._reader.execute(query, values).fetchall()

    def submit(self, job: Job) -> Future[Any]:
        """The job's result after the commit. Raises the job's exception or sqlite3.Error; then nothing was stored."""
        future: Future[Any] = Future()
        self._queue.put((job, future))
        return future

    def close(self) -> None:
        """Finish submitted jobs, for at most `CLOSE_SECONDS`; later ones are never acknowledged."""
        self._queue.put(None)
        self._thread.join(CLOSE_SECONDS)
        with self._reading:
            if self._reader is not None:
                self._reader.close()

    def _write(self) -> None:
        connection: sqlite3.Connection | None = None
        while batch := self._next_batch():
            try:
                connection = connection or connect(self._path)
                outcomes = _commit(batch, connection)
            except Exception as error:  # noqa: BLE001  # whatever it is, waiting requests get it, and the thread continues
                outcomes = [error] * len(batch)
                if connection is not None and connection.in_transaction:
                    with contextlib.suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
            for (_, future), outcome in zip(batch, outcomes, strict=True):
                _resolve(future, outcome)
        if connection is not None:
            connection.close()

    def _next_batch(self) -> list[tuple[Job, Future[Any]]]:
        """The waiting jobs, at least one; empty when the store is closed."""
        batch: list[tuple[Job, Future[Any]]] = []
        while True:
            try:
                entry = self._queue.get(block=not batch)
            except queue.Empty:
                return batch
            if entry is None:
                if batch:
                    self._queue.put(None)
                return batch
            batch.append(entry)
            if len(batch) == MAX_BATCH:
                return batch


@contextlib.contextmanager
def _faults(path: Path) -> Iterator[None]:
    """Raise SnellenError in place of errors of the database."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise SnellenError(_fault(path, error)) from None


_UNWRITABLE = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")


def _fault(path: Path, error: sqlite3.Error | OSError) -> str:
    """What is wrong with the database, and the remedy: one on a full disk is not damaged."""
    if isinstance(error, OSError) or getattr(error, "sqlite_errorname", "").startswith(_UNWRITABLE):
        return f"{path}: cannot be written ({error}); make room, or make the folder writable, and try again"
    return f"{path}: no usable database ({error}); move it away and serve again"


def _commit(batch: Sequence[tuple[Job, Future[Any]]], connection: sqlite3.Connection) -> list[Any]:
    """Do the jobs in one transaction; returns the result of each, or the exception that only it raised."""
    connection.execute("BEGIN IMMEDIATE")
    outcomes = [_attempt(job, connection) for job, _ in batch]
    connection.execute("COMMIT")
    return outcomes


def _attempt(job: Job, connection: sqlite3.Connection) -> Any:
    connection.execute("SAVEPOINT job")
    try:
        outcome = job(connection)
    except (sqlite3.Error, OSError):  # the disk failed: nothing of this batch is stored
        raise
    except Exception as error:  # noqa: BLE001  # only this job failed: the others are stored
        connection.execute("ROLLBACK TO job")
        outcome = error
    connection.execute("RELEASE job")
    return outcome


def _resolve(future: Future[Any], outcome: Any) -> None:
    if not future.set_running_or_notify_cancel():
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)


# Jobs


def links(connection: sqlite3.Connection, reviewers: Sequence[str], open_to_all: bool) -> list[Link]:
    """The links to a study, made once and then unchanged: one per reviewer, one for all others."""
    names = (*([""] if open_to_all else []), *reviewers)
    for reviewer in names:
        connection.execute("INSERT OR IGNORE INTO links VALUES (?, ?)", (new_token(), reviewer))
    kept = {reviewer: Link(token, reviewer) for token, reviewer in connection.execute("SELECT * FROM links")}
    return [kept[reviewer] for reviewer in names]


def renew_links(connection: sqlite3.Connection) -> None:
    """Replace the tokens of all links. Participants keep their secrets, which work with the new ones."""
    for (token,) in connection.execute("SELECT token FROM links").fetchall():
        fresh = new_token()
        connection.execute("UPDATE links SET token = ? WHERE token = ?", (fresh, token))
        connection.execute("UPDATE participants SET link = ? WHERE link = ?", (fresh, token))


def delete_participant(connection: sqlite3.Connection, number: int) -> int:
    """Delete participant `number`; returns the number of their rows. The number itself is not used again."""
    deleted = connection.execute("DELETE FROM rows WHERE participant = ?", (number,)).rowcount
    # Without its link, a reviewer who opens it again begins anew.
    query = "UPDATE participants SET name = ?, secret = ?, link = '', parameters = '{}' WHERE number = ?"
    connection.execute(query, (f"deleted {number}", new_token(), number))
    return deleted


def _slot(connection: sqlite3.Connection, condition: str, *terms: str) -> Slot | None:
    query = f"SELECT number, name, secret, form, link FROM participants WHERE {condition}"
    row = connection.execute(query, terms).fetchone()
    return Slot(*row) if row else None


def slot_of(connection: sqlite3.Connection, link: Link, secret: str) -> Slot:
    """The slot of a secret. Raises Refusal (403) if there is none, or it has another link."""
    slot = _slot(connection, "secret = ?", secret)
    if slot is None or slot.link != link.token:
        raise Refusal(403, "Nobody of this study has this secret; open the link again.")
    return slot


def take_slot(
    connection: sqlite3.Connection, link: Link, secret: str, parameters: dict[str, str], forms: int, number: int = 0
) -> Slot:
    """The slot of the secret or reviewer link; else that of the next participant (p01, p02 …).

    Forms are assigned in turn; for reviewers by their `number`.
    """
    if secret:
        return slot_of(connection, link, secret)
    if connection.execute("SELECT 1 FROM links WHERE token = ?", (link.token,)).fetchone() is None:
        raise Refusal(404, "This link was replaced by a new one; ask the study's leader for it.")
    if link.reviewer and (slot := _slot(connection, "link = ?", link.token)):
        return slot
    (row_number,) = connection.execute("SELECT COALESCE(max(number) + 1, 0) FROM participants").fetchone()
    if not link.reviewer:
        number = row_number
    slot = Slot(row_number, link.reviewer or f"p{number + 1:02d}", new_token(), number % forms, link.token)
    fields = (slot.number, slot.name, slot.secret, slot.form, slot.link, json.dumps(parameters))
    columns = "number, name, secret, form, link, parameters"
    connection.execute(f"INSERT INTO participants ({columns}) VALUES (?, ?, ?, ?, ?, ?)", fields)
    return slot


def new_token() -> str:
    """A new secret of 192 bits."""
    return secrets.token_urlsafe(24)


def parameters_of(connection: sqlite3.Connection, number: int) -> dict[str, str]:
    """The address parameters with which participant `number` opened the study."""
    query = "SELECT parameters FROM participants WHERE number = ?"
    return dict(json.loads(connection.execute(query, (number,)).fetchone()[0]))


def progress_of(connection: sqlite3.Connection, number: int) -> FormProgress:
    """The progress of participant `number`."""
    counts = "count(*), sum(length(CAST(record AS BLOB)))"
    query = f"SELECT json_extract(record, '$.type'), {counts} FROM rows WHERE participant = ? GROUP BY 1"
    by_kind = connection.execute(query, (number,)).fetchall()
    kinds, size = {kind: count for kind, count, _ in by_kind}, sum(size for *_, size in by_kind)
    query = "SELECT json_extract(record, '$.code') FROM rows WHERE participant = ? AND sequence = 0"
    first = connection.execute(query, (number,)).fetchone()
    consented, stopped, finished, calibrated = (name in kinds for name in ("consent", "stop", "end", "calibration"))
    code = str(first[0] or "") if first else ""
    rows, pages = sum(kinds.values()), kinds.get("answers", 0)
    return FormProgress(rows, pages, consented, stopped, finished, code, calibrated, size)


def addresses(root: Path, base: str, participant: str = "", *, renew: bool = False) -> list[str]:
    """The addresses of a served study at `base`, after renewing them; or that with which a person continues.

    Raises SnellenError if nothing was served yet, or nobody has this name.
    """
    path = root / RESULTS
    if not path.is_file():
        raise SnellenError(f"{path}: no links yet; `snellen study serve` makes them")
    with _faults(path), contextlib.closing(connect(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        if renew:
            renew_links(connection)
        by_token = {token: Link(token, reviewer) for token, reviewer in connection.execute("SELECT * FROM links")}
        slot = _slot(connection, "name = ?", participant) if participant else None
        if participant and (slot is None or slot.link not in by_token):  # nothing is renewed
            raise SnellenError(f"{root}: no participant {participant}; people.csv has the names in its column `name`")
        connection.execute("COMMIT")
    if slot is None:
        return [link.address(base) for link in by_token.values()]
    return [f"{by_token[slot.link].address(base)}#continue={slot.secret}"]


def rows_of(connection: sqlite3.Connection, number: int) -> list[RecordRow]:
    """The rows of participant `number` in order."""
    query = "SELECT sequence, record FROM rows WHERE participant = ? ORDER BY sequence"
    return [
        RecordRow.model_validate({"sequence": sequence, "record": json.loads(record)})
        for sequence, record in connection.execute(query, (number,))
    ]


def keep_row(connection: sqlite3.Connection, slot: Slot, record_row: RecordRow) -> int:
    """Store a row, and return its bytes; the same row again changes nothing (0).

    Raises Refusal (409) if another has its number.
    """
    record = json.dumps(record_row.plain()["record"], ensure_ascii=False, sort_keys=True)
    query = "SELECT record FROM rows WHERE participant = ? AND sequence = ?"
    kept = connection.execute(query, (slot.number, record_row.sequence)).fetchone()
    if kept is None:
        connection.execute("INSERT INTO rows VALUES (?, ?, ?)", (slot.number, record_row.sequence, record))
        return len(record.encode())
    if kept[0] != record:
        raise Refusal(409, f"Row {record_row.sequence} is kept with other content; reload the page.")
    return 0


@dataclass(frozen=True)
class Stored:
    """One participant of the database: their number and name, and their rows in order."""

    number: int
    name: str
    rows: list[RecordRow]


_SIZE = "(page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
_LARGEST = """SELECT group_concat(name, ', ') FROM (SELECT substr(name, 1, 80) AS name FROM participants
LEFT JOIN rows ON participant = number GROUP BY number ORDER BY sum(length(CAST(record AS BLOB))) DESC LIMIT 10)"""


def read_stored(root: Path, max_bytes: float = float("inf"), *, with_rows: bool = True) -> Iterator[Stored]:
    """All participants with their rows at one moment; without `with_rows`, those who sent nothing, too.

    The server may be running. Raises SnellenError if nothing was served yet, and for a database that is damaged, or
    has more than `max_bytes`, which would fill the memory; pages of deleted rows do not count.
    """
    path = root / RESULTS
    if not path.is_file():
        raise SnellenError(f"{path}: no results; `snellen study serve` writes them")
    try:
        with contextlib.closing(open_database(path)) as connection:
            connection.execute("PRAGMA query_only=ON")
            connection.execute("BEGIN")
            if (fault := connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
                raise ValueError(short_reason(fault, 100))
            if connection.execute(f"SELECT {_SIZE}").fetchone()[0] > max_bytes:
                (names,) = connection.execute(_LARGEST).fetchone()
                reason = f"more than {max_bytes} bytes, most of them of {short_reason(str(names))}"
                raise SnellenError(f"{path}: {reason}; remove people by `snellen study forget`")
            participants = connection.execute("SELECT number, name FROM participants ORDER BY number").fetchall()
            for number, name in participants:
                if not isinstance(name, str):
                    raise ValueError("a participant without a name")
                if (rows := rows_of(connection, number)) or not with_rows:
                    yield Stored(number, name, rows)
    except SnellenError:
        raise
    except (sqlite3.Error, TypeError, ValueError, RecursionError) as error:
        raise SnellenError(f"{path}: cannot be read ({error}); is it a database of `snellen study serve`?") from None
