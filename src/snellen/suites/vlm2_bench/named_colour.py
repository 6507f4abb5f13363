"""A rule of Mat and Trk that counts pixels of the colour that a statement names, and links nothing: a floor of both."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from snellen.core.item import Item, Media
from snellen.core.storage.media import MediaFolder

HUES: Mapping[str, tuple[int, int]] = {
    "red": (345, 15), "yellow": (40, 70), "green": (75, 165), "blue": (200, 255), "purple": (255, 310),
}  # fmt: skip
"""Hues from one angle to another, in degrees."""
MIN_SATURATION, MIN_VALUE = 0.35, 0.12
"""Least saturation and value (HSV) of pixels that have a colour."""


def coloured(media: MediaFolder, image: Media, colour: str) -> NDArray[np.bool_]:
    """The pixels (height, width) of an image that have a colour of `HUES`."""
    with media.open(image) as opened:
        hsv = np.asarray(opened.convert("RGB").convert("HSV"), float) / 255
    low, high = HUES[colour]
    has_hue = (360 * hsv[..., 0] - low) % 360 < (high - low) % 360
    return np.asarray(has_hue & (hsv[..., 1] > MIN_SATURATION) & (hsv[..., 2] > MIN_VALUE))


def by_named_colour(item: Item, media: MediaFolder) -> str:
    """What was added has more of its colour in the second image; other pairs are answered oppositely, without sight."""
    cue = re.search(f"({'|'.join(HUES)}).* was (added|removed)", item.question)
    if cue is None or item.task != "gc-trk":
        return "true" if item.item_id.endswith("-a") else "false"
    first, second = (coloured(media, image, cue[1]).sum() for image in item.query)
    return "true" if (second > first) == (cue[2] == "added") else "false"
