"""`snellen export` and `snellen import`: item sets for other tools, and logs of Inspect AI as runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import typer

from snellen.cli.asking import explain
from snellen.cli.finished import summary
from snellen.cli.output import console, print_json
from snellen.interop.exporting import export as write
from snellen.interop.inspect_import import LogImport, import_logs
from snellen.interop.result_files import export_results

RESULT_FORMATS = ("every-eval-ever", "hf-results")
"""Formats of `snellen export RUN`."""


def export(itemset: Path, format_name: str, out: Path, condition: str, as_json: bool) -> None:
    """Write the export, and print what it holds and leaves out."""
    account = write(itemset, format_name, out, condition)
    if as_json:
        print_json({"out": str(out), **asdict(account)})
        return
    exported = sum(account.exported.values())
    print(f"{out}: {exported} questions of {len(account.exported)} tasks as {format_name}, {account.condition}")
    for reason, count in account.left_out.items():
        print(f"  left out: {count} {reason}")


def results(run: Path, format_name: str, out: Path, dataset: str, as_json: bool) -> None:
    """Write the results of a run, and print the files."""
    paths = [str(path) for path in export_results(run, format_name, out, dataset)]
    if as_json:
        print_json({"out": str(out), "files": paths})
    else:
        print("\n".join(paths))


def import_inspect(logs: Sequence[Path], itemset: Path, out: Path, as_json: bool) -> None:
    """Write the run, and print what it holds. Exit code 1 if samples failed or are missing."""
    imported = import_logs(logs, itemset, out)
    run = summary(imported.examination, with_table=not as_json, with_rows=as_json)
    unasked = sum(run.unasked.values())
    if as_json:
        print_json(_plain(imported, unasked))
    else:
        if run.table is not None:
            console().print(run.table)
        explain(run)
        print(f"{out}: {run.responses} answers from {imported.logs} logs; {_agreement(imported)}")
    if run.failed or unasked:
        print(f"snellen: {run.failed} samples failed and are not scored, {unasked} are in no log", file=sys.stderr)
        raise typer.Exit(1)


def _plain(imported: LogImport, unasked: int) -> dict[str, object]:
    return {
        "run": str(imported.examination.root),
        "logs": imported.logs,
        "responses": len(imported.examination.responses),
        "failed": imported.examination.failed,
        "unasked": unasked,
        "scores_equal": imported.agreeing,
        "scores_different": imported.differing,
    }


def _agreement(imported: LogImport) -> str:
    if not imported.agreeing + imported.differing:
        return "no scores of Inspect to compare with"
    if not imported.differing:
        return f"all {imported.agreeing} scores of Inspect equal those of the run"
    return f"{imported.differing} of {imported.agreeing + imported.differing} scores of Inspect differ from the run's"
