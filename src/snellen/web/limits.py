"""Limits on what visitors of a study server may take up: connections, time, new participants, rows, lines of the log.

Connections are counted where they are accepted, since uvicorn sees one only after its TLS handshake and waits for the
head of a request without end. Its `limit_concurrency` counts silent connections and then refuses everybody.
"""

from __future__ import annotations

import logging
import resource
import socket
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network

from snellen.core.errors import SnellenError
from snellen.web.store import Refusal

BACKLOG = 128
"""Connections that wait to be accepted, and the most that are accepted before others are closed."""
OTHER_FILES = 64
"""Open files of the server, without connections and the files that it sends."""
LOGGERS = "asyncio", "uvicorn.error", "snellen.web.server"
"""Loggers that write what visitors cause: ten lines of a level at once, then ten a minute."""
MAX_SENDERS = 1000
"""Senders of a rate beyond which those without recent events are dropped."""


@dataclass(frozen=True)
class VisitorLimits:
    """What visitors may take up. An address is an IPv4 address, or the 64-bit network of an IPv6 address.

    One address has at most half of the open `connections`, unless all come from a proxy. A new one takes the place of
    the longest silent one. A connection is silent until a request is complete, head and body, and again after the
    response; it is closed after `silent_seconds`, others after `request_seconds`. A head has at most `head_bytes`.

    A study has at most so many `participants` (reviewers are not counted); one address adds `begins` of them at once
    and in a minute. A participant sends `requests` at once, then `requests_per_second`, and `stored_bytes` in all. What
    is stored is returned to one participant up to `returned_bytes` at once, then `returned_bytes_per_second`; to one
    address up to four times as much. It is also read again at each request: up to `read_bytes` of one participant at
    once, then `read_bytes_per_second`, and eight times as much of one address, unless it is unknown.
    """

    connections: int = 400
    silent_seconds: float = 15.0
    request_seconds: float = 300.0
    head_bytes: int = 16 * 2**10
    participants: int = 1000
    begins: int = 100
    requests: int = 100
    requests_per_second: float = 10.0
    stored_bytes: int = 10 * 2**20
    returned_bytes: int = 24 * 2**20
    returned_bytes_per_second: float = 2.0**17
    read_bytes: int = 64 * 2**20
    read_bytes_per_second: float = 2.0**22


DEFAULT_LIMITS = VisitorLimits()


class Rate:
    """A limit on events, or bytes, of the same sender: `burst` at once, then `per_second`."""

    def __init__(self, burst: float, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = 1 / per_second
        self._ahead = (burst - 1) * self._seconds
        self._clock = clock
        self._due: dict[Hashable, float] = {}  # when the events so far would have ended, one after the other

    def allows(self, sender: Hashable, size: float = 1) -> bool:
        """True if an event of this size may happen now; only then it counts."""
        now = self._clock()
        due = max(self._due.get(sender, now), now)
        if due - now + (size - 1) * self._seconds > self._ahead:
            return False
        if len(self._due) >= MAX_SENDERS:
            self._due = {other: due for other, due in self._due.items() if due > now}
        self._due[sender] = due + size * self._seconds
        return True


class Brakes:
    """Limits on participants, for jobs of the store, which roll back what was written before a refusal."""

    def __init__(self, limits: VisitorLimits) -> None:
        self._limits = limits
        self._begins = Rate(limits.begins, limits.begins / 60)
        self._requests = Rate(limits.requests, limits.requests_per_second)
        self._returned = [
            Rate(times * limits.returned_bytes, times * limits.returned_bytes_per_second) for times in (1, 4)
        ]
        self._read = [Rate(times * limits.read_bytes, times * limits.read_bytes_per_second) for times in (1, 8)]
        self._sizes: dict[int, int] = {}  # as far as they are known, so that a refusal reads nothing

    @contextmanager
    def count_begin(self, connection: sqlite3.Connection, address: str) -> Iterator[None]:
        """Count the participant who may be added inside. Raises Refusal (403, 429) if it is one too many.

        Of an unknown (empty) address only the total counts.
        """
        query = "SELECT count(*) FROM participants"
        (before,) = connection.execute(query).fetchone()
        yield
        (after,) = connection.execute(query).fetchone()
        if after > max(before, self._limits.participants):
            raise Refusal(403, "The study has all its participants; nobody else can begin.")
        if after > before and address and not self._begins.allows(_network(address)):
            raise Refusal(429, "Too many people begin from this address; wait a minute.")

    def count_request(self, connection: sqlite3.Connection, participant: int, address: str) -> None:
        """Count a request of a participant from an address. Raises Refusal (429) if it is one too many."""
        size = self._sizes.get(participant)
        if size is None:  # the server was started again since
            size = self._sizes[participant] = _stored_bytes(connection, participant)
        if not self._requests.allows(participant) or (size and not _allow(self._read, participant, address, size)):
            raise Refusal(429, "Too many requests of one participant; wait a moment.")

    def count_return(self, connection: sqlite3.Connection, participant: int, address: str) -> None:
        """Count the return of everything stored of a participant. Raises Refusal (429) if it is too much."""
        size = self._sizes[participant] = max(1, _stored_bytes(connection, participant))
        if not _allow(self._returned, participant, address, size):
            raise Refusal(429, "The answers were loaded too often; wait a minute.")

    def check_size(self, connection: sqlite3.Connection, participant: int) -> None:
        """Raises Refusal (413) if too much is stored of a participant."""
        size = self._sizes[participant] = _stored_bytes(connection, participant)
        if size > self._limits.stored_bytes:
            raise Refusal(413, "No more is stored of one participant; tell the people who do the study.")


def _allow(rates: Sequence[Rate], participant: int, address: str, size: int) -> bool:
    """True if rates of participants and of addresses both allow this size; an unknown address has no rate."""
    of_participants, of_addresses = rates
    return of_participants.allows(participant, size) and (not address or of_addresses.allows(_network(address), size))


def _stored_bytes(connection: sqlite3.Connection, participant: int) -> int:
    query = "SELECT sum(length(CAST(record AS BLOB))) FROM rows WHERE participant = ?"
    return int(connection.execute(query, (participant,)).fetchone()[0] or 0)


@dataclass
class _Visit:
    """An open connection, its address, its requests in progress, and when it fell silent or its request began."""

    connection: socket.socket
    address: str
    since: float
    requests: int = 0


class Connections:
    """The open connections of a server by (host, port); from a proxy if they are forwarded."""

    def __init__(
        self, limits: VisitorLimits, is_forwarded: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limits = limits
        self._per_address = limits.connections if is_forwarded else max(1, limits.connections // 2)
        self._clock = clock
        self._visits: dict[tuple[str, int], _Visit] = {}

    def admit(self, connection: socket.socket, client: tuple[str, int]) -> bool:
        """Add a connection, and close the longest silent one if there are too many. False if none is silent.

        If it is not the address that has too many, one of the address with most connections is closed.
        """
        self._visits = {key: visit for key, visit in self._visits.items() if visit.connection.fileno() >= 0}
        counts, address = Counter(visit.address for visit in self._visits.values()), _network(client[0])
        is_full = counts[address] >= self._per_address
        if is_full or len(self._visits) >= self._limits.connections:
            silent = [
                (-counts[visit.address], visit.since, key)
                for key, visit in self._visits.items()
                if not visit.requests and (visit.address == address or not is_full)
            ]
            if not silent:
                return False
            self._close(min(silent)[2])
        self._visits[client] = _Visit(connection, address, self._clock())
        return True

    @contextmanager
    def request(self, client: tuple[str, int]) -> Iterator[None]:
        """The time in which a request of this connection is answered."""
        visit = self._visits.get(client)
        if visit is None:  # not accepted by `Listener`
            yield
            return
        visit.since, visit.requests = self._clock(), visit.requests + 1
        try:
            yield
        finally:
            visit.since, visit.requests = self._clock(), visit.requests - 1

    def renew(self, client: tuple[str, int]) -> None:
        """Count the silence of a connection anew."""
        if client in self._visits:
            self._visits[client].since = self._clock()

    async def sweep(self) -> None:
        """Close connections that were silent, or busy with one request, for too long."""
        now = self._clock()
        for key, visit in list(self._visits.items()):
            if now - visit.since > (self._limits.request_seconds if visit.requests else self._limits.silent_seconds):
                self._close(key)

    def _close(self, client: tuple[str, int]) -> None:
        with suppress(OSError):  # closed by now
            self._visits.pop(client).connection.shutdown(socket.SHUT_RDWR)  # asyncio reads the end, and closes it


class Listener(socket.socket):
    """A listening socket that closes at once what `connections` does not admit."""

    def __init__(self, listening: socket.socket, connections: Connections) -> None:
        super().__init__(fileno=listening.detach())
        self._connections = connections

    def accept(self) -> tuple[socket.socket, tuple[str, int]]:
        """A new connection and its address. Raises ConnectionAbortedError, which asyncio ignores, if it is refused."""
        connection, client = super().accept()
        if not self._connections.admit(connection, client[:2]):
            connection.close()
            raise ConnectionAbortedError
        return connection, client


def allow_open_files(connections: int) -> None:
    """Let this process open the files that so many connections need. Raises SnellenError if it may not."""
    needed, (soft, hard) = 2 * connections + BACKLOG + OTHER_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY != hard < needed:
        raise SnellenError(
            f"--max-connections {connections}: takes {needed} open files, of which this process may have {hard}; "
            f"choose at most {(hard - BACKLOG - OTHER_FILES) // 2}"
        )
    if resource.RLIM_INFINITY != soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def limit_logs() -> None:
    """Limit the lines of `LOGGERS`."""
    for name in LOGGERS:
        logging.getLogger(name).addFilter(_few_lines)


_LINES = Rate(10, 1 / 6)


def _few_lines(record: logging.LogRecord) -> bool:
    return _LINES.allows((record.name, record.levelno))


def _network(address: str) -> str:
    with suppress(ValueError):
        ip = ip_address(address)
        if isinstance(ip, IPv6Address):
            mapped = ip.ipv4_mapped
            return str(mapped or ip_network((address.partition("%")[0], 64), strict=False))
    return address
