"""Action: what is done in the middle frame of a clip, among a hundred actions (appendix A.2)."""

from __future__ import annotations

from collections.abc import Sequence

from snellen.core.item import Item
from snellen.suites.ava_bench.abilities.ability import Ability, ReleasedForm
from snellen.suites.ava_bench.items import ItemSource
from snellen.suites.ava_bench.prompts import OPTION_LISTS, TABLE_1
from snellen.suites.ava_bench.released_scorers import read_number_or_equal
from snellen.suites.ava_bench.scoring import choice_protocols


def action_item(item_source: ItemSource, action: str, actions: Sequence[str]) -> Item:
    """An item about the action in the middle frame of a clip: one of `actions`, a hundred drawn for this item."""
    return ACTION.item(item_source, ACTION.question, action, actions)


ACTION = Ability(
    name="action",
    kind="choice",
    question=TABLE_1["action"],
    options_wording=OPTION_LISTS["action"],
    requires=("action",),
    protocols=choice_protocols(read_number_or_equal),
    subgroups={"source": ()},
    balanced_by=("answer",),
    cheap_sight="an action is recognised by the posture of a person and by objects",
    meaning="the action that is performed",
    released=ReleasedForm(folder="Action"),
)
