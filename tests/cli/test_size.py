"""`--size`: the size of generated images."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.cli.derived import read_size
from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.exam.items import check_options
from snellen.suites import SUITES
from tests.helpers.sets import small_set


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("640", "write WIDTHxHEIGHT"), ("640x480x3", "write WIDTHxHEIGHT"), ("640 x 480", "write WIDTHxHEIGHT"),
        ("-640x480", "write WIDTHxHEIGHT"), ("64x48", "90 to 4096"), ("5000x4000", "90 to 4096"),
        ("480x640", "1 to 1.8 times the height"), ("1000x500", "1 to 1.8 times the height"),
    ],
)  # fmt: skip
def test_a_malformed_size_is_refused(text: str, reason: str) -> None:
    with pytest.raises(SnellenError, match=reason):
        read_size("--size", text)


def test_a_size_applies_to_generated_images_only() -> None:
    size, suite = read_size("--size", "854x480"), SUITES.get("combo")
    assert size == (854, 480)
    check_options(suite.recipes["generated"], BuildOptions(size=size), "combo --from generated")
    with pytest.raises(SnellenError, match="--from generated"):
        check_options(suite.recipes["curated"], BuildOptions(size=size), "combo --from curated")


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
