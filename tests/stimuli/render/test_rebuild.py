"""Images that are rendered again are compared: noise is accepted, another scene is not."""

from __future__ import annotations

import functools
import json
import math
import struct
import zlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

from snellen.core.errors import SnellenError
from snellen.core.seeds import stream
from snellen.stimuli.render import RenderSettings, image_recipe, render_images
from snellen.stimuli.render import rebuild as module
from snellen.stimuli.render.rebuild import MAX_DIFFERENCE, MAX_MEAN, block_difference, pixel_difference, rebuild
from snellen.stimuli.scenes import RenderSpec, composite, composite_scene, random_camera
from tests.helpers.refusals import assert_refused

TOY, MITSUBA = RenderSettings(renderer="toy"), RenderSettings(samples_per_pixel=4)


def spec(number: int) -> RenderSpec:
    scene = composite_scene(composite(number))
    return RenderSpec(scene, random_camera(scene, stream(number), size_px=(100, 75)))


def test_an_image_is_what_its_recipe_renders(tmp_path: Path) -> None:
    specs = [spec(11), spec(4000)]
    recipes = [image_recipe(shot, TOY) for shot in specs]
    paths = render_images(specs, TOY, tmp_path)
    assert rebuild(dict(zip(paths, recipes, strict=True))) == 0.0


def test_one_changed_level_of_the_flat_renderer_is_found(tmp_path: Path) -> None:
    (path,) = render_images([spec(11)], TOY, tmp_path)
    pixels = np.array(Image.open(path))
    pixels[3, 5, 1] ^= 1
    Image.fromarray(pixels).save(path)
    with pytest.raises(SnellenError, match="differs from what its recipe renders"):
        rebuild({path: image_recipe(spec(11), TOY)})


@pytest.mark.parametrize("kind", [b"cICP", b"anSw"])
def test_a_chunk_that_changes_no_pixel_is_found(tmp_path: Path, kind: bytes) -> None:
    """One says that the colours are others, as some viewers believe; the other holds words."""
    (path,) = render_images([spec(11)], TOY, tmp_path)
    raw, pixels = path.read_bytes(), np.array(Image.open(path))
    content = kind + b"\x09\x10\x00\x01"
    chunk = struct.pack(">I", 4) + content + struct.pack(">I", zlib.crc32(content))
    path.write_bytes(raw[:33] + chunk + raw[33:])
    assert (np.array(Image.open(path)) == pixels).all()
    with pytest.raises(SnellenError, match="differs from what its recipe renders"):
        rebuild({path: image_recipe(spec(11), TOY)})


@pytest.mark.parametrize("recipe", ['{"spec": 1}', '{"settings": {}, "spec": 1}', '{"settings": {"a": 1}, "spec": {}}'])
def test_a_recipe_of_another_version_is_named(tmp_path: Path, recipe: str) -> None:
    (path,) = render_images([spec(11)], TOY, tmp_path)
    with pytest.raises(SnellenError, match=f"{path}: its recipe is none of this version"):
        rebuild({path: recipe})


NUMBERS = ("spec.camera.width_px", "spec.camera.height_px", "spec.seed", "settings.samples_per_pixel")
ODD = [(name, value) for name in NUMBERS for value in (75.0, True, "x", math.inf, None)]
ODD += [(name, 10**10) for name in NUMBERS if name != "spec.seed"] + [("spec.scene.floor.radius_m", 10**400)]
ODD += [("spec.scene.solids", "many"), ("spec.scene.lights", "many")]


@pytest.mark.parametrize(("name", "value"), ODD, ids=lambda value: f"{value!s:.40}")
def test_a_stranger_s_recipe_is_not_rendered(
    name: str, value: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would end in an internal error, or take for ever."""
    (path,) = render_images([spec(11)], TOY, tmp_path)
    recipe = json.loads(image_recipe(spec(11), MITSUBA))
    *names, last = name.split(".")
    cells = functools.reduce(dict.__getitem__, names, recipe)
    many = [cells[last][0] | {"name": str(n)} for n in range(1001)] if value == "many" and last == "solids" else []
    cells[last] = many or (cells[last] * 1001 if value == "many" else value)
    monkeypatch.setattr(module, "render_images", lambda *_: pytest.fail("rendered"))
    with pytest.raises(SnellenError, match=f"{path}: its recipe is none of this version"):
        rebuild({path: json.dumps(recipe)})


def test_a_recipe_of_another_size_or_kind_is_not_rendered_and_faults_of_renderers_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path,) = render_images([spec(11)], TOY, tmp_path)
    recipe = json.loads(image_recipe(spec(11), TOY))
    monkeypatch.setattr(module, "render_images", lambda *_: 1 / 0)
    assert_refused(lambda: rebuild({path: json.dumps(recipe)}), f"{path}: its recipe cannot be rendered")
    scene = {"type": "Scene", **recipe["spec"]["scene"]}
    assert_refused(lambda: rebuild({path: json.dumps(recipe | {"spec": scene})}), f"{path}: its recipe is none of this")
    recipe["spec"]["camera"]["width_px"] = 101
    assert_refused(lambda: rebuild({path: json.dumps(recipe)}), f"{path}: differs from what its recipe renders")


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mitsuba") is None, reason="needs the extra 'render'")
def test_another_object_is_found_in_ray_traced_images(tmp_path: Path) -> None:
    (path,) = render_images([spec(11)], MITSUBA, tmp_path)
    assert rebuild({path: image_recipe(spec(11), MITSUBA)}) <= MAX_DIFFERENCE
    with pytest.raises(SnellenError, match="differs from what its recipe renders"):
        rebuild({path: image_recipe(spec(12), MITSUBA)})


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mitsuba") is None, reason="needs the extra 'render'")
@pytest.mark.parametrize("mark", ["letter", "faint letter", "colour", "lines", "chequered", "alpha", "profile"])
def test_marks_that_keep_the_means_of_blocks_are_found_in_ray_traced_images(mark: str, tmp_path: Path) -> None:
    (path,) = render_images([spec(11)], MITSUBA, tmp_path)
    assert rebuild({path: image_recipe(spec(11), MITSUBA)}) < MAX_MEAN
    pixels = np.array(Image.open(path)).astype(int)
    drawing = Image.new("L", (16, 16))
    ImageDraw.Draw(drawing).text((4, 2), "A", 255)
    letter = np.asarray(drawing)[..., None] / 255.0
    letter = letter - letter.mean()
    ones = np.where(np.indices((16, 16)).sum(0) % 2, 1, -1)[..., None]
    change = {
        "letter": letter * 60, "faint letter": letter * 3, "colour": letter * [20, -20, 0],
        "lines": np.where(np.arange(16) % 2, 3, -3)[:, None, None], "chequered": (letter > 0) * ones * 4,
    }.get(mark, letter * 0)  # fmt: skip
    pixels[16:32, 16:32] += np.rint(change).astype(int)
    image = Image.fromarray(pixels.clip(0, 255).astype(np.uint8))
    image.putalpha(Image.fromarray(255 - np.pad(np.asarray(drawing), ((0, 59), (0, 84))))) if mark == "alpha" else None
    image.save(path, icc_profile=b"other colours" if mark == "profile" else None)
    with pytest.raises(SnellenError, match="differs from what its recipe renders"):
        rebuild({path: image_recipe(spec(11), MITSUBA)})


@pytest.mark.parametrize("change", [90, -90])
def test_a_brighter_and_a_darker_pixel_count_alike(change: int) -> None:
    """90 of 255 levels are 10 on the mean of 3 x 3 pixels; of two pixels with opposite signs 20, also at the edge."""
    grey = np.full((9, 12, 3), 128, np.uint8)
    marked, corner = grey.copy(), grey.copy()
    marked[4, 5, 1] += np.int8(change)
    assert pixel_difference(grey, marked) == pixel_difference(marked, grey) == 10
    corner[0, 0], corner[0, 1] = 128 + change, 128 - change
    assert pixel_difference(grey, corner) == 20
    assert pixel_difference(grey, grey[:-1]) == 255


def test_blocks_are_compared_by_their_means() -> None:
    dark = np.zeros((48, 64, 3), np.uint8)
    noise = dark.copy()
    noise[::2, ::2] = 4
    assert block_difference(dark, noise) == 1
    corner = dark.copy()
    corner[32:, 48:, 2] = 100
    assert block_difference(dark, corner) == block_difference(corner, dark) == 100
    assert block_difference(dark, dark[:-1]) == 255
    edge = np.zeros((40, 20, 3), np.uint8)  # blocks of 16 x 20 and 24 x 20
    edge[39] = 24
    assert block_difference(edge, np.zeros_like(edge)) == 1
    assert block_difference(edge[:5, :7], edge[:5, :7]) == 0


def test_a_recipe_does_not_name_the_machine() -> None:
    fast = RenderSettings(quality="fast", variant="llvm_ad_rgb")
    assert image_recipe(spec(1), fast) == image_recipe(spec(1), RenderSettings(quality="fast", variant="scalar_rgb"))
    assert image_recipe(spec(1), fast) != image_recipe(spec(1), RenderSettings(quality="good"))
    assert image_recipe(spec(1), fast) != image_recipe(spec(2), fast)
