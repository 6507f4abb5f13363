"""A folder of images with a folder of masks: camouflage datasets and AITEX."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from snellen.curated_sets.datasets.formats.masks import MaskFiles, masks_by_image
from snellen.datasets.formats.file_tree import images_below, layout_folders, name_below
from snellen.datasets.image_files import ImageFile
from snellen.datasets.notes import Note
from snellen.datasets.sample import RawSample, labelled_image


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
