"""One scene for each name of a shape in questions about tables, for people who do not know it."""

from __future__ import annotations

from collections.abc import Mapping

from snellen.stimuli.scenes import Camera, Material, RenderSpec, studio
from snellen.suites.ava_bench.scenes.table_contents import KINDS
from snellen.suites.ava_bench.scenes.tabletop_scenes import standing

WIDTH_PX, HEIGHT_PX = 160, 120


def shape_scenes() -> Mapping[str, RenderSpec]:
    """A blue thing of each kind on the floor, by its name."""
    camera = Camera((0.0, -5.2, 3.0), (0.0, 0.0, 0.4), horizontal_fov_deg=36.0, width_px=WIDTH_PX, height_px=HEIGHT_PX)
    return {
        kind: RenderSpec(studio((standing(kind, kind, Material("rubber", "blue"), (0.0, 0.0), 30.0, 1.0),)), camera, 0)
        for kind in KINDS
    }
