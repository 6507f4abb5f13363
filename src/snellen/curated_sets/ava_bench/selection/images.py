"""The images of candidates: read, checked once, and stored unchanged; frames and crops as PNG."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.core.item import Box, Media
from snellen.core.storage.media import MediaFolder, open_image
from snellen.curated_sets.ava_bench.selection.candidates import Candidate, Origin, Pixels
from snellen.datasets.hub_tables import reading_order
from snellen.datasets.image_files import VideoFrame
from snellen.stimuli.video import frame_at_share

UNREADABLE = "image that cannot be read"
OTHER_SIZE = "image whose size differs from its annotations"


@dataclass(frozen=True)
class UnusableImage:
    """The reason why an image cannot be used: the rule, and the details."""

    rule: str
    location: str


class ImageStore:
    """The stored images and crops of an item set."""

    def __init__(self, media: MediaFolder) -> None:
        self.media = media
        self._images: dict[tuple[str, str], Media | UnusableImage] = {}
        self._crops: dict[tuple[str, Box], Media] = {}

    def load(self, origins: Iterable[Origin], workers: int, advance: Callable[[], None] = lambda: None) -> None:
        """Read and store images, each once, several at a time."""
        origins = sorted(origins, key=lambda origin: reading_order(origin.image))
        origins_by_key = {(origin.source, origin.record_id): origin for origin in origins}
        with ThreadPoolExecutor(max(1, workers)) as pool:
            for key, image in zip(origins_by_key, pool.map(self._read, origins_by_key.values()), strict=True):
                self._images[key] = image
                advance()

    def get(self, origin: Origin) -> Media | UnusableImage:
        """A loaded image, or the reason why there is none."""
        return self._images[origin.source, origin.record_id]

    def pixels(self, media: Media) -> Callable[[], Pixels]:
        """A function that reads the pixels [h, w, 3], sRGB."""

        def read() -> Pixels:
            with self.media.open(media) as image:
                return np.asarray(image.convert("RGB"))

        return read

    def apply_crop(self, candidate: Candidate, media: Media) -> Media:
        """The stored image of a candidate: the whole image, or its crop as PNG."""
        if candidate.crop is None:
            return media
        key = media.sha256, candidate.crop
        if key not in self._crops:
            x1, y1, x2, y2 = (round(side) for side in candidate.crop)
            with self.media.open(media) as image:
                self._crops[key] = self.media.add_image(image.convert("RGB").crop((x1, y1, x2, y2)))
        return self._crops[key]

    def _read(self, origin: Origin) -> Media | UnusableImage:
        try:
            media = self._store(origin)
        except (SnellenError, OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            return UnusableImage(UNREADABLE, f"{origin.record_id}: {error}")
        if origin.size is not None and (media.width, media.height) != tuple(origin.size):
            mismatch = f"{origin.record_id}: {media.width} x {media.height}, not {origin.size[0]} x {origin.size[1]}"
            return UnusableImage(OTHER_SIZE, mismatch)
        return media

    def _store(self, origin: Origin) -> Media:
        image_file = origin.image
        if isinstance(image_file, VideoFrame):
            return self.media.add_image(frame_at_share(image_file.path, image_file.share))
        raw, format = image_file.read(f"{origin.source}/{origin.record_id}")
        with open_image(io.BytesIO(raw)) as image:
            image.load()  # a truncated file fails here, not when a subject is asked
            size = image.size
        return self.media.add(raw, "image", format, size)
