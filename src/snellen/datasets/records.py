"""What every dataset on disk comes down to: one labelled picture a record, read only when somebody wants to see it."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from snellen.core.errors import SnellenError
from snellen.core.item import Box

if TYPE_CHECKING:
    from PIL import Image

Industry: TypeAlias = Literal["Manufacture", "E-commerce", "Agriculture", "Medical"]
"""Spelled as the release of VFM Bench spells them."""
Level: TypeAlias = Literal["object", "detail", "pattern", "style"]
"""Level of the visual concept that tells the classes apart (VFM Bench, Table 6)."""


@dataclass(frozen=True)
class InFile:
    """A picture file of its own."""

    path: Path


@dataclass(frozen=True)
class InFiles:
    """Several mask files that together mark one picture: what any of them marks is marked."""

    paths: tuple[Path, ...]


@dataclass(frozen=True)
class InRow:
    """A picture inside a table: a Parquet file's row number, or the byte at which a TSV file's row begins."""

    path: Path
    place: int
    column: str


@dataclass(frozen=True)
class InVolume:
    """A slice of a NIfTI volume, the third axis of it brought to right-anterior-superior order being `index`.

    `channel` picks from a fourth axis (None: the first). `window` are the values shown black and white; None takes the
    0.5th and 99.5th percentile of the non-zero voxels of the channel. With `label` the slice is a mask: where the
    volume has this value (0: wherever it is not zero).
    """

    path: Path
    index: int
    channel: int | None = None
    window: tuple[float, float] | None = None
    label: int | None = None


Place: TypeAlias = InFile | InFiles | InRow | InVolume
"""Where a picture or a mask lies."""


@dataclass(frozen=True)
class Record:
    """One labelled picture of a dataset.

    `record_id` is unique within the source and stable: the path below the source's folder in POSIX form, for tables and
    volumes with the row or slice behind `#`. It may tell the label: never show it. `label` is the class name as the
    dataset writes it. `object` is the thing within which classes compete (MVTec: bottle), so that one task is one
    (source, object). `box` is [x1, y1, x2, y2] in pixels of the picture where the dataset has boxes; where it has
    masks, `find_box` computes it.
    """

    source: str
    record_id: str
    picture: Place
    label: str
    object: str
    industry: Industry
    level: Level
    licence: str
    mask: Place | None = None
    box: Box | None = None


def read_picture(record: Record) -> tuple[bytes, str]:
    """The picture's bytes and their format (`png`, `jpg`, `bmp` …).

    Bytes of a picture file are the file's own, whatever format that is. Slices of volumes are made here: the same
    volume gives the same PNG. Raises SnellenError where the file is missing or is no picture.
    """
    place = record.picture
    if isinstance(place, InFile):
        raw = _bytes(place.path)
    elif isinstance(place, InRow):
        from snellen.datasets.formats.tables import read_cell

        raw = read_cell(place)
    elif isinstance(place, InVolume):
        return _png(_slice(place)), "png"
    else:
        raise SnellenError(f"{record.source}/{record.record_id}: several files make a mask, not a picture")
    return raw, picture_format(raw, f"{record.source}/{record.record_id}")


def read_mask(record: Record) -> bytes | None:
    """What the dataset marks, as a grey PNG of 0 and 255 (any non-zero pixel of its masks); None: it marks nothing.

    Raises SnellenError where a mask is missing, is no picture, or two masks of one picture differ in size.
    """
    mask = _open_mask(record)
    return None if mask is None else _png(mask)


def find_box(record: Record) -> Box | None:
    """The record's box, or the extent of its mask as [x1, y1, x2, y2] in pixels; None: nothing is marked."""
    if record.box is not None:
        return record.box
    mask = _open_mask(record)
    extent = None if mask is None else mask.getbbox()
    return None if extent is None else (float(extent[0]), float(extent[1]), float(extent[2]), float(extent[3]))


def picture_format(raw: bytes, where: str) -> str:
    """The format that the bytes are in. Raises SnellenError naming `where` if they are no picture."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(raw)) as picture:
            format = (picture.format or "").lower()
    except Exception as error:  # a damaged picture raises whatever its decoder meets
        raise SnellenError(f"{where}: not a readable picture; copy the file again, or leave it out") from error
    return {"jpeg": "jpg", "mpo": "jpg"}.get(format, format)


def _open_mask(record: Record) -> Image.Image | None:
    from PIL import Image, ImageChops

    place = record.mask
    if place is None:
        return None
    if isinstance(place, InVolume):
        return _slice(place)
    if isinstance(place, InRow):
        raise SnellenError(f"{record.source}/{record.record_id}: masks inside tables are not read")
    marked: Image.Image | None = None
    for path in (place.path,) if isinstance(place, InFile) else place.paths:
        try:
            with Image.open(io.BytesIO(_bytes(path))) as picture:
                one = picture.convert("RGB" if picture.mode in ("P", "RGBA", "LA", "CMYK") else picture.mode)
        except Exception as error:  # as above
            raise SnellenError(f"{path}: not a readable mask; copy the file again, or leave it out") from error
        one = _non_zero(one)
        if marked is not None and marked.size != one.size:
            raise SnellenError(f"{path}: is {one.size}, other masks of the same picture are {marked.size}")
        marked = one if marked is None else ImageChops.lighter(marked, one)
    return marked


def _non_zero(picture: Image.Image) -> Image.Image:
    import numpy as np
    from PIL import Image

    values = np.asarray(picture)
    marked = values.any(axis=2) if values.ndim == 3 else values != 0
    return Image.fromarray(np.where(marked, 255, 0).astype(np.uint8), "L")


def _slice(place: InVolume) -> Image.Image:
    from snellen.datasets.formats.nifti import read_slice

    return read_slice(place)


def _png(picture: Image.Image) -> bytes:
    held = io.BytesIO()
    picture.save(held, "PNG", compress_level=3)
    return held.getvalue()


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SnellenError(f"{path}: cannot be read ({error.strerror}); copy the dataset again") from error
