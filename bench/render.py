"""Cost and quality of images: CPU seconds by kind of object, PSNR against many samples, one worker against two.

    python bench/render.py [--quick] [--samples N ...] [--reference N] [--only TEXT]
    python bench/render.py --qualities [--reference N] [--only TEXT]
    python bench/render.py --sheet FILE
    python bench/render.py --suites
    python bench/render.py --bare [--reference N]

With --qualities: CPU seconds of the three qualities of a warm view in one process, as shares of `reference`, and PSNR;
objects, a room of VLM2-Bench, a table and a display of AVA-Bench. With --sheet: the six objects in `reference`, `good`
and `fast` from left to right, cut at the sides. With --suites: CPU seconds of the first images of each generated set
at its own size, from building the scene to the stored PNG, for `SECONDS_A_IMAGE` of its recipe. With --bare: the first
images of a checkup's sets in `fast`, beside plain calls of Mitsuba, the denoiser and Pillow for the same scenes, with
the fewest samples per pixel that reach our PSNR; both in turn, in one process and one thread.

PSNR is taken on developed images in [0, 1] as -10 log10 mean((x - r1) (x - r2)) with two independent halves r1, r2
of the reference, so that the reference's own noise drops out. CPU seconds are user + system of all threads, from
building the scene to the stored PNG, kernels warm; the load is printed, because a busy machine makes seconds longer.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from snellen.core.build_options import BuildOptions
from snellen.core.seeds import stream
from snellen.stimuli.render import RenderSettings, mitsuba_images, render_images, renderer_info
from snellen.stimuli.render.appearances import develop
from snellen.stimuli.render.engine import Quality, find_engine, threads_per_worker
from snellen.stimuli.render.image_cache import store
from snellen.stimuli.render.mitsuba_images import Studio
from snellen.stimuli.render.mitsuba_surfaces import paint_floor
from snellen.stimuli.scenes import (
    Appearance,
    Camera,
    Composite,
    RenderSpec,
    Scene,
    composite,
    composite_scene,
    random_camera,
)
from snellen.suites.ava_bench.generated import recipe as ava
from snellen.suites.combo.generated.objects import object_spec
from snellen.suites.vfm_bench.generated import recipe as vfm
from snellen.suites.vfm_bench.generated.block_images import image_spec
from snellen.suites.vlm2_bench.generated import recipe as vlm2

OBJECTS = {
    "rubber cube, metal cone": Composite(
        Appearance("cube", "rubber", "red"), "face", Appearance("cone", "metal", "blue"), "base"
    ),
    "wood frustum, metal ball": Composite(
        Appearance("frustum", "wood"), "small base", Appearance("sphere", "metal", "green"), "surface"
    ),
    "metal cylinder, wood cube": Composite(
        Appearance("cylinder", "metal", "red"), "side", Appearance("cube", "wood"), "face"
    ),
    "rubber cylinder, glass cone": Composite(
        Appearance("cylinder", "rubber", "purple"), "base", Appearance("cone", "glass"), "base"
    ),
    "glass ball, wood cylinder": Composite(
        Appearance("sphere", "glass"), "surface", Appearance("cylinder", "wood"), "base"
    ),
    "glass cube, glass ball": Composite(Appearance("cube", "glass"), "edge", Appearance("sphere", "glass"), "surface"),
}
QUALITIES: tuple[Quality, ...] = ("reference", "good", "fast")
CHUNK = 64
"""Samples of a reference drawn in one launch."""


@dataclasses.dataclass(frozen=True)
class Row:
    """Measured for one object and one number of samples."""

    name: str
    samples: int
    cpu_s: float
    psnr_db: list[float]


def cpu_s() -> float:
    """CPU seconds of this process so far."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def views_of(name: str, scene: Scene, count: int, size: tuple[int, int]) -> list[Camera]:
    """The same random cameras in every run."""
    rng = stream("bench render", name)
    return [random_camera(scene, rng, size_px=size) for _ in range(count)]


def halves(scene: Scene, camera: Camera, samples: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two independent undenoised images in [0, 1] that share `samples` between them."""
    settings = RenderSettings(samples_per_pixel=CHUNK, glass_samples_per_pixel=CHUNK, denoise=False)
    studio = Studio(scene, settings, find_engine(settings), threads_per_worker(1))
    chunks = max(samples // CHUNK // 2, 1)
    seeds = [range(1000 + half * chunks, 1000 + (half + 1) * chunks) for half in (0, 1)]
    sums = [sum(studio.radiance(camera, seed).astype(float) for seed in part) for part in seeds]
    first, second = (_image(np.asarray(total) / chunks) for total in sums)
    return first, second


def _image(radiance: NDArray[np.floating]) -> NDArray[np.float64]:
    return develop(radiance).astype(float) / 255


def psnr_db(image: NDArray[np.float64], reference: tuple[NDArray[np.float64], NDArray[np.float64]]) -> float:
    """See the module's docstring; 99 where the estimate is at or below zero."""
    error = float(np.mean((image - reference[0]) * (image - reference[1])))
    return 99.0 if error <= 0 else -10 * float(np.log10(error))


def measure(samples: list[int], reference: int, only: str, *, quick: bool) -> list[Row]:
    """CPU and PSNR of every object at every number of samples."""
    count, size = (1, (240, 180)) if quick else (3, (480, 360))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, wanted in list(OBJECTS.items())[:: 4 if quick else 1]:
            if only not in name:
                continue
            scene = composite_scene(wanted)
            cameras = views_of(name, scene, count, size)
            references = [halves(scene, camera, reference) for camera in cameras]
            for number in samples:
                settings = RenderSettings(samples_per_pixel=number, glass_samples_per_pixel=number)
                engine = find_engine(settings)
                Studio(scene, settings, engine, threads_per_worker(1)).image(cameras[0], 0)
                start = cpu_s()
                studio = Studio(scene, settings, engine, threads_per_worker(1))
                images = [studio.image(camera, seed) for seed, camera in enumerate(cameras)]
                for place, image in enumerate(images):
                    store(image, Path(folder) / f"{place}.png")
                spent = (cpu_s() - start) / count
                quality = [psnr_db(p / 255.0, r) for p, r in zip(images, references, strict=True)]
                rows.append(Row(name, number, spent, quality))
                print(rows[-1], flush=True)
    return rows


def quality_scenes() -> dict[str, tuple[Scene, Camera]]:
    """The objects, and the first room, table and display of the generated sets at their own size."""
    scenes = {name: composite_scene(blocks) for name, blocks in OBJECTS.items()}
    cases = {name: (scene, views_of(name, scene, 1, (480, 360))[0]) for name, scene in scenes.items()}
    options = BuildOptions(Path())
    room = next(room_specs(options))
    one = ava.Design({}, {"test": 1}, {"test": 1})
    table, display = ava.draw_tables(one, options)[0][1].shot, ava.draw_displays(one, options)[0][1].shot
    shots = {"room": room, "table": table, "display": display}
    return cases | {name: (shot.scene, shot.camera) for name, shot in shots.items()}


def measure_qualities(reference: int, only: str) -> None:
    """Print a row a scene and quality."""
    print("| scene | quality | CPU s | share | PSNR dB |\n|---|---|---|---|---|")
    for name, (scene, camera) in quality_scenes().items():
        if only not in name:
            continue
        references, whole = halves(scene, camera, reference), 0.0
        for quality in QUALITIES:
            settings = RenderSettings(quality=quality)
            studio = Studio(scene, settings, find_engine(settings), threads_per_worker(1))
            studio.radiance(camera, 0)
            start = cpu_s()
            radiances = [studio.radiance(camera, seed) for seed in (1, 2)]
            spent = (cpu_s() - start) / 2
            whole = whole or spent
            quality_db = statistics.mean(psnr_db(_image(radiance), references) for radiance in radiances)
            print(f"| {name} | {quality} | {spent:.2f} | {spent / whole:.2f} | {quality_db:.1f} |", flush=True)


def draw_sheet(path: Path) -> None:
    """Write the six objects in three qualities as one image, a row an object."""
    rows = []
    for name, blocks in OBJECTS.items():
        scene = composite_scene(blocks)
        (camera,) = views_of(name, scene, 1, (480, 360))
        row = []
        for quality in QUALITIES:
            settings = RenderSettings(quality=quality)
            image = Studio(scene, settings, find_engine(settings), threads_per_worker(1)).image(camera, 1)
            row.append(image[:, 60:420])
        rows.append(np.hstack(row))
    Image.fromarray(np.vstack(rows)).save(path, quality=90)


def room_specs(options: BuildOptions) -> Iterator[RenderSpec]:
    """The rooms of VLM2-Bench's set."""
    balanced = [vlm2._balanced(room, options) for room in vlm2.design(options).rooms]
    plan = dataclasses.replace(vlm2.design(options), rooms=tuple(room for room, _ in balanced))
    return vlm2._room_specs(plan, options, [cameras for _, cameras in balanced])


def suite_specs(count: int) -> dict[str, list[RenderSpec]]:
    """The first images of each generated set, by kind."""
    options = BuildOptions(Path(), n=4)
    one = ava.Design({}, {"test": count}, {"test": count})
    plan = vlm2.design(options)
    drafts = vfm.design(options).drafts[:count]
    return {
        "combo": [object_spec(1 + 9503 * n // count, 0, 0) for n in range(count)],
        "vfm-bench": [image_spec(draft, n, 0, options.size_px) for n, draft in enumerate(drafts)],
        "ava-bench, tables": [table.shot for _, table in ava.draw_tables(one, options)],
        "ava-bench, displays": [display.shot for _, display in ava.draw_displays(one, options)],
        "vlm2-bench, rooms": list(itertools.islice(room_specs(options), count)),
        "vlm2-bench, objects": list(itertools.islice(vlm2._object_specs(plan, options), count)),
        "vlm2-bench, frames": list(itertools.islice(vlm2._clip_specs(plan, options), count)),
    }


def measure_suites(count: int = 3) -> None:
    """Print CPU seconds an image by suite and quality; of the first object too, by which machines can be compared."""
    scene = composite_scene(next(iter(OBJECTS.values())))
    (camera,) = views_of(next(iter(OBJECTS)), scene, 1, (480, 360))
    print(f"| images | {' | '.join(QUALITIES)} |\n|---|{'---|' * len(QUALITIES)}")
    for name, specs in {"first object": [RenderSpec(scene, camera, 0)] * count, **suite_specs(count)}.items():
        cells = []
        for quality in QUALITIES:
            settings = RenderSettings(quality=quality)
            engine, threads = find_engine(settings), threads_per_worker(1)
            Studio(specs[0].scene, settings, engine, threads).image(specs[0].camera, 0)
            start = cpu_s()
            with tempfile.TemporaryDirectory() as folder:
                for spec in specs:
                    # One scene at a time, as recipes do: beside another one its kernels are other ones.
                    image = Studio(spec.scene, settings, engine, threads).image(spec.camera, spec.seed)
                    store(image, Path(folder) / "image.png")
            cells.append(f"{(cpu_s() - start) / len(specs):.2f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def bare_image(scene: Scene, camera: Camera, samples: int, seed: int, path: Path) -> NDArray[np.uint8]:
    """Draw and store an image by plain calls, as many samples everywhere."""
    import mitsuba as mi
    import mitsuba_oidn as oidn

    built = mitsuba_images._built(mi, scene)
    paint_floor(mi, scene.floor)
    layers = []
    for integrator, count in ((mitsuba_images._PATH, samples), (mitsuba_images._AUXILIARY, 4)):
        sensor = mi.load_dict(mitsuba_images._sensor(mi, camera, count))
        rendered = mi.render(built, sensor=sensor, integrator=mi.load_dict(integrator), spp=count, seed=seed)
        layers.append(np.array(rendered))
    colour, albedo, normal = (
        np.ascontiguousarray(a) for a in (layers[0][..., :3], *np.split(layers[1][..., -6:], 2, 2))
    )
    clean = oidn.denoise(colour, albedo=albedo, normal=normal, hdr=True, quality=oidn.Quality.Fast)
    image = develop(np.asarray(clean))
    Image.fromarray(image).save(path, "PNG", compress_level=3)
    return image


def halved(camera: Camera) -> Camera:
    """The camera with half the width and height, the size of a checkup's images."""
    return dataclasses.replace(camera, width_px=camera.width_px // 2, height_px=camera.height_px // 2)


def measure_bare(reference: int, rounds: int = 5) -> None:
    """Print our CPU seconds an image beside those of plain calls at the same quality."""
    settings = RenderSettings(quality="fast")
    engine = find_engine(settings)
    print("| images | ours, CPU s | PSNR dB | plain calls, CPU s | PSNR dB | samples | ratio |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "image.png"

        def draw(spec: RenderSpec, samples: int) -> NDArray[np.uint8]:
            """An image of ours, or with so many samples by plain calls."""
            if samples:
                return bare_image(spec.scene, spec.camera, samples, spec.seed, path)
            image = Studio(spec.scene, settings, engine, 1).image(spec.camera, spec.seed)
            store(image, path)
            return image

        for name, whole in suite_specs(2).items():
            specs = [dataclasses.replace(spec, camera=halved(spec.camera)) for spec in whole]
            references = [halves(spec.scene, spec.camera, reference) for spec in specs]
            reached = dict[int, float]()
            for samples in (0, 1, 4, 9, 16, 25, 36):
                pairs = zip(specs, references, strict=True)
                reached[samples] = statistics.mean(psnr_db(draw(spec, samples) / 255, pair) for spec, pair in pairs)
                if samples and reached[samples] >= reached[0]:
                    break
            seconds = dict.fromkeys((0, samples), 0.0)
            for _, spec, place in itertools.product(range(rounds), specs, seconds):
                start = cpu_s()
                draw(spec, place)
                seconds[place] += (cpu_s() - start) / rounds / len(specs)
            ours, plain = (f"{seconds[place]:.3f} | {reached[place]:.1f}" for place in seconds)
            print(f"| {name} | {ours} | {plain} | {samples} | {seconds[0] / seconds[samples]:.2f} |", flush=True)


def workers_table(*, quick: bool) -> list[tuple[int, float, int]]:
    """(workers, wall seconds, images) for the same new images, start of processes included."""
    count, size = (4, (120, 90)) if quick else (24, (480, 360))
    rng = stream("bench render", "workers")
    scenes = [composite_scene(composite(int(rng.integers(9504)))) for _ in range(count)]
    specs = [RenderSpec(s, random_camera(s, rng, size_px=size)) for s in scenes]
    rows = []
    for workers in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            render_images(specs, RenderSettings(), folder, workers=workers)
            rows.append((workers, time.perf_counter() - start, len(specs)))
    return rows


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small images, few samples: does it run at all")
    parser.add_argument("--samples", type=int, nargs="+", default=[16], help="samples per pixel to try")
    parser.add_argument("--reference", type=int, default=1024, help="samples per pixel of the reference")
    parser.add_argument("--only", default="", help="objects whose name holds this text")
    parser.add_argument("--qualities", action="store_true", help="the three qualities beside each other")
    parser.add_argument("--sheet", type=Path, help="image file of six objects in three qualities to write")
    parser.add_argument("--suites", action="store_true", help="CPU seconds of images of the generated sets")
    parser.add_argument("--bare", action="store_true", help="beside plain calls of the renderer")
    arguments = parser.parse_args()
    if arguments.qualities:
        measure_qualities(arguments.reference, arguments.only)
        return
    if arguments.sheet:
        draw_sheet(arguments.sheet)
        return
    if arguments.suites:
        measure_suites()
        return
    if arguments.bare:
        measure_bare(arguments.reference)
        return
    reference = 128 if arguments.quick else arguments.reference
    info = renderer_info(RenderSettings())
    versions = ", ".join(f"{name} {version}" for name, version in info["versions"].items())
    print(f"{info['variant']}, {versions}, {info['llvm']}, {info['threads_per_worker']} threads")
    print(f"load {os.getloadavg()[0]:.1f} at the start\n")
    rows = measure(arguments.samples, reference, arguments.only, quick=arguments.quick)
    print("\n| object | samples | CPU s an image | PSNR dB, mean (least) |\n|---|---|---|---|")
    for row in rows:
        mean = statistics.mean(row.psnr_db)
        print(f"| {row.name} | {row.samples} | {row.cpu_s:.2f} | {mean:.1f} ({min(row.psnr_db):.1f}) |")
    print("\n| workers | images | wall s | images a minute |\n|---|---|---|---|")
    for workers, wall, images in workers_table(quick=arguments.quick):
        print(f"| {workers} | {images} | {wall:.1f} | {60 * images / wall:.0f} |")


if __name__ == "__main__":
    main()
