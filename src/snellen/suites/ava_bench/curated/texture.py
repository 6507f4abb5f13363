"""Texture: close views of surfaces, 120 to 480 pictures of a texture (appendix A.2).

KTH-TIPS has 81 pictures of a material, too few for that rule. KTH-TIPS2-b goes on with its materials, so that `choices`
makes the two one pool: their pictures of one name are counted together, and their options are the names of both. DTD
has exactly 120 pictures of a texture, so that one picture discarded by hand takes its whole texture along, if the least
number stays as printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from snellen.core.item import Item
from snellen.curation.draws import grouped, shuffled
from snellen.datasets.sample import Sample
from snellen.suites.ava_bench import items as make
from snellen.suites.ava_bench.curated.candidates import Ability, Asker, Candidate, Curating, origin_of
from snellen.suites.ava_bench.curated.classification import NOTHING, offered_names, only_class, with_names
from snellen.suites.ava_bench.items import Shown

NAME = "texture"
SOURCES = ("DTD", "Kylberg", "KTH-TIPS", "KTH-TIPS2-b")
DISCARDED = "picture that was discarded by hand"


def look(scene: Sample, at: Curating) -> Iterator[Candidate]:
    """Pictures of one texture that has a name, but for those that somebody looked at and discarded."""
    if scene.record_id in at.choices.discarded(scene.source):
        at.ledger.drop(NAME, scene.source, DISCARDED, scene.record_id)
        return
    name = only_class(scene, lambda label: at.choices.texture(scene.source, label), NAME, at)
    if name is not None:
        yield Candidate(origin_of(scene), name, "", NOTHING)


def choose(found: Sequence[Candidate], at: Curating) -> list[Candidate]:
    """Between so many pictures of a texture, of all datasets of its pool together; which stay is drawn by the seed."""
    least, most, _ = at.rules.texture

    def pool_of(one: Candidate) -> str:
        return at.choices.texture_pool(one.origin.source)

    kept: list[Candidate] = []
    for (pool, name), held in grouped(found, lambda one: (pool_of(one), one.label)).items():
        if len(held) < least:
            _drop(held, f"fewer than {least} of a texture", at)
            continue
        order = shuffled(held, at.rng(NAME, "capped", pool, name))
        _drop(order[most:], f"more than {most} of a texture", at)
        kept += order[:most]
    return with_names(kept, pool_of, NAME, at)


def _drop(held: Sequence[Candidate], rule: str, at: Curating) -> None:
    for source, mine in grouped(held, lambda one: one.origin.source).items():
        at.ledger.drop(NAME, source, rule, mine[0].label, len(mine))


def make_item_maker(task: str, chosen: Sequence[Candidate], at: Curating) -> Asker:
    """`What is the texture attribute of image?`, with all textures of the pool in an order drawn for the item."""

    def item(one: Candidate, of: Shown, rng: np.random.Generator) -> Item:
        return make.texture_item(of, *offered_names(one, rng))

    return item


ABILITY = Ability((NAME,), SOURCES, look, choose, make_item_maker)
