"""`snellen contamination`: signs that a subject was trained on the public item set."""

from __future__ import annotations

import math
from dataclasses import asdict

from snellen.analysis.cells import DASH, number, with_interval
from snellen.analysis.changes import plain
from snellen.analysis.contamination import SIGN, UNTESTED, Advantage
from snellen.analysis.contamination import advantages as compare
from snellen.analysis.run_view import arm_name, main_metric
from snellen.analysis.section import Run
from snellen.cli.output import console, print_json
from snellen.exam.compare import run_of_subject
from snellen.scoring.power import POWER


def contamination(public: str, sealed: str, as_json: bool) -> None:
    """Compare a subject's run about a public set with its run about a sealed one, and print a verdict."""
    runs = run_of_subject(public), run_of_subject(sealed)
    rows = compare(*runs)
    if as_json:
        lines = [{name: plain(cell) for name, cell in asdict(row).items()} for row in rows]
        print_json({"subject": runs[0].card.arms[0].subject, "verdict": verdict(rows, runs[0]), "rows": lines})
        return
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("", overflow="fold", min_width=12)
    for head in ("public", "sealed", "advantage", "p", "detects"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("")
    for row in rows:
        metric = main_metric(runs[0], row.task)
        scores = (number(row.public, metric, row.n_public), number(row.sealed, metric, row.n_sealed))
        p = DASH if row.verdict == UNTESTED else f"{row.p:.3f}"
        cells = (*scores, escape(_advantage(row, runs[0])), p, _in_units(row.detectable, row, runs[0]), row.verdict)
        table.add_row(escape(arm_name(row.task, row.condition)), *cells)
    screen = console(100)
    screen.print(table)
    screen.print(verdict(rows, runs[0]), highlight=False, markup=False)


def verdict(advantages: list[Advantage], run: Run) -> str:
    """The verdict in sentences, with the differences that could have been detected."""
    if signs := [arm_name(row.task, row.condition) for row in advantages if row.verdict == SIGN]:
        return (
            f"A sign of training on the public set, or of tuning on it: better there in {', '.join(signs)} "
            "(p < 0.05, one-sided, corrected for all tests)."
        )
    tested = [row for row in advantages if row.verdict != UNTESTED]
    if not tested:
        return "Not tested: no score has an interval. Examine more items."
    named = [f"{_detectable(row, run)} in {arm_name(row.task, row.condition)}" for row in tested]
    return (
        f"No sign of training on the public set. With a power of {POWER:.0%} the test finds {', '.join(named)}. "
        "Smaller advantages remain possible."
    )


def _detectable(advantage: Advantage, run: Run) -> str:
    if math.isinf(advantage.detectable):
        return "none (too few items)"
    is_share = main_metric(run, advantage.task).share
    return (
        f"{_in_units(advantage.detectable, advantage, run)} points"
        if is_share
        else _in_units(advantage.detectable, advantage, run)
    )


def _advantage(advantage: Advantage, run: Run) -> str:
    ends = [_in_units(value, advantage, run, "+") for value in (advantage.difference, advantage.low, advantage.high)]
    return ends[0] if advantage.verdict == UNTESTED else with_interval(*ends)


def _in_units(value: float, advantage: Advantage, run: Run, sign: str = "") -> str:
    """A difference in points for shares, else in the unit of the metric."""
    metric = main_metric(run, advantage.task)
    if value != value:
        return DASH
    if math.isinf(value):
        return "none"
    return f"{100 * value:{sign}.0f}" if metric.share else f"{value:{sign}.{metric.decimals}f}"
