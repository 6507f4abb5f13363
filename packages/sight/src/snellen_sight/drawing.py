"""The images of the checks. Colours that checks of layout use stay the same if red and blue are exchanged."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from snellen_sight.figures import canvas, coverage, image_of, landolt, paint, window

RGB = {
    "red": (225, 25, 25), "green": (25, 170, 25), "blue": (25, 25, 225), "yellow": (235, 235, 30),
    "cyan": (30, 235, 235), "magenta": (225, 25, 225), "white": (250, 250, 250), "black": (8, 8, 8),
    "grey": (128, 128, 128),
}  # fmt: skip
STABLE = ("green", "magenta", "white", "black")
"""Colours that stay the same if red and blue are exchanged."""
SIDE, LONG = 448, 1344
END = 0.05
"""The share of a long image that the band at each end takes."""
ORIENTATION = 0x0112
"""The EXIF tag of orientation flags."""
TURNED = {3: Image.Transpose.ROTATE_180, 6: Image.Transpose.ROTATE_90, 8: Image.Transpose.ROTATE_270}
"""How pixels are stored under an orientation flag so that a viewer that applies it shows them upright."""


@dataclass(frozen=True)
class SightFile:
    """An image file as it is sent, or a video with its `seconds`. `size` is (width, height) in pixels."""

    raw: bytes
    format: str
    size: tuple[int, int]
    seconds: float = 0.0

    @property
    def path(self) -> str:
        """Where it lies in a folder of media: by the SHA-256 of its bytes."""
        name = hashlib.sha256(self.raw).hexdigest()
        return f"{name[:2]}/{name}.{self.format}"


def png(image: Image.Image) -> SightFile:
    """The image as a PNG file."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)
    return SightFile(buffer.getvalue(), "png", image.size)


def filled(colour: str) -> Image.Image:
    """An image of one colour."""
    return Image.new("RGB", (SIDE, SIDE), RGB[colour])


def letter(text: str, side: int = SIDE) -> Image.Image:
    """A black capital letter, 55 % as high as the white image."""
    image = Image.new("RGB", (side, side), RGB["white"])
    font = ImageFont.load_default(side * 0.8)
    ImageDraw.Draw(image).text((side / 2, side / 2), text, RGB["black"], font, anchor="mm")
    return image


def framed(colours: Sequence[str]) -> Image.Image:
    """A grey square in a frame whose top, right, bottom and left have these colours."""
    image = Image.new("RGB", (SIDE, SIDE), RGB["grey"])
    draw, end, inner = ImageDraw.Draw(image), SIDE - 1, 110
    corners = [(0, 0), (end, 0), (end, end), (0, end)]
    inside = [(inner, inner), (end - inner, inner), (end - inner, end - inner), (inner, end - inner)]
    for number, colour in enumerate(colours):
        following = (number + 1) % 4
        draw.polygon([corners[number], corners[following], inside[following], inside[number]], RGB[colour])
    return image


def flagged(image: Image.Image, flag: int) -> SightFile:
    """A JPEG file with an orientation flag, which shows the image upright if the flag is applied."""
    exif, buffer = Image.Exif(), io.BytesIO()
    exif[ORIENTATION] = flag
    stored = image.transpose(TURNED[flag])
    stored.save(buffer, "JPEG", quality=95, subsampling=0, exif=exif)
    return SightFile(buffer.getvalue(), "jpg", stored.size)


def transparent(hidden: str) -> Image.Image:
    """A grey disc whose surroundings are transparent; their pixels hide a colour."""
    image = Image.new("RGBA", (SIDE, SIDE), (*RGB[hidden], 0))
    ImageDraw.Draw(image).ellipse((124, 124, 324, 324), (*RGB["grey"], 255))
    return image


def bands(colours: Sequence[str], is_wide: bool) -> Image.Image:
    """Bands of these colours, from left to right of a wide image or from top to bottom of a tall one.

    The outermost two have an `END` of the length each, so that a slight crop removes them.
    """
    image, draw_end = Image.new("RGB", (LONG, SIDE), RGB[colours[0]]), round(LONG * END)
    draw, edges = ImageDraw.Draw(image), np.linspace(draw_end, LONG - draw_end, len(colours) - 1).round().astype(int)
    for edge, colour in zip(edges, colours[1:], strict=True):
        draw.rectangle((int(edge), 0, LONG, SIDE), RGB[colour])
    return image if is_wide else image.transpose(Image.Transpose.ROTATE_270)


def ellipse(is_circle: bool, is_wide: bool) -> Image.Image:
    """A circle in the middle of a wide or tall image, or an ellipse three times as long in the same direction."""
    image = Image.new("RGB", (LONG, SIDE), RGB["white"])
    x, y, half, width = LONG / 2, SIDE / 2, 60 if not is_circle else 150, 180 if not is_circle else 150
    ImageDraw.Draw(image).ellipse((x - width, y - half, x + width, y + half), RGB["black"])
    return image if is_wide else image.transpose(Image.Transpose.ROTATE_90)


def ring(side: int, gap_px: float, direction: int) -> Image.Image:
    """A Landolt ring in the middle of a square image; `direction` counts counterclockwise from the right."""
    return chart(side, [gap_px], [direction], np.zeros((1, 2)), 1)


def chart(
    side: int, gaps: Sequence[float], directions: Sequence[int], shifts: NDArray[np.float64], columns: int = 4
) -> Image.Image:
    """Black Landolt rings on white in rows of equal cells; `shifts` (n, 2) move them by pixels."""
    plane, rows = canvas(side, 0.95), len(gaps) // columns
    for number, (gap, direction, (dx, dy)) in enumerate(zip(gaps, directions, shifts, strict=True)):
        x = (number % columns + 0.5) * side / columns + float(dx)
        y = (number // columns + 0.5) * side / rows + float(dy)
        region = window(plane, x, y, 2.5 * gap + 1)
        paint(plane, region, coverage(landolt(x, y, gap, direction), region), 0.01)
    return image_of(plane)


def striped(quarter: int, chroma: float) -> Image.Image:
    """Stripes of 4 px in one quarter of a grey image, reddish and greenish, of equal luma.

    They are one coefficient of JPEG's transform at half the resolution of colour. `chroma` is their amplitude in levels
    of Cr.
    """
    pixels = np.full((SIDE, SIDE, 3), 128.0)
    across = np.where((np.arange(SIDE) + 2) // 4 % 2 == 0, chroma, -chroma)
    rows, columns = (slice(16, 208) if not half else slice(240, 432) for half in (quarter // 2, quarter % 2))
    pixels[rows, columns] += across[None, columns, None] * np.array([1.402, -0.714136, 0.0])
    return Image.fromarray(np.rint(pixels).astype(np.uint8))


def gradients(smooth: int) -> Image.Image:
    """Quarters that go from dark to light, each in another hue: one of them smoothly, the others in eight steps."""
    image, half, side = Image.new("RGB", (SIDE, SIDE), RGB["white"]), SIDE // 2, SIDE // 2 - 16
    for quarter, hue in enumerate(((1.0, 0.7, 0.7), (0.7, 1.0, 0.7), (0.7, 0.7, 1.0), (1.0, 1.0, 0.7))):
        share = np.arange(side) / side if quarter == smooth else np.arange(side) * 8 // side / 8
        row = np.rint((50 + 190 * share)[:, None] * np.array(hue)).astype(np.uint8)
        image.paste(Image.fromarray(np.repeat(row[None], side, 0)), (quarter % 2 * half + 8, quarter // 2 * half + 8))
    return image
