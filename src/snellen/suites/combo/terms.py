"""One scene for each word in questions that people may not know: names of shapes and of materials."""

from __future__ import annotations

from collections.abc import Mapping

from snellen.stimuli.scenes import MATERIALS, SHAPES, Camera, Material, Pose, RenderSpec, Solid, studio
from snellen.stimuli.scenes.model import COLOURED, Shape
from snellen.stimuli.scenes.shapes import outer_points

WIDTH_PX, HEIGHT_PX = 160, 120


def term_scenes() -> Mapping[str, RenderSpec]:
    """A blue rubber solid of each shape and a cylinder of each material, by its name."""
    looks = [Material(kind, "blue" if kind in COLOURED else None) for kind in MATERIALS]
    shapes: dict[str, RenderSpec] = {shape: _scene(shape, Material("rubber", "blue")) for shape in SHAPES}
    return {**shapes, **{look.kind: _scene("cylinder", look) for look in looks}}


def _scene(shape: Shape, material: Material) -> RenderSpec:
    bottom = float(outer_points(shape)[:, 2].min())
    solid = Solid(shape, shape, material, Pose((0.0, 0.0, 0.01 - bottom)))
    camera = Camera((0.0, -4.2, 2.6), (0.0, 0.0, 0.5), horizontal_fov_deg=36.0, width_px=WIDTH_PX, height_px=HEIGHT_PX)
    return RenderSpec(studio((solid,)), camera)
