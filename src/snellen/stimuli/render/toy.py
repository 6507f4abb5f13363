"""A renderer for tests that takes milliseconds: no shadows, but all shapes, colours and materials look different."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from snellen.stimuli.render.appearances import METAL_RGB, RUBBER_RGB, develop
from snellen.stimuli.scenes.floor_patterns import PLAIN, pattern_factor
from snellen.stimuli.scenes.model import Camera, Scene, Solid
from snellen.stimuli.scenes.raster import frame, rasterise, ray_lengths, rays
from snellen.stimuli.scenes.shapes import place_mesh, unit_mesh
from snellen.stimuli.scenes.vectors import Array, dot, lengths, unit_vector

TOY_VERSION = "2"
_LIGHT = unit_vector([0.55, -0.40, 0.73])


def toy_image(scene: Scene, camera: Camera) -> NDArray[np.uint8]:
    """The scene as 8-bit sRGB (height, width, 3). Deterministic; lights and dome are replaced by one fixed light."""
    direction = rays(camera) / ray_lengths(camera)[..., None]
    image = _ground(scene, direction, camera).reshape(-1, 3)
    direction = direction.reshape(-1, 3)
    nearest = np.full(len(image), np.inf)
    towards = frame(camera).position
    far_to_near = sorted(scene.solids, key=lambda solid: -float(lengths(solid.pose.position_m - towards)))
    for solid in sorted(far_to_near, key=lambda solid: solid.material.kind == "glass"):
        mesh = unit_mesh(solid.shape, 1)
        world = place_mesh(mesh, solid.pose)
        hits = rasterise(camera, world)
        unhidden = hits.distance_m < nearest[hits.pixel]
        visible = hits.pixel[unhidden]
        corners, weights = mesh.faces[hits.face[unhidden]].T, hits.weights[:, unhidden]
        normal = _blend(world.normals, corners, weights)
        normal /= lengths(normal)[:, None]
        local = _blend(mesh.vertices, corners, weights) if solid.material.kind == "wood" else normal
        image[visible] = _shaded(solid, normal, local, direction[visible], image[visible])
        if solid.material.kind != "glass":
            nearest[visible] = hits.distance_m[unhidden]
    return develop(image.reshape(camera.height_px, camera.width_px, 3))


def _blend(vectors: Array, corners: NDArray[np.int64], weights: Array) -> Array:
    """Vectors (n, 3) interpolated between three corners each: numbers (3, n) and weights (3, n)."""
    blended = np.empty((corners.shape[1], 3))
    for axis, ends in enumerate(vectors.T):
        first, second, third = (ends[corner] * weight for corner, weight in zip(corners, weights, strict=True))
        blended[:, axis] = first + second + third
    return blended


def _ground(scene: Scene, direction: Array, camera: Camera) -> Array:
    """Floor and sky, linear RGB."""
    height = camera.position_m[2]
    with np.errstate(divide="ignore", invalid="ignore"):
        along = np.where(direction[..., 2] < -1e-6, -height / direction[..., 2], np.inf)
        fade = np.exp(-((along - height) / 40.0))[..., None]
    floor = np.array(scene.floor.colour_linear_rgb) * (0.5 + 0.5 * np.clip(fade, 0, 1))
    if scene.floor.pattern != PLAIN:
        reach = np.where(np.isfinite(along), along, 0)
        x, y = (camera.position_m[axis] + reach * direction[..., axis] for axis in (0, 1))
        floor = floor * pattern_factor(scene.floor.pattern, scene.floor.stripe_m, x, y, scene.floor.contrast)[..., None]
    return np.where(np.isfinite(along)[..., None], floor, np.array(scene.dome.zenith_linear_rgb))


def _shaded(solid: Solid, normal: Array, local: Array, view: Array, behind: Array) -> Array:
    """Linear RGB (n, 3) of surface points from unit normals, own coordinates, view directions and background."""
    kind, colour = solid.material.kind, solid.material.colour
    facing = np.clip(dot(normal, _LIGHT), 0, 1)[:, None]
    if kind == "rubber" and colour is not None:
        return np.asarray(np.array(RUBBER_RGB[colour]) * (0.30 + 0.85 * facing))
    along = dot(view, normal)[:, None]
    mirrored = view - 2 * along * normal
    glint = np.clip(dot(mirrored, _LIGHT), 0, 1)[:, None]
    if kind == "metal" and colour is not None:
        bands = 0.35 + 0.65 * (np.sin(6 * mirrored[:, 2:]) > 0)
        return np.asarray(np.array(METAL_RGB[colour]) * bands * (0.5 + 0.5 * facing) + 0.9 * glint**24)
    if kind == "wood":
        radius = np.hypot(local[:, 0] + 0.5, local[:, 1] + 0.3)[:, None]
        grain = 0.5 + 0.5 * np.sin(45 * radius + 3 * local[:, 2:])
        return np.asarray(
            (np.array([0.50, 0.28, 0.11]) * (1 - grain) + np.array([0.24, 0.11, 0.04]) * grain) * (0.45 + 0.75 * facing)
        )
    rim = (1 - np.abs(along)) ** 2
    return np.asarray(behind * (0.80 - 0.55 * rim) * np.array([0.92, 1.0, 0.98]) + 0.10 * rim + 1.2 * glint**40)
