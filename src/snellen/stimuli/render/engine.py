"""Which renderer draws, with which settings and versions; finding out whether this machine's LLVM works."""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from snellen.core.errors import SnellenError
from snellen.core.extras import install_command
from snellen.stimuli.render.toy import TOY_VERSION
from snellen.stimuli.scenes.model import SCENE_VERSION, Scene

_PROBE = """
import mitsuba as mi
mi.set_variant("llvm_ad_rgb")
scene = mi.load_dict({"type": "scene", "shape": {"type": "sphere"}, "light": {"type": "constant"}})
sensor = mi.load_dict({"type": "perspective", "film": {"type": "hdrfilm", "width": 2, "height": 2}})
image = mi.render(scene, sensor=sensor, integrator=mi.load_dict({"type": "path"}), spp=1)
assert float(image.array[0]) >= 0
"""
_PROBE_SECONDS = 120
LLVM_VARIANT = "llvm_ad_rgb"
PLAIN_VARIANT = "scalar_rgb"


@dataclasses.dataclass(frozen=True)
class RegionSamples:
    """Samples of a pixel that shows or touches an opaque solid, glass, floor near them; of a block of other floor.

    Where an image shows glass, blocks take its samples, since caustics lie far off too.
    """

    solid: int
    glass: int
    floor: int
    block: int


Quality = Literal["fast", "good", "reference"]
QUALITIES: dict[Quality, RegionSamples | None] = {
    "fast": RegionSamples(solid=4, glass=16, floor=4, block=4),
    "good": RegionSamples(solid=16, glass=16, floor=9, block=16),
    "reference": None,
}
"""By what an image is sampled; `reference` takes as many samples everywhere, those of `RenderSettings`."""


@dataclasses.dataclass(frozen=True)
class RenderSettings:
    """How images are drawn.

    `quality` is one of `QUALITIES`; what differs from `reference` needs the LLVM variant and the denoiser, and is drawn
    as `reference` without. `samples_per_pixel` and `glass_samples_per_pixel` (scenes with any glass) hold for
    `reference`; they should be square numbers (the sampler rounds others up). `variant` is Mitsuba's; 'auto' takes
    LLVM where it works.
    """

    renderer: Literal["mitsuba", "toy", "blank"] = "mitsuba"
    samples_per_pixel: int = 16
    glass_samples_per_pixel: int = 16
    denoise: bool = True
    variant: Literal["auto", "llvm_ad_rgb", "scalar_rgb"] = "auto"
    quality: Quality = "reference"

    def __post_init__(self) -> None:
        if self.renderer not in ("mitsuba", "toy", "blank"):
            raise SnellenError(f"renderer {self.renderer!r} is not known; choose mitsuba, toy or blank")
        if self.quality not in QUALITIES:
            raise SnellenError(f"quality {self.quality!r} is not known; choose one of {', '.join(QUALITIES)}")
        if min(self.samples_per_pixel, self.glass_samples_per_pixel) < 1:
            raise SnellenError("samples per pixel must be at least 1")

    def samples(self, scene: Scene) -> int:
        """Samples per pixel for this scene."""
        glass = any(solid.material.kind == "glass" for solid in scene.solids)
        return self.glass_samples_per_pixel if glass else self.samples_per_pixel


@dataclasses.dataclass(frozen=True)
class Engine:
    """A renderer as found on this machine."""

    renderer: str
    variant: str
    libllvm: str | None
    versions: tuple[tuple[str, str], ...]


def find_engine(settings: RenderSettings) -> Engine:
    """The renderer the settings ask for; a missing or broken one is an error that says how to mend it."""
    if settings.renderer == "blank":
        return Engine("blank", "numpy", None, (("scene", SCENE_VERSION),))
    if settings.renderer == "toy":
        return Engine("toy", "numpy", None, (("toy", TOY_VERSION), ("scene", SCENE_VERSION)))
    needed = ("mitsuba", "mitsuba_oidn") if settings.denoise else ("mitsuba",)
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        raise SnellenError(f"renderer mitsuba: {', '.join(missing)} not installed; {install_command('render')}")
    versions = tuple((name, importlib.metadata.version(name.replace("_", "-"))) for name in needed)
    variant: str = settings.variant
    libllvm = None
    if variant != PLAIN_VARIANT:
        libllvm = working_llvm()
        if libllvm is None and variant == LLVM_VARIANT:
            raise SnellenError("renderer mitsuba: no usable LLVM for llvm_ad_rgb; set DRJIT_LIBLLVM_PATH to libLLVM 19")
        variant = PLAIN_VARIANT if libllvm is None else LLVM_VARIANT
    return Engine("mitsuba", variant, libllvm, (*versions, ("scene", SCENE_VERSION)))


def region_samples(settings: RenderSettings, engine: Engine) -> RegionSamples | None:
    """How regions are sampled, None where all of an image is sampled alike."""
    return QUALITIES[settings.quality] if engine.variant == LLVM_VARIANT and settings.denoise else None


def renderer_info(settings: RenderSettings, *, workers: int = 1) -> dict[str, Any]:
    """What a card says about the renderer: name, variant, versions, libLLVM's file name, threads, samples per pixel."""
    engine = find_engine(settings)
    regions = region_samples(settings, engine)
    return {
        "renderer": engine.renderer,
        "variant": engine.variant,
        "versions": dict(engine.versions),
        "llvm": Path(engine.libllvm).name if engine.libllvm else None,
        "threads_per_worker": threads_per_worker(workers) if engine.variant == LLVM_VARIANT else 1,
        "samples_per_pixel": settings.samples_per_pixel,
        "glass_samples_per_pixel": settings.glass_samples_per_pixel,
        "denoise": settings.denoise,
    } | ({} if regions is None else {"quality": settings.quality, "samples_by_region": dataclasses.asdict(regions)})


def threads_per_worker(workers: int) -> int:
    """Threads a renderer may use: all cores alone, one each beside others."""
    return (
        (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
        if workers == 1
        else 1
    )


@functools.cache
def working_llvm() -> str | None:
    """Path of the first libLLVM that Mitsuba renders with, None where there is none (said once on stderr).

    Tried in a process of its own, because an unsuitable LLVM aborts the process and no exception can be caught.
    """
    tried = []
    for path in _candidates():
        command = [sys.executable, "-c", _PROBE]
        environment = {**os.environ, "DRJIT_LIBLLVM_PATH": path}
        try:
            result = subprocess.run(command, env=environment, capture_output=True, timeout=_PROBE_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            tried.append(f"{Path(path).name} (no answer in {_PROBE_SECONDS} s)")
            continue
        if result.returncode == 0:
            return path
        tried.append(Path(path).name)
    outcome = f"tried {', '.join(tried)}" if tried else "none found"
    print(  # noqa: T201
        f"snellen: Mitsuba is 3 to 4 times slower without LLVM 17 or newer ({outcome}); set DRJIT_LIBLLVM_PATH to it",
        file=sys.stderr,
    )
    return None


def _candidates() -> Iterator[str]:
    """Files of libLLVM: the one the environment names, those beside Python, the system's, newest first."""
    if stated := os.environ.get("DRJIT_LIBLLVM_PATH"):
        yield stated
    real_paths = set()
    beside = sorted((Path(sys.prefix) / "lib" / "llvm").rglob("libLLVM*.so*"), key=str)
    system = [
        path for folder in ("/usr/lib", "/usr/local/lib", "/opt/homebrew/opt/llvm/lib") for path in _system(folder)
    ]
    for path in [*beside, *sorted(system, key=_age)]:
        real = path.resolve()
        if real not in real_paths and real.is_file():
            real_paths.add(real)
            yield str(real)


def _system(folder: str) -> Iterator[Path]:
    root = Path(folder)
    for pattern in ("libLLVM*.so*", "*-linux-gnu/libLLVM*.so*", "llvm*/lib/libLLVM*.so*", "libLLVM*.dylib"):
        yield from root.glob(pattern)


def _age(path: Path) -> tuple[int, str]:
    """Newest version first; the number stands somewhere in the name."""
    digits = "".join(c if c.isdigit() else " " for c in path.resolve().name).split()
    return -int(digits[0]) if digits else 0, str(path)
