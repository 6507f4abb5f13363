"""Annotation tables that a run is given: Parquet tables, reviews as CSV, or the run in which a subject made them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from snellen.core.annotations import Annotations, read_annotations, read_review
from snellen.core.errors import SnellenError
from snellen.core.itemset import ItemSet
from snellen.curation.steps import StepResult, read_step_result


def read_input(name: str, path: Path, items: ItemSet) -> Annotations:
    """The table `name` about `items`, from a run folder, a Parquet file or a CSV review."""
    if path.is_dir():
        return _of_run(name, path, read_step_result(path), items)
    return read_review(path, name, items) if path.suffix == ".csv" else read_annotations(path, items)


def _of_run(name: str, path: Path, told: StepResult, items: ItemSet) -> Annotations:
    """Answers by the item they are for and the picture they are about.

    Items of work keep both in their provenance: `about` (content hash of the set), `items` (ids) and `picture` (stored
    SHA-256). What failed or was declined is an error: a table with holes would change what is shown without a word.
    """
    rows: dict[str, dict[str, Any]] = {}
    for work in told.items.items:
        if work.provenance.get("about") != items.card.content_hash:
            raise SnellenError(f"{path}: was not made for {items.root}; build the work for this item set and run it")
        if (text := told.text(work)) is None:
            why = told.responses[work.item_id].reason if work.item_id in told.responses else "never asked"
            raise SnellenError(f"{path}: nothing was answered for {work.item_id} ({why or 'no text'}); run it again")
        for item_id in work.provenance["items"]:
            rows.setdefault(item_id, {})[str(work.provenance["picture"])] = text
    return Annotations(name, told.author, items.card.content_hash, rows)


def read_inputs(given: Mapping[str, Path], items: ItemSet) -> dict[str, Annotations]:
    """Every table, by name."""
    return {name: read_input(name, path, items) for name, path in given.items()}
