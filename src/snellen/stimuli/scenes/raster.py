"""A numpy rasteriser, exact at pixel centres: the visible triangle of each pixel, for truth and toy images."""

from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from snellen.stimuli.scenes.model import Camera
from snellen.stimuli.scenes.shapes import Mesh
from snellen.stimuli.scenes.vectors import Array, apply_matrix, lengths, unit_vector

_NEAR_M = 1e-3


@dataclasses.dataclass(frozen=True)
class Frame:
    """A camera's axes: world = position + x * right - y * up + z * forward, and pixels per unit of x/z."""

    position: Array
    right: Array
    up: Array
    forward: Array
    focal_px: float


@dataclasses.dataclass(frozen=True)
class Hits:
    """The pixels (n,) that a mesh covers, ascending, as row * width + column, with the hit of each.

    distance_m (n,) along the ray in metres; face (n,) triangle number; weights (3, n) of the triangle's corners there.
    """

    pixel: NDArray[np.int64]
    distance_m: Array
    face: NDArray[np.int64]
    weights: Array


@functools.lru_cache(maxsize=64)
def frame(camera: Camera) -> Frame:
    """The axes of a camera; square pixels, the image's centre on the axis."""
    position = np.array(camera.position_m)
    forward = unit_vector(np.array(camera.target_m) - position)
    right = unit_vector(np.cross(forward, np.array(camera.up)))
    focal = camera.width_px / 2 / np.tan(np.radians(camera.horizontal_fov_deg) / 2)
    return Frame(position, right, np.cross(right, forward), forward, float(focal))


def project(camera: Camera, points: Array) -> tuple[Array, Array]:
    """World points (n, 3) as pixel coordinates (n, 2) and depth along the optical axis (n,) in metres.

    Pixel coordinates are continuous: (0, 0) is the top left corner of the image, pixel i covers [i, i + 1). Points
    behind the camera have negative depth and meaningless pixels.
    """
    axes = frame(camera)
    right, up, depth = apply_matrix((axes.right, axes.up, axes.forward), np.asarray(points, float) - axes.position).T
    safe = np.where(np.abs(depth) < 1e-12, 1e-12, depth)
    pixels = np.empty((len(depth), 2))
    pixels[:, 0] = camera.width_px / 2 + axes.focal_px * right / safe
    pixels[:, 1] = camera.height_px / 2 - axes.focal_px * up / safe
    return pixels, depth


@functools.lru_cache(maxsize=2)
def rays(camera: Camera) -> Array:
    """Direction (height, width, 3) through each pixel's centre, 1 m long along the optical axis; read-only."""
    axes = frame(camera)
    x = (np.arange(camera.width_px) + 0.5 - camera.width_px / 2) / axes.focal_px
    y = (np.arange(camera.height_px) + 0.5 - camera.height_px / 2) / axes.focal_px
    across = x[None, :, None] * axes.right - y[:, None, None] * axes.up
    directions = np.asarray(axes.forward + across)
    directions.setflags(write=False)
    return directions


@functools.lru_cache(maxsize=8)
def ray_lengths(camera: Camera) -> Array:
    """Lengths (height, width) of the `rays`, in metres."""
    return lengths(rays(camera))


def rasterise(camera: Camera, mesh: Mesh) -> Hits:
    """The nearest triangle of a closed mesh at each pixel's centre, without triangles reaching behind the camera."""
    cover = _cover(camera, mesh.vertices, mesh.faces)
    pixel, distance = _nearest(camera, cover)
    visible = np.flatnonzero(cover.nearness == cover.buffer[cover.pixel])
    last = np.empty(len(cover.buffer), np.int64)  # of equally near triangles, the last one counts
    last[cover.pixel[visible]] = visible
    chosen = last[pixel - cover.start]
    weights = np.array([part[chosen] for part in cover.parts]) / cover.nearness[chosen]
    return Hits(pixel, distance, cover.face[chosen], weights)


def distances(camera: Camera, points: Array, faces: NDArray[np.int64]) -> tuple[NDArray[np.int64], Array]:
    """`pixel` and `distance_m` of `rasterise`, only from corners (n, 3) and triangles (m, 3)."""
    return _nearest(camera, _cover(camera, points, faces))


class _Cover(NamedTuple):
    """Pixels (n,) in triangles, with the triangle and its corners' shares in the nearness; the nearest per pixel.

    Nearness is 1 / depth along the optical axis, 0 for nothing. `buffer` covers the range from the first covered pixel,
    number `start` of the image, to the last; `pixel` counts from `start`.
    """

    start: int
    pixel: NDArray[np.int64]
    face: NDArray[np.int64]
    parts: tuple[Array, Array, Array]
    nearness: Array
    buffer: Array


def _cover(camera: Camera, points: Array, faces: NDArray[np.int64]) -> _Cover:
    pixels, depth = project(camera, points)
    numbers, which, x, y = _candidates(pixels, depth > _NEAR_M, faces, camera.width_px, camera.height_px)
    weights = _barycentric(pixels, faces[numbers], which, x, y)
    inside = (weights[0] >= 0) & (weights[1] >= 0) & (weights[2] >= 0)
    which = which[inside]
    corner_depths = depth[faces[numbers]].T
    first, second, third = (weight[inside] / near[which] for weight, near in zip(weights, corner_depths, strict=True))
    nearness = first + second + third
    pixel = y[inside] * camera.width_px + x[inside]
    start, end = (int(pixel.min()), int(pixel.max()) + 1) if len(pixel) else (0, 0)
    pixel -= start
    buffer = np.zeros(end - start)
    np.maximum.at(buffer, pixel, nearness)
    return _Cover(start, pixel, numbers[which], (first, second, third), nearness, buffer)


def _nearest(camera: Camera, cover: _Cover) -> tuple[NDArray[np.int64], Array]:
    covered = np.flatnonzero(cover.buffer)
    pixel = covered + cover.start
    return pixel, ray_lengths(camera).ravel()[pixel] / cover.buffer[covered]


def _candidates(
    pixels: Array, in_front: NDArray[np.bool_], faces: NDArray[np.int64], width: int, height: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Pixels in the boxes around triangles: the triangles' numbers (m,); per pixel (n,) an index into them, x and y.

    For a closed mesh in front of the camera, only triangles that face it are visible: half of them. Computed per
    column, since numpy is slow if the last axis is short.
    """
    all_in_front = bool(in_front.all())
    kept = np.flatnonzero(_turn(pixels, faces) < 0) if all_in_front else np.arange(len(faces))
    a, b, c = faces[kept].T
    ends = []
    for place, limit in zip(pixels.T, (width, height), strict=True):
        corners = place[a], place[b], place[c]
        low, high = np.minimum(np.minimum(*corners[:2]), corners[2]), np.maximum(np.maximum(*corners[:2]), corners[2])
        ends.append(np.ceil(low - 0.5).clip(0, limit).astype(np.int64))
        ends.append(np.floor(high - 0.5).clip(-1, limit - 1).astype(np.int64) + 1)
    x1, x2, y1, y2 = ends
    met = (x2 > x1) & (y2 > y1)
    if not all_in_front:
        met &= in_front[a] & in_front[b] & in_front[c]
    numbers, x1, y1, across, down = kept[met], x1[met], y1[met], (x2 - x1)[met], (y2 - y1)[met]
    count = across * down
    which = np.repeat(np.arange(len(numbers)), count)
    row, column = np.divmod(np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count), across[which])
    return numbers, which, x1[which] + column, y1[which] + row


def _turn(pixels: Array, faces: NDArray[np.int64]) -> Array:
    """Twice the areas (m,) of triangles in the image; negative if the outside is visible, since y points down."""
    x, y = pixels.T
    a, b, c = faces.T
    return np.asarray((x[b] - x[a]) * (y[c] - y[a]) - (y[b] - y[a]) * (x[c] - x[a]))


def _barycentric(
    pixels: Array, faces: NDArray[np.int64], which: NDArray[np.int64], x: NDArray[np.int64], y: NDArray[np.int64]
) -> tuple[Array, Array, Array]:
    """Weights (n,) of the corners of triangles at the centres of pixels; negative outside and without area."""
    ax, ay = pixels[faces[:, 0]].T
    bx, by = pixels[faces[:, 1]].T - (ax, ay)
    cx, cy = pixels[faces[:, 2]].T - (ax, ay)
    area = bx * cy - by * cx
    flat = np.abs(area) < 1e-12
    area = np.where(flat, 1.0, area)
    px, py = x + 0.5 - ax[which], y + 0.5 - ay[which]
    second = (px * cy[which] - py * cx[which]) / area[which]
    third = (bx[which] * py - by[which] * px) / area[which]
    first = 1 - second - third
    first[flat[which]] = -1.0
    return first, second, third
