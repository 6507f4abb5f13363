"""The views of rooms: two cameras, by which the area of the named colour says nothing about the change.

Where a thing is added or removed, another one of its colour is out of the frame in the image that shows the first.
Which of the two images has more of the colour is drawn, and views are redrawn until it is so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from snellen.core.errors import SnellenError
from snellen.stimuli.scenes import SHAPES, Appearance, Camera, Scene, Solid, clear_camera, truth, turn
from snellen.stimuli.scenes.assembly import tuple_of
from snellen.stimuli.scenes.raster import frame, project
from snellen.stimuli.scenes.shapes import place_points, unit_mesh
from snellen.stimuli.scenes.vectors import apply_matrix
from snellen.suites.vlm2_bench.generated import rooms

CameraPair: TypeAlias = tuple[Camera, Camera]
"""The cameras of a room before and after its edit."""
SHIFT_DEG: tuple[float, float] = (25.0, 40.0)
"""Angle by which the camera moves around the room between the two images."""
FILL, ASIDE = (0.72, 0.82), (0.08, 0.16)
"""Share of the frame that a room fills, and by how much of its width the two cameras move to opposite sides."""
EDGE = 0.01
"""Distance from the edge of the frame, as a share of its sides, of a thing that is in the frame or out of it."""
MIN_PASSER = 0.8
"""Visible share of the thing that is in one frame only."""
PASSER_SCALE = (0.4, 0.85)
"""Its size factor: the thing that is added or removed may have the smallest image, or the largest."""
_VIEWS, _POSITIONS = 60, 60


def balanced_views(
    change: rooms.RoomChange, rng: np.random.Generator, size_px: tuple[int, int]
) -> tuple[rooms.RoomChange, CameraPair]:
    """The cameras of both images, and the edit with the thing that only one of them sees, if it needs one.

    A room of which no view allows what is drawn (none of 160) has the opposite. Raises SnellenError if none allows it.
    """
    grows = bool(rng.integers(2))
    for attempt in range(2 * _VIEWS):
        cameras = views_of(change, rng, size_px)
        if change.edit not in ("add", "remove"):
            return change, cameras
        if passed := _with_passer(change, cameras, grows if attempt < _VIEWS else not grows, rng):
            return passed, cameras
    raise SnellenError(f"no view has room for a thing in one frame alone: {change.before.caption()}")


def views_of(change: rooms.RoomChange, rng: np.random.Generator, size_px: tuple[int, int]) -> CameraPair:
    """The cameras of both images, each seeing at least `MIN_VISIBLE` of every object, also of one that is not there.

    The second is moved around the room by `SHIFT_DEG`, so that all pixels differ and the change must be perceived.
    """
    scenes = change.before.scene(), change.after.scene()
    fuller = max(scenes, key=lambda scene: len(scene.solids))
    for _ in range(_VIEWS):
        camera = clear_camera(
            fuller, rng, least_visible=rooms.MIN_VISIBLE, elevation_deg=(35.0, 60.0), fill=FILL, size_px=size_px
        )
        shift_deg = float(rng.uniform(*SHIFT_DEG) * rng.choice([-1.0, 1.0]))
        side = float(rng.choice([-1.0, 1.0]))
        cameras = (
            _moved_aside(camera, side * float(rng.uniform(*ASIDE))),
            _moved_aside(_moved_round(camera, shift_deg), -side * float(rng.uniform(*ASIDE))),
        )
        if all(map(_sees_all, (*scenes, fuller, fuller), (*cameras, *cameras))):
            return cameras
    raise SnellenError(f"no camera sees all objects of the room: {change.before.caption()}")


def _moved_round(camera: Camera, degrees: float) -> Camera:
    """The camera rotated about the vertical through its target."""
    away = np.subtract(camera.position_m, camera.target_m)
    return replace(camera, position_m=tuple_of(np.array(camera.target_m) + apply_matrix(turn(rooms.UP, degrees), away)))


def _moved_aside(camera: Camera, share: float) -> Camera:
    """The camera and its target moved to the right by a share of the width that the frame has at the target."""
    axes = frame(camera)
    distance_m = math.dist(camera.position_m, camera.target_m)
    step = axes.right * (share * distance_m * camera.width_px / axes.focal_px)
    return replace(
        camera, position_m=tuple_of(np.add(camera.position_m, step)), target_m=tuple_of(np.add(camera.target_m, step))
    )


def _sees_all(scene: Scene, camera: Camera) -> bool:
    """True if every solid is in the frame and enough of it visible, measured at a quarter of the resolution."""
    if not all(_is_inside(solid, camera) for solid in scene.solids):
        return False
    coarse_truth = truth(scene, camera.quarter(), detail=1)
    return all(solid.visible_fraction >= rooms.MIN_VISIBLE for solid in coarse_truth.solids)


def _with_passer(
    change: rooms.RoomChange, cameras: CameraPair, grows: bool, rng: np.random.Generator
) -> rooms.RoomChange | None:
    """The edit with a passer by which the second image has more of the colour, or less; None if none is found."""
    assert change.changed is not None
    fuller, seen_in = (change.after, 0) if change.edit == "add" else (change.before, 1)
    colour, taken = change.changed.appearance.colour, {thing.appearance for thing in fuller.objects}
    new = [Appearance(shape, kind, colour) for shape in SHAPES for kind in rooms.COLOURED_KINDS]
    new = [appearance for appearance in new if appearance not in taken]
    reach_m = max(np.hypot(*thing.position_m) for thing in fuller.objects) + 2 * rooms.SPACING_M
    for _ in range(_POSITIONS):
        angle, distance_m = rng.uniform(0, 2 * np.pi), reach_m * np.sqrt(rng.uniform())
        position_m = float(distance_m * np.cos(angle)), float(distance_m * np.sin(angle))
        appearance, scale = new[int(rng.integers(len(new)))], float(rng.uniform(*PASSER_SCALE))
        passer = rooms.SceneObject(appearance, position_m, float(rng.uniform(0, 90)), scale)
        if any(np.hypot(*np.subtract(position_m, o.position_m)) < rooms.SPACING_M for o in fuller.objects):
            continue
        solid = rooms.solid_of("passer", passer)
        if not _is_inside(solid, cameras[seen_in]) or not _is_outside(solid, cameras[1 - seen_in]):
            continue
        pair = [change.before, change.after]
        pair[seen_in] = replace(pair[seen_in], objects=(*pair[seen_in].objects, passer))
        pair[1 - seen_in] = replace(pair[1 - seen_in], unseen=(passer,))
        if (areas := _areas(pair, cameras, seen_in, str(colour))) and (areas[1] > areas[0]) == grows:
            return replace(change, before=pair[0], after=pair[1])
    return None


def _pixels(solid: Solid, camera: Camera) -> NDArray[np.float64]:
    """The corners of a solid in the frame, as shares of its sides: (corners, 2)."""
    pixels, _ = project(camera, place_points(unit_mesh(solid.shape, 1).vertices, solid.pose))
    return pixels / (camera.width_px, camera.height_px)


def _is_inside(solid: Solid, camera: Camera) -> bool:
    shares = _pixels(solid, camera)
    return bool((shares > EDGE).all() and (shares < 1 - EDGE).all())


def _is_outside(solid: Solid, camera: Camera) -> bool:
    shares = _pixels(solid, camera)
    return bool((shares.max(axis=0) < -EDGE).any() or (shares.min(axis=0) > 1 + EDGE).any())


def _areas(both_rooms: Sequence[rooms.Room], cameras: CameraPair, seen_in: int, colour: str) -> list[int] | None:
    """Visible pixels of a colour in both images, at a quarter of the resolution; None if something is too hidden."""
    areas = []
    for which, (room, camera) in enumerate(zip(both_rooms, cameras, strict=True)):
        solids = truth(room.scene(), camera.quarter(), detail=1).solids[: len(room.objects)]
        visible = [solid.visible_fraction for solid in solids]
        if min(visible) < rooms.MIN_VISIBLE or (which == seen_in and visible[-1] < MIN_PASSER):
            return None
        coloured = [thing.appearance.colour == colour for thing in room.objects]
        areas.append(sum(int(solid.mask.sum()) for solid, is_named in zip(solids, coloured, strict=True) if is_named))
    return areas
