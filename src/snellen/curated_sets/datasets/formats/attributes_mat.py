"""One MATLAB file per attribute, with one value per image: the Clothing Attributes Dataset.

Chen, Gallagher and Girod, "Describing Clothing by Semantic Attributes", ECCV 2012: `images/000001.jpg` …, and
`labels/NAME_GT.mat` with a column `GT` of as many rows (NaN: the annotators did not agree).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.curated_sets.datasets.formats.matlab import read_variable
from snellen.datasets.formats.file_tree import images, layout_folder, name_below
from snellen.datasets.image_files import ImageFile
from snellen.datasets.sample import Note, RawSample, labelled_image

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Attribute:
    """An attribute, which becomes one object.

    One file: `values` name its values 1, 2, …. Several files of no (1) and yes (2): `values` name the files, and images
    with exactly one yes count.
    """

    object: str
    files: tuple[str, ...]
    values: tuple[str, ...]


@dataclass(frozen=True)
class AttributesMat:
    """Settings of the layout. Row n of each file is the n-th image by name."""

    attributes: tuple[Attribute, ...]

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Attributes as declared, images by name: one sample per image and attribute."""
        base = layout_folder(root, ("labels",), "folder")
        paths = images(base / "images")
        for attribute in self.attributes:
            columns: list[NDArray[np.float64]] = []
            for name in attribute.files:
                column = self._column(root, base / "labels" / f"{name}_GT.mat", len(paths))
                if isinstance(column, Note):
                    yield column
                else:
                    columns.append(column)
            if len(columns) == len(attribute.files):
                yield from _attribute(root, attribute, paths, columns)

    def _column(self, root: Path, path: Path, row_count: int) -> NDArray[np.float64] | Note:
        import numpy as np

        location = name_below(path, root)
        if not path.is_file():
            return Note("missing", "file of an attribute", location)
        column = read_variable(path, "GT", lambda array: np.asarray(array, dtype=np.float64))
        if isinstance(column, str):
            return Note("unreadable", column, location)
        if len(column) != row_count:  # one missing image would shift all later labels
            return Note("missing", "images: fewer or more than labels", f"{location}: {len(column)} and {row_count}")
        return column


def _attribute(
    root: Path, attribute: Attribute, paths: list[Path], columns: list[NDArray[np.float64]]
) -> Iterator[RawSample | Note]:
    for row, path in enumerate(paths):
        id = f"{name_below(path, root)}#{attribute.object}"
        numbers = [column[row] for column in columns]
        if len(columns) == 1:
            index = int(numbers[0]) - 1 if numbers[0] == numbers[0] else -1  # NaN: no agreement
        else:
            yes = [index for index, number in enumerate(numbers) if number == 2]
            index = yes[0] if len(yes) == 1 else -1
        if 0 <= index < len(attribute.values):
            yield labelled_image(id, ImageFile(path), attribute.values[index], attribute.object)
        else:
            yield Note("left out", f"no single value of {attribute.object}", id)
