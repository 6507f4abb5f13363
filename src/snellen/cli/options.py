"""Options shared by several commands."""

import sys
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Seed = Annotated[int, typer.Option(help="Random seed.")]
Full = Annotated[bool, typer.Option("--full", help="Use the paper's size.")]
Renderer = Annotated[str, typer.Option(help="mitsuba, or toy (flat shading, for quick tests).")]
Quality = Annotated[str, typer.Option(help="Rendering quality of mitsuba: fast, good or reference.")]
DEVICES = "Device: cpu, cuda, cuda:1 …"
Device = Annotated[str, typer.Option(help=DEVICES)]
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
