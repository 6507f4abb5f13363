"""Patch features of many images: one vector per place of a grid, each image computed once and cached in shards.

A grid covers the whole image, squeezed to the encoder's square: a crop could remove the object in question, and places
would not be shares of the image.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from snellen.core.errors import SnellenError
from snellen.core.hashing import canonical, digest, has_checksum, with_checksum
from snellen.core.item import Media
from snellen.core.storage.files import all_or_nothing
from snellen.core.storage.home import home
from snellen.core.storage.media import MediaFolder
from snellen.subjects.encoders.encoder import MAX_THREADS, Floats, PatchEncoder
from snellen.subjects.loading import import_extra

Halves: TypeAlias = NDArray[np.float16]

SHARD_IMAGES = 32
"""Images per shard: some megabytes for a small encoder, a hundred for a large one."""
LARGEST = float(np.finfo(np.float16).max)


class PatchCache:
    """Patch features of one encoder, cached in the home folder's `patches/<fingerprint>/`.

    A shard is a safetensors file with up to `SHARD_IMAGES` grids, named by the SHA-256 of their images, in float16:
    half the size of float32, rounded to a part in 2048, clipped at ±65,504. Its metadata hold the encoder's
    `patch_settings` and a checksum of each grid. Damaged shards, and those without checksums, are recomputed; if the
    home folder is not writable, features stay in memory.
    """

    def __init__(self, encoder: PatchEncoder) -> None:
        self.encoder = encoder
        self.specification = canonical(dict(encoder.patch_settings))
        self.root = home() / "patches" / digest(dict(encoder.patch_settings), 12)
        self._shards: dict[str, Path] = {}
        self._checksums: dict[str, int] = {}
        self._read: set[Path] = set()
        self._unsaved: dict[str, Halves] = {}

    def prepare(self, media: Iterable[Media], folder: MediaFolder) -> None:
        """Compute and cache missing features, shards in parallel threads.

        Raises SnellenError for a shard of another specification.
        """
        images = {image.sha256: image for image in media}
        if not self._missing(images):
            return
        self._index()
        missing = [images[sha256] for sha256 in self._missing(images)]
        chunks = [missing[start : start + SHARD_IMAGES] for start in range(0, len(missing), SHARD_IMAGES)]
        if chunks:
            with ThreadPoolExecutor(min(len(chunks), os.cpu_count() or 1, MAX_THREADS)) as pool:
                for _ in pool.map(lambda chunk: self._compute(chunk, folder), chunks):
                    pass

    def read(self, media: Media, folder: MediaFolder) -> Floats:
        """The grid of an image, float32 (rows, columns, d)."""
        self.prepare([media], folder)
        if (grid := self._stored(media.sha256)) is None:
            path = self._shards[media.sha256]
            self._shards = {name: shard for name, shard in self._shards.items() if shard != path}
            path.unlink(missing_ok=True)
            self._compute([media], folder)
            grid = self._stored(media.sha256)
        return np.asarray(grid, dtype=np.float32)

    def _stored(self, name: str) -> Halves | None:
        """The grid of an image; None if it was damaged."""
        if (grid := self._unsaved.get(name)) is not None:
            return grid
        try:
            with _open(self._shards[name]) as shard:
                grid = shard.get_tensor(name)
        except (OSError, import_extra("safetensors", "patch features").SafetensorError):
            return None
        return grid if zlib.crc32(grid.tobytes()) == self._checksums[name] else None

    def _missing(self, images: Mapping[str, Media]) -> list[str]:
        return [sha256 for sha256 in images if sha256 not in self._shards and sha256 not in self._unsaved]

    def _index(self) -> None:
        for path in sorted(set(self.root.glob("*.safetensors")) - self._read):
            try:
                with _open(path) as shard:
                    names, facts = list(shard.keys()), shard.metadata() or {}
            except (OSError, import_extra("safetensors", "patch features").SafetensorError):
                continue  # truncated: its images are recomputed
            if not has_checksum(facts):
                continue
            checksums, specification = json.loads(facts["checksums"]), facts["specification"]
            if specification != self.specification:
                raise SnellenError(
                    f"{path}: contains patch features of {specification}, not {self.specification}; remove the file, "
                    f"or set SNELLEN_HOME to another folder"
                )
            self._read.add(path)
            self._shards |= {name: path for name in names if name in checksums}
            self._checksums |= checksums

    def _compute(self, images: Sequence[Media], folder: MediaFolder) -> None:
        grids: dict[str, Halves] = {}
        for start in range(0, len(images), self.encoder.batch):
            batch = images[start : start + self.encoder.batch]
            rows = self.encoder.patches([folder.open(image) for image in batch])
            if not np.isfinite(rows).all():
                raise SnellenError(
                    f"encoder:{self.encoder.name}: patch features are not finite; its weights are broken"
                )
            # In the order of C: safetensors writes the memory of an array, whatever its strides are.
            halves = np.clip(rows, -LARGEST, LARGEST).astype(np.float16, order="C")
            grids |= {image.sha256: grid for image, grid in zip(batch, halves, strict=True)}
        path = self.root / f"{digest(sorted(grids), 24)}.safetensors"
        checksums = {name: zlib.crc32(grid.tobytes()) for name, grid in grids.items()}
        try:
            with all_or_nothing(path) as half:
                save_file = import_extra("safetensors.numpy", "patch features").save_file
                save_file(
                    grids,
                    half,
                    with_checksum({"specification": self.specification, "checksums": json.dumps(checksums)}),
                )
        except SnellenError:
            self._unsaved |= grids
        else:
            self._shards |= dict.fromkeys(grids, path)
            self._checksums |= checksums


def _open(path: Path) -> Any:
    return import_extra("safetensors", "patch features").safe_open(path, framework="numpy")
