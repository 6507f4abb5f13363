"""The mapping between URLs and local folders."""

from __future__ import annotations

import re
from pathlib import Path

from snellen.core.errors import SnellenError
from snellen.core.hashing import sha256
from snellen.core.storage.home import home

_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_HOST = re.compile(r"[^@:]*(:\d*)?|\[[^@]*\](:\d*)?")
"""A colon without a port follows a user name; keys may hold a slash, so that the @ comes later."""
FILES = "files"
"""The folder of a local copy with the URL's files."""
ADDRESS = "url.txt"


def is_url(address: str | Path) -> bool:
    """True for the URL of a folder, such as `s3://bucket/runs/first`; false for a path."""
    return isinstance(address, str) and _URL.match(address) is not None


def plain_url(address: str) -> str:
    """The URL without a slash at its end.

    Raises SnellenError for a URL with credentials, since URLs are written into cards and messages, for one that fsspec
    would chain, and for one with `..`.
    """
    scheme, _, rest = address.partition("://")
    host = rest.split("/", 1)[0]
    if _HOST.fullmatch(host) is None or "?" in rest or "#" in rest:
        raise SnellenError(
            f"{scheme}://…: a URL is written into cards, so it may hold no user, key or query; give credentials in the "
            "environment or the configuration of fsspec (docs/remote.md)"
        )
    if "::" in address or ".." in rest.split("/"):
        raise SnellenError(f"{address}: write the URL of one folder, without :: and ..")
    if not rest.strip("/"):
        raise SnellenError(f"{address}: names no folder; write e.g. {scheme}://bucket/runs/first")
    return address.rstrip("/")


def copies_folder() -> Path:
    """The folder of local copies."""
    return home() / "remote"


def copy_folder(url: str) -> Path:
    """The folder of the local copy of a URL; its files are in the subfolder `FILES`."""
    return copies_folder() / sha256(plain_url(url).encode("utf-8", "surrogateescape"))[:16]


def address_of(folder: Path) -> str:
    """The URL of a local copy or of a folder in it; the unchanged path of any other folder."""
    path, copies = folder.resolve(), copies_folder().resolve()
    if not path.is_relative_to(copies):
        return str(folder)
    key, *inside = path.relative_to(copies).parts
    if inside[:1] != [FILES] or (url := _url_of(copies / key)) is None:
        return str(folder)
    return "/".join([url, *inside[1:]])


def name_of(folder: Path) -> str:
    """The last part of a folder's address."""
    return address_of(folder).rstrip("/").rpartition("/")[2]


def with_urls(text: str) -> str:
    """The text with paths of local copies replaced by their URLs."""
    copies = re.escape(str(copies_folder()))
    return re.sub(rf"{copies}/([0-9a-f]{{16}})/{FILES}(?![\w.-])", _named_url, text)


def _named_url(match: re.Match[str]) -> str:
    return _url_of(copies_folder() / match[1]) or match[0]


def _url_of(copy: Path) -> str | None:
    try:
        return (copy / ADDRESS).read_text("utf-8")
    except OSError:
        return None
