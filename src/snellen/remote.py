"""Item sets, runs and reports at a URL: copied to the home folder before work and back after it, by fsspec.

The rest of the package knows only folders. Two commands that write to one URL are not kept apart (docs/remote.md).
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from urllib.parse import quote, unquote

from snellen.core.errors import SnellenError
from snellen.core.extras import install_command
from snellen.core.plain_text import short_reason
from snellen.core.storage.home import home
from snellen.core.storage.user_files import MAX_CARD_BYTES

ITEMSET, RUN = "itemset.json", "run.json"
PUT_SECONDS = 20.0
"""Time between uploads of a run's record."""
_ONLY_GROWS = re.compile(r"(^|/)(parts/[^/]+|[0-9a-f]{2}/[0-9a-f]{64}\.\w+)$")
"""Parts of a record, to which lines are appended, and images named by their content: of two, the longer is whole."""
_S3_SETTINGS = {"connect_timeout": 10, "read_timeout": 30, "retries": {"max_attempts": 2}}
"""s3fs retries botocore's retries five times: without limits, a lost network is reported after half an hour."""
_REMEDY = "check URL, credentials and network (docs/remote.md), and run the same command again"


def is_url(address: str | Path) -> bool:
    """True for the URL of a folder, such as `s3://bucket/runs/first`; false for a path."""
    return isinstance(address, str) and re.match(r"[a-z][a-z0-9+.-]*://", address, re.IGNORECASE) is not None


def address_of(folder: Path) -> str:
    """The URL of a local copy or of a folder in it; the unchanged path of any other folder."""
    path, copies = folder.resolve(), (home() / "remote").resolve()
    key, *inside = path.relative_to(copies).parts if copies in path.parents else ("",)
    return "/".join([unquote(key), *inside]) if is_url(unquote(key)) else str(folder)


def with_urls(text: str) -> str:
    """The text with paths of local copies replaced by their URLs."""
    return re.sub(rf"{re.escape(str(home()))}/remote/([\w.-]+%3A%2F%2F[\w.~%-]+)", lambda key: unquote(key[1]), text)


def lies_there(address: str | Path, card: str) -> bool:
    """True if a folder or a URL has this card."""
    return _Copy(str(address)).read(card) is not None if is_url(address) else (Path(address) / card).is_file()


def fetched(address: str | Path) -> Path:
    """The folder of an item set or a run to read: a path itself, or the updated local copy of a URL.

    Raises SnellenError if a URL holds neither, or cannot be read.
    """
    if not is_url(address):
        return Path(address)
    copy = _Copy(str(address))
    card, path = copy.read(ITEMSET), copy.root / ITEMSET
    if card is None and copy.read(RUN) is None:
        raise SnellenError(f"{copy.url}: contains neither {ITEMSET} nor {RUN}; correct the URL, or write one by --out")
    if card is None or not path.is_file() or path.read_bytes() != card:  # sets are never edited, and cards copied last
        copy.get()
    return copy.root


@contextmanager
def published(address: str | Path, *, card: str = "") -> Iterator[Path]:
    """The folder to write a set or a report to. For a URL, it is uploaded when all is written.

    With `card`, the URL must not have that card yet. After an exception nothing is uploaded.
    """
    if not is_url(address):
        yield Path(address)
        return
    copy = _Copy(str(address))
    if card and copy.read(card) is not None:
        raise SnellenError(f"{copy.url}: already contains an item set, and sets are never edited; choose another --out")
    if card and not (copy.root / RUN).exists():  # else of a set that was not completely uploaded
        shutil.rmtree(copy.root, ignore_errors=True)
    yield copy.root
    copy.put()


@contextmanager
def record_folder(address: str | Path) -> Iterator[Path]:
    """The folder of a run to write to. For a URL, its record is uploaded regularly, and everything at any end."""
    if not is_url(address):
        yield Path(address)
        return
    copy, is_over = _Copy(str(address)), threading.Event()
    copy.get()

    def put_regularly() -> None:
        while not is_over.wait(PUT_SECONDS):
            try:
                copy.put(lambda name: _rank(name) == 0 or name.endswith(RUN))
            except SnellenError as error:
                sys.stderr.write(f"snellen: {error}\n")

    thread = threading.Thread(target=put_regularly, daemon=True)
    thread.start()
    try:
        yield copy.root
    finally:
        is_over.set()
        thread.join()
        copy.put()


class _Copy:
    """A URL and its local copy in `root`. Raises SnellenError in one line for whatever fails."""

    def __init__(self, address: str) -> None:
        self.url = address.rstrip("/")
        scheme, _, rest = self.url.partition("://")
        names = rest.split("/")
        if re.search(r"[?#]|::", rest) or ".." in names or not re.fullmatch(r"([^@:]*|\[[^@]*\])(:\d*)?", names[0]):
            raise SnellenError(
                f"{scheme}://…: write the URL of a folder; cards contain it, so it may hold no user, key or query; "
                "give credentials in the environment or the configuration of fsspec (docs/remote.md)"
            )
        self.root = home() / "remote" / quote(self.url, safe="")
        self._same = dict[str, tuple[int, int]]()  # size and time of files when both sides were equal
        with self._one_line():
            from fsspec.config import conf
            from fsspec.core import url_to_fs

            s3 = {"config_kwargs": _S3_SETTINGS | conf.get("s3", {}).get("config_kwargs", {})}
            options = {"file": {"auto_mkdir": True}, "local": {"auto_mkdir": True}, "s3": s3, "s3a": s3}
            self._files, top = url_to_fs(self.url, **options.get(scheme.lower(), {}))
            if loop := getattr(self._files, "loop", None):  # it prints tracebacks of calls that a transfer abandons
                loop.set_exception_handler(lambda loop, context: None)
            self._top = f"{top.rstrip('/')}/"

    def read(self, name: str) -> bytes | None:
        """The bytes of a card; None if there is none. A server may send without end."""
        with self._one_line():
            self._files.invalidate_cache()
            try:
                with self._files.open(self._top + name, "rb") as file:
                    raw = bytearray()
                    while (piece := file.read(1 << 20)) and len(raw) <= MAX_CARD_BYTES:
                        raw += piece
            except FileNotFoundError:
                return None
            if len(raw) > MAX_CARD_BYTES:
                raise ValueError(f"{name} has more than {MAX_CARD_BYTES // 1_000_000} MB")
            return bytes(raw)

    def get(self) -> None:
        """Download all files but images and parts of which the same or more is here."""
        with self._one_line():
            self._files.invalidate_cache()
            rows = self._files.find(self._top, detail=True).items()
            sizes = {path.removeprefix(self._top): row["size"] for path, row in rows if not path.endswith("/")}
            if odd := [name for name in sizes if {"", ".", ".."} & set(name.split("/")) or "\0" in name]:
                raise ValueError(f"the file {odd[0]!r:.100} would lie outside the folder")
            here = self._marks()
            whole = {name for name in sizes if _ONLY_GROWS.search(name) and here.get(name, (-1, 0))[0] >= sizes[name]}
            names = sorted(sizes.keys() - whole, key=_rank)
            halves = [self.root / f"{name}.{os.getpid()}.half" for name in names]
            if len(names) > 100:
                sys.stderr.write(f"snellen: downloading {len(names)} files from {self.url}\n")
            self._files.get([self._top + name for name in names], [str(half) for half in halves])
            for name, half in zip(names, halves, strict=True):
                half.replace(self.root / name)
            self._same = {name: mark for name, mark in self._marks().items() if mark[0] == sizes.get(name)}

    def put(self, select: Callable[[str], bool] = lambda name: True) -> None:
        """Upload files that changed here, the record first and cards last."""
        with self._one_line(f"; all work is kept in {home() / 'remote'}"):
            marks = self._marks()
            changed = [name for name in marks if marks[name] != self._same.get(name) and select(name)]
            for _, group in groupby(sorted(changed, key=_rank), _rank):
                names = list(group)
                self._files.put([str(self.root / name) for name in names], [self._top + name for name in names])
                self._same |= {name: marks[name] for name in names}

    def _marks(self) -> dict[str, tuple[int, int]]:
        """Size and time of each local file, by its relative path."""
        paths = [path for path in self.root.rglob("*") if path.name != "lock" and path.suffix != ".half"]
        stats = {path.relative_to(self.root).as_posix(): path.stat() for path in paths if path.is_file()}
        return {name: (stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()}

    @contextmanager
    def _one_line(self, note: str = "") -> Iterator[None]:
        try:
            yield
        except Exception as error:  # kinds of errors differ between stores
            reason = short_reason(str(error) or type(error).__name__, 200).rstrip(". ")
            remedy = f"for s3:// that is {install_command('remote')}" if isinstance(error, ImportError) else _REMEDY
            raise SnellenError(f"{self.url}: {reason}; {remedy}{note}") from error


def _rank(name: str) -> int:
    """The order of transfers: the record, other files, the card that makes a folder a set, run or report, the stamp."""
    last = name.rpartition("/")[2]
    return 0 if "/parts/" in f"/{name}" else {ITEMSET: 2, RUN: 2, "index.html": 2, "stamp.json": 3}.get(last, 1)
