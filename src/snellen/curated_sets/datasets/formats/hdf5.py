"""HDF5 files, which MATLAB calls version 7.3. Needs h5py (extra `sources`)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.core.errors import SnellenError
from snellen.core.extras import install_command
from snellen.core.storage import png
from snellen.core.storage.user_files import refuse_irregular

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OLDER = b"MATLAB 5.0"
MAX_ENTRIES, MAX_ENTRY_BYTES, MAX_RATIO = 100_000, 200_000_000, 1000
"""Limits of an array's first axis, of one read, and of an array by the file's size: a few bytes may claim any size."""


class MissingH5pyError(SnellenError):
    """h5py is not installed: nothing is wrong with the file."""


@dataclass(frozen=True)
class _Hdf5Entry:
    """Entry `index` along the first axis of an array in an HDF5 file.

    Layout of NYU-Depth V2, stored by MATLAB in column order: images [n, 3, width, height] of uint8, depths
    [n, width, height] of float32 metres.
    """

    path: Path
    array: str
    index: int

    def load(self) -> NDArray[np.generic]:
        """The entry as stored. Raises SnellenError if file, array, entry or h5py is missing."""
        with open_hdf5(self.path) as file:
            return read_entry(file, self.array, self.index)


@dataclass(frozen=True)
class Hdf5Image(_Hdf5Entry):
    """An image in an array of an HDF5 file."""

    def read(self, location: str) -> tuple[bytes, str]:
        """See `SourceImage`. The entry becomes a PNG."""
        from PIL import Image

        return png.encode(Image.fromarray(self.load().transpose(2, 1, 0))), "png"

    def inspect(self, location: str) -> None:
        """See `SourceImage`. The reader has already read the entry."""


@dataclass(frozen=True)
class Hdf5Depth(_Hdf5Entry):
    """Depths in an array of an HDF5 file, 0 for no measurement."""

    def read(self) -> NDArray[np.float32]:
        """See `Depth`."""
        import numpy as np

        depth = self.load().T.astype(np.float32)
        return np.where(depth > 0, depth, np.float32("nan"))

    def inspect(self) -> None:
        """See `Depth`. The reader has already read the entry."""


def open_hdf5(path: Path) -> Any:
    """The open file, for `with`. Raises SnellenError if it is missing, older than 7.3 or damaged, or without h5py."""
    try:
        import h5py
    except ImportError as error:
        raise MissingH5pyError(f"MATLAB 7.3 files need h5py: {install_command('sources')}") from error
    try:
        refuse_irregular(path)
        with path.open("rb") as file:
            older = file.read(len(OLDER)) == OLDER
        if older:
            raise SnellenError(f"{path}: a MATLAB file older than 7.3; use the published one, or save it with -v7.3")
        return h5py.File(path, "r")
    except OSError as error:
        raise SnellenError(f"{path}: not a readable HDF5 file; copy it again") from error


def read_entry(file: Any, array: str, index: int) -> NDArray[np.generic]:
    """Entry `index` along the first axis. Raises SnellenError if it is missing or damaged."""
    import numpy as np

    try:
        return np.asarray(bounded(file, array, entries=1)[index])
    except (KeyError, IndexError, ValueError, TypeError, AttributeError, OSError, RuntimeError) as error:
        raise SnellenError(f"{file.filename}: no entry {index} of {array} ({error}); copy the file again") from error


def bounded(file: Any, key: Any, entries: int = MAX_ENTRIES) -> Any:
    """The array at a name or reference, checked for reading `entries` along its first axis.

    Raises SnellenError if it is too large, or stored outside the file, which may be anywhere on the disk: a link is not
    followed, since it may lead to a pipe.
    """
    import h5py

    is_link = isinstance(key, str) and file.id.links.get_info(key.encode()).type != h5py.h5l.TYPE_HARD
    array = None if is_link else file[key]
    if array is None or array.external or array.is_virtual:
        raise SnellenError(f"{file.filename}: {key} is stored in another file; only what is in it is read")
    count = min(array.shape[0], entries) if array.shape else 1
    size = array.dtype.itemsize * count * math.prod(array.shape[1:])
    is_hollow = array.nbytes > MAX_RATIO * file.id.get_filesize()
    if size > MAX_ENTRY_BYTES or is_hollow or (array.shape and array.shape[0] > MAX_ENTRIES):
        raise SnellenError(
            f"{array.file.filename}: {array.name} declares more than the limit of {MAX_ENTRIES} entries, of "
            f"{MAX_ENTRY_BYTES} bytes each, or of {MAX_RATIO} times the file's size; copy it again"
        )
    return array
