"""Close-ups of one tower each: a solid on another, both of one material, on a floor with a pattern.

The patterns have equal mean colours, contrasts and lengths of edges: a thumbnail or a histogram does not tell them
apart. Each close-up is a separate scene, with its own floor, light and camera, so that items about it are independent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from snellen.core.seeds import seed_of, stream
from snellen.stimuli.scenes import Appearance, Camera, Composite, RenderSpec, Solid, chain, clear_camera, move, turn
from snellen.stimuli.scenes.assembly import FLOOR_GAP_M, join_composite
from snellen.stimuli.scenes.floor_patterns import PATTERNS
from snellen.stimuli.scenes.model import COLOURED, COLOURS, Matrix3, Shape
from snellen.stimuli.scenes.shapes import bounds
from snellen.suites.ava_bench.items import DIFFICULTIES, EASY, HARD, STREAMS, SUITE
from snellen.suites.ava_bench.scenes.scenes import lit

TOWERS: Mapping[str, tuple[Shape, str]] = {
    "cube tower": ("cube", "face"),
    "drum tower": ("cylinder", "base"),
    "lampshade tower": ("frustum", "small base"),
}
"""Groups of fine-grained classes: the solid below and the anchor of the upper one."""
UPRIGHT, LYING, OVER = (turn((1.0, 0.0, 0.0), degrees) for degrees in (0.0, 90.0, 180.0))
ON_EDGE, ON_CORNER = turn((1.0, 0.0, 0.0), 45.0), turn((1.0, -1.0, 0.0), math.degrees(math.atan(math.sqrt(2))))
SPECIES: Mapping[str, tuple[Shape, str, Matrix3]] = {
    "cube on top": ("cube", "face", UPRIGHT),
    "cube on top, on an edge": ("cube", "face", ON_EDGE),
    "cube on top, on a corner": ("cube", "face", ON_CORNER),
    "ball on top": ("sphere", "surface", UPRIGHT),
    "drum on top": ("cylinder", "base", UPRIGHT),
    "drum on top, on its side": ("cylinder", "base", LYING),
    "cone on top, tip up": ("cone", "base", UPRIGHT),
    "cone on top, tip down": ("cone", "apex", UPRIGHT),
    "cone on top, on its side": ("cone", "base", LYING),
    "lampshade on top": ("frustum", "large base", UPRIGHT),
    "lampshade on top, upside down": ("frustum", "large base", OVER),
    "lampshade on top, on its side": ("frustum", "large base", LYING),
}
"""Classes of every group: they differ only in the upper solid."""
TEXTURES = PATTERNS
"""Textures of the floor."""
CONTRASTS: Mapping[str, float] = dict(zip(DIFFICULTIES, (0.6, 0.3, 0.12), strict=True))
"""Contrasts of textures by difficulty: the share of the floor's colour by which they are lighter and darker."""
STRIPE_PX = (6.0, 11.0)
"""Width of the stripes of a texture in the middle of an image 320 pixels wide; others have as much edge."""
FILLS: Mapping[str, tuple[float, float]] = dict(
    zip(DIFFICULTIES, ((0.78, 0.92), (0.38, 0.46), (0.19, 0.23)), strict=True)
)
"""Shares of the image's side that the ball around a tower spans, by difficulty of its species."""
LEAST_TOWER_PX, LEAST_UPPER = 28.0, 0.3
"""The least extent of a tower's upper solid, and its least share of the ball around the tower: what people can tell."""
SIDE_SHARE = 2 / 3
"""The side of a square close-up as a share of the height of other images; it shows only one thing."""
ELEVATION_DEG, LEAST_VISIBLE = (28.0, 44.0), 0.4
UPPER = 1
"""The index of a tower's upper solid."""


class CloseUpContent(NamedTuple):
    """The content of a close-up: the tower and its species, the floor's texture, and the difficulty of either."""

    tower: str
    species: str
    texture: str
    species_difficulty: str
    texture_difficulty: str


def draw_close_up(
    content: CloseUpContent, number: tuple[int, int], seed: int, split: str, size_px: tuple[int, int]
) -> RenderSpec:
    """The close-up of a tower; `number` is that of its display and its slot there."""
    rng = stream(SUITE, STREAMS, seed, "close-up", split, *number)
    # Glass would show the floor, and wood has a texture of its own.
    kind, colour = COLOURED[int(rng.integers(len(COLOURED)))], COLOURS[int(rng.integers(len(COLOURS)))]
    (below, anchor), (above, pivot, rotation) = TOWERS[content.tower], SPECIES[content.species]
    composite = Composite(Appearance(below, kind, colour), anchor, Appearance(above, kind, colour), pivot)
    spin = turn((0.0, 0.0, 1.0), float(rng.uniform(0, 360)))
    x, y = (float(place) for place in rng.uniform(0, 1, 2))
    parts = _rotated(*join_composite(composite)[0], rotation)
    scene = lit(tuple(on_floor(content.tower, [move(part, spin) for part in parts], (x, y))), rng)
    side = round(SIDE_SHARE * size_px[1])
    camera = clear_camera(
        scene,
        rng,
        least_visible=LEAST_VISIBLE,
        elevation_deg=ELEVATION_DEG,
        fill=_fill(content.species_difficulty, side),
        size_px=(side, side),
    )
    stripe_m = metres_across(camera) * float(rng.uniform(*STRIPE_PX)) / 320
    floor = replace(
        scene.floor, pattern=content.texture, stripe_m=stripe_m, contrast=CONTRASTS[content.texture_difficulty]
    )
    scene = replace(scene, floor=floor)
    return RenderSpec(scene, camera, seed_of(SUITE, STREAMS, seed, "close-up noise", split, *number))


def _fill(difficulty: str, side_px: int) -> tuple[float, float]:
    """The shares of `FILLS` of a difficulty, or those of the smallest towers that people can tell in this image."""
    least = LEAST_TOWER_PX / LEAST_UPPER / side_px
    smallest, largest = (least, least * FILLS[HARD][1] / FILLS[HARD][0]), FILLS[EASY]
    return min(max(FILLS[difficulty], smallest), largest)


def _rotated(lower: Solid, upper: Solid, rotation: Matrix3) -> tuple[Solid, Solid]:
    """The solids of a tower, the upper one rotated about its middle and again on top of the lower one."""
    pose = upper.pose
    upper = replace(upper, pose=replace(pose, rotation=chain(rotation, pose.rotation)))
    return lower, move(upper, shift_m=(0.0, 0.0, float(bounds((lower,))[1][2] - bounds((upper,))[0][2])))


def metres_across(camera: Camera) -> float:
    """The width of the image in metres at the point at which the camera looks."""
    distance = math.dist(camera.position_m, camera.target_m)
    return 2 * distance * math.tan(math.radians(camera.horizontal_fov_deg) / 2)


def on_floor(name: str, solids: Sequence[Solid], position: tuple[float, float]) -> list[Solid]:
    """The solids of one object on the floor, named `name/0`, `name/1` and so on."""
    low, _ = bounds(tuple(solids))
    shift = (*position, FLOOR_GAP_M - float(low[2]))
    return [replace(move(part, shift_m=shift), name=f"{name}/{n}") for n, part in enumerate(solids)]
