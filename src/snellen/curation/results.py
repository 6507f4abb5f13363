"""What was answered in a step, by a subject in a run or by people in a review, and whether it fits what is built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from snellen.core.annotations import Annotations, read_annotations
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Item
from snellen.core.itemset import ItemSet, read_itemset
from snellen.core.response import Response
from snellen.core.runfolder import is_run, read_responses, read_run_card
from snellen.curation.review import read_review
from snellen.scoring.answers import read_answer


@dataclass(frozen=True)
class StepResult:
    """What one author said to the items of a step, by item id: a subject by its responses, people by decisions."""

    author: str
    items: ItemSet
    responses: Mapping[str, Response] = field(default_factory=dict)
    decisions: Mapping[str, str] = field(default_factory=dict)

    def text(self, item: Item) -> str | None:
        """What was answered; None where the call failed, was declined or said nothing."""
        if item.item_id in self.decisions:
            return self.decisions[item.item_id]
        response = self.responses.get(item.item_id)
        return (response.text or None) if response and response.status == "ok" else None

    def answer(self, item: Item) -> Any | None:
        """What was answered, in the item's own terms; None also where it cannot be read."""
        if (text := self.text(item)) is None or item.item_id in self.decisions:
            return text
        return read_answer(text, self.responses[item.item_id].reply_spec)

    @cached_property
    def answers(self) -> Mapping[str, Any]:
        """Every answer that can be read, by item id."""
        answers = {item.item_id: self.answer(item) for item in self.items.items}
        return {item_id: answer for item_id, answer in answers.items() if answer is not None}

    @property
    def hash(self) -> str:
        """Digest of everything that was said and can be read."""
        return digest([self.author, dict(self.answers)])


def read_step_results(run: Path, itemset: Path | None = None) -> tuple[StepResult, ...]:
    """The answers of every subject of a finished run. Raises SnellenError where there is none, or its items changed.

    `itemset` says where its items lie, where they are kept beside it and may have moved along.
    """
    if not is_run(run):
        raise SnellenError(f"{run}: no run here; ask a subject with `snellen run ITEMSET --subject … --out {run}`")
    card = read_run_card(run)
    items = read_itemset(itemset or Path(card.itemset))
    if items.card.content_hash != card.content_hash:
        raise SnellenError(f"{items.root}: not the item set that {run} was run on (content_hash); restore it")
    by_author: dict[str, dict[str, Response]] = {}
    for response in read_responses(run):
        by_author.setdefault(response.subject, {})[response.item_id] = response
    return tuple(StepResult(author, items, responses) for author, responses in by_author.items())


def read_step_result(path: Path, reviewed: ItemSet | None = None) -> StepResult:
    """The answers of the one subject of a run; or, of a CSV, the decisions of people about the items of `reviewed`.

    Raises SnellenError where several subjects answered.
    """
    if reviewed is not None and path.suffix == ".csv":
        review = read_review(path, reviewed)
        decisions = {item_id: row.decision for item_id, row in review.decisions.items()}
        return StepResult(review.author, reviewed, decisions=decisions)
    results = read_step_results(path)
    if len(results) != 1:
        names = ", ".join(result.author for result in results) or "nobody"
        raise SnellenError(f"{path}: {names} answered, one subject is wanted; run the items with one --subject")
    return results[0]


def check_about(
    path: Path,
    result: StepResult,
    items: ItemSet,
    name: str,
    how_to: str = "build the work for this item set and run it",
    task: str = "",
) -> None:
    """Raise SnellenError unless the items answered in `path` were made about `items`, all of them of `task` if given.

    Items about a finished set say so in their provenance (`steps.table_provenance`).
    """
    for item in result.items.items:
        if item.provenance.get("about") != items.card.content_hash or task not in ("", item.task):
            raise SnellenError(f"{path}: was not made for {items.root}, so that it holds no {name} of it; {how_to}")


def read_table(name: str, path: Path, items: ItemSet) -> Annotations:
    """The annotation table `name` about `items`: from a run folder, a CSV review, or a Parquet file."""
    if path.is_dir():
        return make_table(name, path, read_step_result(path), items)
    return read_review(path, items).table(name) if path.suffix == ".csv" else read_annotations(path, items)


def make_table(name: str, path: Path, result: StepResult, items: ItemSet) -> Annotations:
    """The answers of a run in `path` as a table: by the item they are for and the picture they are about.

    Step items keep both in their provenance (`steps.table_provenance`). What failed or was declined is an error: a
    table with holes would change what is shown without a word.
    """
    check_about(path, result, items, name)
    rows: dict[str, dict[str, Any]] = {}
    for item in result.items.items:
        if (text := result.text(item)) is None:
            why = result.responses[item.item_id].reason if item.item_id in result.responses else "never asked"
            raise SnellenError(f"{path}: nothing was answered for {item.item_id} ({why or 'no text'}); run it again")
        for item_id in item.provenance["items"]:
            rows.setdefault(item_id, {})[str(item.provenance["picture"])] = text
    return Annotations(name, result.author, items.card.content_hash, rows)


def read_tables(paths: Mapping[str, Path], items: ItemSet) -> dict[str, Annotations]:
    """Every table about `items`, by name."""
    return {name: read_table(name, path, items) for name, path in paths.items()}


def construction_subjects(results: Mapping[str, StepResult]) -> list[str]:
    """Who helped to build a set: reports flag a subject that is examined on what it helped to build."""
    return sorted({result.author for result in results.values()})
