"""Questions about marked things, written as a table: whether an image has one, and where the only one is."""

from __future__ import annotations

import csv
import itertools
import math
import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from snellen.core.errors import SnellenError
from snellen.core.item import Box
from snellen.core.seeds import stream
from snellen.datasets.image_files import ImageFile
from snellen.datasets.own_boxes import OwnBoxes
from snellen.datasets.sample import NOT_EXHAUSTIVE_FIELD, Note, Sample
from snellen.suites.questions.kinds import SUITE, VERSION

PLACES = tuple(
    f"{row} {column}" for row, column in itertools.product(("upper", "middle", "lower"), ("left", "centre", "right"))
)
"""Ninths of an image, row by row."""
MARGIN = 0.03
"""Share of the side within which the middle of a thing is too near the edge of its ninth to ask where it is."""


class BoxQuestion(NamedTuple):
    """A row of the table; `thing_px` is the square root of the area of the box, or of all boxes' median without one."""

    id: str
    image: str
    task: str
    question: str
    answer: str
    thing_px: float


def box_table(images: Path, boxes: Path, folder: Path, seed: int) -> tuple[Path, Mapping[str, float]]:
    """A table of questions in `folder`, and the side in pixels of the marked thing by the question's id.

    Raises SnellenError if the boxes give no question.
    """
    samples = [sample for sample in OwnBoxes(images, boxes).samples() if not isinstance(sample, Note)]
    if not all(isinstance(sample.image, ImageFile) for sample in samples):
        raise SnellenError(f"{images}: give a folder of image files; those in the shards of a dataset have no names")
    labels = sorted({annotation.label for sample in samples for annotation in sample.annotations})
    questions = [question for sample in samples for question in _questions(sample, images, labels, seed)]
    if not questions:
        raise SnellenError(f"{boxes}: no image with a box of a named class; give --source boxes=FILE")
    typical = statistics.median([question.thing_px for question in questions if question.thing_px])
    path = folder / "boxes.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "image", "task", "question", "answer", *(f"option {letter}" for letter in "ABCDEFGHI")])
        for question in questions:
            options = PLACES if question.task == "where" else ("yes", "no")
            writer.writerow([*question[:5], *options, *[""] * (len(PLACES) - len(options))])
    return path, {question.id: question.thing_px or typical for question in questions}


def _questions(sample: Sample, images: Path, labels: list[str], seed: int) -> Iterator[BoxQuestion]:
    """Whether the image has a thing of a marked label and one of another label, and where each single thing is."""
    marked: dict[str, list[Box]] = {}
    for annotation in sample.annotations:
        if annotation.box is not None:
            marked.setdefault(annotation.label, []).append(annotation.box)
    image = sample.image.path.relative_to(images).as_posix()
    rng = stream(SUITE, VERSION, seed, "boxes", image)
    stated = sample.attributes.get(NOT_EXHAUSTIVE_FIELD, ())
    open_labels = stated if isinstance(stated, tuple) else ()
    others = [] if open_labels else [label for label in labels if label not in marked]
    for answer, among in (("yes", list(marked)), ("no", others if not sample.lost else [])):
        if among:
            label = among[int(rng.integers(len(among)))]
            px = max((_side(box) for box in marked.get(label, ())), default=0.0)
            text = f"Does the image show this: {label}?"
            yield BoxQuestion(f"{image}/is-there/{label}", image, "is-there", text, answer, px)
    for label, boxes in marked.items():
        is_single = len(boxes) == 1 and label not in open_labels and not sample.lost
        if is_single and sample.size and (ninth := _ninth(boxes[0], sample.size)):
            text = f"In which part of the image is this: {label}?"
            yield BoxQuestion(f"{image}/where/{label}", image, "where", text, ninth, _side(boxes[0]))


def _side(box: Box) -> float:
    return math.sqrt((box[2] - box[0]) * (box[3] - box[1]))


def _ninth(box: Box, size: tuple[int, int]) -> str:
    """The ninth of the image with the middle of a box; empty if it is near the edge of another ninth."""
    thirds = [3 * (low + high) / 2 / side for low, high, side in zip(box[:2], box[2:], size, strict=True)]
    if any(min(abs(third - edge) for edge in (1, 2)) < 3 * MARGIN for third in thirds):
        return ""
    column, row = (min(int(third), 2) for third in thirds)
    return PLACES[3 * row + column]
