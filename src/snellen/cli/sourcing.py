"""`snellen sources`: the real datasets that are known, and what of them lies on this machine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from snellen.datasets.reading import Inventory, SourceCard
    from snellen.datasets.scene_reading import SceneCard, SceneInventory

app = typer.Typer(help="Real datasets: what is known of them, and what lies on this machine.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


@app.command("list")
def list_(as_json: Json = False) -> None:
    """List the datasets: industry, level, licence, layout, and whether real files were ever read."""
    from snellen.datasets import SCENES, SOURCES

    cards = [SOURCES.get(name).card for name in SOURCES]
    scenes = [SCENES.get(name).card for name in SCENES]
    if as_json:
        every: list[SourceCard | SceneCard] = [*cards, *scenes]
        told = {card.name: {**asdict(card), "verified": _verified(card)} for card in every}
        print(json.dumps(told))
        return
    for card in cards:
        print(f"{card.name}: {card.industry}, {card.level} level, {card.licence}, {_verified(card)}\n    {card.layout}")
    for scene in scenes:
        used = ", ".join(scene.tasks)
        print(f"{scene.name}: scenes for {used}, {scene.licence}, {_verified(scene)}\n    {scene.layout}")


@app.command()
def check(
    root: Annotated[Path, typer.Option(help="Folder with one folder a source, or with sources.yaml.")],
    name: Annotated[list[str], typer.Argument(help="Sources; default: all, those that are not there too.")] = [],  # noqa: B006
    as_json: Json = False,
) -> None:
    """Say what was found, what is missing and where it belongs. Exit code 2 where a named source is not whole."""
    from snellen.compute.progress import Progress
    from snellen.datasets import SCENES, SOURCES
    from snellen.datasets.folders import find_folders

    wanted = name or [*SOURCES, *SCENES]
    folders = find_folders(root, [*SOURCES, *SCENES])
    told: dict[str, Inventory | SceneInventory] = {}
    for one in wanted:
        with Progress(f"Looking at {one}", unit="pictures", shown=not as_json) as progress:
            if one in set(SCENES):
                told[one] = SCENES.get(one).check(folders[one], progress.advance)
            else:
                progress.expect(SOURCES.get(one).card.pictures)
                told[one] = SOURCES.get(one).check(folders[one], progress.advance)
        if not as_json:
            _say(told[one])
    if as_json:
        print(json.dumps({one: _plain(inventory) for one, inventory in told.items()}))
    if name and any(inventory.state != "whole" for inventory in told.values()):
        raise typer.Exit(2)


def _verified(card: SourceCard | SceneCard) -> str:
    return "verified" if card.verified else "unverified"


def _plain(inventory: Inventory | SceneInventory) -> dict[str, object]:
    counted = {"records": inventory.records} if hasattr(inventory, "records") else {}
    return {**asdict(inventory), **counted, "state": inventory.state}


def _say(inventory: Inventory | SceneInventory) -> None:
    from snellen.datasets import SCENES, SOURCES
    from snellen.datasets.scene_reading import SceneInventory

    name = inventory.source
    card = SCENES.get(name).card if isinstance(inventory, SceneInventory) else SOURCES.get(name).card
    if not inventory.there:
        print(f"{name}: not there. From {card.origin} put into {inventory.root}: {card.layout}")
        return
    if isinstance(inventory, SceneInventory):
        asked = f", {inventory.asked} questions about them" if inventory.asked else ""
        print(f"{name}: {inventory.state}; {inventory.scenes} scenes{asked}")
        _say_labels("things", inventory.labels)
    else:
        pictures = SOURCES.get(name).card.pictures
        print(f"{name}: {inventory.state}; {inventory.records} records (Table 5 has {pictures} pictures)")
        for object, labels in inventory.found.items():
            _say_labels(object, labels)
    for note in inventory.notes:
        more = f", and {note.count - len(note.where)} more" if note.count > len(note.where) else ""
        print(f"    {note.kind}: {note.what} ({note.count}): {'; '.join(note.where)}{more}")
    if inventory.state == "broken":
        print(f"    what belongs into {inventory.root}: {card.layout}; from {card.origin}")


def _say_labels(of: str, labels: Mapping[str, int]) -> None:
    shown = ", ".join(f"{label} {count}" for label, count in list(labels.items())[:20])
    print(f"    {of}: {shown}{f', and {len(labels) - 20} classes more' if len(labels) > 20 else ''}")
