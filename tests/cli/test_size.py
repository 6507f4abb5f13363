"""`--size`: the size of generated images."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.cli.building import size_of
from snellen.core.errors import SnellenError
from snellen.core.suite import BuildOptions
from snellen.suites import SUITES
from tests.helpers.sets import small_set


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("640", "write WIDTHxHEIGHT"),
        ("640x480x3", "write WIDTHxHEIGHT"),
        ("640 x 480", "write WIDTHxHEIGHT"),
        ("-640x480", "write WIDTHxHEIGHT"),
        ("64x48", "90 to 4096"),
        ("5000x4000", "90 to 4096"),
        ("480x640", "1 to 1.8 times the height"),
        ("1000x500", "1 to 1.8 times the height"),
    ],
)
def test_a_malformed_size_is_refused(text: str, reason: str) -> None:
    with pytest.raises(SnellenError, match=reason):
        size_of(text, "generated")


def test_a_size_applies_to_generated_images_only() -> None:
    assert size_of("854x480", "generated") == (854, 480)
    assert size_of("854x480", "") == (854, 480), "generated is the default"
    with pytest.raises(SnellenError, match="--from generated"):
        size_of("640x480", "curated")


@pytest.mark.parametrize("suite", ["combo", "vlm2-bench", "vfm-bench", "ava-bench"])
def test_every_recipe_takes_a_size_and_names_a_small_one(suite: str) -> None:
    parameters = SUITES.get(suite).recipes["generated"].parameters
    usual, small = BuildOptions(Path()), BuildOptions(Path(), size=(120, 90))
    assert parameters(usual)["size_px"] == [640, 480]
    assert parameters(small)["size_px"] == [120, 90]
    assert not usual.size_notes()
    (note,) = small.size_notes()
    assert "120x90" in note


def test_quick_images_are_smaller_and_the_card_states_it(sets_folder: Path) -> None:
    card = small_set("vfm-bench", sets_folder).card
    assert card.recipe["size_px"] == [240, 180]
    assert any("240x180" in note for note in card.notes)
