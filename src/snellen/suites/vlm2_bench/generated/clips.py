"""Generated videos for identity description of objects.

An object crosses the floor and leaves, another one that differs in one cue appears, and the first may return. All clips
have the same length. The returning object moves backwards in time, so that its second appearance is not a copy of the
first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import numpy as np

from snellen.core.build_options import BuildOptions
from snellen.core.hashing import canonical
from snellen.core.item import Item, Media
from snellen.core.seeds import seed_of, stream
from snellen.core.storage.item_rows import recipe_name
from snellen.core.storage.media import MediaFolder, open_image
from snellen.stimuli.render import Render
from snellen.stimuli.scenes import (
    Appearance,
    Camera,
    Composite,
    RenderSpec,
    Scene,
    chain,
    composite,
    composite_scene,
    move,
    text_name,
    turn,
)
from snellen.stimuli.video import Pixels, add_video, join_clips
from snellen.suites.vlm2_bench.generated.objects import appearance_of, neighbours
from snellen.suites.vlm2_bench.items import STREAMS, SUITE, Pattern, video_item

FRAMES, FRAMES_A_SECOND = 48, 12
QUICK_FRAMES, QUICK_FRAMES_A_SECOND = 16, 4
"""For trials: clips of the same duration with fewer frames."""
HALF_WAY_M = 3.3
"""Distance from the middle of the floor to the start and end of the path, just outside the image."""
VIDEOS_A_PAIR = 4
"""Videos made from two clips: each object first, in two parts and in three."""


@dataclass(frozen=True)
class ClipPair:
    """Two objects that differ in one dimension, in the same studio."""

    number: int
    first: int
    second: int
    differs: str


def draw_pair(seed: int, number: int) -> ClipPair:
    """A random composite and a neighbour that differs in a clearly visible dimension."""
    rng = stream(SUITE, STREAMS, seed, "clips", number)
    while True:
        first = int(rng.integers(9504))
        near = neighbours(first)
        dimensions = [
            d for d in ("colour/primary", "material/primary", "shape/secondary", "colour/secondary") if d in near
        ]
        if dimensions:
            differs = dimensions[int(rng.integers(len(dimensions)))]
            return ClipPair(number, first, near[differs][int(rng.integers(len(near[differs])))], differs)


def clip_specs(index: int, pair: ClipPair, seed: int, frames: int, size_px: tuple[int, int]) -> list[RenderSpec]:
    """The frames of one clip: the object enters at the start of the path, rotates while it moves, and leaves."""
    rng = stream(SUITE, STREAMS, seed, "clip", pair.number)  # both objects have the same studio, path and camera
    azimuth, turned = float(rng.uniform(0, 360)), float(rng.uniform(0, 360))
    speed_deg = float(rng.uniform(60, 120))
    scene, camera = composite_scene(composite(index)), _camera(azimuth, size_px)
    shots = []
    for frame in range(frames):
        share = frame / (frames - 1)
        spin = turn((0.0, 0.0, 1.0), turned + speed_deg * share)
        away = HALF_WAY_M * (2 * share - 1)
        course = math.radians(azimuth + 90)  # across the image
        shift = (away * math.cos(course), away * math.sin(course), 0.0)
        solids = tuple(move(solid, chain(spin), shift) for solid in scene.solids)
        frame_scene = Scene(solids, scene.floor, scene.lights, scene.dome)
        shots.append(
            RenderSpec(frame_scene, camera, seed_of(SUITE, STREAMS, seed, "clip noise", pair.number, index, frame))
        )
    return shots


def _camera(azimuth_deg: float, size_px: tuple[int, int]) -> Camera:
    away, up = 8.0, math.radians(28)
    x, y = math.cos(math.radians(azimuth_deg)), math.sin(math.radians(azimuth_deg))
    position = (away * math.cos(up) * x, away * math.cos(up) * y, away * math.sin(up) + 0.6)
    return Camera(position, (0.0, 0.0, 0.9), width_px=size_px[0], height_px=size_px[1])


def description(index: int, other: int, pattern: Pattern) -> str:
    """A full description: the first object, a different second one, and (for PQP) the return of the first."""
    text = (
        f"First {spoken(composite(index))} crosses the floor from one side to the other and leaves. Then a different "
        f"object comes, {spoken(composite(other))}. The first and the second object are two different objects."
    )
    if pattern == "PQP":
        text += " At the end the first object returns: the last object is the same as the first."
    return text


def spoken(block: Composite) -> str:
    """A composite in words: both primitives and where they touch."""
    first, second = (_spoken_part(appearance) for appearance in (block.primary, block.secondary))
    anchor = text_name("contact-point/anchor", block.anchor)
    return f"{first} with {second} (joined by its {text_name('contact-point/pivot', block.pivot)}) on its {anchor}"


def _spoken_part(appearance: Appearance) -> str:
    colour = f"{appearance.colour} " if appearance.colour else ""
    return f"a {colour}{appearance.material} {text_name('shape', appearance.shape)}"


def timing(options: BuildOptions) -> tuple[int, int]:
    """Frames per clip, and frames per second."""
    return (QUICK_FRAMES, QUICK_FRAMES_A_SECOND) if options.quick else (FRAMES, FRAMES_A_SECOND)


def video_items(
    pairs: Sequence[ClipPair], count: int, options: BuildOptions, renders: Iterator[Render], media: MediaFolder
) -> Iterator[Item]:
    """`count` videos of pairs of clips: each object first, in two or three parts. Numbered in random order.

    Pairs take turns, and each starts with a different kind, so that even few videos cover all four kinds.
    """
    numbers = stream(SUITE, STREAMS, options.seed, "videos").permutation(count)
    frame_count, rate = timing(options)
    patterns: tuple[Pattern, ...] = ("PQ", "PQP")
    kinds = [(order, pattern) for order in (1, -1) for pattern in patterns]
    video_number = 0
    for turn_number, pair in enumerate(pairs):
        frames = {index: [_frame(*next(renders)) for _ in range(frame_count)] for index in (pair.first, pair.second)}
        for place in range(len(range(turn_number, count, len(pairs)))):
            direction, pattern = kinds[(turn_number + place) % len(kinds)]
            first, second = (pair.first, pair.second)[::direction]
            parts = [frames[first], frames[second], *([frames[first][::-1]] if pattern == "PQP" else [])]
            video = _join(parts, rate, media)
            yield _video_item(f"{int(numbers[video_number]):04d}", video, pattern, (first, second), pair, options.seed)
            video_number += 1


def _video_item(handle: str, video: Media, pattern: Pattern, order: tuple[int, int], pair: ClipPair, seed: int) -> Item:
    first, second = order
    return video_item(
        "oc",
        handle,
        video,
        pattern,
        answer=description(first, second, pattern),
        cluster=f"clips-{pair.number:03d}",
        latent={"parts": [appearance_of(first), appearance_of(second)]},
        provenance={"seed": seed, "composites": list(order), "differs": pair.differs},
    )


Frame: TypeAlias = tuple[Pixels, str]
"""A frame of a clip, and the name of its recipe."""


def _join(clip_frames: Sequence[Sequence[Frame]], rate: int, media: MediaFolder) -> Media:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "video.mp4"
        join_clips([[pixels for pixels, _ in frames] for frames in clip_frames], path, fps=rate)
        video = add_video(media, path)
    names = [name for frames in clip_frames for _, name in frames]
    media.recipes[video.sha256] = canonical({"frames": names, "frames_per_second": rate})
    return video


def _frame(path: Path, recipe: str) -> Frame:
    with open_image(path) as image:
        return np.asarray(image.convert("RGB")), recipe_name(recipe)
