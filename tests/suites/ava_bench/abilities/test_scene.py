"""Scene: exactly thirty images of a class, and thirty options of the same dataset."""

from __future__ import annotations

from collections import Counter

from snellen.suites.ava_bench.abilities.scene import CURATION
from snellen.suites.ava_bench.candidates.classification import ALONE
from tests.suites.ava_bench.candidates.class_fixtures import asked, choices, chosen, merging, of_class, texts
from tests.suites.ava_bench.candidates.fixtures import curating


def test_thirty_of_a_class_or_none_and_merged_labels_are_one_class() -> None:
    at = curating(choices=merging())
    scenes = [
        *of_class("Places434", "first", 16),
        *of_class("Places434", "second", 15),
        *of_class("Places434", "lawn", 30),
        *of_class("Places434", "hall", 29),
        *of_class("AID", "lawn", 30),
    ]
    kept = chosen(CURATION, scenes, at)
    assert Counter(one.stratum for one in kept) == {("Places434", "both", ""): 30, ("Places434", "lawn", ""): 30}
    assert at.ledger.dropped == {
        ("scene", "Places434", "more than 30 in a bin of a class"): 1,
        ("scene", "Places434", "fewer than 30 in a bin of a class"): 29,
        ("scene", "AID", ALONE): 30,
    }
    assert {one.origin.record_id.split("/")[0] for one in kept if one.label == "both"} == {"first", "second"}


def test_thirty_options_of_the_own_dataset_of_all_that_were_chosen() -> None:
    at = curating(choices=merging())
    names = [f"place {n:02}" for n in range(40)]
    scenes = [one for name in names for one in of_class("Places434", name, 30)]
    scenes += [one for name in ("field", "port") for one in of_class("AID", name, 30)]
    kept = chosen(CURATION, scenes, at)
    small = [kept[0], kept[-2], kept[-1]]  # as `--n` leaves them
    aid, *places = asked(CURATION, small, at)
    for item in places:
        assert item.answer in texts(item)
        assert len(set(texts(item))) == 30
        assert set(texts(item)) < set(names)
    assert texts(places[0]) != texts(places[1])
    assert sorted(texts(aid)) == ["field", "port"]


def test_the_names_are_those_of_the_reviewed_choices() -> None:
    at = curating(choices=choices())
    [one] = CURATION.find(of_class("AID", "BareLand", 1)[0], at)
    assert one.label == "Bare land"
