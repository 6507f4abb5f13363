"""Emotion: the emotion of a face, one of seven (appendix A.2)."""

from __future__ import annotations

from collections.abc import Sequence

from snellen.core.item import Item
from snellen.scoring.protocols import strict
from snellen.suites.ava_bench.abilities.ability import Ability, ReleasedForm, level_of_answer
from snellen.suites.ava_bench.items import EMOTIONS, ItemSource, checked_box
from snellen.suites.ava_bench.prompts import OPTION_LISTS, TABLE_1
from snellen.suites.ava_bench.scoring import without_script

NAME = "emotion"


def emotion_item(item_source: ItemSource, emotion: str, box: Sequence[float] | None = None) -> Item:
    """An item about the emotion of a face, one of the seven; `box`, if given, is drawn around the face."""
    regions = {} if box is None else {"red": list(checked_box(item_source, box))}
    return EMOTION.item(item_source, EMOTION.question, emotion, EMOTIONS, regions=regions, factors={"emotion": emotion})


EMOTION = Ability(
    name=NAME,
    kind="choice",
    question=TABLE_1["emotion"],
    options_wording=OPTION_LISTS["emotion"],
    requires=("emotion",),
    protocols=without_script(strict()),
    subgroups={"source": (), "emotion": EMOTIONS},
    balanced_by=("answer",),
    boxes=("red",),  # only if the image shows more than the face (appendix A.2)
    asks_inside_box=True,
    cheap_sight="an expression is in the details of a face",
    meaning="the emotion that a face shows",
    released=ReleasedForm(folder="Emotion", levels=level_of_answer("emotion")),
)
