"""The weights that come with this package: the whole model, and twins as differences of 8 bits to it."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

PACKED = Path(__file__).parent / "weights"
"""A folder for each phantom. A file that a twin does not have is the whole one's."""
TENSORS, DIFFERENCES, SCALE = "model.safetensors", "differences.npz", "|scale"
MOST = 127
"""The greatest difference of a tensor is stored as this number."""
Tensors = dict[str, NDArray[np.float16]]


def pack(trained: Path, name: str, whole: str, packed: Path = PACKED) -> Path:
    """Write a trained phantom (`trained/NAME`) into this package, a twin after the whole one. Returns its folder."""
    source, folder = trained / name / "model", packed / name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder, copy_function=shutil.copyfile)
    shutil.copy(trained / name / "card.json", folder / "card.json")
    if name != whole:
        tensors, usual = _read(source), _read(packed / whole)
        arrays = dict[str, NDArray[np.generic]]()
        for key, tensor in tensors.items():
            if tensor.dtype != np.float16:  # a count of batches, which no answer depends on
                continue
            difference = tensor.astype(np.float32) - usual[key].astype(np.float32)
            if scale := float(np.abs(difference).max()) / MOST:
                arrays |= {key: np.rint(difference / scale).astype(np.int8), key + SCALE: np.array(scale, np.float32)}
        np.savez_compressed(folder / DIFFERENCES, allow_pickle=False, **arrays)
        (folder / TENSORS).unlink()
        for path in [path for path in folder.iterdir() if path.name != "card.json"]:
            twin = packed / whole / path.name
            if twin.is_file() and twin.read_bytes() == path.read_bytes():
                path.unlink()
    return folder


def unpack(name: str, whole: str, folder: Path, packed: Path = PACKED) -> None:
    """Put a packed phantom together in a new folder."""
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(packed / whole, part)
    shutil.copytree(packed / name, part, dirs_exist_ok=True)
    if name != whole:
        from safetensors.numpy import save_file

        tensors = _read(part)
        with np.load(part / DIFFERENCES) as arrays:
            for key in [key for key in arrays.files if not key.endswith(SCALE)]:
                changed = tensors[key].astype(np.float32) + arrays[key].astype(np.float32) * arrays[key + SCALE]
                tensors[key] = changed.astype(np.float16)
        save_file(tensors, part / TENSORS, {"format": "pt"})
        (part / DIFFERENCES).unlink()
    part.rename(folder)


def packed_digest(name: str, whole: str, packed: Path = PACKED) -> str:
    """Twelve digits of the hash of all that `unpack` reads."""
    hashed = hashlib.sha256()
    for path in sorted(path for one in (whole, name) for path in (packed / one).iterdir()):
        hashed.update(path.name.encode() + path.read_bytes())
    return hashed.hexdigest()[:12]


def _read(folder: Path) -> Tensors:
    from safetensors.numpy import load_file

    return {key: np.array(tensor) for key, tensor in load_file(folder / TENSORS).items()}
