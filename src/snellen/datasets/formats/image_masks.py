"""A folder of pictures beside a folder of masks: camouflage datasets and AITEX."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from snellen.datasets.formats.walking import folders_holding, masks_by_picture, name_below, pictures_below
from snellen.datasets.reading import Found, Note
from snellen.datasets.records import InFile, InFiles


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

    def scan(self, root: Path) -> Iterator[Found | Note]:
        """See `Reader`. Pairs as declared, pictures by name."""
        bases = list(folders_holding(root, tuple(pair.pictures for pair in self.pairs)))
        if not bases:
            yield Note("missing", f"no folder {' or '.join(pair.pictures for pair in self.pairs)}", str(root))
        for base in bases:
            yield from self._base(root, base)

    def _base(self, root: Path, base: Path) -> Iterator[Found | Note]:
        marked = {pair.masks: masks_by_picture(base / pair.masks) for pair in self.pairs if pair.masks}
        for pair in self.pairs:
            nothing = True
            for path in pictures_below(base / pair.pictures):
                nothing = False
                label = next((label for name, label in pair.names if fnmatch(path.name, name)), pair.label)
                masks = marked[pair.masks].pop(path.stem, []) if pair.masks else []
                if not masks and pair.masks and label not in self.unmarked:
                    yield Note("odd", "picture without mask", name_below(path, root))
                mask = None if not masks else InFile(masks[0]) if len(masks) == 1 else InFiles(tuple(masks))
                yield Found(name_below(path, root), InFile(path), label, self.object, mask)
            if nothing:
                yield Note("missing", "pictures of this folder", name_below(base / pair.pictures, root))
        for held in marked.values():
            for one in (path for paths in held.values() for path in paths):
                yield Note("missing", "picture of this mask", name_below(one, root))
