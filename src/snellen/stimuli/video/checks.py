"""Whether bytes are the video that a card describes."""

from __future__ import annotations

from snellen.core.errors import SnellenError
from snellen.core.item import Media
from snellen.core.item_checks import size_fault
from snellen.stimuli.video.opening import open_video, pyav
from snellen.stimuli.video.reading import frames_at, video_format
from snellen.stimuli.video.timeline import timeline

_TOLERANCE_S = 1e-3


def video_fault(raw: bytes, media: Media) -> str | None:
    """Why bytes are not the video of a card (format, length, size on screen), or None; also None without PyAV.

    All packets are looked at, but only the first and the last frame, with those they depend on, are decoded. AVI is
    decoded as a whole, since it does not tell when its frames are.
    """
    try:
        pyav()
    except SnellenError:
        return None
    try:
        return _fault(raw, media)
    except SnellenError as error:
        return str(error)


def _fault(raw: bytes, media: Media) -> str | None:
    location = "the video"
    with open_video(raw, location) as (container, stream):
        if fault := size_fault(stream.codec_context.width, stream.codec_context.height):
            return fault
        if (format := video_format(container, raw, location)) != media.format:
            return f"a video of format {format} by the name of a {media.format}"
        seconds = timeline(container, stream, raw, location).seconds
    if abs(seconds - media.seconds) > _TOLERANCE_S:
        return f"a video of {seconds:g} s, not {media.seconds:g}"
    for _, frame in frames_at(raw, [0.0, seconds]):
        if frame.size != (media.width, media.height):
            return f"a video of {frame.width} x {frame.height} pixels, not {media.width} x {media.height}"
    return None
