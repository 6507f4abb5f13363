"""Scene: the kind of place that an image shows, among thirty of its dataset (appendix A.2)."""

from __future__ import annotations

from collections.abc import Sequence

from snellen.core.item import Item
from snellen.scoring.protocols import strict
from snellen.suites.ava_bench.abilities.ability import Ability, ReleasedForm
from snellen.suites.ava_bench.items import ItemSource
from snellen.suites.ava_bench.prompts import OPTION_LISTS, TABLE_1
from snellen.suites.ava_bench.scoring import without_script


def scene_item(item_source: ItemSource, scene: str, scenes: Sequence[str]) -> Item:
    """An item about the scene of the image: one of `scenes`, thirty drawn for this item."""
    return SCENE.item(item_source, SCENE.question, scene, scenes)


SCENE = Ability(
    name="scene",
    kind="choice",
    question=TABLE_1["scene"],
    options_wording=OPTION_LISTS["scene"],
    requires=("scene",),
    protocols=without_script(strict()),
    subgroups={"source": ()},
    balanced_by=("answer",),
    meaning="the kind of place shown",
    released=ReleasedForm(folder="Scene_Classification"),
)
