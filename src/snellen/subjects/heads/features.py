"""What a tower gives of pictures: computed anew each time, or kept in safetensors shards, whichever measures quicker.

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
from snellen.core.home import home
from snellen.core.item import Media
from snellen.core.media import MediaFolder
from snellen.subjects.encoders.encoder import MAX_THREADS
from snellen.subjects.heads.conversations import Picture
from snellen.subjects.heads.tensor_files import facts_of, open_tensors, write_tensors
from snellen.subjects.heads.tower_models import load_tower, picture_tokens, pixels_of, tower_fingerprint
from snellen.subjects.heads.towers import find_tower
from snellen.subjects.loading import file_sha256, once

if TYPE_CHECKING:
    from PIL import Image

Source: TypeAlias = Literal["live", "cached"]
PictureOpener: TypeAlias = Callable[[Picture], "Image.Image"]

SHARD_PICTURES = 64
"""Pictures a shard: 110 MB of the widest tower in bfloat16."""
SAMPLE = 4
"""Pictures that the choice between live and cached is measured on."""


def opener(media: MediaFolder | None) -> PictureOpener:
    """How pictures are opened: those of an item set from its folder, files as they are."""

    def open_picture(picture: Picture) -> Image.Image:
        if isinstance(picture, Media):
            if media is None:
                raise SnellenError(f"{picture.path}: a picture of an item set, without its folder")
            return media.open(picture)
        from PIL import Image

        try:
            with Image.open(picture) as file:
                return file.convert("RGB")
        except OSError as error:
            raise SnellenError(f"{picture}: not a readable picture ({error}); mend or leave out the file") from error

    return open_picture


@dataclass(frozen=True)
class TowerReader:
    """A tower before pictures, on a device; `dtype` is that of the tokens, and of the tower's products.

    `batch` pictures go through it at a time where tokens are kept.
    """

    tower: str
    open_picture: PictureOpener
    device: str = "cpu"
    dtype: torch.dtype = torch.float32
    batch: int = SAMPLE

    def pixels(self, pictures: Sequence[Picture]) -> torch.Tensor:
        """Pictures -> float32 (n, 3, side, side). Before a GPU several are read side by side, or it would wait."""
        if self.device == "cpu":
            return pixels_of(self.tower, [self.open_picture(picture) for picture in pictures])
        rows = _readers().map(lambda picture: pixels_of(self.tower, [self.open_picture(picture)]), pictures)
        return torch.cat(list(rows))

    def tokens(self, pictures: Sequence[Picture]) -> torch.Tensor:
        """Pictures -> (n, tokens, width), on the device: what a head in training reads of the pixels."""
        tower, model = find_tower(self.tower), load_tower(self.tower, self.device)
        with reduced(self.device, self.dtype):
            return picture_tokens(tower, model, self.pixels(pictures).to(self.device)).to(self.dtype)


@once
def _readers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(min(os.cpu_count() or 1, MAX_THREADS))


def reduced(device: str, dtype: torch.dtype) -> torch.autocast:
    """Products in `dtype` where that is not float32."""
    return torch.autocast(torch.device(device).type, dtype, enabled=dtype != torch.float32)


class TokenCache:
    """Tokens of pictures, under the home folder in `towers/<fingerprint of the tower>-<dtype>/`, one file a shard.

    A shard is named after its pictures, its metadata name the tower's fingerprint. A damaged shard is computed again.
    """

    def __init__(self, reader: TowerReader) -> None:
        self.reader = reader
        self.fingerprint = f"{tower_fingerprint(reader.tower)}-{str(reader.dtype).removeprefix('torch.')}"
        self.root = home() / "towers" / self.fingerprint
        self._places: dict[str, Any] = {}
        self._index(self.root.glob("*.safetensors"))

    def prepare(self, pictures: Iterable[Picture], tick: Callable[[], None] = lambda: None) -> None:
        """Compute and keep what is not kept yet. Raises SnellenError where the disk is full; what is kept stays."""
        by_name = {picture_name(picture): picture for picture in pictures}
        missing = [name for name in by_name if name not in self._places]
        for start in range(0, len(missing), SHARD_PICTURES):
            names, tensors = missing[start : start + SHARD_PICTURES], dict[str, torch.Tensor]()
            for first in range(0, len(names), self.reader.batch):
                chunk = names[first : first + self.reader.batch]
                rows = self.reader.tokens([by_name[name] for name in chunk])
                tensors |= dict(zip(chunk, rows.cpu(), strict=True))
                tick()
            path = self.root / f"{digest(names, 24)}.safetensors"
            write_tensors(path, tensors, {"tower": self.fingerprint})
            self._index([path])

    def read(self, pictures: Sequence[Picture]) -> torch.Tensor:
        """Tokens (n, tokens, width) of pictures that were prepared."""
        names = [picture_name(picture) for picture in pictures]
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


def picture_name(picture: Picture) -> str:
    """SHA-256 of a picture's bytes."""
    return picture.sha256 if isinstance(picture, Media) else file_sha256(picture)


def picture_mark(picture: Picture) -> str:
    """What tells a picture from others cheaply: its SHA-256 where that is known, else name and size of the file."""
    if isinstance(picture, Media):
        return picture.sha256
    try:
        return f"{picture.name} {picture.stat().st_size}"
    except OSError as error:
        raise SnellenError(
            f"{picture}: not a readable picture ({error.strerror}); mend or leave out the file"
        ) from error


@dataclass(frozen=True)
class Choice:
    """Which source was chosen, and the seconds a picture that it was chosen by."""

    source: Source
    live_seconds: float
    read_seconds: float


def choose_source(reader: TowerReader, cache: TokenCache, pictures: Sequence[Picture], passes: int) -> Choice:
    """Live or cached, by the time that some pictures take: caching can lose where the tower is quick and disks slow.

    With a single pass nothing is gained by keeping.
    """
    sample = list(dict.fromkeys(pictures))[:SAMPLE]
    if passes < 2 or not sample:
        return Choice("live", 0.0, 0.0)
    reader.tokens(sample[:1])  # the first use loads weights
    begun = time.perf_counter()
    reader.tokens(sample).cpu()  # a GPU is waited for
    live = (time.perf_counter() - begun) / len(sample)
    cache.prepare(sample)
    begun = time.perf_counter()
    cache.read(sample)
    read = (time.perf_counter() - begun) / len(sample)
    return Choice("cached" if live + passes * read < passes * live else "live", live, read)
