"""Scenes as data: solids, floor, lights and a dome, in metres, degrees and linear RGB, independent of renderers.

World axes: x and y are on the floor, z points up, the floor is z = 0. A solid's own axes have their origin at the
centre of the unrounded primitive (half its height) and z along its axis of revolution.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import types
import typing
from collections.abc import Callable
from typing import Any, Literal

from snellen.core.errors import SnellenError
from snellen.core.hashing import canonical
from snellen.stimuli.scenes.floor_patterns import CONTRAST, PATTERNS, PLAIN, STRIPE_M

Vec3 = tuple[float, float, float]
Matrix3 = tuple[Vec3, Vec3, Vec3]
Shape = Literal["cube", "sphere", "cylinder", "cone", "frustum"]
MaterialKind = Literal["rubber", "metal", "glass", "wood"]
Colour = Literal["red", "yellow", "blue", "green", "purple"]

SHAPES: tuple[Shape, ...] = typing.get_args(Shape)
MATERIALS: tuple[MaterialKind, ...] = typing.get_args(MaterialKind)
COLOURS: tuple[Colour, ...] = typing.get_args(Colour)
COLOURED: tuple[MaterialKind, ...] = ("rubber", "metal")
IDENTITY: Matrix3 = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
SCENE_VERSION = "2"
"""Changes if the same scene data would give a different image (meshes, materials, tone curve)."""


def _one_of(name: str, value: str | None, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise SnellenError(f"{name} {value!r} is unknown; choose one of {', '.join(allowed)}")


@dataclasses.dataclass(frozen=True)
class Material:
    """A solid's material. Rubber and metal come in five colours, glass and wood in one look each."""

    kind: MaterialKind
    colour: Colour | None = None

    def __post_init__(self) -> None:
        _one_of("material", self.kind, MATERIALS)
        if self.kind in COLOURED:
            _one_of(f"{self.kind} colour", self.colour, COLOURS)
        elif self.colour is not None:
            raise SnellenError(f"{self.kind} has no colour, but {self.colour!r} was given; leave the colour out")


@dataclasses.dataclass(frozen=True)
class Pose:
    """world = rotation @ (scale * stretch * local) + position_m.

    `rotation` holds the rows of a proper rotation, `scale` is a factor on the unit primitive, `stretch` (factors along
    the solid's own axes) makes plates and rods; edge roundings are stretched too.
    """

    position_m: Vec3 = (0.0, 0.0, 0.0)
    rotation: Matrix3 = IDENTITY
    scale: float = 1.0
    stretch: Vec3 = (1.0, 1.0, 1.0)

    def __post_init__(self) -> None:
        if not (self.scale > 0 and min(self.stretch) > 0):
            raise SnellenError(f"pose: scale {self.scale} and stretch {self.stretch} must be above 0")
        (a, b, c), (d, e, f), (g, h, i) = self.rotation
        lengths = (a * a + b * b + c * c - 1, d * d + e * e + f * f - 1, g * g + h * h + i * i - 1)
        products = (a * d + b * e + c * f, a * g + b * h + c * i, d * g + e * h + f * i)
        if not max(map(abs, (*lengths, *products))) <= 1e-6:
            raise SnellenError(f"pose: rotation {self.rotation} is not a rotation; its rows must be orthonormal")


@dataclasses.dataclass(frozen=True)
class Solid:
    """One primitive in the scene; `name` is unique within it."""

    name: str
    shape: Shape
    material: Material
    pose: Pose = Pose()

    def __post_init__(self) -> None:
        _one_of("shape", self.shape, SHAPES)


@dataclasses.dataclass(frozen=True)
class Floor:
    """A matt disk at z = 0, plain or with one of `floor_patterns.PATTERNS`, `stripe_m` wide.

    `contrast` is the share of the colour by which a pattern is lighter and darker, 0 to 1.
    """

    colour_linear_rgb: Vec3 = (0.42, 0.42, 0.42)
    radius_m: float = 60.0
    # Omitted from the JSON of a plain floor, since scenes from before there were patterns are identified by it.
    pattern: str = dataclasses.field(default=PLAIN, metadata={"omitted": True})
    stripe_m: float = dataclasses.field(default=STRIPE_M, metadata={"omitted": True})
    contrast: float = dataclasses.field(default=CONTRAST, metadata={"omitted": True})

    def __post_init__(self) -> None:
        _one_of("pattern", self.pattern, (PLAIN, *PATTERNS))


@dataclasses.dataclass(frozen=True)
class AreaLight:
    """A square panel that shines towards `target_m`. Radiance in the image's linear units (1 = white)."""

    position_m: Vec3
    target_m: Vec3
    side_m: float
    radiance_linear_rgb: Vec3


@dataclasses.dataclass(frozen=True)
class Softbox:
    """A bright rectangle on the dome, mirrored in metal and glass."""

    azimuth_deg: float
    elevation_deg: float
    half_width_deg: float
    half_height_deg: float
    radiance: float


@dataclasses.dataclass(frozen=True)
class Dome:
    """The surroundings at infinity: a grey gradient from horizon to zenith and a few softboxes (linear radiance)."""

    horizon_linear_rgb: Vec3 = (0.216, 0.223, 0.234)
    zenith_linear_rgb: Vec3 = (0.397, 0.409, 0.430)
    softboxes: tuple[Softbox, ...] = ()


@dataclasses.dataclass(frozen=True)
class Camera:
    """A pinhole camera. `horizontal_fov_deg` spans the image's width; pixel (0, 0) is the top left corner."""

    position_m: Vec3
    target_m: Vec3
    up: Vec3 = (0.0, 0.0, 1.0)
    horizontal_fov_deg: float = 34.0
    width_px: int = 480
    height_px: int = 360

    def __post_init__(self) -> None:
        if self.width_px < 1 or self.height_px < 1 or not 0 < self.horizontal_fov_deg < 180:
            raise SnellenError(
                f"camera: {self.width_px}x{self.height_px} px at {self.horizontal_fov_deg} degrees is impossible"
            )

    def quarter(self) -> Camera:
        """The same view at a quarter of the resolution, for measures that need no more; at least one pixel a side."""
        size = max(self.width_px // 4, 1), max(self.height_px // 4, 1)
        return dataclasses.replace(self, width_px=size[0], height_px=size[1])


@dataclasses.dataclass(frozen=True)
class NamedPoint:
    """A point whose image position is needed, such as the contact of two solids."""

    name: str
    position_m: Vec3


@dataclasses.dataclass(frozen=True)
class Scene:
    """All contents of a scene, without a camera."""

    solids: tuple[Solid, ...]
    floor: Floor = Floor()
    lights: tuple[AreaLight, ...] = ()
    dome: Dome = Dome()
    points: tuple[NamedPoint, ...] = ()

    def __post_init__(self) -> None:
        names = [solid.name for solid in self.solids]
        if len(set(names)) != len(names):
            raise SnellenError(f"scene: solids must have different names, got {names}")


@dataclasses.dataclass(frozen=True)
class RenderSpec:
    """One image to be rendered. The seed affects only the renderer's noise."""

    scene: Scene
    camera: Camera
    seed: int = 0


def to_json(definition: Scene | Camera | RenderSpec) -> str:
    """Canonical JSON of a scene, camera or spec: equal values give equal text."""
    kind: Any = type(definition)
    return canonical({"type": kind.__name__, **_plain(kind)(definition)})


def from_json(text: str) -> Any:
    """The scene, camera or spec written by `to_json`; equal to the original."""
    data = json.loads(text)
    kinds: dict[str, type] = {"Scene": Scene, "Camera": Camera, "RenderSpec": RenderSpec}
    kind = data.pop("type", None) if isinstance(data, dict) else None
    if kind not in kinds:
        raise SnellenError(f"scene JSON: type is {kind!r}, expected one of {', '.join(kinds)}")
    try:
        return _load(kinds[kind], data)
    except (TypeError, KeyError) as error:
        raise SnellenError(f"scene JSON: {error}; was it written by another version?") from error


@functools.cache
def _plain(kind: Any) -> Callable[[Any], Any]:
    """A converter of values of that annotated type to plain JSON; floats stay floats, since 25 and 25.0 are equal."""
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = _hints(kind)
        fields = [(field.name, _plain(hints[field.name])) for field in dataclasses.fields(kind)]
        omitted = {field.name: field.default for field in dataclasses.fields(kind) if field.metadata.get("omitted")}
        if not omitted:
            return lambda value: {name: plain(getattr(value, name)) for name, plain in fields}
        return lambda value: {
            name: plain(getattr(value, name))
            for name, plain in fields
            if name not in omitted or getattr(value, name) != omitted[name]
        }
    if typing.get_origin(kind) is tuple:
        kinds = typing.get_args(kind)
        if kinds[-1] is Ellipsis:
            alike = _plain(kinds[0])
            return lambda value: [alike(part) for part in value]
        parts = [_plain(part) for part in kinds]
        return lambda value: [plain(part) for plain, part in zip(parts, value, strict=True)]
    return float if kind is float else lambda value: value


def _load(kind: Any, value: Any) -> Any:
    """`value` (plain JSON) as the annotated type: dataclass, tuple, optional, float or unchanged."""
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = _hints(kind)
        return kind(**{name: _load(hints[name], item) for name, item in value.items()})
    if typing.get_origin(kind) is types.UnionType:
        return value
    if typing.get_origin(kind) is tuple:
        inner = typing.get_args(kind)
        if len(inner) == 2 and inner[1] is Ellipsis:
            inner = (inner[0],) * len(value)
        return tuple(_load(part, item) for part, item in zip(inner, value, strict=True))
    return float(value) if kind is float else value


@functools.cache
def _hints(dataclass_type: type) -> dict[str, Any]:
    return typing.get_type_hints(dataclass_type)
