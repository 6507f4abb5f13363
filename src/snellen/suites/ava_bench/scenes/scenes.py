"""Shared parts of generated images: floor, light, balanced draws, and boxes of things in the image.

Sizes, lights and cameras are ours; the paper takes photographs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TypeVar

import numpy as np

from snellen.stimuli.scenes import AreaLight, Camera, Floor, Material, Pose, Scene, Solid, studio
from snellen.stimuli.scenes.model import IDENTITY, Matrix3, Shape, Vec3
from snellen.stimuli.scenes.raster import project
from snellen.stimuli.scenes.shapes import UNIT, Ball, place_points, unit_mesh
from snellen.stimuli.scenes.shapes import Box as Cube
from snellen.stimuli.scenes.truth import box_round
from snellen.suites.ava_bench.items import box_area

T = TypeVar("T")
Rect = tuple[float, float, float, float]
"""[x1, y1, x2, y2] in pixels."""
SLOTS = 3
"""Items per ability that an image serves."""
ROUNDS = 4
"""The number of times that `levelled` repeats every choice; with more, hardly any choice changes."""
FARTHER = 3.0
"""Factor on distance and size of the light panels, for even light on a wide floor."""
FLOOR_RGB = (0.34, 0.62)
"""Range of linear reflectance for each channel of a floor: pale, so that every solid stands out."""
LIGHT = (0.7, 1.1)
"""Factor on all light."""


def dealt(values: Sequence[T], count: int, rng: np.random.Generator) -> list[T]:
    """`count` values, all equally often or once more, from concatenated shuffles."""
    cards: list[T] = []
    while len(cards) < count:
        cards += [values[int(n)] for n in rng.permutation(len(values))]
    return cards[:count]


def log_uniform(low: float, high: float, rng: np.random.Generator) -> float:
    """A number between two bounds, uniform on a logarithmic scale."""
    return low * math.exp(math.log(high / low) * float(rng.uniform()))


Tally = Counter[tuple[str, Hashable]]
"""Counts so far by (factor, level)."""


def evenly(
    candidates: Sequence[T],
    levels: Callable[[T], Mapping[str, Hashable]],
    sizes: Mapping[str, int],
    tally: Tally,
    rng: np.random.Generator,
) -> T:
    """The candidate that keeps its factors most balanced, added to `tally`; ties are broken at random.

    `levels` gives a candidate's level of each factor, `sizes` the number of levels of a factor: each use of one level
    of nine costs nine. Raises ValueError without candidates.
    """
    candidate_levels = [levels(candidate) for candidate in candidates]
    chosen = _least_used(candidate_levels, range(len(candidates)), sizes, tally, rng)
    tally.update(candidate_levels[chosen].items())
    return candidates[chosen]


def _least_used(
    candidate_levels: Sequence[Mapping[str, Hashable]],
    among: Sequence[int],
    sizes: Mapping[str, int],
    tally: Tally,
    rng: np.random.Generator,
) -> int:
    costs = [sum(sizes[factor] * tally[factor, level] for factor, level in candidate_levels[n].items()) for n in among]
    least_used = [n for n, cost in zip(among, costs, strict=True) if cost == min(costs)]
    return least_used[int(rng.integers(len(least_used)))]


def levelled(
    candidates: Sequence[Sequence[Mapping[str, Hashable]]],
    image_indices: Sequence[int],
    sizes: Mapping[str, int],
    rng: np.random.Generator,
) -> list[int]:
    """For each item the index of one of its candidates, such that levels are as equally frequent as possible.

    Choices are made as by `evenly`; then each is revoked and repeated `ROUNDS` times, given all others. Items about one
    image (`image_indices`: one number per item) have the same candidates and never choose the same one. Raises
    ValueError if an image has fewer candidates than items.
    """
    tally, chosen, taken = Tally(), dict[int, int](), set[tuple[int, int]]()
    for _ in range(1 + ROUNDS):
        for item, (candidate_levels, image) in enumerate(zip(candidates, image_indices, strict=True)):
            if item in chosen:
                tally.subtract(candidate_levels[chosen[item]].items())
                taken.remove((image, chosen[item]))
            free = [n for n in range(len(candidate_levels)) if (image, n) not in taken]
            chosen[item] = _least_used(candidate_levels, free, sizes, tally, rng)
            tally.update(candidate_levels[chosen[item]].items())
            taken.add((image, chosen[item]))
    return [chosen[item] for item in range(len(candidates))]


@cache
def extent(shape: Shape) -> Vec3:
    """Width, depth and height of a unit primitive in metres."""
    unit = UNIT[shape]
    if isinstance(unit, Cube):
        return unit.side_m, unit.side_m, unit.side_m
    if isinstance(unit, Ball):
        return 2 * unit.radius_m, 2 * unit.radius_m, 2 * unit.radius_m
    across = 2 * max(unit.bottom_radius_m, unit.top_radius_m)
    return across, across, unit.height_m


def stretched_solid(
    name: str, shape: Shape, material: Material, centre_m: Vec3, size_m: Vec3, rotation: Matrix3 = IDENTITY
) -> Solid:
    """A primitive stretched to `size_m` along its own axes, then turned."""
    x, y, z = (size / unit for size, unit in zip(size_m, extent(shape), strict=True))
    return Solid(name, shape, material, Pose(centre_m, rotation, stretch=(x, y, z)))


def lit(solids: tuple[Solid, ...], rng: np.random.Generator) -> Scene:
    """Solids on a pale floor under a light of some strength."""
    scene, factor = studio(solids), float(rng.uniform(*LIGHT))
    red, green, blue = (float(level) for level in rng.uniform(*FLOOR_RGB, 3))
    dome = replace(
        scene.dome,
        horizon_linear_rgb=_times(scene.dome.horizon_linear_rgb, factor),
        zenith_linear_rgb=_times(scene.dome.zenith_linear_rgb, factor),
        softboxes=tuple(replace(box, radiance=box.radiance * factor) for box in scene.dome.softboxes),
    )
    lights = tuple(_farther(light, factor) for light in scene.lights)
    return replace(scene, floor=Floor((red, green, blue)), dome=dome, lights=lights)


def _times(radiance: Vec3, factor: float) -> Vec3:
    return radiance[0] * factor, radiance[1] * factor, radiance[2] * factor


def _farther(light: AreaLight, factor: float) -> AreaLight:
    x, y, z = light.position_m
    return replace(
        light,
        position_m=(x * FARTHER, y * FARTHER, z * FARTHER),
        side_m=light.side_m * FARTHER,
        radiance_linear_rgb=_times(light.radiance_linear_rgb, factor),
    )


def seen_box(solid: Solid, camera: Camera) -> Rect:
    """The box around a whole solid in the image, hidden or not."""
    pixels, _ = project(camera, place_points(unit_mesh(solid.shape, 1).vertices, solid.pose))
    return box_round(pixels)


def shorter_side(box: Rect) -> float:
    """The shorter side of a box."""
    return min(box[2] - box[0], box[3] - box[1])


def apart(box: Rect, other: Rect, gap_px: float = 0.0) -> bool:
    """True if two boxes have at least that gap between them, horizontally or vertically."""
    return (
        box[2] + gap_px <= other[0]
        or other[2] + gap_px <= box[0]
        or box[3] + gap_px <= other[1]
        or other[3] + gap_px <= box[1]
    )


def clear(box: Rect, other: Rect, gap_px: float = 0.0) -> bool:
    """True if two boxes share neither rows nor columns of pixels, with at least that gap in both directions."""
    across = box[2] + gap_px <= other[0] or other[2] + gap_px <= box[0]
    along = box[3] + gap_px <= other[1] or other[3] + gap_px <= box[1]
    return across and along


def share_of(box: Rect, camera: Camera) -> float:
    """The area of a box as a share of the image's, 0 to 1."""
    return box_area(box) / (camera.width_px * camera.height_px)


def inside(box: Rect, camera: Camera, border_px: float) -> bool:
    """True if a box is inside the image and clear of its border."""
    return (
        min(box[0], box[1]) >= border_px
        and box[2] <= camera.width_px - border_px
        and box[3] <= camera.height_px - border_px
    )


def towards(camera: Camera, x_m: float, y_m: float) -> float:
    """The direction of the camera from a point on the floor, in degrees on the floor."""
    return math.degrees(math.atan2(camera.position_m[1] - y_m, camera.position_m[0] - x_m))
