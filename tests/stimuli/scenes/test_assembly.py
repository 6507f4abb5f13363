import numpy as np
import pytest
from scipy.spatial import ConvexHull

from snellen.core.errors import SnellenError
from snellen.stimuli.scenes import SHAPES, Appearance, Composite, Scene, chain, composite_scene, joints, turn
from snellen.stimuli.scenes.assembly import FLOOR_GAP_M, contact_direction
from snellen.stimuli.scenes.model import Shape
from snellen.stimuli.scenes.shapes import bounds, place_mesh, unit_mesh
from snellen.stimuli.scenes.vectors import Array

Joint = tuple[Shape, str, Shape, str]
JOINTS: list[Joint] = list(joints())


def scene_of(joint: Joint) -> Scene:
    primary, anchor, secondary, pivot = joint
    return composite_scene(Composite(Appearance(primary, "wood"), anchor, Appearance(secondary, "glass"), pivot))


def points(scene: Scene) -> list[Array]:
    return [place_mesh(unit_mesh(solid.shape, 1), solid.pose).vertices for solid in scene.solids]


def outside_m(hull_of: Array, these: Array) -> Array:
    """Distance of each point outside the hull (negative: depth inside)."""
    planes = ConvexHull(hull_of).equations
    return np.asarray((planes[:, :3] @ these.T + planes[:, 3:]).max(axis=0))


@pytest.mark.parametrize("joint", JOINTS, ids="-".join)
def test_parts_touch_without_growing_into_each_other_or_the_floor(joint: Joint) -> None:
    scene = scene_of(joint)
    primary, secondary = points(scene)
    assert outside_m(primary, secondary).min() >= -0.02
    assert outside_m(secondary, primary).min() >= -0.02
    assert min(outside_m(primary, secondary).min(), outside_m(secondary, primary).min()) <= 0.01
    assert primary[:, 2].min() == pytest.approx(FLOOR_GAP_M, abs=1e-6)
    assert secondary[:, 2].min() > 0.2
    low, high = bounds(scene.solids)
    assert (low + high)[:2] == pytest.approx([0, 0], abs=1e-9)
    (contact,) = scene.points
    for part in (primary, secondary):
        assert abs(outside_m(part, np.array([contact.position_m]))[0]) < 0.03


def test_no_flat_faces_coincide() -> None:
    scene = scene_of(("cube", "face", "cube", "face"))
    primary, secondary = points(scene)
    assert secondary[:, 2].min() - primary[:, 2].max() == pytest.approx(0.004)


def test_the_secondary_is_smaller_and_points_along_its_pivot() -> None:
    for primary, anchor, secondary, pivot in JOINTS:
        first, second = scene_of((primary, anchor, secondary, pivot)).solids
        assert second.pose.scale == 0.58
        outward = np.array(first.pose.rotation) @ contact_direction(primary, anchor)
        inward = np.array(second.pose.rotation) @ contact_direction(secondary, pivot)
        assert inward == pytest.approx(-outward)


def test_a_rotated_object_stands_on_its_lowest_point() -> None:
    ball_on_cone = Composite(Appearance("sphere", "wood"), "surface", Appearance("cone", "wood"), "base")
    scene = composite_scene(ball_on_cone, rotation=turn((1, 0, 0), 180))
    primary, secondary = points(scene)
    assert secondary[:, 2].min() == pytest.approx(FLOOR_GAP_M, abs=1e-6)
    assert np.abs(secondary[secondary[:, 2].argmin(), :2]).max() < 1e-6
    assert primary[:, 2].min() > secondary[:, 2].max() - 0.1


def test_a_cone_joined_at_its_base_stands_on_its_apex() -> None:
    first, _ = scene_of(("cone", "base", "sphere", "surface")).solids
    assert np.array(first.pose.rotation) @ [0, 0, 1] == pytest.approx([0, 0, -1])


def test_rotations() -> None:
    assert np.array(turn((0, 0, 2), 90)) @ [1, 0, 0] == pytest.approx([0, 1, 0])
    quarter = turn((0, 0, 1), 90)
    assert np.array(chain(turn((1, 0, 0), 90), quarter)) @ [1, 0, 0] == pytest.approx([0, 0, 1])


def test_unknown_contact_points_are_refused() -> None:
    for shape in SHAPES:
        with pytest.raises(SnellenError, match=f"a {shape} has no contact point 'handle'"):
            contact_direction(shape, "handle")
