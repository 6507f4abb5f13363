"""HDF5 files, which is what MATLAB calls version 7.3. Needs h5py (extra `sources`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.core.errors import SnellenError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OLDER = b"MATLAB 5.0"


def open_hdf5(path: Path) -> Any:
    """The open file, for `with`. Raises SnellenError: no h5py, no file, a MATLAB file of before 7.3, damage."""
    try:
        import h5py
    except ImportError as error:
        raise SnellenError("MATLAB 7.3 files need h5py: pip install 'snellen[sources]'") from error
    try:
        with path.open("rb") as file:
            older = file.read(len(OLDER)) == OLDER
        if older:
            raise SnellenError(f"{path}: a MATLAB file of before 7.3; take the published one, or save it with -v7.3")
        return h5py.File(path, "r")
    except OSError as error:
        raise SnellenError(f"{path}: not a readable HDF5 file; copy it again") from error


def read_entry(file: Any, array: str, index: int) -> NDArray[np.generic]:
    """Entry `index` along the first axis. Raises SnellenError where it is not there or damaged."""
    import numpy as np

    try:
        return np.asarray(file[array][index])
    except (KeyError, IndexError, ValueError, TypeError, OSError, RuntimeError) as error:
        raise SnellenError(f"{file.filename}: no entry {index} of {array}; copy the file again") from error
