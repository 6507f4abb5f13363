"""Rendering images of an item set again from their recipes, to see whether they are what the set says."""

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
from snellen.stimuli.render.picture_cache import render_pictures
from snellen.stimuli.scenes.model import from_json

BLOCK_PX, MAX_DIFFERENCE = 16, 10.0
"""Side of the blocks whose mean levels are compared, and by how much (of 255) two ray-traced images may differ in one.

Measured on 10 scenes: with other threads 0.0, with Mitsuba's other variant or another quality 5.6 at most.
"""


def is_image(recipe: str) -> bool:
    """Whether a recipe (JSON text) is of an image; those of videos name frames."""
    return "spec" in json.loads(recipe)


def rebuild(paths: Mapping[Path, str]) -> float:
    """Render images again, and return the largest difference found (`block_difference`).

    `paths` leads from stored files to recipes (`image_recipe`). Nothing is taken from a cache. Raises SnellenError for
    an image that differs by more than `MAX_DIFFERENCE`, or at all where no ray is traced, and for a renderer that is
    not there.
    """
    largest = 0.0
    for path, text in paths.items():
        recipe = json.loads(text)
        settings = RenderSettings(**recipe["settings"])
        with TemporaryDirectory() as folder:
            (again,) = render_pictures([from_json(canonical(recipe["spec"]))], settings, folder)
            stored, rendered = _pixels(path), _pixels(again)
        difference = block_difference(stored, rendered)
        if difference > MAX_DIFFERENCE or (settings.renderer != "mitsuba" and (stored != rendered).any()):
            raise SnellenError(
                f"{path}: not what its recipe renders (a block of {BLOCK_PX} x {BLOCK_PX} pixels differs by "
                f"{difference:.1f} of 255 levels); build or copy the item set again"
            )
        largest = max(largest, difference)
    return largest


def block_difference(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> float:
    """The largest difference, 0 to 255, between mean levels of a block of 16 x 16 pixels in a channel.

    Both images are (height, width, 3); blocks at the right and lower edge may be smaller. 255 for two sizes.
    """
    if first.shape != second.shape:
        return 255.0
    starts = [np.arange(0, side, BLOCK_PX) for side in first.shape[:2]]
    counts = np.outer(*(np.diff([*start, side]) for start, side in zip(starts, first.shape[:2], strict=True)))
    difference = first.astype(float) - second
    sums = np.add.reduceat(np.add.reduceat(difference, starts[0], axis=0), starts[1], axis=1)
    return float(np.abs(sums / counts[..., None]).max())


def _pixels(path: Path) -> NDArray[np.uint8]:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))
