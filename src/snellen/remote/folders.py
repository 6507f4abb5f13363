"""From addresses to folders, for commands and the Python API: a path is used directly, a URL has a local copy."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from snellen.core.errors import SnellenError
from snellen.core.storage.files import kernel_lock
from snellen.remote import writers
from snellen.remote.addresses import is_url
from snellen.remote.mirror import Mirror, is_record
from snellen.remote.store import ObjectStore
from snellen.remote.writers import Writer

ITEMSET, RUN = "itemset.json", "run.json"


@dataclass(frozen=True)
class RecordFolder:
    """A run folder to write to. `after_call` raises SnellenError once another process has taken over its URL."""

    root: Path
    after_call: Callable[[], None]


def joined(address: str | Path, name: str) -> str | Path:
    """The address of a folder inside another."""
    return f"{str(address).rstrip('/')}/{name}" if is_url(address) else Path(address) / name


def lies_there(address: str | Path, card: str) -> bool:
    """True if a folder or a URL has this card."""
    return ObjectStore(str(address)).stat(card) is not None if is_url(address) else (Path(address) / card).is_file()


def fetched(address: str | Path) -> Path:
    """The folder of an item set or a run to read: a path itself, or the updated local copy of a URL.

    Raises SnellenError if a URL holds neither, or cannot be read.
    """
    if not is_url(address):
        return Path(address)
    mirror = Mirror(str(address))
    if not mirror.is_current(ITEMSET) and not mirror.pull([ITEMSET, RUN]):
        raise SnellenError(
            f"{mirror.url}: contains neither an item set nor a run (no {ITEMSET}, no {RUN}); correct the URL, or "
            f"write one with "
            "--out"
        )
    return mirror.root


@contextmanager
def published(address: str | Path, *, card: str = "") -> Iterator[Path]:
    """The folder to write a set or a report to. For a URL, it is uploaded when all is written, the card last.

    With `card`, the URL must not have that card yet. After an exception nothing is uploaded.
    """
    if not is_url(address):
        yield Path(address)
        return
    mirror = Mirror(str(address))
    with _writing(mirror) as writer:
        if card and mirror.store.stat(card) is not None:
            raise SnellenError(
                f"{mirror.url}: already contains an item set, and sets are never edited; choose another --out"
            )
        mirror.reconcile()
        if card:
            (mirror.root / card).unlink(missing_ok=True)  # of a set that was not completely uploaded
        yield mirror.root
        _push(mirror, writer)


@contextmanager
def record_folder(address: str | Path, after_call: Callable[[], None] = lambda: None) -> Iterator[RecordFolder]:
    """The folder of a run to write to. For a URL, the record is uploaded regularly, and everything at the end.

    This includes the end by an error or a signal. `after_call` is also called after each call.
    """
    if not is_url(address):
        yield RecordFolder(Path(address), after_call)
        return
    mirror = Mirror(str(address))
    with _writing(mirror) as writer:
        mirror.pull([RUN])

        def check() -> None:
            after_call()
            if writer.is_lost:
                writer.beat()

        try:
            with _uploading(mirror, writer):
                yield RecordFolder(mirror.root, check)
        except BaseException:
            try:
                _push(mirror, writer)
            except SnellenError as failure:
                _notify(str(failure))
            raise
        _push(mirror, writer)


@contextmanager
def _writing(mirror: Mirror) -> Iterator[Writer]:
    """Be the only writer of a URL, here and elsewhere; a thread sends heartbeats until the end."""
    with kernel_lock(mirror.lock_file("writer"), mirror.url):
        writer = Writer(mirror.store, _notify)
        writer.acquire()
        try:
            with _every_beat(writer.beat, lambda error: None):  # uploads meet and report the same error
                yield writer
        finally:
            with suppress(SnellenError):  # the next writer will notice the missing heartbeat
                writer.release()


@contextmanager
def _uploading(mirror: Mirror, writer: Writer) -> Iterator[None]:
    """Upload the record in a thread during the block."""

    def upload() -> None:
        writer.beat()
        mirror.push(is_record, writer.beat)

    def notify(error: SnellenError) -> None:
        _notify(f"{error}; the record stays in the local copy, and uploads are tried again")

    with _every_beat(upload, notify):
        yield


@contextmanager
def _every_beat(act: Callable[[], None], notify: Callable[[SnellenError], None]) -> Iterator[None]:
    """Call `act` every `BEAT_SECONDS` in a thread; the first of consecutive failures is passed to `notify`."""
    is_over = threading.Event()

    def repeat() -> None:
        is_reached = True
        while not is_over.wait(writers.BEAT_SECONDS):
            try:
                act()
                is_reached = True
            except SnellenError as error:
                if is_reached:
                    notify(error)
                is_reached = False

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _push(mirror: Mirror, writer: Writer) -> None:
    try:
        writer.beat()
        mirror.push(check=writer.beat)
    except SnellenError as error:
        raise SnellenError(
            f"{error}; all finished work is kept in {mirror.folder}; run the same command again to upload the rest"
        ) from error


def _notify(line: str) -> None:
    sys.stderr.write(f"snellen: {line}\n")
