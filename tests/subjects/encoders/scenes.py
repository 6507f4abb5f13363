"""Tiny drawn images and hand-made views."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from snellen.core.item import Demo, Media, Option, ReplySpec, View
from snellen.core.prompt import Prompt, Reply
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import TrainingExample
from snellen.subjects.encoders import EncoderSubject, make_encoder

RED, GREEN, BLUE = (200, 30, 30), (30, 160, 40), (40, 60, 200)
FLOOR = (150, 150, 150)


def draw(shape: str, colour: tuple[int, int, int], center: tuple[int, int] = (80, 60), radius: int = 30) -> Image.Image:
    """A disc, square, triangle or bar of one colour and about one area, on a grey floor, 160x120."""
    image = Image.new("RGB", (160, 120), FLOOR)
    brush, (x, y), r = ImageDraw.Draw(image), center, radius
    if shape == "disc":
        brush.ellipse((x - r, y - r, x + r, y + r), colour)
    elif shape == "square":
        half = round(r * np.sqrt(np.pi) / 2)
        brush.rectangle((x - half, y - half, x + half, y + half), colour)
    elif shape == "triangle":
        brush.polygon([(x - 1.35 * r, y + 0.9 * r), (x + 1.35 * r, y + 0.9 * r), (x, y - 1.43 * r)], colour)
    else:
        brush.rectangle((x - 2 * r, y - 0.4 * r, x + 2 * r, y + 0.4 * r), colour)
    return image


class Album:
    """A media folder with drawn images in it, and views of them."""

    def __init__(self, root: Path) -> None:
        self.folder = MediaFolder(root)
        self.count = 0

    def add(
        self, shape: str, colour: tuple[int, int, int], center: tuple[int, int] = (80, 60), radius: int = 30
    ) -> Media:
        return self.folder.add_image(draw(shape, colour, center, radius))

    def view(
        self,
        query: Sequence[Media],
        options: Sequence[Option] = (),
        support: Sequence[Demo] = (),
        question: str = "Which colour?",
        kind: Any = "choice",
        stimulus: str = "",
    ) -> View:
        self.count += 1
        keys = tuple((option.text or option.key, option.key) for option in options)
        if kind == "true_false":
            keys = (("T", "true"), ("F", "false"))
        item = f"item-{self.count}"
        spec = ReplySpec(kind, keys)
        return View(item, stimulus or item, "task", question, tuple(query), spec, tuple(options), tuple(support))


def subject(name: str, **settings: str) -> EncoderSubject:
    encoder = make_encoder(name, settings, ())
    assert isinstance(encoder, EncoderSubject)
    return encoder


def ask(encoder: EncoderSubject, album: Album, *views: View) -> Reply:
    prompt = Prompt(("Look.",), views)
    assert encoder.declines(prompt) is None
    return asyncio.run(encoder.answer(prompt, album.folder, stream("test", 0)))


def declined(encoder: EncoderSubject, *views: View) -> str | None:
    return encoder.declines(Prompt(("Look.",), views))


def teach(encoder: EncoderSubject, album: Album, examples: Sequence[TrainingExample]) -> EncoderSubject:
    fitted = asyncio.run(encoder.fit(examples, album.folder))
    assert isinstance(fitted, EncoderSubject)
    return fitted
