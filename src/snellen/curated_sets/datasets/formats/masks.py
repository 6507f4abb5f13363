"""Masks in files of their own."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.core.errors import SnellenError
from snellen.core.storage.media import open_image
from snellen.datasets.formats.file_tree import SUFFIXES, entries, images
from snellen.datasets.image_files import image_size, read_bytes

if TYPE_CHECKING:
    from PIL import Image


@dataclass(frozen=True)
class MaskFiles:
    """One or more mask files of one image, combined: a pixel is set if it is non-zero in any of them."""

    paths: tuple[Path, ...]

    def open(self) -> Image.Image:
        """See `Mask`. Also raises SnellenError if two files differ in size."""
        from PIL import ImageChops

        union: Image.Image | None = None
        for path in self.paths:
            try:
                with open_image(io.BytesIO(read_bytes(path))) as image:
                    mask = image.convert("RGB" if image.mode in ("P", "RGBA", "LA", "CMYK") else image.mode)
            except Exception as error:  # a damaged image may raise any exception
                raise SnellenError(f"{path}: not a readable mask; copy the file again, or leave it out") from error
            mask = _non_zero(mask)
            if union is not None and union.size != mask.size:
                raise SnellenError(f"{path}: is {mask.size}, but other masks of the same image are {union.size}")
            union = mask if union is None else ImageChops.lighter(union, mask)
        assert union is not None, "without files there is no mask"
        return union

    def inspect(self) -> tuple[int, int] | None:
        """See `Mask`. Several files are compared when they are opened."""
        if len(self.paths) != 1:
            return None
        size = image_size(self.paths[0])
        if size is None:
            raise SnellenError(str(self.paths[0]))
        return size


def _non_zero(image: Image.Image) -> Image.Image:
    import numpy as np
    from PIL import Image

    values = np.asarray(image)
    marked = values.any(axis=2) if values.ndim == 3 else values != 0
    return Image.fromarray(np.where(marked, 255, 0).astype(np.uint8), "L")


def masks_by_image(folder: Path) -> dict[str, list[Path]]:
    """Mask files of a folder by the stem of their image.

    `7.png`, `7_mask.png`, `7_mask2.png` and every image in the folder `7` belong to the image whose stem is 7, as in
    MVTec AD, AITEX and MVTec LOCO AD.
    """
    masks: dict[str, list[Path]] = {}
    for path in entries(folder):
        if path.is_dir():
            masks.setdefault(path.name, []).extend(images(path))
        elif path.suffix.lower() in SUFFIXES:
            masks.setdefault(re.sub(r"_mask\d*$", "", path.stem), []).append(path)
    return masks
