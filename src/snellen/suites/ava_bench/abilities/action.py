"""Action: middle frames of clips of Moments in Time (appendix A.2).

Similar labels are merged (`choices`). The paper's "up to 500 training videos and 100 validation videos" of 302 classes
would be 181K images, not its 15K: `rules.action_images` has the number that follows from the total. Clips of the
dataset's two splits are pooled, since every item set is split again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from snellen.core.item import Item
from snellen.curation.rules import Caps
from snellen.datasets.sample import Sample
from snellen.suites.ava_bench.abilities.ability import Ability, ReleasedForm
from snellen.suites.ava_bench.curated.candidates import Candidate, Curation, CurationContext, capped, origin_of
from snellen.suites.ava_bench.curated.classification import NOTHING, offered_names, only_class, source_of, with_names
from snellen.suites.ava_bench.items import ItemSource
from snellen.suites.ava_bench.prompts import OPTION_LISTS, TABLE_1
from snellen.suites.ava_bench.released_scorers import read_number_or_equal
from snellen.suites.ava_bench.scoring import choice_protocols

OPTIONS = 100
"""Options per item, the true one included."""
NAME = "action"
DATASETS = ("Moments-in-Time",)


def find(scene: Sample, context: CurationContext) -> Iterator[Candidate]:
    """Clips of one action that has a name."""
    name = only_class(scene, context.choices.action, NAME, context)
    if name is not None:
        yield Candidate(origin_of(scene), name, "", NOTHING)


def select(candidates: Sequence[Candidate], context: CurationContext) -> list[Candidate]:
    """At most `rules.action_images` clips per action."""
    caps = Caps(context.rules.fewest, context.rules.action_images)
    return with_names(capped(candidates, caps, NAME, context), source_of, NAME, context)


def make_curated_item(candidate: Candidate, item_source: ItemSource, rng: np.random.Generator) -> Item:
    """An item `Which action or activity is shown in the image?`, with a hundred options."""
    return action_item(item_source, *offered_names(candidate, rng, OPTIONS))


CURATION = Curation(name=NAME, datasets=DATASETS, find=find, select=select, make_item=make_curated_item)


# Items


def action_item(item_source: ItemSource, action: str, actions: Sequence[str]) -> Item:
    """An item about the action in the middle frame of a clip: one of `actions`, a hundred drawn for this item."""
    return ACTION.item(item_source, ACTION.question, action, actions)


ACTION = Ability(
    name=NAME,
    kind="choice",
    question=TABLE_1["action"],
    options_wording=OPTION_LISTS["action"],
    requires=("action",),
    protocols=choice_protocols(read_number_or_equal),
    subgroups={"source": ()},
    balanced_by=("answer",),
    cheap_sight="an action is recognised by the posture of a person and by objects",
    meaning="the action that is performed",
    curation=CURATION,
    released=ReleasedForm(folder="Action"),
)
