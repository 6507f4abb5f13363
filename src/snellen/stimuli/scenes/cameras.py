"""Draws cameras. Ranges are ours; the ComBo paper says 'random viewpoints'."""

from __future__ import annotations

import math
from typing import TypedDict, Unpack

import numpy as np

from snellen.core.errors import SnellenError
from snellen.stimuli.scenes.assembly import tuple_of
from snellen.stimuli.scenes.model import Camera, Scene
from snellen.stimuli.scenes.raster import frame
from snellen.stimuli.scenes.shapes import bounds, radius_about
from snellen.stimuli.scenes.truth import truth

MIN_ELEVATION_DEG = 20.0
"""Lower cameras would see the horizon. Rolled ones, and tall images, may see it anyway: see `is_within_floor`."""
MAX_ELEVATION_DEG = 89.0
_TRIES = 200


class CameraRanges(TypedDict, total=False):
    """Parameters of `random_camera`; see there."""

    elevation_deg: tuple[float, float]
    azimuth_deg: tuple[float, float]
    fill: tuple[float, float]
    distance_m: tuple[float, float] | None
    horizontal_fov_deg: float
    size_px: tuple[int, int]


def random_camera(
    scene: Scene,
    rng: np.random.Generator,
    *,
    elevation_deg: tuple[float, float] = (20.0, 55.0),
    azimuth_deg: tuple[float, float] = (0.0, 360.0),
    fill: tuple[float, float] = (0.78, 0.92),
    distance_m: tuple[float, float] | None = None,
    horizontal_fov_deg: float = 34.0,
    size_px: tuple[int, int] = (480, 360),
) -> Camera:
    """A camera looking at the centre of the solids' bounding box from a uniformly drawn direction.

    Elevation is at least 20 degrees, so that the horizon is in no image that is wider than high. The distance is such
    that the ball around all solids spans a uniformly drawn share `fill` of the image's smaller side, or uniform in
    `distance_m` if that is given.
    """
    if elevation_deg[0] < MIN_ELEVATION_DEG or elevation_deg[1] > MAX_ELEVATION_DEG:
        limits = f"{MIN_ELEVATION_DEG:g} to {MAX_ELEVATION_DEG:g}"
        raise SnellenError(f"camera elevation {elevation_deg} degrees must stay within {limits}")
    low, high = bounds(scene.solids)
    target = (low + high) / 2
    azimuth, elevation = np.radians(rng.uniform(*azimuth_deg)), np.radians(rng.uniform(*elevation_deg))
    away = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
    if distance_m is None:
        half = math.tan(math.radians(horizontal_fov_deg) / 2) * min(1.0, size_px[1] / size_px[0])
        distance = radius_about(scene.solids, target) / math.sin(math.atan(rng.uniform(*fill) * half))
    else:
        distance = rng.uniform(*distance_m)
    return Camera(
        tuple_of(target + distance * away),
        tuple_of(target),
        horizontal_fov_deg=horizontal_fov_deg,
        width_px=size_px[0],
        height_px=size_px[1],
    )


def clear_camera(
    scene: Scene, rng: np.random.Generator, *, least_visible: float = 0.35, **ranges: Unpack[CameraRanges]
) -> Camera:
    """A `random_camera` that sees at least the share `least_visible` of every solid.

    Redrawn until that holds, measured at a quarter of the resolution; SnellenError after 200 draws.
    """
    solid_names = tuple(solid.name for solid in scene.solids)
    for _ in range(_TRIES):
        camera = random_camera(scene, rng, **ranges)
        coarse_truth = truth(scene, camera.quarter(), detail=1)
        if all(coarse_truth[name].visible_fraction >= least_visible for name in solid_names):
            return camera
    share = f"{least_visible:.0%} of each of {', '.join(solid_names)}"
    raise SnellenError(f"no camera in {_TRIES} draws shows {share}; move the solids apart or ask for less")


def is_within_floor(scene: Scene, camera: Camera) -> bool:
    """True if the image shows nothing beyond the edge of the floor.

    The floor that an image shows is convex, as is the disk, so that the corners of the image decide.
    """
    axes, (width, height) = frame(camera), (camera.width_px / 2, camera.height_px / 2)
    for x, y in ((-width, -height), (width, -height), (-width, height), (width, height)):
        ahead = axes.forward + (x * axes.right - y * axes.up) / axes.focal_px
        if ahead[2] >= 0:
            return False
        met = axes.position - ahead * axes.position[2] / ahead[2]
        if math.hypot(met[0], met[1]) > scene.floor.radius_m:
            return False
    return True
