"""Scene, action and texture: images of one class with a name (appendix A.2). Merged labels (`choices`) are one class.

Scene has images of Places and AID, exactly thirty per class. Options are drawn from all chosen classes of the image's
own dataset, not only from those that a small set (`--n`) asks about.

Action has middle frames of clips of Moments in Time. The paper's "up to 500 training videos and 100 validation videos"
of 302 classes would be 181K images, not its 15K: `rules.action_images` has the number that follows from the total.
Clips of the dataset's two splits are pooled, since every item set is split again.

Texture has close views of surfaces, 120 to 480 images per texture. KTH-TIPS has 81 images per material, too few for
that rule. KTH-TIPS2-b continues its materials, so `choices` makes the two one pool: their images of one name are
counted together, and their options are the names of both. DTD has exactly 120 images per texture, so one image
discarded by hand removes its whole texture, if the minimum stays as printed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from snellen.core.item import Item
from snellen.curated_sets.ava_bench.classification import NOTHING, only_class, source_of, with_names
from snellen.curated_sets.ava_bench.selection.candidates import (
    Candidate,
    Curation,
    CurationContext,
    capped,
    offered_names,
    origin_of,
)
from snellen.curated_sets.ava_bench.selection.choices import Choices
from snellen.curated_sets.ava_bench.selection.rules import Rules
from snellen.curated_sets.rules import Caps
from snellen.curation.draws import grouped, shuffled
from snellen.datasets.sample import Sample
from snellen.suites.ava_bench.abilities.action import action_item
from snellen.suites.ava_bench.abilities.scene import scene_item
from snellen.suites.ava_bench.abilities.texture import TEXTURE, texture_item
from snellen.suites.ava_bench.items import ItemSource

DISCARDED = "image discarded by hand"


def _curation(
    name: str,
    datasets: tuple[str, ...],
    name_of: Callable[[Choices, str, str], str],
    caps_of: Callable[[Rules], Caps],
    write: Callable[[ItemSource, str, Sequence[str]], Item],
    max_names: int,
) -> Curation:
    """Images of one class, which `name_of` names by dataset and label. Items offer `max_names`, with the true one."""

    def find(scene: Sample, context: CurationContext) -> Iterator[Candidate]:
        class_name = only_class(scene, lambda label: name_of(context.choices, scene.source, label), name, context)
        if class_name is not None:
            yield Candidate(origin_of(scene), class_name, "", NOTHING)

    def select(candidates: Sequence[Candidate], context: CurationContext) -> list[Candidate]:
        return with_names(capped(candidates, caps_of(context.rules), name, context), source_of, name, context)

    def make_item(candidate: Candidate, item_source: ItemSource, rng: np.random.Generator) -> Item:
        return write(item_source, *offered_names(candidate, rng, max_names))

    return Curation(name=name, datasets=datasets, find=find, select=select, make_item=make_item)


SCENE_CURATION = _curation(
    "scene",
    ("Places434", "AID"),
    lambda choices, source, label: choices.scene(source, label),
    lambda rules: Caps(rules.scene_images, rules.scene_images),
    scene_item,
    max_names=30,
)
ACTION_CURATION = _curation(
    "action",
    ("Moments-in-Time",),
    lambda choices, source, label: choices.action(label),
    lambda rules: Caps(rules.fewest, rules.action_images),
    action_item,
    max_names=100,
)


def _find_textures(scene: Sample, context: CurationContext) -> Iterator[Candidate]:
    """Images of one texture that has a name, except those discarded by hand."""
    if scene.record_id in context.choices.discarded(scene.source):
        context.ledger.drop(TEXTURE.name, scene.source, DISCARDED, scene.record_id)
        return
    name = only_class(scene, lambda label: context.choices.texture(scene.source, label), TEXTURE.name, context)
    if name is not None:
        yield Candidate(origin_of(scene), name, "", NOTHING)


def _select_textures(candidates: Sequence[Candidate], context: CurationContext) -> list[Candidate]:
    """The bounded number of images per texture, over all datasets of its pool, drawn by the seed."""
    min_images, max_images = context.rules.texture.minimum, context.rules.texture.maximum

    def pool_of(candidate: Candidate) -> str:
        return context.choices.texture_pool(candidate.origin.source)

    selected: list[Candidate] = []
    for (pool, name), class_candidates in grouped(
        candidates, lambda candidate: (pool_of(candidate), candidate.label)
    ).items():
        if len(class_candidates) < min_images:
            _drop(class_candidates, f"fewer than {min_images} of a texture", context)
            continue
        order = shuffled(class_candidates, context.rng(TEXTURE.name, "capped", pool, name))
        _drop(order[max_images:], f"more than {max_images} of a texture", context)
        selected += order[:max_images]
    return with_names(selected, pool_of, TEXTURE.name, context)


def _drop(candidates: Sequence[Candidate], rule: str, context: CurationContext) -> None:
    for source, source_candidates in grouped(candidates, lambda candidate: candidate.origin.source).items():
        context.ledger.drop(TEXTURE.name, source, rule, source_candidates[0].label, len(source_candidates))


TEXTURE_CURATION = Curation(
    name=TEXTURE.name,
    datasets=("DTD", "Kylberg", "KTH-TIPS", "KTH-TIPS2-b"),
    find=_find_textures,
    select=_select_textures,
    make_item=lambda candidate, item_source, rng: texture_item(item_source, *offered_names(candidate, rng)),
)
