"""`snellen study queue` and `snellen study decide`: what people decide in place of a model, and what stands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Optional

import typer

from snellen.cli.options import Json


def queue(
    name: Annotated[Optional[str], typer.Argument(help="Queue. Default: list all queues.")] = None,  # noqa: UP045  # read at run time
    itemset: Annotated[Optional[Path], typer.Argument(help="Item set of the queue's step.")] = None,  # noqa: UP045
    out: Annotated[Optional[Path], typer.Option(help="Folder for the decisions that people will make.")] = None,  # noqa: UP045
    as_json: Json = False,
) -> None:
    """List the steps that people may do by hand, or make the items of one into decisions."""
    from snellen.core.errors import SnellenError
    from snellen.core.storage.itemset import read_itemset
    from snellen.curation.queues import queues, write_queue

    if name is None:
        if as_json:
            print(json.dumps({key: entry.model_dump() for key, entry in queues().items()}))
            return
        for key, entry in queues().items():
            print(f"{key}: {entry.purpose}")
            for command in entry.commands:
                print(f"    {command}")
            print(f"    read by: {entry.reader}")
        return
    if itemset is None or out is None:
        raise SnellenError(f"snellen study queue {name}: give the item set of the step, and --out FOLDER")
    items = write_queue(name, read_itemset(itemset), out)
    print(
        json.dumps({"decisions": items.card.items, "out": str(out)}) if as_json else f"{items.card.items} items: {out}"
    )


def decide(
    runs: Annotated[list[Path], typer.Argument(help="Imported review runs, followed by those of third reviewers.")],
    out: Annotated[Path, typer.Option(help="CSV file for the final decisions (with a card next to it).")],
    third: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Write a study of the undecided items for a third reviewer."),
    ] = None,
    reviewer: Annotated[str, typer.Option(help="Alias of the third reviewer.")] = "third",
    design: Annotated[str, typer.Option(help="Design of the third reviewer's study.")] = "review",
    as_json: Json = False,
) -> None:
    """Say how far reviewers agree, and write what stands for a build to read."""
    from snellen.web.design import read_design
    from snellen.web.reviewing import decide_review, third_study

    panel, card = decide_review(runs, out)
    if third is not None:
        third_study(panel, runs, read_design(design), third, reviewer)
    if as_json:
        print(json.dumps({**card.model_dump(), "out": str(out), "undecided": list(panel.undecided)}))
        return
    numbers = {"percent": card.percent, "Fleiss": card.fleiss_kappa, "Krippendorff": card.krippendorff_alpha}
    agreement = ", ".join(f"{key} {number:.3f}" for key, number in numbers.items() if number is not None)
    print(f"{card.decided} of {card.items} decided, {card.disputed} disputed; agreement: {agreement or 'not defined'}")
    print(out)
    if third is not None:
        print(f"for the third reviewer: snellen study serve {third}; import it, then give both runs to `decide`")
