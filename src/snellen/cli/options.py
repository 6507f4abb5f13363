"""Options shared by several commands."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Seed = Annotated[int, typer.Option(help="Random seed.")]
Full = Annotated[bool, typer.Option("--full", help="Use the paper's size.")]
Renderer = Annotated[str, typer.Option(help="mitsuba, or toy (flat shading, for quick tests).")]
Quality = Annotated[str, typer.Option(help="Rendering quality of mitsuba: fast, good or reference.")]
Device = Annotated[str, typer.Option(help="Device: cpu, cuda, cuda:1 …")]
Subjects = Annotated[
    list[str], typer.Option("--subject", "-s", help="Subject to examine, e.g. chat:openai/gpt-4o. Repeatable.")
]
OneCondition = Annotated[str, typer.Option("--condition", help="Condition, e.g. sheet=single,prompt=short.")]
Inputs = Annotated[
    list[str], typer.Option("--input", help="NAME=RUN or NAME=FILE: a table that a condition uses, e.g. boxes=RUN.")
]
TrainingItems = Annotated[str, typer.Option("--items", help="Item set with training items, or a suite.")]
FormerDecide = Annotated[str, typer.Option("--decide", hidden=True)]
MaxItems = Annotated[int, typer.Option(min=1, help="Most items asked of a task with --until-decided.")]
Workers = Annotated[int | None, typer.Option(help="Number of processes. Default: one per core.")]

Executor = Annotated[
    str,
    typer.Option("--executor", help="Where to run: local, or ray (RAY_ADDRESS, or a cluster on this machine)."),
]


def cores(workers: int | None) -> int:
    """The number of workers, by default one per core available to this process."""
    from snellen.compute import cores as available

    return workers or available()


def is_until_decided(former: str) -> bool:
    """True for `--decide none`, the former spelling of `--until-decided`. Raises SnellenError for other values."""
    if former not in ("", "none"):
        from snellen.core.errors import SnellenError

        raise SnellenError(f"--decide {former}: was removed; use --until-decided, or ask all items for a finer grade")
    if former:
        print("snellen: --decide none is now --until-decided", file=sys.stderr)
    return bool(former)


def read_balance(name: str | None) -> Literal["paper", "answers"] | None:
    """The value of `--balance`, None if it is not given. Raises SnellenError for an unknown one.

    Recipes record `uniform` as "answers", its former name, which is still accepted.
    """
    from snellen.core.condition import near
    from snellen.core.errors import SnellenError

    if name is None:
        return None
    if name not in ("paper", "uniform", "answers"):
        raise SnellenError(f"--balance {name!r}: {near(name, ['paper', 'uniform'])}")
    return "paper" if name == "paper" else "answers"


def named_paths(option: str, written: list[str]) -> dict[str, Path]:
    """Paths by name, from `NAME=PATH`. Raises SnellenError for other forms, repeated names and missing paths."""
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
    """Settings by name, from `NAME=VALUE`. Raises SnellenError for other forms, and unknown names and values."""
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
