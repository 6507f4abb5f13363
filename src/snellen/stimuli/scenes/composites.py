"""Composite Blocks: 9,504 objects of two primitives, any two of which differ in at least one dimension.

Source: the ComBo paper, section 3.1 and appendix B.1: five shapes, four materials (rubber and metal in five colours),
a contact point made of an anchor on the primary and a pivot on the secondary primitive. 12 materials x 12 materials x
66 joints, 66 = 11 anchors x 6 pivots. The anchors of each shape are only in a figure: see `design/anchors.md`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping

from snellen.core.errors import SnellenError
from snellen.stimuli.scenes.model import COLOURED, COLOURS, MATERIALS, SHAPES, Colour, Material, MaterialKind, Shape

ANCHORS: Mapping[Shape, tuple[str, ...]] = {
    "cube": ("face", "edge", "vertex"),
    "sphere": ("surface",),
    "cylinder": ("base", "side"),
    "cone": ("apex", "base"),  # not the side: the paper's own example, an ice cream, is a ball on a cone's base
    "frustum": ("small base", "large base", "side"),
}
"""Points of a primary primitive to which the secondary one may be attached: 11 in all."""

PIVOTS: Mapping[Shape, tuple[str, ...]] = {
    "cube": ("face",),
    "sphere": ("surface",),
    "cylinder": ("base",),
    "cone": ("base", "apex"),
    "frustum": ("large base",),
}
"""Points of a secondary primitive by which it is attached: 6 in all."""

MATERIAL_VARIANTS: tuple[Material, ...] = tuple(
    Material(kind, colour) for kind in MATERIALS for colour in (COLOURS if kind in COLOURED else (None,))
)
"""The twelve materials: rubber and metal in five colours each, glass, wood."""

DIMENSIONS: tuple[str, ...] = (
    "shape/primary",
    "material/primary",
    "colour/primary",
    "shape/secondary",
    "material/secondary",
    "colour/secondary",
    "contact-point/anchor",
    "contact-point/pivot",
)
"""The eight dimensions of a composite; the factor is before the slash."""

_TEXT: Mapping[str, Mapping[str, str]] = {
    "shape": {**{shape: shape for shape in SHAPES}, "frustum": "conical frustum"},
    "material": {material: material for material in MATERIALS},
    "colour": {**{colour: colour for colour in COLOURS}, "none": "no added colour"},
    "contact-point": {
        "face": "centre of a face",
        "edge": "middle of an edge",
        "vertex": "vertex",
        "surface": "surface",
        "base": "flat base",
        "side": "curved side",
        "apex": "apex",
        "small base": "smaller base",
        "large base": "larger base",
    },
}


@dataclasses.dataclass(frozen=True)
class Appearance:
    """The shape, material and colour of one primitive."""

    shape: Shape
    material: MaterialKind
    colour: Colour | None = None

    def __post_init__(self) -> None:
        if self.shape not in SHAPES:
            raise SnellenError(f"shape {self.shape!r} is unknown; choose one of {', '.join(SHAPES)}")
        Material(self.material, self.colour)


@dataclasses.dataclass(frozen=True)
class Composite:
    """Two primitives and their joint: the secondary's pivot touches the primary's anchor."""

    primary: Appearance
    anchor: str
    secondary: Appearance
    pivot: str

    def __post_init__(self) -> None:
        for kind, point, places in (
            ("anchor", self.anchor, ANCHORS[self.primary.shape]),
            ("pivot", self.pivot, PIVOTS[self.secondary.shape]),
        ):
            if point not in places:
                shape = self.primary.shape if kind == "anchor" else self.secondary.shape
                raise SnellenError(f"a {shape} has no {kind} {point!r}; choose one of {', '.join(places)}")

    def dimensions(self) -> dict[str, str]:
        """Value of each of the eight `DIMENSIONS`; the colour of glass and wood is 'none'."""
        first, second = self.primary, self.secondary
        values = (
            *(first.shape, first.material, first.colour or "none"),
            *(second.shape, second.material, second.colour or "none"),
            *(self.anchor, self.pivot),
        )
        return dict(zip(DIMENSIONS, values, strict=True))


def text_name(dimension: str, value: str) -> str:
    """The text for a value of a dimension or factor: `text_name("shape/primary", "frustum")` is 'conical frustum'."""
    names = _TEXT.get(dimension.split("/")[0], {})
    if value not in names:
        raise SnellenError(
            f"{dimension} has no value {value!r:.60}; known: {', '.join(names) or 'none (unknown dimension)'}"
        )
    return names[value]


def joints() -> Iterator[tuple[Shape, str, Shape, str]]:
    """The 66 (primary shape, anchor, secondary shape, pivot), in the order of `all_composites`."""
    for primary in SHAPES:
        for anchor in ANCHORS[primary]:
            for secondary in SHAPES:
                for pivot in PIVOTS[secondary]:
                    yield primary, anchor, secondary, pivot


@functools.cache
def all_composites() -> tuple[Composite, ...]:
    """All 9,504 objects, index = (joint * 12 + primary material) * 12 + secondary material.

    Joints are in the order of `joints`, materials in that of `MATERIAL_VARIANTS`.
    """
    every = tuple(
        Composite(Appearance(first, a.kind, a.colour), anchor, Appearance(second, b.kind, b.colour), pivot)
        for first, anchor, second, pivot in joints()
        for a in MATERIAL_VARIANTS
        for b in MATERIAL_VARIANTS
    )
    if len(every) != 9504 or sum(map(len, ANCHORS.values())) != 11 or len(ANCHORS["sphere"]) != 1:
        raise SnellenError(
            "ANCHORS and PIVOTS must have 11 and 6 places, one of them on the sphere, to give the paper's 9,504 objects"
        )
    return every


def composite(index: int) -> Composite:
    """The composite at index 0-9503 of `all_composites`."""
    if not 0 <= index < len(all_composites()):
        raise SnellenError(f"composite {index} does not exist; indices run from 0 to {len(all_composites()) - 1}")
    return all_composites()[index]


@functools.cache
def _indices() -> dict[Composite, int]:
    return {every: index for index, every in enumerate(all_composites())}


def index_of(blocks: Composite) -> int:
    """Index of a composite in `all_composites`."""
    return _indices()[blocks]
