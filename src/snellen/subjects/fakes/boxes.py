"""The ideal detector: it knows the boxes of the images that it is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.item import Item, View
from snellen.core.prompt import Prompt, Reply
from snellen.core.sheet import answer_views
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base
from snellen.subjects.boxes import Detection, asks_no_boxes, best_first, write_boxes

BoxesByImage: TypeAlias = Mapping[tuple[str, str], Sequence[Detection]]
"""Boxes to find, by the stored image's SHA-256 and the question."""


@dataclass(frozen=True)
class ExactBoxes(Base):
    """Writes the exact boxes of the image shown, each with score 1, in the format of detectors.

    An item's `regions` hold them: `{"boxes": [{"box": [x1, y1, x2, y2], "label": "cat"}, …]}`. If another item's image
    is shown, it finds that image's boxes; in an unknown image it finds nothing.
    """

    boxes: BoxesByImage = field(default_factory=dict, repr=False)
    described: frozenset[str] = frozenset()

    def declines(self, prompt: Prompt) -> str | None:
        """Decline views that do not ask for boxes, and items without boxes."""
        for view in prompt.views:
            if reason := asks_no_boxes(view):
                return reason
            if view.item_id not in self.described:
                return "this item has no regions with boxes"
        return None if prompt.views else "nothing to look at"

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """Answer each view separately; no image is opened."""
        detections = {view.item_id: self._find(view) for view in prompt.views}
        scores = tuple(detection.score for view in prompt.views for detection in detections[view.item_id])
        return Reply(answer_views(prompt.views, lambda view: write_boxes(detections[view.item_id])), numbers=scores)

    def _find(self, view: View) -> Sequence[Detection]:
        return self.boxes.get((view.query[0].stored_sha256, view.question), ())


def exact_boxes(items: Iterable[Item]) -> tuple[BoxesByImage, frozenset[str]]:
    """Known boxes, and the ids of the items that have them.

    Raises SnellenError if an item with boxes does not have exactly one image, or if two items disagree.
    """
    boxes: dict[tuple[str, str], list[Detection]] = {}
    described = set[str]()
    for item in items:
        if not isinstance(item.regions.get("boxes"), list | tuple):
            continue  # none, or in another format for other purposes
        if len(item.query) != 1:
            raise SnellenError(f"item {item.item_id}: boxes of {len(item.query)} images; they belong to exactly one")
        detections = best_first(_read_detection(row) for row in item.regions["boxes"])
        key = item.query[0].sha256, item.question
        if boxes.setdefault(key, detections) != detections:
            raise SnellenError(f"item {item.item_id}: another item has different boxes for the same image and question")
        described.add(item.item_id)
    return boxes, frozenset(described)


def _read_detection(row: Mapping[str, Any]) -> Detection:
    x1, y1, x2, y2 = (float(number) for number in row["box"])
    return Detection((x1, y1, x2, y2), str(row.get("label", "")))
