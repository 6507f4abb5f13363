"""Options that several commands have."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Optional

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Workers = Annotated[Optional[int], typer.Option(help="Number of processes. Default: one per core.")]  # noqa: UP045  # read at run time

Executor = Annotated[
    str,
    typer.Option("--executor", help="Where to run: local, or ray (RAY_ADDRESS, or a cluster on this machine)."),
]

Lenient = Annotated[
    bool, typer.Option("--lenient", help="Accept released answers in a different notation (reading=lenient).")
]


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


def read_settings(written: list[str], known: Mapping[str, tuple[str, ...]], recipe: str) -> dict[str, str]:
    """The settings written as NAME=VALUE. Raises SnellenError for what the recipe does not have."""
    from snellen.core.condition import refuse_unknown
    from snellen.core.errors import SnellenError

    settings: dict[str, str] = {}
    for pair in written:
        name, equals, value = pair.partition("=")
        if not known:
            raise SnellenError(f"--set {pair!r}: {recipe} has no settings")
        refuse_unknown([name], known, f"--set {pair!r}: {recipe} has no setting")
        if not equals or name in settings:
            raise SnellenError(f"--set {pair!r}: write NAME=VALUE, each name once")
        refuse_unknown([value], known[name], f"--set {pair!r}: {name} cannot be")
        settings[name] = value
    return settings
