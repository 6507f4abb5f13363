"""Two subjects on own images with a known drop between them, compared by the functions behind `snellen diff`."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from snellen.analysis.comparison.changes import Changes, changes
from snellen.analysis.tables.section import Run
from snellen.core.item import Item
from snellen.core.score import Outcome
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.itemset_cards import ItemSetCard
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.runfolder import ArmCard, RunCard
from snellen.runs.scores.score import COLUMNS
from snellen.scoring.clustered_means import Floats
from tests.reports.exam import SUITE

Score = Callable[[Item], float]
"""The score of an item, NaN where the call failed."""
NOISE: Mapping[str, tuple[tuple[float, float], ...]] = {
    "a tenth of the images": ((0.9, 1.0), (0.1, 0.5)),
    "all images": ((1.0, 0.9),),
}
"""The images that vary between two runs of one subject: shares of the images with their probability of a right answer,
0.95 and 0.9 on average."""


def run_of(items: ItemSet, score: Score, *, tasks: tuple[str, ...] = ("naming", "finding", "building"),
           conditions: Mapping[str, str] | None = None, outcome: Outcome = "failed") -> Run:  # fmt: skip
    """A run of one subject with these scores, `outcome` for none; conditions with their value of `images`."""
    conditions = conditions or {"vanilla": "original"}
    rows = [
        {
            "subject": "chat:model", "fingerprint": "f", "suite": "shapes", "task": item.task, "condition": condition,
            "repeat": 0, "split": "test", "protocol": "strict", "judge": "", "item_id": item.item_id,
            "metric": SUITE.tasks[item.task].protocols["strict"].metrics[0].name, "stimulus_id": item.stimulus_id,
            "group_id": item.group_id, "cluster_id": item.cluster_id, "truth": json.dumps(item.answer),
            "prediction": "null", "outcome": outcome if math.isnan(score(item)) else "answered", "value": score(item),
            "chance": 0.25,
        }
        for condition in conditions for item in items.items if item.task in tasks
    ]  # fmt: skip
    arms = [
        ArmCard(subject="chat:model", fingerprint="f", settings={}, attributes={}, condition=condition,
                columns={"images": images}, repeat=0)
        for condition, images in conditions.items()
    ]  # fmt: skip
    card = RunCard(suite="shapes", version="1", itemset="", recipe_hash="r", content_hash=items.card.content_hash,
                   seed=0, limit=None, arms=arms)  # fmt: skip
    scores = {"strict": pd.DataFrame(rows, columns=list(COLUMNS))}
    return Run(card, SUITE, items, (), scores, pd.DataFrame(), (Path("run"),))


def own_items(count: int, classes: int = 3, tasks: tuple[str, ...] = ("finding",)) -> ItemSet:
    """A set of own images, not drawn: `count` per task, which belong to the classes in turn."""
    items = [
        Item(item_id=f"{task}-{n:04d}", suite="shapes", task=task, question="", query=(), answer="x",
             answer_kind="choice", stimulus_id=f"{task}-{n:04d}", group_id=f"{task}-{n:04d}",
             cluster_id=f"class-{n % classes}")
        for task in tasks for n in range(count)
    ]  # fmt: skip
    card = ItemSetCard(suite="shapes", version="1", source="own", recipe={}, recipe_hash="r", content_hash="c",
                       items=len(items), counts={})  # fmt: skip
    return ItemSet(Path("items"), card, tuple(items), MediaFolder(Path("items")))


def compare(items: ItemSet, before: Floats, after: Floats) -> Changes:
    """The comparison of two subjects with these scores, one per item in the order of the set."""
    return changes(scored_run(items, before), scored_run(items, after))


def scored_run(items: ItemSet, scores: Floats) -> Run:
    """The run of a subject with these scores, one per item in the order of the set."""
    score = dict(zip(items.by_id, map(float, scores), strict=True))
    return run_of(items, lambda item: score[item.item_id])


def probabilities(items: ItemSet, noise: str, rng: np.random.Generator) -> Floats:
    """The probability of a right answer to each item, by `NOISE`."""
    shares, values = np.array(NOISE[noise]).T
    return rng.choice(values, len(items.items), p=shares)


def answered(items: ItemSet, right: Floats, rng: np.random.Generator, drop: float = 0) -> Run:
    """The run of a subject whose answers are right with these probabilities, in the first task lower by `drop`."""
    is_first = np.array([item.task == items.items[0].task for item in items.items])
    lower = is_first * drop / right[is_first].mean()
    return scored_run(items, (rng.random(len(right)) < right * (1 - lower)).astype(float))
