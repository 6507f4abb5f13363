"""`snellen sources`: the real datasets that are known, and what of them lies on this machine."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from snellen.sources.reading import Inventory, SourceCard

app = typer.Typer(help="Real datasets: what is known of them, and what lies on this machine.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


@app.command("list")
def list_(as_json: Json = False) -> None:
    """List the datasets: industry, level, licence, layout, and whether real files were ever read."""
    from snellen.sources import SOURCES

    cards = [SOURCES.get(name).card for name in SOURCES]
    if as_json:
        print(json.dumps({card.name: {**asdict(card), "verified": _verified(card)} for card in cards}))
        return
    for card in cards:
        print(f"{card.name}: {card.industry}, {card.level} level, {card.licence}, {_verified(card)}\n    {card.layout}")


@app.command()
def check(
    root: Annotated[Path, typer.Option(help="Folder with one folder a source, or with sources.yaml.")],
    name: Annotated[list[str], typer.Argument(help="Sources; default: all, those that are not there too.")] = [],  # noqa: B006
    as_json: Json = False,
) -> None:
    """Say what was found, what is missing and where it belongs. Exit code 2 where a named source is not whole."""
    from snellen.compute.progress import Progress
    from snellen.sources import SOURCES
    from snellen.sources.folders import find_folders

    sources = {one: SOURCES.get(one) for one in name or SOURCES}
    folders = find_folders(root)
    told: dict[str, Inventory] = {}
    for one, source in sources.items():
        with Progress(f"Looking at {one}", unit="pictures", shown=not as_json) as progress:
            progress.expect(source.card.pictures)
            told[one] = source.check(folders[one], progress.advance)
        if not as_json:
            _print(told[one], source.card)
    if as_json:
        print(json.dumps({one: _plain(inventory) for one, inventory in told.items()}))
    if name and any(inventory.state != "whole" for inventory in told.values()):
        raise typer.Exit(2)


def _verified(card: SourceCard) -> str:
    return "verified" if card.verified else "unverified"


def _plain(inventory: Inventory) -> dict[str, object]:
    return {**asdict(inventory), "records": inventory.records, "state": inventory.state}


def _print(inventory: Inventory, card: SourceCard) -> None:
    if not inventory.there:
        print(f"{card.name}: not there. From {card.origin} put into {inventory.root}: {card.layout}")
        return
    print(f"{card.name}: {inventory.state}; {inventory.records} records (Table 5 has {card.pictures} pictures)")
    for object, labels in inventory.found.items():
        shown = ", ".join(f"{label} {count}" for label, count in list(labels.items())[:20])
        print(f"    {object}: {shown}{f', and {len(labels) - 20} classes more' if len(labels) > 20 else ''}")
    for note in inventory.notes:
        more = f", and {note.count - len(note.where)} more" if note.count > len(note.where) else ""
        print(f"    {note.kind}: {note.what} ({note.count}): {'; '.join(note.where)}{more}")
    if inventory.state == "broken":
        print(f"    what belongs into {inventory.root}: {card.layout}; from {card.origin}")
