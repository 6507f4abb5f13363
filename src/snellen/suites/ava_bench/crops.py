"""What is inside a red box, shown alone: for encoders, which look at a picture as a whole and read no question.

A box drawn into a picture tells a reader where to look. To an encoder it is a few red pixels more, and its features are
those of the whole picture whatever is asked; so it is shown the inside of the box.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.item import Affine, Box, View
from snellen.core.media import MediaFolder


@dataclass(frozen=True)
class Cut:
    """The inside of a box in place of the picture. `box` is in pixels of the stored picture; whole ones are kept."""

    box: Box = field(repr=False)
    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view of the inside. Raises SnellenError for a view of several pictures."""
        if len(view.query) != 1:
            raise SnellenError(f"item {view.item_id}: {len(view.query)} pictures; ava-bench asks about one")
        picture = view.query[0]
        x1, y1, x2, y2 = picture.from_stored.box(self.box)
        left, top = max(0, math.floor(x1)), max(0, math.floor(y1))
        right, bottom = min(picture.width, math.ceil(x2)), min(picture.height, math.ceil(y2))
        inside = (left, top, right, bottom)
        what = ["ava-cut", self.version, list(inside), picture.sha256]
        made = media.derive(what, lambda: media.open(picture).crop(inside), picture, Affine(1, 0, -left, 0, 1, -top))
        return replace(view, query=(made,))
