"""Toy pictures as a user might have them: a folder a class, each picture another one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from snellen.core.seeds import stream

SIZE = (24, 20)


def draw_picture(path: Path, *key: str | int, size: tuple[int, int] = SIZE) -> Path:
    """A picture of noise that its key decides, in whatever format the name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = stream("own picture", *key).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    return path


def class_folders(root: Path, count: int, *labels: str) -> Path:
    """So many pictures of each class in a folder of its own."""
    for label in labels:
        for k in range(count):
            draw_picture(root / label / f"{k}.png", label, k)
    return root
