"""`snellen study queue` and `snellen study decide`: what people are asked in place of a model, and what stands."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from snellen.core.errors import SnellenError


def queue(name: str | None, itemset: Path | None, out: Path | None, as_json: bool) -> None:
    """List the queues; or of a name and an item set, write the items of a step as decisions for people."""
    from snellen.core.itemset import read_itemset
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
    print(json.dumps({"items": items.card.items}) if as_json else f"{items.card.items} decisions: {out}")


def decide(runs: Sequence[Path], out: Path, third: Path | None, reviewer: str, design: str, as_json: bool) -> None:
    """Write what stands of a review, say how far people agree, and make a third reviewer's study of the rest."""
    from snellen.web.design import read_design
    from snellen.web.reviewing import decide_review, third_study

    panel, card = decide_review(runs, out)
    if third is not None:
        third_study(panel, runs, read_design(design), third, reviewer)
    if as_json:
        print(json.dumps({**card.model_dump(), "out": str(out), "undecided": list(panel.undecided)}))
        return
    numbers = {"percent": card.percent, "Fleiss": card.fleiss_kappa, "Krippendorff": card.krippendorff_alpha}
    agreement = ", ".join(f"{name} {number:.3f}" for name, number in numbers.items() if number is not None)
    print(f"{card.decided} of {card.items} decided, {card.disputed} disputed; agreement: {agreement or 'one reviewer'}")
    print(out)
    if third is not None:
        print(f"The third reviewer: snellen study serve {third}, then import it, and give both runs to `decide`")
