"""Which triangle is seen at which pixel: a numpy rasteriser, exact at pixel centres, for truth and toy pictures."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
from numpy.typing import NDArray

from snellen.stimuli.scenes.model import Camera
from snellen.stimuli.scenes.shapes import Array, Mesh

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
    """What is seen at each pixel.

    distance_m (height, width) along the ray in metres, inf for nothing; face (height, width) triangle number, -1 for
    nothing; weights (height, width, 3) of the triangle's corners at the hit.
    """

    distance_m: Array
    face: NDArray[np.int64]
    weights: Array


@functools.lru_cache(maxsize=64)
def frame(camera: Camera) -> Frame:
    """The axes of a camera; square pixels, the picture's centre on the axis."""
    position = np.array(camera.position_m)
    forward = np.array(camera.target_m) - position
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, np.array(camera.up))
    right /= np.linalg.norm(right)
    focal = camera.width_px / 2 / np.tan(np.radians(camera.horizontal_fov_deg) / 2)
    return Frame(position, right, np.cross(right, forward), forward, float(focal))


def project(camera: Camera, points: Array) -> tuple[Array, Array]:
    """World points (n, 3) as pixel coordinates (n, 2) and depth along the optical axis (n,) in metres.

    Pixel coordinates are continuous: (0, 0) is the top left corner of the picture, pixel i covers [i, i + 1). Points
    behind the camera have a depth below 0 and meaningless pixels.
    """
    axes = frame(camera)
    relative = np.asarray(points, float) - axes.position
    depth = relative @ axes.forward
    safe = np.where(np.abs(depth) < 1e-12, 1e-12, depth)
    pixels = np.empty((len(depth), 2))
    pixels[:, 0] = camera.width_px / 2 + axes.focal_px * (relative @ axes.right) / safe
    pixels[:, 1] = camera.height_px / 2 - axes.focal_px * (relative @ axes.up) / safe
    return pixels, depth


@functools.lru_cache(maxsize=2)
def rays(camera: Camera) -> Array:
    """Direction (height, width, 3) through each pixel's centre, 1 m long along the optical axis; not to be changed."""
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
    return np.asarray(np.linalg.norm(rays(camera), axis=2))


def rasterise(camera: Camera, mesh: Mesh) -> Hits:
    """The nearest triangle of a mesh at each pixel's centre; triangles that reach behind the camera are left out."""
    height, width = camera.height_px, camera.width_px
    pixels, depth = project(camera, mesh.vertices)
    numbers, which, x, y = _candidates(pixels, depth > _NEAR_M, mesh, width, height)
    weights = _barycentric(pixels, mesh.faces[numbers], which, x, y)
    inside = (weights[0] >= 0) & (weights[1] >= 0) & (weights[2] >= 0)
    which = which[inside]
    corner_depths = depth[mesh.faces[numbers]].T
    first, second, third = (weight[inside] / near[which] for weight, near in zip(weights, corner_depths, strict=True))
    nearness = first + second + third
    pixel = y[inside] * width + x[inside]
    buffer = np.zeros(height * width)
    np.maximum.at(buffer, pixel, nearness)
    visible = nearness == buffer[pixel]
    face = np.full(height * width, -1)
    face[pixel[visible]] = numbers[which[visible]]
    corner_weights = np.zeros((height * width, 3))
    corner_weights[pixel[visible]] = np.stack([first, second, third], axis=1)[visible] / nearness[visible, None]
    with np.errstate(divide="ignore"):
        distance = ray_lengths(camera) / buffer.reshape(height, width)
    return Hits(distance, face.reshape(height, width), corner_weights.reshape(height, width, 3))


def _candidates(
    pixels: Array, in_front: NDArray[np.bool_], mesh: Mesh, width: int, height: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Pixels in the boxes round triangles: the triangles' numbers (m,); and for each pixel (n,) which of them, x and y.

    Column by column: numpy is slow where the last axis is short.
    """
    a, b, c = mesh.faces.T
    ends = []
    for place, limit in zip(pixels.T, (width, height), strict=True):
        corners = place[a], place[b], place[c]
        low, high = np.minimum(np.minimum(*corners[:2]), corners[2]), np.maximum(np.maximum(*corners[:2]), corners[2])
        ends.append(np.ceil(low - 0.5).clip(0, limit).astype(np.int64))
        ends.append(np.floor(high - 0.5).clip(-1, limit - 1).astype(np.int64) + 1)
    x1, x2, y1, y2 = ends
    numbers = np.flatnonzero((x2 > x1) & (y2 > y1) & in_front[a] & in_front[b] & in_front[c])
    x1, y1, across = x1[numbers], y1[numbers], (x2 - x1)[numbers]
    count = across * (y2[numbers] - y1)
    which = np.repeat(np.arange(len(numbers)), count)
    row, column = np.divmod(np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count), across[which])
    return numbers, which, x1[which] + column, y1[which] + row


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
