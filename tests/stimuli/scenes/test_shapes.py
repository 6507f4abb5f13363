import math

import numpy as np
import pytest

from snellen.stimuli.scenes import SHAPES, Material, Pose, Solid, turn
from snellen.stimuli.scenes.model import Shape
from snellen.stimuli.scenes.shapes import bounds, lowest_m, place_mesh, reach, support, unit_mesh


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("detail", [1, 2])
def test_meshes_are_closed_and_oriented_outwards(shape: Shape, detail: int) -> None:
    mesh = unit_mesh(shape, detail)
    corners = mesh.vertices[mesh.faces]
    flat = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert np.linalg.norm(mesh.normals, axis=1) == pytest.approx(1)
    assert ((flat / np.linalg.norm(flat, axis=1, keepdims=True)) * mesh.normals[mesh.faces].mean(axis=1)).sum(
        1
    ).min() > 0.9
    assert np.abs(flat.sum(axis=0)).max() < 1e-9  # a closed surface
    assert mesh.uv.min() >= 0
    assert mesh.uv.max() <= 1


def test_volumes_are_a_little_below_the_sharp_primitives() -> None:
    sharp = {
        "cube": 1.3**3,
        "sphere": 4 / 3 * math.pi * 0.78**3,
        "cylinder": math.pi * 0.64**2 * 1.4,
        "cone": math.pi / 3 * 0.74**2 * 1.55,
        "frustum": math.pi / 3 * 1.3 * (0.8**2 + 0.8 * 0.42 + 0.42**2),
    }
    for shape in SHAPES:
        corners = unit_mesh(shape).vertices[unit_mesh(shape).faces]
        volume = (corners[:, 0] * np.cross(corners[:, 1], corners[:, 2])).sum() / 6
        assert 0.98 < volume / sharp[shape] < 1


@pytest.mark.parametrize("shape", SHAPES)
def test_support_is_the_furthest_point_of_the_mesh(shape: Shape) -> None:
    vertices = unit_mesh(shape).vertices
    for direction in np.random.default_rng(0).normal(size=(300, 3)):
        direction /= np.linalg.norm(direction)
        assert 0 <= support(shape, direction) @ direction - (vertices @ direction).max() + 1e-12 < 0.003


def test_support_of_a_face_is_its_middle() -> None:
    assert support("cube", np.array([0, 0, 2.0])) == pytest.approx([0, 0, 0.65])
    assert support("cube", np.array([1.0, 0, 1.0]))[1] == 0
    assert support("cylinder", np.array([1.0, 0, 0])) == pytest.approx([0.64, 0, 0])
    assert support("frustum", np.array([0, 0, -1.0])) == pytest.approx([0, 0, -0.65])


def test_bounds_of_rotated_and_stretched_solids() -> None:
    pose = Pose((1.0, 2.0, 3.0), turn((1, 1, 0), 50), 0.7, (2.0, 1.0, 0.3))
    for shape in SHAPES:
        solid = Solid("s", shape, Material("wood"), pose)
        vertices = place_mesh(unit_mesh(shape), pose).vertices
        low, high = bounds((solid,))
        assert low == pytest.approx(vertices.min(axis=0), abs=0.005)
        assert high == pytest.approx(vertices.max(axis=0), abs=0.005)
        assert reach(solid, np.array([0, 0, 1.0])) == pytest.approx(high[2])
        assert lowest_m([solid]) == low[2]


def test_placed_normals_stay_perpendicular_to_a_stretched_surface() -> None:
    mesh = place_mesh(unit_mesh("sphere"), Pose(stretch=(3.0, 1.0, 1.0)))
    expected = mesh.vertices / np.array([9.0, 1.0, 1.0])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert mesh.normals == pytest.approx(expected, abs=1e-3)
