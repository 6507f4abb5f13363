"""How large things are in an image."""

from __future__ import annotations

from dataclasses import replace

from snellen.stimuli.scenes.model import RenderSpec
from snellen.stimuli.scenes.truth import truth

REDUCED = 4
"""Truth is taken at a quarter of the resolution: extents are right to that many pixels."""


def least_extent_px(spec: RenderSpec) -> float:
    """The shorter side, in pixels, of the box round what is seen of the solid that has the shortest; 0 without any."""
    camera = spec.camera
    small = replace(camera, width_px=max(camera.width_px // REDUCED, 1), height_px=max(camera.height_px // REDUCED, 1))
    boxes = [solid.visible_box for solid in truth(spec.scene, small, detail=1).solids if solid.visible_box]
    return min((REDUCED * float(min(x2 - x1, y2 - y1)) for x1, y1, x2, y2 in boxes), default=0.0)
