"""Options that several commands have."""

from __future__ import annotations

import os
from typing import Annotated, Optional

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Workers = Annotated[Optional[int], typer.Option(help="Processes; default: one a core.")]  # noqa: UP045  # read at run time


def cores(workers: int | None) -> int:
    """So many, or one a core that this process may use."""
    return workers or len(os.sched_getaffinity(0))
