"""Texture: 120 to 480 images per texture, with the two KTH datasets as one."""

from __future__ import annotations

from collections import Counter

from snellen.suites.ava_bench.abilities.texture import CURATION, DISCARDED
from snellen.suites.ava_bench.curated.choices import Choices
from snellen.suites.ava_bench.curated.classification import NOT_CHOSEN
from tests.suites.ava_bench.curated.class_fixtures import choices, chosen, make_items, of_class, texts
from tests.suites.ava_bench.curated.fixtures import curating


def test_both_kth_datasets_are_counted_together_and_offer_the_names_of_both() -> None:
    context = curating(choices=choices())
    scenes = [
        *of_class("KTH-TIPS", "cotton", 81),
        *of_class("KTH-TIPS2-b", "cotton", 432),
        *of_class("KTH-TIPS", "linen", 39),
        *of_class("KTH-TIPS2-b", "linen", 81),
        *of_class("KTH-TIPS2-b", "wool", 119),
        *of_class("KTH-TIPS", "sponge", 81),
    ]
    selected = chosen(CURATION, scenes, context)
    assert Counter(candidate.label for candidate in selected) == {"cotton": 480, "linen": 120}
    few, many = "fewer than 120 of a texture", "more than 480 of a texture"
    drops = context.ledger.dropped
    assert drops["texture", "KTH-TIPS", many] + drops["texture", "KTH-TIPS2-b", many] == 81 + 432 - 480
    assert drops["texture", "KTH-TIPS2-b", few] == 119
    assert drops["texture", "KTH-TIPS", NOT_CHOSEN] == 81
    for item in make_items(CURATION, [selected[0], selected[-1]], context):
        assert sorted(texts(item)) == ["cotton", "linen"]


def test_every_other_dataset_is_a_separate_pool_and_options_are_shuffled() -> None:
    context = curating(choices=choices())
    scenes = [sample for label in ("stone1", "stone2", "rug1") for sample in of_class("Kylberg", label, 160)]
    scenes += [sample for label in ("dotted", "veined") for sample in of_class("DTD", label, 120)]
    selected = chosen(CURATION, scenes, context)
    assert Counter(candidate.stratum[:2] for candidate in selected) == {
        ("Kylberg", "stone"): 320, ("Kylberg", "rug"): 160, ("DTD", "dotted"): 120, ("DTD", "veined"): 120,
    }  # fmt: skip
    assert not context.ledger.dropped
    offered = {(item.factors["source"], texts(item)) for item in make_items(CURATION, selected, context)}
    assert offered == {
        ("Kylberg", ("stone", "rug")), ("Kylberg", ("rug", "stone")),
        ("DTD", ("dotted", "veined")), ("DTD", ("veined", "dotted")),
    }  # fmt: skip


class Discarding(Choices):
    """The package's choices, and one image that a person discarded."""

    def discarded(self, source: str) -> frozenset[str]:
        return frozenset({"dotted/3"} if source == "DTD" else ())


def test_discarding_one_image_of_120_by_hand_drops_the_texture() -> None:
    context = curating(choices=Discarding(choices().files))
    selected = chosen(
        CURATION, [sample for label in ("dotted", "veined", "woven") for sample in of_class("DTD", label, 120)], context
    )
    assert Counter(candidate.label for candidate in selected) == {"veined": 120, "woven": 120}
    assert context.ledger.dropped == {
        ("texture", "DTD", DISCARDED): 1,
        ("texture", "DTD", "fewer than 120 of a texture"): 119,
    }
