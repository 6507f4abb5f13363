"""Renders images of an item set again from their recipes, to verify them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.core.hashing import canonical
from snellen.stimuli.render.engine import RenderSettings
from snellen.stimuli.render.image_cache import render_images
from snellen.stimuli.scenes.model import from_json

BLOCK_PX, MAX_DIFFERENCE = 16, 10.0
"""Side of the blocks whose mean levels are compared, and the allowed difference (of 255) between ray-traced images.

Measured on 10 scenes: 0.0 with other threads, at most 5.6 with Mitsuba's other variant or another quality.
"""


def rebuild(paths: Mapping[Path, str]) -> float:
    """Render images again without a cache and return the largest difference (`block_difference`).

    `paths` maps stored files to recipes. Raises SnellenError for an image that differs by more than `MAX_DIFFERENCE`,
    or at all if no rays are traced, and for a missing renderer.
    """
    largest = 0.0
    for path, recipe in paths.items():
        cells = json.loads(recipe)
        settings, spec = RenderSettings(**cells["settings"]), from_json(canonical(cells["spec"]))
        with TemporaryDirectory() as folder:
            (again,) = render_images([spec], settings, folder)
            stored, rendered = (np.asarray(Image.open(file).convert("RGB")) for file in (path, again))
        difference = block_difference(stored, rendered)
        if difference > MAX_DIFFERENCE or (settings.renderer != "mitsuba" and (stored != rendered).any()):
            raise SnellenError(
                f"{path}: differs from what its recipe renders (a block of {BLOCK_PX} x {BLOCK_PX} pixels by "
                f"{difference:.1f} of 255 levels); build or copy the item set again"
            )
        largest = max(largest, difference)
    return largest


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
