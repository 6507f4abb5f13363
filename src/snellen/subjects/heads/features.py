"""What a tower gives of images: computed anew each time, or kept in safetensors shards, whichever measures quicker.

Imports torch: import it inside functions.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import torch

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Media
from snellen.core.storage.home import home
from snellen.core.storage.media import MediaFolder
from snellen.subjects.encoders.encoder import MAX_THREADS
from snellen.subjects.heads.conversations import StoredImage
from snellen.subjects.heads.tensor_files import facts_of, open_tensors, write_tensors
from snellen.subjects.heads.tower_models import image_tokens, load_tower, pixels_of, tower_fingerprint
from snellen.subjects.heads.towers import find_tower
from snellen.subjects.loading import file_sha256, once

if TYPE_CHECKING:
    from PIL import Image

Source: TypeAlias = Literal["live", "cached"]
ImageOpener: TypeAlias = Callable[[StoredImage], "Image.Image"]

SHARD_IMAGES = 64
"""Images a shard: 110 MB of the widest tower in bfloat16."""
SAMPLE = 4
"""Images that the choice between live and cached is measured on."""


def opener(media: MediaFolder | None) -> ImageOpener:
    """How images are opened: those of an item set from its folder, files as they are."""

    def open_image(image: StoredImage) -> Image.Image:
        if isinstance(image, Media):
            if media is None:
                raise SnellenError(f"{image.path}: an image of an item set, without its folder")
            return media.open(image)
        from PIL import Image

        try:
            with Image.open(image) as file:
                return file.convert("RGB")
        except OSError as error:
            raise SnellenError(f"{image}: not a readable image ({error}); mend or leave out the file") from error

    return open_image


@dataclass(frozen=True)
class TowerReader:
    """A tower before images, on a device; `dtype` is that of the tokens, and of the tower's products.

    `batch` images go through it at a time where tokens are kept.
    """

    tower: str
    open_image: ImageOpener
    device: str = "cpu"
    dtype: torch.dtype = torch.float32
    batch: int = SAMPLE

    def pixels(self, images: Sequence[StoredImage]) -> torch.Tensor:
        """Images -> float32 (n, 3, side, side). Before a GPU several are read side by side, or it would wait."""
        if self.device == "cpu":
            return pixels_of(self.tower, [self.open_image(image) for image in images])
        rows = _readers().map(lambda image: pixels_of(self.tower, [self.open_image(image)]), images)
        return torch.cat(list(rows))

    def tokens(self, images: Sequence[StoredImage]) -> torch.Tensor:
        """Images -> (n, tokens, width), on the device: what a head in training reads of the pixels."""
        tower, model = find_tower(self.tower), load_tower(self.tower, self.device)
        with reduced(self.device, self.dtype):
            return image_tokens(tower, model, self.pixels(images).to(self.device)).to(self.dtype)


@once
def _readers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(min(os.cpu_count() or 1, MAX_THREADS))


def reduced(device: str, dtype: torch.dtype) -> torch.autocast:
    """Products in `dtype` where that is not float32."""
    return torch.autocast(torch.device(device).type, dtype, enabled=dtype != torch.float32)


class TokenCache:
    """Tokens of images, under the home folder in `towers/<fingerprint of the tower>-<dtype>/`, one file a shard.

    A shard is named after its images, its metadata name the tower's fingerprint. A damaged shard is computed again.
    """

    def __init__(self, reader: TowerReader) -> None:
        self.reader = reader
        self.fingerprint = f"{tower_fingerprint(reader.tower)}-{str(reader.dtype).removeprefix('torch.')}"
        self.root = home() / "towers" / self.fingerprint
        self._places: dict[str, Any] = {}
        self._index(self.root.glob("*.safetensors"))

    def prepare(self, images: Iterable[StoredImage], tick: Callable[[], None] = lambda: None) -> None:
        """Compute and keep what is not kept yet. Raises SnellenError where the disk is full; what is kept stays."""
        by_name = {image_name(image): image for image in images}
        missing = [name for name in by_name if name not in self._places]
        for start in range(0, len(missing), SHARD_IMAGES):
            names, tensors = missing[start : start + SHARD_IMAGES], dict[str, torch.Tensor]()
            for first in range(0, len(names), self.reader.batch):
                chunk = names[first : first + self.reader.batch]
                rows = self.reader.tokens([by_name[name] for name in chunk])
                tensors |= dict(zip(chunk, rows.cpu(), strict=True))
                tick()
            path = self.root / f"{digest(names, 24)}.safetensors"
            write_tensors(path, tensors, {"tower": self.fingerprint})
            self._index([path])

    def read(self, images: Sequence[StoredImage]) -> torch.Tensor:
        """Tokens (n, tokens, width) of images that were prepared."""
        names = [image_name(image) for image in images]
        return torch.stack([self._places[name].get_tensor(name) for name in names])

    def _index(self, paths: Iterable[Path]) -> None:
        for path in sorted(paths):
            try:
                shard = open_tensors(path)
            except SnellenError:
                continue
            if facts_of(shard).get("tower") != self.fingerprint:
                raise SnellenError(f"{path}: holds tokens of another tower; remove the file")
            self._places |= dict.fromkeys(shard.keys(), shard)


def image_name(image: StoredImage) -> str:
    """SHA-256 of an image's bytes."""
    return image.sha256 if isinstance(image, Media) else file_sha256(image)


def image_mark(image: StoredImage) -> str:
    """What tells an image from others cheaply: its SHA-256 where that is known, else name and size of the file."""
    if isinstance(image, Media):
        return image.sha256
    try:
        return f"{image.name} {image.stat().st_size}"
    except OSError as error:
        raise SnellenError(f"{image}: not a readable image ({error.strerror}); mend or leave out the file") from error


@dataclass(frozen=True)
class FeatureSource:
    """Which source was chosen, and the seconds per image that decided it."""

    source: Source
    live_seconds: float
    read_seconds: float


def choose_source(reader: TowerReader, cache: TokenCache, images: Sequence[StoredImage], passes: int) -> FeatureSource:
    """Live or cached, by the time that some images take: caching can lose where the tower is quick and disks slow.

    With a single pass nothing is gained by keeping.
    """
    sample = list(dict.fromkeys(images))[:SAMPLE]
    if passes < 2 or not sample:
        return FeatureSource("live", 0.0, 0.0)
    reader.tokens(sample[:1])  # the first use loads weights
    begun = time.perf_counter()
    reader.tokens(sample).cpu()  # a GPU is waited for
    live = (time.perf_counter() - begun) / len(sample)
    cache.prepare(sample)
    begun = time.perf_counter()
    cache.read(sample)
    read = (time.perf_counter() - begun) / len(sample)
    return FeatureSource("cached" if live + passes * read < passes * live else "live", live, read)
