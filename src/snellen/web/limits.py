"""Limits on participants of a study server: how many there are, how much they send, store and get back.

Connections, slow requests and sizes of heads are limited by the proxy in front (docs/serving.md).
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network

from snellen.web.store import Refusal

MAX_SENDERS = 1000
"""Senders of a rate beyond which those without recent events are dropped."""


@dataclass(frozen=True)
class VisitorLimits:
    """What visitors may take up. An address is an IPv4 address, or the 64-bit network of an IPv6 address.

    A study has at most so many `participants` (reviewers are not counted); one address adds `begins` of them at once
    and in a minute. A participant sends `requests` at once, then `requests_per_second`, and `stored_bytes` in all. What
    is stored is returned to one participant up to `returned_bytes` at once, then `returned_bytes_per_second`.
    """

    participants: int = 1000
    begins: int = 100
    requests: int = 100
    requests_per_second: float = 10.0
    stored_bytes: int = 2 * 2**20
    returned_bytes: int = 6 * 2**20
    returned_bytes_per_second: float = 2.0**17


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
        self._returned = Rate(limits.returned_bytes, limits.returned_bytes_per_second)

    @contextmanager
    def count_begin(self, connection: sqlite3.Connection, address: str) -> Iterator[None]:
        """Count the participant who may be added inside. Raises Refusal (403, 429) if it is one too many.

        Of an unknown (empty) address only the total counts.
        """
        query = "SELECT count(*) FROM participants WHERE link != ''"  # not those who were forgotten
        (before,) = connection.execute(query).fetchone()
        yield
        (after,) = connection.execute(query).fetchone()
        if after > max(before, self._limits.participants):
            raise Refusal(403, "The study has all its participants; nobody else can begin.")
        if after > before and address and not self._begins.allows(_network(address)):
            raise Refusal(429, "Too many people begin from this address; wait a minute.")

    def count_request(self, participant: int) -> None:
        """Count a request of a participant. Raises Refusal (429) if it is one too many."""
        if not self._requests.allows(participant):
            raise Refusal(429, "Too many requests of one participant; wait a moment.")

    def count_return(self, participant: int, size: int) -> None:
        """Count the return of everything stored of a participant. Raises Refusal (429) if it is too much."""
        if not self._returned.allows(participant, size):
            raise Refusal(429, "The answers were loaded too often; wait a minute.")

    def check_size(self, size: int) -> None:
        """Raises Refusal (413) if too much is stored of a participant."""
        if size > self._limits.stored_bytes:
            raise Refusal(413, "No more is stored of one participant; tell the people who do the study.")


def _network(address: str) -> str:
    with suppress(ValueError):
        ip = ip_address(address)
        if isinstance(ip, IPv6Address):
            mapped = ip.ipv4_mapped
            return str(mapped or ip_network((address.partition("%")[0], 64), strict=False))
    return address
