"""Objects on a table: their place in the scene, and the room that they take in the image at a scale."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import product

from snellen.stimuli.scenes import Material, Solid, turn
from snellen.stimuli.scenes.assembly import FLOOR_GAP_M, tuple_of
from snellen.stimuli.scenes.model import Vec3
from snellen.stimuli.scenes.shapes import outer_points
from snellen.suites.ava_bench.scenes.materials import TABLE_MATERIALS
from snellen.suites.ava_bench.scenes.scenes import Rect, extent, seen_box, share_of, stretched_solid
from snellen.suites.ava_bench.scenes.table_contents import KINDS
from snellen.suites.ava_bench.scenes.viewpoints import AHEAD_M, Viewpoint


@dataclass(frozen=True)
class TableObject:
    """A thing of a kind at a position on the floor, or raised above it by a height."""

    kind: str
    position_m: tuple[float, float]
    turn_deg: float
    height_m: float = 0.0

    def centre(self, scale: float) -> Vec3:
        """Its middle at a scale."""
        shape, factors = KINDS[self.kind]
        return *self.position_m, scale * extent(shape)[2] * factors[2] / 2 + FLOOR_GAP_M + self.height_m

    def solid(self, name: str, material: Material, scale: float) -> Solid:
        """The solid of a scene."""
        shape, factors = KINDS[self.kind]
        x, y, z = (scale * unit * factor for unit, factor in zip(extent(shape), factors, strict=True))
        rotation = turn((0.0, 0.0, 1.0), self.turn_deg)
        return stretched_solid(name, shape, material, self.centre(scale), (x, y, z), rotation)

    def inner_box(self, scale: float, viewpoint: Viewpoint) -> Rect:
        """A box in the image that its own contains: around some points of its surface."""
        return self._box(_surface(self.kind), scale, viewpoint)

    def outer_box(self, scale: float, viewpoint: Viewpoint) -> Rect:
        """A box in the image that contains its own: around the corners of the box around it."""
        return self._box(_box_corners(self.kind), scale, viewpoint)

    def _box(self, points: tuple[Vec3, ...], scale: float, viewpoint: Viewpoint) -> Rect:
        """The box in the image around points of it at scale 1, in plain floats."""
        cosine, sine = math.cos(math.radians(self.turn_deg)), math.sin(math.radians(self.turn_deg))
        x, y, z = self.centre(scale)
        pixels = [
            viewpoint.pixel(x + scale * (u * cosine - v * sine), y + scale * (u * sine + v * cosine), z + scale * w)
            for u, v, w in points
        ]
        across, along = zip(*pixels, strict=True)
        return min(across), min(along), max(across), max(along)

    def least_scale(self, share: float, viewpoint: Viewpoint) -> float:
        """A scale at which it surely fills less than that share of the image; not much less, as a rule."""
        scale = self._first_scale(share, viewpoint)
        scale *= math.sqrt(0.95 * share / share_of(self.outer_box(scale, viewpoint), viewpoint.camera))
        while share_of(self.outer_box(scale, viewpoint), viewpoint.camera) >= share:
            scale *= 0.95
        return scale

    def scale_for(self, share: float, viewpoint: Viewpoint) -> float:
        """The scale at which it fills about that share of the image, in two steps."""
        scale = self._first_scale(share, viewpoint)
        for _ in range(2):
            solid = self.solid("0", TABLE_MATERIALS[0], scale)
            scale *= math.sqrt(share / share_of(seen_box(solid, viewpoint.camera), viewpoint.camera))
        return scale

    def _first_scale(self, share: float, viewpoint: Viewpoint) -> float:
        return 0.3 * math.sqrt(share) * viewpoint.half_width_m(self.position_m[1] + AHEAD_M, self.height_m)


@cache
def _surface(kind: str) -> tuple[Vec3, ...]:
    """Some points of the surface of a thing at scale 1 about its middle."""
    shape, factors = KINDS[kind]
    return tuple(tuple_of(point) for point in outer_points(shape) * factors)


@cache
def _box_corners(kind: str) -> tuple[Vec3, ...]:
    """The corners of the box around a thing at scale 1, about its middle."""
    shape, factors = KINDS[kind]
    x, y, z = (unit * factor / 2 for unit, factor in zip(extent(shape), factors, strict=True))
    return tuple(product((-x, x), (-y, y), (-z, z)))
