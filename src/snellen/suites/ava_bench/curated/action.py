"""Action: middle frames of clips of Moments in Time (appendix A.2).

Similar labels are merged (`choices`). The paper's "up to 500 training videos and 100 validation videos" of 302 classes
would be 181K pictures, not its 15K: `rules.action_pictures` has the number that follows from the total. Clips of the
dataset's two splits are one heap here, since every set is split anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from snellen.core.item import Item
from snellen.datasets.sample import Sample
from snellen.suites.ava_bench import items as make
from snellen.suites.ava_bench.curated.candidates import Ability, Asker, Candidate, Curating, capped, origin_of
from snellen.suites.ava_bench.curated.classification import NOTHING, offered_names, only_class, source_of, with_names
from snellen.suites.ava_bench.curated.rules import Caps
from snellen.suites.ava_bench.items import Shown

NAME = "action"
SOURCES = ("Moments-in-Time",)


def look(scene: Sample, at: Curating) -> Iterator[Candidate]:
    """Clips of one action that has a name."""
    name = only_class(scene, at.choices.action, NAME, at)
    if name is not None:
        yield Candidate(origin_of(scene), name, "", NOTHING)


def choose(found: Sequence[Candidate], at: Curating) -> list[Candidate]:
    """At most so many clips an action."""
    caps = Caps(at.rules.fewest, at.rules.action_pictures)
    return with_names(capped(found, caps, NAME, at), source_of, NAME, at)


def make_item_maker(task: str, chosen: Sequence[Candidate], at: Curating) -> Asker:
    """`Which action or activity is shown in the image?`, with a hundred options."""

    def item(one: Candidate, of: Shown, rng: np.random.Generator) -> Item:
        return make.action_item(of, *offered_names(one, rng, make.ACTIONS_OFFERED))

    return item


ABILITY = Ability((NAME,), SOURCES, look, choose, make_item_maker)
