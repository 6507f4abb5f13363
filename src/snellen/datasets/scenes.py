"""Pictures with all that a dataset says of them: things and their boxes, questions, depth. Read only when wanted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from snellen.core.errors import SnellenError
from snellen.core.item import Box
from snellen.datasets.records import InFile, picture_format

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Value: TypeAlias = str | float | bool | tuple[str, ...] | tuple[float, ...]
Values: TypeAlias = Mapping[str, Value]


@dataclass(frozen=True)
class InVideo:
    """One frame of a video. `share` is its time as a share of the video's length, 0 to 1 (0.5: the middle)."""

    path: Path
    share: float


@dataclass(frozen=True)
class InHdf5:
    """Entry `index` along the first axis of an array in an HDF5 file.

    Layout of NYU-Depth V2, which MATLAB stored column by column: pictures [n, 3, width, height] of uint8, depths
    [n, width, height] of float32 metres.
    """

    path: Path
    array: str
    index: int


@dataclass(frozen=True)
class InDepthPng:
    """A 16-bit PNG of depths: value / `per_metre` metres, 0 where nothing was measured (KITTI: 256)."""

    path: Path
    per_metre: float


Shown: TypeAlias = InFile | InVideo | InHdf5
"""Where a picture lies."""
Depths: TypeAlias = InHdf5 | InDepthPng
"""Where the depth of every pixel lies."""


@dataclass(frozen=True)
class Marked:
    """One thing that the dataset names in a picture, or the one name of the whole picture (then `box` is None).

    `label` is the name as the dataset writes it (of a word: the word). `box` is [x1, y1, x2, y2] in pixels of the
    picture, x2 and y2 the far edges, never outside it and never empty. `area` is in square pixels: of the thing's mask
    where the dataset has masks, else of the box, None without either. `extra` holds what else it says of the thing;
    keys are told by the source's card.
    """

    label: str
    box: Box | None = None
    area: float | None = None
    extra: Values = field(default_factory=dict)


@dataclass(frozen=True)
class Asked:
    """A question about the picture, with the answers people gave, the usual one first."""

    id: str
    question: str
    answers: tuple[str, ...]
    extra: Values = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A picture as a reader sees it: a `Scene` before its source is named."""

    record_id: str
    picture: Shown
    marked: tuple[Marked, ...] = ()
    asked: tuple[Asked, ...] = ()
    depth: Depths | None = None
    size: tuple[int, int] | None = None
    lost: int = 0
    attributes: Values = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Scene(Seen):
    """One picture of a dataset with all its annotations.

    `record_id` is unique within the source and stable: the path below the source's folder in POSIX form, with `#index`
    behind it where a file holds several. It may tell the answer: never show it. `size` is width and height where the
    annotations tell it. `lost` counts annotations that were of no use (`check` says which and why): where it is not 0,
    the things marked are not all there are. `attributes` hold what the dataset says of the whole picture.
    """

    source: str
    licence: str


def read_scene(scene: Scene) -> tuple[bytes, str]:
    """The picture's bytes and their format, as `read_shown` gives them."""
    return read_shown(scene.picture, f"{scene.source}/{scene.record_id}")


def read_shown(place: Shown, where: str) -> tuple[bytes, str]:
    """A picture's bytes and their format (`png`, `jpg` …); errors call it `where`.

    Bytes of a picture file are the file's own; of an array in HDF5 a PNG is made, always the same. Raises SnellenError
    where the file is missing or is no picture, and for a frame of a video: `snellen.stimuli.video` decodes those.
    """
    if isinstance(place, InVideo):
        raise SnellenError(f"{where}: is a frame of a video; take it with snellen.stimuli.video.frame_at_share")
    if isinstance(place, InHdf5):
        from PIL import Image

        from snellen.core import png

        return png.encode(Image.fromarray(read_hdf5(place).transpose(2, 1, 0))), "png"
    try:
        raw = place.path.read_bytes()
    except OSError as error:
        raise SnellenError(f"{place.path}: cannot be read ({error.strerror}); copy the dataset again") from error
    return raw, picture_format(raw, where)


def read_depth(scene: Scene) -> NDArray[np.float32] | None:
    """Depth in metres along the camera's axis, [height, width], NaN where it is not known. None: the scene has none.

    Raises SnellenError where the file is missing or damaged.
    """
    import numpy as np

    if scene.depth is None:
        return None
    if isinstance(scene.depth, InHdf5):
        depth = read_hdf5(scene.depth).T.astype(np.float32)
        return np.where(depth > 0, depth, np.float32("nan"))
    from PIL import Image

    try:
        with Image.open(scene.depth.path) as picture:
            values = np.asarray(picture)
    except Exception as error:  # a damaged picture raises whatever its decoder meets
        raise SnellenError(f"{scene.depth.path}: not a readable PNG of depths; copy the file again") from error
    if values.ndim != 2 or values.dtype.itemsize < 2:
        raise SnellenError(f"{scene.depth.path}: not a 16-bit grey PNG, so no depths; copy the file again")
    depths = values.astype(np.float32) / np.float32(scene.depth.per_metre)
    return np.where(values > 0, depths, np.float32("nan"))


def read_hdf5(place: InHdf5) -> NDArray[np.generic]:
    """The entry as it is stored. Raises SnellenError where file, array or entry is not there, or h5py is missing."""
    from snellen.datasets.formats.hdf5 import open_hdf5, read_entry

    with open_hdf5(place.path) as file:
        return read_entry(file, place.array, place.index)
