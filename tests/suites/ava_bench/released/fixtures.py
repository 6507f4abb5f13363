"""Copies of the released files in both layouts, with images of a few pixels; wordings are from appendix A.2."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from snellen.suites.ava_bench.released.files import released_form
from tests.suites.ava_bench.fixtures import ATOMIC

SIZE = (32, 32)
SPATIAL = "Considering the relative positions, where is the cup (annotated by the red box)?"
EMOTIONS = "1. happy, 2. sad, 3. angry, 4. fear, 5. surprise, 6. neutral, 7. disgust"
TURNS: Mapping[str, tuple[str, str]] = {
    "localization": ("Provide bounding box coordinate for dog.", "[0.25, 0.50, 0.75, 1.00]"),
    "counting": ("How many apples are in the image?", "7"),
    "spatial": (
        f"{SPATIAL} Choose from A. Left above, B. Left below, C. Right above, D. Right below.",
        "B. Left below",
    ),
    "orientation": ("What is the orientation of the bus? Choose one from below: 1. front, 2. back", "2. back"),
    "absolute-depth": (
        "How far is the car? Select the best answer from the options below: A. 1-2, B. 2-3, C. 8-9",
        "C. 8-9",
    ),
    "relative-depth": ("Which is closer, a or b? Choose one: 1. red, 2. blue.", "2. blue"),
    "object": (
        "What is in the red bounding box? Choose from the following option: 1. airport, 2. american robin, 3. fox",
        "2. american robin",
    ),
    "fine-grained": (
        "What species of bird is in the image? Choose one from below: 1. Cerulean_Warbler, 2. American_Crow",
        "1. Cerulean_Warbler",
    ),
    "colour": ("What color is shown within the bounding box?", "[232, 9, 10]"),
    "texture": ("What is the texture attribute of the image? Choose one from below: 1. banded, 2. veined.", "veined"),
    "ocr": ("What is written in the red bounding box in the image?", "STOP 5"),
    "action": (
        "Which action or activity is shown in the image? Choose from the following option: 1. buying, 2. boxing",
        "2",
    ),
    "emotion": (f"Which of the following best describes the person's emotion in the red box? {EMOTIONS}.", "2. sad"),
    "scene": ("What is the scene class of the image? Choose one from below: 1. Hall, 2. Snowy Mountain.", "1. Hall"),
}
ANSWERS: Mapping[str, Any] = {
    "localization": (8.0, 16.0, 24.0, 32.0), "counting": 7, "spatial": "Left below", "orientation": "back",
    "absolute-depth": "8-9", "relative-depth": "blue", "object": "american robin", "fine-grained": "Cerulean_Warbler",
    "colour": (232, 9, 10), "texture": "veined", "ocr": "STOP 5", "action": "boxing", "emotion": "sad",
    "scene": "Hall",
}  # fmt: skip
CUT = {
    "spatial": SPATIAL,
    "orientation": "What is the orientation of the bus?",
    "absolute-depth": "How far is the car?",
    "object": "What is in the red bounding box?",
    "fine-grained": "What species of bird is in the image?",
    "texture": "What is the texture attribute of the image?",
    "action": "Which action or activity is shown in the image?",
    "emotion": "Which of the following best describes the person's emotion in the red box?",
    "scene": "What is the scene class of the image?",
}
"""Questions whose options are written back exactly; those of relative depth are not."""


def image(shade: int, size: tuple[int, int] = SIZE, format: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    noise = np.random.default_rng(shade).integers(0, 255, (size[1], size[0], 3), np.uint8)
    Image.fromarray(noise).save(buffer, format)
    return buffer.getvalue()


def record(
    task: str, number: int, reply: str | None = None, question: str | None = None, **fields: Any
) -> dict[str, Any]:
    """A row in the form of the hub. `reply` and `question` replace the usual ones."""
    usual_question, usual_answer = TURNS[task]
    turns = [
        {"from": "human", "value": f"<image>\n{usual_question if question is None else question}"},
        {"from": "gpt", "value": usual_answer if reply is None else reply},
    ]
    return {"id": f"{task}/{number}", "image": image(number), "conversations": turns, **fields}


def shard(path: Path, rows: Sequence[Mapping[str, Any]], group: int = 3) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with_images = [{**row, "image": {"bytes": row["image"], "path": None}} for row in rows]
    pq.write_table(pa.Table.from_pylist(with_images), path, row_group_size=group)


def hub(root: Path, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> Path:
    """Write rows by task in the layout of the hub, in two files if a task has several rows."""
    for task, task_rows in rows.items():
        folder, half = root / "train" / released_form(task).folder, len(task_rows) // 2
        parts = [task_rows[:half], task_rows[half:]] if half else [task_rows]
        for n, part in enumerate(parts):
            shard(folder / f"train-{n:05d}-of-{len(parts):05d}.parquet", part)
    return root


def tree(root: Path, rows: Mapping[str, Sequence[Mapping[str, Any]]], split: str = "train") -> Path:
    """Write the same rows unpacked: one JSON file per task, and images."""
    for task, task_rows in rows.items():
        folder, entries = root / "AVA-Bench" / split / released_form(task).folder, []
        (folder / "images").mkdir(parents=True, exist_ok=True)
        for row in task_rows:
            name = f"{str(row['id']).replace('/', '_')}.png"
            (folder / "images" / name).write_bytes(row["image"])
            entries.append(
                {**row, "id": name.removesuffix(".png"), "image": f"{released_form(task).folder}/images/{name}"}
            )
        (folder / f"{split}.json").write_text(json.dumps(entries))
    return root


def one_each() -> dict[str, list[dict[str, Any]]]:
    return {task: [record(task, 100 + n)] for n, task in enumerate(ATOMIC)}
