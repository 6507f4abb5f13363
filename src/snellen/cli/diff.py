"""`snellen diff`: changes from one subject to another, e.g. for monitoring a model in CI."""

from __future__ import annotations

from pathlib import Path

import typer

from snellen.analysis.changes import DROPPED, ROSE, TOO_FEW, Changes, plain_changes, row_name
from snellen.analysis.run_view import lines_of
from snellen.cli.output import console, print_json
from snellen.core.errors import SnellenError
from snellen.exam.compare import compare
from snellen.reports.changes_page import change_lines, detection, shortages, write_changes_page

DROPPED_CODE = 4
"""Exit code with --fail-on drop if an ability or a task dropped."""
INCOMPLETE_CODE = 1
"""Exit code with --fail-on drop if none dropped, but items could not be compared, or are too few for --least-drop."""


def diff(former: str, current: str, fail_on: str | None, least_drop: float | None, out: Path, as_json: bool) -> None:
    """Compare, write the page, print, and exit by `fail_on`."""
    if fail_on not in (None, "drop"):
        raise SnellenError(f"--fail-on {fail_on!r}: only 'drop' is supported")
    if least_drop is not None and not (fail_on and 0 < least_drop <= 100):
        raise SnellenError(f"--least-drop {least_drop:g}: give points above 0 and up to 100, with --fail-on drop")
    compared = compare(former, current, least_drop=least_drop and least_drop / 100)
    write_changes_page(compared, out)
    if as_json:
        print_json({**plain_changes(compared), "page": str(out)})
    else:
        _print(compared, out, fail_on is not None)
    if fail_on and compared.names(DROPPED):
        raise typer.Exit(DROPPED_CODE)
    if fail_on and (compared.unpaired_items.total or compared.undetectable):
        raise typer.Exit(INCOMPLETE_CODE)


def _print(compared: Changes, out: Path, is_guard: bool) -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("", overflow="fold", min_width=12)
    for head in ("before", "after", "change", "95 %\ninterval", "p", "n", "detects"):  # rich cuts those, if it must
        table.add_column(head, justify="right", no_wrap=True)
    colours = {DROPPED: "red", ROSE: "green"}
    for line in change_lines(compared):
        verdict = f"\n[{colours[line.verdict]}]{line.verdict}[/]" if line.verdict in colours else ""
        grades = " → ".join(dict.fromkeys(filter(None, (line.grade_before, line.grade_after))))
        cells = (line.before, line.after, line.difference, escape(line.span), line.p, str(line.n), line.detectable)
        table.add_row(escape(line.name) + verdict + (f"\n[dim]{grades}[/]" if grades else ""), *cells)
    screen = console(80)
    screen.print(table)
    if compared.is_own:
        screen.print("Tested by image: p is one-sided, in the direction of the change.")
    for line in filter(lambda line: line.classes, change_lines(compared)):
        screen.print(f"For new classes, {escape(line.name)}: {escape(line.classes)}.", highlight=False)
    worse = sum(not flip.is_better for flip in lines_of(compared.flips))
    screen.print(f"{compared.pairs} answers paired; {worse} flipped to worse, {len(compared.flips) - worse} to better.")
    missing = compared.unpaired_items
    if missing.total:
        screen.print(
            f"{missing.total} items unpaired: {missing.only_before} scored only before, {missing.only_after} only "
            f"after, {missing.neither} in neither."
        )
    if compared.before.card.content_hash != compared.after.card.content_hash:
        screen.print("The items are the same, but their images were rendered twice: single pixels may differ.")
    if compared.left_out:
        screen.print(f"No pairs in {escape(', '.join(compared.left_out))}.")
    for word, verdict in (("Dropped", DROPPED), ("Rose", ROSE)):
        if names := compared.names(verdict):
            screen.print(f"[{colours[verdict]}]{word}: {escape('; '.join(names))}[/]", highlight=False)
    if few := [row_name(row) for row in lines_of(compared.table[compared.table["verdict"] == TOO_FEW])]:
        screen.print(f"Too few clusters for a test: {escape(', '.join(few))}.")
    if not compared.names(DROPPED):
        screen.print(detection(compared), highlight=False)
    for sentence in shortages(compared) if is_guard else ():
        screen.print(f"[red]{escape(sentence)}[/]", highlight=False)
    screen.print(f"Page: {out}", soft_wrap=True)
