"""The pictures of candidates: read, looked at once, and kept as they are; frames and crops as PNG."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.core.item import Box, Media
from snellen.core.media import MediaFolder
from snellen.datasets.picture_files import VideoFrame
from snellen.stimuli.video import frame_at_share
from snellen.suites.ava_bench.candidates.candidates import Candidate, Origin, Pixels

UNREADABLE = "picture that cannot be read"
OTHER_SIZE = "picture that is not of the size its annotations tell"


@dataclass(frozen=True)
class Unusable:
    """Why a picture cannot be used: the rule, and what exactly is wrong."""

    rule: str
    where: str


class Pictures:
    """What is kept of the pictures of a set."""

    def __init__(self, media: MediaFolder) -> None:
        self.media = media
        self._held: dict[tuple[str, str], Media | Unusable] = {}
        self._cut: dict[tuple[str, Box], Media] = {}

    def load(self, origins: Iterable[Origin], workers: int, counted: Callable[[], None] = lambda: None) -> None:
        """Read and keep pictures, each once, several at a time."""
        wanted = {(one.source, one.record_id): one for one in origins}
        with ThreadPoolExecutor(max(1, workers)) as pool:
            for key, held in zip(wanted, pool.map(self._read, wanted.values()), strict=True):
                self._held[key] = held
                counted()

    def of(self, origin: Origin) -> Media | Unusable:
        """A picture that was loaded, or why there is none."""
        return self._held[origin.source, origin.record_id]

    def pixels(self, whole: Media) -> Callable[[], Pixels]:
        """Gives the pixels [h, w, 3], sRGB, when asked."""

        def read() -> Pixels:
            with self.media.open(whole) as picture:
                return np.asarray(picture.convert("RGB"))

        return read

    def shown(self, candidate: Candidate, whole: Media) -> Media:
        """What is kept for a candidate: the picture, or its crop as PNG."""
        if candidate.crop is None:
            return whole
        key = whole.sha256, candidate.crop
        if key not in self._cut:
            x1, y1, x2, y2 = (round(side) for side in candidate.crop)
            with self.media.open(whole) as picture:
                self._cut[key] = self.media.add_picture(picture.convert("RGB").crop((x1, y1, x2, y2)))
        return self._cut[key]

    def _read(self, origin: Origin) -> Media | Unusable:
        try:
            media = self._kept(origin)
        except (SnellenError, OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            return Unusable(UNREADABLE, f"{origin.record_id}: {error}")
        if origin.size is not None and (media.width, media.height) != tuple(origin.size):
            told = f"{origin.record_id}: {media.width} x {media.height}, not {origin.size[0]} x {origin.size[1]}"
            return Unusable(OTHER_SIZE, told)
        return media

    def _kept(self, origin: Origin) -> Media:
        place = origin.picture
        if isinstance(place, VideoFrame):
            return self.media.add_picture(frame_at_share(place.path, place.share))
        raw, format = place.read(f"{origin.source}/{origin.record_id}")
        with Image.open(io.BytesIO(raw)) as picture:
            picture.load()  # a file cut short shows here, and not when a subject is asked
            size = picture.size
        return self.media.add(raw, "picture", format, size)
