"""The renderer, its settings and versions; finds an LLVM that works on this machine."""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
import importlib.util
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal

from snellen.compute import cores
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
_DRAWN_BY: ContextVar[str] = ContextVar("drawn_by", default="")


@dataclasses.dataclass(frozen=True)
class RegionSamples:
    """Samples per pixel that shows or touches an opaque solid, glass, or floor near them; per block of other floor.

    If an image shows glass, blocks take its samples, since caustics reach far.
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
"""Samples by quality; `reference` uses the same number everywhere, that of `RenderSettings`."""


@dataclasses.dataclass(frozen=True)
class RenderSettings:
    """Settings of a renderer.

    `quality` is one of `QUALITIES`; those other than `reference` need the LLVM variant and the denoiser, and fall back
    to `reference` without. `samples_per_pixel` and `glass_samples_per_pixel` (scenes with any glass) apply to
    `reference`; they should be square numbers (the sampler rounds others up). `variant` is Mitsuba's; 'auto' uses LLVM
    if it works.
    """

    renderer: Literal["mitsuba", "toy", "blank"] = "mitsuba"
    samples_per_pixel: int = 16
    glass_samples_per_pixel: int = 16
    denoise: bool = True
    variant: Literal["auto", "llvm_ad_rgb", "scalar_rgb"] = "auto"
    quality: Quality = "reference"

    def __post_init__(self) -> None:
        if self.renderer not in ("mitsuba", "toy", "blank"):
            raise SnellenError(f"renderer {self.renderer!r} is unknown; choose mitsuba, toy or blank")
        if self.quality not in QUALITIES:
            raise SnellenError(f"quality {self.quality!r} is unknown; choose one of {', '.join(QUALITIES)}")
        if min(self.samples_per_pixel, self.glass_samples_per_pixel) < 1:
            raise SnellenError("samples per pixel must be at least 1")

    def samples(self, scene: Scene) -> int:
        """Samples per pixel for this scene."""
        glass = any(solid.material.kind == "glass" for solid in scene.solids)
        return self.glass_samples_per_pixel if glass else self.samples_per_pixel


@dataclasses.dataclass(frozen=True)
class Engine:
    """A renderer found on this machine."""

    renderer: str
    variant: str
    libllvm: str | None
    versions: tuple[tuple[str, str], ...]


@contextmanager
def drawn_by(renderer: str) -> Iterator[None]:
    """In this context all images are drawn by this renderer, whatever the settings say, which recipes still name.

    So the rows of a set can be made again without its renderer, and in seconds.
    """
    token = _DRAWN_BY.set(renderer)
    try:
        yield
    finally:
        _DRAWN_BY.reset(token)


def find_engine(settings: RenderSettings) -> Engine:
    """The renderer for the settings. Raises SnellenError with the remedy if it is missing or broken."""
    settings = dataclasses.replace(settings, renderer=_DRAWN_BY.get() or settings.renderer)  # type: ignore[arg-type]
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
    """Samples by region; None if the whole image is sampled equally."""
    return QUALITIES[settings.quality] if engine.variant == LLVM_VARIANT and settings.denoise else None


def renderer_info(settings: RenderSettings, *, workers: int = 1) -> dict[str, Any]:
    """Renderer facts for a card: name, variant, versions, libLLVM's file name, processor, threads, samples a pixel."""
    engine = find_engine(settings)
    regions = region_samples(settings, engine)
    return {
        "renderer": engine.renderer,
        "variant": engine.variant,
        "versions": dict(engine.versions),
        "llvm": Path(engine.libllvm).name if engine.libllvm else None,
        **({"processor": _processor()} if engine.renderer == "mitsuba" else {}),
        "threads_per_worker": threads_per_worker(workers) if engine.variant == LLVM_VARIANT else 1,
        "samples_per_pixel": settings.samples_per_pixel,
        "glass_samples_per_pixel": settings.glass_samples_per_pixel,
        "denoise": settings.denoise,
    } | ({} if regions is None else {"quality": settings.quality, "samples_by_region": dataclasses.asdict(regions)})


def _processor() -> str:
    """The name of this machine's processor, on which digits of ray-traced images may depend."""
    linux = Path("/proc/cpuinfo")
    name = re.search(r"model name\s*: (.+)", linux.read_text()) if linux.is_file() else None
    return name[1] if name else platform.processor() or platform.machine()


def threads_per_worker(workers: int) -> int:
    """Threads per worker: all cores for a single worker, else one."""
    return cores() if workers == 1 else 1


@functools.cache
def working_llvm() -> str | None:
    """Path of the first libLLVM with which Mitsuba renders; None if there is none (reported once on stderr).

    Tested in a separate process, since an unsuitable LLVM aborts the process without an exception.
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
    """libLLVM files: from the environment, from Python's folder, from the system, newest first."""
    if stated := os.environ.get("DRJIT_LIBLLVM_PATH"):
        yield stated
    real_paths = set()
    bundled = sorted((Path(sys.prefix) / "lib" / "llvm").rglob("libLLVM*.so*"), key=str)
    folders = "/usr/lib", "/usr/local/lib", "/opt/homebrew/opt/llvm/lib"
    patterns = "libLLVM*.so*", "*-linux-gnu/libLLVM*.so*", "llvm*/lib/libLLVM*.so*", "libLLVM*.dylib"
    system = [path for folder in folders for pattern in patterns for path in Path(folder).glob(pattern)]
    for path in [*bundled, *sorted(system, key=_age)]:
        real = path.resolve()
        if real not in real_paths and real.is_file():
            real_paths.add(real)
            yield str(real)


def _age(path: Path) -> tuple[int, str]:
    """Sort key, newest version first; the number is somewhere in the name."""
    digits = "".join(c if c.isdigit() else " " for c in path.resolve().name).split()
    return -int(digits[0]) if digits else 0, str(path)
