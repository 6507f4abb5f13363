"""Cheap images for learning a language: flat figures on a pale ground, a red box around a patch of one colour.

Questions and answers are like those of AVA-Bench's colour; no image, scene or renderer is shared with an item set.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from snellen.core.seeds import stream
from snellen.suites.ava_bench.prompts import TABLE_1
from snellen.suites.ava_bench.transforms import draw_boxes
from snellen.towers.heads.llava_files import Record, question_record, write_llava

SIZE_PX = 384, 288
PAINTS = ((214, 54, 50), (54, 156, 72), (44, 92, 200), (222, 188, 48), (148, 66, 184))
GROUND_SHARE = 0.28
"""The share of boxes on the ground; the others are on a figure."""
TRIES = 40
Rgb = tuple[int, int, int]


def lit(paint: Rgb, light: float) -> Rgb:
    """The colour of a paint in a light."""
    red, green, blue = (min(255, int(level * light)) for level in paint)
    return red, green, blue


class Figure(NamedTuple):
    """The centre and half sides of a figure, in pixels."""

    x: int
    y: int
    across: int
    along: int


def draw_figures(rng: np.random.Generator) -> tuple[Image.Image, list[Figure]]:
    """One to forty overlapping discs, boards, gables and crates, each with a paint and a light."""
    red, green, blue = (int(level) for level in rng.uniform(150, 205, 3))
    image, figures = Image.new("RGB", SIZE_PX, (red, green, blue)), list[Figure]()
    pen = ImageDraw.Draw(image)
    for _ in range(int(2 ** rng.uniform(0, 5.3))):
        size = 2 ** rng.uniform(2.8, 6)
        x, y = (int(rng.integers(20, side - 20)) for side in SIZE_PX)
        figure = Figure(x, y, int(size * rng.uniform(0.6, 1.4)), int(size * rng.uniform(0.6, 1.4)))
        draw_figure(pen, figure, int(rng.integers(4)), PAINTS[int(rng.integers(len(PAINTS)))], rng.uniform(0.5, 1.12))
        figures.append(figure)
    return image, figures


def draw_figure(pen: ImageDraw.ImageDraw, figure: Figure, sort: int, paint: Rgb, light: float) -> None:
    """Draw one of four sorts: a disc, a gable, a crate with a lighter lid, or a board."""
    x, y, across, along = figure
    frame, fill = (x - across, y - along, x + across, y + along), lit(paint, light)
    if sort == 0:
        pen.ellipse(frame, fill)
    elif sort == 1:
        pen.polygon([(x - across, y + along), (x + across, y + along), (x, y - along)], fill)
    else:
        pen.rectangle(frame, fill)
    if sort == 2:
        inset, top = across // 3, y - along - along // 3
        lid = [(frame[0], frame[1]), (frame[2], frame[1]), (frame[2] - inset, top), (frame[0] + inset, top)]
        pen.polygon(lid, lit(paint, min(1.15, light + 0.15)))


def boxed(image: Image.Image, figures: list[Figure], rng: np.random.Generator) -> tuple[Image.Image, Rgb] | None:
    """The image with a red box around a patch of one colour, of the ground or a figure; None if none was found."""
    pixels, on_ground = np.asarray(image), rng.random() < GROUND_SHARE
    ground = tuple(int(level) for level in pixels[0, 0])
    for _ in range(TRIES):
        figure = figures[int(rng.integers(len(figures)))]
        side = int(rng.integers(5, 31 if on_ground else max(6, min(30, figure.across, figure.along))))
        middle = [int(rng.integers(length)) for length in SIZE_PX] if on_ground else [figure.x, figure.y]
        x, y = (int(np.clip(c - side // 2, 4, length - side - 4)) for c, length in zip(middle, SIZE_PX, strict=True))
        patch = pixels[y : y + side, x : x + side].reshape(-1, 3)
        colour = tuple(int(level) for level in patch[0])
        if (patch == patch[0]).all() and (colour == ground) == on_ground:
            return draw_boxes(image, {"red": (x, y, x + side, y + side)}), (colour[0], colour[1], colour[2])
    return None


def questions(count: int, folder: Path, seed: int) -> Iterator[Record]:
    """Questions, each about a separate image that is written into the folder.

    Answers are the middle of the ten of each level: the last digit is learned later, from few examples.
    """
    rng = stream("drawn tables", seed)
    folder.mkdir()
    number = 0
    while number < count:
        if (answer := boxed(*draw_figures(rng), rng)) is None:
            continue
        image, colour = answer
        red, green, blue = (level // 10 * 10 + 5 for level in colour)
        image.save(folder / f"{number}.png", compress_level=1)
        yield question_record(str(number), f"{number}.png", TABLE_1["colour"], f"[{red}, {green}, {blue}]")
        number += 1


def write_questions(count: int, images: Path, seed: int) -> Path:
    """Write questions in LLaVA's layout, next to the folder of their images."""
    path = images.with_suffix(".json")
    write_llava(path, list(questions(count, images, seed)))
    return path
