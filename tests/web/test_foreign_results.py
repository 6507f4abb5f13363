"""Results of strangers: databases, archives, folders and designs within limits, and nothing through links."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from snellen.web import databases, dealing, importing, jatos
from snellen.web.databases import TABLES, open_database
from snellen.web.design import BlockDesign, StudyDesign
from snellen.web.importing import read_results_of
from snellen.web.plan import Texts
from snellen.web.store import read_stored
from snellen.web.study import RESULTS
from tests.helpers.refusals import assert_refused


def database(root: Path, statements: str = "") -> Path:
    path = root / RESULTS
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(TABLES + statements)
    return path


class Anything(set[str]):
    """Holds every statement."""

    def __contains__(self, statement: object) -> bool:
        return True


def test_a_schema_without_end_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here, reading one of 4,000 tables takes too long; nothing that comes later is interrupted."""
    path = database(tmp_path, "".join(f"CREATE TABLE t{n} (x);" for n in range(4000)))
    monkeypatch.setattr(databases, "_own_statements", Anything)
    count = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 100000) SELECT max(x) FROM n"
    with closing(open_database(path)) as connection:
        monkeypatch.setattr(databases, "SCHEMA_SECONDS", -1.0)
        assert connection.execute(count).fetchone() == (100_000,)
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        open_database(path)
    assert_refused(lambda: list(read_stored(tmp_path)), "cannot be read (interrupted)")


def test_a_damaged_or_vast_database_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = database(tmp_path, "".join(
        f"INSERT INTO participants VALUES ({n}, 'p{n}', 's{n}', 0, '', '{'x' * 400}');" for n in range(200)
    ))  # fmt: skip
    assert len(list(read_stored(tmp_path, with_rows=False))) == 200
    monkeypatch.setattr(importing, "MAX_TOTAL_BYTES", 10_000)
    assert_refused(lambda: list(read_results_of(tmp_path, ())), "more than 10000 bytes")
    monkeypatch.undo()
    pages = bytearray(path.read_bytes())
    size = int.from_bytes(pages[16:18], "big")
    with closing(sqlite3.connect(path)) as connection:
        (first,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'participants'").fetchone()
    start = (first - 1) * size  # its cells will all lead to its first leaf
    assert pages[start] == 5, "an interior page"
    cells = [int.from_bytes(pages[start + 12 + 2 * n : start + 14 + 2 * n], "big") for n in range(3)]
    for cell in cells[1:]:
        pages[start + cell : start + cell + 4] = pages[start + cells[0] : start + cells[0] + 4]
    path.write_bytes(pages)
    assert_refused(lambda: list(read_stored(tmp_path, with_rows=False)), "cannot be read")


def test_who_has_the_most_bytes_is_named_and_deleted_rows_do_not_count(tmp_path: Path) -> None:
    people = "".join(f"INSERT INTO participants VALUES ({n}, 'p{n}', 's{n}', 0, '', '');" for n in range(2))
    path = database(tmp_path, people + "".join(f"INSERT INTO rows VALUES (1, {n}, '{'x' * 4000}');" for n in range(99)))
    assert_refused(
        lambda: list(read_stored(tmp_path, 200_000)), "more than 200000 bytes, most of them of p1, p0; remove"
    )
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM rows")
    assert list(read_stored(tmp_path, 200_000)) == []
    assert path.stat().st_size > 200_000, "SQLite keeps the pages"


def test_blank_lines_end() -> None:
    start = time.process_time()
    assert list(jatos._lines("\n ".join(["a", *[""] * 3_000_000, "b"]))) == ["a"]
    assert time.process_time() - start < 3


def test_forms_of_a_design_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {name: "x" for name in Texts.model_fields if Texts.model_fields[name].is_required()}
    block = {"name": "a", "conditions": [f"shots={n}" for n in range(101)]}
    with pytest.raises(ValueError, match="at most 100 items"):
        StudyDesign.model_validate({"texts": texts, "blocks": [block]})
    with pytest.raises(ValueError, match="at most 1000 items"):
        StudyDesign.model_validate(
            {"texts": texts, "blocks": [{"name": "a"}], "reviewers": list(map(str, range(1001)))}
        )
    design = StudyDesign.model_validate({"texts": texts, "blocks": [{"name": "a"}], "forms": 10})
    pages = [[dealing.BlockPages(BlockDesign(name="a"), "vanilla", {"t": [["p1"], ["p2"]]})]]
    assert len(dealing.deal_forms(design, pages, 0)) == 10
    monkeypatch.setattr(dealing, "MAX_PAGES", 19)
    assert_refused(lambda: dealing.deal_forms(design, pages, 0), "more than 19 pages in all forms")
