"""OCR: the text in the red box (appendix A.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.least_px import LEAST_PX
from snellen.suites.ava_bench.abilities.ability import Ability, Levels, ReleasedForm
from snellen.suites.ava_bench.items import DIFFICULTIES, ItemSource, checked_box, range_name, range_names
from snellen.suites.ava_bench.prompts import TABLE_1
from snellen.suites.ava_bench.scenes.display_truth import DisplayQuestions, DisplayTruth
from snellen.suites.ava_bench.scoring import TEXT_PROTOCOLS

NAME = "ocr"
TEXT_LENGTHS = ((5, "1-5"), (10, "6-10"), (20, "11-20"), (float("inf"), "21 and more"))
"""Characters; upper ends, included, as in the released scorer."""


# Generated scenes


def _ask_display(display: DisplayTruth, slot: int, item_source: ItemSource, rng: np.random.Generator) -> Item:
    plan = display.display.content
    measures = {LEAST_PX: display.letters_px(slot)}
    source = replace(item_source, factors={"face": plan.faces[slot], "difficulty": plan.sizes[slot]}, measures=measures)
    return ocr_item(source, display.plates[slot], plan.words[slot])


# Items


def ocr_item(item_source: ItemSource, box: Sequence[float], text: str) -> Item:
    """An item about the text in the red box."""
    if not text.strip():
        raise SnellenError(f"ava-bench item {item_source.handle}: the text in its box is empty; leave it out")
    return OCR.item(
        item_source,
        OCR.question,
        text,
        wrong_answers=("",),
        regions={"red": list(checked_box(item_source, box))},
        factors={"text_length": range_name(len(text), TEXT_LENGTHS)},
        measures={"text_length": float(len(text))},
    )


def _released_levels(question: str, answer: Any, options: Sequence[str]) -> Levels:
    return Levels({"text_length": range_name(len(answer), TEXT_LENGTHS)}, {"text_length": float(len(answer))})


OCR = Ability(
    name=NAME,
    kind="text",
    question=TABLE_1["ocr"],
    requires=("text",),
    protocols=TEXT_PROTOCOLS,
    subgroups={"source": (), "text_length": range_names(TEXT_LENGTHS), "difficulty": DIFFICULTIES},
    balanced_by=("length", "difficulty"),
    boxes=("red",),
    asks_inside_box=True,
    meaning="the text in the image",
    display=DisplayQuestions(make_item=_ask_display),
    released=ReleasedForm(folder="OCR", levels=_released_levels),
)
