"""Laying several pictures out as one."""

from __future__ import annotations

from PIL import Image, ImageDraw, ImageFont

from snellen.core.errors import SnellenError
from snellen.core.item import Media, Montage
from snellen.core.item_checks import size_fault
from snellen.core.media import MediaFolder

_GAP_PX, _LINE_PX, _PAPER, _INK = 8, 28, (255, 255, 255), (0, 0, 0)


def lay_out(montage: Montage, media: MediaFolder) -> Media:
    """One PNG: the pictures in reading order on white, 8 px apart, labels above them, the title on top.

    A picture is shown at its own size unless `cell_px` is set; it is then shrunk (never enlarged) to fit, keeping its
    shape.
    """
    hashes = [picture.sha256 for picture in montage.pictures]
    what = ["montage", montage.version, hashes, montage.columns, montage.labels, montage.title, montage.cell_px]
    return media.derive(what, lambda: _draw(montage, [media.open(picture) for picture in montage.pictures]))


def _draw(montage: Montage, pictures: list[Image.Image]) -> Image.Image:
    pictures = [picture.convert("RGB") for picture in pictures]
    if montage.cell_px:
        pictures = [_shrink(picture, montage.cell_px) for picture in pictures]
    columns = max(1, min(montage.columns, len(pictures)))
    lines = -(-len(pictures) // columns)
    width, height = max(p.width for p in pictures), max(p.height for p in pictures)
    head, label = _LINE_PX if montage.title else 0, _LINE_PX if montage.labels else 0
    size = (columns * (width + _GAP_PX) + _GAP_PX, head + lines * (height + label + _GAP_PX) + _GAP_PX)
    if fault := size_fault(*size):
        raise SnellenError(f"{len(pictures)} pictures on one sheet: {fault}, or ask one by one")
    page = Image.new("RGB", size, _PAPER)
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(20)
    pen.text((_GAP_PX, 4), montage.title, _INK, font)
    for index, picture in enumerate(pictures):
        x = _GAP_PX + index % columns * (width + _GAP_PX)
        y = head + _GAP_PX + index // columns * (height + label + _GAP_PX)
        if montage.labels:
            pen.text((x, y), montage.labels[index], _INK, font)
        page.paste(picture, (x, y + label))
    return page


def _shrink(picture: Image.Image, cell: tuple[int, int]) -> Image.Image:
    scale = min(1.0, cell[0] / picture.width, cell[1] / picture.height)
    size = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
    return picture if scale == 1.0 else picture.resize(size, Image.Resampling.LANCZOS)
