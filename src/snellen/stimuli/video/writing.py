"""Writes videos from frames, and joins clips."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from snellen.core.errors import SnellenError
from snellen.core.storage import files
from snellen.stimuli.video.reading import frames_at
from snellen.stimuli.video.timeline import ROUNDING_S, convert_frame, open_video, pyav, timeline

if TYPE_CHECKING:
    from av.video.stream import VideoStream

Pixels: TypeAlias = NDArray[np.uint8]
"""One frame: (height, width, 3), red, green, blue."""
_CRF = 16


def write_video(frames: Iterable[Pixels], path: Path, *, fps: int, gop: int = 12) -> None:
    """Write frames, (height, width, 3) uint8 RGB of one even size, as an H.264 mp4, atomically.

    `fps` frames per second, a key frame every `gop` frames. Same frames, same bytes (with the same encoder version).
    Raises SnellenError for no frames, another shape or type, an odd size, or a rate or distance below 1.
    """
    files.write_bytes(path, _encode(frames, str(path), fps, gop))


@dataclass(frozen=True)
class JoinedVideo:
    """The result of `join_clips`: equal parts in sequence, each `part_seconds` long.

    `changed` describes each change that was made to a part, counted from 1, to fit it in.
    """

    parts: int
    part_seconds: float
    fps: int
    size: tuple[int, int]
    changed: tuple[str, ...] = ()


def join_clips(
    clip_sources: Sequence[Path | Sequence[Pixels]],
    path: Path,
    *,
    fps: int | None = None,
    size: tuple[int, int] | None = None,
    gop: int = 12,
) -> JoinedVideo:
    """Write clips in sequence as one mp4 (re-encoded, without sound), all cut to the length of the shortest.

    Parts given as frames run at `fps`. If sizes (width, height) differ, `size` is required: clips are scaled to fit
    (Lanczos) on black, never stretched. If rates differ or are not whole numbers, `fps` is required: each frame is then
    the one on screen at its time, never a blend. Raises SnellenError if these are missing, and as `add_video` and
    `write_video` do.
    """
    clips = [_clip(part, number, fps) for number, part in enumerate(clip_sources, 1)]
    if not clips:
        raise SnellenError(f"{path}: no clips to join; give at least one")
    size = size or _common([clip.size for clip in clips], f"{path}: the clips differ in size", "size=(width, height)")
    fps = fps or _common([clip.fps for clip in clips], f"{path}: the clips differ in frames per second", "fps=…")
    if fps is None:
        raise SnellenError(f"{path}: the clips have no whole number of frames per second; give fps=…")
    count = int(min(clip.seconds for clip in clips) * fps + 1e-6)
    if count < 1:
        raise SnellenError(f"{path}: the shortest clip lasts less than one frame at {fps} per second; leave it out")
    changed = [
        change for number, clip in enumerate(clips, 1) for change in clip.changes(number, count / fps, fps, size)
    ]
    files.write_bytes(path, _encode(_fit_frames(clips, count, fps, size), str(path), fps, gop))
    return JoinedVideo(len(clips), count / fps, fps, size, tuple(changed))


@dataclass(frozen=True)
class _Clip:
    """One part to be joined. `fps` is None if a file has no whole number of frames per second."""

    part: Path | Sequence[Pixels]
    size: tuple[int, int]
    seconds: float
    fps: int | None

    def changes(self, number: int, seconds: float, fps: int, size: tuple[int, int]) -> Iterator[str]:
        if self.seconds > seconds + ROUNDING_S:
            yield f"part {number}: cut from {self.seconds:.6g} to {seconds:.6g} s"
        if self.fps != fps:
            yield f"part {number}: from {self.fps or 'an uneven number of'} to {fps} frames per second"
        if self.size != size:
            yield f"part {number}: from {self.size[0]} x {self.size[1]} to {size[0]} x {size[1]} px, on black"

    def frames(self, times: Sequence[float], rate: int) -> Iterator[Image.Image]:
        if isinstance(self.part, Path):
            for start in range(0, len(times), 64):  # in batches: a minute of video does not fit into memory
                yield from (image for _, image in frames_at(self.part, times[start : start + 64]))
        else:
            yield from (Image.fromarray(self.part[round(t * rate)]) for t in times)


def _clip(clip_source: Path | Sequence[Pixels], number: int, fps: int | None) -> _Clip:
    if not isinstance(clip_source, Path):
        if fps is None:
            raise SnellenError(f"part {number} is given as frames, which have no rate; give fps=…")
        if not len(clip_source):
            raise SnellenError(f"part {number} has no frames; leave it out")
        height, width = _check_frame(clip_source[0], f"part {number}").shape[:2]
        return _Clip(clip_source, (width, height), len(clip_source) / fps, fps)
    with open_video(clip_source, str(clip_source)) as (container, stream):
        line = timeline(container, stream, clip_source, str(clip_source))
    ((_, first),) = frames_at(clip_source, [0.0])
    return _Clip(clip_source, first.size, line.seconds, line.whole_rate())


def _common(values: Sequence[Any], problem: str, remedy: str) -> Any:
    if len(set(values)) > 1:
        raise SnellenError(f"{problem} ({', '.join(map(str, values))}); give {remedy}")
    return values[0]


def _fit_frames(clips: Sequence[_Clip], count: int, fps: int, size: tuple[int, int]) -> Iterator[Pixels]:
    for clip in clips:
        for image in clip.frames([n / fps for n in range(count)], fps):
            fits = image.size == size
            fitted = image if fits else ImageOps.pad(image, size, Image.Resampling.LANCZOS, color=(0, 0, 0))
            yield np.asarray(fitted)


def _check_frame(frame: Pixels, location: str) -> Pixels:
    if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3:
        raise SnellenError(
            f"{location}: a frame is {frame.dtype} of shape {frame.shape}; give uint8 of (height, width, 3)"
        )
    return frame


def _encode(frames: Iterable[Pixels], location: str, fps: int, gop: int) -> bytes:
    if fps < 1 or gop < 1:
        raise SnellenError(f"{location}: fps={fps}, gop={gop}; both must be at least 1")
    av, buffer, shape = pyav(), io.BytesIO(), None
    with av.open(buffer, "w", format="mp4", options={"fflags": "+bitexact"}) as container:
        for number, frame in enumerate(frames):
            if shape is None:
                shape = _check_frame(frame, location).shape
                stream = _video_stream(container, shape, location, fps, gop)
            if _check_frame(frame, location).shape != shape:
                raise SnellenError(
                    f"{location}: frame {number} has shape {frame.shape}, the first {shape}; make them equal"
                )
            video_frame = convert_frame(av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), "rgb24"), "yuv420p", 5)
            video_frame.pts, video_frame.duration, video_frame.time_base = number, 1, Fraction(1, fps)
            container.mux(stream.encode(video_frame))
        if shape is None:
            raise SnellenError(f"{location}: no frames to write; give at least one")
        container.mux(stream.encode(None))
    return buffer.getvalue()


def _video_stream(container: Any, shape: tuple[int, ...], location: str, fps: int, gop: int) -> VideoStream:
    height, width = shape[:2]
    if height % 2 or width % 2 or not height * width:
        raise SnellenError(
            f"{location}: {width} x {height} px; this video format needs even sizes: crop or scale by one"
        )
    # one thread, key frames only by count, no macroblock tree, whose sums differ from call to call
    options = {"crf": str(_CRF), "preset": "medium", "threads": "1", "sc_threshold": "0", "x264-params": "mbtree=0"}
    stream: VideoStream = container.add_stream("libx264", rate=fps, options=options)
    stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
    coder = stream.codec_context
    coder.gop_size, coder.time_base = gop, Fraction(1, fps)
    coder.colorspace, coder.color_range = 6, 1  # BT.601, 16 to 235, stated since players otherwise guess by size
    return stream
