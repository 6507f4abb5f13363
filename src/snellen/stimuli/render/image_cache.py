"""Renders specs to PNG files in a cache folder: once each, written atomically, in parallel by scene."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from snellen.compute import Progress, Shard, map_shards
from snellen.core.build_options import SIZE_PX, BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.hashing import canonical, digest
from snellen.core.storage import files, png
from snellen.core.storage.home import home
from snellen.core.storage.user_files import read_file
from snellen.stimuli.render.engine import (
    Engine,
    RenderSettings,
    find_engine,
    region_samples,
    renderer_info,
    threads_per_worker,
)
from snellen.stimuli.render.regions import LAMP_VERSION, REGIONS_VERSION, SURFACES_VERSION
from snellen.stimuli.scenes.floor_patterns import PLAIN
from snellen.stimuli.scenes.model import Camera, RenderSpec, Scene, to_json

_PNG_LEVEL = 3


@dataclasses.dataclass(frozen=True)
class _Job:
    """All missing images of one scene: (camera, seed, file)."""

    scene: Scene
    views: tuple[tuple[Camera, int, Path], ...]
    settings: RenderSettings
    engine: Engine
    threads: int


def render_images(
    specs: Sequence[RenderSpec],
    settings: RenderSettings,
    cache_dir: str | os.PathLike[str],
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> list[Path]:
    """The image file (8-bit RGB PNG) of every spec, in order; only missing and damaged ones are rendered.

    A file is named by a hash of scene, camera, seed, samples, renderer variant and versions, and written atomically:
    after a kill the next call renders only what is missing. All views of a scene are rendered by one worker from one
    built scene. Its threads leave no core idle. `workers` above 1 starts new processes (guard scripts with
    `if __name__ == "__main__"`).
    """
    folder = Path(cache_dir)
    engine = find_engine(settings)
    scenes: dict[Scene, str] = {}
    paths = []
    missing: dict[str, dict[Path, RenderSpec]] = {}
    for spec in specs:
        scene_text = scenes.setdefault(spec.scene, "") or to_json(spec.scene)
        scenes[spec.scene] = scene_text
        path = folder / _name(spec, scene_text, settings, engine)
        paths.append(path)
        if not _is_intact(path):
            missing.setdefault(scene_text, {})[path] = spec
    threads = threads_per_worker(min(workers, max(len(missing), 1)))
    shards = []
    for views in sorted(missing.values(), key=_kernels):
        scene = next(iter(views.values())).scene
        job = _Job(scene, tuple((s.camera, s.seed, p) for p, s in views.items()), settings, engine, threads)
        shards.append(Shard(f"image {job.views[0][2].stem[:12]}", job, len(views)))
    map_shards(_draw, shards, workers=workers, progress=progress)
    return paths


def _is_intact(path: Path) -> bool:
    """True if a file of the cache is whole, by the checksums inside it: bytes may be lost by a power cut or change."""
    try:
        return bool(png.chunk_kinds(read_file(path)))
    except OSError:
        return False


def _kernels(views: Mapping[Path, RenderSpec]) -> tuple[object, ...]:
    """Sort key of properties for which Mitsuba recompiles its kernels (1 s of CPU per process), to group scenes."""
    spec = next(iter(views.values()))
    return len(spec.scene.lights), spec.scene.floor.pattern != PLAIN, spec.camera.width_px, spec.camera.height_px


def _name(spec: RenderSpec, scene_text: str, settings: RenderSettings, engine: Engine) -> str:
    """File name of a spec in the cache folder, a hash of everything that affects a pixel."""
    how = [engine.renderer, engine.variant, [list(pair) for pair in engine.versions]]
    sampling: list[object] = (
        [settings.samples(spec.scene), settings.denoise, spec.seed] if engine.renderer == "mitsuba" else []
    )
    regions = region_samples(settings, engine)
    if regions is not None:
        sampling += [REGIONS_VERSION, *dataclasses.astuple(regions)]
    elif engine.renderer == "mitsuba":
        sampling.append(SURFACES_VERSION)
    if engine.renderer == "mitsuba" and len(spec.scene.lights) == 1:
        sampling.append(LAMP_VERSION)
    key = digest([scene_text, to_json(spec.camera), how, sampling], 40)
    return f"{key[:2]}/{key}.png"


def _cannot_write(path: Path, error: OSError) -> SnellenError:
    reason = error.strerror or str(error)
    return SnellenError(f"images cannot be written to {path}: {reason}; free some space or choose another folder")


def _draw(job: _Job) -> None:
    """Render and store the views of one scene."""
    if job.engine.renderer == "blank":
        for camera, _, path in job.views:
            store(_blank_image(camera, path.stem), path)
        return
    if job.engine.renderer == "toy":
        from snellen.stimuli.render.toy import toy_image

        for camera, _, path in job.views:
            store(toy_image(job.scene, camera), path)
        return
    from snellen.stimuli.render.mitsuba_images import Studio

    studio = Studio(job.scene, job.settings, job.engine, job.threads)
    for camera, seed, path in job.views:
        store(studio.image(camera, seed), path)


def _blank_image(camera: Camera, name: str) -> NDArray[np.uint8]:
    """A grey image that shows nothing, with a unique first row, since files are identified by content."""
    pixels = np.full((camera.height_px, camera.width_px, 3), 128, np.uint8)
    pixels[0, : len(name) // 2, 0] = np.frombuffer(bytes.fromhex(name), np.uint8)
    return pixels


def store(pixels: NDArray[np.uint8], path: Path) -> None:
    """Write an image (height, width, 3) as PNG, atomically."""
    with files.all_or_nothing(path, _cannot_write, durable=False) as half, half.open("wb") as file:
        Image.fromarray(pixels).save(file, "PNG", compress_level=_PNG_LEVEL)


# Images of generated sets, rendered once into the home folder for all suites


FIXED_SHARE = 0.14
"""The part of the time of an image of the usual size that does not depend on its pixels.

One object in `fast` took 0.24, 0.22, 0.44 and 1.24 CPU s at 80x60, 160x120, 320x240 and 640x480.
"""


class Render(NamedTuple):
    """The file of a rendered image, and its recipe as JSON text (`image_recipe`)."""

    path: Path
    recipe: str


def render_settings(options: BuildOptions) -> RenderSettings:
    """Render settings of a build. Raises SnellenError for an unknown renderer or quality."""
    return RenderSettings(renderer=options.renderer, quality=options.quality)  # type: ignore[arg-type]  # it checks


def image_recipe(spec: RenderSpec, settings: RenderSettings) -> str:
    """An image's recipe as JSON text: spec and settings, without what differs between machines."""
    chosen = dataclasses.asdict(settings) if settings.renderer == "mitsuba" else {"renderer": settings.renderer}
    chosen.pop("variant", None)
    return canonical({"settings": chosen, "spec": json.loads(to_json(spec))})


def render_for_recipe(specs: Sequence[RenderSpec], options: BuildOptions) -> tuple[list[Render], Mapping[str, Any]]:
    """The image of every spec, in order, and the renderer facts for the card of a set.

    Only images missing in the home folder are rendered. Raises SnellenError for an unknown or missing renderer.
    """
    settings = render_settings(options)
    with Progress("rendering", unit="images", visible=options.show_progress) as progress:
        paths = render_images(specs, settings, home() / "renders", workers=options.workers, progress=progress)
    recipes = (image_recipe(spec, settings) for spec in specs)
    return list(map(Render, paths, recipes)), {"render": renderer_info(settings)}


def image_seconds(by_quality: Mapping[str, float], options: BuildOptions, share: float = 1.0) -> float:
    """CPU seconds per image in the quality and size of this build, from those of the usual size by quality.

    `share` is that of an image in the pixels of a whole one. Raises SnellenError for an unknown quality.
    """
    seconds = by_quality[RenderSettings(quality=options.quality).quality]  # type: ignore[arg-type]  # it checks
    return seconds * (FIXED_SHARE + (1 - FIXED_SHARE) * share * size_share(options))


def size_share(options: BuildOptions) -> float:
    """Pixels of an image of this build, relative to the usual size."""
    return math.prod(options.size_px) / math.prod(SIZE_PX)
