"""Sequences of one scene from dark to bright, with a well exposed reference for each: SICE.

Cai, Gu and Zhang, "Learning a Deep Single Image Contrast Enhancer from Multi-Exposure Images", IEEE TIP 2018:
`Dataset_Part1/SCENE/1.JPG` … in order of exposure, `Dataset_Part1/Label/SCENE.JPG` the reference.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from snellen.datasets.formats.file_tree import folders_holding, images, name_below, subfolders
from snellen.datasets.image_files import ImageFile
from snellen.datasets.sample import Note, RawSample, labelled_image


@dataclass(frozen=True)
class Exposures:
    """Settings of the layout. `classes` are those of a sequence's darkest image, its reference, and its brightest.

    Images in between are left out, since no labels state which of them look right. Sequences with a gap are left out; a
    missing last image goes unnoticed, since sequences differ in length.
    """

    object: str
    classes: tuple[str, str, str] = ("under-exposed", "well exposed", "over-exposed")
    references: str = "Label"
    min_images: int = 3

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Parts and scenes by name; within a scene dark, reference, bright."""
        bases = list(folders_holding(root, (self.references,)))
        if not bases:
            yield Note("missing", f"no folder {self.references} with the sequences", str(root))
        for base in bases:
            references = {path.stem: path for path in images(base / self.references)}
            for folder in sorted(subfolders(base), key=lambda path: _order(path.name)):
                if folder.name != self.references:
                    yield from self._sequence(root, folder, references.pop(folder.name, None))
            for path in references.values():
                yield Note("missing", "sequence of this reference", name_below(path, root))

    def _sequence(self, root: Path, folder: Path, reference: Path | None) -> Iterator[RawSample | Note]:
        location = name_below(folder, root)
        paths = sorted(images(folder), key=lambda path: _order(path.stem))
        if len(paths) < self.min_images:
            yield Note("missing", f"images of a sequence (fewer than {self.min_images})", location)
            return
        numbers = [_order(path.stem)[0] for path in paths]
        if numbers != list(range(1, len(paths) + 1)):  # another image would take the place of a missing dark one
            yield Note("missing", "images of a sequence (numbers are not 1, 2, …)", location)
            return
        if reference is None:
            yield Note("missing", "reference of a sequence", location)
        for path in paths[1:-1]:
            yield Note("left out", "middle of a sequence", name_below(path, root))
        for image, label in zip((paths[0], reference, paths[-1]), self.classes, strict=True):
            if image is not None:
                yield labelled_image(name_below(image, root), ImageFile(image), label, self.object)


def _order(name: str) -> tuple[int, str]:
    """Sort key: numbers by value, other names after them."""
    return (int(name), "") if name.isdecimal() else (1_000_000, name)
