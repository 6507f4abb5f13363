"""Texts that are kept to be compared: `SNELLEN_WRITE_GOLDENS=1` writes them anew.

Do so only where words or numbers are meant to change, and say why in the commit.
"""

from __future__ import annotations

import os
from difflib import unified_diff
from pathlib import Path

FOLDER = Path(__file__).parent / "texts"


def assert_golden(name: str, text: str) -> None:
    """The text equals the golden of this name."""
    path = FOLDER / name
    if os.environ.get("SNELLEN_WRITE_GOLDENS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    changes = [*unified_diff(path.read_text("utf-8").splitlines(), text.splitlines(), "golden", "now", "", "", 0, "")]
    assert not changes, "\n".join(changes[:100])
