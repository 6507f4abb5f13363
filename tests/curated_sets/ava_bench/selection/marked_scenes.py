"""Shared by the tests of spatial reasoning and depth: annotations, and the candidates found among them."""

from __future__ import annotations

from typing import Any

from snellen.core.item import Box, Media
from snellen.curated_sets.ava_bench.selection.candidates import Candidate, Curation, CurationContext
from snellen.curated_sets.ava_bench.selection.choices import read_choices
from snellen.curated_sets.ava_bench.selection.rules import Rules
from snellen.datasets.sample import Annotation, Sample
from snellen.suites.ava_bench.items import ItemSource


def curating(**rules: Any) -> CurationContext:
    """A context with the reviewed choices."""
    return CurationContext(Rules(**rules), read_choices(), 7)


def annotation(label: str, box: Box | None = (0.0, 0.0, 10.0, 10.0), **extra: Any) -> Annotation:
    return Annotation(label, box, None, extra)


def find_all(curation: Curation, context: CurationContext, *scenes: Sample) -> list[Candidate]:
    return [candidate for sample in scenes for candidate in curation.find(sample, context)]


def dropped(context: CurationContext) -> dict[str, int]:
    """The numbers left out by rule."""
    return {rule: count for (_, _, rule), count in context.ledger.dropped.items()}


def item_source(candidate: Candidate, size: tuple[int, int]) -> ItemSource:
    """The image of a candidate as a recipe stores it."""
    x1, y1, x2, y2 = candidate.crop or (0.0, 0.0, *size)
    image = Media("0" * 64, "image", "png", int(x2 - x1), int(y2 - y1))
    return ItemSource("1", image, candidate.origin.cluster, candidate.origin.source)
