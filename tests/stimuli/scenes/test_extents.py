"""Size of the smallest object in an image, by projection worked out by hand."""

from __future__ import annotations

import math

import pytest

from snellen.stimuli.scenes import Camera, Material, Pose, RenderSpec, Scene, Solid
from snellen.stimuli.scenes.truth import REDUCTION, least_extent_px


def test_the_smaller_of_two_balls_counts_and_nothing_is_nothing() -> None:
    camera = Camera((40.0, 0.0, 1.0), (0.0, 0.0, 1.0), horizontal_fov_deg=6.0, width_px=640, height_px=480)
    large = Solid("large", "sphere", Material("rubber", "red"), Pose((0.0, -1.0, 1.0)))
    small = Solid("small", "sphere", Material("rubber", "blue"), Pose((0.0, 1.0, 1.0), scale=0.5))
    # Pixels per metre at 40 m: half the width over the tangent of half the field of view, over the distance.
    pixels_a_metre = 320 / math.tan(math.radians(3)) / 40
    extents = [least_extent_px(RenderSpec(Scene(solids), camera, 0)) for solids in ((large,), (large, small))]
    assert extents[1] == pytest.approx(0.5 * extents[0], abs=2 * REDUCTION)
    radius_m = extents[0] / 2 / pixels_a_metre
    assert 0.4 < radius_m < 0.8, "the unit ball is somewhat more than a metre across"
    assert least_extent_px(RenderSpec(Scene(()), camera, 0)) == 0.0
