"""Images of one class, and items made the way a build makes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from snellen.core.item import Item, Media
from snellen.core.seeds import stream
from snellen.datasets.sample import Annotation, Attributes, Sample
from snellen.suites.ava_bench.candidates.candidates import Candidate, Curation, CurationContext
from snellen.suites.ava_bench.candidates.choices import Choices, read_choices
from snellen.suites.ava_bench.items import ItemSource
from tests.suites.ava_bench.candidates.fixtures import scene

WIDTH, HEIGHT = 100, 100
choices = cache(read_choices)


class Merging(Choices):
    """The package's choices, but that `first` and `second` of scenes and actions are both `both`, `odd` is unknown."""

    def scene(self, source: str, label: str) -> str:
        return {"first": "both", "second": "both"}.get(label, label)

    def action(self, label: str, source: str = "") -> str:
        return self.scene(source, label)


def merging() -> Choices:
    return Merging(choices().files)


def of_class(source: str, label: str, count: int, extra: Attributes | None = None) -> list[Sample]:
    """So many images of a class."""
    thing = Annotation(label, None, None, extra or {})
    return [scene(thing, source=source, record=f"{label}/{n}", size=None) for n in range(count)]


def looked(curation: Curation, scenes: Iterable[Sample], at: CurationContext) -> list[Candidate]:
    return [one for held in scenes for one in curation.find(held, at)]


def chosen(curation: Curation, scenes: Iterable[Sample], at: CurationContext) -> list[Candidate]:
    return curation.select(looked(curation, scenes, at), at)


def asked(curation: Curation, kept: Sequence[Candidate], at: CurationContext) -> list[Item]:
    """An item of each, all of one image of 100 x 100."""
    image = Media("0" * 64, "image", "png", WIDTH, HEIGHT)
    ask = curation.make_item
    seen = [curation.complete(one, lambda: np.zeros((HEIGHT, WIDTH, 3), np.uint8), at) for one in kept]
    return [
        ask(one, ItemSource(str(n), image, str(n), one.origin.source), stream("made", n))
        for n, one in enumerate(seen)
        if isinstance(one, Candidate)
    ]


def texts(item: Item) -> tuple[str, ...]:
    return tuple(option.text for option in item.options)
