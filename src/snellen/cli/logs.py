"""`snellen diff` of logs that other tools wrote."""

from __future__ import annotations

from pathlib import Path

import typer

from snellen.analysis.comparison.log_changes import LogRanks, log_changes, log_ranks, plain_log_changes
from snellen.analysis.comparison.verdicts import DROPPED
from snellen.analysis.tables.run_view import lines_of
from snellen.cli.diff import DROPPED_CODE, INCOMPLETE_CODE, plain_table, print_comparison
from snellen.cli.output import console, print_json
from snellen.core.errors import SnellenError
from snellen.core.storage.files import write_text
from snellen.interop.log_files import read_logs
from snellen.reports.changes_page import render_logs
from snellen.reports.words import probability


def diff_logs(
    addresses: list[str], fail_on: str | None, margin: float | None, read: bool, out: Path, as_json: bool
) -> None:
    """Compare logs, write the page of two, print, and exit by `fail_on`."""
    logs = read_logs(addresses)
    if len(logs) > 2:
        if fail_on:
            raise SnellenError("--fail-on drop compares two logs")
        ranks = log_ranks(logs, read=read)
        return print_json(ranks.plain()) if as_json else _print_ranks(ranks)
    compared = log_changes(logs[0], logs[1], margin=margin and margin / 100, read=read)
    write_text(out, render_logs(compared))
    lost, undecided = compared.beyond(margin / 100) if margin else (compared.names(DROPPED), [])
    if as_json:
        gate = {"lost": lost, "undecided": undecided} if margin else {}
        print_json({**plain_log_changes(compared), **gate, "page": str(out)})
    else:
        print_comparison(compared, out, fail_on is not None)
        for word, names in (("Lost", lost), ("May have lost", undecided)) if margin else ():
            if names:
                console(80).print(f"{word} more than {margin:g} points: {', '.join(names)}", markup=False)
    if fail_on and lost:
        raise typer.Exit(DROPPED_CODE)
    if fail_on and (undecided or compared.unpaired_items.total):
        raise typer.Exit(INCOMPLETE_CODE)
    return None


def _print_ranks(ranks: LogRanks) -> None:
    """Ranks by task, and the pairs of the last one, which is that of all items."""
    from rich.markup import escape

    screen, table = console(80), plain_table("score", "rank", "interval", "n")
    for row in lines_of(ranks.ranks):
        rank = f"{row.rank:g}", escape(f"[{row.low:g}, {row.high:g}]")
        table.add_row(escape(f"{row.task}: {row.log}"), f"{100 * row.score:.1f} %", *rank, str(row.n))
    screen.print(table)
    pairs = plain_table("difference", "interval", "p")
    for row in lines_of(ranks.table[ranks.table["task"] == ranks.table["task"].iloc[-1]]):
        ends = escape(f"[{100 * row.low:+.1f}, {100 * row.high:+.1f}]")
        name = escape(f"{row.first} - {row.second}") + ("\n[green]clear[/]" if row.clear else "")
        pairs.add_row(name, f"{100 * row.difference:+.1f}", ends, probability(row.p_holm))
    screen.print(pairs)
    screen.print("Intervals are at 95 % for all pairs together; p is corrected by Holm. Ranks: 1 is the best.")
    for note in ranks.notes:
        screen.print(note, markup=False)
