"""Limits on visitors of a study server: connections, time, participants, requests, rows, lines of the log."""

from __future__ import annotations

import asyncio
import json
import logging
import resource
import socket
import sqlite3
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import uvicorn
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from uvicorn.server import ServerState

from snellen.core.errors import SnellenError
from snellen.web.http_protocol import StudyProtocol
from snellen.web.limits import Brakes, Connections, Rate, VisitorLimits, allow_open_files, limit_logs
from snellen.web.plan import RecordRow
from snellen.web.server import app_of, open_service
from snellen.web.site import StudySite
from snellen.web.store import Refusal, read_results
from tests.helpers.certificates import NAME, write_certificate
from tests.helpers.studies import CONSENT, rows_of_form, write_study
from tests.helpers.study_load import server_process

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
    """Three at once, then two a second: half a second each."""
    clock = Clock()
    rate = Rate(3, 2.0, clock)
    assert [rate.allows("a") for _ in range(5)] == [True, True, True, False, False]
    assert rate.allows("b"), "another key has its own"
    clock.now += 0.4
    assert not rate.allows("a")
    clock.now += 0.2
    assert [rate.allows("a"), rate.allows("a")] == [True, False]
    clock.now += 100
    assert [rate.allows("a") for _ in range(4)] == [True, True, True, False]


def test_a_rate_of_sizes_by_hand() -> None:
    """Ten bytes at once, then two a second."""
    clock = Clock()
    rate = Rate(10, 2.0, clock)
    assert [rate.allows("a", 6), rate.allows("a", 6), rate.allows("a", 4)] == [True, False, True]
    clock.now += 3
    assert [rate.allows("a", 7), rate.allows("a", 6)] == [False, True]
    assert not rate.allows("b", 11), "more than ever"


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


# Connections


@dataclass
class Visits:
    """Connections that a test opens, with their other ends, and a clock."""

    limits: VisitorLimits
    is_forwarded: bool = False
    clock: Clock = field(default_factory=Clock)
    ends: dict[tuple[str, int], socket.socket] = field(default_factory=dict)
    stack: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        self.connections = Connections(self.limits, self.is_forwarded, self.clock)

    def admit(self, address: str, port: int) -> bool:
        self.clock.now += 1
        own, other = socket.socketpair()
        self.stack.enter_context(own)
        self.ends[address, port] = self.stack.enter_context(other)
        return self.connections.admit(own, (address, port))

    def closed(self) -> set[int]:
        """Ports of the connections that were closed."""
        ports = set()
        for (_, port), end in self.ends.items():
            end.setblocking(False)
            try:
                assert end.recv(1) == b""
                ports.add(port)
            except BlockingIOError:
                pass
        return ports


@pytest.fixture
def visits() -> Iterator[Visits]:
    """At most six connections, and three of one address."""
    visits = Visits(VisitorLimits(connections=6))
    with visits.stack:
        yield visits


def test_the_longest_silent_connection_of_an_address_is_closed_first(visits: Visits) -> None:
    assert all(visits.admit("10.0.0.1", port) for port in (1, 2, 3))
    with visits.connections.request(("10.0.0.1", 1)):
        assert visits.admit("10.0.0.1", 4)
        assert visits.closed() == {2}
    assert visits.admit("10.0.0.1", 5)
    assert visits.closed() == {2, 3}, "1 fell silent after 3 and 4 began"
    assert visits.admit("10.0.0.2", 6)
    assert visits.closed() == {2, 3}


def test_a_connection_is_refused_if_all_of_its_address_are_busy(visits: Visits) -> None:
    with ExitStack() as requests:
        for port in (1, 2, 3):
            visits.admit("10.0.0.1", port)
            requests.enter_context(visits.connections.request(("10.0.0.1", port)))
        assert not visits.admit("10.0.0.1", 4)
        assert visits.admit("10.0.0.2", 5)
    assert visits.closed() == set()
    assert visits.admit("10.0.0.1", 6)
    assert visits.closed() == {1}


def test_of_too_many_in_total_the_address_with_most_loses_one(visits: Visits) -> None:
    for address, port in (("10.0.0.1", 1), ("10.0.0.2", 2), ("10.0.0.2", 3), ("10.0.0.3", 4), ("10.0.0.4", 5)):
        assert visits.admit(address, port)
    assert visits.admit("10.0.0.5", 6)
    assert visits.closed() == set()
    assert visits.admit("10.0.0.6", 7)
    assert visits.closed() == {2}


def test_an_ipv6_network_counts_as_one_address(visits: Visits) -> None:
    for port in range(1, 5):
        assert visits.admit(f"2001:db8::{port}", port)
    assert visits.closed() == {1}
    assert visits.admit("2001:db8:0:1::1", 5)
    assert visits.closed() == {1}


def test_connections_of_a_proxy_are_limited_in_total_only() -> None:
    visits = Visits(VisitorLimits(connections=6), is_forwarded=True)
    with visits.stack:
        assert all(visits.admit("127.0.0.1", port) for port in range(1, 7))
        assert visits.closed() == set()
        assert visits.admit("127.0.0.1", 7)
        assert visits.closed() == {1}


def test_a_connection_that_ended_does_not_count(visits: Visits) -> None:
    for port in (1, 2, 3):
        visits.admit("10.0.0.1", port)
    visits.connections._visits["10.0.0.1", 2].connection.close()
    assert visits.admit("10.0.0.1", 4)
    assert visits.closed() == {2}


def test_silent_and_endless_connections_are_closed(visits: Visits) -> None:
    limits = visits.limits
    visits.admit("10.0.0.1", 1)
    visits.admit("10.0.0.1", 2)
    with visits.connections.request(("10.0.0.1", 2)):
        visits.clock.now += limits.silent_seconds - 1
        asyncio.run(visits.connections.sweep())
        assert visits.closed() == set(), "1 is silent for just the limit"
        visits.clock.now += 1
        asyncio.run(visits.connections.sweep())
        assert visits.closed() == {1}
        visits.clock.now += limits.request_seconds
        asyncio.run(visits.connections.sweep())
        assert visits.closed() == {1, 2}


# Participants


@contextmanager
def served(root: Path, site: StudySite | None = None, **limits: Any) -> Iterator[tuple[TestClient, str]]:
    """A client of a study with these limits, and the path of its link."""
    write_study(root)
    service = open_service(root, site, VisitorLimits(**limits))
    with TestClient(app_of(service), base_url="http://localhost") as client:
        yield client, f"/s/{service.links[0].token}/"


def opened(client: TestClient, link: str, **body: Any) -> Any:
    return client.post(f"{link}api/open", json={"parameters": {}} | body)


def sent(client: TestClient, link: str, row: RecordRow, secret: str) -> Any:
    return client.post(f"{link}api/records", json=row.plain(), headers={"X-Snellen-Secret": secret})


def refused(response: Any, status: int, words: str) -> None:
    assert (response.status_code, words in response.json()["detail"]) == (status, True), response.text


def test_a_study_has_a_number_of_participants(tmp_path: Path) -> None:
    with served(tmp_path, participants=2) as (client, link):
        first, second = (opened(client, link).json() for _ in range(2))
        for _ in range(2):
            refused(opened(client, link), 403, "has all its participants")
        again = opened(client, link, secret=first["secret"])
        assert again.json()["participant"] == "p01", "whoever began goes on"
        assert second["participant"] == "p02"
    with served(tmp_path, participants=3) as (client, link):
        assert opened(client, link).json()["participant"] == "p03", "nobody who was refused took a number"
        refused(opened(client, link), 403, "has all its participants")


def test_reviewers_are_not_counted(tmp_path: Path) -> None:
    write_study(tmp_path, ("anna", "ben"))
    service = open_service(tmp_path, limits=VisitorLimits(participants=1, begins=1))
    with TestClient(app_of(service)) as client:
        assert [
            client.post(f"/r/{link.token}/api/open", json={"parameters": {}}).json()["participant"]
            for link in service.links
        ] == ["anna", "ben"]


def test_an_address_adds_few_participants_a_minute(tmp_path: Path) -> None:
    with served(tmp_path, begins=2) as (client, link):
        first = opened(client, link).json()
        assert opened(client, link).status_code == 200
        refused(opened(client, link), 429, "wait a minute")
        assert opened(client, link, secret=first["secret"]).status_code == 200


def test_an_address_is_the_one_that_a_proxy_on_this_machine_adds(tmp_path: Path) -> None:
    site = StudySite(public_url="http://localhost")
    with served(tmp_path, site, begins=1) as (client, link):
        client = TestClient(client.app, base_url="http://localhost", client=("127.0.0.1", 1))

        def begin(forwarded: str) -> int:
            client.headers["X-Forwarded-For"] = forwarded
            status: int = opened(client, link).status_code
            return status

        assert [begin("192.0.2.1"), begin("192.0.2.1")] == [200, 429]
        assert begin("192.0.2.1, 192.0.2.2") == 200
        assert begin("192.0.2.3, 192.0.2.2") == 429, "what a visitor wrote before is not believed"
        headers = [("X-Forwarded-For", "192.0.2.4"), ("X-Forwarded-For", "192.0.2.2")]
        again = client.post(f"{link}api/open", json={"parameters": {}}, headers=httpx.Headers(headers))
        assert again.status_code == 429, "a second header of the proxy counts, not the first one"
        assert [begin("unknown"), begin("")] == [200, 200], "only the total counts"


def test_a_proxy_on_another_machine_is_not_believed() -> None:
    site = StudySite("0.0.0.0", public_url="https://study.example")
    assert [site.visitor(peer, "192.0.2.1") for peer in ("127.0.0.1", "::1", "192.0.2.9")] == [
        "192.0.2.1",
        "192.0.2.1",
        "",
    ]


def test_without_a_proxy_the_header_of_proxies_is_not_believed(tmp_path: Path) -> None:
    with served(tmp_path, StudySite(), begins=1) as (client, link):
        client.headers["X-Forwarded-For"] = "192.0.2.1"
        assert opened(client, link).status_code == 200
        client.headers["X-Forwarded-For"] = "192.0.2.2"
        refused(opened(client, link), 429, "wait a minute")


def test_a_participant_sends_few_requests_a_second(tmp_path: Path) -> None:
    with served(tmp_path, requests=3, requests_per_second=0.001) as (client, link):
        secret = opened(client, link).json()["secret"]
        plan = open_rows(tmp_path)
        assert [sent(client, link, row, secret).status_code for row in plan[:2]] == [200, 200]
        refused(sent(client, link, plan[2], secret), 429, "wait a moment")
        refused(opened(client, link, secret=secret), 429, "wait a moment")
        assert opened(client, link).json()["participant"] == "p02", "others go on"
        assert dict(read_results(tmp_path)) == {"p01": plan[:2]}


def open_rows(root: Path) -> list[RecordRow]:
    return rows_of_form(write_study(root), "p01", 0)


def test_of_a_participant_so_many_bytes_are_stored(tmp_path: Path) -> None:
    rows = open_rows(tmp_path)
    with served(tmp_path, stored_bytes=700) as (client, link):
        secret = opened(client, link).json()["secret"]
        outcomes = [sent(client, link, row, secret) for row in rows]
        taken = [row for row, response in zip(rows, outcomes, strict=True) if response.status_code == 200]
        assert 2 <= len(taken) < len(rows)
        refused(outcomes[len(taken)], 413, "No more is stored")
        assert sent(client, link, rows[0], secret).status_code == 200, "what is stored is acknowledged again"
        stored = dict(read_results(tmp_path))["p01"]
    assert stored == taken
    assert sum(len(row.record.model_dump_json()) for row in stored) <= 750


def test_what_is_stored_is_returned_a_few_times_and_others_go_on(tmp_path: Path) -> None:
    rows = open_rows(tmp_path)
    stored = sum(len(json.dumps(row.plain()["record"], ensure_ascii=False, sort_keys=True)) for row in rows)
    with served(tmp_path, returned_bytes=2.5 * stored, returned_bytes_per_second=0.001) as (client, link):
        secret = opened(client, link).json()["secret"]
        assert {sent(client, link, row, secret).status_code for row in rows} == {200}
        for _ in range(2):
            assert len(opened(client, link, secret=secret).json()["records"]) == len(rows)
        refused(opened(client, link, secret=secret), 429, "too often")
        assert sent(client, link, rows[-1], secret).status_code == 200, "answers are still kept"
        assert opened(client, link).json()["participant"] == "p02"


def test_an_unknown_address_has_no_limit_of_its_own(tmp_path: Path) -> None:
    """Behind a proxy on another machine all visitors have it."""
    brakes = Brakes(VisitorLimits(returned_bytes=10, returned_bytes_per_second=0.001))
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE rows (participant INTEGER, record TEXT)")
        connection.executemany("INSERT INTO rows VALUES (?, ?)", [(number, "x" * 9) for number in range(9)])
        for number in range(9):
            brakes.count_return(connection, number, "")
        for number in range(4):
            brakes.count_return(connection, 10 + number, "192.0.2.1")
        with pytest.raises(Refusal, match="too often"):
            brakes.count_return(connection, 0, "")


def test_large_records_slow_down_their_own_participant_and_address(tmp_path: Path) -> None:
    """Each request reads what is stored: of 10 bytes, one participant has 2 requests, and the address 16."""
    brakes = Brakes(VisitorLimits(requests=100, read_bytes=20, read_bytes_per_second=0.001))
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE rows (participant INTEGER, record TEXT)")
        connection.executemany("INSERT INTO rows VALUES (?, ?)", [(number, "x" * 10) for number in range(20)])
        count = partial(brakes.count_request, connection)  # sizes are read, also after a new start of the server
        allowed = [True, True, False]
        for expected in allowed:
            assert is_allowed(partial(count, 0, "192.0.2.1")) == expected
        others = [is_allowed(partial(count, number, "192.0.2.1")) for number in range(1, 20)]
        assert others == [True] * 14 + [False] * 5
        assert is_allowed(partial(count, 19, "192.0.2.2")), "another address"
        assert is_allowed(partial(count, 99, "192.0.2.1")), "nothing is stored of a new one"


def is_allowed(count: Callable[[], None]) -> bool:
    try:
        count()
    except Refusal:
        return False
    return True


# Hosts and heads


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1", "127.0.0.1:1", "[::1]:8000", "[::1]"])
def test_names_of_this_machine_are_accepted(tmp_path: Path, host: str) -> None:
    with served(tmp_path, StudySite()) as (client, link):
        assert client.get(link, headers={"Host": host}).status_code == 200
        response = client.post(f"{link}api/open", json={}, headers={"Host": host, "Origin": f"http://{host}"})
        assert response.status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "evil.example:8000", "192.0.2.1", "", "::1"]
)
def test_other_names_are_refused(tmp_path: Path, host: str) -> None:
    """As a page of evil.example sends them whose name was made to mean this machine."""
    with served(tmp_path, StudySite()) as (client, link):
        refused(client.get(link, headers={"Host": host}), 421, "own link")
        headers = {"Host": host, "Origin": f"http://{host}"}
        refused(client.post(f"{link}api/open", json={}, headers=headers), 421, "own link")


def test_the_name_of_the_public_address_is_accepted(tmp_path: Path) -> None:
    site = StudySite(public_url="https://Study.example/")
    assert site.hosts == {"study.example", "localhost", "127.0.0.1", "[::1]"}
    assert StudySite("192.0.2.1", public_url="https://study.example").hosts == {"study.example", "192.0.2.1"}
    write_study(tmp_path, texts=CONSENT)
    service = open_service(tmp_path, site)
    with TestClient(app_of(service)) as client:
        link = f"/s/{service.links[0].token}/"
        good = client.get(link, headers={"Host": "study.example:443"})
        assert good.status_code == 200
        assert good.headers["strict-transport-security"] == "max-age=31536000"
        refused(client.get(link, headers={"Host": "evil.example"}), 421, "own link")


def test_texts_name_their_encoding(tmp_path: Path) -> None:
    with served(tmp_path) as (client, link):
        for path in ("", "index.html", "plan.js", "page/study.js", "vendor/jspsych/css/jspsych.css"):
            assert client.get(link + path).headers["content-type"].endswith("; charset=utf-8")


def test_tls_is_not_demanded_for_this_machine(tmp_path: Path) -> None:
    with served(tmp_path, StudySite()) as (client, link):
        assert "strict-transport-security" not in client.get(link).headers


def test_a_head_has_bounds(tmp_path: Path) -> None:
    with served(tmp_path, head_bytes=2000) as (client, link):
        assert client.get(link, headers={"X-Much": "x" * 1500}).status_code == 200
        refused(client.get(link, headers={"X-Much": "x" * 2000}), 431, "larger than 2000 bytes")
        refused(client.get(f"{link}?much={'x' * 2000}"), 431, "larger than 2000 bytes")


# Sites

GOOD: list[dict[str, str]] = [
    {},
    {"host": "localhost"},
    {"host": "127.0.0.9"},
    {"host": "::1"},
    {"public_url": "http://localhost:9000"},
    {"public_url": "https://study.example"},
    {"public_url": "https://study.example:8443/eyes/"},
    {"host": "0.0.0.0", "public_url": "https://study.example"},
    {"host": "192.0.2.1", "certificate": "certificate.pem", "key": "key.pem"},
    {"host": "::", "public_url": "https://study.example", "certificate": "certificate.pem", "key": "key.pem"},
]
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
    ({"public_url": "https://[::1"}, "--public-url https://[::1: no address of a site"),
    ({"certificate": "certificate.pem"}, "not usable"),
    ({"key": "key.pem"}, "not usable"),
    ({"certificate": "key.pem", "key": "certificate.pem"}, "not usable"),
    ({"certificate": "none.pem", "key": "key.pem"}, "not usable (No such file or directory)"),
    ({"host": "0.0.0.0", "certificate": "certificate.pem", "key": "key.pem"}, "--host 0.0.0.0: this is no name"),
    (
        {"public_url": "http://localhost", "certificate": "certificate.pem", "key": "key.pem"},
        "--public-url http://localhost: answers would travel unencrypted",
    ),
]


def site_of(folder: Path, options: dict[str, str]) -> StudySite:
    write_certificate(folder)
    return StudySite(**{name: folder / text if text.endswith(".pem") else text for name, text in options.items()})  # type: ignore[arg-type]


@pytest.mark.parametrize("options", GOOD, ids=str)
def test_a_study_is_served(tmp_path: Path, options: dict[str, str]) -> None:
    write_study(tmp_path, texts=CONSENT)
    open_service(tmp_path, site_of(tmp_path, options)).database.close()


@pytest.mark.parametrize(("options", "words"), BAD, ids=lambda part: str(part)[:60])
def test_a_study_is_not_served_without_tls_beyond_this_machine(
    tmp_path: Path, options: dict[str, str], words: str
) -> None:
    write_study(tmp_path, texts=CONSENT)
    with pytest.raises(SnellenError) as refusal:
        open_service(tmp_path, site_of(tmp_path, options))
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert not (tmp_path / "results.sqlite").exists()


def test_links_show_the_address_that_participants_use() -> None:
    assert StudySite().base(8000) == "http://127.0.0.1:8000"
    assert StudySite("::1").base(8000) == "http://[::1]:8000"
    assert StudySite(public_url="https://study.example/").base(8000) == "https://study.example"
    assert StudySite("192.0.2.1", certificate=Path("c"), key=Path("k")).base(8443) == "https://192.0.2.1:8443"


@pytest.mark.parametrize("lacking", ["consent", "who", "contact", "approval", "storage", "withdrawal"])
def test_beyond_this_machine_the_page_of_consent_is_complete(tmp_path: Path, lacking: str) -> None:
    write_study(tmp_path, texts=CONSENT.model_copy(update={lacking: ""}))
    with pytest.raises(SnellenError, match=f"the texts of the design lack {lacking};"):
        open_service(tmp_path, StudySite(public_url="https://study.example"))
    open_service(tmp_path, StudySite()).database.close()


def test_reviews_need_no_page_of_consent(tmp_path: Path) -> None:
    write_study(tmp_path, ("anna", "ben"))
    open_service(tmp_path, StudySite(public_url="https://study.example")).database.close()


# The log and open files


def test_a_logger_writes_few_lines() -> None:
    limit_logs()
    logger = logging.getLogger("asyncio")
    handler = logging.StreamHandler(lines := ListStream())
    logger.addHandler(handler)
    try:
        for number in range(1000):
            logger.warning("socket.accept() out of system resource %d", number)
        logger.error("something else")
    finally:
        logger.removeHandler(handler)
    text = "".join(lines.texts)
    assert text.count("out of system resource") <= 12
    assert "something else" in text


class ListStream:
    """A stream that collects what is written."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def write(self, text: str) -> int:
        self.texts.append(text)
        return len(text)

    def flush(self) -> None:
        """Nothing to do."""


def test_more_connections_than_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits = list[tuple[int, int]]()
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (256, 4096))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, pair: set_limits.append(pair))
    allow_open_files(20)
    assert set_limits == []
    allow_open_files(1000)
    assert set_limits == [(2192, 4096)]
    with pytest.raises(SnellenError, match="choose at most 1952"):
        allow_open_files(2000)


# Connections of a real server


@contextmanager
def real_server(root: Path, **limits: float) -> Iterator[tuple[str, tuple[str, int]]]:
    """The link of a served study, and its address."""
    write_study(root)
    with server_process(root, limits) as (_, link):
        address = urlsplit(link)
        assert address.hostname
        assert address.port
        yield link, (address.hostname, address.port)


def is_closed(connection: socket.socket) -> bool:
    """True if the other side closes within `PATIENCE`; what it sends before is skipped."""
    connection.settimeout(PATIENCE)
    try:
        while connection.recv(4096):
            pass
    except ConnectionResetError:
        pass
    except TimeoutError:
        return False
    return True


def visitor(address: str) -> httpx.Client:
    return httpx.Client(transport=httpx.HTTPTransport(local_address=address), timeout=PATIENCE)


def test_silent_connections_are_closed(tmp_path: Path) -> None:
    """One that says nothing, one whose head never ends, and one after its response."""
    with real_server(tmp_path, silent_seconds=3) as (link, endpoint), ExitStack() as stack:
        mute, slow, idle = (stack.enter_context(socket.create_connection(endpoint)) for _ in range(3))
        slow.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        idle.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert idle.recv(12) == b"HTTP/1.1 404"
        slow.settimeout(0.2)
        for _ in range(5 * PATIENCE):  # a byte now and then keeps nothing open
            try:
                slow.sendall(b"x")
                if not slow.recv(1):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        else:
            pytest.fail("the slow head was not closed")
        assert is_closed(mute)
        assert is_closed(idle)
        assert httpx.get(link, timeout=PATIENCE, trust_env=False).status_code == 200


def test_one_address_has_at_most_half_of_the_connections(tmp_path: Path) -> None:
    """The oldest silent ones make room, also those that began a body and do not finish it."""
    with real_server(tmp_path, connections=6, silent_seconds=1000) as (link, endpoint), ExitStack() as stack:
        busy = stack.enter_context(socket.create_connection(endpoint))
        path = urlsplit(link).path
        lines = f"POST {path}api/open HTTP/1.1", "Host: localhost", "Content-Type: application/json"
        busy.sendall("\r\n".join([*lines, "Content-Length: 18", "Expect: 100-continue", "", ""]).encode())
        assert busy.recv(12) == b"HTTP/1.1 100"
        silent = [stack.enter_context(socket.create_connection(endpoint)) for _ in range(20)]
        assert all(is_closed(connection) for connection in [busy, *silent[:17]])
        with visitor("127.0.0.2") as client:
            assert client.post(f"{link}api/open", json={"parameters": {}}).json()["participant"] == "p01"
        assert httpx.post(f"{link}api/open", json={"parameters": {}}, timeout=PATIENCE, trust_env=False).is_success


def test_a_large_head_is_refused(tmp_path: Path) -> None:
    with (
        real_server(tmp_path, silent_seconds=1000) as (_, endpoint),
        socket.create_connection(endpoint) as connection,
    ):
        connection.settimeout(PATIENCE)
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Much: ")
        answer = b""
        try:
            for _ in range(1000):
                connection.sendall(b"x" * 4096)
            answer = connection.recv(64)
        except OSError:  # closed before everything was sent
            pass
        assert answer == b"" or answer.startswith(b"HTTP/1.1 400")
        assert is_closed(connection)


def exchange(endpoint: tuple[str, int], request: bytes) -> bytes:
    """Everything that the server sends back until it closes the connection."""
    received = b""
    with socket.create_connection(endpoint) as connection:
        connection.settimeout(PATIENCE)
        try:
            connection.sendall(request)
            while part := connection.recv(65536):
                received += part
        except OSError:  # closed before everything was sent
            pass
    return received


def test_what_costs_the_server_more_than_its_sender_is_refused(tmp_path: Path) -> None:
    """Bodies in chunks, requests before the answer to the last one, and heads of thousands of lines."""
    with real_server(tmp_path, silent_seconds=1000) as (link, endpoint):
        path = urlsplit(link).path
        head = f"POST {path}api/open HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        chunks = f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + b"1\r\nx\r\n" * 1000
        assert exchange(endpoint, chunks).startswith(b"HTTP/1.1 400")
        get = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        assert exchange(endpoint, get * 10_000).count(b"HTTP/1.1 200") <= 1
        proposal = get[:-2] + b"Connection: upgrade\r\nUpgrade: x\r\n\r\n"
        assert exchange(endpoint, proposal * 10_000).count(b"HTTP/1.1 200") <= 1
        lines = get[:-2] + b"a:\r\n" * 1000 + b"\r\n"
        assert exchange(endpoint, lines) == b""
        with socket.create_connection(endpoint) as connection:  # refused before its body comes
            connection.sendall(b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n")
            connection.settimeout(PATIENCE)
            assert connection.recv(12).startswith(b"HTTP/1.1 4")
            assert is_closed(connection), "what follows the body would be read as a head without bounds"
        with httpx.Client(timeout=PATIENCE, trust_env=False) as client:  # one after the other on one connection
            assert [client.get(link).status_code for _ in range(3)] == [200, 200, 200]
            nested: dict[str, Any] = {"parameters": {}, "more": [[]] * 4000}
            assert client.post(f"{link}api/open", json=nested).status_code == 422


def test_a_request_before_the_end_of_a_response_waits() -> None:
    """A client that has all bytes of a file sends the next request before the server has ended the response."""

    async def exchanged() -> list[bytes]:
        release = asyncio.Event()

        async def app(scope: Any, receive: Any, send: Any) -> None:
            headers = [(b"content-length", b"2")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b"ok", "more_body": True})
            await release.wait()
            await send({"type": "http.response.body", "body": b""})

        config, loop = uvicorn.Config(app, ws="none", access_log=False), asyncio.get_running_loop()
        config.load()
        server = await loop.create_server(lambda: StudyProtocol(config, ServerState(), {}), "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        responses: list[bytes] = []
        for _ in range(3):
            writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            if responses:
                await asyncio.sleep(0.05)  # the request arrives first
                release.set()
            responses.append(await asyncio.wait_for(reader.readuntil(b"ok"), PATIENCE))
        writer.close()
        server.close()
        return responses

    assert [response[:12] for response in asyncio.run(exchanged())] == [b"HTTP/1.1 200"] * 3


@pytest.mark.slow
def test_a_server_with_a_certificate_counts_connections_before_the_handshake(tmp_path: Path) -> None:
    certificate, key = write_certificate(tmp_path)
    write_study(tmp_path, texts=CONSENT)
    site = {"certificate": str(certificate), "key": str(key), "public_url": "https://study.example"}
    with (
        server_process(tmp_path, {"connections": 6, "silent_seconds": 5}, site | {"port": (port := free_port())}) as (
            _,
            link,
        ),
        ExitStack() as stack,
    ):
        assert link.startswith("https://study.example/s/")
        silent = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(20)]
        assert all(is_closed(connection) for connection in silent)
        trust = ssl.create_default_context(cafile=certificate)
        base = f"https://127.0.0.1:{port}{urlsplit(link).path}"
        with httpx.Client(verify=trust, timeout=PATIENCE, headers={"Host": "study.example"}, trust_env=False) as client:
            response = client.post(f"{base}api/open", json={"parameters": {}, "consented": True})
            assert response.json()["participant"] == "p01"
            assert response.headers["strict-transport-security"]
        plain = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE))
        with trust.wrap_socket(plain, server_hostname=NAME) as encrypted:
            assert encrypted.version() == "TLSv1.3"


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port: int = listener.getsockname()[1]
    return port


def test_bad_requests_fill_no_log(tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    write_study(tmp_path)
    with errors.open("w") as stream, server_process(tmp_path, errors=stream) as (_, link):
        address = urlsplit(link)
        for _ in range(300):
            with socket.create_connection((address.hostname, address.port)) as connection:
                connection.sendall(b"no request\r\n\r\n")
                assert is_closed(connection)
    assert 0 < errors.stat().st_size < 5000


@pytest.mark.slow
def test_a_thousand_half_open_connections_shut_nobody_out(tmp_path: Path) -> None:
    """With as many open files as a login of Debian has; the participant has five seconds for each request."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2000:
        pytest.skip("this machine opens too few files for the attack")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2000), hard))
    errors = tmp_path / "errors"
    plan = write_study(tmp_path)
    with (
        errors.open("w") as stream,
        server_process(tmp_path, {"silent_seconds": 1000}, errors=stream, open_files=1024) as (_, link),
        ExitStack() as stack,
    ):
        address = urlsplit(link)
        attack = []
        for _ in range(1124):
            connection = socket.create_connection((address.hostname, address.port), timeout=PATIENCE)
            attack.append(stack.enter_context(connection))
            connection.sendall(b"GET / HTTP/1.1\r\n")
        transport = httpx.HTTPTransport(local_address="127.0.0.2")
        with httpx.Client(transport=transport, timeout=5) as client:
            assert client.get(link).status_code == 200
            participant = client.post(f"{link}api/open", json={"parameters": {}}).json()
            headers = {"X-Snellen-Secret": participant["secret"]}
            for row in rows_of_form(plan, "p01", 0):
                response = client.post(f"{link}api/records", json=row.plain(), headers=headers)
                assert response.json()["sequence"] == row.sequence
        assert all(is_closed(connection) for connection in attack[:924])
    assert dict(read_results(tmp_path)) == {"p01": rows_of_form(plan, "p01", 0)}
    assert errors.stat().st_size < 100_000
