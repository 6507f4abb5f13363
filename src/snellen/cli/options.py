"""Options that several commands have."""

import os
from pathlib import Path
from typing import Annotated, Literal, Optional

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Workers = Annotated[Optional[int], typer.Option(help="Processes; default: one a core.")]  # noqa: UP045  # read at run time


def cores(workers: int | None) -> int:
    """So many, or one a core that this process may use."""
    return workers or len(os.sched_getaffinity(0))


def read_balance(name: str) -> Literal["paper", "answers"]:
    """Whose frequencies answers have. Raises SnellenError for another word."""
    from snellen.core.condition import near
    from snellen.core.errors import SnellenError

    if name not in ("paper", "answers"):
        raise SnellenError(f"--balance {name!r}: {near(name, ['paper', 'answers'])}")
    return "answers" if name == "answers" else "paper"


def named_paths(option: str, written: list[str]) -> dict[str, Path]:
    """`NAME=PATH` as given to an option, by name. Raises SnellenError for other forms, repeated names, lost paths."""
    from snellen.core.errors import SnellenError

    paths: dict[str, Path] = {}
    for pair in written:
        name, equals, path = pair.partition("=")
        if not equals or not name or not path:
            raise SnellenError(f"{option} {pair!r}: write NAME=PATH")
        if not Path(path).exists():
            raise SnellenError(f"{option} {pair!r}: {path} does not exist")
        if name in paths:
            raise SnellenError(f"{option} {pair!r}: {name} is {paths[name]} already; give each name once")
        paths[name] = Path(path)
    return paths
