"""Levelling: caps of bins and classes, small sets, and a ledger entry for everything left out."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.curated_sets.ava_bench.abilities import colour
from snellen.curated_sets.ava_bench.selection.candidates import Candidate, capped, draw_candidates, thinned
from snellen.curated_sets.ava_bench.selection.rules import Rules
from snellen.curated_sets.rules import Caps
from tests.curated_sets.ava_bench.selection.fixtures import candidates, curating, scene


def test_bins_are_capped_and_classes_with_few_bins_are_dropped() -> None:
    context = curating()
    pool = [
        *candidates(9, "cat", "1"),  # too few: 9 of at least 10
        *candidates(10, "cat", "2"),
        *candidates(35, "cat", "3"),  # 30 stay
        *candidates(12, "dog", "1"),  # one bin where two are needed
    ]
    selected = capped(pool, Caps(10, 30, 2), "depth", context)
    assert Counter(candidate.stratum for candidate in selected) == {("LVIS", "cat", "2"): 10, ("LVIS", "cat", "3"): 30}
    assert context.ledger.dropped == {
        ("depth", "LVIS", "fewer than 10 in a bin of a class"): 9,
        ("depth", "LVIS", "more than 30 in a bin of a class"): 5,
        ("depth", "LVIS", "a class of fewer than 2 bins"): 12,
    }
    assert context.ledger.examples["depth", "LVIS", "a class of fewer than 2 bins"] == ["dog"]


def test_the_largest_are_kept_if_preferred() -> None:
    selected = capped(candidates(20), Caps(1, 5), "depth", curating(), largest=True)
    assert [candidate.size for candidate in selected] == [19, 18, 17, 16, 15]


def test_the_draw_depends_on_the_seed() -> None:
    def names(seed: int) -> list[str]:
        return [
            candidate.origin.record_id for candidate in capped(candidates(50), Caps(1, 5), "t", curating(seed=seed))
        ]

    assert names(1) == names(1) != names(2)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("12")), max_size=60), st.integers(1, 5))
def test_every_candidate_is_kept_or_in_the_ledger(strata: list[tuple[str, str]], most: int) -> None:
    context = curating()
    pool = [candidate for n, (label, name) in enumerate(strata) for candidate in candidates(1, label, f"{name}{n % 3}")]
    selected = draw_candidates(capped(pool, Caps(1, most, 2), "t", context), 7, "t", context)
    assert len(selected) + sum(context.ledger.dropped.values()) == len(pool)


def strata_of(selected: list[Candidate]) -> Counter[tuple[str, str, str]]:
    return Counter(candidate.stratum for candidate in selected)


def test_a_small_set_keeps_complete_bins_and_alternates_sources() -> None:
    pool = [
        *(candidate for n in range(6) for candidate in candidates(20, f"l{n}")),
        *candidates(20, "d", source="DIOR"),
    ]
    selected = strata_of(thinned(pool, 15, "t", curating()))
    assert sum(selected.values()) == 15
    assert set(selected.values()) == {5}  # three bins of five: four to train on and one to test with
    assert ("DIOR", "d", "") in selected


def test_a_small_set_with_room_takes_more_of_every_bin() -> None:
    pool = [*candidates(20, "a"), *candidates(7, "b")]
    assert strata_of(thinned(pool, 22, "t", curating())) == {("LVIS", "a", ""): 15, ("LVIS", "b", ""): 7}
    assert len(thinned(pool, 27, "t", curating())) == 27


def test_classes_of_a_small_set_have_all_their_bins_so_that_no_class_reveals_the_answer() -> None:
    pool = [candidate for n in range(9) for bin in "1234" for candidate in candidates(20, f"l{n}", bin)]
    selected = strata_of(thinned(pool, 55, "t", curating()))
    # Room for eleven bins of five: two classes of four bins, which then share the remaining fifteen items.
    assert len({label for _, label, _ in selected}) == 2
    assert sorted(selected.values()) == [6, 7, 7, 7, 7, 7, 7, 7]


def test_a_class_of_many_bins_leaves_room_for_other_sources() -> None:
    pool = [candidate for bin in "123456789" for candidate in candidates(20, "a", bin)]
    pool += [candidate for bin in "123" for candidate in candidates(20, "d", bin, source="DIOR")]
    selected = strata_of(thinned(pool, 30, "t", curating()))
    assert Counter(source for source, _, _ in selected) == {"LVIS": 3, "DIOR": 3}


@pytest.mark.parametrize(("name", "value"), [("a_thing", 700), ("test_share", 0.2), ("depth_gap_m", 0.5)])
def test_numbers_of_the_paper(name: str, value: float) -> None:
    assert getattr(Rules(), name) == value


def test_the_readme_shows_every_rule() -> None:
    readme = files("snellen.suites.ava_bench").joinpath("README.md").read_text("utf-8")
    assert {rule.metadata["origin"] for rule in fields(Rules)} == {"A.2", "3.3", "ours"}
    assert all(rule.metadata["what"] for rule in fields(Rules))
    for rule in fields(Rules):
        value = getattr(Rules(), rule.name)
        if isinstance(value, Caps):
            written = f"{value.minimum} to {value.maximum}" + (f"; {value.min_bins} or more" * (value.min_bins > 1))
        else:
            written = ", ".join(f"{number:g}" for number in np.atleast_1d(value))
        assert f"| `{rule.name}` | {written} | {rule.metadata['what']} | {rule.metadata['origin']} |" in readme


def test_colour_draws_all_images_equally_often_and_keeps_few_in_memory() -> None:
    rules, counts = Rules(coloured_images=20), Counter[int]()
    for seed in range(60):
        context = curating(rules, seed=seed)
        pool = [candidate for n in range(400) for candidate in colour.find(scene(record=f"{n}"), context)]
        assert len(pool) < 40 * (2 + np.log(400 / 40))  # twice the number wanted, and a few more on the way
        selected = colour.select(pool, context)
        assert len(selected) == 20
        assert context.ledger.dropped == {("colour", "LVIS", "more than 20 drawn"): 380}
        counts.update(int(candidate.origin.record_id) // 100 for candidate in selected)
    # Of 1200 draws 300 go to each hundred, with a standard deviation of 15.
    assert all(abs(count - 300) < 60 for count in counts.values())
