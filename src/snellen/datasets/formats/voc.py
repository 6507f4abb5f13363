"""Boxes in the XML of Pascal VOC, beside the images or in a folder of their own."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from snellen.core.item import Box
from snellen.datasets.formats.file_tree import entries, images_below, name_below, subfolders
from snellen.datasets.image_files import ImageFile
from snellen.datasets.inventory import Note
from snellen.datasets.sample import RawSample, labelled_image


@dataclass(frozen=True)
class VocBoxes:
    """Settings of the layout: every XML file below the folder, and the image of the same stem wherever it lies.

    The class of an image is the one name that all its objects carry, the box is the one around all of them. Images
    with objects of several classes are left out.
    """

    object: str

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Annotations by name."""
        by_stem: dict[str, Path] = {}
        for path in images_below(root):
            by_stem.setdefault(path.stem, path)
        empty = True
        for xml in _annotations(root):
            empty = False
            yield self._annotation(root, xml, by_stem.pop(xml.stem, None))
        if empty:
            yield Note("missing", "no annotation (*.xml)", str(root))
        for path in by_stem.values():
            yield Note("odd", "image without annotation", name_below(path, root))

    def _annotation(self, root: Path, xml: Path, image_path: Path | None) -> RawSample | Note:
        if image_path is None:
            return Note("missing", "image of this annotation", name_below(xml, root))
        try:
            labels, box = _read(xml)
        except (OSError, ET.ParseError, ValueError, OverflowError):
            return Note("unreadable", "not an annotation in the form of Pascal VOC", name_below(xml, root))
        if len(labels) > 1:
            return Note("left out", "objects of several classes in one image", name_below(image_path, root))
        return labelled_image(name_below(image_path, root), ImageFile(image_path), labels.pop(), self.object, None, box)


def _annotations(folder: Path) -> Iterator[Path]:
    yield from (path for path in entries(folder) if path.suffix.lower() == ".xml")
    for inner in subfolders(folder):
        yield from _annotations(inner)


def _read(xml: Path) -> tuple[set[str], Box]:
    """Names and surrounding box of all objects. VOC counts pixels from 1 and includes the last one."""
    objects = ET.parse(xml).getroot().findall("object")
    labels = {(tag.findtext("name") or "").strip() for tag in objects}
    boxes = [[float(tag.findtext(f"bndbox/{side}") or "x") for side in ("xmin", "ymin", "xmax", "ymax")]
             for tag in objects]  # fmt: skip
    if not boxes or "" in labels:
        raise ValueError("no object")
    x1, y1, x2, y2 = zip(*boxes, strict=True)
    return labels, (max(min(x1) - 1, 0.0), max(min(y1) - 1, 0.0), max(x2), max(y2))
