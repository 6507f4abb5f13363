"""The labelled part of NYU-Depth V2: one MATLAB 7.3 file with images, depths and masks.

Silberman et al., "Indoor Segmentation and Support Inference from RGBD Images", ECCV 2012, and the dataset's page:
`images` HxWx3xN, `depths` HxWxN (metres), `labels` and `instances` HxWxN (0: unlabelled), `names` Cx1 of classes 1 …,
`scenes` Nx1. HDF5 has the axes in reverse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snellen.core.errors import SnellenError
from snellen.curated_sets.datasets.formats.hdf5 import (
    Hdf5Depth,
    Hdf5Image,
    MissingH5pyError,
    bounded,
    open_hdf5,
    read_entry,
)
from snellen.datasets.formats.file_tree import layout_folder, name_below
from snellen.datasets.sample import Annotation, AttributeValue, Note, RawSample

FILE = "nyu_depth_v2_labeled.mat"
DAMAGE = (SnellenError, LookupError, ArithmeticError, ValueError, TypeError, OSError, RuntimeError, AttributeError)
"""Errors from reading a damaged file."""
MAX_TEXT = 1000
"""Limit of a name: all references may lead to one text."""


@dataclass(frozen=True)
class NyuDepth:
    """Settings of the layout. An annotation is one instance of a class; `extra` has its nearest and median depth."""

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Images by index. Raises SnellenError without h5py."""
        base = layout_folder(root, (FILE,), "file")
        path = base / FILE
        try:
            file = open_hdf5(path)
        except MissingH5pyError:
            raise
        except SnellenError as error:
            yield Note("unreadable", "not the file of the dataset", str(error))
            return
        with file:
            try:
                names = [_text(file, reference) for reference in bounded(file, "names")[:].reshape(-1)]
                count = int(bounded(file, "images", entries=1).shape[0])
            except DAMAGE as error:
                yield Note("unreadable", "not the file of the dataset", f"{FILE}: {error}; copy it again")
                return
            for index in range(count):
                try:
                    yield _sample(file, path, f"{name_below(path, root)}#{index}", index, names)
                except DAMAGE as error:
                    yield Note("unreadable", "entry of the file", str(error))


def _sample(file: Any, path: Path, id: str, index: int, names: list[str]) -> RawSample:
    import numpy as np

    read_entry(file, "images", index)  # notes damage now, since the entry is not inspected again
    labels, instances = read_entry(file, "labels", index).T, read_entry(file, "instances", index).T
    depth = np.asarray(read_entry(file, "depths", index), np.float32).T
    annotations: list[Annotation] = []
    lost = 0
    pairs = np.stack([labels, instances], -1).reshape(-1, 2).astype(np.int64)
    for kind, number in np.unique(pairs[pairs[:, 0] > 0], axis=0).tolist():
        if kind > len(names):
            lost += 1
            continue
        mask = (labels == kind) & (instances == number)
        rows, columns = mask.any(1).nonzero()[0], mask.any(0).nonzero()[0]
        box = (float(columns[0]), float(rows[0]), float(columns[-1]) + 1, float(rows[-1]) + 1)
        measured = depth[mask & (depth > 0)]
        extra: dict[str, AttributeValue] = {"instance": float(number)}
        if measured.size:
            extra |= {"nearest_m": float(measured.min()), "median_m": float(np.median(measured))}
        annotations.append(Annotation(names[kind - 1], box, float(mask.sum()), extra))
    size = (int(labels.shape[1]), int(labels.shape[0]))
    scenes = bounded(file, "scenes")[:].reshape(-1) if file.id.links.exists(b"scenes") else []
    attributes: dict[str, AttributeValue] = {"scene": _text(file, scenes[index])} if index < len(scenes) else {}
    return RawSample(
        record_id=id,
        image=Hdf5Image(path, "images", index),
        annotations=tuple(annotations),
        size=size,
        lost=lost,
        depth=Hdf5Depth(path, "depths", index),
        attributes=attributes,
    )


def _text(file: Any, reference: Any) -> str:
    """A MATLAB text: the character codes at a reference."""
    codes = bounded(file, reference)
    if codes.size > MAX_TEXT:
        raise ValueError(f"a text of more than {MAX_TEXT} characters")
    return bytes(codes[:].reshape(-1).astype("<u2", casting="safe")).decode("utf-16-le")
