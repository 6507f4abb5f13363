"""Opens files with PyAV: their frame times, and the packets at which to start decoding."""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
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


FORMATS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi"
"""The formats that are read, by FFmpeg's names. Others may name further files, or addresses to listen at."""


@contextmanager
def open_video(source: Path | bytes, location: str) -> Iterator[tuple[InputContainer, VideoStream]]:
    """A file and its first video stream that is not a cover. Errors inside become SnellenErrors naming `location`."""
    av = pyav()
    try:
        file = str(source) if isinstance(source, Path) else io.BytesIO(source)
        with av.open(file, options={"format_whitelist": FORMATS}) as container:
            covers = av.stream.Disposition.attached_pic
            streams = [stream for stream in container.streams.video if not stream.disposition & covers]
            if not streams:
                raise SnellenError(f"{location}: has no video stream; leave out the file")
            streams[0].codec_context.options = {"max_pixels": str(MAX_PIXELS)}  # whatever size the frames claim
            yield container, streams[0]
    except (av.error.FFmpegError, OSError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SnellenError(f"{location}: not a readable video ({reason}); fix or remove the file") from error


MAX_FRAMES = 1_000_000
"""Maximum per video: nine hours at 30 frames per second."""


@dataclass(frozen=True)
class Timeline:
    """Frame times, in ticks of `tick` seconds of the stream's own clock.

    `ticks` are the frames' times in order, `end` is the end of the last one. `packets` are (time, whether a key frame)
    in decoding order, empty if the file does not give frame times without decoding.
    """

    tick: Fraction
    ticks: tuple[int, ...]
    end: int
    packets: tuple[tuple[int, bool], ...] = ()

    @property
    def seconds(self) -> float:
        """Duration from the first frame's time to the end of the last one."""
        return self.time(self.end)

    def time(self, tick: int) -> float:
        """Seconds from the first frame's time, as the float nearest to the exact value."""
        return (tick - self.ticks[0]) * self.tick.numerator / self.tick.denominator

    def on_screen(self, times: Sequence[float]) -> list[int]:
        """The frames, by their ticks, that are on screen at these seconds."""
        starts = [self.time(tick) for tick in self.ticks]
        return [self.ticks[max(0, bisect_right(starts, t + ROUNDING_S) - 1)] for t in times]

    def whole_rate(self) -> int | None:
        """Frames per second, if they are on an even grid within the precision of the stream's clock."""
        first, last, gaps = self.ticks[0], self.ticks[-1], len(self.ticks) - 1
        rate = round(gaps / ((last - first) * self.tick)) if gaps else round(1 / ((self.end - first) * self.tick))
        even = rate and all(abs(tick - first - n / (rate * self.tick)) <= 1 for n, tick in enumerate(self.ticks))
        return rate if even else None

    def key_before(self, index: int) -> int:
        """Index of the packet to start decoding at. A frame shown before its key frame needs an earlier one."""
        tick = self.packets[index][0]
        while index and not (self.packets[index][1] and self.packets[index][0] <= tick):
            index -= 1
        return index


def timeline(container: InputContainer, stream: VideoStream, source: Path | bytes, location: str) -> Timeline:
    """Read the timeline without decoding if the file gives all frame times; AVI does not."""
    packets_read = list(islice((packet for packet in container.demux(stream) if packet.size), MAX_FRAMES + 1))
    if len(packets_read) > MAX_FRAMES:
        raise SnellenError(f"{location}: more than the limit of {MAX_FRAMES} frames; cut it into parts")
    if any(packet.is_corrupt for packet in packets_read):
        raise SnellenError(f"{location}: damaged or truncated; copy it again, or leave it out")
    packets = tuple((packet.pts, packet.is_keyframe) for packet in packets_read if packet.pts is not None)
    if (
        container.format.name == "avi"
        or len(packets) < len(packets_read)
        or len({time for time, _ in packets}) < len(packets_read)
    ):
        return decoded_timeline(source, location)
    durations = {
        packet.pts: packet.duration for packet in packets_read if packet.pts is not None and not packet.is_discard
    }
    return _timeline_of_durations(durations, stream, location, packets)


def decoded_timeline(source: Path | bytes, location: str) -> Timeline:
    """The timeline from the decoder's output; frames come in order, whatever times they carry."""
    with open_video(source, location) as (container, stream):
        decoded = [(frame.pts, frame.duration) for frame in container.decode(stream)]
        durations = {tick: lasts for tick, lasts in decoded if tick is not None}
        if len(durations) < len(decoded):
            raise SnellenError(f"{location}: frames without their own time; convert it to mp4")
        return _timeline_of_durations(durations, stream, location)


def _timeline_of_durations(
    durations: Mapping[int, int | None], stream: VideoStream, location: str, packets: tuple[Any, ...] = ()
) -> Timeline:
    """The timeline of frames whose `durations` are known by tick.

    A last frame without a duration lasts as long as the others.
    """
    if not durations or stream.time_base is None:
        raise SnellenError(f"{location}: has no frames; leave out the file")
    ticks, rate = sorted(durations), stream.guessed_rate
    usual = ticks[-1] - ticks[-2] if len(ticks) > 1 else round(1 / (rate * stream.time_base)) if rate else 1
    return Timeline(stream.time_base, tuple(ticks), ticks[-1] + max(durations[ticks[-1]] or usual, 1), packets)
