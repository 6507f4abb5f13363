"""Generated general cues: small scenes of three to seven solids, each before and after one edit of a known kind.

This module makes scenes and renders nothing. Sizes, positions and edits are ours; the paper edits photographs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from snellen.core.least_px import LEAST_PX
from snellen.stimuli.scenes import (
    MATERIAL_VARIANTS,
    SHAPES,
    Appearance,
    AreaLight,
    Camera,
    Floor,
    Material,
    Pose,
    Scene,
    Solid,
    move,
    relight,
    studio,
    text_name,
    truth,
    turn,
)
from snellen.stimuli.scenes.floor_patterns import PLAIN, STRIPE_M
from snellen.stimuli.scenes.shapes import lowest_m
from snellen.stimuli.scenes.vectors import dot, lengths, unit_vector
from snellen.suites.vlm2_bench.items import Edit

EDITS: tuple[Edit, ...] = ("add", "swap", "attribute", "remove", "environment")
MIN_OBJECTS, MAX_OBJECTS = 3, 7
SCALE = (0.55, 0.7)
SPACING_M = 1.3
"""Minimum distance of two centres; the largest solid is 1.1 m wide."""
FLOORS: Mapping[str, tuple[float, float, float]] = {
    "grey": (0.42, 0.42, 0.42),
    "blue": (0.24, 0.32, 0.47),
    "brown": (0.47, 0.35, 0.23),
}
"""Linear RGB; pale, since metal takes on the colour of the floor it mirrors."""
LIGHTS: Mapping[str, tuple[float, float, float]] = {
    "white": (1.0, 1.0, 1.0),
    "warm": (1.28, 0.97, 0.51),
    "cold": (0.69, 1.04, 1.53),
}
"""Factor on linear red, green and blue of every light and of the dome, of equal luminance (BT.709)."""
ROOM_PATTERNS = ("striped", "chequered", "dotted")
"""Patterns of floors (`floor_patterns`)."""
STRIPES_M = (0.22, 0.4)
"""Width of the stripes of a patterned floor, drawn for each image, so that the amount of edges reveals nothing."""
EXPOSURES = (0.5, 1.0)
"""Factor on all light of an image, drawn for each, so that brightness reveals nothing about the change."""
FARTHER = 2.5
"""Factor on distance and size of the panels, since cameras are farther away than for a single object."""
MIN_VISIBLE = 0.4
COLOURED_KINDS = tuple(dict.fromkeys(variant.kind for variant in MATERIAL_VARIANTS if variant.colour))
_TRIES = 60
UP = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class SceneObject:
    """One solid of a scene: its appearance, position on the floor in metres, turn and size factor."""

    appearance: Appearance
    position_m: tuple[float, float]
    turn_deg: float
    scale: float

    @property
    def name(self) -> str:
        """`red rubber cube`, `glass sphere`; unique in a scene."""
        colour = f"{self.appearance.colour} " if self.appearance.colour else ""
        return f"{colour}{self.appearance.material} {text_name('shape', self.appearance.shape)}"

    def dimensions(self) -> dict[str, str]:
        """The visible dimensions of the object."""
        return {
            "shape/object": self.appearance.shape,
            "material/object": self.appearance.material,
            "colour/object": self.appearance.colour or "none",
        }


@dataclass(frozen=True)
class Room:
    """Objects on a floor with a light and an exposure; those `around` it are partly out of the frame."""

    objects: tuple[SceneObject, ...]
    floor: str = "grey"
    light: str = "white"
    exposure: float = 1.0
    pattern: str = PLAIN
    stripe_m: float = STRIPE_M
    around: tuple[SceneObject, ...] = ()

    def all(self) -> tuple[SceneObject, ...]:
        """The objects in the room, then those around it."""
        return (*self.objects, *self.around)

    def caption(self) -> str:
        """A description of the room in one sentence."""
        names = [f"a {scene_object.name}" for scene_object in self.objects]
        listed = ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else names[0]
        pattern = "" if self.pattern == PLAIN else f"{self.pattern} "
        return f"The image shows {listed} on a {pattern}{self.floor} floor in {self.light} light."

    def scene(self) -> Scene:
        """The room as solids `0`, `1`, …, floor and lights."""
        studio_scene = studio(tuple(solid_of(str(n), scene_object) for n, scene_object in enumerate(self.all())))
        lights = tuple(_farther(light) for light in studio_scene.lights)
        scene = replace(
            studio_scene, floor=Floor(FLOORS[self.floor], pattern=self.pattern, stripe_m=self.stripe_m), lights=lights
        )
        return relight(scene, self.exposure, LIGHTS[self.light])


def _farther(light: AreaLight) -> AreaLight:
    x, y, z = light.position_m
    return replace(light, position_m=(x * FARTHER, y * FARTHER, z * FARTHER), side_m=light.side_m * FARTHER)


def solid_of(name: str, scene_object: SceneObject) -> Solid:
    """The solid of an object, standing on the floor."""
    solid = Solid(
        name,
        scene_object.appearance.shape,
        Material(scene_object.appearance.material, scene_object.appearance.colour),
        Pose(scale=scene_object.scale),
    )
    solid = move(solid, turn(UP, scene_object.turn_deg))
    return move(solid, shift_m=(*scene_object.position_m, 0.002 - lowest_m((solid,))))


@dataclass(frozen=True)
class RoomChange:
    """A room before and after one edit.

    `changed` is the object that was added, removed, replaced or altered, as it looks in the image that the question
    refers to; None for an edit of the surroundings, whose `part` is `floor` or `light` (their colour), or `pattern` (of
    the floor). `differs` are the factors in which before and after differ.
    """

    edit: Edit
    before: Room
    after: Room
    changed: SceneObject | None
    differs: tuple[str, ...]
    part: str = ""

    def named(self) -> tuple[SceneObject, ...]:
        """The objects that a question about this edit may name: those in the image that shows the changed one."""
        return (self.after if self.edit == "add" else self.before).objects

    def instruction(self) -> str:
        """The edit as an instruction, as in data sets of image editing."""
        return _INSTRUCTIONS[self.edit](self)


_INSTRUCTIONS: Mapping[Edit, Callable[[RoomChange], str]] = {
    "add": lambda change: f"Add {_a(change.changed)}.",
    "remove": lambda change: f"Remove the {_name(change.changed)}.",
    "swap": lambda change: f"Replace the {_name(change.changed)} with {_a(successor(change))}.",
    "attribute": lambda change: f"Make the {_name(change.changed)} {_a(successor(change))}.",
    "environment": lambda change: f"Make the {_named_part(change)} {getattr(change.after, change.part)}.",
}


def _named_part(change: RoomChange) -> str:
    return "floor" if change.part == "pattern" else change.part


def _name(scene_object: SceneObject | None) -> str:
    if scene_object is None:
        raise ValueError("this edit is of the surroundings")
    return scene_object.name


def _a(scene_object: SceneObject | None) -> str:
    return f"a {_name(scene_object)}"


def successor(change: RoomChange) -> SceneObject:
    """The object in the second image at the position of the changed one."""
    assert change.changed is not None
    return next(
        scene_object for scene_object in change.after.objects if scene_object.position_m == change.changed.position_m
    )


def tracked(change: RoomChange) -> tuple[str, str]:
    """The statement of the change and its direct reverse: the two answers of Trk (Table 4)."""
    if change.edit in ("add", "remove"):
        subject_phrase = f"{_a(change.changed).capitalize()} was"
        right, wrong = f"{subject_phrase} added.", f"{subject_phrase} removed."
        return (right, wrong) if change.edit == "add" else (wrong, right)
    if change.edit == "environment":
        old, new = getattr(change.before, change.part), getattr(change.after, change.part)
        return tuple(f"The {_named_part(change)} changed from {a} to {b}." for a, b in ((old, new), (new, old)))  # type: ignore[return-value]
    verb = "was replaced with" if change.edit == "swap" else "turned into"
    old_name, new_name = _name(change.changed), successor(change).name
    return f"The {old_name} {verb} a {new_name}.", f"The {new_name} {verb} a {old_name}."


def random_change(edit: Edit, rng: np.random.Generator) -> RoomChange:
    """A room of 3 to 7 objects (in the fuller image) and one edit of it.

    What is edited has a colour, which another object has too and which the edit keeps, so that naming the colour says
    nothing.
    """
    is_presence = edit in ("add", "remove")
    count = int(rng.integers(MIN_OBJECTS + is_presence, MAX_OBJECTS + 1))
    room = Room(_draw_objects(count, rng), str(rng.choice(list(FLOORS))), str(rng.choice(list(LIGHTS))))
    if edit == "environment":
        part = ("floor", "light")[int(rng.integers(2))]
        choices = [value for value in (FLOORS if part == "floor" else LIGHTS) if value != getattr(room, part)]
        new_value = str(rng.choice(choices))
        after = replace(room, floor=new_value) if part == "floor" else replace(room, light=new_value)
        return RoomChange(edit, room, after, None, ("environment",), part)
    indices = [int(n) for n in rng.permutation(count) if _has_twin(room, room.objects[n])]
    if not indices:
        return random_change(edit, rng)
    if is_presence:
        index, scene_object = indices[0], room.objects[indices[0]]
        fewer = replace(room, objects=room.objects[:index] + room.objects[index + 1 :])
        before, after = (fewer, room) if edit == "add" else (room, fewer)
        return RoomChange(edit, before, after, scene_object, ("presence",))
    fits = _swapped if edit == "swap" else _altered
    for index in indices:
        scene_object = room.objects[index]
        if appearances := _new_appearances(room, scene_object.appearance, fits):
            new = replace(scene_object, appearance=appearances[int(rng.integers(len(appearances)))])
            after = replace(room, objects=(*room.objects[:index], new, *room.objects[index + 1 :]))
            return RoomChange(edit, room, after, scene_object, differing(scene_object, new))
    return random_change(edit, rng)  # the room may already have what it could become


def _has_twin(room: Room, scene_object: SceneObject) -> bool:
    """True if another object has its colour."""
    colour = scene_object.appearance.colour
    return colour is not None and [other.appearance.colour for other in room.objects].count(colour) > 1


def pattern_change(rng: np.random.Generator) -> RoomChange:
    """A room whose floor gets another pattern, whose direction (unlike that of colours) no image statistic reveals."""
    room = Room(
        _draw_objects(int(rng.integers(MIN_OBJECTS, MAX_OBJECTS + 1)), rng),
        str(rng.choice(list(FLOORS))),
        str(rng.choice(list(LIGHTS))),
        pattern=str(rng.choice(ROOM_PATTERNS)),
        stripe_m=float(rng.uniform(*STRIPES_M)),
    )
    new_value = str(rng.choice([pattern for pattern in ROOM_PATTERNS if pattern != room.pattern]))
    after = replace(room, pattern=new_value, stripe_m=float(rng.uniform(*STRIPES_M)))
    return RoomChange("environment", room, after, None, ("environment",), "pattern")


def differing(old: SceneObject, new: SceneObject) -> tuple[str, ...]:
    """The factors in which two objects look different."""
    before, after = old.dimensions(), new.dimensions()
    return tuple(dimension.split("/")[0] for dimension in before if before[dimension] != after[dimension])


def _draw_objects(count: int, rng: np.random.Generator) -> tuple[SceneObject, ...]:
    appearances: list[Appearance] = []
    while len(appearances) < count:
        variant = MATERIAL_VARIANTS[int(rng.integers(len(MATERIAL_VARIANTS)))]
        appearance = Appearance(SHAPES[int(rng.integers(len(SHAPES)))], variant.kind, variant.colour)
        if appearance not in appearances:
            appearances.append(appearance)
    return tuple(
        SceneObject(appearance, position, float(rng.uniform(0, 90)), float(rng.uniform(*SCALE)))
        for appearance, position in zip(appearances, _draw_positions(count, rng), strict=True)
    )


def _draw_positions(count: int, rng: np.random.Generator) -> list[tuple[float, float]]:
    """Centres in a disk, at least `SPACING_M` apart; the disk grows with the count, and if no centre fits."""
    positions: list[tuple[float, float]] = []
    radius = 0.75 * SPACING_M * math.sqrt(count)
    while len(positions) < count:
        for _ in range(_TRIES):
            # The square root makes centres uniform over the disk's area.
            angle, r = rng.uniform(0, 2 * math.pi), radius * math.sqrt(rng.uniform())
            position = float(r * math.cos(angle)), float(r * math.sin(angle))
            if all(math.dist(position, other) >= SPACING_M for other in positions):
                positions.append(position)
                break
        else:
            radius *= 1.1
    return positions


def _new_appearances(room: Room, old: Appearance, fits: Callable[[Appearance, Appearance], bool]) -> list[Appearance]:
    """The appearances that no object in the room has and that may replace the old one."""
    taken = {scene_object.appearance for scene_object in room.objects}
    candidates = [Appearance(shape, variant.kind, variant.colour) for shape in SHAPES for variant in MATERIAL_VARIANTS]
    return [appearance for appearance in candidates if appearance not in taken and fits(old, appearance)]


def _swapped(old: Appearance, new: Appearance) -> bool:
    """True for another shape in another material of the same colour."""
    return new.shape != old.shape and new.material != old.material and new.colour == old.colour


def _altered(old: Appearance, new: Appearance) -> bool:
    """True for the same shape in another material of the same colour."""
    return new.shape == old.shape and new.material != old.material and new.colour == old.colour


def exposed(change: RoomChange, rng: np.random.Generator) -> RoomChange:
    """The edit with an exposure for each image (`EXPOSURES`)."""
    before, after = (float(exposure) for exposure in rng.uniform(*EXPOSURES, size=2))
    return replace(change, before=replace(change.before, exposure=before), after=replace(change.after, exposure=after))


def acuity(change: RoomChange, cameras: tuple[Camera, Camera]) -> dict[str, float]:
    """Measures of the size of an edit, for the items about it.

    `things` in the fuller image, `camera_shift_deg` between the two images, and `least_px`: the side in pixels of a
    square as large as the smaller visible area of the changed object; for a pattern, the width of a stripe at the
    middle of the floor as seen by the camera; for other edits of the surroundings, of the whole image.
    """
    first, second = (np.subtract(camera.position_m, camera.target_m) for camera in cameras)
    cosine = float(dot(unit_vector(first), unit_vector(second)))
    areas = [float(cameras[0].width_px * cameras[0].height_px)]
    if change.part == "pattern":
        stripes_m = change.before.stripe_m, change.after.stripe_m
        areas = [_stripe_px(*stripe) ** 2 for stripe in zip(stripes_m, cameras, strict=True)]
    if change.changed is not None:
        rooms = zip((change.before, change.after), cameras, strict=True)
        areas = [area for room, camera in rooms if (area := _seen_px(room, camera, change.changed.position_m)) > 0]
    return {
        "things": float(max(len(change.before.objects), len(change.after.objects))),
        "camera_shift_deg": round(math.degrees(math.acos(min(1.0, cosine))), 2),
        LEAST_PX: round(math.sqrt(min(areas)), 1),
    }


def _stripe_px(stripe_m: float, camera: Camera) -> float:
    """The width in pixels of a horizontal stripe of the floor at the middle of the image, foreshortened."""
    away = np.subtract(camera.position_m, camera.target_m)
    distance = float(lengths(away))
    focal_px = camera.width_px / 2 / math.tan(math.radians(camera.horizontal_fov_deg) / 2)
    return focal_px * stripe_m / distance * float(away[2]) / distance


def _seen_px(room: Room, camera: Camera, position_m: tuple[float, float]) -> float:
    """Visible pixels of the object at this position, measured at a quarter of the resolution; 0 if none."""
    visible = truth(room.scene(), camera.quarter(), detail=1)
    standing = [str(n) for n, scene_object in enumerate(room.objects) if scene_object.position_m == position_m]
    return float(sum(16 * visible[name].mask.sum() for name in standing))
