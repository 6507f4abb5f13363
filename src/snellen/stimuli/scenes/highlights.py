"""Highlights: where solids mirror a light, which distinguishes metal from matt paint."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from snellen.stimuli.scenes.model import Camera, Scene, Solid
from snellen.stimuli.scenes.raster import project
from snellen.stimuli.scenes.shapes import place_mesh, unit_mesh
from snellen.stimuli.scenes.truth import truth
from snellen.stimuli.scenes.vectors import Array

SPREAD_DEG = 6.0
"""Width of the reflection of a rough metal: farther off, a highlight is too faint to notice."""


def highlight_shares(scene: Scene, camera: Camera, names: Collection[str]) -> dict[str, float]:
    """The share of each named solid's visible pixels, 0 to 1, in which it mirrors a panel or a softbox.

    Computed from triangles of the coarse mesh: one counts by its size in the image if its centre is visible and mirrors
    the line of sight into a light, or within `SPREAD_DEG` of one. 0 for invisible solids.
    """
    if not names:
        return {}
    visible = truth(scene, camera, detail=1)
    return {
        solid.name: _share(solid, visible[solid.name].mask, scene, camera)
        for solid in scene.solids
        if solid.name in names
    }


def _share(solid: Solid, mask: NDArray[np.bool_], scene: Scene, camera: Camera) -> float:
    centres, normals, areas = _triangles(solid, camera)
    pixels, depth = project(camera, centres)
    columns, rows = np.floor(pixels).astype(int).T
    inside = (depth > 0) & (columns >= 0) & (rows >= 0) & (columns < camera.width_px) & (rows < camera.height_px)
    away = np.asarray(camera.position_m) - centres
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    facing = (normals * away).sum(axis=1)
    seen = inside & (facing > 0)
    seen[seen] &= mask[rows[seen], columns[seen]]
    if not seen.any():
        return 0.0
    mirrored = 2 * facing[seen, None] * normals[seen] - away[seen]
    glints = _meets_light(scene, centres[seen], mirrored)
    return float((areas[seen] * glints).sum() / areas[seen].sum())


def _triangles(solid: Solid, camera: Camera) -> tuple[Array, Array, Array]:
    """Centres (n, 3) and unit normals (n, 3) in the world, sizes (n,) in pixels of the image."""
    mesh = place_mesh(unit_mesh(solid.shape, 1), solid.pose)
    corners, normals = mesh.vertices[mesh.faces], mesh.normals[mesh.faces].mean(axis=1)
    flat, _ = project(camera, corners.reshape(-1, 3))
    (ax, ay), (bx, by), (cx, cy) = flat.reshape(-1, 3, 2).transpose(1, 2, 0)
    sizes = np.abs((bx - ax) * (cy - ay) - (cx - ax) * (by - ay)) / 2
    return corners.mean(axis=1), normals / np.linalg.norm(normals, axis=1, keepdims=True), sizes


def _meets_light(scene: Scene, points: Array, directions: Array) -> Array:
    """True if a ray from each point (n, 3) along its unit direction (n, 3) meets a light or passes near it."""
    meets = np.zeros(len(points), bool)
    for light in scene.lights:
        ray = np.asarray(light.position_m) - points
        distance = np.linalg.norm(ray, axis=1)
        off = np.degrees(np.arccos(np.clip((ray / distance[:, None] * directions).sum(axis=1), -1, 1)))
        meets |= off < np.degrees(np.arctan2(light.side_m / 2, distance)) + SPREAD_DEG
    for box in scene.dome.softboxes:
        azimuth, elevation = np.degrees(np.arctan2(directions[:, 1], directions[:, 0])), _elevations(directions)
        is_near = np.abs((azimuth - box.azimuth_deg + 180) % 360 - 180) < box.half_width_deg + SPREAD_DEG
        meets |= is_near & (np.abs(elevation - box.elevation_deg) < box.half_height_deg + SPREAD_DEG)
    return meets


def _elevations(directions: Array) -> Array:
    return np.degrees(np.arcsin(np.clip(directions[:, 2], -1, 1)))
