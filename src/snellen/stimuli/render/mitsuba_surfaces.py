"""Surfaces of solids, floors and light panels in Mitsuba 3, and the textures that they show.

Every kind of surface is created once per process: kernels are recompiled for new ones.
"""

from __future__ import annotations

import atexit
import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snellen.stimuli.render.appearances import METAL_RGB, RUBBER_RGB, wood_texture
from snellen.stimuli.scenes.floor_patterns import PLAIN, pattern_factor, period_m
from snellen.stimuli.scenes.model import COLOURS, MATERIALS, SHAPES, Colour, Floor, MaterialKind, Solid, Vec3
from snellen.stimuli.scenes.vectors import Array

_GLASS_INDEX = 1.5
_PANEL_RGB = (0.5, 0.5, 0.5)
"""Reflectance of light panels: Mitsuba's default."""
WOOD_PX = 512
"""Side of the texture of a wooden shape."""
PATTERN_PX = 128
"""Side of the texture of one period of a floor's pattern."""


def texture_place(uv: Array, solid: Solid) -> Array:
    """Texture coordinates of a solid's points (n, 2): within its colour, or in the wood of its shape."""
    kind, colour = solid.material.kind, solid.material.colour
    if kind == "wood":
        row = SHAPES.index(solid.shape) * (WOOD_PX + 2) + 1 + uv[:, 1] * WOOD_PX
        return np.stack([uv[:, 0], row / (len(SHAPES) * (WOOD_PX + 2))], axis=1)
    if colour is not None:  # the middle half, so that rounding never reaches a neighbour
        return np.stack([(COLOURS.index(colour) + 0.25 + 0.5 * uv[:, 0]) / len(COLOURS), uv[:, 1]], axis=1)
    return uv


@functools.cache
def solid_surfaces(mi: Any, variant: str) -> dict[MaterialKind, Any]:
    """The surface of every kind under a variant of Mitsuba.

    Created once per process, all together: kernels read surfaces in the order of their creation, and are recompiled for
    another order.
    """
    atexit.register(solid_surfaces.cache_clear)  # before the renderer checks for leaks
    return {kind: _bsdf(mi, kind) for kind in MATERIALS}


def _bsdf(mi: Any, kind: MaterialKind) -> Any:
    """The surface of a kind: palettes of colours, woods stacked vertically."""
    if kind == "glass":
        return mi.load_dict({"type": "dielectric", "int_ior": _GLASS_INDEX})
    if kind == "wood":
        base, roughness, metallic, specular = _woods(), 0.42, 0.0, 0.5
    elif kind == "metal":
        base, roughness, metallic, specular = _palette(METAL_RGB), 0.15, 1.0, 0.5
    else:
        base, roughness, metallic, specular = _palette(RUBBER_RGB), 0.65, 0.0, 0.3
    return mi.load_dict(
        {
            "type": "principled",
            "base_color": {
                "type": "bitmap",
                "bitmap": mi.Bitmap(base),
                "raw": True,
                "wrap_mode": "clamp",
                "filter_type": "bilinear" if kind == "wood" else "nearest",
            },
            "roughness": roughness,
            "metallic": metallic,
            "specular": specular,
        }
    )


def _woods() -> NDArray[np.float32]:
    """The woods of all shapes stacked vertically; first and last rows are repeated, so that they do not blend."""
    return np.concatenate([np.pad(wood_texture(shape, WOOD_PX), ((1, 1), (0, 0), (0, 0)), "edge") for shape in SHAPES])


def _palette(rgb: Mapping[Colour, Vec3]) -> NDArray[np.float32]:
    """A texture (1, colours, 3)."""
    return np.array([[rgb[colour] for colour in COLOURS]], np.float32)


@functools.cache
def plain_surface(mi: Any, variant: str, name: str) -> Any:
    """The shared surface of light panels, or of plain floors (`paint_floor`); a new one would recompile kernels."""
    atexit.register(plain_surface.cache_clear)
    return mi.load_dict({"type": "diffuse", "reflectance": {"type": "rgb", "value": list(_PANEL_RGB)}})


@functools.cache
def pattern_surface(mi: Any, variant: str) -> Any:
    """The surface of floors with a pattern, like `plain_surface`."""
    atexit.register(pattern_surface.cache_clear)
    blank = mi.Bitmap(np.zeros((PATTERN_PX, PATTERN_PX, 3), np.float32))
    tile = {"type": "bitmap", "bitmap": blank, "raw": True, "wrap_mode": "repeat", "filter_type": "nearest"}
    return mi.load_dict({"type": "diffuse", "reflectance": tile})


def paint_floor(mi: Any, floor: Floor) -> None:
    """Set the colour and pattern of the shared floor surface."""
    import drjit as dr

    if floor.pattern == PLAIN:
        surface, name = plain_surface(mi, mi.variant(), "floor"), "reflectance.value"
        paint = mi.Color3f(*floor.colour_linear_rgb)
        dr.make_opaque(paint)  # read by kernels instead of compiled into them
    else:
        surface, name = pattern_surface(mi, mi.variant()), "reflectance.data"
        along = (np.arange(PATTERN_PX) + 0.5) / PATTERN_PX * period_m(floor.pattern, 1.0)
        factor = pattern_factor(floor.pattern, 1.0, *np.meshgrid(along, along), floor.contrast)
        paint = mi.TensorXf((factor[..., None] * np.array(floor.colour_linear_rgb)).astype(np.float32))
    parameters = mi.traverse(surface)
    parameters[name] = paint
    parameters.update()
