"""Limits on visitors of a study server (participants, requests, rows), its names, and the sites that it serves."""

from __future__ import annotations

import json
import socket
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from snellen.core.errors import SnellenError
from snellen.web import store
from snellen.web.admission import FormProgress
from snellen.web.forgetting import forget
from snellen.web.guard import headers_of
from snellen.web.limits import Rate, VisitorLimits
from snellen.web.plan import RecordRow
from snellen.web.server import open_service
from snellen.web.site import StudySite
from tests.helpers.refusals import assert_refused
from tests.helpers.studies import CONSENT, rows_by_name, rows_of_form, write_study
from tests.helpers.study_load import server_process
from tests.helpers.study_visitor import limited, refused, visitors_of

PATIENCE = 60
"""Seconds for what happens within about one on an idle machine."""


@dataclass
class Clock:
    """A clock that tests set."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


# Rates


def test_a_rate_by_hand() -> None:
    """Ten bytes at once, then two a second."""
    clock = Clock()
    rate = Rate(10, 2.0, clock)
    assert [rate.allows("a", 6), rate.allows("a", 6), rate.allows("a", 4)] == [True, False, True]
    assert [rate.allows("b", 11), rate.allows("b", 10)] == [False, True], "another sender has its own"
    clock.now += 3
    assert [rate.allows("a", 7), rate.allows("a", 6)] == [False, True]


@given(st.integers(1, 5), st.sampled_from([0.5, 1.0, 4.0]), st.lists(st.sampled_from([0, 0, 0.25, 1, 3]), max_size=40))
def test_no_window_has_more_events_than_the_rate(burst: int, per_second: float, pauses: list[float]) -> None:
    """And a refused event would have been too many in some window."""
    clock, allowed = Clock(0), list[float]()
    rate = Rate(burst, per_second, clock)
    for pause in pauses:
        clock.now += pause
        windows = [(clock.now - start, len(allowed) - number) for number, start in enumerate([*allowed, clock.now])]
        fits = all(events + 1 <= burst + seconds * per_second for seconds, events in windows)
        assert rate.allows("a") == fits
        if fits:
            allowed.append(clock.now)


def test_keys_without_recent_events_are_forgotten() -> None:
    clock = Clock()
    rate = Rate(2, 1.0, clock)
    for number in range(5000):
        clock.now += 0.01
        rate.allows(number)
    assert len(rate._due) < 1200


# Participants


def test_a_study_has_a_number_of_participants(tmp_path: Path) -> None:
    with limited(tmp_path, participants=2) as visitor:
        first, second = (visitor.open().json() for _ in range(2))
        for _ in range(2):
            refused(visitor.open(), 403, "has all its participants")
        again = visitor.open(secret=first["secret"])
        assert again.json()["participant"] == "p01", "whoever began goes on"
        assert second["participant"] == "p02"
    with limited(tmp_path, participants=3) as visitor:
        assert visitor.open().json()["participant"] == "p03", "nobody who was refused took a number"
        refused(visitor.open(), 403, "has all its participants")
    with limited(tmp_path, participants=1) as visitor:
        assert visitor.open(secret=first["secret"]).json()["participant"] == "p01", "also if it has fewer places now"
        forget(tmp_path, "p01", [])
        refused(visitor.open(), 403, "has all its participants")
    with limited(tmp_path, participants=3) as visitor:
        assert visitor.open().json()["participant"] == "p04", "the place of somebody who was forgotten is free"


def test_reviewers_are_not_counted(tmp_path: Path) -> None:
    write_study(tmp_path, ("anna", "ben"))
    with visitors_of(open_service(tmp_path, limits=VisitorLimits(participants=1, begins=1)), tmp_path) as visitors:
        assert [visitor.open().json()["participant"] for visitor in visitors] == ["anna", "ben"]


def test_an_address_adds_few_participants_a_minute(tmp_path: Path) -> None:
    """Whatever a visitor says without a proxy; those who began return."""
    with limited(tmp_path, StudySite(), begins=2) as visitor:
        secret = visitor.open().json()["secret"]
        visitor.client.headers["X-Forwarded-For"] = "192.0.2.1"
        assert visitor.open().status_code == 200
        visitor.client.headers["X-Forwarded-For"] = "192.0.2.2"
        refused(visitor.open(), 429, "wait a minute")
        assert visitor.open(secret=secret).status_code == 200


def test_an_address_is_the_one_that_a_proxy_on_this_machine_adds(tmp_path: Path) -> None:
    site = StudySite(public_url="http://localhost")
    with limited(tmp_path, site, begins=1) as visitor:
        client = TestClient(visitor.client.app, base_url="http://localhost", client=("127.0.0.1", 1))

        def begin(*forwarded: str) -> int:
            headers = httpx.Headers([("X-Forwarded-For", address) for address in forwarded])
            return client.post(f"{visitor.link}api/open", json={"parameters": {}}, headers=headers).status_code

        assert [begin("192.0.2.1"), begin("192.0.2.1")] == [200, 429]
        assert begin("192.0.2.1, 192.0.2.2") == 200
        assert begin("192.0.2.3, 192.0.2.2") == 429, "what a visitor wrote before is not believed"
        assert begin("192.0.2.4", "192.0.2.2") == 429, "a second header of the proxy counts, not the first one"
        assert [begin("2001:db8::1"), begin("2001:db8::2"), begin("2001:db8:0:1::1")] == [200, 429, 200], "by network"
        mapped = [begin("::ffff:192.0.2.5"), begin("::ffff:192.0.2.6"), begin("192.0.2.5")]
        assert mapped == [200, 200, 429], "an IPv4 address written as an IPv6 one is the same"
        assert [begin("unknown"), begin("")] == [200, 200], "only the total counts"


def test_a_proxy_on_another_machine_is_not_believed() -> None:
    site = StudySite("0.0.0.0", public_url="https://study.example")
    addresses = [site.visitor(peer, "192.0.2.1") for peer in ("127.0.0.1", "::1", "192.0.2.9")]
    assert addresses == ["192.0.2.1", "192.0.2.1", ""]


def test_a_participant_sends_few_requests_a_second(tmp_path: Path) -> None:
    with limited(tmp_path, requests=3, requests_per_second=0.001) as visitor:
        secret = visitor.open().json()["secret"]
        plan = open_rows(tmp_path)
        assert [visitor.send(row, secret).status_code for row in plan[:2]] == [200, 200]
        refused(visitor.send(plan[2], secret), 429, "wait a moment")
        refused(visitor.open(secret=secret), 429, "wait a moment")
        assert visitor.open().json()["participant"] == "p02", "others go on"
        assert rows_by_name(tmp_path) == {"p01": plan[:2]}


def open_rows(root: Path) -> list[RecordRow]:
    return rows_of_form(write_study(root), "p01", 0)


def test_of_a_participant_so_many_bytes_are_stored(tmp_path: Path) -> None:
    rows = open_rows(tmp_path)
    with limited(tmp_path, stored_bytes=700) as visitor:
        secret = visitor.open().json()["secret"]
        outcomes = [visitor.send(row, secret) for row in rows]
        taken = [row for row, response in zip(rows, outcomes, strict=True) if response.status_code == 200]
        assert 2 <= len(taken) < len(rows)
        refused(outcomes[len(taken)], 413, "No more is stored")
        assert visitor.send(rows[0], secret).status_code == 200, "what is stored is acknowledged again"
        stored = rows_by_name(tmp_path)["p01"]
    assert stored == taken
    assert sum(len(row.record.model_dump_json()) for row in stored) <= 750


def test_what_is_stored_is_returned_a_few_times_and_others_go_on(tmp_path: Path) -> None:
    rows = open_rows(tmp_path)
    stored = sum(len(json.dumps(row.plain()["record"], ensure_ascii=False, sort_keys=True)) for row in rows)
    with limited(tmp_path, returned_bytes=2.5 * stored, returned_bytes_per_second=0.001) as visitor:
        secret = visitor.open().json()["secret"]
        assert {visitor.send(row, secret).status_code for row in rows} == {200}
        for _ in range(2):
            assert len(visitor.open(secret=secret).json()["records"]) == len(rows)
        refused(visitor.open(secret=secret), 429, "too often")
        assert visitor.send(rows[-1], secret).status_code == 200, "answers are still kept"
        assert visitor.open().json()["participant"] == "p02"


def test_what_is_stored_is_not_read_again_at_each_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody with many rows takes no more of the server's time than others."""
    reads, read = list[int](), store.progress_of

    def count(connection: sqlite3.Connection, number: int) -> FormProgress:
        reads.append(number)
        return read(connection, number)

    monkeypatch.setattr(store, "progress_of", count)
    rows = open_rows(tmp_path)
    with limited(tmp_path) as visitor:
        secret = visitor.open().json()["secret"]
        assert [visitor.send(row, secret).status_code for row in rows for _ in range(2)] == [200] * 2 * len(rows)
        assert len(visitor.open(secret=secret).json()["records"]) == len(rows)
    assert reads == [0]


# Hosts


def test_the_server_answers_to_its_own_names_only(tmp_path: Path) -> None:
    """Not to a page of evil.example whose name was made to mean this machine."""
    own = "localhost", "LOCALHOST:8000", "127.0.0.1", "127.0.0.1:1", "[::1]:8000", "[::1]"
    others = "evil.example", "localhost.evil.example", "evil.example:8000", "192.0.2.1", "", "::1"
    with limited(tmp_path, StudySite()) as visitor:
        for host in (*own, *others):
            headers = {"Host": host, "Origin": f"http://{host}"}
            responses = [
                visitor.client.get(visitor.link, headers={"Host": host}),
                visitor.client.post(f"{visitor.link}api/open", json={}, headers=headers),
            ]
            for response in responses:
                assert (response.status_code == 200) is (host in own), host
                assert "strict-transport-security" not in response.headers, "not of this machine"
            if host in others:
                refused(responses[0], 421, "own link")


def test_the_name_of_the_public_address_is_accepted(tmp_path: Path) -> None:
    site = StudySite(public_url="https://Study.example/")
    assert site.hosts == {"study.example", "localhost", "127.0.0.1", "[::1]"}
    assert StudySite("192.0.2.1", public_url="https://study.example").hosts == {"study.example", "192.0.2.1"}
    assert "xn--studi-fsa.example" in StudySite(public_url="https://studié.example").hosts, "as browsers send it"
    write_study(tmp_path, texts=CONSENT)
    with visitors_of(open_service(tmp_path, site), tmp_path) as (visitor,):
        good = visitor.client.get(visitor.link, headers={"Host": "study.example:443"})
        assert good.status_code == 200
        assert good.headers["strict-transport-security"] == "max-age=31536000"
        refused(visitor.client.get(visitor.link, headers={"Host": "evil.example"}), 421, "own link")


# Sites

GOOD: list[dict[str, str]] = [
    {}, {"host": "localhost"}, {"host": "127.0.0.9"}, {"host": "::1"}, {"public_url": "http://localhost:9000"},
    {"public_url": "https://study.example"}, {"public_url": "https://study.example:8443/eyes/"},
    {"host": "0.0.0.0", "public_url": "https://study.example"}, {"framed_by": "https://panel.example:8443"},
]  # fmt: skip
BAD: list[tuple[dict[str, str], str]] = [
    ({"host": "0.0.0.0"}, "--host 0.0.0.0: answers would travel unencrypted"),
    ({"host": "192.0.2.1"}, "--host 192.0.2.1: answers would travel unencrypted"),
    ({"host": "lab"}, "--host lab: answers would travel unencrypted"),
    ({"host": "0.0.0.0", "public_url": "http://localhost"}, "--host 0.0.0.0: answers would travel unencrypted"),
    ({"public_url": "http://study.example"}, "--public-url http://study.example: answers would travel unencrypted"),
    ({"host": "0.0.0.0", "public_url": "http://study.example"}, "--public-url http://study.example: answers would"),
    ({"public_url": "study.example"}, "--public-url study.example: no address of a site"),
    ({"public_url": "ftp://study.example"}, "--public-url ftp://study.example: no address of a site"),
    ({"public_url": "https://"}, "--public-url https://: no address of a site"),
    ({"framed_by": "https://panel.example; script-src *"}, "--framed-by https://panel.example; script-src *: no site"),
    ({"framed_by": "https://panel.example/page"}, "--framed-by https://panel.example/page: no site"),
    ({"public_url": "https://[::1"}, "--public-url https://[::1: no address of a site"),
]


@pytest.mark.parametrize("options", GOOD, ids=str)
def test_a_study_is_served(tmp_path: Path, options: dict[str, Any]) -> None:
    write_study(tmp_path, texts=CONSENT)
    open_service(tmp_path, StudySite(**options)).database.close()


@pytest.mark.parametrize(("options", "words"), BAD, ids=lambda part: str(part)[:60])
def test_a_study_is_not_served_to_others_without_a_proxy(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    write_study(tmp_path, texts=CONSENT)
    assert_refused(lambda: open_service(tmp_path, StudySite(**options)), words)
    assert not (tmp_path / "results.sqlite").exists()


def test_links_show_the_address_that_participants_use() -> None:
    assert StudySite().base(8000) == "http://127.0.0.1:8000"
    assert StudySite("::1").base(8000) == "http://[::1]:8000"
    assert StudySite(public_url="https://study.example/").base(8000) == "https://study.example"


@pytest.mark.parametrize("lacking", ["consent", "who", "contact", "approval", "storage", "withdrawal"])
def test_beyond_this_machine_the_page_of_consent_is_complete(tmp_path: Path, lacking: str) -> None:
    write_study(tmp_path, texts=CONSENT.model_copy(update={lacking: ""}))
    with pytest.raises(SnellenError, match=f"the texts of the design lack {lacking};"):
        open_service(tmp_path, StudySite(public_url="https://study.example"))
    open_service(tmp_path, StudySite()).database.close()
    write_study(tmp_path / "review", ("anna", "ben"))
    open_service(tmp_path / "review", StudySite(public_url="https://study.example")).database.close()  # needs none


# A real server


def exchange(link: str, request: str) -> bytes:
    """What a server sends back until it closes the connection."""
    address, received = urlsplit(link), b""
    with socket.create_connection((address.hostname, address.port), timeout=PATIENCE) as connection:
        try:
            connection.sendall(request.encode())
            while part := connection.recv(65536):
                received += part
        except ConnectionError:  # closed before everything was sent
            pass
    return received


def test_a_large_head_is_refused_and_no_log_has_the_link(tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    write_study(tmp_path)
    with errors.open("w") as stream, server_process(tmp_path, errors=stream) as (process, link):
        head = f"GET {urlsplit(link).path} HTTP/1.1\r\nHost: localhost\r\n"
        assert exchange(link, f"{head}Connection: close\r\n\r\n").startswith(b"HTTP/1.1 200")
        assert exchange(link, f"{head}X-Much: {'x' * 2**22}")[:12] in (b"", b"HTTP/1.1 400")
        assert httpx.get(link, timeout=PATIENCE, trust_env=False).status_code == 200
        process.terminate()
        process.wait(PATIENCE)
    assert urlsplit(link).path.split("/")[2] not in errors.read_text()


def test_only_the_named_site_may_show_the_study_in_a_frame() -> None:
    closed, framed = headers_of(StudySite()), headers_of(StudySite(framed_by="https://panel.example"))
    assert closed["X-Frame-Options"] == "DENY"
    assert closed["Content-Security-Policy"].endswith("frame-ancestors 'none'")
    assert "X-Frame-Options" not in framed
    assert framed["Content-Security-Policy"].endswith("frame-ancestors https://panel.example")
    assert {name: framed[name] for name in framed if name != "Content-Security-Policy"}.items() <= closed.items()
