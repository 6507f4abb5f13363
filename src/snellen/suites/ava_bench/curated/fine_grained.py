"""Fine-grained: thirty pictures each of 100 birds, 50 animals, fungi and plants, and 50 aircraft (appendix A.2).

Classes are drawn by the seed among those with enough pictures. Options are all classes of the group. Section 3.2.6 has
all aircraft and 50 of iNaturalist in all, which does not add up to its 300 classes; A.2 does.

Animals are the kingdom Animalia of iNaturalist, birds among them: A.2 draws "50 random classes" of it and excludes
none. Birds of CUB-200-2011 are a group of their own, so that no question offers both. Names are as A.2 has them
(`choices.species_name`): of CUB the class without its number (`Cerulean_Warbler`), of iNaturalist the last two words,
of aircraft the variant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from snellen.core.item import Item
from snellen.curation.draws import grouped, shuffled
from snellen.datasets.sample import Sample
from snellen.suites.ava_bench import items as make
from snellen.suites.ava_bench.curated.candidates import Ability, Asker, Candidate, Curating, capped, origin_of
from snellen.suites.ava_bench.curated.choices import species_name
from snellen.suites.ava_bench.curated.classification import NOTHING, offered_names, only_class, with_names
from snellen.suites.ava_bench.curated.rules import Caps
from snellen.suites.ava_bench.items import Shown

NAME = "fine-grained"
BIRDS = "CUB-200-2011"
SOURCES = (BIRDS, "iNaturalist-2021", "FGVC-Aircraft")
DOMAINS: Mapping[str, str] = MappingProxyType({"animal": "Animal", "fungi": "Fungi", "plant": "Plant"})
"""Groups of iNaturalist, as Table 2 calls them."""
KINGDOM = "picture of a kingdom that is not asked about, or of none"
SHARED = "class whose name another class of the group has too"
NOT_DRAWN = "class that was not drawn"


def look(scene: Sample, at: Curating) -> Iterator[Candidate]:
    """Pictures of one class that belongs to a group. Boxes do not matter, nor how many of the kind there are."""
    label = only_class(scene, str, NAME, at)
    if label is None:
        return
    group = at.choices.group(scene.source, str(scene.annotations[0].extra.get("kingdom", "")))
    if group is None:
        at.ledger.drop(NAME, scene.source, KINGDOM, f"{scene.record_id}: {label}")
    else:
        yield Candidate(origin_of(scene), label, group.group, NOTHING)


def choose(found: Sequence[Candidate], at: Curating) -> list[Candidate]:
    """So many classes of every group, and so many pictures of each."""
    each = at.rules.species_pictures
    kept = [
        one
        for (source, group), mine in grouped(found, lambda one: (one.origin.source, one.bin)).items()
        for one in _of_group(source, group, mine, at)
    ]
    return with_names(capped(kept, Caps(each, each), NAME, at), lambda one: (one.origin.source, one.bin), NAME, at)


def _of_group(source: str, group: str, mine: Sequence[Candidate], at: Curating) -> list[Candidate]:
    """All pictures of the classes that are drawn, which now know their names."""
    least = at.rules.species_pictures
    most = at.rules.species_birds if source == BIRDS else at.rules.species_others
    classes = grouped(mine, lambda one: one.label)
    few = {label for label, held in classes.items() if len(held) < least}
    named = Counter(species_name(source, label) for label in classes.keys() - few)
    shared = {label for label in classes.keys() - few if named[species_name(source, label)] > 1}
    able = sorted(classes.keys() - few - shared)
    others = set(shuffled(able, at.rng(NAME, "classes", source, group))[most:])
    for labels, rule in ((few, f"class of fewer than {least}"), (shared, SHARED), (others, NOT_DRAWN)):
        for label in sorted(labels):
            at.ledger.drop(NAME, source, rule, f"{group}: {label}", len(classes[label]))
    more = {"domain": DOMAINS[group]} if group in DOMAINS else {}
    return [
        replace(one, truth={"group": group, "name": species_name(source, label), **more})
        for label in able
        if label not in others
        for one in classes[label]
    ]


def make_item_maker(task: str, chosen: Sequence[Candidate], at: Curating) -> Asker:
    """`What species of bird is in the image?`, with all classes of the group in an order drawn for the item."""

    def item(one: Candidate, of: Shown, rng: np.random.Generator) -> Item:
        return make.fine_grained_item(of, one.truth["group"], *offered_names(one, rng))

    return item


ABILITY = Ability((NAME,), SOURCES, look, choose, make_item_maker)
