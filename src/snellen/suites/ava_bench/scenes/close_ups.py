"""Close-ups of one tower each: a solid on another, both of one material.

Each is a separate scene, with its own floor, light and camera, so that items about it are independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from snellen.core.seeds import seed_of, stream
from snellen.stimuli.scenes import MATERIALS, Appearance, Composite, RenderSpec, Solid, clear_camera, move, turn
from snellen.stimuli.scenes.assembly import FLOOR_GAP_M, join_composite
from snellen.stimuli.scenes.model import COLOURED, COLOURS, Shape
from snellen.stimuli.scenes.shapes import bounds
from snellen.suites.ava_bench.items import SUITE, VERSION
from snellen.suites.ava_bench.scenes.scenes import lit

TOWERS: Mapping[str, tuple[Shape, str]] = MappingProxyType(
    {"cube tower": ("cube", "face"), "drum tower": ("cylinder", "base"), "lampshade tower": ("frustum", "small base")}
)
"""Groups of fine-grained classes: the solid below and the anchor of the upper one."""
SPECIES: Mapping[str, tuple[Shape, str]] = MappingProxyType(
    {
        "cube on top": ("cube", "face"),
        "ball on top": ("sphere", "surface"),
        "drum on top": ("cylinder", "base"),
        "cone on top, tip up": ("cone", "base"),
        "cone on top, tip down": ("cone", "apex"),
        "lampshade on top": ("frustum", "large base"),
    }
)
"""Classes of every group: they differ only in the upper solid."""
TEXTURES: tuple[str, ...] = tuple(MATERIALS)
SIDE_SHARE = 2 / 3
"""The side of a square close-up as a share of the height of other images; it shows only one thing."""
ELEVATION_DEG, LEAST_VISIBLE = (20.0, 40.0), 0.4
UPPER = 1
"""The index of a tower's upper solid."""


def draw_close_up(
    tower: str, species: str, texture: str, number: tuple[int, int], seed: int, split: str, size_px: tuple[int, int]
) -> RenderSpec:
    """The close-up of a tower; `number` is that of its display and its slot there."""
    rng = stream(SUITE, VERSION, seed, "close-up", split, *number)
    kind = next(material for material in MATERIALS if material == texture)
    colour = COLOURS[int(rng.integers(len(COLOURS)))] if kind in COLOURED else None
    (below, anchor), (above, pivot) = TOWERS[tower], SPECIES[species]
    composite = Composite(Appearance(below, kind, colour), anchor, Appearance(above, kind, colour), pivot)
    spin = turn((0.0, 0.0, 1.0), float(rng.uniform(0, 360)))
    scene = lit(tuple(on_floor(tower, [move(part, spin) for part in join_composite(composite)[0]], (0.0, 0.0))), rng)
    side = round(SIDE_SHARE * size_px[1])
    camera = clear_camera(
        scene, rng, least_visible=LEAST_VISIBLE, elevation_deg=ELEVATION_DEG, width_px=side, height_px=side
    )
    return RenderSpec(scene, camera, seed_of(SUITE, VERSION, seed, "close-up noise", split, *number))


def on_floor(name: str, solids: Sequence[Solid], position: tuple[float, float]) -> list[Solid]:
    """The solids of one object on the floor, named `name/0`, `name/1` and so on."""
    low, _ = bounds(tuple(solids))
    shift = (*position, FLOOR_GAP_M - float(low[2]))
    return [replace(move(part, shift_m=shift), name=f"{name}/{n}") for n, part in enumerate(solids)]
