"""Episodes from classes and their images, determined by the seed alone without reading pixels.

Every image of a class may be a query. Its demos are drawn from all other images of the classes, including queries of
other episodes, since episodes are independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from snellen.core.seeds import stream
from snellen.curation.draws import shuffled
from snellen.suites.vfm_bench.class_images import ClassImage, ConceptTask
from snellen.suites.vfm_bench.items import SHOTS, STREAMS, SUITE, Episode, EpisodeClass
from snellen.suites.vfm_bench.prompts import SCENE_ENDINGS


class QueryIndex(NamedTuple):
    """A query image: indices of its task, class and image."""

    task: int
    truth: int
    query: int


def draw_episode(task: ConceptTask, index: QueryIndex, handle: str, seed: int) -> Episode:
    """The episode about one image: the order of the classes, and five other images of each, drawn by the seed.

    It depends only on the classes and images of its task, not on the other queries.
    """
    truth = task.classes[index.truth]
    query = truth.images[index.query]
    rng = stream(SUITE, STREAMS, seed, "episode", task.source, task.object, query.media.sha256)
    classes = shuffled(task.classes, rng)

    def demos(images: Sequence[ClassImage]) -> list[ClassImage]:
        # One more than needed, since the query itself may be among them.
        candidates = shuffled(images, rng)[: SHOTS + 1]
        return [image for image in candidates if image is not query][:SHOTS]

    return Episode(
        handle,
        query.media,
        tuple(
            EpisodeClass(concept.label, tuple(image.media for image in demos(concept.images))) for concept in classes
        ),
        next(n for n, concept in enumerate(classes) if concept is truth),
        task.industry,
        task.level,
        task.scene or f"{task.object}{SCENE_ENDINGS[task.level]}",
        task.source,
        f"{task.source}/{task.object}/{truth.label}",
        box=query.box,
        factors={"concept_task": f"{task.source}/{task.object}"} if task.scene else {},
        provenance={"source": query.source, "record": query.record, "licence": query.licence, "seed": seed},
    )
