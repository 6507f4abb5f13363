"""Episodes from classes and their pictures: pure, decided by the seed alone, no pixel looked at.

Every picture of a class may be asked about. Its demos are drawn from all other pictures of the classes; that another
episode asks about one of them does no harm, since episodes never meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from snellen.core.item import Item
from snellen.core.seeds import stream
from snellen.suites.vfm_bench.curated.pictures import ConceptTask, Picture
from snellen.suites.vfm_bench.items import SHOTS, SUITE, VERSION, Episode, Shown, episode_item
from snellen.suites.vfm_bench.prompts import SCENE_ENDINGS


class Ask(NamedTuple):
    """A picture to be asked about, by place: task, class, picture."""

    task: int
    truth: int
    query: int


def asks(tasks: Sequence[ConceptTask], n: int | None, seed: int) -> list[Ask]:
    """Every picture of every class, or `n` of them, in an order drawn from the seed."""
    found = [
        Ask(task, truth, query)
        for task, held in enumerate(tasks)
        for truth, concept in enumerate(held.classes)
        for query in range(len(concept.pictures))
    ]
    order = stream(SUITE, VERSION, seed, "candidates").permutation(len(found))
    return [found[int(k)] for k in order[:n]]


def episode_items(tasks: Sequence[ConceptTask], seed: int, n: int | None = None) -> list[Item]:
    """The items, numbered in their drawn order, so that ids tell nothing."""
    chosen = asks(tasks, n, seed)
    digits = max(5, len(str(len(chosen))))
    return [episode_item(draw_episode(tasks[ask.task], ask, f"{k:0{digits}d}", seed)) for k, ask in enumerate(chosen)]


def draw_episode(task: ConceptTask, ask: Ask, handle: str, seed: int) -> Episode:
    """The episode about one picture: the order of the classes, and five other pictures of each, drawn by the seed.

    It hangs on the classes and pictures of its task alone, not on what else is asked.
    """
    truth = task.classes[ask.truth]
    query = truth.pictures[ask.query]
    rng = stream(SUITE, VERSION, seed, "episode", task.source, task.object, query.media.sha256)
    shown = [task.classes[int(k)] for k in rng.permutation(len(task.classes))]

    def demos(pictures: Sequence[Picture]) -> list[Picture]:
        drawn = [pictures[int(k)] for k in rng.permutation(len(pictures))[: SHOTS + 1]]
        return [one for one in drawn if one is not query][:SHOTS]

    return Episode(
        handle,
        query.media,
        tuple(Shown(one.label, tuple(picture.media for picture in demos(one.pictures))) for one in shown),
        next(place for place, one in enumerate(shown) if one is truth),
        task.industry,
        task.level,
        f"{task.object}{SCENE_ENDINGS[task.level]}",
        task.source,
        f"{task.source}/{task.object}/{truth.label}",
        box=query.box,
        provenance={"source": query.source, "record": query.record, "licence": query.licence, "seed": seed},
    )
