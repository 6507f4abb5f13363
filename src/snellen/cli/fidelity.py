"""`snellen fidelity`: which printed numbers of the papers follow from others."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import typer

from snellen.cli.output import console as new_console
from snellen.core.errors import SnellenError
from snellen.core.fidelity import PrintedNumber, verdict_counts
from snellen.core.suite import SuiteCard
from snellen.reports.fidelity import counts_line, fidelity_page, fidelity_table
from snellen.suites import SUITES

WIDTH = 80
"""Of the table where there is no terminal."""


def fidelity(suite: str | None, out: Path | None) -> None:
    """Print the table of one suite or all, write the page; exit code 1 where a mismatch is unexplained."""
    compared = list(_compared(suite))
    console = new_console(WIDTH)
    for card, numbers in compared:
        console.print(f"[bold]{card.name}[/]: {counts_line(numbers)}", highlight=False)
        console.print(fidelity_table(numbers))
    if out is not None:
        out.write_text(fidelity_page(compared), encoding="utf-8")
        print(out)
    unexplained = sum(verdict_counts(numbers)["unexplained mismatch"] for _, numbers in compared)
    if unexplained:
        print(f"snellen: {unexplained} printed numbers do not follow, for no known reason", file=sys.stderr)
        raise typer.Exit(1)


def _compared(name: str | None) -> Iterator[tuple[SuiteCard, list[PrintedNumber]]]:
    """The card and numbers of one suite, or of all that have a paper. Raises SnellenError for one that has none."""
    for suite in map(SUITES.get, [name] if name else SUITES):
        if suite.derived_numbers is not None:
            yield suite.card, list(suite.derived_numbers())
        elif name:
            raise SnellenError(f"snellen fidelity {name}: there is no paper; {', '.join(SUITES)} are the suites")
