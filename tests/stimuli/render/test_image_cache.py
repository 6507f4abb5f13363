import dataclasses
import errno
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest
from PIL import Image

from snellen.compute import Progress
from snellen.core.errors import SnellenError
from snellen.core.seeds import stream
from snellen.stimuli.render import RenderSettings, image_cache, render_images
from snellen.stimuli.render.engine import Engine
from snellen.stimuli.render.toy import toy_image
from snellen.stimuli.scenes import RenderSpec, composite, composite_scene, random_camera, to_json
from tests.helpers.damage import damage as harm

TOY = RenderSettings(renderer="toy")


def specs(count: int = 3, views: int = 2) -> list[RenderSpec]:
    shots = []
    for number in range(count):
        scene = composite_scene(composite(number * 1000))
        shots += [
            RenderSpec(scene, random_camera(scene, stream(number, view), size_px=(40, 30))) for view in range(views)
        ]
    return shots


def test_images_are_returned_in_the_requested_order(tmp_path: Path) -> None:
    shots = specs()
    paths = render_images(shots, TOY, tmp_path)
    assert len(set(paths)) == len(shots)
    for spec, path in zip(shots, paths, strict=True):
        with Image.open(path) as image:
            assert (image.format, image.mode) == ("PNG", "RGB")
            assert np.array_equal(np.array(image), toy_image(spec.scene, spec.camera))


@pytest.mark.slow
def test_two_workers_make_the_same_files(tmp_path: Path) -> None:
    alone = render_images(specs(), TOY, tmp_path / "one")
    together = render_images(specs(), TOY, tmp_path / "two", workers=2)
    assert [p.name for p in alone] == [p.name for p in together]
    assert [p.read_bytes() for p in alone] == [p.read_bytes() for p in together]


@pytest.mark.parametrize("damage", ["a flipped bit", "zeros", "cut short", "garbage at the end", "empty", "gone"])
def test_a_damaged_image_is_drawn_again(tmp_path: Path, damage: str) -> None:
    """So no set is built from it, whether or not it can still be decoded."""
    paths = render_images(specs(1), TOY, tmp_path)
    before = [path.read_bytes() for path in paths]
    for number in range(8):
        harm(paths[1], damage, stream("damaged renders", damage, number))
        assert [path.read_bytes() for path in render_images(specs(1), TOY, tmp_path)] == before


def test_only_missing_images_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = render_images(specs(), TOY, tmp_path)
    paths[2].unlink()
    drawn_paths: list[Path] = []
    draw = image_cache._draw

    def watched(job: image_cache._Job) -> None:
        drawn_paths.extend(path for *_, path in job.views)
        draw(job)

    monkeypatch.setattr(image_cache, "_draw", watched)
    with Progress("x", visible=False) as progress:
        assert render_images(specs(), TOY, tmp_path, progress=progress) == paths
    assert drawn_paths == [paths[2]]
    assert (progress.done, progress.total) == (1, 1)


def test_a_repeated_spec_is_drawn_once(tmp_path: Path) -> None:
    shot = specs(1, 1)[0]
    with Progress("x", visible=False) as progress:
        first, second = render_images([shot, shot], TOY, tmp_path, progress=progress)
    assert first == second
    assert progress.total == 1


def test_the_name_depends_on_everything_that_changes_a_pixel(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = specs(1, 1)[0]
    settings = RenderSettings()
    engine = Engine("mitsuba", "scalar_rgb", None, (("mitsuba", "1"),))
    llvm = dataclasses.replace(engine, variant="llvm_ad_rgb")

    def name(spec: RenderSpec = spec, settings: RenderSettings = settings, engine: Engine = engine) -> str:
        return image_cache._name(spec, to_json(spec.scene), settings, engine)

    others = [
        name(dataclasses.replace(spec, seed=1)),
        name(dataclasses.replace(spec, camera=dataclasses.replace(spec.camera, width_px=41))),
        name(dataclasses.replace(spec, scene=composite_scene(composite(1)))),
        name(settings=dataclasses.replace(settings, samples_per_pixel=4)),
        name(settings=dataclasses.replace(settings, denoise=False)),
        name(settings=dataclasses.replace(settings, quality="fast"), engine=llvm),
        name(settings=dataclasses.replace(settings, quality="good"), engine=llvm),
        name(engine=llvm),
        name(engine=dataclasses.replace(engine, versions=(("mitsuba", "2"),))),
    ]
    assert len({name(), *others}) == 1 + len(others)
    assert name() == name(engine=dataclasses.replace(engine, libllvm="/elsewhere/libLLVM.so"))
    assert name() == name(settings=dataclasses.replace(settings, glass_samples_per_pixel=99))  # no glass in the scene
    assert name() == name(settings=dataclasses.replace(settings, quality="fast"))  # without LLVM there is one quality
    names = name(), name(engine=llvm), name(settings=dataclasses.replace(settings, quality="reference"), engine=llvm)
    monkeypatch.setattr(image_cache, "SURFACES_VERSION", "another")
    monkeypatch.setattr(image_cache, "REGIONS_VERSION", "another")
    anew = name(), name(engine=llvm), name(settings=dataclasses.replace(settings, quality="reference"), engine=llvm)
    assert not set(names) & set(anew)
    lit = dataclasses.replace(spec, scene=dataclasses.replace(spec.scene, lights=spec.scene.lights[:1]))
    three_lights, one_light = name(), name(lit)
    monkeypatch.setattr(image_cache, "LAMP_VERSION", "another")
    assert name() == three_lights
    assert name(lit) != one_light


def test_scenes_that_share_kernels_follow_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alternating one and three lights would compile kernels each time; files are returned in the requested order."""
    light_counts, draw = list[int](), image_cache._draw

    def listed(job: Any) -> None:
        light_counts.append(len(job.scene.lights))
        draw(job)

    monkeypatch.setattr(image_cache, "_draw", listed)
    shots = [
        dataclasses.replace(spec, scene=dataclasses.replace(spec.scene, lights=spec.scene.lights[: 1 + 2 * (n % 2)]))
        for n, spec in enumerate(specs(6, 1))
    ]
    paths = render_images(shots, TOY, tmp_path)
    assert light_counts == [1, 1, 1, 3, 3, 3]
    assert paths == [path for spec in shots for path in render_images([spec], TOY, tmp_path)]


def test_a_full_disk_is_reported_in_one_line_and_leaves_no_partial_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Image.Image, file: BinaryIO, *_: object, **__: object) -> None:
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Image.Image, "save", full)
    with pytest.raises(SnellenError, match="No space left on device; free some space") as caught:
        render_images(specs(1, 1), TOY, tmp_path)
    assert str(tmp_path) in str(caught.value)
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_a_folder_that_cannot_be_made_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SnellenError, match=r"images cannot be written to .*file"):
        render_images(specs(1, 1), TOY, tmp_path / "file" / "cache")
