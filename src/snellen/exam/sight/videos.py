"""The letters that a video shows for a second each: how many frames arrive."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from snellen_sight import drawing
from snellen_sight.checks.check import SightCheck
from snellen_sight.checks.order import LETTERS
from snellen_sight.drawing import SightFile
from snellen_sight.likelihood import FINE, SightQuestion

VIDEO_SECONDS, VIDEO_FPS = 12, 8
SAMPLERS = {
    FINE: range(VIDEO_SECONDS),
    **{
        f"{count} frames, {where}": [min(VIDEO_SECONDS - 1, int(VIDEO_SECONDS * share)) for share in shares]
        for count in range(1, VIDEO_SECONDS - 1)
        for where, shares in (
            ("middles of parts", (np.arange(count) + 0.5) / count),
            ("starts of parts", np.arange(count) / count),
            ("with both ends", np.linspace(0, 1, count)),
        )
    },
}
"""By explanation, the seconds from which frames are taken. Letters follow each other every second."""


@cache  # many subjects may be asked with one seed
def _letters(order: tuple[str, ...]) -> SightFile:
    from snellen.stimuli.video.writing import write_video

    frames = (frame for letter in order for frame in [np.asarray(drawing.letter(letter, 320))] * VIDEO_FPS)
    with tempfile.TemporaryDirectory(prefix="snellen-sight-") as folder:
        path = Path(folder) / "letters.mp4"
        write_video(frames, path, fps=VIDEO_FPS)
        return SightFile(path.read_bytes(), "mp4", (320, 320), float(VIDEO_SECONDS))


def _video(rng: np.random.Generator, number: int) -> SightQuestion:
    order = [str(letter) for letter in rng.permutation(LETTERS)]
    video = _letters(tuple(order))
    text = (
        "The video shows capital letters, one after the other. Write all letters in the order in which they appear, "
        "separated by commas, and nothing else."
    )
    expected = {name: tuple(frozenset({order[place]}) for place in places) for name, places in SAMPLERS.items()}
    return SightQuestion("video", (video,), text, LETTERS, expected)


VIDEO = SightCheck("video", _video, 2, 3, "videos", {
    FINE: "a video arrives with at least one frame per second",
    **{
        name: f"about {name.partition(' ')[0]} frames of a video of {VIDEO_SECONDS} s arrive"
        for name in SAMPLERS if name != FINE
    },
})  # fmt: skip
