"""Concepts that cannot have been memorised: rules on the dimensions of an image, each with a name that states the rule.

An image's appearance gives every dimension (`factor/part` or `factor`) a value. A family divides images by some
dimensions of one concept level, so its classes are mutually exclusive and nothing else distinguishes them. Families and
wordings are ours.
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
Appearance: TypeAlias = Mapping[str, str]
Region: TypeAlias = Literal["object", "body", "part", "motif"]
"""The deciding region: both solids, the larger one, the smaller one, or the balls next to them."""

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
class ConceptFamily:
    """A division of the images that have the values `within`, by `dimensions`.

    `scene` is the name of the task in the instruction. For a class, as dimension -> value, `name` gives its name and
    `tells` the property of all its images ("the smaller solid is red"). Values in `alike` are one class, `rubber or
    metal`.
    """

    level: Level
    handle: str
    scene: str
    dimensions: tuple[str, ...]
    region: Region | None
    name: Callable[[Appearance], str]
    tells: Callable[[Appearance], str]
    within: tuple[tuple[str, str], ...] = ()
    alike: tuple[str, ...] = ()

    def class_of(self, appearance: Appearance) -> Values | None:
        """The class of an image with this appearance; None if the family does not contain it."""
        if any(appearance[dimension] != value for dimension, value in self.within):
            return None
        together = OR.join(self.alike)
        return tuple(
            together if appearance[dimension] in self.alike else appearance[dimension] for dimension in self.dimensions
        )

    def value_by_dimension(self, class_values: Values) -> dict[str, str]:
        """The class as dimension -> value, including the fixed dimensions of the family."""
        return dict(self.within) | dict(zip(self.dimensions, class_values, strict=True))

    def claims(self, class_values: Values) -> dict[str, list[str]]:
        """The class in the form for ideal observers: dimension -> allowed values."""
        return {dimension: value.split(OR) for dimension, value in self.value_by_dimension(class_values).items()}

    def definition(self, class_values: Values) -> str:
        """The class in one exact sentence."""
        return f"In every image of this category {self.tells(self.value_by_dimension(class_values))}."


def required(appearance: Appearance, truth: str, claims: Mapping[str, Mapping[str, Iterable[str]]]) -> tuple[str, ...]:
    """The factors without which a class other than `truth` also fits. `claims`: option key -> allowed values."""

    def fits(key: str, without: str) -> bool:
        allowed_values = claims[key].items()
        return all(appearance[d] in allowed for d, allowed in allowed_values if d.split("/")[0] != without)

    factors = dict.fromkeys(
        dimension.split("/")[0] for allowed_values in claims.values() for dimension in allowed_values
    )
    return tuple(factor for factor in factors if any(fits(key, factor) for key in claims if key != truth))


def caption(appearance: Appearance) -> str:
    """A full description of an image in one sentence."""
    size, floor = appearance["size/secondary"], appearance["floor"]
    part = f"{_material(appearance, 'secondary')} {_part_shape(appearance)}"
    body = f"{_material(appearance, 'primary')} {SHAPE_NAMES[appearance['shape/primary']]}"
    point = PLACES[appearance["contact-point/anchor"]]
    motif = f"{ARRANGEMENTS[appearance['arrangement/motif']]} of balls {BEATS[appearance['colour/motif']]}"
    view = f"view {HEIGHTS[appearance['height']]}, {TILTS[appearance['tilt']]}"
    light = f"{TINTS[appearance['tint']]} light {LIGHTS[appearance['light']]}"
    return (
        f"A {size} {part} on {point} of a larger {body}, beside a {motif}, on a {floor} floor, in a {view}, in {light}."
    )


def _material(appearance: Appearance, part: str) -> str:
    """`red metal`, `glass`, `wooden`; `red` if the material is any coloured one."""
    kind, colour = appearance[f"material/{part}"], appearance.get(f"colour/{part}", "none")
    if colour == "none":
        return "wooden" if kind == "wood" else kind
    return colour if OR in kind else f"{colour} {kind}"


def _made_of(appearance: Appearance) -> str:
    """`red`, `of glass`, `of wood`."""
    material = _material(appearance, "secondary")
    return {"glass": "of glass", "wooden": "of wood"}.get(material, material)


def _part_shape(appearance: Appearance) -> str:
    """`ball`, `cone set on its tip` (a cone can be joined in two ways)."""
    shape = SHAPE_NAMES[appearance["shape/secondary"]]
    if appearance["shape/secondary"] != "cone":
        return shape
    return shape + {"base": " set on its base", "apex": " set on its tip"}[appearance["contact-point/pivot"]]


def _joint(appearance: Appearance) -> str:
    point = PLACES[appearance["contact-point/anchor"]]
    return f"{_part_shape(appearance)} on {point} of a {SHAPE_NAMES[appearance['shape/primary']]}"


def _contact(shape: str) -> ConceptFamily:
    """The family of contact points on a primary solid of this shape."""
    body = SHAPE_NAMES[shape]
    return ConceptFamily(
        level="detail",
        handle=f"contact-{shape}",
        scene=f"telling by where on the {body} the smaller solid is fixed",
        dimensions=("contact-point/anchor",),
        region="part",
        name=lambda appearance: f"part on {PLACES[appearance['contact-point/anchor']]}",
        tells=lambda appearance: (
            f"the smaller solid is fixed on {PLACES[appearance['contact-point/anchor']]} of a {body}"
        ),
        within=(("shape/primary", shape),),
    )


FAMILIES: tuple[ConceptFamily, ...] = (
    ConceptFamily(
        level="object",
        handle="joint",
        scene="telling objects apart by the two solids they are made of and how these are joined",
        dimensions=("shape/primary", "contact-point/anchor", "shape/secondary", "contact-point/pivot"),
        region="object",
        name=_joint,
        tells=lambda appearance: f"the object is a smaller {_joint(appearance)}",
    ),
    ConceptFamily(
        level="detail",
        handle="part",
        scene="telling by the size and the colour of the smaller solid of the object (glass and wood count as colours)",
        dimensions=("colour/secondary", "material/secondary", "size/secondary"),
        region="part",
        name=lambda appearance: f"{appearance['size/secondary']} {_material(appearance, 'secondary')} part",
        tells=lambda appearance: (
            f"the smaller solid of the object is {_made_of(appearance)}, and rather {appearance['size/secondary']}"
        ),
        alike=COLOURED,
    ),
    ConceptFamily(
        level="detail",
        handle="part-stuff",
        scene="telling by the colour of the smaller solid of the object (glass and wood count as colours)",
        dimensions=("colour/secondary", "material/secondary"),
        region="part",
        name=lambda appearance: f"{_material(appearance, 'secondary')} part",
        tells=lambda appearance: f"the smaller solid of the object is {_made_of(appearance)}",
        alike=COLOURED,
    ),
    ConceptFamily(
        level="detail",
        handle="part-shape",
        scene="telling by the shape of the smaller solid of the object",
        dimensions=("shape/secondary",),
        region="part",
        name=lambda appearance: f"{SHAPE_NAMES[appearance['shape/secondary']]}-shaped part",
        tells=lambda appearance: f"the smaller solid of the object is a {SHAPE_NAMES[appearance['shape/secondary']]}",
    ),
    *(_contact(shape) for shape in SHAPES if len(ANCHORS[shape]) > 1),
    ConceptFamily(
        level="pattern",
        handle="motif",
        scene="telling by the pattern of little balls beside the object",
        dimensions=("arrangement/motif", "colour/motif"),
        region="motif",
        name=lambda appearance: f"{ARRANGEMENTS[appearance['arrangement/motif']]} {BEATS[appearance['colour/motif']]}",
        tells=lambda appearance: (
            f"the little balls beside the object form a {ARRANGEMENTS[appearance['arrangement/motif']]} and are "
            f"{BEATS[appearance['colour/motif']]}"
        ),
    ),
    ConceptFamily(
        level="pattern",
        handle="arrangement",
        scene="telling by how the little balls beside the object are arranged",
        dimensions=("arrangement/motif",),
        region="motif",
        name=lambda appearance: f"balls in a {ARRANGEMENTS[appearance['arrangement/motif']]}",
        tells=lambda appearance: (
            f"the little balls beside the object form a {ARRANGEMENTS[appearance['arrangement/motif']]}"
        ),
    ),
    ConceptFamily(
        level="pattern",
        handle="surface",
        scene="telling by the surface of the larger solid of the object",
        dimensions=("material/primary",),
        region="body",
        name=lambda appearance: f"{appearance['material/primary']} surface",
        tells=lambda appearance: f"the larger solid of the object has a surface of {appearance['material/primary']}",
    ),
    ConceptFamily(
        level="style",
        handle="light",
        scene="telling by the light in which the image is taken",
        dimensions=("light", "tint"),
        region=None,
        name=lambda appearance: f"{TINTS[appearance['tint']]} light {LIGHTS[appearance['light']]}",
        tells=lambda appearance: (
            f"everything stands in {TINTS[appearance['tint']]} light {LIGHTS[appearance['light']]}"
        ),
    ),
    ConceptFamily(
        level="style",
        handle="camera",
        scene="telling by how the camera is held",
        dimensions=("tilt", "height"),
        region=None,
        name=lambda appearance: f"view {HEIGHTS[appearance['height']]}, {TILTS[appearance['tilt']]}",
        tells=lambda appearance: (
            f"the view is {HEIGHTS[appearance['height']]} and upright things stand {_stand(appearance['tilt'])}"
        ),
    ),
    ConceptFamily(
        level="style",
        handle="floor",
        scene="telling by the floor and by how upright things stand in the image",
        dimensions=("floor", "tilt"),
        region=None,
        name=lambda appearance: f"{appearance['floor']} floor, {TILTS[appearance['tilt']]}",
        tells=lambda appearance: (
            f"the floor is {appearance['floor']} and upright things stand {_stand(appearance['tilt'])}"
        ),
    ),
)


def _stand(tilt: str) -> str:
    return "straight" if tilt == "level" else TILTS[tilt]
