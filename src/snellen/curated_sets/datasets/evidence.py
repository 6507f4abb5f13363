"""Evidence for a dataset's layout: its publisher's listing, or public loaders that agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias
from urllib.parse import quote, urlsplit

Verification: TypeAlias = Literal["listing", "loaders", "assumed"]
"""The source of a layout: a listing by its publisher, at least two public loaders, or neither."""
HUBS = frozenset({"github.com", "huggingface.co", "gitlab.com"})
"""Hosts with many publishers, which the first parts of a path identify."""


@dataclass(frozen=True)
class Evidence:
    """A public page or file that was read, and the facts it shows about a dataset.

    `listing`: the dataset's publisher names folders, files, columns or classes; `loader`: code or notes of others who
    read the dataset. `url` is an address; for code, that of the commit that was read if known.
    """

    kind: Literal["listing", "loader"]
    url: str
    statement: str

    @property
    def publisher(self) -> str:
        """The author of the page: the owner and name of a repository, else the host."""
        parts = urlsplit(self.url)
        path = parts.path.removeprefix("/datasets").strip("/").split("/")
        return "/".join([parts.netloc, *path[:2]]) if parts.netloc in HUBS else parts.netloc


def listing(url: str, statement: str) -> Evidence:
    """Evidence from the dataset's publisher."""
    return Evidence("listing", url, statement)


def loader(url: str, statement: str) -> Evidence:
    """Evidence from others who read the dataset."""
    return Evidence("loader", url, statement)


def github(repository: str, path: str, commit: str = "HEAD") -> str:
    """The address of a file: owner/name of the repository, the file's path, and the commit (HEAD if unknown)."""
    return f"https://github.com/{repository}/blob/{commit}/{quote(path)}"


def verification_fault(verified: Verification, evidence: tuple[Evidence, ...], caveat: str) -> str:
    """The part of the claim `verified` that the evidence does not support; "" if there is none."""
    kinds = [entry.kind for entry in evidence]
    readers = {entry.publisher for entry in evidence if entry.kind == "loader"}
    if verified == "listing" and "listing" not in kinds:
        return "verified by a listing, but none is given"
    if verified == "loaders" and len(readers) < 2:
        return f"verified by loaders, but from {len(readers)} publishers; give two"
    if verified == "assumed" and not caveat:
        return "assumed, but no reason is given"
    return ""
