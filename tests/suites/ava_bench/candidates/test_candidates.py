"""Levelling: caps of bins and classes, small sets, and that nothing goes without a line in the ledger."""

from __future__ import annotations

from collections import Counter
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.curation.rules import Caps
from snellen.suites.ava_bench.abilities import colour
from snellen.suites.ava_bench.candidates.candidates import Candidate, capped, draw_candidates, thinned
from snellen.suites.ava_bench.candidates.rules import Rules, rule_table
from tests.suites.ava_bench.candidates.fixtures import candidates, curating, scene


def test_bins_are_capped_and_classes_of_few_bins_go() -> None:
    at = curating()
    found = [
        *candidates(9, "cat", "1"),  # too few: 9 of at least 10
        *candidates(10, "cat", "2"),
        *candidates(35, "cat", "3"),  # 30 stay
        *candidates(12, "dog", "1"),  # one bin where two are needed
    ]
    kept = capped(found, Caps(10, 30, 2), "depth", at)
    assert Counter(one.stratum for one in kept) == {("LVIS", "cat", "2"): 10, ("LVIS", "cat", "3"): 30}
    assert at.ledger.dropped == {
        ("depth", "LVIS", "fewer than 10 in a bin of a class"): 9,
        ("depth", "LVIS", "more than 30 in a bin of a class"): 5,
        ("depth", "LVIS", "a class of fewer than 2 bins"): 12,
    }
    assert at.ledger.examples["depth", "LVIS", "a class of fewer than 2 bins"] == ["dog"]


def test_the_largest_stay_where_they_are_preferred() -> None:
    kept = capped(candidates(20), Caps(1, 5), "depth", curating(), largest=True)
    assert [one.size for one in kept] == [19, 18, 17, 16, 15]


def test_the_draw_hangs_on_the_seed() -> None:
    def names(seed: int) -> list[str]:
        return [one.origin.record_id for one in capped(candidates(50), Caps(1, 5), "t", curating(seed=seed))]

    assert names(1) == names(1) != names(2)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("12")), max_size=60), st.integers(1, 5))
def test_what_is_found_is_kept_or_in_the_ledger(strata: list[tuple[str, str]], most: int) -> None:
    at = curating()
    found = [one for n, (label, name) in enumerate(strata) for one in candidates(1, label, f"{name}{n % 3}")]
    kept = draw_candidates(capped(found, Caps(1, most, 2), "t", at), 7, "t", at)
    assert len(kept) + sum(at.ledger.dropped.values()) == len(found)


def strata_of(kept: list[Candidate]) -> Counter[tuple[str, str, str]]:
    return Counter(one.stratum for one in kept)


def test_a_small_set_keeps_whole_bins_and_lets_sources_take_turns() -> None:
    found = [*(one for n in range(6) for one in candidates(20, f"l{n}")), *candidates(20, "d", source="DIOR")]
    kept = strata_of(thinned(found, 15, "t", curating()))
    assert sum(kept.values()) == 15
    assert set(kept.values()) == {5}  # three bins of five: four to train on and one to test with
    assert ("DIOR", "d", "") in kept


def test_a_small_set_that_has_room_takes_more_of_every_bin() -> None:
    found = [*candidates(20, "a"), *candidates(7, "b")]
    assert strata_of(thinned(found, 22, "t", curating())) == {("LVIS", "a", ""): 15, ("LVIS", "b", ""): 7}
    assert len(thinned(found, 27, "t", curating())) == 27


def test_classes_of_a_small_set_have_all_their_bins_so_that_no_class_tells_the_answer() -> None:
    found = [one for n in range(9) for bin in "1234" for one in candidates(20, f"l{n}", bin)]
    kept = strata_of(thinned(found, 55, "t", curating()))
    # Room for eleven bins of five: two classes of four, whose bins then share the fifteen items that are left.
    assert len({label for _, label, _ in kept}) == 2
    assert sorted(kept.values()) == [6, 7, 7, 7, 7, 7, 7, 7]


def test_a_class_of_many_bins_leaves_room_for_other_sources() -> None:
    found = [one for bin in "123456789" for one in candidates(20, "a", bin)]
    found += [one for bin in "123" for one in candidates(20, "d", bin, source="DIOR")]
    kept = strata_of(thinned(found, 30, "t", curating()))
    assert Counter(source for source, _, _ in kept) == {"LVIS": 3, "DIOR": 3}


def test_every_rule_says_what_it_bounds_and_whence() -> None:
    rows = rule_table(Rules())
    assert {origin for _, _, _, origin in rows} == {"A.2", "3.3", "ours"}
    values = {name: value for name, value, _, _ in rows}
    assert values["counted_open"] == "15 to 30; 5 or more"
    assert values["thing_area"] == "0.002, 0.5"
    assert all(what for _, _, what, _ in rows)


@pytest.mark.parametrize(("name", "value"), [("a_thing", 700), ("test_share", 0.2), ("depth_gap_m", 0.5)])
def test_numbers_of_the_paper(name: str, value: float) -> None:
    assert getattr(Rules(), name) == value


def test_the_readme_shows_every_rule() -> None:
    readme = files("snellen.suites.ava_bench").joinpath("README.md").read_text("utf-8")
    for name, value, what, origin in rule_table(Rules()):
        assert f"| `{name}` | {value} | {what} | {origin} |" in readme


def test_colour_draws_all_images_alike_and_holds_few_of_many() -> None:
    rules, counts = Rules(coloured_images=20), Counter[int]()
    for seed in range(60):
        at = curating(rules, seed=seed)
        found = [one for n in range(400) for one in colour.find(scene(record=f"{n}"), at)]
        assert len(found) < 40 * (2 + np.log(400 / 40))  # as many as are wanted, twice, and a few more on the way
        kept = colour.select(found, at)
        assert len(kept) == 20
        assert at.ledger.dropped == {("colour", "LVIS", "more than 20 drawn"): 380}
        counts.update(int(one.origin.record_id) // 100 for one in kept)
    # Of 1200 draws 300 fall to every hundred, with a standard deviation of 15.
    assert all(abs(count - 300) < 60 for count in counts.values())
