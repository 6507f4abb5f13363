"""Images of one class, and items made as in a build."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from snellen.core.item import Item, Media
from snellen.core.seeds import stream
from snellen.curated_sets.ava_bench.selection.candidates import Candidate, Curation, CurationContext
from snellen.curated_sets.ava_bench.selection.choices import Choices, read_choices
from snellen.datasets.sample import Annotation, Attributes, Sample
from snellen.suites.ava_bench.items import ItemSource
from tests.curated_sets.ava_bench.selection.fixtures import scene

WIDTH, HEIGHT = 100, 100
choices = cache(read_choices)


class Merging(Choices):
    """The package's choices, except that the labels `first` and `second` of scenes and actions are named `both`."""

    def scene(self, source: str, label: str) -> str:
        return {"first": "both", "second": "both"}.get(label, label)

    def action(self, label: str, source: str = "") -> str:
        return self.scene(source, label)


def merging() -> Choices:
    return Merging(choices().files)


def of_class(source: str, label: str, count: int, extra: Attributes | None = None) -> list[Sample]:
    """Images of a class."""
    annotation = Annotation(label, None, None, extra or {})
    return [scene(annotation, source=source, record=f"{label}/{n}", size=None) for n in range(count)]


def find_all(curation: Curation, scenes: Iterable[Sample], context: CurationContext) -> list[Candidate]:
    return [candidate for sample in scenes for candidate in curation.find(sample, context)]


def chosen(curation: Curation, scenes: Iterable[Sample], context: CurationContext) -> list[Candidate]:
    return curation.select(find_all(curation, scenes, context), context)


def make_items(curation: Curation, candidates: Sequence[Candidate], context: CurationContext) -> list[Item]:
    """One item per candidate, all of one image of 100 x 100."""
    image = Media("0" * 64, "image", "png", WIDTH, HEIGHT)
    ask = curation.make_item
    completed = [
        curation.complete(candidate, lambda: np.zeros((HEIGHT, WIDTH, 3), np.uint8), context)
        for candidate in candidates
    ]
    return [
        ask(candidate, ItemSource(str(n), image, str(n), candidate.origin.source), stream("made", n))
        for n, candidate in enumerate(completed)
        if isinstance(candidate, Candidate)
    ]


def texts(item: Item) -> tuple[str, ...]:
    return tuple(option.text for option in item.options)
