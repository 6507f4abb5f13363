"""Toy images as a user might have them: one folder per class, every image different."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from snellen.core.seeds import stream

SIZE = (24, 20)


def draw_image(path: Path, *key: str | int, size: tuple[int, int] = SIZE) -> Path:
    """An image of noise determined by its key, in the format of the file name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = stream("own picture", *key).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    return path


def class_folders(root: Path, count: int, *labels: str) -> Path:
    """`count` images of each class in a separate folder."""
    for label in labels:
        for k in range(count):
            draw_image(root / label / f"{k}.png", label, k)
    return root


BOX_CLASSES = {"ball": (210, 30, 30), "crate": (30, 40, 210)}
BOX_SIDE = 24


def boxed_images(images: Path, count: int) -> list[dict[str, Any]]:
    """Images of four by three cells, with one or two plain balls and crates, and a row for each.

    Objects never touch, so that the truth about them is clear. The first ball is left above, left below, right above
    or right below the first crate in turn. Depths are whole metres plus a half; orientations alternate.
    """
    images.mkdir(parents=True)
    rows: list[dict[str, Any]] = []
    for k in range(count):
        rng = stream("own boxes", k)
        pixels = rng.integers(120, 180, (3 * BOX_SIDE, 4 * BOX_SIDE, 3), dtype=np.uint8)
        column, row = 3 * (k // 2 % 2), 2 * (k % 2)
        corners = [(row, column), (2 - row, 3 - column)]
        free = [divmod(int(cell), 4) for cell in rng.permutation(12) if divmod(int(cell), 4) not in corners]
        counts = (1 + (k % 5 == 0), 1 + (k % 3 == 0))
        for count, corner, (label, rgb) in zip(counts, corners, BOX_CLASSES.items(), strict=True):
            for row, column in [corner, *(free.pop() for _ in range(count - 1))]:
                x, y = BOX_SIDE * column + 2, BOX_SIDE * row + 2
                pixels[y : y + 20, x : x + 20] = rgb
                facts = {"depth": (len(rows) * 5) % 9 + 0.5, "orientation": ("left", "back")[k % 2], "text": f"w{k}"}
                box = {"x1": x, "y1": y, "x2": x + 20, "y2": y + 20}
                rows.append({"path": f"{k:02}.png", "class": label, **box, **facts})
        Image.fromarray(pixels).save(images / f"{k:02}.png")
    return rows


def write_table(path: Path, rows: Sequence[Mapping[str, Any]], *columns: str) -> Path:
    """The rows as CSV, of these columns or all."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns or list(rows[0]), extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_coco(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """The rows as a file of COCO."""
    names, labels = sorted({row["path"] for row in rows}), list(BOX_CLASSES)
    size = {"width": 4 * BOX_SIDE, "height": 3 * BOX_SIDE}
    content = {
        "images": [{"id": n, "file_name": name, **size} for n, name in enumerate(names)],
        "categories": [{"id": n, "name": label} for n, label in enumerate(labels)],
        "annotations": [
            {
                "id": n,
                "image_id": names.index(row["path"]),
                "category_id": labels.index(row["class"]),
                "bbox": [row["x1"], row["y1"], row["x2"] - row["x1"], row["y2"] - row["y1"]],
            }
            for n, row in enumerate(rows)
        ],
    }
    path.write_text(json.dumps(content))
    return path


def write_yolo(folder: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """The rows as YOLO labels: the class's number, then middle and extent as shares of the image."""
    folder.mkdir()
    (folder / "classes.txt").write_text("\n".join(BOX_CLASSES))
    width, height = 4 * BOX_SIDE, 3 * BOX_SIDE
    for row in rows:
        numbers = [
            (row["x1"] + row["x2"]) / 2 / width,
            (row["y1"] + row["y2"]) / 2 / height,
            (row["x2"] - row["x1"]) / width,
            (row["y2"] - row["y1"]) / height,
        ]
        with (folder / Path(row["path"]).with_suffix(".txt")).open("a") as file:
            file.write(f"{list(BOX_CLASSES).index(row['class'])} {' '.join(map(str, numbers))}\n")
    return folder


def write_voc(folder: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """The rows as Pascal VOC's XML, which counts pixels from 1 and includes the last one."""
    folder.mkdir()
    for name in sorted({row["path"] for row in rows}):
        objects = [
            f"<object><name>{row['class']}</name><bndbox><xmin>{row['x1'] + 1}</xmin><ymin>{row['y1'] + 1}</ymin>"
            f"<xmax>{row['x2']}</xmax><ymax>{row['y2']}</ymax></bndbox></object>"
            for row in rows
            if row["path"] == name
        ]
        text = f"<annotation>{''.join(objects)}</annotation>"
        (folder / Path(name).with_suffix(".xml")).write_text(text)
    return folder
