"""Texture: 120 to 480 images of a texture, the two KTH datasets as one."""

from __future__ import annotations

from collections import Counter

from snellen.suites.ava_bench.abilities.texture import CURATION, DISCARDED
from snellen.suites.ava_bench.candidates.choices import Choices
from snellen.suites.ava_bench.candidates.classification import NOT_CHOSEN
from tests.suites.ava_bench.candidates.class_fixtures import asked, choices, chosen, of_class, texts
from tests.suites.ava_bench.candidates.fixtures import curating


def test_both_kth_datasets_are_counted_together_and_offer_the_names_of_both() -> None:
    at = curating(choices=choices())
    scenes = [
        *of_class("KTH-TIPS", "cotton", 81),
        *of_class("KTH-TIPS2-b", "cotton", 432),
        *of_class("KTH-TIPS", "linen", 39),
        *of_class("KTH-TIPS2-b", "linen", 81),
        *of_class("KTH-TIPS2-b", "wool", 119),
        *of_class("KTH-TIPS", "sponge", 81),
    ]
    kept = chosen(CURATION, scenes, at)
    assert Counter(one.label for one in kept) == {"cotton": 480, "linen": 120}
    few, many = "fewer than 120 of a texture", "more than 480 of a texture"
    told = at.ledger.dropped
    assert told["texture", "KTH-TIPS", many] + told["texture", "KTH-TIPS2-b", many] == 81 + 432 - 480
    assert told["texture", "KTH-TIPS2-b", few] == 119
    assert told["texture", "KTH-TIPS", NOT_CHOSEN] == 81
    for item in asked(CURATION, [kept[0], kept[-1]], at):
        assert sorted(texts(item)) == ["cotton", "linen"]


def test_every_other_dataset_is_a_pool_of_its_own_and_options_are_shuffled() -> None:
    at = curating(choices=choices())
    scenes = [one for label in ("stone1", "stone2", "rug1") for one in of_class("Kylberg", label, 160)]
    scenes += [one for label in ("dotted", "veined") for one in of_class("DTD", label, 120)]
    kept = chosen(CURATION, scenes, at)
    assert Counter(one.stratum[:2] for one in kept) == {
        ("Kylberg", "stone"): 320, ("Kylberg", "rug"): 160, ("DTD", "dotted"): 120, ("DTD", "veined"): 120,
    }  # fmt: skip
    assert not at.ledger.dropped
    offered = {(item.factors["source"], texts(item)) for item in asked(CURATION, kept, at)}
    assert offered == {
        ("Kylberg", ("stone", "rug")), ("Kylberg", ("rug", "stone")),
        ("DTD", ("dotted", "veined")), ("DTD", ("veined", "dotted")),
    }  # fmt: skip


class Discarding(Choices):
    """The package's choices, and one image that somebody looked at."""

    def discarded(self, source: str) -> frozenset[str]:
        return frozenset({"dotted/3"} if source == "DTD" else ())


def test_one_image_discarded_by_hand_takes_its_texture_of_120_along() -> None:
    at = curating(choices=Discarding(choices().files))
    kept = chosen(CURATION, [one for label in ("dotted", "veined", "woven") for one in of_class("DTD", label, 120)], at)
    assert Counter(one.label for one in kept) == {"veined": 120, "woven": 120}
    assert at.ledger.dropped == {
        ("texture", "DTD", DISCARDED): 1,
        ("texture", "DTD", "fewer than 120 of a texture"): 119,
    }
