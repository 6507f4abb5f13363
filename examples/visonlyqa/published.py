"""The protocol `published` of VisOnlyQA: the authors' rule of reading, and a model for what the rule cannot read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from examples.visonlyqa.tables import PROMPTS, replies
from snellen.core.item import ReplySpec
from snellen.core.response import Response
from snellen.core.score import Protocol
from snellen.core.storage.itemset import ItemSet
from snellen.core.suite import Suite
from snellen.runs.scores.judgements import score_judged
from snellen.runs.scores.unread import reading_item
from snellen.scoring.answers import read_answer

READER = "gpt-4o-2024-08-06"
"""The model that reads replies for the authors if their rule finds no answer."""


def read_published(text: str, spec: ReplySpec) -> str | None:
    """The only option whose name in brackets is in the reply; else the only one whose bare name is; else None.

    Names are those of `spec.name`: letters, True and False, in this case. A bare letter counts within words too.
    Questions with several answers are left to the reader.
    """
    if spec.kind == "choices":
        return None
    for form in ("({})", "{}"):
        named = [key for key in spec.offered if form.format(spec.name(key)) in text]
        if len(named) == 1:
            return named[0]
    return None


def published(strict: Protocol) -> Protocol:
    """The authors' protocol of a task: their rule, and a model as a judge for replies that the rule cannot read."""
    return replace(
        strict,
        name="published",
        read=read_published,
        read_cut_off=None,
        judge=reading_item,
        read_verdict=read_answer,
    )


def with_published(suite: Suite) -> Suite:
    """The suite with the protocol `published` in all tasks."""
    tasks = {
        name: replace(task, protocols={**task.protocols, "published": published(task.protocols["strict"])})
        for name, task in suite.tasks.items()
    }
    return replace(suite, tasks=tasks)


def published_scores(
    responses: Sequence[Response], items: ItemSet, suite: Suite, readings: Mapping[tuple[str, str, str], str]
) -> pd.DataFrame:
    """Score rows (`runs.scores.score.COLUMNS`) under `published`.

    `readings` are those of the authors' reader by subject, condition and item. They are used only for replies that the
    rule cannot read; without one, such a reply fails.
    """
    verdicts = {
        response.response_id: replace(response, subject=READER, text=reading)
        for response in responses
        if (reading := readings.get((response.subject, response.condition, response.item_id))) is not None
    }
    return score_judged(responses, items, with_published(suite), "published", {READER: verdicts})


def readings_of(clone: Path) -> dict[tuple[str, str, str], str]:
    """The readings in the repository by subject, condition and item."""
    return {(f"recorded:{r.model}", PROMPTS[r.prompt], r.item_id): r.reading for r in replies(clone)}
