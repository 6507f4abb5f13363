"""Opens files with PyAV and converts pixels."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.core.errors import SnellenError
from snellen.core.extras import install_command
from snellen.core.item_checks import MAX_PIXELS

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

ROUNDING_S = 1e-9
"""Tolerance in comparisons of seconds."""


def pyav() -> Any:
    """The package `av`, imported when first needed. Raises SnellenError if it is missing."""
    try:
        import av
    except ImportError as error:
        raise SnellenError(f"videos need PyAV ({error}); {install_command('video')}") from error
    return av


def convert_frame(frame: VideoFrame, format: str, colours: int | None = None) -> VideoFrame:
    """The frame in another pixel format, by arithmetic that is identical on all machines."""
    how = pyav().video.reformatter.Interpolation
    exactly = how.BILINEAR | how.ACCURATE_RND | how.BITEXACT | how.FULL_CHR_H_INT
    return frame.reformat(
        format=format, interpolation=exactly, dst_colorspace=colours, dst_color_range=1 if colours else None
    )


@contextmanager
def open_video(source: Path | bytes, location: str) -> Iterator[tuple[InputContainer, VideoStream]]:
    """A file and its first video stream that is not a cover. Errors inside become SnellenErrors naming `location`."""
    av = pyav()
    try:
        with av.open(str(source) if isinstance(source, Path) else io.BytesIO(source)) as container:
            covers = av.stream.Disposition.attached_pic
            streams = [stream for stream in container.streams.video if not stream.disposition & covers]
            if not streams:
                raise SnellenError(f"{location}: has no video stream; leave out the file")
            streams[0].codec_context.options = {"max_pixels": str(MAX_PIXELS)}  # whatever size the frames claim
            yield container, streams[0]
    except (av.error.FFmpegError, OSError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SnellenError(f"{location}: not a readable video ({reason}); fix or remove the file") from error
