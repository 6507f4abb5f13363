"""The folder for files that can be made again: renders, features, generated item sets, past checks."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """`SNELLEN_HOME`, or `snellen` in the user's cache folder. Not created here."""
    folder = os.environ.get("SNELLEN_HOME")
    if folder:
        return Path(folder).expanduser().resolve()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "snellen"
