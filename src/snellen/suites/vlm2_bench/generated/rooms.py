"""General cues, generated: small scenes of three to seven solids, each shown before and after one edit of a known kind.

Everything here is data; nothing is rendered. Sizes, places and edits are ours: the paper edits photographs.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from snellen.core.errors import SnellenError
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
    clear_camera,
    move,
    studio,
    text_name,
    truth,
    turn,
)
from snellen.stimuli.scenes.shapes import bounds
from snellen.suites.vlm2_bench.items import Edit

EDITS: tuple[Edit, ...] = ("add", "swap", "attribute", "remove", "environment")
FEWEST, MOST = 3, 7
SCALE = (0.55, 0.7)
SPACING_M = 1.3
"""Least distance of two centres; the largest solid is 1.1 m wide."""
FLOORS: Mapping[str, tuple[float, float, float]] = {
    "grey": (0.42, 0.42, 0.42),
    "blue": (0.24, 0.32, 0.47),
    "brown": (0.47, 0.35, 0.23),
}
"""Linear RGB; pale, because metal takes on the colour of the floor it mirrors."""
LIGHTS: Mapping[str, float] = {"bright": 1.0, "dim": 0.4}
"""Factor on every light and on the dome."""
FARTHER = 2.5
"""Factor on distance and size of the panels: cameras stand farther off than before a single object."""
MIN_VISIBLE = 0.4
_TRIES = 60


@dataclass(frozen=True)
class Thing:
    """One solid of a scene: its look, place on the floor in metres, turn and size factor."""

    look: Appearance
    place_m: tuple[float, float]
    turn_deg: float
    scale: float

    @property
    def name(self) -> str:
        """`red rubber cube`, `glass sphere`: no two things of a scene share it."""
        colour = f"{self.look.colour} " if self.look.colour else ""
        return f"{colour}{self.look.material} {text_name('shape', self.look.shape)}"

    def dimensions(self) -> dict[str, str]:
        """What can be seen of it."""
        return {
            "shape/object": self.look.shape,
            "material/object": self.look.material,
            "colour/object": self.look.colour or "none",
        }


@dataclass(frozen=True)
class Room:
    """Things on a floor under a light."""

    things: tuple[Thing, ...]
    floor: str = "grey"
    light: str = "bright"

    def caption(self) -> str:
        """What is there, in one sentence."""
        names = [f"a {thing.name}" for thing in self.things]
        listed = ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else names[0]
        return f"The picture shows {listed} on a {self.floor} floor in {self.light} light."

    def scene(self) -> Scene:
        """The room as solids `0`, `1`, …, floor and lights."""
        made = studio(tuple(_solid(str(n), thing) for n, thing in enumerate(self.things)))
        lights = tuple(_farther(light) for light in made.lights)
        return lit(replace(made, floor=Floor(FLOORS[self.floor]), lights=lights), LIGHTS[self.light])


def _farther(light: AreaLight) -> AreaLight:
    x, y, z = light.position_m
    return replace(light, position_m=(x * FARTHER, y * FARTHER, z * FARTHER), side_m=light.side_m * FARTHER)


def lit(scene: Scene, factor: float, tint: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> Scene:
    """The scene with every light and the dome times `factor` (and `tint`, a factor a channel)."""

    def scaled(colour: tuple[float, float, float]) -> tuple[float, float, float]:
        r, g, b = (factor * value * shade for value, shade in zip(colour, tint, strict=True))
        return r, g, b

    lights = tuple(replace(light, radiance_linear_rgb=scaled(light.radiance_linear_rgb)) for light in scene.lights)
    dome = replace(
        scene.dome,
        horizon_linear_rgb=scaled(scene.dome.horizon_linear_rgb),
        zenith_linear_rgb=scaled(scene.dome.zenith_linear_rgb),
        softboxes=tuple(replace(box, radiance=box.radiance * factor) for box in scene.dome.softboxes),
    )
    return replace(scene, lights=lights, dome=dome)


def _solid(name: str, thing: Thing) -> Solid:
    held = Solid(name, thing.look.shape, Material(thing.look.material, thing.look.colour), Pose(scale=thing.scale))
    held = move(held, turn((0.0, 0.0, 1.0), thing.turn_deg))
    low, _ = bounds((held,))
    return move(held, shift_m=(*thing.place_m, 0.002 - float(low[2])))


@dataclass(frozen=True)
class Change:
    """A room before and after one edit.

    `changed` is the thing that was added, removed, replaced or altered, as it looks in the picture that the question
    speaks of; None for an edit of the surroundings, whose part is `part`. `differs` are the factors in which before
    and after differ.
    """

    edit: Edit
    before: Room
    after: Room
    changed: Thing | None
    differs: tuple[str, ...]
    part: str = ""

    def named(self) -> tuple[Thing, ...]:
        """The things a question about this edit may name: those of the picture that shows the changed one."""
        return (self.after if self.edit == "add" else self.before).things

    def instruction(self) -> str:
        """The edit as an instruction, as editing data sets give it."""
        return _INSTRUCTIONS[self.edit](self)


_INSTRUCTIONS: Mapping[Edit, Callable[[Change], str]] = {
    "add": lambda change: f"Add {_a(change.changed)}.",
    "remove": lambda change: f"Remove the {_name(change.changed)}.",
    "swap": lambda change: f"Replace the {_name(change.changed)} with {_a(successor(change))}.",
    "attribute": lambda change: f"Make the {_name(change.changed)} {_a(successor(change))}.",
    "environment": lambda change: f"Make the {change.part} {getattr(change.after, change.part)}.",
}


def _name(thing: Thing | None) -> str:
    if thing is None:
        raise ValueError("this edit is of the surroundings")
    return thing.name


def _a(thing: Thing | None) -> str:
    return f"a {_name(thing)}"


def successor(change: Change) -> Thing:
    """The thing of the second picture that stands where the changed one stood in the first."""
    assert change.changed is not None
    return next(thing for thing in change.after.things if thing.place_m == change.changed.place_m)


def tracked(change: Change) -> tuple[str, str]:
    """What happened, and its direct reverse: the two answers of Trk (Table 4)."""
    if change.edit in ("add", "remove"):
        told = f"{_a(change.changed).capitalize()} was"
        right, wrong = f"{told} added.", f"{told} removed."
        return (right, wrong) if change.edit == "add" else (wrong, right)
    if change.edit == "environment":
        old, new = getattr(change.before, change.part), getattr(change.after, change.part)
        return tuple(f"The {change.part} changed from {a} to {b}." for a, b in ((old, new), (new, old)))  # type: ignore[return-value]
    verb = "was replaced with" if change.edit == "swap" else "turned into"
    old_thing, new_thing = _name(change.changed), successor(change).name
    return f"The {old_thing} {verb} a {new_thing}.", f"The {new_thing} {verb} a {old_thing}."


def random_change(edit: Edit, rng: np.random.Generator) -> Change:
    """A room of 3 to 7 things (in the fuller picture) and one edit of it."""
    count = int(rng.integers(FEWEST + (edit in ("add", "remove")), MOST + 1))
    room = Room(_things(count, rng), str(rng.choice(list(FLOORS))), str(rng.choice(list(LIGHTS))))
    if edit == "environment":
        part = ("floor", "light")[int(rng.integers(2))]
        choices = [value for value in (FLOORS if part == "floor" else LIGHTS) if value != getattr(room, part)]
        new_value = str(rng.choice(choices))
        after = replace(room, floor=new_value) if part == "floor" else replace(room, light=new_value)
        return Change(edit, room, after, None, ("environment",), part)
    if edit in ("add", "remove"):
        at = int(rng.integers(count))
        thing = room.things[at]
        fewer = replace(room, things=room.things[:at] + room.things[at + 1 :])
        before, after = (fewer, room) if edit == "add" else (room, fewer)
        return Change(edit, before, after, thing, ("presence",))
    fits = _swapped if edit == "swap" else _altered
    for at in (int(n) for n in rng.permutation(count)):
        thing = room.things[at]
        if looks := _new_looks(room, thing.look, fits):
            new = replace(thing, look=looks[int(rng.integers(len(looks)))])
            after = replace(room, things=(*room.things[:at], new, *room.things[at + 1 :]))
            return Change(edit, room, after, thing, differing(thing, new))
    return random_change(edit, rng)  # glass may only turn into wood, which stands there already


def differing(one: Thing, other: Thing) -> tuple[str, ...]:
    """The factors in which two things look different."""
    mine, theirs = one.dimensions(), other.dimensions()
    return tuple(dimension.split("/")[0] for dimension in mine if mine[dimension] != theirs[dimension])


def _things(count: int, rng: np.random.Generator) -> tuple[Thing, ...]:
    looks: list[Appearance] = []
    while len(looks) < count:
        look = _random_look(rng)
        if look not in looks:
            looks.append(look)
    return tuple(
        Thing(look, place, float(rng.uniform(0, 90)), float(rng.uniform(*SCALE)))
        for look, place in zip(looks, _places(count, rng), strict=True)
    )


def _random_look(rng: np.random.Generator) -> Appearance:
    stuff = MATERIAL_VARIANTS[int(rng.integers(len(MATERIAL_VARIANTS)))]
    return Appearance(SHAPES[int(rng.integers(len(SHAPES)))], stuff.kind, stuff.colour)


def _places(count: int, rng: np.random.Generator) -> list[tuple[float, float]]:
    """Centres in a disk, at least `SPACING_M` apart; the disk grows with the count, and where none fits."""
    places: list[tuple[float, float]] = []
    radius = 0.75 * SPACING_M * math.sqrt(count)
    while len(places) < count:
        for _ in range(_TRIES):
            angle, r = rng.uniform(0, 2 * math.pi), radius * math.sqrt(rng.uniform())
            place = float(r * math.cos(angle)), float(r * math.sin(angle))
            if all(math.dist(place, other) >= SPACING_M for other in places):
                places.append(place)
                break
        else:
            radius *= 1.1
    return places


def _new_looks(room: Room, old: Appearance, fits: Callable[[Appearance, Appearance], bool]) -> list[Appearance]:
    """The looks that nothing in the room has yet and that may follow the old one."""
    taken = {thing.look for thing in room.things}
    held = [Appearance(shape, stuff.kind, stuff.colour) for shape in SHAPES for stuff in MATERIAL_VARIANTS]
    return [look for look in held if look not in taken and fits(old, look)]


def _swapped(old: Appearance, new: Appearance) -> bool:
    """Another shape, and another material or colour too: another thing altogether."""
    return new.shape != old.shape and (new.material, new.colour) != (old.material, old.colour)


def _altered(old: Appearance, new: Appearance) -> bool:
    """The same shape in another colour, or in another material of the same colour: one dimension moves."""
    return new.shape == old.shape and (new.material != old.material) + (new.colour != old.colour) == 1


def view_of(change: Change, rng: np.random.Generator, size_px: tuple[int, int]) -> Camera:
    """One camera for both pictures, that sees at least `MIN_VISIBLE` of every thing in either."""
    scenes = change.before.scene(), change.after.scene()
    fuller = max(scenes, key=lambda scene: len(scene.solids))
    other = scenes[0] if fuller is scenes[1] else scenes[1]
    for _ in range(_TRIES):
        camera = clear_camera(
            fuller,
            rng,
            least_visible=MIN_VISIBLE,
            elevation_deg=(35.0, 60.0),
            fill=(0.85, 0.95),
            width_px=size_px[0],
            height_px=size_px[1],
        )
        small = dataclasses.replace(camera, width_px=size_px[0] // 4, height_px=size_px[1] // 4)
        seen = truth(other, small, detail=1)
        if all(solid.visible_fraction >= MIN_VISIBLE for solid in seen.solids):
            return camera
    raise SnellenError(f"no camera sees all things of the room: {change.before.caption()}")
