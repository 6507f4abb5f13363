"""The abilities of AVA-Bench: one module each, and their registry.

A new ability is one more module and one line in `REGISTERED`; tasks, recipes and reports are made from it.
"""

from __future__ import annotations

from collections.abc import Iterable

from snellen.core.errors import SnellenError
from snellen.suites.ava_bench.abilities.ability import Ability
from snellen.suites.ava_bench.abilities.absolute_depth import ABSOLUTE_DEPTH
from snellen.suites.ava_bench.abilities.action import ACTION
from snellen.suites.ava_bench.abilities.colour import COLOUR
from snellen.suites.ava_bench.abilities.counting import COUNTING
from snellen.suites.ava_bench.abilities.counting_by_colour import COUNTING_BY_COLOUR
from snellen.suites.ava_bench.abilities.emotion import EMOTION
from snellen.suites.ava_bench.abilities.fine_grained import FINE_GRAINED
from snellen.suites.ava_bench.abilities.localization import LOCALIZATION
from snellen.suites.ava_bench.abilities.nearer_localization import NEARER_LOCALIZATION
from snellen.suites.ava_bench.abilities.object import OBJECT
from snellen.suites.ava_bench.abilities.ocr import OCR
from snellen.suites.ava_bench.abilities.orientation import ORIENTATION
from snellen.suites.ava_bench.abilities.relative_depth import RELATIVE_DEPTH
from snellen.suites.ava_bench.abilities.scene import SCENE
from snellen.suites.ava_bench.abilities.spatial import SPATIAL
from snellen.suites.ava_bench.abilities.texture import TEXTURE

REGISTERED: tuple[Ability, ...] = (
    LOCALIZATION,
    COUNTING,
    SPATIAL,
    ORIENTATION,
    ABSOLUTE_DEPTH,
    RELATIVE_DEPTH,
    OBJECT,
    FINE_GRAINED,
    COLOUR,
    TEXTURE,
    OCR,
    ACTION,
    EMOTION,
    SCENE,
    COUNTING_BY_COLOUR,
    NEARER_LOCALIZATION,
)
"""The fourteen atomic abilities in the paper's order, then the composites of two of them, which are ours."""
ABILITIES: dict[str, Ability] = {ability.name: ability for ability in REGISTERED}
"""Abilities by name. Callers look them up on every call, so an ability registered at run time takes part."""


def ability_named(task: str) -> Ability:
    """The ability that a task asks about. Raises SnellenError for an unknown task."""
    if task not in ABILITIES:
        raise SnellenError(f"ava-bench has no task {task!r}; available: {', '.join(ABILITIES)}")
    return ABILITIES[task]


def atomic() -> tuple[str, ...]:
    """The names of abilities that are not composed of others; only these are ranked."""
    return names(ability for ability in ABILITIES.values() if not ability.parts)


def composites() -> tuple[str, ...]:
    """The names of composite tasks (sections 1 and 5, Figure 8a), which are part of no rank."""
    return names(ability for ability in ABILITIES.values() if ability.parts)


def names(abilities: Iterable[Ability]) -> tuple[str, ...]:
    """The names of abilities, in order."""
    return tuple(ability.name for ability in abilities)
