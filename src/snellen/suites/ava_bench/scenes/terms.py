"""One scene for each word in questions that people may not know: names of shapes and of textures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from snellen.stimuli.scenes import Camera, Material, RenderSpec, studio
from snellen.suites.ava_bench.scenes.close_ups import TEXTURES
from snellen.suites.ava_bench.scenes.table_contents import KINDS
from snellen.suites.ava_bench.scenes.table_objects import TableObject

WIDTH_PX, HEIGHT_PX = 160, 120
STRIPE_M, CONTRAST = 0.3, 0.6


def term_scenes() -> Mapping[str, RenderSpec]:
    """A blue thing of each kind on the floor, and a floor of each texture, by its name."""
    camera = Camera((0.0, -5.2, 3.0), (0.0, 0.0, 0.6), horizontal_fov_deg=42.0, width_px=WIDTH_PX, height_px=HEIGHT_PX)
    blue = Material("rubber", "blue")
    things = {kind: TableObject(kind, (0.0, 0.0), 30.0).solid(kind, blue, scale=1.0) for kind in KINDS}
    shapes = {kind: RenderSpec(studio((solid,)), camera, 0) for kind, solid in things.items()}
    empty = studio(())
    floors = {
        texture: replace(empty.floor, pattern=texture, stripe_m=STRIPE_M, contrast=CONTRAST) for texture in TEXTURES
    }
    textures = {texture: RenderSpec(replace(empty, floor=floor), camera, 0) for texture, floor in floors.items()}
    return {**shapes, **textures}
