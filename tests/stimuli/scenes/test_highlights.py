"""Reflections of a light in a metal object, by geometry worked out by hand."""

from __future__ import annotations

import math

import pytest

from snellen.stimuli.scenes import AreaLight, Camera, Dome, Material, Pose, Scene, Softbox, Solid
from snellen.stimuli.scenes.highlights import SPREAD_DEG, highlight_shares


def ball_under(*lights: AreaLight) -> Scene:
    solid = Solid("ball", "sphere", Material("metal", "red"), Pose((0.0, 0.0, 1.0)))
    return Scene((solid,), lights=lights, dome=Dome())


def panel(x: float, y: float, z: float, side_m: float = 1.0) -> AreaLight:
    return AreaLight((x, y, z), (0.0, 0.0, 1.0), side_m, (1.0, 1.0, 1.0))


CAMERA = Camera((30.0, 0.0, 1.0), (0.0, 0.0, 1.0), horizontal_fov_deg=5.0, width_px=200, height_px=150)
"""Far off along x: all lines of sight are parallel to it, within a degree."""


def share_on_ball(scene: Scene) -> float:
    return highlight_shares(scene, CAMERA, ["ball"])["ball"]


def test_a_light_behind_the_camera_makes_a_spot_of_the_computed_size() -> None:
    # A light of angular radius r along the line of sight: a normal n degrees off reflects it 2 n degrees off, so
    # that n <= (r + SPREAD_DEG) / 2 glints. Normals within n of the line of sight fill sin(n)^2 of the disk seen.
    far, side_m = 1000.0, 2 * 1000.0 * math.tan(math.radians(30))
    share = share_on_ball(ball_under(panel(far, 0.0, 1.0, side_m)))
    assert share == pytest.approx(math.sin(math.radians((30 + SPREAD_DEG) / 2)) ** 2, rel=0.15)


@pytest.mark.parametrize(("azimuth_deg", "elevation_deg"), [(0, 0), (360, 0), (90, 0), (0, 45)])
def test_a_ball_mirrors_a_softbox_by_its_share_of_all_directions(azimuth_deg: float, elevation_deg: float) -> None:
    """A mirroring ball reflects a beam evenly into all directions; the spread is added on each side of the box."""
    low, high = (math.sin(math.radians(elevation_deg + side * (10 + SPREAD_DEG))) for side in (-1, 1))
    expected = math.radians(2 * (20 + SPREAD_DEG)) * (high - low) / (4 * math.pi)
    box = Softbox(azimuth_deg, elevation_deg, half_width_deg=20, half_height_deg=10, radiance=1.0)
    assert share_on_ball(Scene(ball_under().solids, dome=Dome(softboxes=(box,)))) == pytest.approx(expected, rel=0.16)


def test_a_light_behind_a_ball_is_not_reflected() -> None:
    # The reflected ray leaves in the viewing direction only at grazing angles: 2 n = 180 degrees at the rim.
    assert share_on_ball(ball_under(panel(-1000.0, 0.0, 1.0, 1.0))) < 0.02
    assert share_on_ball(ball_under()) == 0.0


def test_an_object_in_front_of_the_glint_hides_it() -> None:
    scene = ball_under(panel(1000.0, 0.0, 1.0, 200.0))
    screen = Solid("screen", "cube", Material("wood", None), Pose((5.0, 0.0, 1.0), scale=0.4))
    hidden = Scene((*scene.solids, screen), lights=scene.lights, dome=scene.dome)
    assert share_on_ball(hidden) < 0.2 * share_on_ball(scene)
