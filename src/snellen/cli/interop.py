"""`snellen export`: item sets and results of runs for other tools."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from snellen.cli.output import print_json
from snellen.interop.exporting import export as write
from snellen.interop.result_files import export_results

RESULT_FORMATS = ("every-eval-ever", "hf-results")
"""Formats of `snellen export RUN`."""


def export(folder: Path, format_name: str, out: Path, condition: str, dataset: str, as_json: bool) -> None:
    """Write an item set under a condition, or the results of a run, and print what was written and left out."""
    if format_name in RESULT_FORMATS:
        paths = [str(path) for path in export_results(folder, format_name, out, dataset)]
        print_json({"out": str(out), "files": paths}) if as_json else print("\n".join(paths))
        return
    account = write(folder, format_name, out, condition)
    if as_json:
        print_json({"out": str(out), **asdict(account)})
        return
    exported = sum(account.exported.values())
    print(f"{out}: {exported} questions of {len(account.exported)} tasks as {format_name}, {account.condition}")
    for reason, count in account.left_out.items():
        print(f"  left out: {count} {reason}")
