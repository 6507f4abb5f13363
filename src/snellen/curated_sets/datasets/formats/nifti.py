"""NIfTI volumes with labelled voxels, as slices that show a label: the Medical Segmentation Decathlon.

Antonelli et al., "The Medical Segmentation Decathlon", Nature Communications 2022: `imagesTr/NAME.nii.gz`,
`labelsTr/NAME.nii.gz` with the same voxels, `imagesTs` without labels (not read).

Orientation: voxels are reordered to right, anterior, superior; slices are taken along the third axis and drawn as
radiologists view them, front up, the patient's right on the left of the image. Voxels become pixels, unscaled.
"""

from __future__ import annotations

import gzip
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from snellen.core.errors import SnellenError
from snellen.core.extras import install_command
from snellen.core.storage.user_files import refuse_irregular
from snellen.datasets.formats.file_tree import entries, layout_folder, name_below
from snellen.datasets.sample import Note, RawSample, labelled_image

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image

CHUNK_BYTES = 1 << 20
"""Unpacked bytes in memory at once while a checksum is computed."""
MAX_VOXELS, MAX_BYTES = 300_000_000, 3_000_000_000
"""Limits of a volume, and of an unpacked file; 1000 slices of a CT have 262 million voxels."""
MIN_VOXELS = 20
"""The least size of a label in its largest slice."""


@dataclass(frozen=True)
class VolumeSlice:
    """Slice `index` along the third axis of a NIfTI volume in right-anterior-superior order.

    `channel` selects from a fourth axis (None: the first). `window` has the values drawn black and white; None means
    the 0.5th and 99.5th percentile of the channel's non-zero voxels.
    """

    path: Path
    index: int
    channel: int | None = None
    window: tuple[float, float] | None = None

    def read(self, location: str) -> tuple[bytes, str]:
        """See `SourceImage`. The slice becomes a grey PNG."""
        import numpy as np
        from PIL import Image

        voxels = _voxels(self.path, self.channel)
        low, high = self.window or _window(voxels)
        scaled = (_slice(self.path, voxels, self.index).astype(np.float64) - low) / max(high - low, 1e-9)
        grey = np.rint(np.clip(scaled, 0, 1) * 255).astype(np.uint8)
        return encode_png(Image.fromarray(grey, "L")), "png"

    def inspect(self, location: str) -> None:
        """See `SourceImage`. The volume is read completely."""
        self.read(location)


@dataclass(frozen=True)
class VolumeMask:
    """The mask of value `label` in a slice of a label volume, in the orientation of `VolumeSlice`."""

    path: Path
    index: int
    label: int

    def open(self) -> Image.Image:
        """See `Mask`."""
        import numpy as np
        from PIL import Image

        labels = _slice(self.path, _voxels(self.path, None), self.index)
        return Image.fromarray(np.where(labels == self.label, 255, 0).astype(np.uint8), "L")

    def inspect(self) -> None:
        """See `Mask`. The reader has already compared the two volumes."""


@dataclass(frozen=True)
class LabelledVolumes:
    """Settings of the layout.

    `labels` name the values 1, 2, …. A slice belongs to the label with most voxels in it (ties: the smaller value), so
    that an image has one class. For each label of a volume, the slice with most voxels is taken, if they are at least
    `MIN_VOXELS`. `absent`, if not empty, is the class of one slice per volume without any label: the middle of the
    longest such run. `channel` and `window` as in `VolumeSlice`.
    """

    object: str
    labels: tuple[str, ...]
    channel: int | None = None
    window: tuple[float, float] | None = None
    absent: str = ""

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Volumes by name, labels by value."""
        _nibabel()
        base = layout_folder(root, ("imagesTr", "labelsTr"), "folder")
        volumes = {path.name: path for path in entries(base / "imagesTr") if _is_volume(path)}
        for mask in entries(base / "labelsTr"):
            if not _is_volume(mask):
                continue
            volume = volumes.pop(mask.name, None)
            if volume is None:
                yield Note("missing", "volume of these labels", name_below(mask, root))
            else:
                yield from self._volume(root, volume, mask)
        for path in volumes.values():
            yield Note("odd", "volume without labels", name_below(path, root))

    def _volume(self, root: Path, volume: Path, mask: Path) -> Iterator[RawSample | Note]:
        import numpy as np

        try:
            values = _voxels(mask, None)
            shape = _shape(volume)
        except SnellenError as error:
            yield Note("unreadable", "not a readable volume", str(error))
            return
        if shape[:3] != _shape(mask)[:3]:
            yield Note("unreadable", "volume and labels differ in size", name_below(volume, root))
            return
        areas = np.stack([(values == value).sum((0, 1)) for value in range(1, len(self.labels) + 1)])
        for index, value in self._select_slices(areas):
            id = f"{name_below(volume, root)}#{index}"
            image = VolumeSlice(volume, index, self.channel, self.window)
            if value:
                yield labelled_image(id, image, self.labels[value - 1], self.object, VolumeMask(mask, index, value))
            else:
                yield labelled_image(id, image, self.absent, self.object)

    def _select_slices(self, areas: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        """Slice and value (0: absent) of a volume's samples. `areas[v, k]` counts voxels of value v + 1 in slice k."""
        import numpy as np

        largest = areas.argmax(0)
        for row in range(len(self.labels)):
            dominant = np.where(largest == row, areas[row], 0)
            if dominant.max(initial=0) >= MIN_VOXELS:
                yield int(dominant.argmax()), row + 1
        empty = np.flatnonzero(areas.sum(0) == 0)
        if self.absent and len(empty):
            runs = np.split(empty, np.flatnonzero(np.diff(empty) > 1) + 1)
            longest = max(runs, key=len)
            yield int(longest[len(longest) // 2]), 0


def _slice(path: Path, voxels: NDArray[np.float32], index: int) -> NDArray[np.float32]:
    """Columns from the patient's right to left, rows from front to back. Raises SnellenError for an unknown index."""
    if not 0 <= index < voxels.shape[2]:
        raise SnellenError(f"{path}: has no slice {index}; copy the volume again")
    return voxels[::-1, ::-1, index].T


def _window(voxels: NDArray[np.float32]) -> tuple[float, float]:
    import numpy as np

    foreground = voxels[voxels != 0]
    if not foreground.size:
        return 0.0, 1.0
    low, high = np.percentile(foreground, (0.5, 99.5))
    return float(low), float(high)


def _is_volume(path: Path) -> bool:
    return path.name.endswith((".nii", ".nii.gz"))


def _nibabel() -> ModuleType:
    try:
        import nibabel
    except ImportError as error:
        raise SnellenError(f"NIfTI volumes need nibabel: {install_command('sources')}") from error
    return nibabel


def _load(path: Path) -> Any:
    nibabel = _nibabel()
    try:
        _check_stream(path, path.stat().st_mtime_ns)
        image = nibabel.load(path)
    except Exception as error:  # a damaged header may raise anything
        raise SnellenError(f"{path}: not a readable NIfTI volume; copy it again") from error
    voxel_count = math.prod(image.shape) * max(image.get_data_dtype().itemsize / 8, 1)  # of at most 8 bytes each
    if len(image.shape) not in (3, 4) or voxel_count > MAX_VOXELS:
        raise SnellenError(f"{path}: not a volume of 3 or 4 axes and at most {MAX_VOXELS} voxels; copy it again")
    return image


@lru_cache(maxsize=4)  # a volume is loaded several times
def _check_stream(path: Path, stamp: int) -> None:
    """Read a packed file to its checksum, before which nibabel stops. Raises OSError, EOFError or zlib.error."""
    if path.suffix == ".gz":
        refuse_irregular(path)
        with gzip.open(path) as file:
            while file.read(CHUNK_BYTES):
                if file.tell() > MAX_BYTES:
                    raise OSError(f"it unpacks to more than {MAX_BYTES} bytes")


def _shape(path: Path) -> tuple[int, ...]:
    """Voxels along right, anterior, superior, and channels if there are any."""
    nibabel = _nibabel()
    image = _load(path)
    order = nibabel.orientations.io_orientation(image.affine)[:, 0].argsort()
    return (*(int(image.shape[axis]) for axis in order), *image.shape[3:])


def _voxels(path: Path, channel: int | None) -> NDArray[np.float32]:
    """Values in the order right, anterior, superior."""
    try:
        stamp = path.stat().st_mtime_ns
    except OSError as error:
        raise SnellenError(f"{path}: cannot be read ({error.strerror}); copy the dataset again") from error
    return _load_voxels(path, channel, stamp)


@lru_cache(maxsize=2)  # slices of one volume and their masks are requested in sequence
def _load_voxels(path: Path, channel: int | None, stamp: int) -> NDArray[np.float32]:
    import numpy as np

    image = _load(path)
    if channel is not None and not (len(image.shape) > 3 and channel < image.shape[3]):
        raise SnellenError(f"{path}: has no channel {channel}; copy the volume again")
    try:
        values = np.asarray(_nibabel().as_closest_canonical(image).dataobj, dtype=np.float32)
    except Exception as error:  # a damaged gzip stream may raise anything
        raise SnellenError(f"{path}: truncated or damaged; copy it again") from error
    values = values if channel is None else values[..., channel]
    return values if values.ndim == 3 else values[..., 0]


def encode_png(image: Image.Image) -> bytes:
    """The image as PNG, the same bytes at every call."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=3)
    return buffer.getvalue()
