"""Generated object-centric cues: composites shown repeatedly with different view, light, floor and size.

A main object is one of the 9,504 composite blocks; each distractor differs from it in exactly one dimension. This
dimension and all nuisance factors are drawn from the seed.
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
    Camera,
    Floor,
    RenderSpec,
    Scene,
    all_composites,
    clear_camera,
    composite,
    composite_scene,
    relight,
    turn,
)
from snellen.stimuli.scenes.highlights import highlight_shares
from snellen.suites.vlm2_bench.items import STREAMS, SUITE

IMAGES, DISTRACTORS = 4, 4
"""Images of a main object, and distractors, with one image each (appendix 4)."""
FLOORS = ((0.42, 0.42, 0.42), (0.24, 0.32, 0.47), (0.47, 0.35, 0.23), (0.62, 0.62, 0.62), (0.18, 0.18, 0.18))
"""Linear RGB."""
LIGHT = (0.55, 1.15)
"""Factor on all lights."""
TINTS = ((1.0, 1.0, 1.0), (1.1, 1.0, 0.86), (0.9, 1.0, 1.12))
"""Neutral, warm, cool: so mild that every colour keeps its name."""
FILL = (0.5, 0.92)
"""Share of the image's smaller side that the object spans."""
MIN_HIGHLIGHT, _TRIES = 0.03, 30
"""Minimum share of a metal solid that mirrors a light, so that it is not taken for paint; after this many views without
it, the best one is used. Judged by eye on renders: below 0.02 nothing glints, from 0.03 on at least an edge does."""
FACTORS: tuple[str, ...] = tuple(dict.fromkeys(dimension.split("/")[0] for dimension in DIMENSIONS))


@dataclass(frozen=True)
class ObjectFamily:
    """A main object and its distractors, as indices into `all_composites`."""

    main: int
    distractors: tuple[int, ...]

    def all(self) -> tuple[int, ...]:
        """The object of each of the eight images: four of the main one, then the distractors."""
        return (*(self.main for _ in range(IMAGES)), *self.distractors)

    def of_image(self, number: int) -> int:
        """The object of an image; numbers that are equal modulo eight are views of the same one."""
        return self.all()[number % len(self.all())]


@functools.cache
def _by_all_but_one() -> Mapping[tuple[int, tuple[str, ...]], tuple[int, ...]]:
    """Objects by the values of all dimensions but one."""
    indices_by_values: dict[tuple[int, tuple[str, ...]], list[int]] = {}
    for index, block in enumerate(all_composites()):
        values = tuple(block.dimensions().values())
        for left_out in range(len(DIMENSIONS)):
            indices_by_values.setdefault((left_out, values[:left_out] + values[left_out + 1 :]), []).append(index)
    return {key: tuple(indices) for key, indices in indices_by_values.items()}


def neighbours(index: int) -> dict[str, tuple[int, ...]]:
    """By dimension, the composites that differ from this one in that dimension alone, if there are any."""
    values = tuple(composite(index).dimensions().values())
    neighbours_by_dimension = {}
    for column, dimension in enumerate(DIMENSIONS):
        alike = _by_all_but_one()[column, values[:column] + values[column + 1 :]]
        if others := tuple(other for other in alike if other != index):
            neighbours_by_dimension[dimension] = others
    return neighbours_by_dimension


def draw_family(rng: np.random.Generator) -> ObjectFamily:
    """A main object and four distractors, each different in one dimension, covering as many factors as possible."""
    while True:
        main = int(rng.integers(len(all_composites())))
        near = neighbours(main)
        order = [list(near)[int(n)] for n in rng.permutation(len(near))]
        by_factor = {dimension.split("/")[0]: dimension for dimension in reversed(order)}
        dimensions = list(dict.fromkeys([*by_factor.values(), *order]))[:DISTRACTORS]
        if len(dimensions) == DISTRACTORS:
            return ObjectFamily(main, tuple(near[d][int(rng.integers(len(near[d])))] for d in dimensions))


def appearance_of(index: int) -> dict[str, str]:
    """All eight dimensions of a composite."""
    return composite(index).dimensions()


@functools.lru_cache(maxsize=4096)
def image_spec(index: int, seed: int, image_key: tuple[int, int], size_px: tuple[int, int]) -> RenderSpec:
    """The composite in a view, light, floor and scale drawn for `image_key`."""
    rng = stream(SUITE, STREAMS, seed, "object", *image_key)
    views: list[tuple[Scene, Camera, float]] = []
    while len(views) < _TRIES:
        scene = composite_scene(composite(index), rotation=turn((0.0, 0.0, 1.0), float(rng.uniform(0, 360))))
        camera = clear_camera(scene, rng, fill=FILL, elevation_deg=(20.0, 60.0), size_px=size_px)
        views.append((scene, camera, least_highlight(scene, camera)))
        if views[-1][2] >= MIN_HIGHLIGHT:
            break
    scene, camera, _ = max(views, key=lambda view: view[2])
    return RenderSpec(_with_background(scene, rng), camera, seed_of(SUITE, STREAMS, seed, "noise", *image_key))


def least_highlight(scene: Scene, camera: Camera) -> float:
    """The smallest share of highlights on a metal solid, at a quarter of the resolution; 1 without metal."""
    metal = [solid.name for solid in scene.solids if solid.material.kind == "metal"]
    return min(highlight_shares(scene, camera.quarter(), metal).values(), default=1.0)


def _with_background(scene: Scene, rng: np.random.Generator) -> Scene:
    """The scene with a random floor and light."""
    floor, tint = FLOORS[int(rng.integers(len(FLOORS)))], TINTS[int(rng.integers(len(TINTS)))]
    return relight(dataclasses.replace(scene, floor=Floor(floor)), float(rng.uniform(*LIGHT)), tint)


def undecided_without(factor: str, appearances: Sequence[Mapping[str, str]], question: str) -> bool:
    """True if an observer blind to a factor cannot answer a question about images with these appearances.

    Two images that look the same to this observer may show the same object or not. `same` is answered by any two that
    look different; counts and groups need all pairs to look different.
    """

    def seen_values(appearance: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(value for dimension, value in appearance.items() if dimension.split("/")[0] != factor)

    observed = [seen_values(appearance) for appearance in appearances]
    pairs = [a != b for n, a in enumerate(observed) for b in observed[:n]]
    return not (any(pairs) if question == "same" else all(pairs))


def required(appearances: Sequence[Mapping[str, str]], question: str) -> tuple[str, ...]:
    """The factors without which a question about these appearances cannot be answered: `same` or `which`."""
    return tuple(factor for factor in FACTORS if undecided_without(factor, appearances, question))
