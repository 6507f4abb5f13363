"""Opening the database of a study, which may be a stranger's."""

from __future__ import annotations

import contextlib
import functools
import sqlite3
import time
from pathlib import Path

from snellen.core.errors import SnellenError

TABLES = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS links (token TEXT PRIMARY KEY, reviewer TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS participants (
  number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, secret TEXT NOT NULL UNIQUE, form INTEGER NOT NULL,
  link TEXT NOT NULL, parameters TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS rows (
  participant INTEGER NOT NULL REFERENCES participants, sequence INTEGER NOT NULL, record TEXT NOT NULL,
  PRIMARY KEY (participant, sequence)
) WITHOUT ROWID;
"""
BUSY_SECONDS, SCHEMA_SECONDS = 30.0, 10.0


@functools.cache
def _own_statements() -> set[str]:
    """The statements in the schema of a database that `TABLES` made."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(TABLES)
        return {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql NOT NULL")}


def open_database(path: Path, *, shared: bool = False) -> sqlite3.Connection:
    """A connection. Raises SnellenError for a database that may lead elsewhere, or hold programs.

    A stranger may have made it: a rollback journal may name any file, which SQLite then deletes; views and triggers run
    what they say; and pages that lead to each other many times make a schema without end.
    """
    journal = path.with_name(f"{path.name}-journal")
    if link := next((name for name in (path, journal) if name.is_symlink()), journal if journal.exists() else None):
        raise SnellenError(f"{link}: a link, or a journal that `snellen study serve` does not write; move it away")
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=not shared)
    end = time.monotonic() + SCHEMA_SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > end, 10_000)
    try:
        statements = connection.execute("SELECT sql FROM sqlite_master WHERE sql NOT NULL")
        if any(sql not in _own_statements() for (sql,) in statements):
            raise SnellenError(f"{path}: not a database of `snellen study serve`: it has other tables or views")
    except BaseException:
        connection.close()
        raise
    connection.set_progress_handler(None, 0)
    return connection


def connect(path: Path, *, shared: bool = False) -> sqlite3.Connection:
    """A connection to the database of a study; a `shared` one may be used by several threads, one at a time."""
    connection = open_database(path, shared=shared)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA secure_delete=ON")  # what is deleted is overwritten
    return connection
