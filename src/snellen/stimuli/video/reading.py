"""Stores videos unchanged, reads their frames, and checks them against their cards."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from itertools import chain
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from PIL import Image

from snellen.core.errors import SnellenError
from snellen.core.item import Media
from snellen.core.item_checks import size_fault
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.user_files import read_file
from snellen.stimuli.video.timeline import (
    ROUNDING_S,
    Timeline,
    convert_frame,
    decoded_timeline,
    open_video,
    pyav,
    timeline,
)

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

VIDEO_ENDINGS = (".mp4", ".mov", ".avi", ".webm", ".mkv")
"""How names of files end that `add_video` may store."""
MAX_FRAMES_SHOWN = 10_000
"""Frames of a video that are taken at a rate; two frames may be years apart."""
_TOLERANCE_S = 1e-3
_JUMP = 4
"""Packets ahead from which seeking to a key frame is cheaper than the decoder's restart delay."""
_TURNS: dict[tuple[float, ...], Image.Transpose | None] = {
    (1, 0, 0, 1): None,
    (-1, 0, 0, 1): Image.Transpose.FLIP_LEFT_RIGHT,
    (1, 0, 0, -1): Image.Transpose.FLIP_TOP_BOTTOM,
    (-1, 0, 0, -1): Image.Transpose.ROTATE_180,
    (0, -1, 1, 0): Image.Transpose.ROTATE_90,
    (0, 1, -1, 0): Image.Transpose.ROTATE_270,
    (0, 1, 1, 0): Image.Transpose.TRANSPOSE,
    (0, -1, -1, 0): Image.Transpose.TRANSVERSE,
}
"""Signs of a display matrix -> transpose from stored to displayed pixels."""


def add_video(media: MediaFolder, path: Path) -> Media:
    """Store a video file, byte for byte.

    Width and height are those on screen (after the rotation in the file); `seconds` is from the first frame's time to
    the end of the last one. Raises SnellenError if the file cannot be read, is damaged or truncated, has no video
    stream or no frame, or is not mp4, mov, avi, webm or mkv.
    """
    try:
        raw = read_file(path)
    except OSError as error:
        raise SnellenError(f"{path}: cannot be read ({error.strerror}); fix or remove the file") from error
    with open_video(raw, str(path)) as (container, stream):
        format = video_format(container, raw, str(path))
        line = timeline(container, stream, raw, str(path))
    ((_, first),) = _frames_at(raw, [0.0], str(path))
    return media.add(raw, "video", format, first.size, line.seconds)


def uniform_times(seconds: float, count: int) -> tuple[float, ...]:
    """The midpoints of `count` equal parts of a video, in seconds.

    So of two or three equal parts of a clip each gets at least two of 8, and five of 16.
    """
    if count < 1 or seconds <= 0:
        raise SnellenError(f"{count} frames of {seconds:g} s: both must be positive")
    return tuple(seconds * (2 * n + 1) / (2 * count) for n in range(count))


def rate_times(seconds: float, per_second: float) -> tuple[float, ...]:
    """0, 1 / per_second, 2 / per_second, … up to the end of the video, in seconds; at least 0."""
    if per_second <= 0 or seconds <= 0:
        raise SnellenError(f"{per_second:g} frames per second of {seconds:g} s: both must be positive")
    if seconds * per_second > MAX_FRAMES_SHOWN:
        raise SnellenError(f"{per_second:g}fps of {seconds:g} s: more than {MAX_FRAMES_SHOWN} frames; ask for a number")
    return tuple(n / per_second for n in range(max(1, ceil((seconds - ROUNDING_S) * per_second))))


def frames_at(source: Path | bytes, times: Sequence[float]) -> list[tuple[float, Image.Image]]:
    """The frame on screen at each time (seconds): its exact time in seconds, and the RGB image.

    That is the last frame whose time is not later (with a tolerance of a billionth of a second), the first one for
    earlier times, the last one for times after the end. The result equals sequential decoding; key frames are seeked
    to if that is cheaper. Raises SnellenError as `add_video` does.
    """
    return _frames_at(source, times, str(source) if isinstance(source, Path) else "a video in memory")


def frame_at_share(path: Path, share: float) -> Image.Image:
    """The RGB frame on screen at a share of the video's length: 0.5 is the middle. Raises as `add_video` does."""
    with open_video(path, str(path)) as (container, stream):
        seconds = timeline(container, stream, path, str(path)).seconds
    ((_, frame),) = _frames_at(path, [share * seconds], str(path))
    return frame


def video_format(container: InputContainer, raw: bytes, location: str) -> Literal["mp4", "mov", "avi", "webm", "mkv"]:
    """The format of an open file. Raises SnellenError for one that item sets do not support."""
    name = container.format.name
    if name.startswith("mov,mp4"):
        return "mov" if container.metadata.get("major_brand", "qt").strip() == "qt" else "mp4"
    if name.startswith("matroska"):
        return "webm" if re.search(rb"\x42\x82.webm", raw[:256], re.DOTALL) else "mkv"
    if name == "avi":
        return "avi"
    raise SnellenError(f"{location}: a file of format {name}; convert it to mp4, mov, avi, webm or mkv")


def video_fault(raw: bytes, media: Media) -> str | None:
    """The reason why bytes are not the video of a card (format, length, size on screen), or None; None without PyAV.

    All packets are read, but only the first and the last frame are decoded, with those that they depend on. AVI is
    decoded completely, since it does not store frame times.
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
            return f"a video of format {format} stored as {media.format}"
        seconds = timeline(container, stream, raw, location).seconds
    if abs(seconds - media.seconds) > _TOLERANCE_S:
        return f"a video of {seconds:g} s, not {media.seconds:g}"
    for _, frame in _frames_at(raw, [0.0, seconds], location):
        if frame.size != (media.width, media.height):
            return f"a video of {frame.width} x {frame.height} pixels, not {media.width} x {media.height}"
    return None


def _frames_at(source: Path | bytes, times: Sequence[float], location: str) -> list[tuple[float, Image.Image]]:
    if not times:
        return []
    with open_video(source, location) as (container, stream):
        line = timeline(container, stream, source, location)
        ticks = sorted(set(line.on_screen(times)))
        images = _decode_by_seeking(container, stream, line, ticks, location) if line.packets else None
    if images is None:
        line = decoded_timeline(source, location) if line.packets else line
        images = _decode_all(source, line, set(line.on_screen(times)), location)
    return [(line.time(tick), images[tick]) for tick in line.on_screen(times)]


def _decode_all(source: Path | bytes, line: Timeline, ticks: set[int], location: str) -> dict[int, Image.Image]:
    with open_video(source, location) as (container, stream):
        # the decoder's order is that on screen; the times that frames carry (in AVI) may not be
        frames = zip(line.ticks, container.decode(stream), strict=False)
        return {tick: _image(frame, location) for tick, frame in frames if tick in ticks}


def _decode_by_seeking(
    container: InputContainer, stream: VideoStream, line: Timeline, ticks: Sequence[int], location: str
) -> dict[int, Image.Image] | None:
    """The wanted frames, from the key frames before them; None if seeking does not reach exactly these."""
    places = {packet[0]: index for index, packet in enumerate(line.packets)}
    packets: Iterator[Any] = iter(())
    ready: dict[int, VideoFrame] = {}  # decoded, and not earlier than the last one taken
    images: dict[int, Image.Image] = {}
    reached = -len(places)  # the place reached; far away before the first jump
    for tick in ticks:
        key = line.key_before(places[tick])
        if key > reached + _JUMP or not images:
            container.seek(line.packets[key][0], stream=stream)  # by time: by decoding time mp4 lands a key frame early
            packets = container.demux(stream)
            first = next(packets)
            reached, ready = -1 if first.pts is None else places.get(first.pts, -1), {}
            if not 0 <= reached <= key or not first.is_keyframe:
                return None
            packets = chain([first], packets)
        while tick not in ready:
            packet = next(packets, None)
            if packet is None or any(later > tick for later in ready):
                return None
            frames = packet.decode()  # of a key frame, thousands may depend: those before `tick` are not kept
            ready |= {frame.pts: frame for frame in frames if frame.pts is not None and frame.pts >= tick}
            reached += 1
        if ready[tick].is_corrupt:
            return None
        images[tick] = _image(ready[tick], location)
        ready = {later: frame for later, frame in ready.items() if later > tick}
    return images


def _image(frame: VideoFrame, location: str) -> Image.Image:
    side: Any = frame.side_data
    image = Image.fromarray(convert_frame(frame, "rgb24").to_ndarray())
    if (matrix := side.get("DISPLAYMATRIX")) is None:
        return image
    a, b, _, c, d, *_ = struct.unpack("9i", bytes(matrix))
    signs = tuple(round(number / 65536, 3) for number in (a, b, c, d))
    if signs not in _TURNS:
        raise SnellenError(
            f"{location}: is displayed at an angle or another scale; rotate it upright and write it again"
        )
    turn = _TURNS[signs]
    return image if turn is None else image.transpose(turn)
