"""Renders images of an item set again from their recipes, to verify them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from snellen.core.errors import SnellenError
from snellen.core.hashing import canonical
from snellen.core.storage import png
from snellen.core.storage.media import open_image
from snellen.core.storage.user_files import read_file
from snellen.stimuli.render.engine import RenderSettings, renderer_info
from snellen.stimuli.render.image_cache import render_images
from snellen.stimuli.scenes.model import RenderSpec, from_json

MAX_MEAN = 0.5
"""The allowed mean difference, of 255 levels, of 3 x 3 pixels of a ray-traced image from what this machine renders.

Measured on 20 scenes in two qualities: at most 0.2 on one machine, with 1 to 3 threads; on 4 scenes 21 to 60 with
Mitsuba's other variant or another quality, whose noise differs.
"""
BLOCK_PX, MAX_DIFFERENCE = 16, 10.0
"""Side of the blocks whose mean levels are compared if another renderer drew the image, and the allowed difference.

Measured on 10 scenes: at most 5.6 with Mitsuba's other variant or another quality.
"""
MAX_SAMPLES, MAX_PARTS = 2_000_000_000, 1000
"""Most samples, and most solids, lights, softboxes and points, of an image that is rendered again."""


def drawn_here(renderer: Any) -> bool:
    """True if the renderer on a set's card (`renderer_info`) draws on this machine the same pixels as it did there."""
    if not isinstance(renderer, dict) or renderer.get("renderer") != "mitsuba":
        return True
    here = renderer_info(RenderSettings())
    return all(renderer.get(name) == here[name] for name in ("variant", "versions", "llvm", "processor"))


def rebuild(paths: Mapping[Path, str], *, is_drawn_here: bool = True) -> float:
    """Render images again without a cache and return the largest difference (`pixel_difference`).

    `paths` maps stored files to recipes. Raises SnellenError for an image that differs by more than `MAX_MEAN` (by
    blocks and `MAX_DIFFERENCE`, unless it is drawn here), or at all if no rays are traced, and for a missing renderer.
    """
    largest = 0.0
    for path, recipe in paths.items():
        try:
            cells = json.loads(recipe)
            settings, spec = RenderSettings(**cells["settings"]), from_json(canonical(cells["spec"]))
            size = _checked_size(spec, settings)
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
            raise SnellenError(f"{path}: its recipe is none of this version; copy the item set again") from error
        stored = _pixels(path)
        rendered = _rendered(path, spec, settings) if stored.shape[:2] == size else np.empty((0, 0, 3), np.uint8)
        difference = pixel_difference(stored, rendered)
        is_other = difference > MAX_MEAN if is_drawn_here else block_difference(stored, rendered) > MAX_DIFFERENCE
        if is_other or (settings.renderer != "mitsuba" and difference):
            raise SnellenError(
                f"{path}: differs from what its recipe renders (3 x 3 pixels by {difference:.1f} of 255 levels); build "
                "or copy the item set again"
            )
        largest = max(largest, difference)
    return largest


def _checked_size(spec: RenderSpec, settings: RenderSettings) -> tuple[int, int]:
    """The height and width of an image. Raises ValueError for odd numbers, and for what would take for ever."""
    size = spec.camera.height_px, spec.camera.width_px
    samples = settings.samples_per_pixel, settings.glass_samples_per_pixel
    parts = spec.scene.solids, spec.scene.lights, spec.scene.dome.softboxes, spec.scene.points
    are_whole = {type(number) for number in (*size, *samples, spec.seed)} == {int}
    if not are_whole or sum(map(len, parts)) > MAX_PARTS or math.prod(size) * max(samples) > MAX_SAMPLES:
        raise ValueError("numbers that are not whole, or too many samples or parts")
    return size


def _rendered(path: Path, spec: RenderSpec, settings: RenderSettings) -> NDArray[np.uint8]:
    with TemporaryDirectory() as folder:
        try:
            return _pixels(*render_images([spec], settings, folder))
        except SnellenError:
            raise
        except Exception as error:  # renderers raise many kinds
            raise SnellenError(f"{path}: its recipe cannot be rendered; copy the item set again") from error


PLAIN = {b"IHDR", b"IDAT", b"IEND"}
"""The chunks of a drawn image (PNG); others may change how it is shown, or say something."""


def _pixels(path: Path) -> NDArray[np.uint8]:
    """The pixels of a plain RGB image; none for others: profiles, alpha, frames and further chunks show or say more."""
    with open_image(path) as image:
        is_plain = image.mode == "RGB" and not image.info and png.chunk_kinds(read_file(path)) == PLAIN
        pixels = np.asarray(image)
        return pixels if is_plain else pixels[:0]


def pixel_difference(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> float:
    """The largest mean, over 3 x 3 pixels, of the absolute difference of a channel, 0 to 255; 255 for other sizes.

    Signed differences could cancel: a letter may be drawn in dark and light pixels.
    """
    if first.shape != second.shape:
        return 255.0
    padded = np.pad(np.abs(first.astype(float) - second), ((1, 1), (1, 1), (0, 0)))
    return float(sliding_window_view(padded, (3, 3), (0, 1)).mean((-2, -1)).max())


def block_difference(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> float:
    """The largest difference, 0 to 255, between the mean levels of a block of 16 x 16 pixels in a channel.

    Images are (height, width, 3); partial blocks at the right or lower edge join their neighbour. 255 for different
    sizes.
    """
    if first.shape != second.shape:
        return 255.0
    strips = [np.arange(0, max(side - BLOCK_PX, 0) + 1, BLOCK_PX) for side in first.shape[:2]]
    sums = np.add.reduceat(np.add.reduceat(first.astype(float) - second, strips[0]), strips[1], axis=1)
    heights, widths = (np.diff([*strip, side]) for strip, side in zip(strips, first.shape[:2], strict=True))
    return float(np.abs(sums / (heights[:, None] * widths)[..., None]).max())
