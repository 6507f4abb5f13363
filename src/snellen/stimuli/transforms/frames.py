"""Shows videos as images: some of their frames, in order."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.core.item import Media, View
from snellen.core.storage.media import MediaFolder
from snellen.stimuli.video import frames_at, rate_times, uniform_times

_UNIFORM, _RATE = re.compile(r"[1-9][0-9]*"), re.compile(r"([0-9]+(?:\.[0-9]+)?)fps")

MAX_DECODED = 512_000_000
"""Pixels of frames that are decoded at a time: 9 minutes of 1280 x 720 at 1fps, 3 GB."""


@dataclass(frozen=True)
class Frames:
    """Replaces each video of the query by some of its frames, in order, each a PNG that counts as the stored video.

    `how` is a number of frames, one from the middle of each of as many equal parts (`8`, `16`), or a rate from the
    beginning (`1fps`). Raises SnellenError for anything else.
    """

    how: str
    version: int = 1

    def __post_init__(self) -> None:
        self.times(1.0)

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view with frames instead of its videos; images are unchanged."""
        query = (self.extract(image, media) if image.kind == "video" else (image,) for image in view.query)
        return replace(view, query=tuple(still for stills in query for still in stills))

    def times(self, seconds: float) -> tuple[float, ...]:
        """The times in seconds at which frames of a video of this length are taken."""
        if _UNIFORM.fullmatch(self.how):
            return uniform_times(seconds, int(self.how))
        if (rate := _RATE.fullmatch(self.how)) and float(rate[1]) > 0:
            return rate_times(seconds, float(rate[1]))
        raise SnellenError(f"frames {self.how!r}: give a number (8), or a number per second (1fps)")

    def extract(self, video: Media, media: MediaFolder) -> tuple[Media, ...]:
        """The frames of one video. Each part is decoded at most once, and only if a frame is not stored yet."""
        times, size = self.times(video.seconds), max(1, MAX_DECODED // (video.width * video.height))

        @lru_cache(maxsize=1)
        def decoded(index: int) -> list[tuple[float, Image.Image]]:
            media.read(video)  # checks the hash
            return frames_at(media.find(video), times[index * size : (index + 1) * size])

        def still(number: int) -> Image.Image:
            return decoded(number // size)[number % size][1]

        return tuple(
            media.derive(["frame", self.version, video.sha256, time], partial(still, index), video)
            for index, time in enumerate(times)
        )
