"""A folder of pictures beside a folder of masks: camouflage datasets and AITEX."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from snellen.datasets.formats.file_tree import folders_holding, masks_by_picture, name_below, pictures_below
from snellen.datasets.inventory import Note
from snellen.datasets.picture_files import MaskFiles, PictureFile
from snellen.datasets.sample import RawSample, labelled_picture


@dataclass(frozen=True)
class Pair:
    """A folder of pictures (those in folders below it too), the folder of their masks ("" for none), and the class.

    `names` (file name pattern, class) are looked at first, in order: COD10K tells the class in the file name.
    """

    pictures: str
    masks: str
    label: str
    names: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class ImagesAndMasks:
    """Settings of the layout. Pictures of `unmarked` classes need no mask."""

    object: str
    pairs: tuple[Pair, ...]
    unmarked: tuple[str, ...] = ()

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Pairs as declared, pictures by name."""
        bases = list(folders_holding(root, tuple(pair.pictures for pair in self.pairs)))
        if not bases:
            yield Note("missing", f"no folder {' or '.join(pair.pictures for pair in self.pairs)}", str(root))
        for base in bases:
            yield from self._base(root, base)

    def _base(self, root: Path, base: Path) -> Iterator[RawSample | Note]:
        masks = {pair.masks: masks_by_picture(base / pair.masks) for pair in self.pairs if pair.masks}
        for pair in self.pairs:
            empty = True
            for path in pictures_below(base / pair.pictures):
                empty = False
                label = next((label for name, label in pair.names if fnmatch(path.name, name)), pair.label)
                mask_paths = tuple(masks[pair.masks].pop(path.stem, [])) if pair.masks else ()
                if not mask_paths and pair.masks and label not in self.unmarked:
                    yield Note("odd", "picture without mask", name_below(path, root))
                mask = MaskFiles(mask_paths) if mask_paths else None
                yield labelled_picture(name_below(path, root), PictureFile(path), label, self.object, mask)
            if empty:
                yield Note("missing", "pictures of this folder", name_below(base / pair.pictures, root))
        for unused in (path for by_stem in masks.values() for paths in by_stem.values() for path in paths):
            yield Note("missing", "picture of this mask", name_below(unused, root))
