"""One frame a second of a video, beside decoding every frame of it.

    python bench/video_sampling.py            60 s of 640 x 360 at 30 frames a second
    python bench/video_sampling.py --quick    12 s

Both ways end in the same images, which is checked. CPU seconds of all threads, the least of five rounds in turn;
opening the file and reading its table of packets is part of our way.

Predicted before it was run: with a key frame every 30 frames each wanted frame is one, so that 60 of 1,800 are decoded
and about three more each until the decoder lets go of them. At 1 ms a frame (2 for key frames) and 2 for the conversion
to RGB, which both ways pay 60 times, that is (60 x (2 + 3 + 2)) / (1,800 + 60 x 2) ms: a ratio of 0.22. With one every
250 frames nearly all frames lie between a key frame and a wanted one, so that nothing is saved: 1.0.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import av
import numpy as np
from PIL import Image

from snellen.core.seeds import stream
from snellen.stimuli.video import Pixels, frames_at, rate_times, write_video
from snellen.stimuli.video.timeline import convert_frame

SIZE, FPS, ROUNDS = (640, 360), 30, 5
GOPS = (30, 250)
PREDICTED = {30: 0.22, 250: 1.0}


def panning(seconds: int) -> Iterator[Pixels]:
    """A camera that wanders over a large image of soft patches and fine grain."""
    width, height = SIZE
    rng = stream("bench.video")
    patches = Image.fromarray(rng.integers(0, 256, (24, 40, 3), dtype=np.uint8))
    wide = np.asarray(patches.resize((2 * width, 2 * height), Image.Resampling.BICUBIC), np.int16)
    scene = (wide + rng.normal(0, 4, wide.shape)).clip(0, 255).astype(np.uint8)
    for turn in np.arange(seconds * FPS) / FPS * 0.3:
        x, y = round((1 + np.sin(turn)) * width / 2), round((1 + np.cos(1.3 * turn)) * height / 2)
        yield scene[y : y + height, x : x + width]


def every_frame(path: Path, seconds: int) -> list[bytes]:
    """The plain way: decode all, make an image of the first frame of each second."""
    with av.open(str(path)) as file:
        frames = [
            convert_frame(frame, "rgb24").to_ndarray().tobytes()
            for number, frame in enumerate(file.decode(video=0))
            if number % FPS == 0
        ]
    assert len(frames) == seconds
    return frames


def a_frame_a_second(path: Path, seconds: int) -> list[bytes]:
    """Our way."""
    return [image.tobytes() for _, image in frames_at(path, rate_times(seconds, 1))]


def measured(path: Path, seconds: int) -> tuple[float, float]:
    """CPU seconds of the plain way and of ours."""
    ways: tuple[Callable[[Path, int], list[bytes]], ...] = (every_frame, a_frame_a_second)
    least = [float("inf")] * 2
    for _ in range(ROUNDS):
        told = []
        for place, way in enumerate(ways):
            start = time.process_time()
            told.append(way(path, seconds))
            least[place] = min(least[place], time.process_time() - start)
        if told[0] != told[1]:
            raise SystemExit("the two ways show different images")
    return least[0], least[1]


def main() -> None:
    """Make the clips, measure both ways and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="12 seconds of video")
    seconds = 12 if parser.parse_args().quick else 60
    print("| key frame every | every frame, CPU s | one a second, CPU s | ratio | predicted |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for gop in GOPS:
            path = Path(folder) / f"{gop}.mp4"
            write_video(panning(seconds), path, fps=FPS, gop=gop)
            plain, ours = measured(path, seconds)
            print(f"| {gop} frames | {plain:.2f} | {ours:.2f} | {ours / plain:.2f} | {PREDICTED[gop]} |", flush=True)


if __name__ == "__main__":
    main()
