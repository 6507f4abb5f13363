"""Tensors in a file of `torch.save`, read without torch and without running what a pickle may contain.

The format is that of torch before 1.6 (`_legacy_load` in torch/serialization.py): pickles of a magic number, a version,
the platform, the state and the keys of its storages, then the length and the bytes of each storage.
"""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snellen.core.errors import SnellenError
from snellen.subjects.loading import once


class _Unpickler(pickle.Unpickler):
    """Returns the arguments of what would build a tensor or a storage, and refuses all other names."""

    def find_class(self, module: str, name: str) -> Any:
        accepted = {
            "collections.OrderedDict": OrderedDict,
            "torch.FloatStorage": "<f4",
            "torch.LongStorage": "<i8",
            "torch._utils._rebuild_tensor_v2": lambda *arguments: arguments,  # a new one: a pickle may change it
        }
        if f"{module}.{name}" not in accepted:
            raise pickle.UnpicklingError(f"it contains {module}.{name}, which is no tensor")
        return accepted[f"{module}.{name}"]

    def persistent_load(self, pid: Any) -> Any:
        return pid


@once
def read_tensors(path: Path) -> Mapping[str, NDArray[Any]]:
    """The tensors of a state by name. Raises SnellenError for a file that contains anything else, or is damaged."""
    file, elements = io.BytesIO(path.read_bytes()), dict[str, NDArray[Any]]()
    try:
        *_, state, keys = (_Unpickler(file).load() for _ in range(5))
        storages = {storage[2]: storage for storage, *_ in state.values()}
        for key in keys:
            _, dtype, _, _, count, _ = storages[key]
            elements[key] = np.frombuffer(file.getvalue(), dtype, count, file.tell() + 8).copy()
            file.seek(8 + elements[key].nbytes, io.SEEK_CUR)
        return {name: _view(elements[storage[2]], *layout[:3]) for name, (storage, *layout) in state.items()}
    except Exception as error:  # of any kind: pickles are programs
        raise SnellenError(f"{path}: no file of tensors ({error!r:.200}); install its package again") from error


def _view(elements: NDArray[Any], start: int, shape: Sequence[int], strides: Sequence[int]) -> NDArray[Any]:
    """A part of a storage; numpy refuses one that is not inside."""
    size = elements.itemsize
    return np.ndarray(shape, elements.dtype, elements.data, start * size, [stride * size for stride in strides])
