"""Object-centric cues, generated: composites shown again under a new view, light, floor and size.

A main object is one of the 9,504 composite blocks; its distractors differ from it in exactly one dimension each. Which
dimension that is, and every nuisance, is drawn from the seed.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from snellen.core.seeds import seed_of, stream
from snellen.stimuli.scenes import (
    DIMENSIONS,
    Floor,
    RenderSpec,
    Scene,
    all_composites,
    clear_camera,
    composite,
    composite_scene,
    turn,
)
from snellen.suites.vlm2_bench.generated.rooms import lit
from snellen.suites.vlm2_bench.items import SUITE, VERSION

PICTURES, DISTRACTORS = 4, 4
"""Pictures of a main object, and distractors of one picture each (appendix 4)."""
FLOORS = ((0.42, 0.42, 0.42), (0.24, 0.32, 0.47), (0.47, 0.35, 0.23), (0.62, 0.62, 0.62), (0.18, 0.18, 0.18))
"""Linear RGB."""
LIGHT = (0.55, 1.15)
"""Factor on all lights."""
TINTS = ((1.0, 1.0, 1.0), (1.1, 1.0, 0.86), (0.9, 1.0, 1.12))
"""Neutral, warm, cool: mild enough that every colour keeps its name."""
FILL = (0.5, 0.92)
"""Share of the picture's smaller side that the object spans: its scale."""
FACTORS: tuple[str, ...] = tuple(dict.fromkeys(dimension.split("/")[0] for dimension in DIMENSIONS))


@dataclass(frozen=True)
class Family:
    """A main object and its distractors, as places in `all_composites`."""

    main: int
    distractors: tuple[int, ...]

    def all(self) -> tuple[int, ...]:
        """The object of each of the eight pictures: four of the main one, then the distractors."""
        return (*(self.main for _ in range(PICTURES)), *self.distractors)


@functools.cache
def _by_all_but_one() -> Mapping[tuple[int, tuple[str, ...]], tuple[int, ...]]:
    """Objects by the values of all dimensions but one."""
    held: dict[tuple[int, tuple[str, ...]], list[int]] = {}
    for index, made in enumerate(all_composites()):
        values = tuple(made.dimensions().values())
        for left_out in range(len(DIMENSIONS)):
            held.setdefault((left_out, values[:left_out] + values[left_out + 1 :]), []).append(index)
    return {key: tuple(indices) for key, indices in held.items()}


def neighbours(index: int) -> dict[str, tuple[int, ...]]:
    """By dimension, the composites that differ from this one in that dimension alone; at least one each."""
    values = tuple(composite(index).dimensions().values())
    found = {}
    for place, dimension in enumerate(DIMENSIONS):
        alike = _by_all_but_one()[place, values[:place] + values[place + 1 :]]
        if others := tuple(other for other in alike if other != index):
            found[dimension] = others
    return found


def draw_family(rng: np.random.Generator) -> Family:
    """A main object and four distractors, each different in one dimension, over as many factors as there are."""
    while True:
        main = int(rng.integers(len(all_composites())))
        near = neighbours(main)
        order = [list(near)[int(n)] for n in rng.permutation(len(near))]
        by_factor = {dimension.split("/")[0]: dimension for dimension in reversed(order)}
        wanted = list(dict.fromkeys([*by_factor.values(), *order]))[:DISTRACTORS]
        if len(wanted) == DISTRACTORS:
            return Family(main, tuple(near[d][int(rng.integers(len(near[d])))] for d in wanted))


def look_of(index: int) -> dict[str, str]:
    """All eight dimensions of a composite."""
    return composite(index).dimensions()


@functools.lru_cache(maxsize=4096)
def picture_shot(index: int, seed: int, place: tuple[int, int], size_px: tuple[int, int]) -> RenderSpec:
    """The composite in a view, light, floor and scale drawn for `place`."""
    rng = stream(SUITE, VERSION, seed, "object", *place)
    scene = composite_scene(composite(index), rotation=turn((0.0, 0.0, 1.0), float(rng.uniform(0, 360))))
    camera = clear_camera(scene, rng, fill=FILL, elevation_deg=(20.0, 60.0), width_px=size_px[0], height_px=size_px[1])
    return RenderSpec(_dressed(scene, rng), camera, seed_of(SUITE, VERSION, seed, "noise", *place))


def _dressed(scene: Scene, rng: np.random.Generator) -> Scene:
    """Another floor and light."""
    floor, tint = FLOORS[int(rng.integers(len(FLOORS)))], TINTS[int(rng.integers(len(TINTS)))]
    return lit(dataclasses.replace(scene, floor=Floor(floor)), float(rng.uniform(*LIGHT)), tint)


def undecided_without(factor: str, looks: Sequence[Mapping[str, str]], question: str) -> bool:
    """Whether who misses a factor cannot answer about pictures of these looks.

    Two pictures that look the same to such an observer may be of the same object or not. `same` is answered by any two
    that look different; counts and groups need every two to.
    """

    def seen(look: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(value for dimension, value in look.items() if dimension.split("/")[0] != factor)

    told = [seen(look) for look in looks]
    pairs = [a != b for n, a in enumerate(told) for b in told[:n]]
    return not (any(pairs) if question == "same" else all(pairs))


def required(looks: Sequence[Mapping[str, str]], question: str) -> tuple[str, ...]:
    """The factors that a question about these looks cannot be answered without. `question` is `same` or `which`."""
    return tuple(factor for factor in FACTORS if undecided_without(factor, looks, question))
