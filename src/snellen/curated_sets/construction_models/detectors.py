"""The subject that wraps any detector."""

from __future__ import annotations

import asyncio
import typing
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from snellen.core.item import Box, Media, View
from snellen.core.prompt import Prompt, Reply
from snellen.core.sheet import answer_views
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base
from snellen.subjects.boxes import SCORE_DIGITS, Detection, asks_no_boxes, best_first, rounded, write_boxes

if TYPE_CHECKING:
    from PIL import Image


class Detector(typing.Protocol):
    """A model that finds objects in an image."""

    def refuses(self, question: str) -> str | None:
        """The reason why it cannot look for this, or None."""
        ...

    def find(self, image: Image.Image, question: str) -> Sequence[Detection]:
        """Detections in an RGB image, in any order, in pixels of this image."""
        ...


@dataclass(frozen=True)
class DetectorSubject(Base):
    """A detector as a subject.

    It answers views of kind `text` with one image, and of kind `point` with the middle of the best box. The question
    is a phrase that names what to find (empty: everything). `Reply.numbers` are the scores of the boxes, in order, over
    all views.
    """

    detector: Detector

    def declines(self, prompt: Prompt) -> str | None:
        """Decline views that do not ask for boxes in one image, or for something the detector cannot find."""
        for view in prompt.views:
            if reason := asks_no_boxes(view, "text", "point") or self.detector.refuses(view.question):
                return reason
        return None if prompt.views else "nothing to look at"

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """Detect in the image of each view, in a separate thread."""
        return await asyncio.to_thread(self._reply, prompt, media)

    def _reply(self, prompt: Prompt, media: MediaFolder) -> Reply:
        scores: list[float] = []

        def find_boxes(view: View) -> str:
            image = view.query[0]
            with media.open(image) as opened:
                detections = best_first(in_stored(self.detector.find(opened.convert("RGB"), view.question), image))
            scores.extend(round(detection.score, SCORE_DIGITS) for detection in detections)
            return write_boxes(detections) if view.reply.kind == "text" else write_middle(detections, view)

        return Reply(answer_views(prompt.views, find_boxes), numbers=tuple(scores))


def write_middle(detections: Sequence[Detection], view: View) -> str:
    """The middle of the first box as the reply to a view that asks for a point; without any, that there is none."""
    if not detections:
        return "nothing found"
    x1, y1, x2, y2 = detections[0].box
    return view.reply.write(((x1 + x2) / 2, (y1 + y2) / 2))


def in_stored(detections: Iterable[Detection], image: Media) -> list[Detection]:
    """Detections in the shown image, converted to pixels of the stored one.

    Boxes are clipped to the shown image; empty ones are dropped.
    """
    back = image.from_stored.inverse()
    cut = [
        replace(detection, box=rounded(_within(detection.box, image.width, image.height))) for detection in detections
    ]
    with_area = [
        detection for detection in cut if detection.box[0] < detection.box[2] and detection.box[1] < detection.box[3]
    ]
    return [replace(detection, box=rounded(back.box(detection.box))) for detection in with_area]


def _within(box: Box, width: int, height: int) -> Box:
    x1, y1, x2, y2 = box
    return max(x1, 0.0), max(y1, 0.0), min(x2, float(width)), min(y2, float(height))
