"""`snellen diff`: changes from one subject to another, e.g. for monitoring a model in CI."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from snellen.analysis.comparison.changes import changes, plain_changes
from snellen.analysis.comparison.log_changes import LogRanks, log_changes, log_ranks, plain_log_changes
from snellen.analysis.comparison.unpaired import is_undecided, unpaired_changes
from snellen.analysis.comparison.verdicts import DROPPED, MOVED, ROSE, TOO_FEW, Comparison, plain
from snellen.analysis.tables.cells import DASH, number
from snellen.analysis.tables.run_view import arm_name, lines_of, main_metric
from snellen.analysis.tables.section import Run
from snellen.cli.output import console, print_json
from snellen.core.errors import SnellenError
from snellen.core.score import Metric
from snellen.core.storage.files import write_text
from snellen.exam.compare import run_of_subject
from snellen.exam.verification import read_apart
from snellen.interop.log_files import are_logs, read_logs
from snellen.reports.changes_page import (
    NO_DROP,
    change_lines,
    detection,
    names_of,
    render_changes,
    render_logs,
    shortages,
)
from snellen.reports.words import probability

if TYPE_CHECKING:
    from rich.table import Table

DROPPED_CODE = 4
"""Exit code with --fail-on drop if an ability or a task dropped."""
INCOMPLETE_CODE = 1
"""Exit code with --fail-on drop if none dropped, but items could not be compared, or are too few for --least-drop."""


def diff(
    former: str, current: str, fail_on: str | None, margin: float | None, out: Path, as_json: bool,
    more: Sequence[str] = (), read: bool = False,
) -> None:  # fmt: skip
    """Compare two runs, or logs of other tools; write the page, print, and exit by `fail_on`."""
    if fail_on not in (None, "drop"):
        raise SnellenError(f"--fail-on {fail_on!r}: only 'drop' is supported")
    if margin is not None and not (fail_on and 0 < margin <= 100):
        raise SnellenError(f"--least-drop {margin:g}: give points above 0 and up to 100, and --fail-on drop beside it")
    if are_logs([former, current, *more]):
        return _diff_logs([former, current, *more], fail_on, margin, read, out, as_json)
    if more or read:
        raise SnellenError(f"{[*more, '--read'][0]}: more than two, and --read, are for logs of other tools")
    runs = run_of_subject(former), run_of_subject(current)
    if not runs[0].has_items_of(runs[1]):
        return _print_unpaired(*runs, fail_on, margin, as_json)
    compared = changes(*runs, margin=margin and margin / 100)
    write_text(out, render_changes(compared))
    if as_json:
        print_json({**plain_changes(compared), "page": str(out)})
    else:
        print("".join(f"{line}\n" for line in read_apart(root for run in runs for root in run.roots)), end="")
        _print(compared, out, fail_on is not None)
    return _guard(fail_on, compared.names(DROPPED), compared.unpaired_items.total or compared.undetectable)


def _guard(fail_on: str | None, dropped: object, undecided: object) -> None:
    """Exit as a guard does, if one was asked for."""
    if fail_on and (dropped or undecided):
        raise typer.Exit(DROPPED_CODE if dropped else INCOMPLETE_CODE)


def _table(*heads: str) -> Table:
    """A table of names, and of numbers under these heads, which rich cuts if it must."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("", overflow="fold", min_width=12)
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    return table


def _print_unpaired(first_run: Run, second_run: Run, fail_on: str | None, margin: float | None, as_json: bool) -> None:
    """Print the changes between two sets of one recipe, and exit as a guard does."""
    from rich.markup import escape

    rows = unpaired_changes(first_run, second_run)
    title = first_run.suite.card.task_title
    dropped = [arm_name(title(row.task), row.condition) for row in rows if row.verdict == DROPPED]
    undecided = [
        f"{arm_name(title(row.task), row.condition)} ({row.verdict})" for row in rows
        if row.verdict != DROPPED and is_undecided(row, first_run, margin and margin / 100)
    ]  # fmt: skip
    if as_json:
        plain_rows = [{name: plain(cell) for name, cell in asdict(row).items()} for row in rows]
        print_json({"rows": plain_rows, "undecided": undecided})
    else:
        table = _table("before", "after", "change", "95 %\ninterval", "p", "detects")
        for row in rows:
            metric = main_metric(first_run, row.task)
            scores = number(row.before, metric, row.n_before), number(row.after, metric, row.n_after)
            change, low, high, least = (
                signed(end, metric) for end in (row.difference, row.low, row.high, row.detectable)
            )
            cells = *scores, change, escape(f"[{low}, {high}]"), probability(row.p), least.lstrip("+")
            table.add_row(escape(f"{arm_name(title(row.task), row.condition)}\n{row.verdict}"), *cells)
        screen = console(80)
        screen.print(table)
        screen.print(
            "The items differ, so the scores are compared, not pairs of answers. A subject that does worse on a sealed "
            "set than on a public one of the same recipe may have been trained or tuned on the public one."
        )
        if dropped:
            screen.print(f"[red]Dropped: {escape('; '.join(dropped))}[/]", highlight=False)
        if undecided:
            screen.print(f"A drop may be missed: {escape('; '.join(undecided))}", highlight=False)
    _guard(fail_on, dropped, undecided)


def signed(change: float, metric: Metric) -> str:
    """A change in points for shares, otherwise in the unit of the metric, with its sign; `NO_DROP` if infinite."""
    if not math.isfinite(change):
        return DASH if math.isnan(change) else NO_DROP
    return f"{100 * change:+.0f}" if metric.share else f"{change:+.{metric.decimals}f}"


def _print(compared: Comparison, out: Path, is_guard: bool) -> None:
    from rich.markup import escape

    table = _table("before", "after", "change", "95 %\ninterval", "p", "n", "detects")
    colours = {DROPPED: "red", ROSE: "green", MOVED: "yellow"}
    lines = change_lines(compared)
    for line in lines:
        verdict = f"\n[{colours[line.verdict]}]{line.verdict}[/]" if line.verdict in colours else ""
        grades = " → ".join(dict.fromkeys(filter(None, (line.grade_before, line.grade_after))))
        cells = (line.before, line.after, line.difference, escape(line.span), line.p, str(line.n), line.detectable)
        table.add_row(escape(line.name) + verdict + (f"\n[dim]{grades}[/]" if grades else ""), *cells)
    screen = console(80)
    before, after = map(escape, compared.subjects)
    if before != after:
        screen.print(f"before: {before}; after: {after}", highlight=False)
    screen.print(table)
    if compared.is_own:
        screen.print("Tested by image: p is one-sided, in the direction of the change.")
    for line in filter(lambda line: line.classes, lines):
        screen.print(f"For new classes, {escape(line.name)}: {escape(line.classes)}.", highlight=False)
    worse = sum(not flip.is_better for flip in lines_of(compared.flips))
    screen.print(f"{compared.pairs} answers paired; {worse} flipped to worse, {len(compared.flips) - worse} to better.")
    missing = compared.unpaired_items
    if missing.total:
        screen.print(
            f"{missing.total} items unpaired: {missing.only_before} scored only before, {missing.only_after} only "
            f"after, {missing.neither} in neither."
        )
    for note in compared.notes:
        screen.print(escape(note), highlight=False)
    if compared.left_out:
        screen.print(f"No pairs in {escape(', '.join(compared.left_out))}.")
    for word, verdict in (("Dropped", DROPPED), ("Rose", ROSE), ("Moved", MOVED)):
        if names := names_of(compared, verdict):
            screen.print(f"[{colours[verdict]}]{word}: {escape('; '.join(names))}[/]", highlight=False)
    if few := [line.name for line in lines if line.verdict == TOO_FEW]:
        screen.print(f"Too few clusters for a test: {escape(', '.join(few))}.")
    if not compared.names(DROPPED):
        screen.print(escape(detection(compared)), highlight=False)
    for sentence in shortages(compared) if is_guard else ():
        screen.print(f"[red]{escape(sentence)}[/]", highlight=False)
    screen.print(f"Page: {out}", soft_wrap=True)


def _diff_logs(
    addresses: list[str], fail_on: str | None, margin: float | None, read: bool, out: Path, as_json: bool
) -> None:
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
        _print(compared, out, fail_on is not None)
        for word, names in (("Lost", lost), ("May have lost", undecided)) if margin else ():
            if names:
                console(80).print(f"{word} more than {margin:g} points: {', '.join(names)}", markup=False)
    return _guard(fail_on, lost, undecided or compared.unpaired_items.total)


def _print_ranks(ranks: LogRanks) -> None:
    """Print ranks by task, and the pairs of the last one, which is that of all items."""
    from rich.markup import escape

    screen, table = console(80), _table("score", "rank", "interval", "n")
    for row in lines_of(ranks.ranks):
        rank = f"{row.rank:g}", escape(f"[{row.low:g}, {row.high:g}]")
        table.add_row(escape(f"{row.task}: {row.log}"), f"{100 * row.score:.1f} %", *rank, str(row.n))
    screen.print(table)
    pairs = _table("difference", "interval", "p")
    for row in lines_of(ranks.table[ranks.table["task"] == ranks.table["task"].iloc[-1]]):
        ends = escape(f"[{100 * row.low:+.1f}, {100 * row.high:+.1f}]")
        name = escape(f"{row.first} - {row.second}") + ("\n[green]clear[/]" if row.clear else "")
        pairs.add_row(name, f"{100 * row.difference:+.1f}", ends, probability(row.p_holm))
    screen.print(pairs)
    screen.print("Intervals are at 95 % for all pairs together; p is corrected by Holm. Ranks: 1 is the best.")
    for note in ranks.notes:
        screen.print(note, markup=False)
