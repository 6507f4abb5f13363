"""Changed light affects lights and dome only."""

from __future__ import annotations

from dataclasses import replace

import pytest

from snellen.stimuli.scenes import composite, composite_scene, relight

SCENE = composite_scene(composite(0))


def test_light_of_the_same_strength_changes_nothing() -> None:
    assert relight(SCENE, 1.0) == SCENE


def test_lights_and_dome_are_scaled_separately() -> None:
    darker = relight(SCENE, 0.5, (1.0, 0.5, 2.0), dome_factor=0.1)
    assert replace(darker, lights=SCENE.lights, dome=SCENE.dome) == SCENE
    for old, new in zip(SCENE.lights, darker.lights, strict=True):
        r, g, b = old.radiance_linear_rgb
        assert new.radiance_linear_rgb == pytest.approx((0.5 * r, 0.25 * g, b))
    r, g, b = SCENE.dome.zenith_linear_rgb
    assert darker.dome.zenith_linear_rgb == pytest.approx((0.05 * r, 0.025 * g, 0.1 * b))
    for box, dimmed in zip(SCENE.dome.softboxes, darker.dome.softboxes, strict=True):
        assert dimmed.radiance == pytest.approx(0.05 * box.radiance)
        assert replace(dimmed, radiance=box.radiance) == box
