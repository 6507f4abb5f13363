"""Databases, links and limits of a study: what is counted, deleted, renewed, refused and announced."""

from __future__ import annotations

import socket
import sqlite3
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from snellen.core.errors import SnellenError
from snellen.web import server
from snellen.web.admission import FormProgress
from snellen.web.databases import TABLES
from snellen.web.guard import MAX_BODY_BYTES, MAX_NESTED
from snellen.web.limits import VisitorLimits
from snellen.web.plan import Stop
from snellen.web.server import MAX_CONNECTIONS, MAX_HEAD_BYTES, open_service, serve
from snellen.web.site import StudySite
from snellen.web.store import (
    Slot,
    Store,
    addresses,
    delete_participant,
    keep_row,
    progress_of,
    read_stored,
    take_slot,
)
from snellen.web.study import forgotten, read_plan
from tests.helpers.studies import CONSENT, NOON, make_plan, rows_by_name, rows_of_form, write_study

DOCS = Path(__file__).parents[2] / "docs"


def test_limits_are_those_that_the_page_states() -> None:
    limits, page = VisitorLimits(), (DOCS / "serving.md").read_text("utf-8")
    returned = f"{limits.returned_bytes / 2**20:g} MiB at once"
    for words in (
        f"`--max-participants` ({limits.participants})",
        f"| {limits.begins} at once, and in a minute |",
        f"| {limits.requests} at once, then {limits.requests_per_second:g} a second |",
        f"| {limits.stored_bytes / 2**20:g} MiB |",
        f"| {returned}, then {limits.returned_bytes_per_second / 2**10:g} KiB a second",
        f"| {MAX_BODY_BYTES / 2**10:g} KiB, {MAX_NESTED:,} lists and objects |",
        f"| {MAX_HEAD_BYTES / 2**10:g} KiB |",
        f"| open connections of the server | {MAX_CONNECTIONS} |",
    ):
        assert words in page, words


def test_progress_is_read_from_the_database_as_it_was_counted() -> None:
    """After every row of a form, of two people whose rows are mixed."""
    plan, slots = make_plan(), [Slot(number, f"p0{number + 1}", "", number, "") for number in range(2)]
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(TABLES)
        progress, sizes = [FormProgress(), FormProgress()], [0, 0]
        rows = [rows_of_form(plan, slot.name, slot.form) for slot in slots]
        rows[1][-1] = rows[1][-1].model_copy(update={"record": Stop(type="stop", time=NOON)})
        code = {"record": rows[1][0].record.model_copy(update={"code": "a-b"})}
        rows[1][0] = rows[1][0].model_copy(update=code)
        for pair in zip(*rows, strict=True):
            for number, row in enumerate(pair):
                progress[number] = progress[number].after(row)
                sizes[number] += keep_row(connection, slots[number], row)
                read = progress_of(connection, number)
                assert read == replace(progress[number], stored_bytes=sizes[number])
    assert [(p.finished, p.stopped, p.code) for p in progress] == [(True, False, ""), (False, True, "a-b")]


def test_of_several_people_one_is_deleted_and_the_others_stay(tmp_path: Path) -> None:
    plan = write_study(tmp_path)
    service = open_service(tmp_path)
    rows = [rows_of_form(plan, f"p0{number + 1}", number % 2)[:3] for number in range(3)]

    def fill(connection: sqlite3.Connection) -> None:
        for own in rows:
            slot = take_slot(connection, service.links[0], "", {}, 2)
            for row in own:
                keep_row(connection, slot, row)

    service.database.submit(fill).result()
    assert service.database.submit(lambda connection: delete_participant(connection, 1)).result() == 3
    service.database.close()
    assert rows_by_name(tmp_path) == {"p01": rows[0], "p03": rows[2]}
    names = [(stored.number, stored.name) for stored in read_stored(tmp_path, with_rows=False)]
    assert names == [(0, "p01"), (1, "deleted 1"), (2, "p03")]


def test_each_reviewer_continues_by_their_own_link_also_a_new_one(tmp_path: Path) -> None:
    with pytest.raises(SnellenError, match="no links yet"):
        addresses(tmp_path, "")
    write_study(tmp_path, ("anna", "ben"))
    service = open_service(tmp_path)
    links = service.links
    opening = partial(take_slot, secret="", parameters={}, forms=2)
    openings = (partial(opening, link=link, number=number) for number, link in enumerate(links))
    slots = [service.database.submit(job).result() for job in openings]
    service.database.close()
    assert [(slot.name, slot.form) for slot in slots] == [("anna", 0), ("ben", 1)]
    assert sorted(addresses(tmp_path, "http://x")) == sorted(f"http://x/r/{link.token}/" for link in links)
    assert addresses(tmp_path, "http://x", "ben") == [f"http://x/r/{links[1].token}/#continue={slots[1].secret}"]
    fresh = addresses(tmp_path, "", renew=True)
    assert not {link.token for link in links} & {address.split("/")[2] for address in fresh}
    personal = [addresses(tmp_path, "", name)[0].partition("#continue=") for name in ("anna", "ben")]
    assert [secret for _, _, secret in personal] == [slot.secret for slot in slots]
    assert sorted(address for address, _, _ in personal) == sorted(fresh)


def test_a_database_is_damaged_or_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "damaged").write_bytes(b"no database" * 100)
    with pytest.raises(SnellenError, match=r"damaged: no usable database \(.*\); move it away and serve again"):
        Store(tmp_path / "damaged", "hash")
    with pytest.raises(SnellenError, match=r"results: cannot be written \(.*\); make room, or make the folder"):
        Store(tmp_path / "none" / "results", "hash")
    write_study(tmp_path)
    (tmp_path / "results.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(SnellenError, match=r"results\.sqlite: cannot be read"):
        list(read_stored(tmp_path))


def test_a_database_of_a_stranger_leads_nowhere_else_and_runs_nothing(tmp_path: Path) -> None:
    """SQLite deletes what a rollback journal names, and computes what a view says."""
    write_study(tmp_path)
    path, statements = tmp_path / "results.sqlite", ("CREATE VIEW v AS SELECT 1", "CREATE TABLE participants (a)")
    for link in (path, tmp_path / "results.sqlite-journal"):
        (tmp_path / "elsewhere").write_bytes(b"")
        link.symlink_to(tmp_path / "elsewhere")
        with pytest.raises(SnellenError, match=f"{link}: a link, or a journal"):
            Store(path, "hash")
        if link == path:
            with pytest.raises(SnellenError, match="a link, or a journal"):
                list(read_stored(tmp_path))
        link.unlink()
        path.unlink(missing_ok=True)
        assert (tmp_path / "elsewhere").read_bytes() == b""
    (tmp_path / "elsewhere").unlink()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SnellenError, match="a link, or a journal"):
        Store(path, "hash")
    assert not (tmp_path / "elsewhere").exists(), "what a link leads to is not created"
    path.unlink()
    for statement in statements:
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(statement)
        for read in (
            partial(Store, path, "hash"),
            lambda: list(read_stored(tmp_path)),
            partial(addresses, tmp_path, ""),
        ):
            with pytest.raises(
                SnellenError, match=r"^[^:]*sqlite: not a database of .*: it has other tables or views$"
            ):
                read()
        path.unlink()


@pytest.mark.parametrize(("name", "record"), [(b"p01", "{}"), (5, "{}"), ("p01", 5), ("p01", b"{}")])
def test_a_database_with_values_of_other_kinds_is_refused(name: Any, record: Any, tmp_path: Path) -> None:
    write_study(tmp_path)
    with closing(sqlite3.connect(tmp_path / "results.sqlite")) as connection:
        connection.executescript(TABLES)
        connection.execute("INSERT INTO participants VALUES (0, ?, 's', 0, 'l', '{}')", (name,))
        connection.execute("INSERT INTO rows VALUES (0, 0, ?)", (record,))
        connection.commit()
    with pytest.raises(SnellenError, match=r"results\.sqlite: cannot be read"):
        list(read_stored(tmp_path))


def test_a_plan_of_another_study_and_an_unreadable_list_of_removals_are_refused(tmp_path: Path) -> None:
    write_study(tmp_path)
    card = (tmp_path / "study.json").read_bytes()
    write_study(tmp_path, plan=make_plan().model_copy(update={"minutes": 9}))
    (tmp_path / "study.json").write_bytes(card)
    with pytest.raises(SnellenError, match=r"plan\.json: not the plan that .*study\.json belongs to"):
        read_plan(tmp_path)
    assert forgotten(tmp_path) == set()
    (tmp_path / "forgotten.json").write_text('["a", "b"]')
    assert forgotten(tmp_path) == {"a", "b"}
    (tmp_path / "forgotten.json").write_text("[")
    with pytest.raises(SnellenError, match=r"forgotten\.json: not readable .* nobody's removal is known"):
        forgotten(tmp_path)


# Serving


class _Nobody:
    """A server that ends at once."""

    def run(self, sockets: list[socket.socket]) -> None:
        """Serve nothing."""
        for listener in sockets:
            listener.close()


def test_the_links_are_announced_with_their_reviewers_and_a_note_on_the_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "http_server", lambda service: _Nobody())
    monkeypatch.setattr(server, "allow_open_files", lambda number: None)
    write_study(tmp_path, ("anna", "ben"), texts=CONSENT)
    lines: list[str] = []
    serve(tmp_path, StudySite("0.0.0.0", 0, "https://study.example"), lines.append)
    anna, ben = (line.partition(": ") for line in lines[:2])
    assert (anna[0], ben[0]) == ("anna", "ben")
    assert sorted(address for _, _, address in (anna, ben)) == sorted(addresses(tmp_path, "https://study.example"))
    assert [line.startswith("note: let only the proxy reach 0.0.0.0:") for line in lines[2:]] == [True]
    lines.clear()
    serve(tmp_path, StudySite(port=0), lines.append)
    assert [line.startswith(("anna: http://127.0.0.1:", "ben: http://127.0.0.1:")) for line in lines] == [True, True]


def test_a_port_that_is_taken_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "allow_open_files", lambda number: None)
    write_study(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SnellenError, match=rf"127\.0\.0\.1:{port} cannot be served .*; choose another by --port"):
            serve(tmp_path, StudySite(port=port))
