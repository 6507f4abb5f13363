"""Detections and their reply format.

A reply is one JSON object, `{"boxes": [{"box": [x1, y1, x2, y2], "label": "cat", "score": 0.93}, …]}`, in pixels of
the stored image, best score first. The list may be empty.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from snellen.core.item import Box, View

DIGITS = 3
"""Decimal digits of a coordinate: thousandths of a pixel."""
SCORE_DIGITS = 6


@dataclass(frozen=True)
class Detection:
    """A box in pixels with its label and score (0 to 1)."""

    box: Box
    label: str = ""
    score: float = 1.0


def asks_no_boxes(view: View, *kinds: str) -> str | None:
    """The reason why this view does not ask for boxes in one image (as text, or as one of these kinds), or None."""
    if view.reply.kind not in (kinds or ("text",)):
        return f"writes boxes as text, but the question expects {view.reply.kind}"
    media = list(view.media())
    if len(media) != 1 or len(view.query) != 1:
        return f"needs exactly one image, in the query, not {len(media)}"
    return None if media[0].kind == "image" else f"cannot be shown a {media[0].kind}"


def rounded(box: Box) -> Box:
    """The box with `DIGITS` digits."""
    x1, y1, x2, y2 = (round(float(number), DIGITS) for number in box)
    return x1, y1, x2, y2


def best_first(detections: Iterable[Detection]) -> list[Detection]:
    """Detections by descending score; ties by larger box, then upper, then left."""

    def rank(detection: Detection) -> tuple[float, ...]:
        x1, y1, x2, y2 = detection.box
        return -detection.score, -(x2 - x1) * (y2 - y1), y1, x1

    return sorted(detections, key=rank)


def write_boxes(detections: Iterable[Detection]) -> str:
    """The reply, one JSON object, in the given order."""
    rows = [
        {"box": rounded(detection.box), "label": detection.label, "score": round(float(detection.score), SCORE_DIGITS)}
        for detection in detections
    ]
    return json.dumps({"boxes": rows}, ensure_ascii=False)
