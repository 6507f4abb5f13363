"""The five primitives: sizes, rounded surfaces, triangle meshes and analytic extents.

Each primitive is a core (box, point or truncated cone) grown by a ball of its rounding radius, so its support function
has a closed form: extents, contacts and clearances need no mesh. Sizes are ours; the ComBo paper gives none.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from snellen.stimuli.scenes.model import Pose, Shape, Solid
from snellen.stimuli.scenes.vectors import Array, apply_matrix, dot, lengths, unit_vector

Surface = Callable[[Array, Array], tuple[Array, Array]]


@dataclasses.dataclass(frozen=True)
class Box:
    """A cube of the given side; edges rounded by `rounding_m`."""

    side_m: float
    rounding_m: float


@dataclasses.dataclass(frozen=True)
class Round:
    """A solid of revolution: radius at the bottom and at the top, height, edges rounded by `rounding_m`."""

    bottom_radius_m: float
    top_radius_m: float
    height_m: float
    rounding_m: float

    @property
    def slope_rad(self) -> float:
        """Angle by which the side's outward normal points up, in radians (0 for a cylinder)."""
        return math.atan2(self.bottom_radius_m - self.top_radius_m, self.height_m)

    def core(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """(radius, z) of the lower and upper circle of the core, z measured from half height."""
        normal_r, normal_z = math.cos(self.slope_rad), math.sin(self.slope_rad)
        half, rho = self.height_m / 2, self.rounding_m

        def radius_at(z: float) -> float:
            return self.bottom_radius_m - (rho + normal_z * (z + half)) / normal_r

        low, high = -half + rho, half - rho
        if radius_at(high) < 0:  # a cone: the core ends in its own tip
            high = (normal_r * self.bottom_radius_m - rho) / normal_z - half
        return (radius_at(low), low), (max(radius_at(high), 0.0), high)


@dataclasses.dataclass(frozen=True)
class Ball:
    """A sphere."""

    radius_m: float


class Arc(NamedTuple):
    """A part of a profile in the (r, z) plane, by the angle of its outward normal (-90 down, 0 out, 90 up)."""

    centre_r_m: float
    centre_z_m: float
    radius_m: float
    start_deg: float
    end_deg: float


UNIT: dict[Shape, Box | Ball | Round] = {
    "cube": Box(1.30, 0.045),
    "sphere": Ball(0.78),
    "cylinder": Round(0.64, 0.64, 1.40, 0.035),
    "cone": Round(0.74, 0.0, 1.55, 0.03),
    "frustum": Round(0.80, 0.42, 1.30, 0.035),
}
"""The unit primitives (pose.scale 1)."""


def support(shape: Shape, direction: Array) -> Array:
    """The point of the unit primitive farthest along `direction` (3,), in its own axes, (3,) metres.

    If a whole face, edge or line is equally far, its midpoint.
    """
    d = unit_vector(direction)
    unit = UNIT[shape]
    if isinstance(unit, Ball):
        return np.asarray(unit.radius_m * d)
    rho = unit.rounding_m
    if isinstance(unit, Box):
        corner = np.where(np.abs(d) < 1e-9, 0.0, np.sign(d))
        return np.asarray((unit.side_m / 2 - rho) * corner + rho * d)
    across = math.hypot(d[0], d[1])
    outward = d[:2] / across if across > 1e-9 else np.zeros(2)
    ends = [np.array([*(radius * outward), z]) for radius, z in unit.core()]
    reach = [float(dot(end, d)) for end in ends]
    if abs(reach[0] - reach[1]) < 1e-9:
        return np.asarray((ends[0] + ends[1]) / 2 + rho * d)
    return np.asarray(ends[int(reach[1] > reach[0])] + rho * d)


def reach(solid: Solid, direction: Array) -> float:
    """Extent of a placed solid along a world `direction` (3,), in metres from the world's origin."""
    return _reach(solid.shape, *affine(solid.pose), unit_vector(direction))


def _reach(shape: Shape, matrix: Array, position: Array, direction: Array) -> float:
    local = apply_matrix(matrix.T, direction)
    return float(dot(support(shape, local), local) + dot(position, direction))


@functools.lru_cache(maxsize=256)  # every camera of a scene needs the same box
def bounds(solids: tuple[Solid, ...]) -> tuple[Array, Array]:
    """Lower and upper corner of the smallest upright box around the solids, each (3,) metres; read-only."""
    placed = [(solid.shape, *affine(solid.pose)) for solid in solids]
    axes = np.eye(3)
    low = [min(-_reach(*solid, -axis) for solid in placed) for axis in axes]
    high = [max(_reach(*solid, axis) for solid in placed) for axis in axes]
    corners = np.array([low, high])
    corners.setflags(write=False)
    return corners[0], corners[1]


def lowest_m(solids: Iterable[Solid]) -> float:
    """Height in metres of the lowest point, as in `bounds`, at a sixth of its cost."""
    down = -np.eye(3)[2]
    return min(-_reach(solid.shape, *affine(solid.pose), down) for solid in solids)


def radius_about(solids: tuple[Solid, ...], point: Array) -> float:
    """Radius in metres of the smallest ball about a point (3,) that contains all solids."""
    clouds = [place_points(unit_mesh(solid.shape, 1).vertices, solid.pose) for solid in solids]
    return max(float(lengths(cloud - point).max()) for cloud in clouds)


def affine(pose: Pose) -> tuple[Array, Array]:
    """(3, 3) matrix and (3,) shift with world = matrix @ local + shift."""
    return np.array(pose.rotation) * (pose.scale * np.array(pose.stretch)), np.array(pose.position_m)


@dataclasses.dataclass(frozen=True)
class Patch:
    """A part of a surface over (u, v) in [0, 1]^2, cut at the knots into triangles.

    `surface` maps u, v (any equal shape) to points and unit normals (shape + 3). `tile` is the patch's corner and size
    (u, v, width, height) in the primitive's texture.
    """

    surface: Surface
    u_knots: Array
    v_knots: Array
    tile: tuple[float, float, float, float] = (0.0, 0.0, 1.0, 1.0)


@dataclasses.dataclass(frozen=True)
class Mesh:
    """Triangles, counter-clockwise from outside.

    vertices (n, 3) metres, normals (n, 3) unit, uv (n, 2) in [0, 1], faces (m, 3) vertex numbers.
    """

    vertices: Array
    normals: Array
    uv: Array
    faces: NDArray[np.int64]


def place_mesh(mesh: Mesh, pose: Pose) -> Mesh:
    """The mesh in world coordinates."""
    # Normals transform by the inverse transpose, which for a rotation after a stretch needs no matrix inversion.
    normals = apply_matrix(pose.rotation, mesh.normals / np.array(pose.stretch))
    normals /= lengths(normals)[:, None]
    return Mesh(place_points(mesh.vertices, pose), normals, mesh.uv, mesh.faces)


def place_points(points: Array, pose: Pose) -> Array:
    """Points (n, 3) of a primitive in world coordinates."""
    matrix, shift = affine(pose)
    return np.asarray(apply_matrix(matrix, points) + shift)


@functools.cache
def outer_points(shape: Shape) -> Array:
    """The vertices (n, 3) of a unit primitive farthest out in the 26 directions of a cube's neighbours."""
    vertices = unit_mesh(shape, 1).vertices
    directions = np.array([direction for direction in itertools.product((-1, 0, 1), repeat=3) if any(direction)])
    return np.asarray(vertices[np.unique(dot(vertices[:, None], directions).argmax(axis=0))])


@functools.cache
def unit_mesh(shape: Shape, detail: int = 2) -> Mesh:
    """Triangles of a unit primitive; `detail` 2 for images, 1 for thumbnails (a quarter as many)."""
    return join_meshes([_tessellate(patch) for patch in patches(shape, detail)])


def join_meshes(meshes: Sequence[Mesh]) -> Mesh:
    """All triangles of one or more meshes as a single mesh."""
    starts = np.cumsum([0] + [len(mesh.vertices) for mesh in meshes[:-1]])
    return Mesh(
        np.concatenate([mesh.vertices for mesh in meshes]),
        np.concatenate([mesh.normals for mesh in meshes]),
        np.concatenate([mesh.uv for mesh in meshes]),
        np.concatenate([mesh.faces + start for mesh, start in zip(meshes, starts, strict=True)]),
    )


def patches(shape: Shape, detail: int = 2) -> tuple[Patch, ...]:
    """The surface of a unit primitive in patches; also used to paint textures."""
    unit = UNIT[shape]
    if isinstance(unit, Box):
        return tuple(_cube_face(unit, face, detail) for face in range(6))
    if isinstance(unit, Ball):
        surface = _revolved([Arc(0.0, 0.0, unit.radius_m, -90.0, 90.0)])
        return (Patch(surface, np.linspace(0, 1, 48 * detail + 1), np.linspace(0, 1, 24 * detail + 1)),)
    (low_radius, low), (high_radius, high) = unit.core()
    side = math.degrees(unit.slope_rad)
    arcs = [Arc(low_radius, low, unit.rounding_m, -90.0, side), Arc(high_radius, high, unit.rounding_m, side, 90.0)]
    profile = _profile(arcs, 3 * detail)
    along = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(profile[:, :2], axis=0), axis=1))])
    return (Patch(_revolved(arcs), np.linspace(0, 1, 48 * detail + 1), along / along[-1]),)


def _profile(arcs: list[Arc], steps: int) -> Array:
    """Rows (radius, z, normal angle in radians) from the bottom of the axis to its top along the arcs."""
    rows = []
    for arc in arcs:
        angle = np.radians(np.linspace(arc.start_deg, arc.end_deg, steps + 1))
        r, z = arc.centre_r_m + arc.radius_m * np.cos(angle), arc.centre_z_m + arc.radius_m * np.sin(angle)
        rows.append(np.stack([r, z, angle], axis=1))
    profile = np.concatenate(rows)
    axis_bottom = [0.0, profile[0, 1], -math.pi / 2]
    axis_top = [0.0, profile[-1, 1], math.pi / 2]
    profile = np.concatenate([[axis_bottom], profile, [axis_top]])
    profile[:, 0] = np.maximum(profile[:, 0], 0.0)
    length = np.linalg.norm(np.diff(profile[:, :2], axis=0), axis=1)
    return np.asarray(profile[np.concatenate([[True], length > 1e-9])])


def _revolved(arcs: list[Arc]) -> Surface:
    """A surface of revolution: u runs around the axis, v along the profile by arc length."""
    profile = _profile(arcs, 96 if len(arcs) == 1 else 12)
    along = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(profile[:, :2], axis=0), axis=1))])

    def surface(u: Array, v: Array) -> tuple[Array, Array]:
        radius, z, angle = (np.interp(v * along[-1], along, profile[:, k]) for k in range(3))
        turn = 2 * np.pi * u
        round_about = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
        points = np.concatenate([radius[..., None] * round_about, z[..., None]], axis=-1)
        normals = np.concatenate([np.cos(angle)[..., None] * round_about, np.sin(angle)[..., None]], axis=-1)
        return points, normals

    return surface


def _cube_face(box: Box, face: int, detail: int) -> Patch:
    """Face `face` of 6: axis face % 3, on the positive side for faces 0 to 2. Each has a sixth of the texture."""
    axis, sign = face % 3, 1.0 if face < 3 else -1.0
    half, core = box.side_m / 2, box.side_m / 2 - box.rounding_m

    def surface(u: Array, v: Array) -> tuple[Array, Array]:
        flat = np.empty((*u.shape, 3))
        flat[..., axis] = sign * half
        flat[..., (axis + 1) % 3] = (2 * u - 1) * half * sign
        flat[..., (axis + 2) % 3] = (2 * v - 1) * half
        centre = np.clip(flat, -core, core)
        normals = flat - centre
        normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
        return centre + box.rounding_m * normals, normals

    edge = box.rounding_m / box.side_m
    round_knots = edge * (1 - np.tan(np.linspace(np.pi / 4, 0, 3 * detail + 1)))
    knots = np.concatenate([round_knots, np.linspace(edge, 1 - edge, 2 * detail + 1)[1:-1], 1 - round_knots[::-1]])
    tile = (axis / 3 + 0.005, (face // 3) / 2 + 0.005, 1 / 3 - 0.01, 1 / 2 - 0.01)
    return Patch(surface, knots, knots, tile)


def _tessellate(patch: Patch) -> Mesh:
    u, v = np.meshgrid(patch.u_knots, patch.v_knots)
    points, normals = patch.surface(u, v)
    tile_left, bottom, width, height = patch.tile
    uv = np.stack([tile_left + width * u, bottom + height * v], axis=-1)
    number = np.arange(u.size).reshape(u.shape)
    a, b, c, d = number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1]
    faces = np.concatenate([np.stack([a, b, c], -1).reshape(-1, 3), np.stack([a, c, d], -1).reshape(-1, 3)])
    points = points.reshape(-1, 3)
    corner = points[faces]
    area = np.linalg.norm(np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]), axis=1)
    return Mesh(points, normals.reshape(-1, 3), uv.reshape(-1, 2), faces[area > 1e-10])
