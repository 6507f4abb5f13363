"""What is had without pictures: worked out by hand, on a generated set, in its card and in a report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from snellen.core.item import Item, Media, Split
from snellen.core.itemset import ItemSet, read_itemset
from snellen.core.seeds import stream
from snellen.core.suite import BuildOptions
from snellen.suites.ava_bench.abilities import ABILITIES, ability_named
from snellen.suites.ava_bench.abilities.absolute_depth import absolute_depth_item
from snellen.suites.ava_bench.abilities.colour import colour_item
from snellen.suites.ava_bench.abilities.counting import counting_item
from snellen.suites.ava_bench.abilities.localization import localization_item
from snellen.suites.ava_bench.abilities.scene import scene_item
from snellen.suites.ava_bench.abilities.spatial import POSITIONS, spatial_item
from snellen.suites.ava_bench.no_image_baselines import ENOUGH, MAX_TRIED_A_QUESTION, blind, with_chance
from snellen.suites.ava_bench.released.recipe import RELEASED
from tests.helpers.sets import small_set
from tests.suites.ava_bench.curated.test_curated import build, lvis, whole
from tests.suites.ava_bench.fixtures import shown
from tests.suites.ava_bench.released.fixtures import record, tree
from tests.suites.ava_bench.report.test_sections import ALL, found, line, made_items, run

BOX = (10.0, 20.0, 50.0, 60.0)
N = 12


def counted(split: Split, things: str, counts: Sequence[int]) -> list[Item]:
    return [counting_item(shown(f"{split}-{things}-{n}", split=split), things, count) for n, count in enumerate(counts)]


def placed(split: Split, pairs: Sequence[tuple[str, str, str]]) -> list[Item]:
    """Where the first thing lies as seen from the second; `BOX` is what it is seen from."""
    found = []
    for n, (red, blue, where) in enumerate(pairs):
        x, y = 5.0 if "Left" in where else 60.0, 5.0 if "above" in where else 70.0
        of = shown(f"{split}-{n}", split=split)
        found.append(spatial_item(of, red, blue, (x, y, x + 4, y + 4), BOX))
        assert found[-1].answer == where
    return found


def scenes(split: Split, told: Sequence[tuple[str, Sequence[str]]]) -> list[Item]:
    return [scene_item(shown(f"{split}-{n}", split=split), name, offered) for n, (name, offered) in enumerate(told)]


def test_names_that_tell_the_answer_give_all_of_it() -> None:
    """Sofas lie left above cups; one place of each kind, so that no single answer is right more than once in four."""
    told = [("sofa", f"cup {n}", where) for n, where in enumerate(POSITIONS)]
    assert blind([*placed("train", told), *placed("test", told)])["spatial"] == {
        "best_single": 0.25, "words_alone": 1.0, "chance": 0.25,
    }  # fmt: skip


def test_balanced_names_tell_nothing() -> None:
    told = [("sofa", name, where) for name in ("cup", "lamp", "mat") for where in POSITIONS]
    assert blind([*placed("train", told), *placed("test", told)])["spatial"]["words_alone"] == 0.25


def test_options_come_first_then_the_question_then_the_task() -> None:
    train = scenes("train", [*[("Lawn", ["Lawn", "Pier"])] * 2, *[("Pier", ["Pier", "Lawn", "Cave"])] * 3])
    test = scenes(
        "test",
        [
            ("Lawn", ["Pier", "Lawn"]),  # these options, in another order: Lawn; and not Pier, the best of all
            ("Pier", ["Lawn", "Pier", "Gate"]),  # other options: the best with this question
            ("Lawn", ["Lawn", "Gate"]),  # Pier is not offered, Lawn is next
            ("Gate", ["Gate", "Mall", "Cave", "Farm"]),  # none of these was ever right: a guess
        ],
    )
    assert blind([*train, *test])["scene"] == {
        "best_single": 0.25, "words_alone": (3 + 1 / 4) / 4, "chance": round((1 / 2 + 1 / 3 + 1 / 2 + 1 / 4) / 4, 4),
    }  # fmt: skip


def test_the_single_answer_is_that_which_is_worth_most_not_the_most_frequent() -> None:
    """Of 1, 1, 9, 9, 9, 10 misses 1 by (0 + 0 + 3 x 8/9 + 0.9) / 6 = 0.594, 9 by (2 x 1 (held) + 0.1) / 6 = 0.35.

    10 misses by (2 + 3/9) / 6 = 0.389. To 4 and 12 nine has errors of 1 (held) and 0.25.
    """
    train, test = counted("train", "cups", [1, 1, 9, 9, 9, 10]), counted("test", "cups", [4, 12])
    told = blind(with_chance([*train, *test]))["counting"]
    assert told == {"best_single": 0.625, "words_alone": 0.625, "chance": 0.625}


def test_depths_are_scored_and_not_counted() -> None:
    """To say 1-2 where it is 4-5 misses by 2/3, the other way round by 1 (held): the rarer bin may be worth more."""

    def near(far: int) -> float:
        """What the best answer, learnt on three things at 1.5 m and some at 4.5 m, misses by of one at 1.5 m."""
        depths = [1.5] * 3 + [4.5] * far
        train = [
            absolute_depth_item(
                shown(f"{n}", split="train"), "car", BOX, depth_m=depth, bins=("1-2", "4-5"), scene_type="indoor"
            )
            for n, depth in enumerate(depths)
        ]
        test = absolute_depth_item(shown("test"), "car", BOX, depth_m=1.5, bins=("1-2", "4-5"), scene_type="indoor")
        return blind([*train, test])["absolute-depth"]["best_single"]

    assert near(4) == 0.0  # 1-2 misses by 4 x 2/3 = 2.67, 4-5 by 3 x 1
    assert near(5) == 1.0  # 5 x 2/3 = 3.33 against 3


def test_a_question_of_few_training_items_is_not_gone_by() -> None:
    """Many cups are twenty; pens are two, and are believed from `ENOUGH` of them on."""
    cups, test = counted("train", "cups", [20] * 40), counted("test", "pens", [2, 2])
    few, enough = (counted("train", "pens", [2] * n) for n in (ENOUGH - 1, ENOUGH))
    assert blind([*cups, *few, *test])["counting"]["words_alone"] == 1.0
    assert blind([*cups, *enough, *test])["counting"]["words_alone"] == 0.0


def test_one_box_is_the_same_share_of_every_padded_square() -> None:
    """The middle of a broad picture and of a high one of another size are one answer."""

    def middle(split: Split, width: int, height: int) -> Item:
        picture = Media("0" * 64, "picture", "png", width, height)
        of = replace(shown(f"{width}", split=split), picture=picture)
        side, x, y = max(width, height) / 10, width / 2, height / 2
        return localization_item(of, "cup", (x - side, y - side, x + side, y + side))

    told = blind([middle("train", 200, 100), middle("test", 300, 600)])
    assert told["localization"] == {"best_single": 1.0, "words_alone": 1.0}


def test_colours_all_at_once_miss_as_one_by_one() -> None:
    """Of three blues from dark to light the middle one is worth most, and misses as the suite's own metric says."""
    told: list[tuple[Split, int]] = [("train", 40), ("train", 62), ("train", 50), ("test", 200)]
    items = [
        colour_item(shown(f"{n}", split=split), BOX, (level, level, level + 50))
        for n, (split, level) in enumerate(told)
    ]
    metric = ability_named("colour").protocols["strict"].metrics[0]
    assert blind(items)["colour"]["best_single"] == pytest.approx(metric.score(items[-1], (50, 50, 100)), abs=1e-4)


def test_a_sample_of_many_is_drawn_the_same_every_time() -> None:
    counts = stream("t").integers(1, 41, 3 * MAX_TRIED_A_QUESTION).tolist()
    items = [*counted("train", "cups", counts), *counted("train", "pens", counts), *counted("test", "cups", [9])]
    assert blind(items) == blind(items)


def test_without_training_items_nothing_is_told() -> None:
    assert blind(counted("test", "cups", [1, 2])) == blind(counted("train", "cups", [1, 2])) == {}


def test_a_report_shows_both_lines_where_there_are_training_items() -> None:
    """All four test counts are 2, 4, 8, 10; whoever learnt on tens says 10 and misses by 1 (held), 1, 0.25 and 0."""
    bare = found(run({("best", ""): ALL}))["abilities"]
    assert list(bare.table["subject"]) == ["best", "(chance)"]
    assert "without any picture" not in bare.note
    made = run({("best", ""): ALL})
    lessons = counted("train", "apples", [10, 10, 10])
    told = found(replace(made, items=replace(made.items, items=(*made.items.items, *lessons))))["abilities"]
    assert list(told.table["subject"])[-3:] == ["(chance)", "(best single answer)", "(words alone)"]
    for name in ("(best single answer)", "(words alone)"):
        assert line(told, name)["counting mae_over_gt ↓"] == f"{(1 + 1 + 0.25) / 4:.3f}"
        assert line(told, name)["spatial ↑"] == "–"
    assert "without any picture" in told.note


def test_only_what_was_asked_counts() -> None:
    """Of four counts two were asked, 2 and 4: ten is an error of 1 in both."""
    made = run({("best", ""): ALL}, made=[item for item in made_items() if item.cluster_id in ("0", "1")])
    rest = (*(item for item in made_items() if item.cluster_id in ("2", "3")), *counted("train", "apples", [10]))
    told = found(replace(made, items=replace(made.items, items=(*made.items.items, *rest))))["abilities"]
    assert line(told, "(words alone)")["counting mae_over_gt ↓"] == "1.000"


@pytest.fixture(scope="module")
def built(sets_folder: Path) -> ItemSet:
    return small_set("ava-bench", sets_folder, seed=0, test_items=N)


def test_words_tell_next_to_nothing_of_generated_items(built: ItemSet) -> None:
    """Each task of choices lies within three standard errors of chance, all of them together within two."""
    told = built.card.provenance["blind"]
    assert set(told) == set(built.card.counts)
    choices = [task for task in told if ABILITIES[task].has_options and task != "absolute-depth"]
    assert len(choices) == 6
    chances = np.array([told[task]["chance"] for task in choices])
    above = np.array([told[task]["words_alone"] for task in choices]) - chances
    errors = np.sqrt(chances * (1 - chances) / N)
    assert (np.abs(above) < 3 * errors).all(), dict(zip(choices, above, strict=True))
    assert abs(above.sum()) < 2 * math.hypot(*errors)


def test_the_cards_of_all_recipes_keep_what_the_items_say(built: ItemSet, tmp_path: Path) -> None:
    lvis(tmp_path, whole())
    curated = build(tmp_path)
    released = tree(tmp_path / "ava", {"scene": [record("scene", n) for n in range(6)]})
    tree(released, {"scene": [record("scene", n) for n in range(6, 9)]}, "test")
    options = BuildOptions(tmp_path / "released", sources={"ava": released}, show_progress=False)
    for made in (built, curated, RELEASED.build(options)):
        told = read_itemset(made.root).card.provenance["blind"]
        assert told == blind(read_itemset(made.root).items) != {}
