"""Balance of the train and test splits, on a few items counted by hand and on a generated set."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.item import Item, Split
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.itemset_cards import ItemSetCard, is_itemset
from snellen.core.storage.media import MediaFolder
from snellen.suites.ava_bench.abilities.counting import COUNT_RANGES, counting_item
from snellen.suites.ava_bench.abilities.ocr import ocr_item
from snellen.suites.ava_bench.abilities.relative_depth import relative_depth_item
from snellen.suites.ava_bench.balance import balances, hue, imbalance, imbalance_if_allowed, level
from snellen.suites.ava_bench.generated.recipe import Generated, draw_tables, make_design
from snellen.suites.ava_bench.report.sections import balance_section
from tests.suites.ava_bench.fixtures import COMPOSITES, item_source

BOX, FAR = (10.0, 20.0, 50.0, 60.0), (100.0, 70.0, 120.0, 90.0)


@dataclass(frozen=True)
class FewFields:
    """The fields of a run that the section reads."""

    items: ItemSet


def counting_items(split: Split, label: str, counts: list[int]) -> list[Item]:
    return [counting_item(item_source(f"{split}-{label}-{n}", split=split), label, n) for n in counts]


def table(items: list[Item]) -> dict[str, list[str]]:
    card = ItemSetCard(
        suite="ava-bench", version="1", source="made", recipe={}, recipe_hash="", content_hash="", items=len(items),
        counts={},
    )  # fmt: skip
    sections = list(balance_section(FewFields(ItemSet(Path(), card, tuple(items), MediaFolder(Path())))))  # type: ignore[arg-type]
    if not sections:
        return {}
    return {f"{row[0]} {row[1]}": [str(cell) for cell in row[2:]] for row in sections[0].table.to_numpy().tolist()}


def test_counts_by_hand() -> None:
    items = [
        *counting_items("train", "cups", [1, 2, 3, 7]),
        *counting_items("train", "pens", [8, 9]),
        *counting_items("test", "cups", [4, 30]),
    ]
    assert table(items) == {
        # Four of six are cups: 2/3 against 1.
        "counting thing": ["2", "2 to 4", "0 to 2", "1 only in train", "33.3"],
        # 3/6, 3/6, 0 against 1/2, 0, 1/2.
        "counting count range": ["3", "0 to 3", "0 to 1", "1 only in train, 1 only in test", "50.0"],
    }


def test_a_single_split_has_no_comparison() -> None:
    assert table(counting_items("train", "cups", [1, 7])) == {"counting count range": ["2", "1 to 1", "–", "–", "–"]}
    assert table(counting_items("test", "cups", [1])) == {}


def test_levels_beyond_the_factors() -> None:
    near = relative_depth_item(item_source(), ("car", "cyclist"), (BOX, FAR), (9.0, 8.5), "outdoor")
    assert (level(near, "nearer"), level(near, "farther"), level(near, "answer")) == ("cyclist", "car", "blue")
    assert level(ocr_item(item_source(), BOX, "STOP"), "length") == "4 characters"
    assert [hue(rgb) for rgb in ((200, 20, 30), (120, 30, 200), (30, 60, 200), (200, 190, 180), (255, 0, 43))] == [
        "red", "purple", "blue", "pale", "red",
    ]  # fmt: skip


def test_the_card_notes_levels_that_are_not_matched() -> None:
    test = counting_items("test", "cups", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    train = counting_items("train", "cups", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 21])
    assert imbalance([*test, *train]) == ["counting: count_range 21-40 only in split=train"]  # 1 of 12 is 8 points
    assert imbalance([*test[:11], *train]) == []  # too few to require it
    assert imbalance([*test, *[replace(item, split="test") for item in train]]) == []
    few = counting_items("train", "cups", [1, 6, 11])
    assert imbalance([*test, *few]) == ["counting: shares of count_range differ by 17 points between splits"]


@pytest.mark.parametrize("exception", [{"allow_unmatched": True}, {"quick": True}])
def test_unmatched_splits_are_refused_unless_allowed(exception: dict[str, bool]) -> None:
    options = BuildOptions(Path("out"))
    test = counting_items("test", "cups", list(range(1, 13)))
    train = counting_items("train", "cups", [*range(1, 11), 13, 21])
    with pytest.raises(SnellenError) as refused:
        imbalance_if_allowed([*test, *train], options)
    assert str(refused.value) == (
        "out: training and test items do not match: counting: count_range 21-40 only in split=train; build with "
        "another --n or --seed, or accept this with --allow-unmatched (in Python allow_unmatched=True): the images are "
        "not rendered again, and the set's card says so"
    )
    notes = ["counting: count_range 21-40 only in split=train"]
    assert imbalance_if_allowed([*test, *train], replace(options, **exception)) == notes  # type: ignore[arg-type]
    assert imbalance_if_allowed([*test[:11], *train], options) == [], "too few test items"
    assert imbalance_if_allowed([*test, *[replace(item, split="train") for item in test]], options) == []


def test_one_refusal_counts_the_other_differences() -> None:
    test = counting_items("test", "cups", list(range(1, 13)))
    train = counting_items("train", "pens", list(range(1, 13)))
    with pytest.raises(SnellenError, match=r"counting: thing pens only in split=train \(and 2 more\); "):
        imbalance_if_allowed([*test, *train], BuildOptions(Path("out")))


def test_an_unmatched_set_is_not_written_and_its_card_says_so_if_it_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("snellen.suites.ava_bench.balance.imbalance", lambda items, *_: ["object: no match"])
    options = BuildOptions(
        tmp_path / "set", n=1, tasks=("object",), renderer="toy", size=(160, 120), show_progress=False
    )
    with pytest.raises(SnellenError, match="do not match: object: no match"):
        Generated().build(options)
    assert not is_itemset(options.out)
    assert "object: no match" in Generated().build(replace(options, allow_unmatched=True)).card.notes


def test_generated_splits_are_balanced(built: ItemSet) -> None:
    by_factor = {(balance.task, balance.factor): balance for balance in balances(built.items)}
    assert by_factor["counting", "count_range"].test == {name: 3 for _, name in COUNT_RANGES}
    assert by_factor["counting", "count_range"].train == {name: 6 for _, name in COUNT_RANGES}
    for task in ("localization", "fine-grained", "texture"):
        assert by_factor[task, "difficulty"].test == {"easy to see": 4, "middle": 4, "hard to see": 4}
        assert by_factor[task, "difficulty"].train == {"easy to see": 8, "middle": 8, "hard to see": 8}
    assert by_factor["relative-depth", "answer"].test == {"red": 6, "blue": 6}


@pytest.mark.slow
@pytest.mark.parametrize("n", [36, 60])
def test_the_splits_of_a_checkup_and_of_larger_sets_are_matched(n: int, tmp_path: Path) -> None:
    """Every class and range has the same share of both splits, but for composites, which use the others' tables."""
    built = Generated().build(BuildOptions(tmp_path / "set", n=n, renderer="toy", show_progress=False))
    assert [note for note in imbalance(built.items) if not note.startswith(COMPOSITES)] == []


@pytest.mark.slow
def test_a_table_whose_things_have_little_room_is_drawn(tmp_path: Path) -> None:
    """One test table of seed 302 takes more than 4,000 attempts."""
    options = BuildOptions(tmp_path / "set", n=36, seed=302, size=(384, 288), show_progress=False)
    assert len(draw_tables(make_design(options), options)) == sum(make_design(options).tables.values())
