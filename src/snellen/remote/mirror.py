"""The local copy of a folder behind a URL: changes there are downloaded, changes here are uploaded."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from snellen.compute import Progress
from snellen.core.errors import SnellenError
from snellen.core.storage import files
from snellen.remote.addresses import ADDRESS, FILES, copy_folder
from snellen.remote.store import ObjectStore, RemoteFile

WRITERS = "writers"
"""The folder of a URL that records its writers; it is not copied."""
BATCH = 256
"""Files transferred at a time."""
MANY = 8
"""Versions of more files than this are looked up by a listing."""
_CARDS = ("itemset.json", "run.json", "index.html")
"""The file that makes a folder a set, a run or a report; uploaded after all others."""
_UNSENT = {"lock", ADDRESS}


class Entry(NamedTuple):
    """A file when both sides were last equal: its version there, size in bytes and modification time (ns) here."""

    version: str
    size: int
    mtime_ns: int


class Mirror:
    """A URL and its local copy in `root`. Local additions and changes stay until they are uploaded."""

    def __init__(self, url: str) -> None:
        self.store = ObjectStore(url)
        self.folder = copy_folder(url)
        self.root = self.folder / FILES
        self._open()

    @property
    def url(self) -> str:
        """The URL, without a slash at its end."""
        return self.store.url

    def _open(self) -> None:
        files.write_text(self.folder / ADDRESS, self.url)
        self.root.mkdir(exist_ok=True)

    def is_current(self, card: str) -> bool:
        """True if the copy has the URL's current card, and so all files uploaded before it."""
        entry, file = self._entries().get(card), self.store.stat(card)
        return entry is not None and file is not None and self._is_same(card, entry) and entry.version == file.version

    def pull(self, cards: Iterable[str]) -> bool:
        """Download changed files if the URL has one of these cards; returns whether it has.

        For a file that changed on both sides, the URL's version is taken; records of calls are merged.
        """
        with self._syncing():
            remote = self._remote_files()
            present = [card for card in cards if card in remote]
            entries = self._reconciled(remote, [] if present else list(cards))
            if present:
                self._download({name: file for name, file in remote.items() if name not in entries}, entries)
            self._keep(entries)
        return bool(present)

    def reconcile(self) -> None:
        """Look up the URL's files, so that existing ones are not uploaded again and lost ones are."""
        with self._syncing():
            self._keep(self._reconciled(self._remote_files(), _CARDS))

    def push(self, select: Callable[[str], bool] | None = None, check: Callable[[], None] = lambda: None) -> None:
        """Upload changed files, cards last; delete there what was on both sides and is gone here.

        With `select`, only these files are uploaded, which may still grow, and nothing is deleted. `check` is called
        before each batch, and may end the upload by an error.
        """
        with self._syncing():
            entries = self._entries()
            changed = [name for name in self._local_names() if not self._is_same(name, entries.get(name))]
            chosen = sorted(filter(select, changed), key=lambda name: (_rank(name), name))
            with _progress("uploading", len(chosen)) as progress:
                for _, names in groupby(chosen, key=_rank):
                    self._upload(list(names), entries, progress, check, is_growing=select is not None)
            if select is None and (lost := [name for name in entries if not (self.root / name).is_file()]):
                check()
                self.store.delete(lost)
                self._keep({name: entry for name, entry in entries.items() if name not in lost})

    def _remote_files(self) -> dict[str, RemoteFile]:
        return {name: file for name, file in self.store.list().items() if not name.startswith(f"{WRITERS}/")}

    def _reconciled(self, remote: Mapping[str, RemoteFile], cards: Iterable[str]) -> dict[str, Entry]:
        """The files that are equal on both sides. If one of `cards` is gone there, a new copy is started."""
        entries = self._entries()
        if any(card in entries and card not in remote for card in cards):
            number = next(n for n in range(1, 10**6) if not self.folder.with_suffix(f".{n}").exists())
            self.folder.rename(self.folder.with_suffix(f".{number}"))
            self._open()
            return {}
        same = {
            name: entry for name, entry in entries.items() if name in remote and entry.version == remote[name].version
        }
        for name, entry in entries.items():
            if name not in remote and self._is_same(name, entry):
                (self.root / name).unlink()  # deleted there
        for name, file in remote.items():
            if name not in same and _is_named_by_content(name) and self._size(name) == file.size:
                same[name] = self._entry(name, file.version)
        return {name: entry for name, entry in same.items() if (self.root / name).is_file()}

    def _download(self, remote: Mapping[str, RemoteFile], entries: dict[str, Entry]) -> None:
        """Download files in the order of `_rank`."""
        names, before = sorted(remote, key=lambda name: (_rank(name), name)), self._entries()
        for name in [name for name in names if _is_part(name) and (self.root / name).is_file()]:
            if not self._is_same(name, before.get(name)):
                entries[name] = self._merge_part(name, remote)
        incoming = self.folder / f"incoming.{os.getpid()}"
        try:
            with _progress("downloading", len(names)) as progress:
                for batch in _batches([name for name in names if name not in entries]):
                    shutil.rmtree(incoming, ignore_errors=True)
                    incoming.mkdir()
                    targets = {name: incoming / str(number) for number, name in enumerate(batch)}
                    self.store.download(targets)
                    for name, path in targets.items():
                        entries[name] = self._take(name, path, remote[name])
                    progress.advance(len(batch))
        except OSError as error:
            raise files.cannot_write(self.folder, error) from error
        finally:
            shutil.rmtree(incoming, ignore_errors=True)

    def _take(self, name: str, path: Path, file: RemoteFile) -> Entry:
        if path.stat().st_size != file.size:
            raise SnellenError(f"{self.url}/{name}: changed during the download; run the same command again")
        if file.modified_ns:  # times tell whether tables are older than the record
            os.utime(path, ns=(file.modified_ns, file.modified_ns))
        target = self.root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        path.replace(target)
        return self._entry(name, file.version)

    def _merge_part(self, name: str, remote: Mapping[str, RemoteFile]) -> Entry:
        """Merge a record of calls that grew on both sides: the longer one, or both if they have different calls."""
        path, theirs = self.root / name, self.store.read(name)
        ours = path.read_bytes()
        if ours.startswith(theirs):
            return Entry(remote[name].version, -1, 0)  # still to be uploaded
        if not theirs.startswith(ours):
            folder = name.rpartition("/")[0]
            names = [other.rpartition("/")[2] for other in remote if other.startswith(f"{folder}/")]
            stems = [Path(other).stem for other in (*names, *map(str, path.parent.glob("*.jsonl")))]
            path.rename(path.with_name(f"{max(int(stem) for stem in stems if stem.isdecimal()) + 1:04d}.jsonl"))
        files.write_bytes(path, theirs)
        return self._entry(name, remote[name].version)

    def _upload(
        self,
        names: list[str],
        entries: dict[str, Entry],
        progress: Progress,
        check: Callable[[], None],
        *,
        is_growing: bool,
    ) -> None:
        """Upload files of one rank and note their versions. Of growing parts, only complete lines are uploaded."""
        marks = {name: self._entry(name, "") for name in names}  # before they are read: some still grow
        for name in filter(_is_part, names):
            check()
            raw = (self.root / name).read_bytes()
            if is_growing:
                raw = raw[: raw.rfind(b"\n") + 1]
            marks[name] = marks[name]._replace(size=len(raw))
            self.store.write(name, raw)
            progress.advance()
        for batch in _batches([name for name in names if not _is_part(name)]):
            check()
            self.store.upload({name: self.root / name for name in batch})
            progress.advance(len(batch))
        remote = self.store.list() if len(names) > MANY else {name: self.store.stat(name) for name in names}
        for name in names:
            if (file := remote.get(name)) is None or file.size != marks[name].size:
                raise SnellenError(f"{self.url}/{name}: missing or changed after upload; run the same command again")
            entries[name] = marks[name]._replace(version=file.version)
        self._keep(entries)

    def _local_names(self) -> Iterator[str]:
        for folder, _, names in os.walk(self.root):
            inside = Path(folder).relative_to(self.root)
            yield from ((inside / name).as_posix() for name in names if name not in _UNSENT and ".half" not in name)

    def _size(self, name: str) -> int | None:
        path = self.root / name
        return path.stat().st_size if path.is_file() else None

    def _entry(self, name: str, version: str) -> Entry:
        stat = (self.root / name).stat()
        return Entry(version, stat.st_size, stat.st_mtime_ns)

    def _is_same(self, name: str, entry: Entry | None) -> bool:
        """True if a local file is unchanged since both sides were equal."""
        if entry is None or self._size(name) is None:
            return False
        return self._entry(name, entry.version) == entry

    def _entries(self) -> dict[str, Entry]:
        try:
            rows = json.loads((self.folder / "manifest.json").read_text("utf-8"))
            return {name: Entry(*row) for name, row in rows.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}  # everything is compared and transferred again

    def _keep(self, entries: Mapping[str, Entry]) -> None:
        files.write_text(self.folder / "manifest.json", json.dumps(entries))

    @contextmanager
    def _syncing(self) -> Iterator[None]:
        """Let only one process and thread at a time compare the two sides."""
        with self.lock_file("sync").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def lock_file(self, purpose: str) -> Path:
        """A file for the kernel's locks, next to the copy."""
        return self.folder.parent / f"{self.folder.name}-{purpose}.lock"


def is_record(name: str) -> bool:
    """True for files of a run that cannot be recreated: its card and its calls, and those of its judgements."""
    return _is_part(name) or name.rpartition("/")[2] == "run.json"


def _is_part(name: str) -> bool:
    return f"/{name}".rpartition("/")[0].endswith("/parts")


def _is_named_by_content(name: str) -> bool:
    return re.search(r"(^|/)[0-9a-f]{2}/[0-9a-f]{64}\.\w+$", name) is not None


def _rank(name: str) -> int:
    """The order of transfers: the record first, then other files, tables, cards, stamps last."""
    last = name.rpartition("/")[2]
    if last in _CARDS:
        return 3
    if last == "stamp.json":
        return 4
    return 0 if _is_part(name) else 2 if name.endswith(".parquet") else 1


def _batches(names: list[str]) -> Iterator[list[str]]:
    return (names[start : start + BATCH] for start in range(0, len(names), BATCH))


def _progress(label: str, count: int) -> Progress:
    progress = Progress(label, unit="files", visible=count > MANY and sys.stderr.isatty())
    progress.expect(count)
    return progress
