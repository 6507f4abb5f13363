"""What the tests of spatial reasoning and depth share: things, and what becomes of them."""

from __future__ import annotations

from typing import Any

from snellen.core.item import Box, Media
from snellen.datasets.sample import Annotation, Sample
from snellen.suites.ava_bench.curated.candidates import Ability, Candidate, Curating
from snellen.suites.ava_bench.curated.choices import read_choices
from snellen.suites.ava_bench.curated.rules import Rules
from snellen.suites.ava_bench.items import Shown


def curating(**rules: Any) -> Curating:
    """With the reviewed choices."""
    return Curating(Rules(**rules), read_choices(), 7)


def thing(label: str, box: Box | None = (0.0, 0.0, 10.0, 10.0), **extra: Any) -> Annotation:
    return Annotation(label, box, None, extra)


def looked_at(ability: Ability, at: Curating, *scenes: Sample) -> list[Candidate]:
    return [found for one in scenes for found in ability.look(one, at)]


def dropped(at: Curating) -> dict[str, int]:
    """How many every rule left out."""
    return {rule: count for (_, _, rule), count in at.ledger.dropped.items()}


def shown(one: Candidate, size: tuple[int, int]) -> Shown:
    """The picture of a candidate, as a recipe would store it."""
    x1, y1, x2, y2 = one.crop or (0.0, 0.0, *size)
    picture = Media("0" * 64, "picture", "png", int(x2 - x1), int(y2 - y1))
    return Shown("1", picture, one.origin.cluster, one.origin.source)
