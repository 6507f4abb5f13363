"""Drawn questions on disk: images as the processor resizes them, prompts and answers; and tables for an exam."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from snellen.core.errors import SnellenError
from snellen_phantoms.questions import ABILITIES, HELD_OUT_SEED, OWN, TABLE_SEED, TRAINING_SEED, question_of

PX = 128
"""Side of the image that a phantom reads."""
HELD_OUT = 200
"""Questions of each ability that are not trained on."""


@dataclass(frozen=True)
class TrainingPair:
    """A prompt and its answer, with the ability that they are about."""

    ability: str
    prompt: str
    answer: str


@dataclass(frozen=True)
class Pairs:
    """Images (n, 128, 128, 3), 8-bit sRGB, and a pair for each; the first `held_out` are not trained on."""

    images: NDArray[np.uint8]
    pairs: Sequence[TrainingPair]
    held_out: int


def resized(image: Image.Image) -> NDArray[np.uint8]:
    """The image as the processor of a phantom resizes it, (128, 128, 3)."""
    return np.asarray(image.convert("RGB").resize((PX, PX), Image.Resampling.BICUBIC))


def draw_pairs(folder: Path, count: int, held_out: int = HELD_OUT) -> Pairs:
    """Draw `count` training questions of each ability and `held_out` others, abilities in turn, or read those drawn.

    Raises SnellenError if the folder has another number of them.
    """
    path, rows = folder / "images.npy", folder / "pairs.json"
    if not rows.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        shape = (len(ABILITIES) * (count + held_out), PX, PX, 3)
        images = np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=shape)
        drawn = list[tuple[str, str, str]]()
        for seed, number in [
            *((HELD_OUT_SEED, number) for number in range(held_out)),
            *((TRAINING_SEED, number) for number in range(count)),
        ]:
            for ability in ABILITIES.values():
                example = question_of(ability, seed, number)
                images[len(drawn)] = resized(example.image)
                drawn.append((ability.name, ability.prompt(example), example.answer))
        images.flush()
        rows.write_text(json.dumps(drawn))
    pairs = [TrainingPair(*row) for row in json.loads(rows.read_text())]
    if len(pairs) != len(ABILITIES) * (count + held_out):
        raise SnellenError(f"{folder}: has {len(pairs)} questions, not {len(ABILITIES) * (count + held_out)}")
    return Pairs(np.load(path, mmap_mode="r"), pairs, len(ABILITIES) * held_out)


def write_table(folder: Path, count: int, seed: int = TABLE_SEED, counts: Mapping[str, int] = {}) -> Path:
    """Write unused questions of `OWN` as images and a table for `snellen run`; its path.

    There are `count` of each ability, but for those that `counts` names.
    """
    (folder / "images").mkdir(parents=True)
    path = folder / "questions.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["image", "question", "answer", "task", "colour"])
        for ability in OWN.values():
            for number in range(counts.get(ability.name, count)):
                example = question_of(ability, seed, number)
                name = f"images/{ability.name}-{number:04d}.png"
                example.image.save(folder / name, compress_level=1)
                colour = example.factors.get("colour", "")
                writer.writerow([name, example.question, example.answer, ability.name, colour])
    return path
