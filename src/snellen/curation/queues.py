"""Queues: curation steps that people may do by hand, listed in `queues.yaml`.

A step that asks a model for JSON is shown to people as a choice of words (`decision`), with the same item ids, so that
their decisions are read in place of the model's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict

from snellen.core.condition import near
from snellen.core.errors import SnellenError
from snellen.core.item import Item, Option
from snellen.core.item_checks import STEP_SUITE
from snellen.core.storage.itemset import ItemSet, refuse_existing, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.curation.results import DECISION, WITH_REASON
from snellen.curation.steps import copy_media


class Queue(BaseModel):
    """A step done by hand.

    `commands` make its items; `words` are the possible answers with their meanings; for those in `with_reason` the
    reason is part of the decision. `question` is what people are asked, with fields of the items' provenance in braces;
    if empty, it is the items' own question. Items of a queue without words are decisions already. `reader` is the
    command that reads the decisions.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    purpose: str
    commands: tuple[str, ...]
    question: str = ""
    words: dict[str, str] = {}
    with_reason: tuple[str, ...] = ()
    reader: str


@cache
def queues() -> Mapping[str, Queue]:
    """Every queue by name."""
    text = files(__package__).joinpath("queues.yaml").read_text("utf-8")
    return {name: Queue.model_validate(fields) for name, fields in yaml.safe_load(text).items()}


def find_queue(name: str) -> Queue:
    """The queue of this name. Raises SnellenError for an unknown one, or one whose items are decisions already."""
    if name not in queues():
        raise SnellenError(f"no queue {name!r}; {near(name, queues())}")
    if not (queue := queues()[name]).words:
        raise SnellenError(f"queue {name!r}: its items are already decisions; give them to `snellen study build`")
    return queue


def decision_item(item: Item, queue: Queue) -> Item:
    """The decision item of an item of a step. Raises KeyError if its provenance lacks a field of the question."""
    reasons = {WITH_REASON: list(queue.with_reason)} if queue.with_reason else {}
    return replace(
        item,
        task=DECISION,
        answer_kind="choice",
        question=queue.question.format_map(dict(item.provenance)) if queue.question else item.question,
        options=tuple(Option(word, meaning) for word, meaning in queue.words.items()),
        provenance={**item.provenance, **reasons},
    )


def write_queue(name: str, items: ItemSet, out: Path) -> ItemSet:
    """Write the items of a step as decisions for people. Raises SnellenError if the set is not of that step."""
    queue = find_queue(name)
    refuse_existing(out)
    if items.card.suite != STEP_SUITE:
        raise SnellenError(
            f"{items.root}: an item set of {items.card.suite}; make the set for this queue with {queue.commands[0]}"
        )
    try:
        decisions = [decision_item(item, queue) for item in items.items]
    except KeyError as error:
        raise SnellenError(
            f"{items.root}: its items have no {error.args[0]}; make them with {queue.commands[0]}"
        ) from error
    copy_media(decisions, items.media, MediaFolder(out / "media"))
    recipe = {"about": items.card.content_hash, "queue": name}
    return write_itemset(out, decisions, source="queue", recipe=recipe)
