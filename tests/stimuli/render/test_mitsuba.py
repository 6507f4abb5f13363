"""Ray-traced images: one tiny smoke test in every run, the rest slow."""

import importlib.util
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.core.seeds import stream
from snellen.stimuli.render import RenderSettings, render_images
from snellen.stimuli.render.engine import Quality, find_engine
from snellen.stimuli.render.toy import toy_image
from snellen.stimuli.scenes import (
    SHAPES,
    Appearance,
    AreaLight,
    Camera,
    Composite,
    Dome,
    Floor,
    Material,
    Pose,
    RenderSpec,
    Scene,
    Softbox,
    Solid,
    composite_scene,
    random_camera,
    truth,
    turn,
)
from snellen.stimuli.scenes.floor_patterns import PATTERNS
from snellen.stimuli.scenes.shapes import unit_mesh
from tests.goldens.golden import FOLDER

# Not by importing it: mitsuba selects its LLVM on import, and only the renderer knows a working one.
pytestmark = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("mitsuba", "mitsuba_oidn")),
    reason="mitsuba and mitsuba-oidn are not installed (pip install 'snellen[render]')",
)

RED_ON_GLASS = Composite(Appearance("cube", "glass"), "face", Appearance("cone", "rubber", "red"), "base")
WOOD_AND_METAL = Composite(Appearance("sphere", "wood"), "surface", Appearance("cylinder", "metal", "blue"), "base")


def spec_of(composite: Composite, width: int, height: int, seed: int = 0) -> RenderSpec:
    scene = composite_scene(composite)
    return RenderSpec(scene, random_camera(scene, stream("mitsuba", seed), size_px=(width, height)), seed)


def pixels(path: Path) -> NDArray[np.int64]:
    return np.array(Image.open(path)).astype(np.int64)


@pytest.mark.slow
def test_similar_scenes_share_their_kernels(tmp_path: Path) -> None:
    """Compiling takes 1 s. The place and light of a lamp, and the floor's colour and pattern are inputs of kernels."""
    from snellen.stimuli.render.mitsuba_images import Studio

    settings = RenderSettings(quality="fast")
    engine = find_engine(settings)
    if engine.variant == "scalar_rgb":
        pytest.skip("this renderer compiles nothing")
    camera = Camera((0.3, -4.0, 4.0), (0.3, 0.0, 0.0), width_px=64, height_px=48)
    plain = composite_scene(RED_ON_GLASS)

    def scene(floor: Floor, lights: int, n: int) -> Scene:
        moved = [
            replace(light, position_m=(3.0 + n, 1.0, 5.0), radiance_linear_rgb=(9.0, 8.0 + n, 7.0))
            for light in plain.lights[:lights]
        ]
        return replace(plain, floor=floor, lights=tuple(moved))

    for name in ("plain", "dotted"):
        Studio(scene(Floor(pattern=name), 1, 0), settings, engine, 1).image(camera, 0)
        import drjit  # only after the renderer chose its LLVM

        with drjit.scoped_set_flag(drjit.JitFlag.KernelHistory, True):
            drjit.kernel_history_clear()
            for n in (1, 2):
                floor = Floor((0.1 * n, 0.2, 0.3), pattern=name, stripe_m=0.3 + n / 9)
                Studio(scene(floor, 1, n), settings, engine, 1).image(camera, n)
            kernels = [kernel for kernel in drjit.kernel_history() if "cache_hit" in kernel]
        assert kernels
        assert all(kernel["cache_hit"] for kernel in kernels), name


@pytest.mark.slow
@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_are_where_the_flat_renderer_paints_them(pattern: str, tmp_path: Path) -> None:
    scene, camera = (
        Scene((), Floor(pattern=pattern)),
        Camera((0.3, -4.0, 4.0), (0.3, 0.0, 0.0), width_px=96, height_px=72),
    )
    (path,) = render_images([RenderSpec(scene, camera)], RenderSettings(quality="good"), tmp_path)
    traced, flat = pixels(path).mean(axis=2), toy_image(scene, camera).mean(axis=2)
    assert np.corrcoef(traced.ravel(), flat.ravel())[0, 1] > 0.9


def test_smoke(tmp_path: Path) -> None:
    spec = spec_of(RED_ON_GLASS, 32, 24)
    (path,) = render_images([spec], RenderSettings(samples_per_pixel=4, glass_samples_per_pixel=4), tmp_path)
    image = pixels(path)
    assert image.shape == (24, 32, 3)
    assert 60 < image.mean() < 220
    red = truth(spec.scene, spec.camera)["secondary"].mask
    assert (image[red][:, 0] - image[red][:, 2]).mean() > 40


def test_a_fast_image_resembles_the_reference(tmp_path: Path) -> None:
    spec = spec_of(WOOD_AND_METAL, 100, 75)
    fast, reference = (
        pixels(render_images([spec], RenderSettings(quality=quality), tmp_path)[0]) for quality in ("fast", "reference")
    )
    if find_engine(RenderSettings()).variant == "llvm_ad_rgb":
        assert np.abs(fast - reference).max() > 0
    assert np.sqrt(((fast - reference) ** 2).mean()) < 4  # of 255: 36 dB
    assert np.abs(fast.mean(axis=(0, 1)) - reference.mean(axis=(0, 1))).max() < 1


@pytest.mark.slow
@pytest.mark.parametrize("quality", ["fast", "good", "reference"])
def test_two_runs_differ_by_at_most_one_level(tmp_path: Path, quality: Quality) -> None:
    specs = [spec_of(RED_ON_GLASS, 240, 180), spec_of(WOOD_AND_METAL, 240, 180)]
    settings = RenderSettings(quality=quality)
    first = render_images(specs, settings, tmp_path / "first")
    second = render_images(specs, settings, tmp_path / "second", workers=2)
    for left, right in zip(first, second, strict=True):
        assert left.name == right.name
        assert np.abs(pixels(left) - pixels(right)).max() <= 1


@pytest.mark.slow
def test_another_seed_changes_only_noise(tmp_path: Path) -> None:
    spec = spec_of(WOOD_AND_METAL, 240, 180)
    image, reseeded = render_images([spec, RenderSpec(spec.scene, spec.camera, 1)], RenderSettings(), tmp_path)
    difference = np.abs(pixels(image) - pixels(reseeded))
    assert difference.max() > 0
    assert difference.mean() < 2


@pytest.mark.slow
def test_mitsuba_and_truth_agree() -> None:
    from snellen.stimuli.render import mitsuba_images as images

    for composite in (RED_ON_GLASS, WOOD_AND_METAL):
        spec = spec_of(composite, 120, 90)
        engine = find_engine(RenderSettings())
        mi = images._mitsuba(engine, 1)
        scene = images._built(mi, spec.scene)
        sensor = mi.load_dict(images._sensor(mi, spec.camera, 1))
        points = mi.load_dict({"type": "aov", "aovs": "p:position"})
        hits = np.array(mi.render(scene, sensor=sensor, integrator=points, spp=1))[..., -3:]
        distance = np.linalg.norm(hits - np.array(spec.camera.position_m), axis=2)
        expected = truth(spec.scene, spec.camera).distance_m
        on_solid = np.isfinite(expected)
        # Samples are jittered within the pixel, so silhouettes and slopes are left out of the comparison.
        assert np.median(np.abs(distance - expected)[on_solid]) < 0.01
        assert ((hits[..., 2] > 1e-3) == on_solid).mean() > 0.98


@pytest.mark.slow
def test_softboxes_are_where_the_scene_places_them(tmp_path: Path) -> None:
    dome = Dome((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (Softbox(25.0, 40.0, 8.0, 8.0, 1.0),))
    scene = Scene((), dome=dome)
    brightness = {}
    for azimuth in (25, 65, 115, 155, 205, 335):
        a, e = np.radians(azimuth), np.radians(40)
        towards = (float(np.cos(a) * np.cos(e)), float(np.sin(a) * np.cos(e)), float(np.sin(e)))
        away = (towards[0], towards[1], towards[2] + 1)
        camera = Camera((0.0, 0.0, 1.0), away, horizontal_fov_deg=10, width_px=8, height_px=8)
        settings = RenderSettings(samples_per_pixel=4, denoise=False)
        brightness[azimuth] = pixels(render_images([RenderSpec(scene, camera)], settings, tmp_path)[0]).mean()
    assert brightness[25] > 150
    assert max(value for azimuth, value in brightness.items() if azimuth != 25) < 5


@pytest.mark.slow
def test_glass_is_neither_black_nor_invisible(tmp_path: Path) -> None:
    glass = Appearance("sphere", "glass")
    spec = spec_of(Composite(glass, "surface", glass, "surface"), 240, 180)
    (path,) = render_images([spec], RenderSettings(), tmp_path)
    visible = truth(spec.scene, spec.camera)
    inside = pixels(path)[visible["primary"].mask].mean(axis=1)
    assert inside.mean() > 90
    assert (inside < 30).mean() < 0.02
    assert inside.std() > 8


@pytest.mark.slow
def test_scalar_and_llvm_variants_agree(tmp_path: Path) -> None:
    if find_engine(RenderSettings()).variant != "llvm_ad_rgb":
        pytest.skip("no LLVM for the second variant")
    spec = spec_of(WOOD_AND_METAL, 120, 90)
    scalar, llvm = (
        render_images([spec], RenderSettings(variant=variant), tmp_path)[0] for variant in ("llvm_ad_rgb", "scalar_rgb")
    )
    assert scalar != llvm
    assert np.abs(pixels(scalar) - pixels(llvm)).mean() < 3


def test_an_llvm_chosen_elsewhere_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    engine = find_engine(RenderSettings())
    if engine.libllvm is None:
        pytest.skip("no LLVM here")
    from snellen.stimuli.render import mitsuba_images as images

    monkeypatch.setenv("DRJIT_LIBLLVM_PATH", "/another/libLLVM.so")
    monkeypatch.setitem(sys.modules, "drjit", sys)
    with pytest.raises(SnellenError, match="start Python with DRJIT_LIBLLVM_PATH="):
        images._mitsuba(engine, 1)


def test_one_mesh_per_material_has_the_triangles_of_all_solids() -> None:
    from snellen.stimuli.render import mitsuba_images as images

    ball = Solid("ball", "sphere", Material("glass"))
    blocks = [Solid(str(n), "cube", Material("rubber", "red"), Pose((float(n), 0.0, 0.0))) for n in range(3)]
    wood = [Solid("disc", "cylinder", Material("wood")), Solid("box", "cube", Material("wood"))]
    several, empty = images._meshes(Scene((ball, *blocks, *wood))), images._meshes(Scene(()))
    assert several.keys() == empty.keys()  # otherwise Mitsuba recompiles its kernels for the scene
    faces = {kind: len(mesh.faces) for kind, mesh in several.items() if mesh is not images._HIDDEN}
    assert faces == {
        "rubber": 3 * len(unit_mesh("cube").faces),
        "wood": len(unit_mesh("cylinder").faces) + len(unit_mesh("cube").faces),
        "glass": len(unit_mesh("sphere").faces),
    }
    rubber = several["rubber"]
    assert np.allclose(rubber.vertices[-1] - unit_mesh("cube").vertices[-1], (2, 0, 0))
    assert rubber.faces[-1].min() >= 2 * len(unit_mesh("cube").vertices)
    assert all(mesh is images._HIDDEN for mesh in empty.values())


def test_a_solid_shows_its_own_colour_or_wood() -> None:
    from snellen.stimuli.render import mitsuba_surfaces as surfaces
    from snellen.stimuli.render.appearances import METAL_RGB, wood_texture

    uv = np.array([[0.0, 0.0], [0.5, 0.5], [1.0, 1.0]])
    for colour, rgb in METAL_RGB.items():
        coordinates = surfaces.texture_place(uv, Solid("drum", "cylinder", Material("metal", colour)))
        columns = np.floor(coordinates[:, 0] * len(METAL_RGB)).astype(int)
        assert np.allclose(surfaces._palette(METAL_RGB)[0, columns], rgb)
    woods, side = surfaces._woods(), surfaces.WOOD_PX
    coordinates = surfaces.texture_place(uv, Solid("frustum", "frustum", Material("wood")))
    rows = coordinates[:, 1] * len(woods)  # borders of pixels
    assert np.allclose(rows, [len(woods) - 1 - side, len(woods) - 1 - side / 2, len(woods) - 1])
    assert np.array_equal(woods[-1 - side : -1], wood_texture("frustum", side))
    assert np.array_equal(woods[-2 - side], woods[-1 - side])
    assert np.array_equal(woods[-1], woods[-2])


def varied_scene(floor: Floor, lights: int) -> Scene:
    """All shapes and materials, turned and stretched, under unlike lamps and a dome with unlike softboxes."""
    kinds = [Material("rubber", "red"), Material("metal", "green"), Material("wood"), Material("glass")]
    kinds.append(Material("rubber", "blue"))
    poses = [Pose((1.3 * n - 2.6, 0.4 * (n % 3), 0.75), turn((1, n, 1), 40.0 * n), 0.8, (1, 0.8, 1)) for n in range(5)]
    solids = [Solid(shape, shape, kind, pose) for shape, kind, pose in zip(SHAPES, kinds, poses, strict=True)]
    lamps = (
        AreaLight((4.0, -5.0, 6.0), (0.5, 0.0, 0.0), 2.0, (20.0, 12.0, 6.0)),
        AreaLight((-5.0, 2.0, 5.0), (0.0, 1.0, 0.5), 1.0, (4.0, 9.0, 16.0)),
    )
    boxes = Softbox(200.0, 35.0, 25.0, 10.0, 1.2), Softbox(100.0, 20.0, 12.0, 18.0, 0.6)
    return Scene(tuple(solids), floor, lamps[:lights], Dome((0.3, 0.2, 0.1), (0.1, 0.2, 0.5), boxes))


def test_levels_of_images_are_as_they_were(tmp_path: Path) -> None:
    """Means of blocks of 12 x 12 pixels: noise and the renderer's variant change them by a level or two."""
    camera = Camera((1.0, -7.0, 4.0), (0.2, 0.0, 0.4), (0.2, 0.0, 1.0), 46.0, 72, 48)
    shots = [
        (Floor((0.5, 0.3, 0.1)), 2, RenderSettings(quality="fast")),
        (Floor((0.2, 0.4, 0.6), pattern="bricked", stripe_m=0.4, contrast=0.9), 2, RenderSettings(quality="good")),
        (Floor((0.2, 0.5, 0.3), radius_m=4.0), 1, RenderSettings(denoise=False)),
    ]
    levels = []
    for floor, lights, settings in shots:
        (path,) = render_images([RenderSpec(varied_scene(floor, lights), camera, 7)], settings, tmp_path)
        levels.append(pixels(path).reshape(4, 12, 6, 12, 3).mean(axis=(1, 3)).round().astype(int))
    golden = FOLDER / "render" / "levels.json"
    if os.environ.get("SNELLEN_WRITE_GOLDENS"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(json.dumps([image.tolist() for image in levels]).replace("]], [[", "]],\n[[") + "\n")
    assert np.abs(np.array(levels) - json.loads(golden.read_text("utf-8"))).max() <= 4
