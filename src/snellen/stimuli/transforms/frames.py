"""Videos shown as images: some of their frames, in their order."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.core.item import Media, View
from snellen.core.storage.media import MediaFolder
from snellen.stimuli.video import frames_at, rate_times, uniform_times

_UNIFORM, _RATE = re.compile(r"[1-9][0-9]*"), re.compile(r"([0-9]+(?:\.[0-9]+)?)fps")


@dataclass(frozen=True)
class Frames:
    """Every video of the query as some of its frames, in their order, each a PNG that counts as the stored video.

    `how` is a number of frames, one from the middle of each of so many equal parts (`8`, `16`), or a rate from the
    beginning on (`1fps`). Raises SnellenError for anything else.
    """

    how: str
    version: int = 1

    def __post_init__(self) -> None:
        self.times(1.0)

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view with images in place of its videos; images are left as they are."""
        query = (self.extract(image, media) if image.kind == "video" else (image,) for image in view.query)
        return replace(view, query=tuple(still for stills in query for still in stills))

    def times(self, seconds: float) -> tuple[float, ...]:
        """The moments at which a video of this length is looked at, in seconds."""
        if _UNIFORM.fullmatch(self.how):
            return uniform_times(seconds, int(self.how))
        if (rate := _RATE.fullmatch(self.how)) and float(rate[1]) > 0:
            return rate_times(seconds, float(rate[1]))
        raise SnellenError(f"frames {self.how!r}: say how many (8), or how many a second (1fps)")

    def extract(self, video: Media, media: MediaFolder) -> tuple[Media, ...]:
        """The frames of one video. It is decoded once for all that are not there yet, and not at all for none."""
        times = self.times(video.seconds)

        @cache
        def decoded() -> list[tuple[float, Image.Image]]:
            media.read(video)  # the bytes are held against their name
            return frames_at(media.find(video), times)

        def still(index: int) -> Image.Image:
            return decoded()[index][1]

        return tuple(
            media.derive(["frame", self.version, video.sha256, time], partial(still, index), video)
            for index, time in enumerate(times)
        )
