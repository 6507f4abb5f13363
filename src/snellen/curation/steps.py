"""Work that subjects do on benchmarks (captions, boxes, decisions, verdicts): its items, and reading their answers.

Everything here is of the suite `curation-steps`, whose tasks are the kinds of work.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snellen.core.errors import SnellenError
from snellen.core.item import AnswerKind, Item, Media
from snellen.core.itemset import ItemSet, read_itemset
from snellen.core.response import Response
from snellen.core.runfolder import is_run, read_responses, read_run_card

STEP_SUITE, STEP_VERSION = "curation-steps", "1"


def step_item(
    task: str, item_id: str, question: str, query: Sequence[Media], kind: AnswerKind, about: str = "", **told: Any
) -> Item:
    """One item of work; `about` is its stimulus and cluster (default: itself). Nothing is right: `answer` is None."""
    return Item(
        item_id=item_id,
        suite=STEP_SUITE,
        task=task,
        question=question,
        query=tuple(query),
        answer=None,
        answer_kind=kind,
        stimulus_id=about or item_id,
        group_id=item_id,
        cluster_id=about or item_id,
        version=STEP_VERSION,
        **told,
    )


def table_provenance(items: ItemSet, ids: Iterable[str], picture: str) -> dict[str, Any]:
    """What makes the answer to an item of work a table for showing: `--input NAME=RUN` leads it back to these items.

    `picture` is the stored SHA-256 of what it is about, or a word where it is about no picture.
    """
    return {"about": items.card.content_hash, "items": list(dict.fromkeys(ids)), "picture": picture}


@dataclass(frozen=True)
class StepResult:
    """The responses of one subject to one item set, by item id. `author` is the subject's name."""

    author: str
    items: ItemSet
    responses: Mapping[str, Response]

    def text(self, item: Item) -> str | None:
        """What was answered; None where the call failed, was declined or said nothing."""
        held = self.responses.get(item.item_id)
        return (held.text or None) if held and held.status == "ok" else None


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
    found: dict[str, dict[str, Response]] = {}
    for response in read_responses(run):
        found.setdefault(response.subject, {})[response.item_id] = response
    return tuple(StepResult(author, items, held) for author, held in found.items())


def read_step_result(run: Path) -> StepResult:
    """The answers of the one subject of a run. Raises SnellenError where several answered."""
    found = read_step_results(run)
    if len(found) != 1:
        names = ", ".join(one.author for one in found) or "nobody"
        raise SnellenError(f"{run}: {names} answered, one subject is wanted; run the items with one --subject")
    return found[0]
