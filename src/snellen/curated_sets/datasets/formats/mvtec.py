"""The layout of MVTec AD and its successors: OBJECT/SPLIT/CLASS/image, masks in folders of the same names.

Bergmann et al., "The MVTec Anomaly Detection Dataset", IJCV 2021, section 3, and the readme in its archive.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from snellen.curated_sets.datasets.formats.image_masks import MaskFiles, masks_by_image
from snellen.datasets.formats.file_tree import images, images_below, layout_folders, name_below, subfolders
from snellen.datasets.image_files import ImageFile
from snellen.datasets.sample import Note, RawSample, labelled_image

NOT_CLASSES = frozenset({"ground_truth"})


@dataclass(frozen=True)
class MvtecLayout:
    """Settings of the layout; the object is the folder that contains a split.

    `masks` is the folder of masks in the object's folder, with `{split}` and `{label}`; empty if there are none.
    `images` is a folder between class and images (MVTec 3D-AD: rgb). Images of `unmarked` classes need no mask.
    """

    splits: tuple[str, ...] = ("train", "test")
    masks: str = "ground_truth/{label}"
    images: str = ""
    unmarked: tuple[str, ...] = ("good",)

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Objects by name, splits as declared, classes and images by name."""
        for folder in layout_folders(root, self.splits, "OBJECT folder that holds"):
            for split in self.splits:
                for class_folder in subfolders(folder / split):
                    if class_folder.name not in NOT_CLASSES:
                        yield from self._class(root, folder, split, class_folder)

    def _class(self, root: Path, folder: Path, split: str, class_folder: Path) -> Iterator[RawSample | Note]:
        label = class_folder.name
        # If masks are next to the images (3D), only the named folder holds images; else everything in the class does.
        paths = images(class_folder / self.images) if self.images else list(images_below(class_folder))
        if not paths:
            yield Note("odd", "class without images", name_below(class_folder, root))
        masks: dict[str, list[Path]] = {}
        if self.masks and label not in self.unmarked:
            masks = masks_by_image(folder / self.masks.format(split=split, label=label))
        needs_mask = bool(self.masks) and label not in self.unmarked and split not in ("train", "validation")
        for path in paths:
            mask_paths = tuple(masks.pop(path.stem, []))
            mask = MaskFiles(mask_paths) if mask_paths else None
            if mask is None and needs_mask:
                yield Note("odd", "image without mask", name_below(path, root))
            yield labelled_image(name_below(path, root), ImageFile(path), label, folder.name, mask)
        for unused in (path for paths in masks.values() for path in paths):
            yield Note("missing", "image of this mask", name_below(unused, root))
