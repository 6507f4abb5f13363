"""What a dataset's layout is known from: its publisher's listing, or public loaders that agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

Verification: TypeAlias = Literal["listing", "loaders", "assumed"]
"""How a layout is known: from a listing by its publisher, from two public loaders at least, or from neither."""
HUBS = frozenset({"github.com", "huggingface.co", "gitlab.com"})
"""Hosts of many publishers: who speaks is told by the first parts of a path."""


@dataclass(frozen=True)
class Evidence:
    """A public page or file that was read, and what it shows of a dataset.

    `listing`: the dataset's publisher names folders, files, columns or classes; `loader`: code or notes of others who
    read the dataset. `url` is an address, of code at the commit that was read where that is known.
    """

    kind: Literal["listing", "loader"]
    url: str
    statement: str

    @property
    def publisher(self) -> str:
        """Whose word it is: the owner and name of a repository, else the host."""
        parts = urlsplit(self.url)
        path = [part for part in parts.path.split("/") if part and part != "datasets"]
        return "/".join([parts.netloc, *path[:2]]) if parts.netloc in HUBS else parts.netloc


def listing(url: str, statement: str) -> Evidence:
    """Evidence by the dataset's publisher."""
    return Evidence("listing", url, statement)


def loader(url: str, statement: str) -> Evidence:
    """Evidence by somebody who reads the dataset."""
    return Evidence("loader", url, statement)


def github(repository: str, path: str, commit: str = "HEAD") -> str:
    """The address of a file: owner/name of the repository, the file's path, and the commit (HEAD: not known)."""
    return f"https://github.com/{repository}/blob/{commit}/{path}"


def verification_fault(verified: Verification, evidence: tuple[Evidence, ...], caveat: str) -> str:
    """What `verified` claims and the evidence does not bear out; "" where it does."""
    kinds = [entry.kind for entry in evidence]
    readers = {entry.publisher for entry in evidence if entry.kind == "loader"}
    if verified == "listing" and "listing" not in kinds:
        return "verified by a listing, and none is named"
    if verified == "loaders" and len(readers) < 2:
        return f"verified by loaders, and they are of {len(readers)} publishers: name two"
    if verified == "assumed" and not caveat:
        return "assumed, and no reason is given"
    return ""
