"""`snellen estimate`: the costs of a study, as a table of at most 80 columns or one JSON object."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from snellen.cli.building import size_of
from snellen.cli.options import cores as cores_of
from snellen.cli.output import console, print_json
from snellen.compute.progress import duration
from snellen.core.errors import SnellenError
from snellen.core.suite import BuildOptions
from snellen.exam.estimate import Machines, RemoteService, StudyEstimate, StudyStep, estimate_study, rounded

PRICE_FORM = "write IN,OUT, the prices per million tokens, e.g. 2.5,10"


def estimate(
    itemsets: list[str],
    subjects: list[str],
    conditions: list[str],
    *,
    workers: int | None,
    cores: int | None,
    machines: int,
    latency: float,
    price: str | None,
    size: str | None,
    stated: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Estimate and print; `given` are fields of `BuildOptions`."""
    count = cores_of(cores)
    price_in, price_out = _prices(price)
    options = BuildOptions(
        Path(),
        size=size_of(size, "generated") if size else None,
        workers=workers or count,
        show_progress=False,
        **given,
    )
    study = estimate_study(
        itemsets, subjects, conditions, options, Machines(machines, count, options.workers),
        RemoteService(latency, price_in, price_out), stated=stated,
    )  # fmt: skip
    if as_json:
        print_json(_plain(study))
    else:
        _print(study)


def _prices(written: str | None) -> tuple[float | None, float | None]:
    if written is None:
        return None, None
    try:
        price_in, price_out = map(float, written.split(","))
    except ValueError as error:
        raise SnellenError(f"--price {written!r}: {PRICE_FORM}") from error
    if not (0 <= price_in < math.inf and 0 <= price_out < math.inf):
        raise SnellenError(f"--price {written!r}: {PRICE_FORM}")
    return price_in, price_out


def _plain(study_plan: StudyEstimate) -> dict[str, Any]:
    return {
        "steps": [rounded(step) for step in study_plan.steps],
        "total": study_plan.total(),
        "bottleneck": rounded(study_plan.bottleneck) if study_plan.steps else None,
        "assumptions": list(study_plan.assumptions),
    }


def _print(study_plan: StudyEstimate) -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("", "count", "CPU", "clock", "disk", "money"):
        table.add_column(head, justify="right" if head else "left", overflow="fold", no_wrap=bool(head))
    for step in study_plan.steps:
        table.add_row(escape(_name(step)), f"{step.count:,} {step.unit}", duration(step.cpu_s), duration(step.wall_s),
                      _size(step.bytes), _money(step.money))  # fmt: skip
    total = study_plan.total()
    table.add_section()
    table.add_row("all", "", duration(total["cpu_s"]), duration(total["wall_s"]), _size(total["bytes"]),
                  _money(total["money"]))  # fmt: skip
    screen = console(80)
    screen.print(table)
    if study_plan.steps:
        screen.print(f"Longest: {escape(_name(study_plan.bottleneck))}, {duration(study_plan.bottleneck.wall_s)}.")
    screen.print("Assumed:")
    for line in study_plan.assumptions:
        screen.print(f"- {escape(line)}", highlight=False)


def _name(step: StudyStep) -> str:
    return f"{step.kind} {step.name}"


def _size(count: int) -> str:
    return "" if not count else f"{count / 1e6:.1f} MB" if count < 1e9 else f"{count / 1e9:.1f} GB"


def _money(amount: float | None) -> str:
    return "?" if amount is None else f"{amount:.2f}" if amount else ""
