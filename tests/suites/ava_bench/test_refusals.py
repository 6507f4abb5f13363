"""What the suite refuses, each with its sentence, and the nearest thing that it accepts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snellen.core.item import Option
from snellen.core.storage.media import MediaFolder
from snellen.suites.ava_bench.abilities.ability import Ability, FirstPartAlone
from snellen.suites.ava_bench.abilities.colour import COLOUR, colour_item
from snellen.suites.ava_bench.abilities.object import OBJECT
from snellen.suites.ava_bench.abilities.ocr import OCR
from snellen.suites.ava_bench.abilities.orientation import ORIENTATION
from snellen.suites.ava_bench.released.files import released_form
from snellen.suites.ava_bench.scenes import display_scenes, table_contents, tabletop_scenes
from snellen.suites.ava_bench.scenes.tabletop_truth import ItemSlot, evenly_chosen
from snellen.suites.ava_bench.transforms import Boxed, Cut, Labelled, Marked
from tests.helpers.refusals import assert_refused
from tests.suites.ava_bench.fixtures import item_source, one_of_each

NOTHING, RNG = MediaFolder(Path("nowhere")), np.random.default_rng(0)
BOX = (10.0, 20.0, 50.0, 60.0)
ALONE = FirstPartAlone(description="does half of it", score=lambda item, metric: 0.0)


def fields_of(ability: Ability, **changes: Any) -> dict[str, Any]:
    return {**vars(ability), "name": "new-one", **changes}


@pytest.mark.parametrize(
    ("ability", "changes", "words"),
    [
        (COLOUR, {"parts": (COLOUR, OCR)}, "a composite task has both parts and first_part_alone"),
        (COLOUR, {"first_part_alone": ALONE}, "a composite task has both parts and first_part_alone"),
        (COLOUR, {"meaning": ""}, "meaning is missing"),
        (OBJECT, {"display": ORIENTATION.display}, "from tabletops or from displays, not from both"),
        (COLOUR, {"boxes": ("blue",)}, "asks_inside_box needs a red box"),
    ],
)
def test_contradictory_abilities_are_refused(ability: Ability, changes: dict[str, Any], words: str) -> None:
    call = partial(Ability, **fields_of(ability, **changes))
    for part in ("ava-bench/new-one: ", words, "; fix abilities/new_one.py"):
        assert_refused(call, part)
    whole = {"parts": (COLOUR, OCR), "first_part_alone": ALONE, "meaning": "", "asks_inside_box": False, "boxes": ()}
    assert Ability(**fields_of(COLOUR, **whole)).parts == (COLOUR, OCR)


@pytest.mark.parametrize("transform", [Boxed({"red": BOX}), Cut(BOX), Marked({"red": BOX})])
def test_views_of_several_images_have_no_boxes(transform: Any) -> None:
    view = one_of_each()["colour"].view()
    for count, query in ((0, ()), (2, view.query * 2)):
        call = partial(transform, replace(view, query=query), NOTHING, RNG)
        assert_refused(call, f"item colour-7: {count} images; ava-bench asks about one")


def test_there_are_as_many_letters_as_in_the_alphabet() -> None:
    view = one_of_each()["spatial"].view()
    many = [replace(view, options=tuple(Option(f"o{n}", f"o{n}") for n in range(count))) for count in (26, 27)]
    assert Labelled("letters")(many[0], NOTHING, RNG).reply.name("o25") == "Z. o25"
    assert Labelled("numbers")(many[1], NOTHING, RNG).reply.name("o26") == "27. o26"
    assert_refused(lambda: Labelled("letters")(many[1], NOTHING, RNG), "27 options, but only 26 letters")


def test_draws_without_room_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    content = table_contents.draw_contents(1, np.random.default_rng(0))[0]
    display = display_scenes.draw_contents(1, np.random.default_rng(0))[0]
    monkeypatch.setattr(display_scenes, "BORDER_SHARE", 0.5)
    monkeypatch.setattr(display_scenes, "_TRIES", 3)
    monkeypatch.setattr(tabletop_scenes, "_STARTS", 0)
    monkeypatch.setattr(table_contents, "MAX_SOLIDS", 8)
    monkeypatch.setattr(table_contents, "_TRIES", 3)
    refused: list[tuple[Callable[[], object], str]] = [
        (lambda: tabletop_scenes.draw_table(content, 5, 0, "test", (240, 180)), "table 5 (test) in 0 attempts; give"),
        (lambda: display_scenes.draw_display(display, 6, 0, "test", (240, 180)), "no draw out of 3 keeps the things"),
        (lambda: table_contents.draw_contents(2, np.random.default_rng(0)), "no counts of at most 3 things per table"),
        (lambda: released_form("nearer-localization"), "ava-bench/nearer-localization: was not released"),
        (lambda: colour_item(item_source(), BOX, (1, 2)), "is not an sRGB colour"),
    ]  # fmt: skip
    for call, words in refused:
        assert_refused(call, words)


def test_a_table_with_too_few_candidates_is_refused() -> None:
    """Of two tables one has two candidates for two items, the other one for two."""
    tables: list[Any] = ["ab", "c"]
    turns = [ItemSlot(table, slot, item_source()) for slot in (0, 1) for table in tables]

    def candidates(table: Any) -> list[tuple[str, dict[str, str]]]:
        return [(letter, {"letter": letter}) for letter in table]

    assert sorted(evenly_chosen("new", turns[:3], candidates, {"letter": 3}, RNG)) == ["a", "b", "c"]
    assert_refused(
        lambda: evenly_chosen("new", turns, candidates, {"letter": 3}, RNG), "too few candidates for new; give"
    )
