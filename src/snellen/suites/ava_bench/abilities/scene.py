"""Scene: images of Places and AID, exactly thirty per class (appendix A.2).

Options are drawn from all chosen classes of the image's own dataset, not only from those that a small set (`--n`) asks
about. Merged labels (`choices`) are one class, with thirty images in total.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from snellen.core.item import Item
from snellen.curation.rules import Caps
from snellen.datasets.sample import Sample
from snellen.scoring.protocols import strict
from snellen.suites.ava_bench.abilities.ability import Ability, ReleasedForm
from snellen.suites.ava_bench.curated.candidates import Candidate, Curation, CurationContext, capped, origin_of
from snellen.suites.ava_bench.curated.classification import NOTHING, offered_names, only_class, source_of, with_names
from snellen.suites.ava_bench.items import ItemSource
from snellen.suites.ava_bench.prompts import OPTION_LISTS, TABLE_1
from snellen.suites.ava_bench.scoring import without_script

OPTIONS = 30
"""Options per item, the true one included."""
NAME = "scene"
DATASETS = ("Places434", "AID")


def find(scene: Sample, context: CurationContext) -> Iterator[Candidate]:
    """Images of one class that has a name."""
    name = only_class(scene, lambda label: context.choices.scene(scene.source, label), NAME, context)
    if name is not None:
        yield Candidate(origin_of(scene), name, "", NOTHING)


def select(candidates: Sequence[Candidate], context: CurationContext) -> list[Candidate]:
    """Exactly `rules.scene_images` images per class; none of classes with fewer."""
    each = context.rules.scene_images
    return with_names(capped(candidates, Caps(each, each), NAME, context), source_of, NAME, context)


def make_curated_item(candidate: Candidate, item_source: ItemSource, rng: np.random.Generator) -> Item:
    """An item `What is the scene class of the image?`, with thirty options."""
    return scene_item(item_source, *offered_names(candidate, rng, OPTIONS))


CURATION = Curation(name=NAME, datasets=DATASETS, find=find, select=select, make_item=make_curated_item)


# Items


def scene_item(item_source: ItemSource, scene: str, scenes: Sequence[str]) -> Item:
    """An item about the scene of the image: one of `scenes`, thirty drawn for this item."""
    return SCENE.item(item_source, SCENE.question, scene, scenes)


SCENE = Ability(
    name=NAME,
    kind="choice",
    question=TABLE_1["scene"],
    options_wording=OPTION_LISTS["scene"],
    requires=("scene",),
    protocols=without_script(strict()),
    subgroups={"source": ()},
    balanced_by=("answer",),
    meaning="the kind of place shown",
    figure="Figure 27",
    curation=CURATION,
    released=ReleasedForm(folder="Scene_Classification"),
)
