"""Scene: exactly thirty images per class, and thirty options of the same dataset."""

from __future__ import annotations

from collections import Counter

from snellen.suites.ava_bench.abilities.scene import CURATION
from snellen.suites.ava_bench.curated.classification import ALONE
from tests.suites.ava_bench.curated.class_fixtures import chosen, make_items, merging, of_class, texts
from tests.suites.ava_bench.curated.fixtures import curating


def test_a_class_has_thirty_images_or_none_and_merged_labels_are_one_class() -> None:
    context = curating(choices=merging())
    scenes = [
        *of_class("Places434", "first", 16),
        *of_class("Places434", "second", 15),
        *of_class("Places434", "lawn", 30),
        *of_class("Places434", "hall", 29),
        *of_class("AID", "lawn", 30),
    ]
    selected = chosen(CURATION, scenes, context)
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
    selected = chosen(CURATION, scenes, context)
    small = [selected[0], selected[-2], selected[-1]]  # as `--n` leaves them
    aid, *places_items = make_items(CURATION, small, context)
    for item in places_items:
        assert item.answer in texts(item)
        assert len(set(texts(item))) == 30
        assert set(texts(item)) < set(names)
    assert texts(places_items[0]) != texts(places_items[1])
    assert sorted(texts(aid)) == ["field", "port"]
