import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from snellen.core.hashing import canonical
from snellen.core.seeds import stream
from snellen.core.storage.item_rows import read_image_recipes
from snellen.stimuli.render import toy
from snellen.stimuli.render.appearances import develop, level_thresholds
from snellen.stimuli.render.toy import toy_image
from snellen.stimuli.scenes import (
    MATERIAL_VARIANTS,
    Appearance,
    Camera,
    Composite,
    Scene,
    composite,
    composite_scene,
    random_camera,
    studio,
    truth,
)
from snellen.stimuli.scenes.model import from_json
from tests.goldens.house import BLIND_OBSERVERS
from tests.helpers.sets import small_set


def spec(number: int) -> tuple[Scene, Camera]:
    scene = composite_scene(composite(number))
    return scene, random_camera(scene, stream(number), size_px=(120, 90))


def test_images_are_repeatable() -> None:
    scene, camera = spec(3000)
    first = toy_image(scene, camera)
    assert first.shape == (90, 120, 3)
    assert first.dtype == np.uint8
    assert np.array_equal(toy_image(scene, camera), first)


def test_the_image_changes_where_truth_places_the_solid() -> None:
    scene, camera = spec(0)
    image = toy_image(scene, camera).astype(int)
    empty = toy_image(studio(()), camera).astype(int)
    changed = np.abs(image - empty).max(axis=2) > 3
    expected = np.isfinite(truth(scene, camera, detail=1).distance_m)
    assert np.array_equal(changed & ~expected, np.zeros_like(changed))
    assert changed.sum() > 0.95 * expected.sum()


def test_all_twelve_materials_look_different() -> None:
    camera = Camera((0.0, -4.0, 3.0), (0.0, 0.0, 1.0), width_px=60, height_px=45)
    images = []
    for variant in MATERIAL_VARIANTS:
        part = Appearance("sphere", variant.kind, variant.colour)
        images.append(toy_image(composite_scene(Composite(part, "surface", part, "surface")), camera).astype(float))
    for i, first in enumerate(images):
        for second in images[:i]:
            assert np.abs(first - second).max(axis=2).mean() > 3


def test_glass_shows_what_is_behind_it() -> None:
    camera = Camera((0.0, -8.0, 3.0), (0.0, 0.0, 1.0), width_px=60, height_px=45)
    scene = composite_scene(
        Composite(Appearance("cube", "rubber", "red"), "edge", Appearance("sphere", "glass"), "surface")
    )
    alone = replace(scene, solids=tuple(solid for solid in scene.solids if solid.name == "primary"))
    image = toy_image(scene, camera)
    behind = truth(scene, camera, detail=1)["secondary"].mask & truth(alone, camera, detail=1)["primary"].mask
    if behind.any():
        assert (image[behind][:, 0].astype(int) - image[behind][:, 2]).mean() > 20


def test_pixel_levels_are_those_of_the_tone_curve() -> None:
    """The curve of IEC 61966-2-1, with the shoulder from 0.6 on, evaluated in the middle of each level."""
    linear = np.array([-1.0, 0.0, np.nan, 1e-4, 0.0031308, 0.18, 0.5, 0.6, 0.9, 2.0, 1e6])
    x = np.maximum(np.nan_to_num(linear), 0)
    x = np.where(x > 0.6, 0.6 + 0.4 * (1 - np.exp(-(x - 0.6) / 0.4)), x)
    encoded = np.where(x <= 0.0031308, 12.92 * x, 1.055 * np.maximum(x, 1e-9) ** (1 / 2.4) - 0.055)
    assert develop(linear).tolist() == np.floor(255 * encoded + 0.5).astype(int).tolist()
    assert develop(linear.astype(np.float32)).tolist() == develop(linear).tolist()
    thresholds = level_thresholds()
    assert len(thresholds) == 255
    assert (np.diff(thresholds) > 0).all()
    assert develop(thresholds).tolist() == list(range(1, 256))
    assert develop(np.nextafter(thresholds, 0)).tolist() == list(range(255))


@pytest.mark.slow
@pytest.mark.parametrize("suite", [name for name in BLIND_OBSERVERS if name != "thresholds"])  # drawn flat
def test_no_radiance_is_near_a_threshold(suite: str, sets_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Radiances differ by some 1e-15 between processors. One within 1e-12 of a threshold might change its level."""
    thresholds, margins = level_thresholds(), []

    def developed(linear: np.ndarray) -> np.ndarray:
        above = np.searchsorted(thresholds, linear).clip(1, 254)
        near = np.minimum(np.abs(linear - thresholds[above]), np.abs(linear - thresholds[above - 1]))
        margins.append((near / np.maximum(linear, thresholds[0])).min())
        return develop(linear)

    monkeypatch.setattr(toy, "develop", developed)
    recipes = read_image_recipes(small_set(suite, sets_folder).root).values()
    for cells in filter(lambda cells: "spec" in cells, map(json.loads, recipes)):
        spec = from_json(canonical(cells["spec"]))
        toy_image(spec.scene, spec.camera)
    assert len(margins) >= 20
    assert min(margins) > 1e-12
