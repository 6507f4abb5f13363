"""The keys of a set compared with the answers of people who did not see them (design `check-keys`).

Choices, statements and counts agree if they equal the key. What people cannot give exactly by eye has the tolerance of
the task's protocol `strict` (`core.score.Protocol.confirms`), such as an overlap of boxes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from snellen.core.item import Item
from snellen.core.storage.itemset import ItemSet
from snellen.reports.words import answer_words, foreign
from snellen.runs.score import read_one
from snellen.scoring.protocols import correct
from snellen.scoring.uncertainty import cluster_wilson

if TYPE_CHECKING:
    from snellen.exam.examination import Examination


@dataclass(frozen=True)
class KeyCheck:
    """A person's answer to an item, in the item's own terms, and whether it agrees with the key."""

    item: Item
    person: str
    answer: Any
    agrees: bool


def key_checks(examination: Examination) -> list[KeyCheck]:
    """The answers of people to items with a key; those that cannot be read are left out."""
    checks = []
    for response in examination.responses:
        item, strict = (
            examination.items.by_id[response.item_id],
            examination.suite.tasks[response.task].protocols["strict"],
        )
        outcome, answer = read_one(item, response, strict)
        if outcome == "answered" and strict.judge is None:
            agrees = strict.confirms(item, answer, correct(item, answer) == 1.0)
            checks.append(KeyCheck(item, response.subject, answer, agrees))
    return checks


def agreement_lines(checks: Sequence[KeyCheck], items: ItemSet) -> Iterator[str]:
    """A line on each task and on all, with a 95 % interval by cluster, then one on each disagreement with its image."""
    tasks = list(dict.fromkeys(check.item.task for check in checks))
    for name in (*tasks, "all") if len(tasks) > 1 else tasks:
        of_task = [check for check in checks if name in (check.item.task, "all")]
        hits = np.array([check.agrees for check in of_task], float)
        low, high = cluster_wilson(hits, [check.item.cluster_id for check in of_task])
        interval = "" if math.isnan(low) else f" ({100 * hits.mean():.0f} % [{100 * low:.0f}, {100 * high:.0f}])"
        yield f"{name}: {int(hits.sum())} of {len(hits)} answers agree with the key{interval}"
    for check in checks:
        if not check.agrees:
            image = next((str(items.media.find(media)) for media in check.item.media()), "no image")
            answer, key = (answer_words(check.item, answer) for answer in (check.answer, check.item.answer))
            yield f"{foreign(check.item.item_id, 80)}: {check.person} answered {answer!r}, the key is {key!r}; {image}"
