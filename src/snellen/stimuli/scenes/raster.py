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


def rays(camera: Camera) -> Array:
    """Direction (height, width, 3) through each pixel's centre, 1 m long along the optical axis."""
    axes = frame(camera)
    x = (np.arange(camera.width_px) + 0.5 - camera.width_px / 2) / axes.focal_px
    y = (np.arange(camera.height_px) + 0.5 - camera.height_px / 2) / axes.focal_px
    across = x[None, :, None] * axes.right - y[:, None, None] * axes.up
    return np.asarray(axes.forward + across)


@functools.lru_cache(maxsize=8)
def _ray_lengths(camera: Camera) -> Array:
    return np.asarray(np.linalg.norm(rays(camera), axis=2))


def rasterise(camera: Camera, mesh: Mesh) -> Hits:
    """The nearest triangle of a mesh at each pixel's centre; triangles that reach behind the camera are left out."""
    height, width = camera.height_px, camera.width_px
    pixels, depth = project(camera, mesh.vertices)
    numbers = np.flatnonzero((depth[mesh.faces] > _NEAR_M).all(axis=1))
    corners = pixels[mesh.faces[numbers]]
    first = np.ceil(corners.min(axis=1) - 0.5).clip(0, (width, height)).astype(np.int64)
    last = np.floor(corners.max(axis=1) - 0.5).clip(-1, (width - 1, height - 1)).astype(np.int64)
    size = (last - first + 1).clip(0)
    count = size[:, 0] * size[:, 1]
    which = np.repeat(np.arange(len(numbers)), count)
    offset = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
    x = first[which, 0] + offset % size[which, 0]
    y = first[which, 1] + offset // size[which, 0]
    weights = _barycentric(corners[which], x + 0.5, y + 0.5)
    inside = (weights >= 0).all(axis=1)
    which, x, y, weights = which[inside], x[inside], y[inside], weights[inside]
    weights = weights / depth[mesh.faces[numbers[which]]]
    nearness = weights.sum(axis=1)
    weights /= nearness[:, None]
    pixel = y * width + x
    buffer = np.zeros(height * width)
    np.maximum.at(buffer, pixel, nearness)
    visible = nearness == buffer[pixel]
    face = np.full(height * width, -1)
    face[pixel[visible]] = numbers[which[visible]]
    corner_weights = np.zeros((height * width, 3))
    corner_weights[pixel[visible]] = weights[visible]
    with np.errstate(divide="ignore"):
        distance = _ray_lengths(camera) / buffer.reshape(height, width)
    return Hits(distance, face.reshape(height, width), corner_weights.reshape(height, width, 3))


def _barycentric(corners: Array, x: Array, y: Array) -> Array:
    """Weights (n, 3) of points (x, y) in triangles (n, 3, 2) of the picture; negative outside and without area."""
    ax, ay = corners[:, 0, 0], corners[:, 0, 1]
    bx, by = corners[:, 1, 0] - ax, corners[:, 1, 1] - ay
    cx, cy = corners[:, 2, 0] - ax, corners[:, 2, 1] - ay
    px, py = x - ax, y - ay
    area = bx * cy - by * cx
    flat = np.abs(area) < 1e-12
    area = np.where(flat, 1.0, area)
    second = (px * cy - py * cx) / area
    third = (bx * py - by * px) / area
    weights = np.stack([1 - second - third, second, third], axis=1)
    weights[flat] = -1.0
    return weights
