"""One image of a dataset with all that the dataset says of it; pixels are read only when wanted."""

from __future__ import annotations

import io
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from snellen.core.item import Box

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image

AttributeValue: TypeAlias = str | float | bool | tuple[str, ...] | tuple[float, ...]
Attributes: TypeAlias = Mapping[str, AttributeValue]
NOT_EXHAUSTIVE_FIELD = "not_exhaustive_category_ids"
"""The attribute of an image that names classes of which not all things are marked, as LVIS calls it."""


class SourceImage(typing.Protocol):
    """Where an image lies, and how it is read: a frozen dataclass beside the reader of its format."""

    @property
    def path(self) -> Path:
        """The file that holds the image."""
        ...

    def read(self, location: str) -> tuple[bytes, str]:
        """The image's bytes and their format (`png`, `jpg`, `bmp` …), the same at every call.

        Raises SnellenError where the file is missing, or, naming `location`, where it holds no image.
        """
        ...

    def inspect(self, location: str) -> tuple[int, int] | None:
        """Look for damage, as cheaply as the format lets. Width and height where that shows them.

        Raises SnellenError as `read` does.
        """
        ...


class Mask(typing.Protocol):
    """Where the mask of an annotation lies, and how it is read."""

    def open(self) -> Image.Image:
        """A grey image, 255 where something is marked and 0 elsewhere. Raises SnellenError where there is none."""
        ...

    def inspect(self) -> tuple[int, int] | None:
        """Width and height where they are cheap to know. Raises SnellenError, which is the file's name, for damage."""
        ...


class Depth(typing.Protocol):
    """Where the depth of every pixel lies, and how it is read."""

    def read(self) -> NDArray[np.float32]:
        """Metres along the camera's axis, [height, width], NaN where not known. Raises SnellenError for damage."""
        ...

    def inspect(self) -> None:
        """Look for damage. Raises SnellenError naming the file."""
        ...


@dataclass(frozen=True)
class Annotation:
    """One object that the dataset names in an image, or the one class of the whole image (then `box` is None).

    `label` is the name as the dataset writes it (of a word: the word). `box` is [x1, y1, x2, y2] in pixels of the
    image, x2 and y2 the far edges, never empty, and never outside an image whose size was looked at
    (`fitting.annotated_file`). `area` is in square pixels: of the object's mask where the dataset has masks, else of
    the box, None without either. `extra` holds what else it says of the object; the dataset's card explains the keys.
    """

    label: str
    box: Box | None = None
    area: float | None = None
    extra: Attributes = field(default_factory=dict)
    mask: Mask | None = None

    def read_mask(self) -> bytes | None:
        """What the dataset marks, as a grey PNG of 0 and 255; None: it has no mask. Raises SnellenError for damage."""
        return None if self.mask is None else encode_png(self.mask.open())

    def find_box(self) -> Box | None:
        """The box, or the extent of the mask as [x1, y1, x2, y2] in pixels; None: nothing is marked."""
        if self.box is not None:
            return self.box
        extent = None if self.mask is None else self.mask.open().getbbox()
        return None if extent is None else (float(extent[0]), float(extent[1]), float(extent[2]), float(extent[3]))


@dataclass(frozen=True)
class ImageQuestion:
    """A question about the image, with the answers people gave, the usual one first."""

    id: str
    question: str
    answers: tuple[str, ...]
    extra: Attributes = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RawSample:
    """An image as the reader of a layout gives it: a `Sample` before its dataset is named."""

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
        """The class of the image: the label of its first annotation, "" where it has none."""
        return self.annotations[0].label if self.annotations else ""


@dataclass(frozen=True, kw_only=True)
class Sample(RawSample):
    """One image of a dataset with all its annotations; what a dataset does not have is empty.

    `record_id` is unique within the dataset and stable: the path below the dataset's folder in POSIX form, with the
    row, slice or attribute behind `#` where a file holds several. It may tell the answer: never show it. An image of
    one class has one annotation without a box; then `object` is that within which the classes compete (MVTec: bottle),
    so that one task is one (dataset, object). `size` is width and height where the annotations tell it. `lost` counts
    annotations that were of no use (`Dataset.check` says which and why): where it is not 0, the objects annotated are
    not all there are. `attributes` hold what the dataset says of the whole image, its split among them.
    """

    source: str
    licence: str

    def read_image(self) -> tuple[bytes, str]:
        """See `Image.read`."""
        return self.image.read(f"{self.source}/{self.record_id}")

    def read_depth(self) -> NDArray[np.float32] | None:
        """See `Depth.read`. None: the dataset has no depth of this image."""
        return None if self.depth is None else self.depth.read()


def labelled_image(
    record_id: str, image: SourceImage, label: str, object: str, mask: Mask | None = None, box: Box | None = None
) -> RawSample:
    """An image of one class among those of `object`, with the mask or box of what shows the class."""
    return RawSample(record_id=record_id, image=image, annotations=(Annotation(label, box, mask=mask),), object=object)


def encode_png(image: Image.Image) -> bytes:
    """The image as PNG, the same bytes at every call."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=3)
    return buffer.getvalue()
