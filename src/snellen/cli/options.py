"""Options shared by several commands."""

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Seed = Annotated[int, typer.Option(help="Random seed.")]
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
Workers = Annotated[int | None, typer.Option(help="Number of processes. Default: one per core.")]


def cores(workers: int | None) -> int:
    """The number of workers, by default one per core available to this process."""
    from snellen.compute import cores as available

    return workers or available()
