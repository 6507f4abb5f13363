"""Concepts that nobody can have memorised: rules on the dimensions of a picture, each with a name that tells the rule.

A picture's look gives every dimension a value, written `factor/part` or `factor`. A family divides pictures by some of
the dimensions of one concept level, so that its classes exclude one another and nothing else tells them apart. Families
and wordings are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from snellen.stimuli.scenes import ANCHORS, SHAPES
from snellen.stimuli.scenes.model import COLOURED
from snellen.suites.vfm_bench.items import Level

Values: TypeAlias = tuple[str, ...]
"""A class of a family: one value for each of its dimensions."""
Look: TypeAlias = Mapping[str, str]
Region: TypeAlias = Literal["object", "body", "part", "motif"]
"""What decides: both solids, the larger one, the smaller one, the balls beside them."""

OR = " or "
SHAPE_NAMES: Mapping[str, str] = {shape: shape for shape in SHAPES} | {"sphere": "ball"}
PLACES: Mapping[str, str] = {
    "face": "a face",
    "edge": "an edge",
    "vertex": "a corner",
    "surface": "the surface",
    "base": "the flat end",
    "side": "the side",
    "apex": "the tip",
    "small base": "the narrow end",
    "large base": "the wide end",
}
ARRANGEMENTS: Mapping[str, str] = {
    "row": "row",
    "ring": "ring",
    "cross": "cross",
    "block": "square block",
    "wedge": "wedge",
    "clumps": "triple of clumps",
}
BEATS: Mapping[str, str] = {"one": "of one colour", "two": "of two colours in turn"}
LIGHTS: Mapping[str, str] = {"bright": "from all around", "dim": "at dusk", "side": "from one side"}
TINTS: Mapping[str, str] = {"warm": "warm", "neutral": "white", "cool": "cool"}
TILTS: Mapping[str, str] = {"level": "level", "left": "leaning to the left", "right": "leaning to the right"}
HEIGHTS: Mapping[str, str] = {"low": "from low down", "high": "from high up"}


@dataclass(frozen=True)
class Family:
    """A way to divide pictures: by `dimensions`, among those that have the values `within`.

    `scene` is what the instruction calls the task. `name` and `tells` give a class, as dimension -> value, its name and
    what all its pictures show ("the smaller solid is red"). Values in `alike` make one class, `rubber or metal`.
    """

    level: Level
    handle: str
    scene: str
    dimensions: tuple[str, ...]
    region: Region | None
    name: Callable[[Look], str]
    tells: Callable[[Look], str]
    within: tuple[tuple[str, str], ...] = ()
    alike: tuple[str, ...] = ()

    def class_of(self, look: Look) -> Values | None:
        """The class a picture of this look belongs to, None for one that the family does not divide."""
        if any(look[dimension] != value for dimension, value in self.within):
            return None
        together = OR.join(self.alike)
        return tuple(together if look[dimension] in self.alike else look[dimension] for dimension in self.dimensions)

    def values(self, values: Values) -> dict[str, str]:
        """The class as dimension -> value, with what the family keeps fixed."""
        return dict(self.within) | dict(zip(self.dimensions, values, strict=True))

    def claims(self, values: Values) -> dict[str, list[str]]:
        """The class as ideal observers read it: dimension -> the values allowed."""
        return {dimension: value.split(OR) for dimension, value in self.values(values).items()}

    def definition(self, values: Values) -> str:
        """The class in one exact sentence."""
        return f"In every picture of this category {self.tells(self.values(values))}."


def required(look: Look, truth: str, claims: Mapping[str, Mapping[str, Iterable[str]]]) -> tuple[str, ...]:
    """The factors without which another class than `truth` fits the look as well. `claims`: key -> what it allows."""

    def fits(key: str, without: str) -> bool:
        told = claims[key].items()
        return all(look[d] in allowed for d, allowed in told if d.split("/")[0] != without)

    factors = dict.fromkeys(dimension.split("/")[0] for told in claims.values() for dimension in told)
    return tuple(factor for factor in factors if any(fits(key, factor) for key in claims if key != truth))


def caption(look: Look) -> str:
    """Everything there is to see in a picture, in one sentence."""
    place = PLACES[look["contact-point/anchor"]]
    return (
        f"A {look['size/secondary']} {_stuff(look, 'secondary')} {_part_shape(look)} on {place} of a larger "
        f"{_stuff(look, 'primary')} {SHAPE_NAMES[look['shape/primary']]}, beside "
        f"a {ARRANGEMENTS[look['arrangement/motif']]} of balls {BEATS[look['colour/motif']]}, on a {look['floor']} "
        f"floor, in a view {HEIGHTS[look['height']]}, {TILTS[look['tilt']]}, in {TINTS[look['tint']]} light "
        f"{LIGHTS[look['light']]}."
    )


def _stuff(look: Look, part: str) -> str:
    """`red metal`, `glass`, `wooden`; `red` where any coloured material will do."""
    kind, colour = look[f"material/{part}"], look.get(f"colour/{part}", "none")
    if colour == "none":
        return "wooden" if kind == "wood" else kind
    return colour if OR in kind else f"{colour} {kind}"


def _made(look: Look) -> str:
    """`red`, `of glass`, `of wood`."""
    stuff = _stuff(look, "secondary")
    return {"glass": "of glass", "wooden": "of wood"}.get(stuff, stuff)


def _part_shape(look: Look) -> str:
    """`ball`, `cone set on its tip`: a cone can be joined in two ways."""
    how = {"base": " set on its base", "apex": " set on its tip"}[look["contact-point/pivot"]] if _cone(look) else ""
    return SHAPE_NAMES[look["shape/secondary"]] + how


def _cone(look: Look) -> bool:
    return look["shape/secondary"] == "cone"


def _joint(look: Look) -> str:
    place = PLACES[look["contact-point/anchor"]]
    return f"{_part_shape(look)} on {place} of a {SHAPE_NAMES[look['shape/primary']]}"


def _contact(shape: str) -> Family:
    """Where on a primary solid of this shape the part is fixed."""
    body = SHAPE_NAMES[shape]
    return Family(
        "detail",
        f"contact-{shape}",
        f"telling by where on the {body} the smaller solid is fixed",
        ("contact-point/anchor",),
        "part",
        lambda look: f"part on {PLACES[look['contact-point/anchor']]}",
        lambda look: f"the smaller solid is fixed on {PLACES[look['contact-point/anchor']]} of a {body}",
        (("shape/primary", shape),),
    )


FAMILIES: tuple[Family, ...] = (
    Family(
        "object",
        "joint",
        "telling objects apart by the two solids they are made of and how these are joined",
        ("shape/primary", "contact-point/anchor", "shape/secondary", "contact-point/pivot"),
        "object",
        _joint,
        lambda look: f"the object is a smaller {_joint(look)}",
    ),
    Family(
        "detail",
        "part",
        "telling by the size of the smaller solid of the object and by what it is made of",
        ("colour/secondary", "material/secondary", "size/secondary"),
        "part",
        lambda look: f"{look['size/secondary']} {_stuff(look, 'secondary')} part",
        lambda look: f"the smaller solid of the object is {_made(look)}, and rather {look['size/secondary']}",
        alike=COLOURED,
    ),
    Family(
        "detail",
        "part-stuff",
        "telling by what the smaller solid of the object is made of",
        ("colour/secondary", "material/secondary"),
        "part",
        lambda look: f"{_stuff(look, 'secondary')} part",
        lambda look: f"the smaller solid of the object is {_made(look)}",
        alike=COLOURED,
    ),
    Family(
        "detail",
        "part-shape",
        "telling by the shape of the smaller solid of the object",
        ("shape/secondary",),
        "part",
        lambda look: f"{SHAPE_NAMES[look['shape/secondary']]}-shaped part",
        lambda look: f"the smaller solid of the object is a {SHAPE_NAMES[look['shape/secondary']]}",
    ),
    *(_contact(shape) for shape in SHAPES if len(ANCHORS[shape]) > 1),
    Family(
        "pattern",
        "motif",
        "telling by the pattern of little balls beside the object",
        ("arrangement/motif", "colour/motif"),
        "motif",
        lambda look: f"{ARRANGEMENTS[look['arrangement/motif']]} {BEATS[look['colour/motif']]}",
        lambda look: (
            f"the little balls beside the object form a {ARRANGEMENTS[look['arrangement/motif']]} and are "
            f"{BEATS[look['colour/motif']]}"
        ),
    ),
    Family(
        "pattern",
        "arrangement",
        "telling by how the little balls beside the object are arranged",
        ("arrangement/motif",),
        "motif",
        lambda look: f"balls in a {ARRANGEMENTS[look['arrangement/motif']]}",
        lambda look: f"the little balls beside the object form a {ARRANGEMENTS[look['arrangement/motif']]}",
    ),
    Family(
        "pattern",
        "surface",
        "telling by the surface of the larger solid of the object",
        ("material/primary",),
        "body",
        lambda look: f"{look['material/primary']} surface",
        lambda look: f"the larger solid of the object has a surface of {look['material/primary']}",
    ),
    Family(
        "style",
        "light",
        "telling by the light in which the picture is taken",
        ("light", "tint"),
        None,
        lambda look: f"{TINTS[look['tint']]} light {LIGHTS[look['light']]}",
        lambda look: f"everything stands in {TINTS[look['tint']]} light {LIGHTS[look['light']]}",
    ),
    Family(
        "style",
        "camera",
        "telling by how the camera is held",
        ("tilt", "height"),
        None,
        lambda look: f"view {HEIGHTS[look['height']]}, {TILTS[look['tilt']]}",
        lambda look: f"the view is {HEIGHTS[look['height']]} and upright things stand {_stand(look['tilt'])}",
    ),
    Family(
        "style",
        "floor",
        "telling by the floor and by how upright things stand in the picture",
        ("floor", "tilt"),
        None,
        lambda look: f"{look['floor']} floor, {TILTS[look['tilt']]}",
        lambda look: f"the floor is {look['floor']} and upright things stand {_stand(look['tilt'])}",
    ),
)


def _stand(tilt: str) -> str:
    return "straight" if tilt == "level" else TILTS[tilt]
