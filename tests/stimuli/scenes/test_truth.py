import math

import numpy as np
import pytest

from snellen.core.errors import SnellenError
from snellen.stimuli.scenes import Camera, Material, Pose, Scene, Solid, box_around, truth
from snellen.stimuli.scenes.model import Vec3
from snellen.stimuli.scenes.raster import frame, project

WOOD = Material("wood")
RADIUS = 0.78


def ball(name: str, position: Vec3, scale: float = 1.0) -> Solid:
    return Solid(name, "sphere", WOOD, Pose(position, scale=scale))


def looking_north(
    distance: float = 10.0, width_px: int = 120, height_px: int = 90, horizontal_fov_deg: float = 34.0
) -> Camera:
    """A camera at y = -distance that looks along +y: x is right, z is up, the origin in the middle of the image."""
    return Camera(
        (0.0, -distance, 0.0),
        (0.0, 0.0, 0.0),
        horizontal_fov_deg=horizontal_fov_deg,
        width_px=width_px,
        height_px=height_px,
    )


def test_a_ball_straight_ahead_has_its_textbook_size_and_depth() -> None:
    camera = looking_north(5.0)
    visible = truth(Scene((ball("b", (0.0, 0.0, 0.0)),)), camera)["b"]
    radius_px = frame(camera).focal_px * RADIUS / math.sqrt(25 - RADIUS**2)
    expected = [60 - radius_px, 45 - radius_px, 60 + radius_px, 45 + radius_px]
    assert visible.amodal_box == pytest.approx(expected, abs=0.1)
    assert visible.visible_box == pytest.approx(expected, abs=1)
    assert visible.mask.sum() == pytest.approx(math.pi * radius_px**2, rel=0.02)
    assert visible.visible_fraction == 1
    assert visible.nearest_m == pytest.approx(5 - RADIUS, abs=0.005)


def test_axes_run_right_and_down() -> None:
    scene = Scene((ball("right", (0.5, 0.0, 0.0), 0.1), ball("up", (0.0, 0.0, 0.5), 0.1)))
    visible = truth(scene, looking_north(5.0))
    right, up = visible["right"].visible_box, visible["up"].visible_box
    assert right is not None
    assert up is not None
    assert right[0] > 60
    assert up[3] < 45


def test_distance_is_along_the_ray_constant_inside_a_ball() -> None:
    scene = Scene((ball("room", (1.0, 2.0, 3.0), 4.0),))
    camera = Camera((1.0, 2.0, 3.0), (2.0, 2.5, 3.2), horizontal_fov_deg=80, width_px=60, height_px=40)
    measured = truth(scene, camera)
    assert measured.distance_m == pytest.approx(4 * RADIUS, rel=2e-3)
    assert measured["room"].amodal_box is None


def test_a_cube_half_hidden_by_a_plate() -> None:
    cube = Solid("cube", "cube", WOOD)
    plate = Solid("plate", "cube", WOOD, Pose((-1.0, -2.0, 0.0), stretch=(2 / 1.3, 0.05, 3.0)))
    measured = truth(Scene((cube, plate)), looking_north(20.0, width_px=400, height_px=300))
    assert measured["cube"].visible_fraction == pytest.approx(0.5, abs=0.02)
    assert measured["plate"].visible_fraction == 1
    alone = truth(Scene((cube,)), looking_north(20.0, width_px=400, height_px=300))["cube"].mask
    assert measured.hides == {("plate", "cube"): (alone & ~measured["cube"].mask).sum()}
    visible, amodal = measured["cube"].visible_box, measured["cube"].amodal_box
    assert visible is not None
    assert amodal is not None
    assert visible[0] == pytest.approx(200, abs=1)
    assert amodal[0] < 190
    assert measured["cube"].nearest_m == pytest.approx(20 - 0.65, abs=0.01)


def test_a_depth_is_to_the_nearest_point_that_is_visible() -> None:
    """The plate hides rays that pass the middle of the ball at less than 0.624 m; 0.624² + 0.468² = 0.78²."""
    edge = (20 - 2.03) * 0.624 / 20
    plate = Solid("plate", "cube", WOOD, Pose((edge - 1.0, -2.0, 0.0), stretch=(2 / 1.3, 0.05, 3.0)))
    measured = truth(Scene((ball("b", (0.0, 0.0, 0.0)), plate)), looking_north(20.0, width_px=400, height_px=300))
    assert measured["b"].nearest_m == pytest.approx(20 - 0.468, abs=0.06), "its hidden front is at 19.22"
    assert measured.distance_m[measured["b"].mask].min() == measured["b"].nearest_m


def test_masks_partition_the_visible_solids() -> None:
    scene = Scene((ball("a", (0.0, 0.0, 0.0)), ball("b", (0.5, 1.0, 0.0)), ball("c", (0.0, 3.0, 0.0), 0.3)))
    measured = truth(scene, looking_north())
    together = np.sum([solid.mask for solid in measured.solids], axis=0)
    assert together.max() == 1
    assert np.array_equal(together == 1, np.isfinite(measured.distance_m))
    assert measured["c"].visible_fraction == 0
    assert measured["c"].visible_box is None
    assert measured["c"].nearest_m is None
    assert measured["c"].amodal_box is not None


def test_solids_outside_and_behind_the_image() -> None:
    scene = Scene((ball("left", (-50.0, 0.0, 0.0)), ball("behind", (0.0, -30.0, 0.0))))
    measured = truth(scene, looking_north())
    left = measured["left"].amodal_box
    assert left is not None
    assert left[2] < 0
    assert measured["left"].visible_fraction == 0
    assert measured["behind"].amodal_box is None
    with pytest.raises(SnellenError, match="no solid 'x'"):
        measured["x"]


def test_field_of_view_spans_the_width() -> None:
    camera = looking_north(10.0, horizontal_fov_deg=60)
    edge = 10 * math.tan(math.radians(30))
    pixels, depth = project(camera, np.array([[edge, 0, 0], [-edge, 0, 0]]))
    assert pixels == pytest.approx(np.array([[120, 45], [0, 45]]))
    assert depth == pytest.approx([10, 10])


def test_truth_of_glass_is_that_of_its_outline() -> None:
    glass = Solid("a", "cube", Material("glass"))
    solid = Solid("a", "cube", WOOD)
    first, second = (truth(Scene((each,)), looking_north())["a"].mask for each in (glass, solid))
    assert np.array_equal(first, second)


def test_a_box_around_others_has_a_margin_and_stays_in_the_image() -> None:
    camera = Camera((0.0, -5.0, 1.0), (0.0, 0.0, 0.0), width_px=100, height_px=80)
    assert box_around([(10, 20, 30, 40), (50, 10, 60, 20)], 0.1, camera) == [5, 5, 65, 45]
    assert box_around([(1, 1, 99, 79)], 0.1, camera) == [0, 0, 100, 80]
