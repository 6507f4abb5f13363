"""The video twin of identity description, generated.

An object crosses the floor and leaves, another one that shares all cues but one comes, and the first returns.

Every clip is as long as every other. When the first object returns it comes back the way it went, turned the other way
round in time, so that its second appearance is no copy of the first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from snellen.core.seeds import seed_of, stream
from snellen.stimuli.scenes import (
    Appearance,
    Camera,
    Composite,
    RenderSpec,
    Scene,
    chain,
    composite,
    composite_scene,
    move,
    text_name,
    turn,
)
from snellen.suites.vlm2_bench.generated.objects import neighbours
from snellen.suites.vlm2_bench.items import STREAMS, SUITE

FRAMES, FRAMES_A_SECOND = 48, 12
QUICK_FRAMES, QUICK_FRAMES_A_SECOND = 16, 4
"""For trying things out: clips last as long, and move less smoothly."""
HALF_WAY_M = 3.3
"""From the middle of the floor to where an object comes in or has left; just outside the image."""
VIDEOS_A_PAIR = 4
"""Videos made of two clips: either one first, in two parts and in three."""


@dataclass(frozen=True)
class ClipPair:
    """Two objects that differ in one dimension, in the same studio."""

    number: int
    first: int
    second: int
    differs: str


def draw_pair(seed: int, number: int) -> ClipPair:
    """A composite and one of its neighbours; shape, material and colour of the primary matter most to an eye."""
    rng = stream(SUITE, STREAMS, seed, "clips", number)
    while True:
        first = int(rng.integers(9504))
        near = neighbours(first)
        dimensions = [
            d for d in ("colour/primary", "material/primary", "shape/secondary", "colour/secondary") if d in near
        ]
        if dimensions:
            differs = dimensions[int(rng.integers(len(dimensions)))]
            return ClipPair(number, first, near[differs][int(rng.integers(len(near[differs])))], differs)


def clip_specs(index: int, pair: ClipPair, seed: int, frames: int, size_px: tuple[int, int]) -> list[RenderSpec]:
    """The frames of one clip: the object comes in from the left of the path, turns a little as it goes, and leaves."""
    rng = stream(SUITE, STREAMS, seed, "clip", pair.number)  # one studio, path and camera for both objects
    azimuth, turned = float(rng.uniform(0, 360)), float(rng.uniform(0, 360))
    speed_deg = float(rng.uniform(60, 120))
    scene, camera = composite_scene(composite(index)), _camera(azimuth, size_px)
    shots = []
    for frame in range(frames):
        share = frame / (frames - 1)
        spin = turn((0.0, 0.0, 1.0), turned + speed_deg * share)
        away = HALF_WAY_M * (2 * share - 1)
        course = math.radians(azimuth + 90)  # across the image
        shift = (away * math.cos(course), away * math.sin(course), 0.0)
        solids = tuple(move(solid, chain(spin), shift) for solid in scene.solids)
        frame_scene = Scene(solids, scene.floor, scene.lights, scene.dome)
        shots.append(
            RenderSpec(frame_scene, camera, seed_of(SUITE, STREAMS, seed, "clip noise", pair.number, index, frame))
        )
    return shots


def _camera(azimuth_deg: float, size_px: tuple[int, int]) -> Camera:
    away, up = 8.0, math.radians(28)
    x, y = math.cos(math.radians(azimuth_deg)), math.sin(math.radians(azimuth_deg))
    position = (away * math.cos(up) * x, away * math.cos(up) * y, away * math.sin(up) + 0.6)
    return Camera(position, (0.0, 0.0, 0.9), width_px=size_px[0], height_px=size_px[1])


def description(index: int, other: int, pattern: Literal["PQ", "PQP"]) -> str:
    """What a full description says: who comes, that another one follows, and that the first returns."""
    text = (
        f"First {spoken(composite(index))} crosses the floor from one side to the other and leaves. Then a different "
        f"object comes, {spoken(composite(other))}. The first and the second object are two different objects."
    )
    if pattern == "PQP":
        text += " At the end the first object returns: the last object is the same as the first."
    return text


def spoken(block: Composite) -> str:
    """A composite in words: both primitives and where they touch."""
    first, second = (_spoken_part(appearance) for appearance in (block.primary, block.secondary))
    anchor = text_name("contact-point/anchor", block.anchor)
    return f"{first} with {second} (joined by its {text_name('contact-point/pivot', block.pivot)}) on its {anchor}"


def _spoken_part(appearance: Appearance) -> str:
    colour = f"{appearance.colour} " if appearance.colour else ""
    return f"a {colour}{appearance.material} {text_name('shape', appearance.shape)}"
