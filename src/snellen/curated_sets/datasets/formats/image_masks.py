"""A folder of images with a folder of masks: camouflage datasets and AITEX."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.core.errors import SnellenError
from snellen.core.storage.media import open_image
from snellen.datasets.formats.file_tree import SUFFIXES, entries, images, images_below, layout_folders, name_below
from snellen.datasets.image_files import ImageFile, image_size, read_bytes
from snellen.datasets.sample import Note, RawSample, labelled_image

if TYPE_CHECKING:
    from PIL import Image


@dataclass(frozen=True)
class FolderPair:
    """A folder of images (including its subfolders), the folder of their masks ("" for none), and the class.

    `names` (file name pattern, class) take precedence, in order: COD10K has the class in the file name.
    """

    images: str
    masks: str
    label: str
    names: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class ImagesAndMasks:
    """Settings of the layout. Images of `unmarked` classes need no mask."""

    object: str
    pairs: tuple[FolderPair, ...]
    unmarked: tuple[str, ...] = ()

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Pairs as declared, images by name."""
        for base in layout_folders(root, tuple(pair.images for pair in self.pairs), "folder"):
            masks = {pair.masks: masks_by_image(base / pair.masks) for pair in self.pairs if pair.masks}
            for pair in self.pairs:
                paths = list(images_below(base / pair.images))
                for path in paths:
                    label = next((label for name, label in pair.names if fnmatch(path.name, name)), pair.label)
                    mask_paths = tuple(masks[pair.masks].pop(path.stem, [])) if pair.masks else ()
                    if not mask_paths and pair.masks and label not in self.unmarked:
                        yield Note("odd", "image without mask", name_below(path, root))
                    mask = MaskFiles(mask_paths) if mask_paths else None
                    yield labelled_image(name_below(path, root), ImageFile(path), label, self.object, mask)
                if not paths:
                    yield Note("missing", "images of this folder", name_below(base / pair.images, root))
            for unused in (path for by_stem in masks.values() for paths in by_stem.values() for path in paths):
                yield Note("missing", "image of this mask", name_below(unused, root))


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
