import dataclasses
import json

import pytest

from snellen.core.errors import SnellenError
from snellen.stimuli.scenes import (
    Camera,
    Floor,
    Material,
    Pose,
    RenderSpec,
    Scene,
    Solid,
    composite,
    composite_scene,
    from_json,
    to_json,
    turn,
)


def test_every_kind_of_value_survives_json() -> None:
    plate = Solid("plate", "cube", Material("glass"), Pose((1.0, 2.0, 3.0), turn((1, 2, 3), 40), 0.5, (1.0, 2.0, 0.1)))
    spec = RenderSpec(Scene((plate,), Floor((0.1, 0.2, 0.3))), Camera((0.0, -5.0, 1.0), (0.0, 0.0, 1.0)), seed=3)
    for value in (spec, spec.scene, spec.camera, composite_scene(composite(4321))):
        assert from_json(to_json(value)) == value
        assert to_json(from_json(to_json(value))) == to_json(value)


def test_integers_in_json_are_read_as_floats() -> None:
    camera = Camera((0.0, -5.0, 1.0), (0.0, 0.0, 1.0))
    rounded = json.dumps(json.loads(to_json(camera)) | {"horizontal_fov_deg": 34})
    assert from_json(rounded) == camera
    assert to_json(from_json(rounded)) == to_json(camera)
    assert to_json(Camera((0, -5, 1), (0, 0, 1))) == to_json(camera), "and written as such"


@pytest.mark.parametrize("text", ['{"type": "Painting"}', "[]", '{"type": "Camera", "lens": 3}'])
def test_foreign_json_is_refused(text: str) -> None:
    with pytest.raises(SnellenError, match="scene JSON"):
        from_json(text)


def test_colours_belong_to_rubber_and_metal_only() -> None:
    assert Material("rubber", "red").colour == "red"
    with pytest.raises(SnellenError, match="metal colour None"):
        Material("metal")
    with pytest.raises(SnellenError, match="glass has no colour"):
        Material("glass", "red")
    with pytest.raises(SnellenError, match="pink"):
        Material("rubber", "pink")  # type: ignore[arg-type]


def test_impossible_scenes_are_refused() -> None:
    solid = Solid("a", "cube", Material("wood"))
    with pytest.raises(SnellenError, match="different names"):
        Scene((solid, solid))
    with pytest.raises(SnellenError, match="above 0"):
        Pose(scale=0.0)
    with pytest.raises(SnellenError, match="orthonormal"):
        Pose(rotation=((1.0, 0.0, 0.0), (0.0, 2.0, 0.0), (0.0, 0.0, 1.0)))
    with pytest.raises(SnellenError, match="octopus"):
        dataclasses.replace(solid, shape="octopus")  # type: ignore[arg-type]
    for limits in ({"width_px": 0}, {"height_px": 0}, {"horizontal_fov_deg": 0.0}, {"horizontal_fov_deg": 180.0}):
        with pytest.raises(SnellenError, match="is impossible"):
            Camera((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), **limits)
    with pytest.raises(SnellenError, match="above 0"):
        Pose(stretch=(1.0, 1.0, 0.0))
