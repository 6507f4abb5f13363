"""Assembles scenes: the joint of a composite, and the studio and light around it.

Positions and lights are ours; the ComBo paper says 'environment lighting and several point lights'.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
from numpy.typing import NDArray

from snellen.core.errors import SnellenError
from snellen.stimuli.scenes.composites import Appearance, Composite
from snellen.stimuli.scenes.model import (
    IDENTITY,
    AreaLight,
    Dome,
    Material,
    Matrix3,
    NamedPoint,
    Pose,
    Scene,
    Shape,
    Softbox,
    Solid,
    Vec3,
)
from snellen.stimuli.scenes.shapes import UNIT, Round, bounds, support
from snellen.stimuli.scenes.vectors import Array, apply_matrix, dot, lengths, unit_vector

SECONDARY_SCALE = 0.58
FLAT_GAP_M = 0.004
"""Gap between two flat faces: coplanar faces make glass black."""
SINK_M = 0.015
"""Depth by which a point, edge or curved contact is pressed in, so that it looks glued, not floating."""
FLOOR_GAP_M = 0.002

LIGHTS = (
    AreaLight((8.1, -6.3, 10.8), (0.0, 0.0, 0.7), 2.9, (26.0, 26.0, 25.2)),
    AreaLight((-9.0, -5.4, 8.1), (0.0, 0.0, 0.7), 3.6, (7.0, 7.0, 6.8)),
    AreaLight((-1.8, 9.9, 9.0), (0.0, 0.0, 0.7), 3.25, (10.0, 10.0, 9.7)),
)
"""Key, fill and back light: small panels instead of point lights, for soft shadows; farther away than any camera."""

DOME = Dome(
    softboxes=(
        Softbox(25, 55, 26, 14, 1.36),
        Softbox(140, 30, 10, 26, 0.99),
        Softbox(215, 50, 18, 18, 0.87),
        Softbox(300, 25, 12, 20, 0.93),
        Softbox(80, 20, 16, 7, 0.74),
        *(Softbox(azimuth, 14, 5, 11, 1.5) for azimuth in (5, 50, 110, 175, 205, 255, 335)),
    )
)
"""Windows of a studio, and strips low around the horizon: without them metal seen from above mirrors only the floor."""

_FLAT = {"face", "base", "small base", "large base"}


@functools.lru_cache(maxsize=64)
def turn(axis: Vec3, angle_deg: float) -> Matrix3:
    """Rotation by `angle_deg` about `axis` (right-handed), as rows."""
    x, y, z = unit_vector(axis)
    angle = math.radians(angle_deg)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return _rows(np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * apply_matrix(cross.T, cross))


def chain(*rotations: Matrix3) -> Matrix3:
    """The product of rotations; the last one is applied first."""
    product = np.eye(3)
    for rotation in rotations:
        product = apply_matrix(np.transpose(rotation), product)  # the rows of the product
    return _rows(product)


def _rows(matrix: NDArray[np.float64]) -> Matrix3:
    a, b, c = (tuple_of(row) for row in matrix)
    return a, b, c


def tuple_of(vector: Array) -> Vec3:
    """Three plain floats."""
    x, y, z = (float(value) for value in vector)
    return x, y, z


def contact_direction(shape: Shape, contact_point: str) -> Array:
    """Outward unit normal (3,) of the unit primitive at an anchor or pivot, in its own axes."""
    unit = UNIT[shape]
    if contact_point == "side" and isinstance(unit, Round):
        return np.array([math.cos(unit.slope_rad), 0.0, math.sin(unit.slope_rad)])
    directions: dict[tuple[str, str], tuple[float, float, float]] = {
        ("cube", "face"): (0, 0, 1),
        ("cube", "edge"): (1, 0, 1),
        ("cube", "vertex"): (1, 1, 1),
        ("sphere", "surface"): (0, 0, 1),
        ("cylinder", "base"): (0, 0, 1),
        ("cone", "apex"): (0, 0, 1),
        ("cone", "base"): (0, 0, -1),
        ("frustum", "small base"): (0, 0, 1),
        ("frustum", "large base"): (0, 0, -1),
    }
    if (shape, contact_point) not in directions:
        raise SnellenError(f"a {shape} has no contact point {contact_point!r}")
    direction = np.array(directions[shape, contact_point], float)
    return unit_vector(direction)


def _facing(direction: Array, goal: Array) -> Matrix3:
    """The smallest rotation that takes one unit direction to another; a half turn is about x."""
    axis, cosine = np.cross(direction, goal), float(dot(direction, goal))
    if lengths(axis) < 1e-9:
        return IDENTITY if cosine > 0 else turn((1.0, 0.0, 0.0), 180.0)
    return turn(tuple_of(axis), math.degrees(math.atan2(float(lengths(axis)), cosine)))


def _solid(name: str, appearance: Appearance, pose: Pose) -> Solid:
    return Solid(name, appearance.shape, Material(appearance.material, appearance.colour), pose)


def move(solid: Solid, rotation: Matrix3 = IDENTITY, shift_m: Vec3 = (0.0, 0.0, 0.0)) -> Solid:
    """The solid rotated about the world's origin, then shifted."""
    pose = solid.pose
    position = apply_matrix(rotation, pose.position_m) + np.array(shift_m)
    new = dataclasses.replace(pose, position_m=tuple_of(position), rotation=chain(rotation, pose.rotation))
    return dataclasses.replace(solid, pose=new)


def join_composite(blocks: Composite) -> tuple[tuple[Solid, Solid], Vec3]:
    """The two solids of a composite and their contact point, in the primary's own axes (the primary at the origin).

    The pivot's normal points against the anchor's, the two points meet, and the secondary is moved away by `FLAT_GAP_M`
    (two flat faces) or pressed in by `SINK_M` (anything else).
    """
    outward = contact_direction(blocks.primary.shape, blocks.anchor)
    contact = support(blocks.primary.shape, outward)
    inward = contact_direction(blocks.secondary.shape, blocks.pivot)
    rotation = _facing(inward, -outward)
    pivot = SECONDARY_SCALE * apply_matrix(rotation, support(blocks.secondary.shape, inward))
    flat = blocks.anchor in _FLAT and blocks.pivot in _FLAT
    position = contact - pivot + (FLAT_GAP_M if flat else -SINK_M) * outward
    second = _solid("secondary", blocks.secondary, Pose(tuple_of(position), rotation, SECONDARY_SCALE))
    return (_solid("primary", blocks.primary, Pose()), second), tuple_of(contact)


def composite_scene(blocks: Composite, *, rotation: Matrix3 | None = None) -> Scene:
    """The composite in the studio: standing on the floor, its upright bounding box centred above the origin.

    A frustum joined by its large base stands on the small one, a cone joined by its base on its apex. `rotation` is
    applied to the assembled object before it is placed on the floor. Solids are named 'primary' and 'secondary', the
    joint is the named point 'contact'.
    """
    solids, contact = join_composite(blocks)
    hanging = contact_direction(blocks.primary.shape, blocks.anchor)[2] < -0.9
    upright = turn((1.0, 0.0, 0.0), 180.0) if hanging else IDENTITY
    orientation = chain(rotation or IDENTITY, upright)
    turned = tuple(move(solid, orientation) for solid in solids)
    low, high = bounds(turned)
    shift = tuple_of(np.array([-(low[0] + high[0]) / 2, -(low[1] + high[1]) / 2, FLOOR_GAP_M - low[2]]))
    point = tuple_of(apply_matrix(orientation, contact) + np.array(shift))
    return studio(tuple(move(solid, shift_m=shift) for solid in turned), (NamedPoint("contact", point),))


def studio(solids: tuple[Solid, ...], points: tuple[NamedPoint, ...] = ()) -> Scene:
    """Solids on the grey floor under the three panels and the dome."""
    return Scene(solids, lights=LIGHTS, dome=DOME, points=points)


def relight(scene: Scene, factor: float, tint: Vec3 = (1.0, 1.0, 1.0), dome_factor: float = 1.0) -> Scene:
    """The scene with every light and the dome times `factor`, the dome also times `dome_factor`.

    `tint` is a factor on linear red, green and blue. It does not affect softboxes, which have one radiance for all
    three.
    """

    def scaled(colour: Vec3, factor: float) -> Vec3:
        r, g, b = (factor * level * shade for level, shade in zip(colour, tint, strict=True))
        return r, g, b

    lights = tuple(
        dataclasses.replace(light, radiance_linear_rgb=scaled(light.radiance_linear_rgb, factor))
        for light in scene.lights
    )
    around = factor * dome_factor
    dome = dataclasses.replace(
        scene.dome,
        horizon_linear_rgb=scaled(scene.dome.horizon_linear_rgb, around),
        zenith_linear_rgb=scaled(scene.dome.zenith_linear_rgb, around),
        softboxes=tuple(dataclasses.replace(box, radiance=box.radiance * around) for box in scene.dome.softboxes),
    )
    return dataclasses.replace(scene, lights=lights, dome=dome)
