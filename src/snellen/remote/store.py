"""A folder behind a URL, accessed by fsspec: listing, reading, writing and deleting files; errors in one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from snellen.core.errors import SnellenError
from snellen.core.extras import install_command
from snellen.core.plain_text import short_reason
from snellen.remote.addresses import plain_url

_VERSIONS = ("ETag", "etag", "md5Hash", "generation", "mtime", "LastModified", "last_modified", "created")
"""Fields of fsspec's listings that change with a file, best first; they differ between kinds of stores."""
_TIMES = ("LastModified", "last_modified", "mtime", "updated", "created")
_EXCLUSIVE = {"s3", "s3a", "gs", "gcs", "memory", "file", "local"}
"""Stores that can create a file atomically only if it does not exist."""
_S3_SETTINGS = {"connect_timeout": 10, "read_timeout": 30, "retries": {"max_attempts": 2}}
"""s3fs retries botocore's retries five times: without limits, a lost network is reported after half an hour."""
_REMEDIES = {
    "NoCredentialsError": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
    "PartialCredentialsError": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
    "FileNotFoundError": "create the bucket, or correct the URL",
    "PermissionError": "ask for permission to list, read and write there, or use other credentials",
}
_ELSE = "fix that and run the same command again"


@dataclass(frozen=True)
class RemoteFile:
    """A file of a store: size in bytes, version, and modification time (ns, None if unknown)."""

    size: int
    version: str
    modified_ns: int | None


class ObjectStore:
    """The files below a URL, named by their relative path. Every method raises SnellenError in one line."""

    def __init__(self, url: str) -> None:
        self.url = plain_url(url)
        self._protocol = self.url.partition("://")[0].lower()
        with self._one_line():
            self._files, root = _filesystem(self.url, self._protocol)
            self._root = root.rstrip("/")

    @property
    def may_be_exclusive(self) -> bool:
        """True if stores of this kind can keep two writers apart (`create`)."""
        return self._protocol in _EXCLUSIVE

    def list(self, folder: str = "") -> dict[str, RemoteFile]:
        """All files of a folder below the URL; empty if there is no such folder."""
        with self._one_line():
            self._files.invalidate_cache()
            rows = self._files.find(self._path(folder), detail=True)
        prefix = f"{self._root}/"
        names = {path.removeprefix(prefix): row for path, row in rows.items() if path.startswith(prefix)}
        names = {name: row for name, row in names.items() if name and not name.endswith("/")}  # else a folder
        for name in names:
            if not _stays_inside(name):
                raise SnellenError(
                    f"{self.url}: contains a file named {name!r:.100}, which points outside the folder; remove it"
                )
        return {name: _remote_file(row) for name, row in names.items()}

    def stat(self, name: str) -> RemoteFile | None:
        """One file; None if it does not exist."""
        with self._one_line():
            self._files.invalidate_cache()
            try:
                return _remote_file(self._files.info(self._path(name)))
            except FileNotFoundError:
                return None

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        with self._one_line():
            raw: bytes = self._files.cat_file(self._path(name))
        return raw

    def write(self, name: str, raw: bytes) -> None:
        """Write a file, replacing an existing one."""
        with self._one_line():
            self._files.pipe_file(self._path(name), raw)

    def create(self, name: str, raw: bytes) -> bool:
        """Write a file if there is none. False, without writing, if there is one with other bytes."""
        with self._one_line():
            try:
                if self._protocol in ("file", "local"):
                    self._files.makedirs(self._path(name).rpartition("/")[0], exist_ok=True)
                    with self._files.open(self._path(name), "xb") as file:
                        file.write(raw)
                else:
                    self._files.pipe_file(self._path(name), raw, mode="create")
            except OSError:  # of several kinds; a repeated call may meet its own file
                if not self._files.exists(self._path(name)):
                    raise
                return bool(self._files.cat_file(self._path(name)) == raw)
        return True

    def download(self, targets: Mapping[str, Path]) -> None:
        """Write files to local paths, several at a time."""
        with self._one_line():
            self._files.get([self._path(name) for name in targets], [str(path) for path in targets.values()])

    def upload(self, sources: Mapping[str, Path]) -> None:
        """Write local files, given by their new names, several at a time."""
        with self._one_line():
            self._files.put([str(path) for path in sources.values()], [self._path(name) for name in sources])

    def delete(self, names: Sequence[str]) -> None:
        """Delete files, ignoring missing ones."""
        with self._one_line():
            for name in names:
                if self._files.exists(self._path(name)):
                    self._files.rm_file(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    @contextmanager
    def _one_line(self) -> Iterator[None]:
        try:
            yield
        except SnellenError:
            raise
        except ImportError as error:
            raise SnellenError(
                f"{self.url}: {short_reason(str(error), 100)}; for s3:// that is {install_command('remote')}"
            ) from error
        except Exception as error:  # kinds of errors differ between stores
            kind = type(error).__name__
            reason = short_reason(str(error) or kind, 200).rstrip(". ")
            raise SnellenError(f"{self.url}: {reason}; {_REMEDIES.get(kind, _ELSE)}") from error


def _filesystem(url: str, protocol: str) -> tuple[Any, str]:
    try:
        from fsspec.config import conf
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise SnellenError(f"{url}: URLs need fsspec; {install_command('remote')}") from error
    options: dict[str, Any] = {}
    if protocol in ("s3", "s3a"):
        configured = conf.get("s3", {}).get("config_kwargs", {})
        options = {"config_kwargs": {**_S3_SETTINGS, **configured}, "use_listings_cache": False}
    if protocol in ("file", "local"):
        options = {"auto_mkdir": True}
    files, root = url_to_fs(url, **options)
    return files, str(root)


def _stays_inside(name: str) -> bool:
    steps = name.split("/")
    return not any(step in ("", ".", "..") for step in steps) and "\0" not in name and "\\" not in name


def _remote_file(row: Mapping[str, Any]) -> RemoteFile:
    size = int(row.get("size") or 0)
    mark = next((row[name] for name in _VERSIONS if row.get(name)), "")
    version = _nanoseconds(mark) or mark  # listings and single files may write times differently
    return RemoteFile(size, f"{version} {size}", next(filter(None, (_nanoseconds(row.get(t)) for t in _TIMES)), None))


def _nanoseconds(time: Any) -> int | None:
    if isinstance(time, datetime):
        return int(time.timestamp() * 1e9)
    return int(time * 1e9) if isinstance(time, int | float) else None
