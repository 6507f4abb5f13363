import numpy as np
import pytest

from snellen.core.errors import SnellenError
from snellen.core.seeds import stream
from snellen.stimuli.scenes import (
    AreaLight,
    Camera,
    Material,
    Pose,
    Solid,
    all_composites,
    clear_camera,
    composite,
    composite_scene,
    random_camera,
    studio,
    truth,
)
from snellen.stimuli.scenes.raster import frame, project
from snellen.stimuli.scenes.shapes import place_mesh, unit_mesh
from snellen.stimuli.scenes.vectors import Array


@pytest.mark.slow
def test_two_thousand_cameras_see_only_the_object_and_the_floor() -> None:
    rng = stream("test cameras")
    scenes = [composite_scene(each) for each in all_composites()[::144]]  # every joint once
    vertices = [
        np.concatenate([place_mesh(unit_mesh(s.shape, 1), s.pose).vertices for s in each.solids]) for each in scenes
    ]
    panels = [np.concatenate([panel_points(light) for light in scene.lights]) for scene in scenes]
    for number in range(2000):
        scene, points = scenes[number % 66], vertices[number % 66]
        camera = random_camera(scene, rng)
        size = np.array([camera.width_px, camera.height_px])
        pixels, depth = project(camera, points)
        assert depth.min() > 0
        assert (pixels >= 0.03 * size.min()).all()
        assert (pixels <= size - 0.03 * size.min()).all()
        corners = corner_rays(camera)
        assert (corners[:, 2] < 0).all()
        floor = camera.position_m - corners * (camera.position_m[2] / corners[:, 2:])
        assert np.hypot(floor[:, 0], floor[:, 1]).max() < scene.floor.radius_m
        pixels, depth = project(camera, panels[number % 66])
        assert not ((depth > 0) & (pixels >= 0).all(axis=1) & (pixels <= size).all(axis=1)).any()
        for light in scene.lights:
            facing = np.subtract(light.target_m, light.position_m)
            assert (
                np.subtract(camera.position_m, light.position_m) @ facing > 0
            )  # on the lit side, without anything in between


def corner_rays(camera: Camera) -> Array:
    axes = frame(camera)
    right, up = camera.width_px / 2 / axes.focal_px * axes.right, camera.height_px / 2 / axes.focal_px * axes.up
    return np.array([axes.forward + x * right + y * up for x in (-1, 1) for y in (-1, 1)])


def panel_points(light: AreaLight) -> Array:
    facing = np.subtract(light.target_m, light.position_m)
    facing /= np.linalg.norm(facing)
    right = np.cross(facing, [0, 0, 1])
    right /= np.linalg.norm(right)
    steps = np.linspace(-0.5, 0.5, 9) * light.side_m
    across, along = (grid.reshape(-1, 1) for grid in np.meshgrid(steps, steps))
    return light.position_m + across * right + along * np.cross(right, facing)


def test_equal_seeds_give_equal_cameras() -> None:
    scene = composite_scene(composite(77))
    assert random_camera(scene, stream("a", 0)) == random_camera(scene, stream("a", 0))
    assert random_camera(scene, stream("a", 0)) != random_camera(scene, stream("a", 1))


def test_camera_parameters_are_within_their_ranges() -> None:
    scene = composite_scene(composite(77))
    for seed in range(20):
        camera = random_camera(
            scene, stream(seed), elevation_deg=(30, 30), azimuth_deg=(90, 90), distance_m=(5, 5), size_px=(64, 360)
        )
        away = np.subtract(camera.position_m, camera.target_m)
        assert away == pytest.approx([0, 5 * np.cos(np.pi / 6), 2.5], abs=1e-9)
        assert (camera.width_px, camera.height_px) == (64, 360)
    for elevation_deg in ((10, 30), (30, 89.5)):
        with pytest.raises(SnellenError, match="20 to 89"):
            random_camera(scene, stream(0), elevation_deg=elevation_deg)
    random_camera(scene, stream(0), elevation_deg=(20, 89))


def test_a_clear_camera_sees_enough_of_every_solid() -> None:
    scene = composite_scene(composite(9504 - 1))
    shares = []
    for seed in range(10):
        camera = clear_camera(scene, stream(seed), least_visible=0.6, size_px=(160, 120))
        shares += [solid.visible_fraction for solid in truth(scene, camera).solids]
    assert min(shares) > 0.55


def test_a_hidden_solid_has_no_clear_camera() -> None:
    inner = Solid("inner", "sphere", Material("wood"), Pose((0.0, 0.0, 1.0), scale=0.2))
    outer = Solid("outer", "sphere", Material("wood"), Pose((0.0, 0.0, 1.0)))
    with pytest.raises(SnellenError, match="35% of each of inner"):
        clear_camera(studio((inner, outer)), stream(0), size_px=(40, 30))
