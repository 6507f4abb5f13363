"""Estimates the cost of rendering on this machine from a few images that are drawn and discarded."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from snellen.stimuli.render.engine import LLVM_VARIANT, RenderSettings, find_engine, threads_per_worker
from snellen.stimuli.render.image_cache import render_images
from snellen.stimuli.scenes.model import RenderSpec, Scene

SCENES, VIEWS = 8, 2
"""Scenes rendered per image size, and views per scene."""


@dataclass(frozen=True)
class DrawingCost:
    """CPU seconds once per process; CPU seconds and bytes of all specs; whether one process uses every core."""

    start_s: float
    cpu_s: float
    bytes: int
    uses_all_cores: bool


def drawing_cost(specs: Sequence[RenderSpec], settings: RenderSettings, workers: int) -> DrawingCost:
    """Render some of the specs, spread over scenes and sizes, and estimate the cost of all of them.

    Runs in this process, with the threads that each of so many workers would have. The first image of a process also
    loads the renderer, which is measured separately.
    """
    threads = threads_per_worker(workers)
    uses_all_cores = find_engine(settings).variant == LLVM_VARIANT
    if not specs:
        return DrawingCost(0.0, 0.0, 0, uses_all_cores)
    with tempfile.TemporaryDirectory() as folder:
        cold, _ = _draw_some(specs[:1], settings, threads, Path(folder) / "first")
        start = max(0.0, cold - _draw_some(specs[:1], settings, threads, Path(folder) / "again")[0])
        seconds, size = 0.0, 0.0
        for number, scenes in enumerate(_by_size(specs)):
            parts = [
                _scene_cost(scenes[place], settings, threads, Path(folder) / f"{number}-{place}")
                for place in _spread(len(scenes), SCENES)
            ]
            seconds += sum(part[0] for part in parts) * len(scenes) / len(parts)
            size += sum(part[1] for part in parts) * len(scenes) / len(parts)
    return DrawingCost(start, seconds, round(size), uses_all_cores)


def _by_size(specs: Iterable[RenderSpec]) -> list[list[list[RenderSpec]]]:
    """Scenes by image size, each with its views."""
    sizes: dict[tuple[int, int], dict[Scene, list[RenderSpec]]] = {}
    for spec in specs:
        size = spec.camera.width_px, spec.camera.height_px
        sizes.setdefault(size, {}).setdefault(spec.scene, []).append(spec)
    return [list(scenes.values()) for scenes in sizes.values()]


def _spread(length: int, count: int) -> list[int]:
    """At most `count` evenly spread indices."""
    return sorted({(2 * place + 1) * length // (2 * count) for place in range(count)})


def _scene_cost(
    views: Sequence[RenderSpec], settings: RenderSettings, threads: int, folder: Path
) -> tuple[float, float]:
    """CPU seconds and bytes of all views of a scene, which is built once, estimated from the first ones."""
    first_s, first_bytes = _draw_some(views[:1], settings, threads, folder / "first")
    if len(views) == 1:
        return first_s, first_bytes
    both_s, both_bytes = _draw_some(views[:VIEWS], settings, threads, folder / "both")
    more = len(views) - 1
    return first_s + more * max(0.0, both_s - first_s), first_bytes + more * (both_bytes - first_bytes)


def _draw_some(specs: Sequence[RenderSpec], settings: RenderSettings, threads: int, folder: Path) -> tuple[float, int]:
    begun = time.process_time()
    paths = render_images(specs, settings, folder, threads=threads)
    return time.process_time() - begun, sum(path.stat().st_size for path in set(paths))
