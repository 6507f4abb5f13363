"""`snellen sources`: known real datasets, and their copies on this machine."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from snellen.cli.options import Json

if TYPE_CHECKING:
    from snellen.curated_sets.datasets.dataset import DatasetCard, Inventory

MAX_LABELS = 20
"""Classes printed per object."""

app = typer.Typer(help="Real datasets: list them, and check local copies.", no_args_is_help=True)


@app.command("list")
def list_(as_json: Json = False) -> None:
    """List datasets with industry, level, licence and layout, and the evidence for the layout."""
    from snellen.curated_sets.datasets import DATASETS

    cards = [DATASETS.get(name).card for name in DATASETS]
    if as_json:
        print(json.dumps({card.name: _describe(card) for card in cards}))
        return
    for card in cards:
        print(f"{card.name}: {_use(card.name)}{card.licence}, layout: {card.verified}\n    {card.layout}")
        for entry in card.evidence:
            print(f"    {entry.kind}: {entry.url}\n        {entry.statement}")
        if card.caveat:
            print(f"    not confirmed: {card.caveat}")


@app.command()
def check(
    root: Annotated[Path, typer.Option(help="Folder with one folder per dataset, or with sources.yaml.")],
    name: Annotated[list[str], typer.Argument(help="Datasets. Default: all, including missing ones.")] = [],  # noqa: B006
    as_json: Json = False,
) -> None:
    """Report what is present and what is missing. Exit code 2 if a named dataset is incomplete."""
    from snellen.compute.progress import Progress
    from snellen.curated_sets.datasets import DATASETS
    from snellen.curated_sets.datasets.folders import find_folders

    folders = find_folders(root)
    inventories: dict[str, Inventory] = {}
    for dataset_name in name or DATASETS:
        with Progress(f"Checking {dataset_name}", unit="images", visible=not as_json) as progress:
            dataset = DATASETS.get(dataset_name)
            if images := _published_images(dataset_name):
                progress.expect(images)
            inventories[dataset_name] = dataset.check(folders[dataset_name], progress.advance)
        if not as_json:
            _print_inventory(dataset.card, inventories[dataset_name])
    if as_json:
        states = {key: {**asdict(inventory), "state": inventory.state} for key, inventory in inventories.items()}
        print(json.dumps(states))
    if name and any(inventory.state != "whole" for inventory in inventories.values()):
        raise typer.Exit(2)


def _describe(card: "DatasetCard") -> dict[str, object]:
    """The card, with the facts that suites using the dataset add."""
    from snellen.curated_sets.ava_bench.selection.datasets import TASKS_OF_DATASET
    from snellen.curated_sets.vfm_bench.datasets import ROW_OF_DATASET

    description = asdict(card)
    if row := ROW_OF_DATASET.get(card.name):
        notes = " ".join(filter(None, (card.notes, row.notes)))
        description |= {"industry": row.industry, "level": row.level, "images": row.images, "notes": notes}
    if tasks := TASKS_OF_DATASET.get(card.name):
        description["tasks"] = tasks
    return description


def _use(name: str) -> str:
    """The use of the dataset in suites, as the beginning of a line."""
    from snellen.curated_sets.ava_bench.selection.datasets import TASKS_OF_DATASET
    from snellen.curated_sets.vfm_bench.datasets import ROW_OF_DATASET

    row = ROW_OF_DATASET.get(name)
    use = f"{row.industry}, {row.level} level, " if row else ""
    tasks = TASKS_OF_DATASET.get(name)
    return use + (f"scenes for {', '.join(tasks)}, " if tasks else "")


def _published_images(name: str) -> int:
    """The number of images that VFM Bench counts in the dataset; 0 if it does not use it."""
    from snellen.curated_sets.vfm_bench.datasets import ROW_OF_DATASET

    return ROW_OF_DATASET[name].images if name in ROW_OF_DATASET else 0


def _print_inventory(card: "DatasetCard", inventory: "Inventory") -> None:
    if not inventory.exists:
        print(f"{card.name}: missing. From {card.origin} put into {inventory.root}: {card.layout}")
        return
    if images := _published_images(card.name):
        counts = f"{inventory.samples} records (Table 5 has {images} images)"
    else:
        questions = f", {inventory.questions} questions about them" if inventory.questions else ""
        counts = f"{inventory.samples} scenes{questions}"
    print(f"{card.name}: {inventory.state}; {counts}")
    for object, labels in inventory.labels.items():
        named = ", ".join(f"{label} {count}" for label, count in list(labels.items())[:MAX_LABELS])
        more = f", and {len(labels) - MAX_LABELS} more classes" if len(labels) > MAX_LABELS else ""
        print(f"    {object or 'things'}: {named}{more}")
    for note in inventory.notes:
        rest = note.count - len(note.locations)
        more = f", and {rest} more" if rest else ""
        print(f"    {note.kind}: {note.message} ({note.count}): {'; '.join(note.locations)}{more}")
    if inventory.state == "broken":
        print(f"    expected in {inventory.root}: {card.layout}; from {card.origin}")
