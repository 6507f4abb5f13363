"""Banks without images, and subjects with planted thresholds, for tests of thresholds."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from snellen.core.build_options import BuildOptions
from snellen.core.condition import Condition
from snellen.core.item import Item
from snellen.core.prompt import Prompt, Reply
from snellen.core.response import Response
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.runfolder import kind_by_name
from snellen.core.subject import Base, SubjectCard
from snellen.runs.asking.ask import ask
from snellen.runs.planning.plan import Arm, Plan
from snellen.suites.thresholds import SUITE
from snellen.suites.thresholds.generated.recipe import Generated
from snellen.suites.thresholds.measures import MEASURES
from snellen.suites.thresholds.measures.measure import SIDE
from snellen.suites.thresholds.scoring import ANSWERS, BATCH, FIRST_CONTROLS, LATER_CONTROLS
from snellen_sight.psychometric import weibull

MOST_ITEMS = ANSWERS + FIRST_CONTROLS + LATER_CONTROLS * (ANSWERS // BATCH - 1)
"""Items that are asked of a task."""


def bank(folder: Path, tasks: Sequence[str] = ("acuity",), **options: Any) -> ItemSet:
    """A whole bank of these tasks, with blank images."""
    return Generated().build(BuildOptions(folder, tasks=tuple(tasks), renderer="blank", **options))


BLIND = 1e4
"""The threshold from which on an observer does not even see the controls."""


@dataclass(frozen=True)
class Observer(Base):
    """Answers by psychometric functions with these thresholds by task, in physical units, after a pause.

    On larger canvases thresholds grow with this power of the side.
    """

    items: Mapping[str, Item] = field(default_factory=dict)
    thresholds: Mapping[str, float] = field(default_factory=dict)
    slope: float = 3.0
    lapse: float = 0.0
    exponent: float = 0.0

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        (view,) = prompt.views
        item = self.items[view.item_id]
        level = np.log10(item.measures[MEASURES[item.task].quantity])
        threshold = self.thresholds[item.task] * (item.measures["canvas_px"] / SIDE) ** self.exponent
        sensed = weibull(level, np.log10(threshold), self.slope, self.lapse, 0.0)
        if item.factors["control"] == "yes" and threshold < BLIND:
            sensed = np.asarray(1 - self.lapse)
        is_seen = rng.random() < sensed
        text = item.answer if is_seen else str(rng.choice(view.reply.offered))
        await asyncio.sleep(float(rng.exponential(0.0005)))
        return Reply(text)


def observer(items: ItemSet, name: str = "py:observer", concurrency: int = 4, **planted: Any) -> Observer:
    """An observer of a bank."""
    return Observer(SubjectCard(name, max_concurrency=concurrency, **kind_by_name(name)), items.by_id, **planted)


def asked_of(root: Path, items: ItemSet, subjects: Sequence[Any], **plan: Any) -> list[Response]:
    """The responses of subjects under the main condition."""
    arms = [Arm(subject, Condition(SUITE.axes)) for subject in subjects]
    return ask(root, Plan(items, SUITE, arms, **plan))
