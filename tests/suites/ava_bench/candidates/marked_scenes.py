"""What the tests of spatial reasoning and depth share: things, and what becomes of them."""

from __future__ import annotations

from typing import Any

from snellen.core.item import Box, Media
from snellen.datasets.sample import Annotation, Sample
from snellen.suites.ava_bench.candidates.candidates import Candidate, Curation, CurationContext
from snellen.suites.ava_bench.candidates.choices import read_choices
from snellen.suites.ava_bench.candidates.rules import Rules
from snellen.suites.ava_bench.items import ItemSource


def curating(**rules: Any) -> CurationContext:
    """With the reviewed choices."""
    return CurationContext(Rules(**rules), read_choices(), 7)


def thing(label: str, box: Box | None = (0.0, 0.0, 10.0, 10.0), **extra: Any) -> Annotation:
    return Annotation(label, box, None, extra)


def looked_at(curation: Curation, at: CurationContext, *scenes: Sample) -> list[Candidate]:
    return [found for one in scenes for found in curation.find(one, at)]


def dropped(at: CurationContext) -> dict[str, int]:
    """How many every rule left out."""
    return {rule: count for (_, _, rule), count in at.ledger.dropped.items()}


def shown(one: Candidate, size: tuple[int, int]) -> ItemSource:
    """The image of a candidate, as a recipe would store it."""
    x1, y1, x2, y2 = one.crop or (0.0, 0.0, *size)
    image = Media("0" * 64, "image", "png", int(x2 - x1), int(y2 - y1))
    return ItemSource("1", image, one.origin.cluster, one.origin.source)
