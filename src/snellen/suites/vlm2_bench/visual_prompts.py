"""Visual prompting (section 4): dots with coordinates over the images of GC, crops of objects and faces (OC, PC)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from snellen.core.errors import SnellenError
from snellen.core.item import Affine, Box, Item, Media, View
from snellen.core.storage.media import MediaFolder
from snellen.core.suite import ViewContext

ROWS, COLUMNS = 6, 6
"""Rows and columns of dots, as in the scaffolding that VP-grid follows; the paper prints no numbers."""
_DOT_SHARE, _FONT_SHARE, _MIN_FONT_PX = 0.006, 0.03, 15
"""Size of dots and labels as shares of the image's smaller side. In type smaller than the minimum, commas vanish."""
_LABEL_SHARE = 0.7
"""Maximum share of a cell's width for a label; the rest shows the image."""
BOXES = "boxes"
"""The annotation table with the boxes to zoom into (`--input boxes=RUN`)."""


@dataclass(frozen=True)
class DotGrid:
    """A matrix of dots, each with (t, x, y): t the image from 1, x the row from the top, y the column from the left.

    This follows Figure 9 and its instructions; the text of the appendix swaps x and y. Dots and labels are black with a
    white rim, so that they are visible on any background. An image whose labels would overlap is enlarged by the
    smallest sufficient whole number.
    """

    rows: int = ROWS
    columns: int = COLUMNS
    version: int = 2

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view with dots over the images of its query."""
        images = tuple(self._dotted(image, t, media) for t, image in enumerate(view.query, 1))
        return replace(view, query=images)

    def _dotted(self, image: Media, t: int, media: MediaFolder) -> Media:
        what = ["dot-grid", self.version, image.sha256, t, self.rows, self.columns]
        factor = self.enlargement(image.width, image.height)
        return media.derive(what, lambda: self.draw(media.open(image), t), image, Affine(a=factor, e=factor))

    def enlargement(self, width: int, height: int) -> int:
        """The enlargement of an image of this size: the least whole number with which every label fits its cell."""
        factor = 1
        while True:
            left, top, right, bottom = _font(factor * width, factor * height).getbbox("(8,8,8)", stroke_width=2)
            if (
                right - left <= _LABEL_SHARE * factor * width / self.columns
                and 2 * (bottom - top) <= factor * height / self.rows
            ):
                return factor
            factor += 1

    def places(self, width: int, height: int) -> list[tuple[int, int, float, float]]:
        """(row, column, x in pixels, y in pixels) of every dot, evenly spaced, half a step from the edges."""
        return [
            (row, column, (column - 0.5) * width / self.columns, (row - 0.5) * height / self.rows)
            for row in range(1, self.rows + 1)
            for column in range(1, self.columns + 1)
        ]

    def draw(self, image: Image.Image, t: int) -> Image.Image:
        """The image with dots and labels."""
        factor = self.enlargement(*image.size)
        dotted = image.convert("RGB")
        if factor > 1:
            dotted = dotted.resize((factor * image.width, factor * image.height), Image.Resampling.LANCZOS)
        pen, font = ImageDraw.Draw(dotted), _font(*dotted.size)
        radius = max(2.0, _DOT_SHARE * min(dotted.size))
        for row, column, x, y in self.places(*dotted.size):
            pen.ellipse((x - radius - 1, y - radius - 1, x + radius + 1, y + radius + 1), fill="white")
            pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill="black")
            label = f"({t},{row},{column})"
            pen.text((x, y + radius + 1), label, "black", font, anchor="ma", stroke_width=2, stroke_fill="white")
        return dotted


def _font(width: int, height: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(max(_MIN_FONT_PX, round(_FONT_SHARE * min(width, height))))
    assert isinstance(font, ImageFont.FreeTypeFont)  # Pillow with FreeType, as all wheels are
    return font


@dataclass(frozen=True)
class Zoom:
    """Crop every image to its box; an image without a detection stays whole.

    `boxes` maps a stored image to [x1, y1, x2, y2] in its pixels, or None if nothing was detected.
    """

    boxes: Mapping[str, Sequence[float] | None] = field(repr=False)
    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view with cropped images. Raises SnellenError for an image that the table lacks."""
        return replace(view, query=tuple(self._cut(image, view, media) for image in view.query))

    def _cut(self, image: Media, view: View, media: MediaFolder) -> Media:
        if image.stored_sha256 not in self.boxes:
            raise SnellenError(
                f"item {view.item_id}: the table of boxes lacks image {image.sha256[:12]}; make it again for this item "
                f"set"
            )
        box = self.boxes[image.stored_sha256]
        if box is None:
            return image
        x1, y1, x2, y2 = whole_pixels(box, image)
        what = ["zoom", self.version, image.sha256, [x1, y1, x2, y2]]
        return media.derive(
            what, lambda: media.open(image).convert("RGB").crop((x1, y1, x2, y2)), image, Affine(1, 0, -x1, 0, 1, -y1)
        )


def whole_pixels(box: Sequence[float], image: Media) -> tuple[int, int, int, int]:
    """The box in whole pixels, rounded outwards and clipped to the image; at least one pixel wide and high."""
    x1, y1 = max(0, int(np.floor(box[0]))), max(0, int(np.floor(box[1])))
    x2, y2 = min(image.width, int(np.ceil(box[2]))), min(image.height, int(np.ceil(box[3])))
    x1, y1 = min(x1, image.width - 1), min(y1, image.height - 1)
    return x1, y1, max(x2, x1 + 1), max(y2, y1 + 1)


def zoom(item: Item, context: ViewContext) -> Zoom:
    """The crop of an item, by the table of boxes of this run, else by the exact boxes of a generated item.

    Raises SnellenError if there are neither.
    """
    table = context.annotations.get(BOXES)
    if table is not None:
        row = table.rows.get(item.item_id, {})
        return Zoom({sha: best_box(reply) for sha, reply in row.items()})
    exact: Mapping[str, Any] = item.regions.get(BOXES, {})
    if not exact:
        raise SnellenError(
            f"item {item.item_id}: zooming needs boxes; build their item set with `snellen build vlm2-bench/zoom "
            f"--from curated --source items=ITEMSET --out Z`, let a detector answer it with `snellen run Z --subject "
            f"detector:… --out ZR`, and give `--input boxes=ZR`"
        )
    return Zoom({sha: [float(x) for x in box] for sha, box in exact.items()})


def best_box(reply: str | None) -> Box | None:
    """The box with the highest score in a detector's reply (JSON with `boxes`); None if it has none."""
    try:
        boxes = json.loads(reply or "{}").get("boxes", [])
        best = max(boxes, key=lambda box: float(box.get("score", 0.0)), default=None)
        if best is None:
            return None
        x1, y1, x2, y2 = (float(x) for x in best["box"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SnellenError(
            f"a detector's reply is not a JSON object with boxes ({error}): {(reply or '')[:80]!r}"
        ) from error
    return x1, y1, x2, y2
