"""Scene, action and texture: the images of each class, merged labels, and the options."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from snellen.curated_sets.ava_bench.abilities.image_classes import (
    ACTION_CURATION,
    DISCARDED,
    SCENE_CURATION,
    TEXTURE_CURATION,
)
from snellen.curated_sets.ava_bench.classification import ALONE, NOT_CHOSEN
from snellen.curated_sets.ava_bench.selection.choices import Choices
from snellen.datasets.image_files import VideoFrame
from tests.curated_sets.ava_bench.selection.class_fixtures import choices, chosen, make_items, merging, of_class, texts
from tests.curated_sets.ava_bench.selection.fixtures import curating

MOMENTS = "Moments-in-Time"


def test_a_class_has_thirty_images_or_none_and_merged_labels_are_one_class() -> None:
    context = curating(choices=merging())
    scenes = [
        *of_class("Places434", "first", 16), *of_class("Places434", "second", 15), *of_class("Places434", "lawn", 30),
        *of_class("Places434", "hall", 29), *of_class("AID", "lawn", 30),
    ]  # fmt: skip
    selected = chosen(SCENE_CURATION, scenes, context)
    assert Counter(candidate.stratum for candidate in selected) == {
        ("Places434", "both", ""): 30,
        ("Places434", "lawn", ""): 30,
    }
    assert context.ledger.dropped == {
        ("scene", "Places434", "more than 30 in a bin of a class"): 1,
        ("scene", "Places434", "fewer than 30 in a bin of a class"): 29,
        ("scene", "AID", ALONE): 30,
    }
    assert {candidate.origin.record_id.split("/")[0] for candidate in selected if candidate.label == "both"} == {
        "first",
        "second",
    }


def test_options_are_thirty_chosen_classes_of_the_same_dataset() -> None:
    context = curating(choices=merging())
    names = [f"place {n:02}" for n in range(40)]
    scenes = [sample for name in names for sample in of_class("Places434", name, 30)]
    scenes += [sample for name in ("field", "port") for sample in of_class("AID", name, 30)]
    selected = chosen(SCENE_CURATION, scenes, context)
    small = [selected[0], selected[-2], selected[-1]]  # as `--n` leaves them
    aid, *places_items = make_items(SCENE_CURATION, small, context)
    for item in places_items:
        assert item.answer in texts(item)
        assert len(set(texts(item))) == 30
        assert set(texts(item)) < set(names)
    assert texts(places_items[0]) != texts(places_items[1])
    assert sorted(texts(aid)) == ["field", "port"]


def test_at_most_fifty_clips_of_a_merged_label_and_none_of_fewer_than_five() -> None:
    context = curating(choices=merging())
    counts = {"first": 30, "second": 22, "boxing": 5, "buying": 4}
    scenes = [sample for label, count in counts.items() for sample in of_class(MOMENTS, label, count)]
    selected = chosen(ACTION_CURATION, scenes, context)
    assert Counter(candidate.label for candidate in selected) == {"both": 50, "boxing": 5}
    assert context.ledger.dropped == {
        ("action", MOMENTS, "more than 50 in a bin of a class"): 2,
        ("action", MOMENTS, "fewer than 5 in a bin of a class"): 4,
    }


def test_an_item_has_a_hundred_options_and_the_frame_of_its_clip() -> None:
    context = curating(choices=merging())
    frame = VideoFrame(Path("a.mp4"), 0.5)
    scenes = [replace(sample, image=frame) for n in range(120) for sample in of_class(MOMENTS, f"act {n:03}", 5)]
    selected = chosen(ACTION_CURATION, scenes, context)
    assert selected[0].origin.image == frame
    for item in make_items(ACTION_CURATION, selected[:3], context):
        assert item.answer in texts(item)
        assert len(set(texts(item))) == 100


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
    selected = chosen(TEXTURE_CURATION, scenes, context)
    assert Counter(candidate.label for candidate in selected) == {"cotton": 480, "linen": 120}
    few, many = "fewer than 120 of a texture", "more than 480 of a texture"
    drops = context.ledger.dropped
    assert drops["texture", "KTH-TIPS", many] + drops["texture", "KTH-TIPS2-b", many] == 81 + 432 - 480
    assert drops["texture", "KTH-TIPS2-b", few] == 119
    assert drops["texture", "KTH-TIPS", NOT_CHOSEN] == 81
    for item in make_items(TEXTURE_CURATION, [selected[0], selected[-1]], context):
        assert sorted(texts(item)) == ["cotton", "linen"]


def test_every_other_dataset_is_a_separate_pool_and_options_are_shuffled() -> None:
    context = curating(choices=choices())
    scenes = [sample for label in ("stone1", "stone2", "rug1") for sample in of_class("Kylberg", label, 160)]
    scenes += [sample for label in ("dotted", "veined") for sample in of_class("DTD", label, 120)]
    selected = chosen(TEXTURE_CURATION, scenes, context)
    assert Counter(candidate.stratum[:2] for candidate in selected) == {
        ("Kylberg", "stone"): 320, ("Kylberg", "rug"): 160, ("DTD", "dotted"): 120, ("DTD", "veined"): 120,
    }  # fmt: skip
    assert not context.ledger.dropped
    offered = {(item.factors["source"], texts(item)) for item in make_items(TEXTURE_CURATION, selected, context)}
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
        TEXTURE_CURATION,
        [sample for label in ("dotted", "veined", "woven") for sample in of_class("DTD", label, 120)],
        context,
    )
    assert Counter(candidate.label for candidate in selected) == {"veined": 120, "woven": 120}
    assert context.ledger.dropped == {
        ("texture", "DTD", DISCARDED): 1,
        ("texture", "DTD", "fewer than 120 of a texture"): 119,
    }
