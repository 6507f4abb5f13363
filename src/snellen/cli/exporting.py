"""`snellen export`: an item set in the format of another tool."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from snellen.cli.output import print_json
from snellen.interop.exporting import export as write


def export(itemset: Path, format_name: str, out: Path, condition: str, as_json: bool) -> None:
    """Write the export and say what it holds and what it leaves out."""
    account = write(itemset, format_name, out, condition)
    if as_json:
        print_json({"out": str(out), **asdict(account)})
        return
    exported = sum(account.exported.values())
    print(f"{out}: {exported} questions of {len(account.exported)} tasks as {format_name}, {account.condition}")
    for reason, count in account.left_out.items():
        print(f"  left out: {count} {reason}")
