"""How often a grade is decided, after how many items, and how often wrongly: simulated subjects through `Decider`.

Print the table of docs/measurements/deciding.md: python -m tests.helpers.deciding_rates
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np

from snellen.analysis.grading.deciding import turns
from snellen.analysis.grading.grades import QUARTER
from snellen.core.item import Item, Option, View
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.itemset_cards import BlindCard, BlindScore
from snellen.core.storage.media import MediaFolder
from snellen.core.suite import Suite, Task, Trial
from snellen.runs.planning.deciding import Decider
from snellen.scoring.protocols import strict
from snellen.scoring.sequential import confidence_sequence

CHANCE, MEASURED = 0.25, 480
"""The blind baseline of four options, and the number of items on which it was measured: it has an error of 2 points."""
MOST = 0.9
"""Truths are uniform from 0 to this share of the way."""


class Design(NamedTuple):
    """What is asked of a task: the most items, items of each cluster, and the correlation within one."""

    max_items: int
    per_cluster: int
    correlation: float


LIMITS = (240, 480)
CLUSTERS = (1, 0.0), (2, 0.3), (4, 0.3)
DESIGNS = tuple(Design(limit, *clusters) for limit in LIMITS for clusters in CLUSTERS)
TASK = Task("naming", "choice", (), lambda *_: (), lambda _: cast(Any, None), {"strict": strict()})


@dataclass(frozen=True)
class Outcome:
    """A simulated subject: its truth on the way, whether its grade was decided, and what was claimed of it."""

    truth: float
    items: int
    is_decided: bool
    is_wrong: bool
    is_covered: bool
    grade: str


def item_set(design: Design) -> ItemSet:
    """As many items of four options as may be asked, without images."""
    items = tuple(
        Item(
            item_id=f"naming-{number:04d}", suite="simulated", task="naming", stimulus_id=str(number),
            group_id=str(number), cluster_id=f"cluster-{number // design.per_cluster}", question="?", query=(),
            options=tuple(Option(key, key) for key in "abcd"), answer="abcd"[number % 4], answer_kind="choice",
        )
        for number in range(design.max_items)
    )  # fmt: skip
    return ItemSet(
        Path("unused"),
        cast(Any, SimpleNamespace(source="generated", instalments=())),
        items,
        MediaFolder(Path("unused")),
    )


def outcomes(design: Design, subjects: int, truth: float | None = None, seed: int = 0) -> Iterator[Outcome]:
    """Simulated subjects with this truth, or with truths that are uniform from 0 to `MOST`."""
    items = item_set(design)
    suite = cast(Suite, SimpleNamespace(tasks={"naming": TASK}, card=SimpleNamespace(ceilings=())))
    decider = Decider(items, suite, design.max_items)
    order = turns(items, TASK, design.max_items)
    trials = [Trial((cast(View, SimpleNamespace(item_id=item.item_id)),)) for item in items.items]
    for number in range(subjects):
        rng = stream("deciding rates", seed, number, *map(str, design), str(truth))
        progress = float(rng.uniform(0, MOST)) if truth is None else truth
        share = CHANCE + progress * (1 - CHANCE)
        clusters = np.full(len(order), share)
        if design.correlation:
            odds = 1 / design.correlation - 1
            clusters = rng.beta(share * odds, (1 - share) * odds, len(order))
        scores = {item.item_id: float(rng.random() < clusters[order[item.cluster_id]]) for item in items.items}
        decider.items = replace(items, blind=measured_blind(rng))
        yield _outcome(decider, trials, scores, order, progress, share)


def measured_blind(rng: np.random.Generator) -> BlindCard:
    """A blind baseline measured on `MEASURED` items."""
    score = BlindScore(
        task="naming", protocol="strict", metric="accuracy", value=float(rng.binomial(MEASURED, CHANCE) / MEASURED),
        chance=CHANCE, n=MEASURED, attack="simulated",
    )  # fmt: skip
    return BlindCard(method="simulated", scores=(score,))


def _outcome(
    decider: Decider, trials: list[Trial], scores: dict[str, float], order: dict[str, int], truth: float, share: float
) -> Outcome:
    schedule, values = decider.schedule(TASK, trials, {}, False), dict[str, float]()
    batch = next(schedule)
    while True:
        new = {view.item_id: scores[view.item_id] for trial in batch for view in trial.views}
        values |= new
        try:
            batch = schedule.send(new)
        except StopIteration:
            break
    row = decider.row(TASK, values, {}, False)
    assert row is not None
    grade, is_decided = row.grade, row.grade.is_decided
    turn = [order[decider.items.by_id[name].cluster_id] for name in values]
    low, high = confidence_sequence(list(values.values()), turn, (0.0, 1.0))
    return Outcome(
        truth, len(values), is_decided, _is_wrong(grade.word, truth), low <= share <= high, grade.word,
    )  # fmt: skip


def _is_wrong(grade: str, truth: float) -> bool:
    """True for *none* of a truth above a quarter of the way, and for a better grade of one below it."""
    return bool(grade) and (grade == "none") == (truth > QUARTER)


def rates(design: Design, subjects: int = 400) -> dict[str, float]:
    """The rates of one design."""
    done = list(outcomes(design, subjects))
    blind = list(outcomes(design, subjects, truth=0.0))
    return {
        "clusters": design.max_items // design.per_cluster,
        "decided": float(np.mean([outcome.is_decided for outcome in done])),
        "mean items": float(np.mean([outcome.items for outcome in done])),
        "wrong": float(np.mean([outcome.is_wrong for outcome in done])),
        "interval holds the truth": float(np.mean([outcome.is_covered for outcome in done])),
        "blind called none": float(np.mean([outcome.grade == "none" for outcome in blind])),
        "blind above none": float(np.mean([outcome.grade not in ("", "none") for outcome in blind])),
    }


def main() -> None:
    """Print the table."""
    head = ["most items", "clusters", "correlation", "decided, %", "mean items", "wrong, %", "coverage, %"]
    print("| " + " | ".join([*head, "blind: none, %", "blind: above none, %"]) + " |\n|" + "---:|" * 9)
    for design in DESIGNS:
        row = rates(design)
        shares, first = [f"{100 * row[name]:.1f}" for name in list(row)[3:]], str(design.max_items)
        numbers = [f"{row['clusters']:.0f}", f"{design.correlation:g}", f"{100 * row['decided']:.1f}"]
        print("| " + " | ".join([first, *numbers, f"{row['mean items']:.0f}", *shares]) + " |", flush=True)


if __name__ == "__main__":
    main()
