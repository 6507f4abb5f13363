"""Transforms of images and answers: padding to a square, drawn boxes, labelled options, boxes in shares of the image.

Order: `ObjectNames`, `Labelled`, `Cut`, `Padded` or `Boxed`, `Marked`, `UnitFrame`, controls. Boxes are always mapped
through `Media.from_stored`, so that regions and answers stay in pixels of the stored image.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import ascii_uppercase
from typing import Literal

import numpy as np
from PIL import Image, ImageDraw

from snellen.core.errors import SnellenError
from snellen.core.item import Affine, Box, Mark, Media, View
from snellen.core.storage.media import MediaFolder
from snellen.suites.ava_bench.prompts import without_marks

PADDING_RGB = (124, 120, 111)
"""Mean over the image processors of nine models (appendix A.2, localization and recognition)."""
COLOURS: Mapping[str, tuple[int, int, int]] = {"red": (255, 0, 0), "blue": (0, 0, 255)}
"""The paper names red and blue, without numbers."""
LINE_SHARE, MIN_LINE_PX = 1 / 128, 2
"""Width of lines as a share of the longer side, and at least in pixels; ours, since the paper states none."""


@dataclass(frozen=True)
class Padded:
    """Every image of the query in the middle of a square as wide as its longer side, the rest in `PADDING_RGB`.

    If the strips differ by a pixel, the one to the right or below is wider. Square images stay the same files.
    """

    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view with square images."""
        return replace(view, query=tuple(self._pad(image, media) for image in view.query))

    def _pad(self, image: Media, media: MediaFolder) -> Media:
        if image.width == image.height:
            return image
        what = ["ava-pad", self.version, list(PADDING_RGB), image.sha256]
        return media.derive(what, lambda: pad(media.open(image)), image, padding(image.width, image.height))


def padding(width: int, height: int) -> Affine:
    """The map from pixels of an image of this size to those of its padded square."""
    side = max(width, height)
    return Affine(1, 0, (side - width) // 2, 0, 1, (side - height) // 2)


def pad(image: Image.Image) -> Image.Image:
    """The image in the middle of a square as wide as its longer side, the rest in `PADDING_RGB`."""
    shift = padding(*image.size)
    square = Image.new("RGB", (max(image.size), max(image.size)), PADDING_RGB)
    square.paste(image.convert("RGB"), (int(shift.c), int(shift.f)))
    return square


@dataclass(frozen=True)
class Boxed:
    """Red and blue boxes drawn around regions of the query. `boxes` are in pixels of the stored image, by colour.

    Lines are outside of the box, so that its content (a colour, small print) keeps its pixels; a line beyond the edge
    of the image is cut off. Blue is drawn first, red over it. With `padded` the image is first padded as by `Padded`,
    without an intermediate file.
    """

    boxes: Mapping[str, Box] = field(repr=False)
    padded: bool = False
    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view with its boxes. Raises SnellenError for a view of several images."""
        image = _only(view)
        moved = padding(image.width, image.height) if self.padded else Affine()
        to_image = image.from_stored.then(moved)
        boxes = {name: to_image.box(self.boxes[name]) for name in sorted(self.boxes)}

        def draw() -> Image.Image:
            opened = media.open(image)
            return draw_boxes(pad(opened) if self.padded else opened, boxes)

        coordinates = {name: list(box) for name, box in boxes.items()}
        what = ["ava-boxes", self.version, coordinates, image.sha256, *([list(PADDING_RGB)] if self.padded else ())]
        return replace(view, query=(media.derive(what, draw, image, moved),))


@dataclass(frozen=True)
class Marked:
    """The positions of the drawn boxes as marks of the view. `boxes` are in pixels of the stored image, by colour."""

    boxes: Mapping[str, Box] = field(repr=False)
    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view with its marks. Raises SnellenError for a view of several images."""
        to_image = _only(view).from_stored
        marks = tuple(Mark(name, to_image.box(self.boxes[name])) for name in sorted(self.boxes))
        return replace(view, marks=marks)


def line_px(width: int, height: int) -> int:
    """The width of lines in an image of this size, in pixels."""
    return max(MIN_LINE_PX, round(LINE_SHARE * max(width, height)))


def draw_boxes(image: Image.Image, boxes: Mapping[str, Box]) -> Image.Image:
    """A copy with boxes drawn in their order; `boxes` are in pixels of this image, by colour."""
    canvas = image.convert("RGB")
    line, pen = line_px(*canvas.size), ImageDraw.Draw(canvas)
    for name, (x1, y1, x2, y2) in boxes.items():
        # The last pixel that Pillow draws is included: a box up to x2 ends with pixel x2 - 1.
        left, top = int(np.floor(x1)) - line, int(np.floor(y1)) - line
        right, bottom = int(np.ceil(x2)) - 1 + line, int(np.ceil(y2)) - 1 + line
        pen.rectangle((left, top, right, bottom), outline=COLOURS[name], width=line)
    return canvas


@dataclass(frozen=True)
class Cut:
    """The inside of a box instead of the image. `box` is in pixels of the stored image, rounded outwards.

    For encoders, which see an image as a whole and read no question: a drawn box only adds a few red pixels, and
    features are those of the whole image whatever the question.
    """

    box: Box = field(repr=False)
    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view of the inside. Raises SnellenError for a view of several images."""
        image = _only(view)
        x1, y1, x2, y2 = image.from_stored.box(self.box)
        left, top = max(0, math.floor(x1)), max(0, math.floor(y1))
        right, bottom = min(image.width, math.ceil(x2)), min(image.height, math.ceil(y2))
        inside = (left, top, right, bottom)
        what = ["ava-cut", self.version, list(inside), image.sha256]
        crop = media.derive(what, lambda: media.open(image).crop(inside), image, Affine(1, 0, -left, 0, 1, -top))
        return replace(view, query=(crop,))


@dataclass(frozen=True)
class ObjectNames:
    """A question about objects by their names alone. Options that are colours of boxes become `names`, by colour."""

    names: Mapping[str, str] = field(repr=False)
    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view without mentions of boxes."""
        options = tuple(replace(option, text=self.names.get(option.text, option.text)) for option in view.options)
        return replace(view, question=without_marks(view.question, self.names), options=options)


@dataclass(frozen=True)
class Labelled:
    """Options as `A. Left above` or `1. red`; label and text, each alone or both, count as the answer."""

    style: Literal["letters", "numbers"]
    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view with labels. Raises SnellenError for more options than there are letters."""
        count = len(view.options)
        if self.style == "letters" and count > len(ascii_uppercase):
            raise SnellenError(f"item {view.item_id}: {count} options, but only {len(ascii_uppercase)} letters")
        labels = list(ascii_uppercase[:count]) if self.style == "letters" else [str(n + 1) for n in range(count)]
        keys: list[tuple[str, str]] = []
        for label, option in zip(labels, view.options, strict=True):
            keys += [(f"{label}. {option.text}", option.key), (label, option.key)]
            if option.text.upper() not in labels:  # a text that equals a label would name two options
                keys.append((option.text, option.key))
        return replace(view, reply=replace(view.reply, keys=tuple(keys)))


def boxes_of(colours: Sequence[str], regions: Mapping[str, object]) -> dict[str, Box]:
    """The regions of an item to draw in these colours; none for released images, which have their boxes drawn in."""
    boxes: dict[str, Box] = {}
    for colour in colours:
        box = regions.get(colour)
        if isinstance(box, list | tuple):
            x1, y1, x2, y2 = map(float, box)
            boxes[colour] = (x1, y1, x2, y2)
    return boxes


def _only(view: View) -> Media:
    if len(view.query) != 1:
        raise SnellenError(f"item {view.item_id}: {len(view.query)} images; ava-bench asks about one")
    return view.query[0]
