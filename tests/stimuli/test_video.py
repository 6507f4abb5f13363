"""Videos: frames compared with full decoding, accepted and refused files, clips written and joined."""

from __future__ import annotations

import builtins
import importlib
import io
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("av", reason="the extra 'video' is not installed")

from snellen.core.errors import SnellenError
from snellen.core.item import Media
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.stimuli.video import (
    JoinedVideo,
    Pixels,
    add_video,
    frame_at_share,
    frames_at,
    join_clips,
    rate_times,
    reading,
    uniform_times,
    video_fault,
    write_video,
)

av: Any = importlib.import_module("av")  # untyped: its types are complicated

SIZE = (64, 48)


def still(number: int, size: tuple[int, int] = SIZE) -> Pixels:
    """A frame with its number in ten black and white bars, above a colour that changes with it."""
    width, height = size
    frame = np.empty((height, width, 3), np.uint8)
    frame[:] = (number * 7 % 256, 255 - number * 3 % 256, number * 11 % 256)
    for bit in range(10):
        frame[: height // 2, bit * width // 10 : (bit + 1) * width // 10] = 255 * (number >> bit & 1)
    return frame


def number_of(image: Image.Image) -> int:
    """The number that `still` wrote."""
    bars = np.asarray(image.convert("L"))[: image.height // 2 - 4].mean(axis=0)
    middles = [round((bit + 0.5) * image.width / 10) for bit in range(10)]
    return sum(1 << bit for bit, x in enumerate(middles) if bars[x - 1 : x + 1].mean() > 128)


def stills(count: int, size: tuple[int, int] = SIZE, first: int = 0) -> list[Pixels]:
    return [still(first + number, size) for number in range(count)]


@dataclass(frozen=True)
class Clip:
    """Settings of a file of numbered frames, made by PyAV only. `ticks` are frame times in units of 1 / `clock` s."""

    count: int = 60
    gop: int = 12
    fps: int = 10
    options: Mapping[str, str] = field(default_factory=dict)
    format: str = "mp4"
    codec: str = "libx264"
    ticks: Sequence[int] | None = None
    clock: int | None = None
    turn: tuple[Any, ...] = ()
    muxing: Mapping[str, str] = field(default_factory=dict)

    def make(self) -> bytes:
        buffer = io.BytesIO()
        with av.open(buffer, "w", format=self.format, options=dict(self.muxing)) as file:
            same = {"x264-params": "mbtree=0"} if self.codec == "libx264" else {}  # otherwise not repeatable
            options = {"crf": "10", "sc_threshold": "0", "threads": "1", **same, **self.options}
            track = file.add_stream(self.codec, rate=self.fps, options=options)
            track.width, track.height, track.pix_fmt = *SIZE, "yuv420p"
            track.codec_context.gop_size = self.gop
            track.codec_context.time_base = Fraction(1, self.clock or self.fps)
            if self.turn:
                track.set_display_rotation(*self.turn)
            for number, pixels in enumerate(stills(self.count)):
                frame = av.VideoFrame.from_ndarray(pixels, "rgb24")
                frame.pts = self.ticks[number] if self.ticks else number
                file.mux(track.encode(frame))
            file.mux(track.encode(None))
        return buffer.getvalue()


def uneven(count: int) -> list[int]:
    gaps = stream("tests.video.gaps").integers(20, 400, count)
    return [int(tick) for tick in np.cumsum(gaps)]


SHORT = {"preset": "veryfast", "bf": "2"}
CLIPS = {
    "gop 1": Clip(40, 1),
    "gop 12": Clip(60, 12),
    "gop 30": Clip(70, 30),
    "gop 250": Clip(260, 250, 30, SHORT),
    "no b-frames": Clip(60, 12, options={"bf": "0"}),
    "many b-frames": Clip(70, 30, options={"bf": "8", "b-pyramid": "normal", "b-adapt": "2"}),
    "open gop": Clip(60, 12, options={"bf": "3", "x264-params": "open-gop=1:b-adapt=0"}),
    "intra refresh": Clip(60, 20, options={"x264-params": "intra-refresh=1"}),
    "uneven": Clip(60, 12, ticks=uneven(60), clock=1000),
    "starts late": Clip(60, 12, ticks=[7000 + 100 * n for n in range(60)], clock=1000),
    "starts late, uneven, mkv": Clip(60, 12, ticks=[90_000 + n for n in uneven(60)], clock=1000, format="matroska"),
    "starts before 0": Clip(60, 12, ticks=[n - 17 for n in range(60)], muxing={"avoid_negative_ts": "disabled"}),
    "mov": Clip(60, 12, format="mov"),
    "mkv": Clip(60, 12, format="matroska"),
    "webm": Clip(40, 12, format="webm", codec="libvpx-vp9", options={"deadline": "realtime", "cpu-used": "8"}),
    "webm, older": Clip(40, 12, format="webm", codec="libvpx", options={"auto-alt-ref": "1", "lag-in-frames": "16"}),
    "avi": Clip(60, 12, format="avi"),
    "old avi": Clip(60, 12, format="avi", codec="mpeg4", options={"bf": "2", "qmax": "2"}),
    "fragments": Clip(60, 12, muxing={"movflags": "frag_keyframe+empty_moov"}),
}
IN_ORDER = {"avi", "old avi", "intra refresh"}
"""Files that are decoded from their beginning: without times, or with incomplete key frames."""


@pytest.fixture(scope="session")
def clip_bytes() -> dict[str, bytes]:
    return {}


@pytest.fixture
def clip(request: pytest.FixtureRequest, clip_bytes: dict[str, bytes]) -> bytes:
    name = request.param
    if name not in clip_bytes:
        clip_bytes[name] = CLIPS[name].make()
    return clip_bytes[name]


def everything(raw: bytes) -> list[tuple[float, bytes]]:
    """The oracle: time and pixels of every frame in the decoder's order. Its times are the sorted times of the file."""
    how = av.video.reformatter.Interpolation
    exactly = how.BILINEAR | how.ACCURATE_RND | how.BITEXACT | how.FULL_CHR_H_INT
    with av.open(io.BytesIO(raw)) as file:
        frames = [
            (f.pts, f.time_base, f.to_ndarray(format="rgb24", interpolation=exactly)) for f in file.decode(video=0)
        ]
    ticks = sorted(pts for pts, _, _ in frames)
    return [
        (float((tick - ticks[0]) * base), pixels.tobytes())
        for tick, (_, base, pixels) in zip(ticks, frames, strict=True)
    ]


@pytest.mark.parametrize(("name", "clip"), [(name, name) for name in CLIPS], indirect=["clip"])
def test_frames_are_those_of_decoding_everything(name: str, clip: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = everything(clip)
    fell_back: list[str] = []
    plain = reading._decode_all

    def watched(*args: Any) -> Any:
        fell_back.append(name)
        return plain(*args)

    monkeypatch.setattr(reading, "_decode_all", watched)
    starts, end = [start for start, _ in oracle], 1.1 * oracle[-1][0]
    rng = stream("tests.video", name)
    cases = {
        "each": starts, "between": [(a + b) / 2 for a, b in pairwise(starts)][::7], "a second": rate_times(end, 1),
        "eight": uniform_times(end, 8), "anywhere": rng.uniform(-0.5, end + 1, 25).tolist(),
        "backwards, twice": [end, end / 2, end / 2, 0.0], "the last": [starts[-1]],
    }  # fmt: skip
    for case, times in cases.items():
        indices = [max((k for k, start in enumerate(starts) if start <= t + 1e-9), default=0) for t in times]
        got = frames_at(clip, times)
        assert [start_time for start_time, _ in got] == [starts[k] for k in indices], case
        assert all(image.tobytes() == oracle[k][1] for (_, image), k in zip(got, indices, strict=True)), case
    assert bool(fell_back) == (name in IN_ORDER)


@pytest.mark.parametrize("clip", ["gop 250", "uneven", "starts late", "old avi", "webm"], indirect=True)
def test_a_frame_has_the_number_that_was_encoded(clip: bytes) -> None:
    """The oracle above and the code share a decoder; the numbers in the images do not depend on it."""
    starts = [start for start, _ in everything(clip)]
    for number in (0, 1, 17, 39):
        assert [number_of(image) for _, image in frames_at(clip, [starts[number]])] == [number]


@pytest.mark.parametrize("clip", ["gop 12", "mov", "mkv", "webm", "fragments"], indirect=True)
def test_only_packets_needed_for_the_frame_are_decoded(clip: bytes) -> None:
    """All other packets are made unreadable; the frame is still right."""
    oracle = everything(clip)
    number = 29
    with av.open(io.BytesIO(clip)) as file:
        packets = [packet for packet in file.demux(video=0) if packet.size]
    keys = [index for index, packet in enumerate(packets) if packet.is_keyframe]
    first, after = max(k for k in keys if k <= number), min(k for k in keys if k > number + 6)
    broken = bytearray(clip)
    for packet in (*packets[2:first], *packets[after:]):  # the first two packets are read when a file is opened
        offset = clip.index(bytes(packet), packet.pos)
        broken[offset + 8 : offset + packet.size] = bytes(packet.size - 8)
    ((time, image),) = frames_at(bytes(broken), [oracle[number][0]])
    assert (time, image.tobytes()) == oracle[number]


def test_frames_before_the_wanted_one_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands may follow one key frame."""
    counts, image = list[int](), reading._image

    def counted(frame: Any, location: str) -> Image.Image:
        counts.append(len(sys._getframe(1).f_locals["ready"]))
        return image(frame, location)

    monkeypatch.setattr(reading, "_image", counted)
    frames_at(Clip(gop=60, options={"bf": "0"}).make(), [2.0, 5.0])
    assert counts == [1, 1]


def test_wrong_key_frame_flags_are_detected() -> None:
    """One packet in the middle is flagged as a key frame; nothing can be decoded from it on."""
    buffer = io.BytesIO()
    with av.open(io.BytesIO(CLIPS["gop 30"].make())) as file, av.open(buffer, "w", format="matroska") as out:
        (track,) = file.streams.video
        copy = out.add_stream_from_template(track)
        for number, packet in enumerate(packet for packet in file.demux(track) if packet.size):
            packet.stream = copy
            packet.is_keyframe = packet.is_keyframe or number in (16, 17)
            out.mux(packet)
    oracle = everything(buffer.getvalue())
    assert len(oracle) == 70
    for number in (15, 19, 20, 29, 30, 31):
        ((time, image),) = frames_at(buffer.getvalue(), [oracle[number][0]])
        assert (time, image.tobytes()) == oracle[number]


def test_without_requested_times_nothing_is_decoded() -> None:
    assert frames_at(b"no video", []) == []


@pytest.mark.parametrize("count", [8, 16])
@pytest.mark.parametrize("parts", [2, 3])
def test_every_part_of_a_sequence_has_two_frames_or_more(count: int, parts: int) -> None:
    for seconds in (0.9, 6.0, 100.0):
        times = uniform_times(seconds, count)
        frames_per_part = [
            sum(n * seconds / parts <= t < (n + 1) * seconds / parts for t in times) for n in range(parts)
        ]
        assert sum(frames_per_part) == count
        assert min(frames_per_part) >= (2 if count == 8 else 5)


def test_times() -> None:
    assert uniform_times(8.0, 4) == (1.0, 3.0, 5.0, 7.0)
    assert uniform_times(3.0, 1) == (1.5,)
    assert rate_times(3.0, 1) == (0.0, 1.0, 2.0), "not at the end: no frame is on screen there"
    assert rate_times(3.01, 1) == (0.0, 1.0, 2.0, 3.0)
    assert rate_times(0.2, 1) == (0.0,)
    assert rate_times(1.0, 2.5) == (0.0, 0.4, 0.8)
    with pytest.raises(SnellenError, match="more than 10000 frames"):
        rate_times(1e6, 1)
    assert len(rate_times(30 * (1 / 30), 1)) == 1
    for seconds, count in ((1, 0), (0, 8)):
        with pytest.raises(SnellenError, match="both must be positive"):
            uniform_times(seconds, count)
    with pytest.raises(SnellenError, match="both must be positive"):
        rate_times(1, 0)


@pytest.mark.parametrize(
    ("name", "format", "seconds"),
    [
        ("gop 12", "mp4", 6.0), ("mov", "mov", 6.0), ("mkv", "mkv", 6.0), ("webm", "webm", 4.0), ("avi", "avi", 6.0),
        ("starts late", "mp4", 6.0), ("starts before 0", "mp4", 4.3),
    ],
)  # fmt: skip
def test_a_video_is_kept_byte_for_byte(name: str, format: str, seconds: float, tmp_path: Path) -> None:
    path = tmp_path / "clip.any"  # the name does not matter
    path.write_bytes(CLIPS[name].make())
    folder = MediaFolder(tmp_path / "media")
    media = add_video(folder, path)
    assert (media.kind, media.format, media.width, media.height) == ("video", format, *SIZE)
    assert media.seconds == seconds
    assert folder.read(media) == path.read_bytes()


def test_uneven_frames_last_to_the_end_of_the_last(tmp_path: Path) -> None:
    ticks = CLIPS["uneven"].ticks
    assert ticks is not None
    (tmp_path / "clip.mp4").write_bytes(CLIPS["uneven"].make())
    seconds = add_video(MediaFolder(tmp_path), tmp_path / "clip.mp4").seconds
    assert 0 < seconds - (ticks[-1] - ticks[0]) / 1000 <= 0.4


def sound(tmp_path: Path) -> bytes:
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="mp4") as file:
        track = file.add_stream("aac", rate=16_000)
        track.layout = "mono"
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), "fltp", "mono")
        frame.rate = 16_000
        file.mux(track.encode(frame))
        file.mux(track.encode(None))
    return buffer.getvalue()


def faststart(tmp_path: Path) -> bytes:
    """A file with its index first, so that it opens even if its end is missing."""
    path = tmp_path / "whole.mp4"
    with av.open(str(path), "w", options={"movflags": "faststart"}) as file:
        track = file.add_stream("libx264", rate=10)
        track.width, track.height, track.pix_fmt = *SIZE, "yuv420p"
        for pixels in stills(40):
            file.mux(track.encode(av.VideoFrame.from_ndarray(pixels, "rgb24")))
        file.mux(track.encode(None))
    raw = path.read_bytes()
    return raw[: len(raw) * 2 // 3]


def empty(tmp_path: Path) -> bytes:
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="mp4", options={"movflags": "empty_moov"}) as file:
        track = file.add_stream("libx264", rate=10)
        track.width, track.height, track.pix_fmt = *SIZE, "yuv420p"
        file.start_encoding()
    return buffer.getvalue()


def image(tmp_path: Path) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(still(0)).save(buffer, "GIF", save_all=True, append_images=[Image.fromarray(still(9))])
    return buffer.getvalue()


@pytest.mark.parametrize("clip", CLIPS, indirect=True)
def test_a_video_has_the_properties_on_its_card(clip: bytes, tmp_path: Path) -> None:
    path = tmp_path / "clip.mp4"
    path.write_bytes(clip)
    media = add_video(MediaFolder(tmp_path), path)
    assert video_fault(clip, media) is None
    for change, message in (
        ({"seconds": media.seconds + 0.1}, " s, not "),
        ({"width": media.height, "height": media.width}, f"{SIZE[0]} x {SIZE[1]} pixels, not"),
        ({"format": "mp4" if media.format == "mkv" else "mkv"}, f"format {media.format} stored as"),
    ):
        assert message in (video_fault(clip, replace(media, **change)) or "")
    assert video_fault(clip[: len(clip) // 2], media) is not None


def test_a_video_is_decoded_once_and_by_the_gate_only(tmp_path: Path) -> None:
    """Another reader that only checks the hash neither clears nor sets what the gate remembers."""
    path, openings = tmp_path / "clip.mp4", list[Media]()
    path.write_bytes(CLIPS["mov"].make())
    media = add_video(MediaFolder(tmp_path / "media"), path)

    def fault(raw: bytes, media: Media) -> str | None:
        openings.append(media)
        return None

    for decodes, count in ((False, 0), (True, 1), (False, 1), (True, 1)):
        MediaFolder(tmp_path / "media").verify([("here", media)], video_fault=fault if decodes else None)
        assert len(openings) == count
    with pytest.raises(SnellenError, match="too long"):
        MediaFolder(tmp_path / "media").verify(
            [("here", media)], remember=False, video_fault=lambda raw, media: "too long"
        )


SDP = (
    b"v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\n"
)
"""A text by which FFmpeg would listen at a port."""


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda _: b"hello " * 100, "not a readable video"),
        (lambda _: CLIPS["gop 12"].make()[:3000], "not a readable video"),
        (faststart, "damaged or truncated"),
        (sound, "no video stream"),
        (empty, "no frames"),
        (image, "not a readable video"),
        (lambda _: SDP, "not a readable video"),
        (lambda _: b"ffconcat version 1.0\nfile other.mp4\n", "not a readable video"),
    ],
)
def test_files_that_are_not_videos_are_refused(make: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.mp4"
    path.write_bytes(make(tmp_path))
    with pytest.raises(SnellenError) as caught:
        add_video(MediaFolder(tmp_path / "media"), path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "media").exists()


def test_a_missing_file_or_package_is_reported_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SnellenError, match=r"none\.mp4: cannot be read"):
        add_video(MediaFolder(tmp_path), tmp_path / "none.mp4")
    with pytest.raises(SnellenError, match=r"none\.mp4: not a readable video \(No such file"):
        frames_at(tmp_path / "none.mp4", [0])
    plain = builtins.__import__

    def without(name: str, *args: Any) -> Any:
        if name == "av":
            raise ImportError("No module named 'av'")
        return plain(name, *args)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SnellenError, match=r"pip install .*\[video\]'"):
        frames_at(b"anything", [0])


@pytest.mark.parametrize(
    ("turn", "transpose"),
    [
        ((90,), Image.Transpose.ROTATE_90), ((-90,), Image.Transpose.ROTATE_270),
        ((180,), Image.Transpose.ROTATE_180), ((0, True, False), Image.Transpose.FLIP_LEFT_RIGHT),
        ((0, False, True), Image.Transpose.FLIP_TOP_BOTTOM), ((90, True, False), Image.Transpose.TRANSVERSE),
        ((90, False, True), Image.Transpose.TRANSPOSE),
    ],
)  # fmt: skip
def test_frames_are_rotated_as_stated_in_the_file(
    turn: tuple[Any, ...], transpose: Image.Transpose, tmp_path: Path
) -> None:
    ((_, plain),), ((_, turned),) = (frames_at(Clip(3, turn=t).make(), [0.1]) for t in ((), turn))
    assert turned.tobytes() == plain.transpose(transpose).tobytes()
    (tmp_path / "turned.mov").write_bytes(Clip(3, turn=turn).make())
    media = add_video(MediaFolder(tmp_path), tmp_path / "turned.mov")
    assert (media.width, media.height) == turned.size


def test_an_odd_angle_is_refused() -> None:
    with pytest.raises(SnellenError, match="at an angle"):
        frames_at(Clip(3, turn=(30,)).make(), [0])


def test_flips_match_video_players() -> None:
    """`TRANSVERSE` and `TRANSPOSE` above, also by hand: rotated by 90 degrees, then mirrored left to right."""
    ((_, plain),), ((_, turned),) = (frames_at(Clip(1, turn=t).make(), [0]) for t in ((), (90, True, False)))
    by_hand = plain.transpose(Image.Transpose.ROTATE_90).transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    assert turned.tobytes() == by_hand.tobytes()


def test_written_frames_come_back(tmp_path: Path) -> None:
    path = tmp_path / "a" / "clip.mp4"
    written = stills(50, (96, 64))
    write_video(iter(written), path, fps=25, gop=10)
    media = add_video(MediaFolder(tmp_path / "media"), path)
    assert (media.format, media.width, media.height, media.seconds) == ("mp4", 96, 64, 2.0)
    read = frames_at(path, [n / 25 for n in range(50)])
    assert [time for time, _ in read] == [n / 25 for n in range(50)]
    assert [number_of(image) for _, image in read] == list(range(50))
    differ = [np.abs(np.asarray(p, int) - w).mean() for (_, p), w in zip(read, written, strict=True)]
    assert max(differ) < 4
    with av.open(str(path)) as file:
        (track,) = file.streams.video
        keys = [index for index, packet in enumerate(file.demux(track)) if packet.is_keyframe]
        assert (track.codec_context.name, track.codec_context.pix_fmt) == ("h264", "yuv420p")
    assert keys == [0, 10, 20, 30, 40], "every tenth, and none in between where the image jumps"


@pytest.mark.parametrize("colour", [(200, 40, 90), (10, 200, 30), (0, 0, 255), (255, 255, 255), (0, 0, 0)])
def test_colours_are_kept(colour: tuple[int, int, int], tmp_path: Path) -> None:
    write_video([np.full((48, 64, 3), colour, np.uint8)], tmp_path / "c.mp4", fps=1)
    ((_, read),) = frames_at(tmp_path / "c.mp4", [0])
    assert np.abs(np.asarray(read, int) - colour).max() <= 3


def test_same_frames_same_bytes(tmp_path: Path) -> None:
    rng = stream("tests.video.noise")
    noise = rng.integers(0, 256, (20, 48, 64, 3), dtype=np.uint8)
    for name in ("a", "b"):
        write_video(noise, tmp_path / f"{name}.mp4", fps=10)
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()
    assert b"Lavf" not in (tmp_path / "a.mp4").read_bytes(), "no version of the writing library"
    with av.open(str(tmp_path / "a.mp4")) as file:
        assert not file.metadata.keys() & {"creation_time", "encoder", "date"}
        assert not file.streams[0].metadata.keys() & {"creation_time", "encoder"}
    noise[19, 0, 0] ^= 255
    write_video(noise, tmp_path / "c.mp4", fps=10)
    assert (tmp_path / "c.mp4").read_bytes() != (tmp_path / "a.mp4").read_bytes()


@pytest.mark.parametrize(
    ("frames", "options", "message"),
    [
        (stills(2, (63, 48)), {}, "even sizes"), (stills(2, (64, 47)), {}, "even sizes"), ([], {}, "no frames"),
        ([*stills(1), *stills(1, (32, 32))], {}, "frame 1 has shape"), ([np.zeros((48, 64, 3))], {}, "uint8"),
        ([np.zeros((48, 64), np.uint8)], {}, "uint8"), (stills(2), {"fps": 0}, "at least 1"),
        (stills(2), {"gop": 0}, "at least 1"),
    ],
)  # fmt: skip
def test_failed_writing_leaves_no_file(frames: Any, options: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(SnellenError, match=message) as caught:
        write_video(frames, tmp_path / "clip.mp4", **{"fps": 10, **options})
    assert "clip.mp4" in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def walks(tmp_path: Path) -> tuple[Path, Path]:
    """Two clips at 10 frames per second: numbers 0 to 29, and 100 to 119."""
    for name, count, first in (("p", 30, 0), ("q", 20, 100)):
        write_video(stills(count, first=first), tmp_path / f"{name}.mp4", fps=10)
    return tmp_path / "p.mp4", tmp_path / "q.mp4"


def numbers(path: Path, fps: int) -> list[int]:
    seconds = add_video(MediaFolder(path.parent / "media"), path).seconds
    return [number_of(image) for _, image in frames_at(path, rate_times(seconds, fps))]


def test_clips_are_joined_in_equal_parts(walks: tuple[Path, Path], tmp_path: Path) -> None:
    p, q = walks
    joined = join_clips([p, q, p], tmp_path / "pqp.mp4")
    assert joined == JoinedVideo(3, 2.0, 10, SIZE, tuple(f"part {n}: cut from 3 to 2 s" for n in (1, 3)))
    assert numbers(tmp_path / "pqp.mp4", 10) == [*range(20), *range(100, 120), *range(20)]
    again = join_clips([q, q], tmp_path / "qq.mp4")
    assert (again.changed, again.parts, again.part_seconds) == ((), 2, 2.0)


def test_frames_and_files_are_joined(walks: tuple[Path, Path], tmp_path: Path) -> None:
    joined = join_clips([stills(12, first=50), walks[0]], tmp_path / "mixed.mp4", fps=10)
    assert joined.part_seconds == 1.2
    assert numbers(tmp_path / "mixed.mp4", 10) == [*range(50, 62), *range(12)]


def test_other_rates_are_taken_in_time_when_told(walks: tuple[Path, Path], tmp_path: Path) -> None:
    write_video(stills(60, first=200), tmp_path / "fast.mp4", fps=30)
    (tmp_path / "uneven.mp4").write_bytes(CLIPS["uneven"].make())
    for other in ("fast.mp4", "uneven.mp4"):
        with pytest.raises(SnellenError, match=r"frames per second \(10, .*\); give fps="):
            join_clips([walks[0], tmp_path / other], tmp_path / "out.mp4")
    assert not (tmp_path / "out.mp4").exists()
    joined = join_clips([walks[0], tmp_path / "fast.mp4"], tmp_path / "out.mp4", fps=15)
    assert joined.changed == (
        "part 1: cut from 3 to 2 s",
        "part 1: from 10 to 15 frames per second",
        "part 2: from 30 to 15 frames per second",
    )
    slow, quick = [n * 10 // 15 for n in range(30)], [200 + 2 * n for n in range(30)]
    assert numbers(tmp_path / "out.mp4", 15) == [*slow, *quick]
    uneven = join_clips([tmp_path / "uneven.mp4"], tmp_path / "even.mp4", fps=5)
    assert uneven.changed[-1] == "part 1: from an uneven number of to 5 frames per second"


def test_other_sizes_are_fitted_on_black_when_told(walks: tuple[Path, Path], tmp_path: Path) -> None:
    write_video([np.full((64, 64, 3), 255, np.uint8)] * 20, tmp_path / "square.mp4", fps=10)
    with pytest.raises(SnellenError, match=r"differ in size \(\(64, 48\), \(64, 64\)\); give size="):
        join_clips([walks[0], tmp_path / "square.mp4"], tmp_path / "out.mp4")
    joined = join_clips([walks[0], tmp_path / "square.mp4"], tmp_path / "out.mp4", size=(128, 48))
    assert joined.changed[1:] == (
        "part 1: from 64 x 48 to 128 x 48 px, on black",
        "part 2: from 64 x 64 to 128 x 48 px, on black",
    )
    ((_, wide), (_, square)) = frames_at(tmp_path / "out.mp4", [0.0, 3.0])
    assert (wide.size, square.size) == ((128, 48), (128, 48))
    light = np.asarray(square.convert("L"))
    assert light[:, 44:84].min() > 240, "48 px wide in the middle: as high as wide"
    assert light[:, :36].max() < 15 > light[:, 92:].max()


def test_clips_that_cannot_be_joined_are_refused(walks: tuple[Path, Path], tmp_path: Path) -> None:
    for parts, message in (
        ([], "no clips"),
        ([stills(3)], "give fps="),
        ([tmp_path / "none.mp4"], "not a readable video"),
    ):
        with pytest.raises(SnellenError, match=message):
            join_clips(parts, tmp_path / "out.mp4")
    with pytest.raises(SnellenError, match="part 2 has no frames"):
        join_clips([walks[0], []], tmp_path / "out.mp4", fps=10)
    write_video(stills(3), tmp_path / "short.mp4", fps=10)
    with pytest.raises(SnellenError, match="less than one frame"):
        join_clips([tmp_path / "short.mp4"], tmp_path / "out.mp4", fps=1)


def test_the_middle_frame_is_on_screen_at_half_the_length(tmp_path: Path) -> None:
    path = tmp_path / "clip.mp4"
    write_video(stills(20), path, fps=10)  # two seconds: frame 10 starts at 1 s, frame 5 at 0.5 s
    assert [number_of(frame_at_share(path, share)) for share in (0.0, 0.25, 0.5, 1.0)] == [0, 5, 10, 19]
