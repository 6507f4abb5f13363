"""How commands print."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


def console() -> Console:
    """As wide as the terminal, or as COLUMNS says; a pipe or a file has no width, and gets enough for the names."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 120)


def print_json(content: Any) -> None:
    """One JSON object on one line."""
    print(json.dumps(content, default=int))
