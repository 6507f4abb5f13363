"""The files of a bundle that participants receive, for any transport."""

from __future__ import annotations

import os
from pathlib import Path

from snellen.web.study import PLAN, SCRIPT

INDEX = "index.html"
"""The page itself, which is made for each transport and so not among these files."""
FOLDERS = ("media", "page", "vendor")
LICENCE = "LICENSE"
MEDIA_TYPES = {
    "": "text/plain; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".jpg": "image/jpeg",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mp4": "video/mp4",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webm": "video/webm",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
"""Media types by suffix; licences have none."""


def bundle_files(bundle: Path) -> dict[str, Path]:
    """The public files of a bundle by path: the plan, and files of the media, page and vendor folders.

    Only file types that pages use and licences, without links and hidden files.
    """
    names = {name: bundle / name for name in (PLAN, SCRIPT)}
    for folder in FOLDERS:
        for root, folders, file_names in os.walk(bundle / folder, followlinks=False):
            folders[:] = [name for name in folders if not name.startswith(".")]
            paths = [Path(root) / name for name in file_names if not name.startswith(".")]
            names |= {path.relative_to(bundle).as_posix(): path for path in paths}
    return {
        name: path
        for name, path in names.items()
        if path.is_file()
        and path.suffix in MEDIA_TYPES
        and (path.suffix or path.name == LICENCE)
        and path.resolve() == bundle.resolve() / name
    }
