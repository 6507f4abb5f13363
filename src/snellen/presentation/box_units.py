"""The unit in which boxes and points are asked for: its axis, its frame, and its words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from snellen.core.box_units import BOX_UNITS, FRACTIONS, in_unit
from snellen.core.condition import Axis, Condition, Value
from snellen.core.errors import SnellenError
from snellen.core.item import Affine, View
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import SubjectCard

BOX_UNIT = Axis(
    "box_unit",
    (FRACTIONS, "own", *(name for name in BOX_UNITS if name != FRACTIONS)),
    "boxes asked for in fractions of the image, as in the paper, or in the unit that the subject was trained on",
)
UNIT_WORDS: Mapping[str, str] = {
    FRACTIONS: "a number from 0 to 1, as a share of the width or height of the image",
    "percent": "a number from 0 to 100, in percent of the width or height of the image",
    "pixels": "in pixels of the image",
    "thousandths": "a whole number from 0 to 1000, in thousandths of the width or height of the image",
    "1024ths": "a whole number from 0 to 1024, in 1024ths of the width or height of the image",
}
"""What each number is, by the unit without `-y-first`."""


def resolve_unit(condition: Condition, card: SubjectCard) -> Mapping[str, Value]:
    """The unit for `box_unit=own`: the attribute `box_unit` of the subject."""
    return {"box_unit": card.attributes.get("box_unit", FRACTIONS)} if condition["box_unit"] == "own" else {}


@dataclass(frozen=True)
class UnitFrame:
    """Answers with boxes or points in a unit of `core.box_units`, by default in fractions of the image shown."""

    unit: str = FRACTIONS
    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view with the frame of its reply. Raises SnellenError for a view of several images."""
        if len(view.query) != 1:
            raise SnellenError(f"item {view.item_id}: {len(view.query)} images; a box or point is asked for in one")
        image = view.query[0]
        scale = Affine(1 / image.width, 0, 0, 0, 1 / image.height, 0)
        return replace(view, reply=in_unit(replace(view.reply, frame=image.from_stored.then(scale)), self.unit))
