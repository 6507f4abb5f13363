"""Lays several images out as one."""

from __future__ import annotations

from PIL import Image, ImageDraw, ImageFont

from snellen.core.errors import SnellenError
from snellen.core.item import Media, Montage
from snellen.core.item_checks import size_fault
from snellen.core.storage.media import MediaFolder

_GAP_PX, _LINE_PX, _PAPER, _INK = 8, 28, (255, 255, 255), (0, 0, 0)


def lay_out(montage: Montage, media: MediaFolder) -> Media:
    """One PNG: the images in reading order on white, 8 px apart, labels above them, the title on top.

    Images keep their size unless `cell_px` is set; then they are shrunk (never enlarged) to fit, keeping their shape.
    """
    hashes = [image.sha256 for image in montage.images]
    what = ["montage", montage.version, hashes, montage.columns, montage.labels, montage.title, montage.cell_px]
    return media.derive(what, lambda: _draw(montage, [media.open(image) for image in montage.images]))


def _draw(montage: Montage, images: list[Image.Image]) -> Image.Image:
    images = [image.convert("RGB") for image in images]
    if montage.cell_px:
        images = [_shrink(image, montage.cell_px) for image in images]
    columns = max(1, min(montage.columns, len(images)))
    lines = -(-len(images) // columns)
    width, height = max(p.width for p in images), max(p.height for p in images)
    head, label = _LINE_PX if montage.title else 0, _LINE_PX if montage.labels else 0
    size = (columns * (width + _GAP_PX) + _GAP_PX, head + lines * (height + label + _GAP_PX) + _GAP_PX)
    if fault := size_fault(*size):
        raise SnellenError(f"{len(images)} images on one sheet: {fault}, or show them one by one")
    page = Image.new("RGB", size, _PAPER)
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(20)
    pen.text((_GAP_PX, 4), montage.title, _INK, font)
    for index, image in enumerate(images):
        x = _GAP_PX + index % columns * (width + _GAP_PX)
        y = head + _GAP_PX + index // columns * (height + label + _GAP_PX)
        if montage.labels:
            pen.text((x, y), montage.labels[index], _INK, font)
        page.paste(image, (x, y + label))
    return page


def _shrink(image: Image.Image, cell: tuple[int, int]) -> Image.Image:
    scale = min(1.0, cell[0] / image.width, cell[1] / image.height)
    size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
    return image if scale == 1.0 else image.resize(size, Image.Resampling.LANCZOS)
