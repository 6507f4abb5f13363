"""The layout of MVTec AD and of what was made after it: OBJECT/SPLIT/CLASS/picture, masks in folders of the same names.

Bergmann et al., "The MVTec Anomaly Detection Dataset", IJCV 2021, section 3, and the readme in its archive.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from snellen.datasets.formats.walking import (
    folders_holding,
    masks_by_picture,
    name_below,
    pictures,
    pictures_below,
    subfolders,
)
from snellen.datasets.reading import Found, Note
from snellen.datasets.records import InFile, InFiles, Place

NOT_CLASSES = frozenset({"ground_truth"})


@dataclass(frozen=True)
class MvtecLayout:
    """Settings of the layout; the object is the folder that holds a split.

    `masks` is the folder of masks below the object, with `{split}` and `{label}`; empty: the dataset has none.
    `pictures` is a folder between class and pictures (MVTec 3D-AD: rgb). Pictures of `unmarked` classes need no mask.
    """

    splits: tuple[str, ...] = ("train", "test")
    masks: str = "ground_truth/{label}"
    pictures: str = ""
    unmarked: tuple[str, ...] = ("good",)

    def scan(self, root: Path) -> Iterator[Found | Note]:
        """See `Reader`. Objects by name, splits as declared, classes and pictures by name."""
        nothing = True
        for folder in folders_holding(root, self.splits):
            nothing = False
            for split in self.splits:
                for inner in subfolders(folder / split):
                    if inner.name not in NOT_CLASSES:
                        yield from self._class(root, folder, split, inner)
        if nothing:
            yield Note("missing", f"no OBJECT folder that holds {' or '.join(self.splits)}", str(root))

    def _class(self, root: Path, folder: Path, split: str, inner: Path) -> Iterator[Found | Note]:
        label = inner.name
        # With masks beside the pictures (3D) only the named folder holds pictures; else whatever is below the class.
        paths = pictures(inner / self.pictures) if self.pictures else list(pictures_below(inner))
        if not paths:
            yield Note("odd", "class without pictures", name_below(inner, root))
        marked: dict[str, list[Path]] = {}
        if self.masks and label not in self.unmarked:
            marked = masks_by_picture(folder / self.masks.format(split=split, label=label))
        wanted = bool(self.masks) and label not in self.unmarked and split not in ("train", "validation")
        for path in paths:
            mask = _place(marked.pop(path.stem, []))
            if mask is None and wanted:
                yield Note("odd", "picture without mask", name_below(path, root))
            yield Found(name_below(path, root), InFile(path), label, folder.name, mask)
        for held in marked.values():
            for one in held:
                yield Note("missing", "picture of this mask", name_below(one, root))


def _place(masks: list[Path]) -> Place | None:
    if not masks:
        return None
    return InFile(masks[0]) if len(masks) == 1 else InFiles(tuple(masks))
