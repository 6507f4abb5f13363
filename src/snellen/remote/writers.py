"""One writer at a time behind a URL: a file that only one process can create, with a heartbeat.

Writers are numbered. The process that creates the file of the next number writes, and all can see the highest number;
no lock is ever deleted to be taken. A writer that died on this machine is known by the kernel's lock on the local copy,
one elsewhere by its heartbeat, which is watched, so that clocks are never compared.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from snellen.core.errors import SnellenError
from snellen.core.storage import files
from snellen.remote.addresses import copies_folder
from snellen.remote.mirror import WRITERS
from snellen.remote.store import ObjectStore

BEAT_SECONDS = 20.0
"""Time between heartbeats, and between uploads of the record."""
STALE_SECONDS = 120.0
"""A writer elsewhere without a heartbeat for this long is dead."""


class Writer:
    """The right to write behind a URL. `notify` receives messages for the user; `sleep` waits (seconds)."""

    def __init__(
        self, store: ObjectStore, notify: Callable[[str], None], sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._store, self._notify, self._sleep = store, notify, sleep
        self._card: dict[str, Any] = {"owner": _owner(), "life": uuid.uuid4().hex, "beat": 0, "ended": False}
        self._number, self._beat_lock = 0, threading.Lock()
        self.is_lost = False

    def acquire(self) -> None:
        """Become the writer. This process must hold the kernel's lock on the local copy.

        Raises SnellenError if another process writes.
        """
        while True:
            numbers = self._numbers()
            if numbers and not self._is_over(numbers[-1]):
                self._watch(numbers[-1])
            self._number = numbers[-1] + 1 if numbers else 1
            if self._store.create(_name(self._number), self._raw()) and max(self._numbers()) == self._number:
                break  # else others came and went meanwhile, with their numbers
        self._store.delete([_name(number) for number in numbers])
        if not self._store.may_be_exclusive or self._store.create(_name(self._number), b"{}"):
            self._store.write(_name(self._number), self._raw())
            self._notify(
                f"{self._store.url}: this store cannot keep two writers apart; write from one machine at a time"
            )

    def beat(self) -> None:
        """Send a heartbeat, from any thread. Raises SnellenError once another writer has taken over."""
        with self._beat_lock:
            self.is_lost = self.is_lost or max(self._numbers(), default=0) > self._number
            if self.is_lost:
                raise SnellenError(
                    f"{self._store.url}: another process took over, since this one sent no heartbeat for "
                    f"{STALE_SECONDS:.0f} seconds; what this one recorded is kept; run the same command again to "
                    f"upload it"
                )
            self._card["beat"] += 1
            self._store.write(_name(self._number), self._raw())

    def release(self) -> None:
        """Let others write."""
        if not self.is_lost:
            self._card["ended"] = True
            self._store.write(_name(self._number), self._raw())

    def _numbers(self) -> list[int]:
        stems = (Path(name).stem for name in self._store.list(WRITERS))
        return sorted(int(stem) for stem in stems if stem.isdecimal())

    def _is_over(self, number: int) -> bool:
        """True if this writer has ended, or died on this machine."""
        if self._store.stat(_name(number)) is None:
            return True  # another has followed
        try:
            card = json.loads(self._store.read(_name(number)))
            return bool(card["ended"]) or card["owner"] == self._card["owner"]
        except (ValueError, KeyError, TypeError):
            return False

    def _watch(self, number: int) -> None:
        """Wait until a writer can be considered dead. Raises SnellenError at its first heartbeat."""
        self._notify(
            f"{self._store.url}: a writer elsewhere has not ended; waiting up to {STALE_SECONDS:.0f} seconds for a "
            "heartbeat"
        )
        before, waited = self._store.read(_name(number)), 0.0
        while waited < STALE_SECONDS:
            self._sleep(BEAT_SECONDS / 4)
            waited += BEAT_SECONDS / 4
            if self._is_over(number):
                return
            if self._store.read(_name(number)) != before:
                raise SnellenError(
                    f"{self._store.url}: another process is writing there; wait for it or choose another --out"
                )

    def _raw(self) -> bytes:
        return json.dumps(self._card).encode()


def _name(number: int) -> str:
    return f"{WRITERS}/{number:06d}.json"


def _owner() -> str:
    """An identifier of this home folder, the same for all its processes."""
    path = copies_folder() / "owner.txt"
    if not path.is_file():
        files.write_text(path, uuid.uuid4().hex)
    return path.read_text("utf-8")
