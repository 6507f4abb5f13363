"""One image of a dataset with all its annotations, pixels read on demand; and notes on what cannot be used."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from snellen.core.item import Box

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image

AttributeValue: TypeAlias = str | float | bool | tuple[str, ...] | tuple[float, ...]
Kind: TypeAlias = Literal["missing", "unreadable", "odd", "left out"]
Attributes: TypeAlias = Mapping[str, AttributeValue]
NOT_EXHAUSTIVE_FIELD = "not_exhaustive_category_ids"
"""LVIS's name for the attribute that lists classes of which not all objects in an image are annotated."""


class SourceImage(typing.Protocol):
    """The location of an image, with its reader: a frozen dataclass defined next to the reader of its format."""

    @property
    def path(self) -> Path:
        """The file that contains the image."""
        ...

    def read(self, location: str) -> tuple[bytes, str]:
        """The image's bytes and their format (`png`, `jpg`, `bmp` …), the same at every call.

        Raises SnellenError if the file is missing, or, naming `location`, if it contains no image.
        """
        ...

    def inspect(self, location: str) -> tuple[int, int] | None:
        """Check for damage as cheaply as the format allows; width and height if that reveals them.

        Raises SnellenError as `read` does.
        """
        ...


class Mask(typing.Protocol):
    """The location of an annotation's mask, with its reader."""

    def open(self) -> Image.Image:
        """A grey image, 255 where the mask is set and 0 elsewhere. Raises SnellenError if it cannot be read."""
        ...

    def inspect(self) -> tuple[int, int] | None:
        """Width and height if they are cheap to find. Raises SnellenError with the file's name for damage."""
        ...


class Depth(typing.Protocol):
    """The location of an image's depth map, with its reader."""

    def read(self) -> NDArray[np.float32]:
        """Metres along the camera's axis, [height, width], NaN if unknown. Raises SnellenError for damage."""
        ...

    def inspect(self) -> None:
        """Check for damage. Raises SnellenError naming the file."""
        ...


@dataclass(frozen=True)
class Annotation:
    """One object in an image, or the single class of the whole image (then `box` is None).

    `label` is the dataset's own name (for a word: the word). `box` is [x1, y1, x2, y2] in pixels of the image, x2 and
    y2 the far edges, never empty, and never outside an image whose size was checked (`fitting.annotated_file`). `area`
    is in square pixels: of the object's mask if the dataset has masks, else of the box, None without either. `extra`
    has further facts about the object; the dataset's card explains the keys.
    """

    label: str
    box: Box | None = None
    area: float | None = None
    extra: Attributes = field(default_factory=dict)
    mask: Mask | None = None

    def find_box(self) -> Box | None:
        """The box, or the extent of the mask as [x1, y1, x2, y2] in pixels; None if neither exists or it is empty."""
        if self.box is not None:
            return self.box
        extent = None if self.mask is None else self.mask.open().getbbox()
        return None if extent is None else (float(extent[0]), float(extent[1]), float(extent[2]), float(extent[3]))


@dataclass(frozen=True)
class ImageQuestion:
    """A question about the image, with people's answers, the most common first."""

    id: str
    question: str
    answers: tuple[str, ...]
    extra: Attributes = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RawSample:
    """An image from the reader of a layout: a `Sample` without its dataset's name."""

    record_id: str
    image: SourceImage
    annotations: tuple[Annotation, ...] = ()
    object: str = ""
    questions: tuple[ImageQuestion, ...] = ()
    depth: Depth | None = None
    size: tuple[int, int] | None = None
    lost: int = 0
    attributes: Attributes = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The class of the image: the label of its first annotation, "" if it has none."""
        return self.annotations[0].label if self.annotations else ""


@dataclass(frozen=True, kw_only=True)
class Sample(RawSample):
    """One image of a dataset with all its annotations; fields that a dataset lacks are empty.

    `record_id` is unique within the dataset and stable: the path in the dataset's folder in POSIX form, followed by `#`
    and the row, slice or attribute if a file contains several. It may reveal the answer: never show it. An image of one
    class has one annotation without a box; then `object` is the scope of the classes (MVTec: bottle), so that each
    (dataset, object) is one task. `size` is width and height if the annotations give it. `lost` counts unusable
    annotations (`Dataset.check` reports which and why): if it is not 0, the annotated objects are not all that exist.
    `attributes` are facts about the whole image, such as its split.
    """

    source: str
    licence: str

    def read_image(self) -> tuple[bytes, str]:
        """See `SourceImage.read`."""
        return self.image.read(f"{self.source}/{self.record_id}")

    def read_depth(self) -> NDArray[np.float32] | None:
        """See `Depth.read`. None if the dataset has no depth for this image."""
        return None if self.depth is None else self.depth.read()


def labelled_image(
    record_id: str, image: SourceImage, label: str, object: str, mask: Mask | None = None, box: Box | None = None
) -> RawSample:
    """An image of one class among those of `object`, with the mask or box that shows the class."""
    return RawSample(record_id=record_id, image=image, annotations=(Annotation(label, box, mask=mask),), object=object)


@dataclass(frozen=True)
class Note:
    """A problem or peculiarity of a folder.

    `missing`: expected by the layout or a list of the dataset; `unreadable`: a damaged file; `odd`: unusable here;
    `left out`: good images excluded by a rule of the reader. `location` names the file, line or object.
    """

    kind: Kind
    message: str
    location: str


class MissingFiles(Exception):
    """A folder lacks the files of its layout; `Dataset` makes a note of it."""

    def __init__(self, note: Note) -> None:
        super().__init__(note)
        self.note = note
