"""Measures of a scene, its cameras, appearances and flat images, and facts about renderers, equal the goldens."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snellen.core.build_options import BuildOptions
from snellen.core.hashing import sha256
from snellen.core.seeds import stream
from snellen.stimuli import scenes
from snellen.stimuli.render import RenderSettings, engine, image_cache, image_recipe, regions, render_for_recipe
from snellen.stimuli.render.appearances import dome_map, wood_colour, wood_texture
from snellen.stimuli.render.toy import toy_image
from snellen.stimuli.scenes import (
    SHAPES,
    AreaLight,
    Camera,
    Dome,
    Floor,
    Material,
    Pose,
    RenderSpec,
    Solid,
    shapes,
    turn,
)
from snellen.stimuli.scenes.floor_patterns import PATTERNS, pattern_factor
from snellen.stimuli.scenes.highlights import highlight_shares
from snellen.stimuli.scenes.raster import project
from snellen.stimuli.scenes.truth import least_extent_px
from tests.goldens.descriptions import assert_lines

KINDS = (Material("metal", "yellow"), Material("rubber", "purple"), Material("glass"), Material("wood"))
PLACES = [(0.9 * n - 2.4, 0.8 * (n % 2), 0.7 + 0.1 * n) for n in range(6)]
POSES = [Pose(position_m, turn((n, 1, 2), 35.0 * n), 0.9, (1.0, 0.7, 1.2)) for n, position_m in enumerate(PLACES)]
BEHIND = Solid("behind", "sphere", KINDS[0], Pose((3.0, -9.0, 3.0)))
SOLIDS = [Solid(f"{shape} {n}", shape, KINDS[n % 4], POSES[n]) for n, shape in enumerate((*SHAPES, "cube"))]
LIGHTS = (
    AreaLight((4.0, -5.0, 6.0), (0.5, 0.0, 0.0), 2.0, (20.0, 12.0, 6.0)),
    AreaLight((-5.0, 2.0, 5.0), (0.0, 1.0, 0.5), 3.0, (4.0, 9.0, 16.0)),
)
BOXES = scenes.Softbox(200.0, 35.0, 25.0, 10.0, 1.2), scenes.Softbox(350.0, 20.0, 22.0, 18.0, 0.6)
DOME, FLOOR = Dome((0.3, 0.2, 0.1), (0.1, 0.2, 0.5), BOXES), Floor((0.5, 0.3, 0.1), 7.0)
SCENE = scenes.Scene((*SOLIDS, BEHIND), FLOOR, LIGHTS, DOME, (scenes.NamedPoint("tip", (0.1, 0.2, 0.3)),))
"""Unlike solids: some hide others, one is partly outside of the image, one behind the camera."""
CAMERA = Camera((2.0, -6.0, 3.0), (0.3, 0.2, 0.6), (0.1, 0.0, 1.0), 48.0, 150, 90)
CAMERAS = (
    CAMERA, replace(CAMERA, position_m=(2.0, -3.0, 5.0)), replace(CAMERA, up=(1.0, 0.0, 0.0)),
    replace(CAMERA, height_px=20),
)  # fmt: skip
FEW = replace(SCENE, solids=SCENE.solids[:3])


def test_scenes_and_cameras_measure_what_they_did() -> None:
    measured, point = scenes.truth(SCENE, CAMERA), np.array([1.0, -2.0, 0.5])
    boxes = [solid.visible_box for solid in measured.solids if solid.visible_box]
    rows: list[Any] = [replace(solid, mask=np.argwhere(solid.mask).sum(axis=0)) for solid in measured.solids]
    rows += [
        {" over ".join(pair): pixels for pair, pixels in measured.hides.items()},
        (scenes.box_around(boxes, 0.05, CAMERA), scenes.box_around([(30.0, 10.0, 40.0, 80.0)], 0.1, CAMERA)),
        highlight_shares(SCENE, CAMERA, [solid.name for solid in SOLIDS[:4]]),
        (least_extent_px(RenderSpec(SCENE, CAMERA)), CAMERA.quarter()),
        (shapes.bounds(SCENE.solids), shapes.lowest_m(SCENE.solids), shapes.radius_about(SCENE.solids, point)),
        project(CAMERA, np.array([[0.0, 0, 0], [1, 2, 3], [2, -8, 3]])),
        [[scenes.is_within_floor(replace(SCENE, floor=Floor(radius_m=r)), c) for r in (3, 7, 60)] for c in CAMERAS],
        scenes.random_camera(FEW, stream("golden", 1), elevation_deg=(60, 70), azimuth_deg=(10, 50), fill=(0.3, 0.4)),
        scenes.random_camera(FEW, stream("golden", 1), size_px=(90, 150)),
        scenes.random_camera(FEW, stream("golden", 2), distance_m=(9.0, 9.5), horizontal_fov_deg=20.0),
        scenes.clear_camera(FEW, stream("golden", 3), size_px=(80, 60)),
        (scenes.relight(SCENE, 0.5, (1.0, 0.5, 2.0), 0.3).dome, scenes.relight(SCENE, 2.0).lights),
    ]  # fmt: skip
    for solid in SCENE.solids:
        reach, outer = shapes.reach(solid, point), shapes.outer_points(solid.shape).sum(axis=0)
        counts = shapes.unit_mesh(solid.shape).vertices.shape, shapes.unit_mesh(solid.shape, 1).faces.shape
        rows.append((solid.name, reach, outer, counts))
    for index in range(7, 9504, 1201):
        rotation = turn((1, 2, 3), 77.0) if index % 2 else None
        rows.append(scenes.composite_scene(scenes.composite(index), rotation=rotation).solids)
    assert_lines("stimuli/scenes.txt", rows)


def test_appearances_and_flat_images_are_as_they_were() -> None:
    rows: list[Any] = [("dome", dome_map(SCENE.dome)[::43, ::43].astype(float).round(5))]
    for pattern in ("plain", *PATTERNS):
        floor = replace(SCENE.floor, pattern=pattern, stripe_m=0.5, contrast=0.7)
        image = toy_image(replace(SCENE, floor=floor), CAMERA)
        factor = pattern_factor(pattern, 0.5, *np.meshgrid(np.linspace(-3, 2, 41), np.linspace(-1, 3, 31)), 0.7)
        rows.append((pattern, sha256(image.tobytes()), image.mean(axis=(0, 1)).round(6), factor.sum(axis=0).round(6)))
    grid = np.stack(np.meshgrid(np.linspace(-0.7, 0.6, 4), np.linspace(-0.5, 0.7, 3)), axis=-1)
    rows.append(wood_colour(np.concatenate([grid, grid[..., :1] * grid[..., 1:]], axis=-1)).round(8))
    for shape in SHAPES:
        texture = wood_texture(shape, 40).astype(float)
        rows.append((shape, texture[::13, ::9].round(5).tolist(), texture.mean(axis=(0, 1)).round(5)))
    assert_lines("stimuli/appearances.txt", rows)


def index_sums(mask: np.ndarray[Any, np.dtype[np.bool_]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.asarray(np.argwhere(mask).sum(axis=0))


def test_regions_of_images_are_as_they_were() -> None:
    floor, glass = np.ones((50, 70), np.float32), np.zeros((50, 70), np.float32)
    floor[20:28, 30:37], glass[22:27, 33:36] = 0.5, 0.1
    mask = floor < 1
    ramp = np.add.outer(np.arange(50) * 0.3, np.arange(70) ** 1.5).astype(np.float32)[..., None]
    both = [regions.find_regions(floor, glass, is_smooth=is_smooth) for is_smooth in (True, False)]
    rows: list[Any] = [
        tuple(map(index_sums, (part.glass, part.solid, part.floor, part.far, part.near))) for part in both
    ]
    rows.append([(int(part.start), int(part.stop)) for part in regions.crop(mask)])
    rows.append(([regions.near_px(height) for height in (90, 301, 345, 480, 960)], index_sums(regions.grown(mask, 3))))
    rows.append(regions.near_weight(regions.grown(mask, 9))[8:40:2, 33].astype(float).round(5))
    rows.append(regions.enlarged(regions.blocks(ramp), 50, 70)[::7, ::11, 0].astype(float).round(3))
    assert_lines("stimuli/regions.txt", rows)


def test_facts_about_renderers_are_as_they_were(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Facts for cards, names of cached images, and recipes."""
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path))
    options = BuildOptions(tmp_path, renderer="toy", show_progress=False)
    spec, rows = RenderSpec(SCENE, CAMERA, 3), list[Any]()
    one_lamp = replace(spec, scene=replace(FEW, lights=LIGHTS[:1], solids=SCENE.solids[:2]))
    renders, card = render_for_recipe([one_lamp, spec, one_lamp], options)
    rows.append((card, [(str(path.relative_to(tmp_path)), sha256(recipe.encode())) for path, recipe in renders]))
    settings: list[dict[str, Any]] = [{}, {"quality": "fast"}, {"quality": "good", "denoise": False}]
    settings += [{"samples_per_pixel": 4, "glass_samples_per_pixel": 25}, {"renderer": "toy"}, {"renderer": "blank"}]
    monkeypatch.setattr(engine, "_processor", lambda: "a processor")
    monkeypatch.setattr(engine, "cores", lambda: 5)
    for variant, llvm in (("llvm_ad_rgb", "/somewhere/libLLVM.so.19"), ("scalar_rgb", None)):
        for fields in settings:
            chosen = RenderSettings(**fields)
            renderer = engine.Engine(chosen.renderer, variant, llvm, (("mitsuba", "3.9"), ("scene", "2")))
            monkeypatch.setattr(engine, "find_engine", lambda settings, renderer=renderer: renderer)
            rows.append((fields, [engine.renderer_info(chosen, workers=workers) for workers in (1, 2)]))
            rows.append(
                [image_cache._name(each, scenes.to_json(each.scene), chosen, renderer) for each in (spec, one_lamp)]
            )
            rows.append(sha256(image_recipe(spec, chosen).encode()))
    assert_lines("stimuli/renderers.txt", rows)
