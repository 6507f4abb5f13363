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
from snellen.stimuli.render import RenderSettings, image_cache, image_recipe, render_for_recipe
from snellen.stimuli.render import engine as engines
from snellen.stimuli.render.appearances import dome_map, wood_colour, wood_texture
from snellen.stimuli.render.engine import Engine
from snellen.stimuli.render.regions import blocks, crop, enlarged, find_regions, grown, near_px, near_weight
from snellen.stimuli.render.toy import toy_image
from snellen.stimuli.scenes import (
    SHAPES,
    AreaLight,
    Camera,
    Dome,
    Floor,
    Material,
    NamedPoint,
    Pose,
    RenderSpec,
    Scene,
    Softbox,
    Solid,
    all_composites,
    box_around,
    clear_camera,
    composite_scene,
    is_within_floor,
    random_camera,
    relight,
    to_json,
    truth,
    turn,
)
from snellen.stimuli.scenes.floor_patterns import PATTERNS, pattern_factor
from snellen.stimuli.scenes.highlights import highlight_shares
from snellen.stimuli.scenes.raster import project
from snellen.stimuli.scenes.shapes import bounds, lowest_m, outer_points, radius_about, reach, unit_mesh
from snellen.stimuli.scenes.truth import least_extent_px
from tests.goldens.golden import assert_golden
from tests.goldens.plain_text import line

KINDS = (Material("metal", "yellow"), Material("rubber", "purple"), Material("glass"), Material("wood"))
CAMERA = Camera((2.0, -6.0, 3.0), (0.3, 0.2, 0.6), (0.1, 0.0, 1.0), 48.0, 150, 90)


def crowd() -> Scene:
    """Seven unlike solids: some hide others, one is partly outside of the image, one behind the camera."""
    solids = [
        Solid(
            f"{shape} {n}",
            shape,
            KINDS[n % 4],
            Pose((0.9 * n - 2.4, 0.8 * (n % 2), 0.7 + 0.1 * n), turn((n, 1, 2), 35.0 * n), 0.9, (1.0, 0.7, 1.2)),
        )
        for n, shape in enumerate((*SHAPES, "cube"))
    ]
    solids.append(Solid("behind", "sphere", KINDS[0], Pose((3.0, -9.0, 3.0))))
    lights = (
        AreaLight((4.0, -5.0, 6.0), (0.5, 0.0, 0.0), 2.0, (20.0, 12.0, 6.0)),
        AreaLight((-5.0, 2.0, 5.0), (0.0, 1.0, 0.5), 3.0, (4.0, 9.0, 16.0)),
    )
    boxes = Softbox(200.0, 35.0, 25.0, 10.0, 1.2), Softbox(350.0, 20.0, 22.0, 18.0, 0.6)
    dome = Dome((0.3, 0.2, 0.1), (0.1, 0.2, 0.5), boxes)
    return Scene(tuple(solids), Floor((0.5, 0.3, 0.1), 7.0), lights, dome, (NamedPoint("tip", (0.1, 0.2, 0.3)),))


def test_scenes_and_cameras_measure_what_they_did() -> None:
    scene, lines = crowd(), list[str]()
    measured = truth(scene, CAMERA)
    for solid in measured.solids:
        lines.append(line(replace(solid, mask=np.argwhere(solid.mask).sum(axis=0))))
    visible = [solid.visible_box for solid in measured.solids if solid.visible_box]
    lines += [
        line("hides", {" over ".join(pair): n for pair, n in measured.hides.items()}),
        line(box_around(visible, 0.05, CAMERA), box_around([(30.0, 10.0, 40.0, 80.0)], 0.1, CAMERA)),
    ]
    lines.append(line("highlights", highlight_shares(scene, CAMERA, [solid.name for solid in scene.solids[:4]])))
    lines.append(line("extent", least_extent_px(RenderSpec(scene, CAMERA)), CAMERA.quarter()))
    lines.append(
        line("bounds", bounds(scene.solids), lowest_m(scene.solids), radius_about(scene.solids, np.array([1.0, 2, 3])))
    )
    lines += [
        line(solid.shape, reach(solid, np.array([1.0, -2.0, 0.5])), outer_points(solid.shape).sum(axis=0))
        for solid in scene.solids
    ]
    lines += [line(shape, unit_mesh(shape).vertices.shape, unit_mesh(shape, 1).faces.shape) for shape in SHAPES]
    lines.append(line("project", *project(CAMERA, np.array([[0.0, 0, 0], [1, 2, 3], [2, -8, 3]]))))
    cameras = [
        CAMERA,
        replace(CAMERA, position_m=(2.0, -3.0, 5.0)),
        replace(CAMERA, up=(1.0, 0.0, 0.0)),
        replace(CAMERA, height_px=20),
    ]
    lines.append(
        line(
            "within the floor",
            [[is_within_floor(replace(scene, floor=Floor(radius_m=r)), c) for r in (3.0, 7.0, 60.0)] for c in cameras],
        )
    )
    some = replace(scene, solids=scene.solids[:3])
    lines.append(
        line(
            random_camera(
                some,
                stream("golden", 1),
                elevation_deg=(60, 70),
                azimuth_deg=(10, 50),
                fill=(0.3, 0.4),
                size_px=(90, 150),
            )
        )
    )
    lines.append(line(random_camera(some, stream("golden", 2), distance_m=(9.0, 9.5), horizontal_fov_deg=20.0)))
    lines.append(line(clear_camera(some, stream("golden", 3), size_px=(80, 60))))
    lines.append(line(relight(scene, 0.5, (1.0, 0.5, 2.0), 0.3).dome, relight(scene, 2.0).lights))
    for index in range(7, 9504, 1201):
        lines.append(
            line(
                index,
                composite_scene(all_composites()[index], rotation=turn((1, 2, 3), 77.0) if index % 2 else None).solids,
            )
        )
    assert_golden("stimuli/scenes.txt", "\n".join(lines) + "\n")


def test_appearances_and_flat_images_are_as_they_were() -> None:
    lines, scene = list[str](), crowd()
    for pattern in ("plain", *PATTERNS):
        floor = replace(scene.floor, pattern=pattern, stripe_m=0.5, contrast=0.7)
        image = toy_image(replace(scene, floor=floor), CAMERA)
        factor = pattern_factor(pattern, 0.5, *np.meshgrid(np.linspace(-3, 2, 41), np.linspace(-1, 3, 31)), 0.7)
        lines.append(
            line(pattern, sha256(image.tobytes())[:16], image.mean(axis=(0, 1)).round(6), factor.sum(axis=0).round(6))
        )
    grid = np.stack(np.meshgrid(np.linspace(-0.7, 0.6, 4), np.linspace(-0.5, 0.7, 3)), axis=-1)
    lines.append(line("wood", wood_colour(np.concatenate([grid, grid[..., :1] * grid[..., 1:]], axis=-1)).round(8)))
    for shape in SHAPES:
        texture = wood_texture(shape, 40).astype(float)
        lines.append(line(shape, texture[::13, ::9].round(5), texture.mean(axis=(0, 1)).round(5)))
    lines.append(line("dome", dome_map(scene.dome)[::16, ::32].astype(float).round(5)))
    assert_golden("stimuli/appearances.txt", "\n".join(lines) + "\n")


def test_regions_of_images_are_as_they_were() -> None:
    floor, glass = np.ones((50, 70), np.float32), np.zeros((50, 70), np.float32)
    floor[20:28, 30:37], glass[22:27, 33:36] = 0.5, 0.1
    mask = floor < 1
    ramp = np.add.outer(np.arange(50) * 0.3, np.arange(70) ** 1.5).astype(np.float32)[..., None]
    lines = []
    for is_smooth in (True, False):
        regions = find_regions(floor, glass, is_smooth=is_smooth)
        lines.append(
            line(
                is_smooth,
                *(
                    np.argwhere(part).sum(axis=0)
                    for part in (regions.glass, regions.solid, regions.floor, regions.far, regions.near)
                ),
            )
        )
    lines.append(
        line(
            [(int(part.start), int(part.stop)) for part in crop(mask)],
            [near_px(height) for height in (90, 301, 345, 480, 960)],
            np.argwhere(grown(mask, 3)).sum(axis=0),
        )
    )
    lines.append(line("weight", near_weight(grown(mask, 9))[8:40:2, 33].astype(float).round(5)))
    lines.append(line("enlarged", enlarged(blocks(ramp), 50, 70)[::7, ::11, 0].astype(float).round(3)))
    assert_golden("stimuli/regions.txt", "\n".join(lines) + "\n")


def test_facts_about_renderers_and_names_of_images_are_as_they_were(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Facts for cards, names of cached images, the order in which scenes are drawn, and recipes."""
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path))
    monkeypatch.setattr(engines, "_processor", lambda: "a processor")
    monkeypatch.setattr(engines, "cores", lambda: 5)
    scene = crowd()
    spec, lines = RenderSpec(scene, CAMERA, 3), list[str]()
    one_lamp = replace(spec, scene=replace(scene, lights=scene.lights[:1], solids=scene.solids[:2]))
    settings: list[dict[str, Any]] = [{}, {"quality": "fast"}, {"quality": "good", "denoise": False}]
    settings += [{"samples_per_pixel": 4, "glass_samples_per_pixel": 25}, {"renderer": "toy"}, {"renderer": "blank"}]
    for variant, llvm in (("llvm_ad_rgb", "/somewhere/libLLVM.so.19"), ("scalar_rgb", None)):
        for fields in settings:
            chosen = RenderSettings(**fields)
            drawn = Engine(chosen.renderer, variant, llvm, (("mitsuba", "3.9"), ("scene", "2")))
            monkeypatch.setattr(engines, "find_engine", lambda settings, drawn=drawn: drawn)
            lines.append(line(fields, [engines.renderer_info(chosen, workers=workers) for workers in (1, 2)]))
            lines.append(
                line([image_cache._name(each, to_json(each.scene), chosen, drawn) for each in (spec, one_lamp)])
            )
            lines.append(sha256(image_recipe(spec, chosen).encode()))
    monkeypatch.undo()
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path))
    renders, card = render_for_recipe(
        [one_lamp, spec, one_lamp], BuildOptions(tmp_path, renderer="toy", show_progress=False)
    )
    lines.append(
        line(
            card,
            [str(render.path.relative_to(tmp_path)) for render in renders],
            [sha256(render.recipe.encode()) for render in renders],
        )
    )
    assert_golden("stimuli/renderers.txt", "\n".join(lines) + "\n")
