import time

import numpy as np

from snellen.core.seeds import stream
from snellen.stimuli.render.toy import toy_picture
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


def spec(number: int) -> tuple[Scene, Camera]:
    scene = composite_scene(composite(number))
    return scene, random_camera(scene, stream(number), width_px=120, height_px=90)


def test_pictures_are_repeatable_and_quick() -> None:
    scene, camera = spec(3000)
    first = toy_picture(scene, camera)
    assert first.shape == (90, 120, 3)
    assert first.dtype == np.uint8
    seconds = []
    for _ in range(5):
        start = time.process_time()
        assert np.array_equal(toy_picture(scene, camera), first)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.05


def test_what_truth_says_is_where_the_picture_changes() -> None:
    scene, camera = spec(0)
    picture = toy_picture(scene, camera).astype(int)
    empty = toy_picture(studio(()), camera).astype(int)
    changed = np.abs(picture - empty).max(axis=2) > 3
    expected = np.isfinite(truth(scene, camera, detail=1).distance_m)
    assert np.array_equal(changed & ~expected, np.zeros_like(changed))
    assert changed.sum() > 0.95 * expected.sum()


def test_all_twelve_materials_look_different() -> None:
    camera = Camera((0.0, -4.0, 3.0), (0.0, 0.0, 1.0), width_px=60, height_px=45)
    pictures = []
    for look in MATERIAL_VARIANTS:
        part = Appearance("sphere", look.kind, look.colour)
        pictures.append(toy_picture(composite_scene(Composite(part, "surface", part, "surface")), camera).astype(float))
    for i, first in enumerate(pictures):
        for second in pictures[:i]:
            assert np.abs(first - second).max(axis=2).mean() > 3


def test_glass_shows_what_is_behind_it() -> None:
    camera = Camera((0.0, -8.0, 3.0), (0.0, 0.0, 1.0), width_px=60, height_px=45)
    scene = composite_scene(
        Composite(Appearance("cube", "rubber", "red"), "edge", Appearance("sphere", "glass"), "surface")
    )
    seen = truth(scene, camera, detail=1)
    picture = toy_picture(scene, camera)
    behind = seen["secondary"].mask & seen["primary"].amodal_mask
    if behind.any():
        assert (picture[behind][:, 0].astype(int) - picture[behind][:, 2]).mean() > 20
