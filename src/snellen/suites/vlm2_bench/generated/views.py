"""The views of rooms: two cameras, by which the named colour says nothing about the change.

A thing that is added or removed has others of its colour all around the room, of which each image shows some. So its
colour reaches the edges of both images, and either may have more of it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
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
"""Distance from the edge of the frame, as a share of its sides, of every thing in the room."""
AROUND, AROUND_M = 7, (0.7, 2.2)
"""The number of things around a room, and their distances from the farthest thing in it."""
CANDIDATES, ROUNDS = 15, 5
"""Views that are compared for a thing that is added or removed, and those tried with the same cameras."""
SPREAD, MIDDLE = (0.12, 0.6, 0.1, 0.14, 0.05, 0.4), 0.3
"""Scale of differences in a colour: logarithm of its area, number of things, height and width of the box around it,
height of its centre, logarithm of its share in the middle of the frame, which extends this far from the centre."""
_VIEWS, _POSITIONS = 60, 200


def balanced_views(
    change: rooms.RoomChange, rng: np.random.Generator, size_px: tuple[int, int]
) -> tuple[rooms.RoomChange, CameraPair]:
    """The cameras of both images, and the edit, with things around the room if something is added or removed.

    Of `CANDIDATES` such views, the two are taken whose differences in the named colour are most nearly opposite, and of
    these one by a coin: so whatever differs, differs either way. Raises SnellenError for fewer views.
    """
    coin = int(rng.integers(2))
    if change.edit not in ("add", "remove"):
        return change, views_of(change, rng, size_px)
    drawn = list[tuple[NDArray[np.float64], rooms.RoomChange, CameraPair]]()
    fewer = min(change.before, change.after, key=lambda room: len(room.objects))
    for _ in range(_VIEWS):
        cameras = views_of(replace(change, before=fewer, after=fewer), rng, size_px)
        for surrounded in filter(None, (_surrounded(change, cameras, rng) for _ in range(ROUNDS))):
            if (difference := _difference(surrounded, cameras)) is not None:
                drawn.append((difference, surrounded, cameras))
        if len(drawn) >= CANDIDATES:
            opposite = min(combinations(drawn, 2), key=lambda pair: float(np.linalg.norm(pair[0][0] + pair[1][0])))
            return opposite[coin][1:]
    raise SnellenError(f"no view of the things around the room: {change.before.caption()}")


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


def _surrounded(change: rooms.RoomChange, cameras: CameraPair, rng: np.random.Generator) -> rooms.RoomChange | None:
    """The edit with things around the room, of which the changed one is one; None if both frames have none of them.

    The others have its colour, and names that nothing in the room has.
    """
    changed, named = change.changed, change.named()
    assert changed is not None
    stayed, taken = [thing for thing in named if thing != changed], {thing.appearance for thing in named}
    new = [Appearance(shape, kind, changed.appearance.colour) for shape in SHAPES for kind in rooms.COLOURED_KINDS]
    new = [appearance for appearance in new if appearance not in taken]
    reach_m, around = max(np.hypot(*thing.position_m) for thing in stayed), list[rooms.SceneObject]()
    for _ in range(_POSITIONS):
        angle, distance_m = rng.uniform(0, 2 * np.pi), reach_m + float(rng.uniform(*AROUND_M))
        position_m = float(distance_m * np.cos(angle)), float(distance_m * np.sin(angle))
        others_m = [thing.position_m for thing in (*stayed, *around)]
        if len(around) <= AROUND and all(math.dist(position_m, other) >= rooms.SPACING_M for other in others_m):
            appearance = new[int(rng.integers(len(new)))]
            turn_deg, scale = float(rng.uniform(0, 90)), float(rng.uniform(*rooms.SCALE))
            around.append(rooms.SceneObject(appearance, position_m, turn_deg, scale))
    places = [thing for thing in around if all(_is_inside(rooms.solid_of("", thing), camera) for camera in cameras)]
    if not places:
        return None
    moved = replace(places[0], appearance=changed.appearance)
    rest = tuple(thing for thing in around if thing != places[0])
    before, after = (
        replace(room, objects=tuple(moved if thing == changed else thing for thing in room.objects), around=rest)
        for room in (change.before, change.after)
    )
    return replace(change, before=before, after=after, changed=moved)


def _difference(change: rooms.RoomChange, cameras: CameraPair) -> NDArray[np.float64] | None:
    """What the second image has more of the changed thing's colour, by `SPREAD`: (6,); None if something is too hidden.

    Measured at a quarter of the resolution; lengths are in shares of the frame.
    """
    assert change.changed is not None
    colour, looks = change.changed.appearance.colour, []
    fuller = max(change.before, change.after, key=lambda room: len(room.objects))
    for room, camera in zip((change.before, change.after), cameras, strict=True):
        solids = truth(fuller.scene(), camera.quarter(), detail=1).solids
        if min(solid.visible_fraction for solid in solids[: len(fuller.objects)]) < rooms.MIN_VISIBLE:
            return None
        named = [thing in room.all() and thing.appearance.colour == colour for thing in fuller.all()]
        masks = np.array([solid.mask for solid, is_named in zip(solids, named, strict=True) if is_named])
        places = np.argwhere(masks.any(axis=0)) / masks.shape[1:]
        in_middle = (abs(places - 0.5) < MIDDLE).all(axis=1).mean()
        counts = np.log(len(places)), masks.any(axis=(1, 2)).sum()
        looks.append((*counts, *np.ptp(places, axis=0), places[:, 0].mean(), np.log(in_middle + 0.1)))
    return np.asarray(np.subtract(looks[1], looks[0]) / SPREAD)


def _is_inside(solid: Solid, camera: Camera) -> bool:
    pixels, _ = project(camera, place_points(unit_mesh(solid.shape, 1).vertices, solid.pose))
    shares = pixels / (camera.width_px, camera.height_px)
    return bool((shares > EDGE).all() and (shares < 1 - EDGE).all())
