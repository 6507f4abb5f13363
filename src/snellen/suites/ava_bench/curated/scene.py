"""Scene: pictures of Places and AID, exactly thirty of every class (appendix A.2).

Options are drawn from the classes of the picture's own dataset, of all that were chosen and not only of those that a
small set (`--n`) asks about. Labels that are merged (`choices`) are one class, with thirty pictures in all.
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

NAME = "scene"
SOURCES = ("Places434", "AID")


def look(scene: Sample, at: Curating) -> Iterator[Candidate]:
    """Pictures of one class that has a name."""
    name = only_class(scene, lambda label: at.choices.scene(scene.source, label), NAME, at)
    if name is not None:
        yield Candidate(origin_of(scene), name, "", NOTHING)


def choose(found: Sequence[Candidate], at: Curating) -> list[Candidate]:
    """As many pictures of every class; none of classes with fewer."""
    each = at.rules.scene_pictures
    return with_names(capped(found, Caps(each, each), NAME, at), source_of, NAME, at)


def make_item_maker(task: str, chosen: Sequence[Candidate], at: Curating) -> Asker:
    """`What is the scene class of the image?`, with thirty options."""

    def item(one: Candidate, of: Shown, rng: np.random.Generator) -> Item:
        return make.scene_item(of, *offered_names(one, rng, make.SCENES_OFFERED))

    return item


ABILITY = Ability((NAME,), SOURCES, look, choose, make_item_maker)
