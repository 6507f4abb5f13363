"""A tower's tokens of images: computed each time, or cached in safetensors shards, whichever is faster.

Imports torch: import it inside functions.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import torch

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest, has_checksum, with_checksum
from snellen.core.item import Media
from snellen.core.storage.home import home
from snellen.core.storage.media import MediaFolder, open_image
from snellen.subjects.encoders.encoder import MAX_THREADS
from snellen.subjects.loading import file_sha256, once
from snellen.towers.heads.conversations import StoredImage
from snellen.towers.heads.tensor_files import facts_of, open_tensors, write_tensors
from snellen.towers.heads.tower_models import image_tokens, load_tower, pixels_of, tower_fingerprint
from snellen.towers.heads.towers import find_tower

if TYPE_CHECKING:
    from PIL import Image

Source: TypeAlias = Literal["live", "cached"]
ImageOpener: TypeAlias = Callable[[StoredImage], "Image.Image"]

SHARD_IMAGES = 64
"""Images per shard: 110 MB for the widest tower in bfloat16."""
SAMPLE = 4
"""Images used to measure live against cached features."""


def opener(media: MediaFolder | None) -> ImageOpener:
    """A function that opens images: those of an item set from its folder, files directly."""

    def opened(image: StoredImage) -> Image.Image:
        if isinstance(image, Media):
            if media is None:
                raise SnellenError(f"{image.path}: an image of an item set, but its folder is unknown")
            return media.open(image)

        try:
            with open_image(image) as file:
                return file.convert("RGB")
        except OSError as error:
            raise SnellenError(f"{image}: not a readable image ({error}); fix or remove the file") from error

    return opened


@dataclass(frozen=True)
class TowerReader:
    """A tower on a device, with a way to open images.

    `dtype` is that of the tokens and of the tower's products; `batch` images are processed at a time when caching.
    """

    tower: str
    open_image: ImageOpener
    device: str = "cpu"
    dtype: torch.dtype = torch.float32
    batch: int = SAMPLE

    def pixels(self, images: Sequence[StoredImage]) -> torch.Tensor:
        """Images -> float32 (n, 3, side, side). For a GPU, several are read in parallel, since it would wait."""
        if self.device == "cpu":
            return pixels_of(self.tower, [self.open_image(image) for image in images])
        rows = _readers().map(lambda image: pixels_of(self.tower, [self.open_image(image)]), images)
        return torch.cat(list(rows))

    def tokens(self, images: Sequence[StoredImage]) -> torch.Tensor:
        """Images -> (n, tokens, width), on the device, as a head in training computes them from pixels."""
        tower, model = find_tower(self.tower), load_tower(self.tower, self.device)
        with reduced(self.device, self.dtype):
            return image_tokens(tower, model, self.pixels(images).to(self.device)).to(self.dtype)


@once
def _readers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(min(os.cpu_count() or 1, MAX_THREADS))


def reduced(device: str, dtype: torch.dtype) -> torch.autocast:
    """Computes products in `dtype` if that is not float32."""
    return torch.autocast(torch.device(device).type, dtype, enabled=dtype != torch.float32)


class TokenCache:
    """Tokens of images in the home folder's `towers/<fingerprint of the tower>-<dtype>/`, one file per shard.

    A shard is named after its images; its metadata has the tower's fingerprint and a checksum of each image's tokens,
    which is compared when they are first read. Damaged shards, and those without checksums, are recomputed.
    """

    def __init__(self, reader: TowerReader) -> None:
        self.reader = reader
        self.fingerprint = f"{tower_fingerprint(reader.tower)}-{str(reader.dtype).removeprefix('torch.')}"
        self.root = home() / "towers" / self.fingerprint
        self._places: dict[str, _StoredTokens] = {}
        self._intact: set[str] = set()
        self._index(self.root.glob("*.safetensors"))

    def prepare(self, images: Iterable[StoredImage]) -> None:
        """Compute and store missing tokens. Raises SnellenError if the disk is full; stored tokens stay."""
        by_name = {image_name(image): image for image in images}
        missing = [name for name in by_name if name not in self._places]
        for start in range(0, len(missing), SHARD_IMAGES):
            names, tensors = missing[start : start + SHARD_IMAGES], dict[str, torch.Tensor]()
            for first in range(0, len(names), self.reader.batch):
                chunk = names[first : first + self.reader.batch]
                rows = self.reader.tokens([by_name[name] for name in chunk])
                tensors |= dict(zip(chunk, rows.cpu(), strict=True))
            path = self.root / f"{digest(names, 24)}.safetensors"
            checksums = {name: _checksum(tensor) for name, tensor in tensors.items()}
            write_tensors(path, tensors, with_checksum({"tower": self.fingerprint, "checksums": checksums}))
            self._index([path])

    def read(self, images: Sequence[StoredImage]) -> torch.Tensor:
        """Tokens (n, tokens, width) of prepared images."""
        names = [image_name(image) for image in images]
        if damaged := {self._places[name].path for name in names if not self._is_intact(name)}:
            self._places = {name: stored for name, stored in self._places.items() if stored.path not in damaged}
            for path in damaged:
                path.unlink(missing_ok=True)
            self.prepare(images)
        return torch.stack([self._places[name].shard.get_tensor(name) for name in names])

    def _is_intact(self, name: str) -> bool:
        stored = self._places[name]
        if name not in self._intact and _checksum(stored.shard.get_tensor(name)) == stored.checksum:
            self._intact.add(name)
        return name in self._intact

    def _index(self, paths: Iterable[Path]) -> None:
        for path in sorted(paths):
            try:
                facts = facts_of(shard := open_tensors(path))
            except SnellenError:
                continue
            if not has_checksum(facts):
                continue
            if facts["tower"] != self.fingerprint:
                raise SnellenError(f"{path}: contains tokens of another tower; remove the file")
            names = set(shard.keys()) & facts["checksums"].keys()
            self._places |= {name: _StoredTokens(shard, path, facts["checksums"][name]) for name in names}


class _StoredTokens(NamedTuple):
    """The open shard with the tokens of an image, its file, and the checksum of the tokens."""

    shard: Any
    path: Path
    checksum: int


def _checksum(tensor: torch.Tensor) -> int:
    return zlib.crc32(tensor.contiguous().view(torch.uint8).numpy().tobytes())


def image_name(image: StoredImage) -> str:
    """SHA-256 of an image's bytes."""
    return image.sha256 if isinstance(image, Media) else file_sha256(image)


def part_mark(element: str | StoredImage) -> str:
    """A text itself; a cheap identifier of an image: its SHA-256 if known, else name and size of the file."""
    if not isinstance(element, Path):
        return element.sha256 if isinstance(element, Media) else element
    try:
        return f"{element.name} {element.stat().st_size}"
    except OSError as error:
        raise SnellenError(f"{element}: not a readable image ({error.strerror}); fix or remove the file") from error


@dataclass(frozen=True)
class FeatureSource:
    """The chosen source, the cache if that is chosen, and the seconds per image of both if they were measured."""

    source: Source
    cache: TokenCache | None = None
    live_seconds: float = 0.0
    read_seconds: float = 0.0


def choose_source(
    reader: TowerReader, images: Sequence[StoredImage], passes: int, source: Source | None = None
) -> FeatureSource:
    """Live or cached, as `source` says or by measured time: caching can be slower with a fast tower and slow disks.

    Without `source`, always live in a single pass. If cached, all images are computed and stored.
    """
    sample = list(dict.fromkeys(images))[:SAMPLE]
    if source == "live" or not sample or (source is None and passes < 2):
        return FeatureSource("live")
    cache, live, read = TokenCache(reader), 0.0, 0.0
    if passes > 1:
        reader.tokens(sample[:1])  # the first use loads weights
        begun = time.perf_counter()
        reader.tokens(sample).cpu()  # waits for a GPU
        live = (time.perf_counter() - begun) / len(sample)
        cache.prepare(sample)
        begun = time.perf_counter()
        cache.read(sample)
        read = (time.perf_counter() - begun) / len(sample)
        if source is None and live + passes * read >= passes * live:
            return FeatureSource("live", None, live, read)
    cache.prepare(images)
    return FeatureSource("cached", cache, live, read)
