"""The printed numbers, and what follows from them."""

from __future__ import annotations

from collections import Counter

import pytest

from snellen.suites import SUITES
from snellen.suites.combo.alignment import natural_categories
from snellen.suites.combo.build import FULL_COUNTS
from snellen.suites.combo.perception import QUESTIONS
from snellen.suites.combo.published import (
    COUNTS,
    OBJECTS,
    PICTURES,
    TABLE_2,
    TABLE_2_QUESTIONS,
    TABLE_4,
    VIEWS,
    published,
)


def test_row_means_of_table_2() -> None:
    means = {name: sum(row) / len(row) for name, row in TABLE_2.items()}
    assert {name: round(mean, 2) for name, mean in means.items()} == {
        "LLaVA-v1.5-13B": 44.34,
        "Qwen-VL-Chat": 50.89,
        "GPT-4V": 74.94,
        "Gemini-1.5-Pro": 88.19,
    }


def test_table_2_asks_the_first_seven_of_our_questions() -> None:
    assert tuple(QUESTIONS)[:7] == TABLE_2_QUESTIONS
    assert all(len(row) == 7 for row in TABLE_2.values())


def test_every_value_of_table_4_is_an_even_hundredth() -> None:
    found = [value for row in TABLE_4.values() for value in row]
    assert len(found) == 28
    for value in found:
        hundredths = round(100 * value)
        assert value == hundredths / 100
        assert hundredths % 2 == 0  # 50 questions a level, or a divisor of 50


def test_table_1_counts_the_questions_of_the_full_size() -> None:
    assert FULL_COUNTS["pattern-perception"] == COUNTS["pattern-perception"] == 5000
    assert FULL_COUNTS["img2text"] + FULL_COUNTS["text2img"] == COUNTS["abstraction-alignment"] == 240
    assert FULL_COUNTS["category-building"] == COUNTS["category-building"] == 4 * 100


def test_24_categories_and_21_coco_names_are_45() -> None:
    told = natural_categories()
    names = [category.name for category in told.categories] + told.coco_names
    assert len(told.categories) == 24
    assert len(told.coco_names) == 21
    assert len(set(names)) == 45


def test_published_rows_belong_to_tasks_and_levels_of_the_suite() -> None:
    suite, rows = SUITES.get("combo"), list(published())
    assert len(rows) == 4 * 7 + 7 * 4
    assert Counter(row["source"] for row in rows) == {"Table 2": 28, "Table 4": 28}
    for row in rows:
        task = suite.tasks[row["task"]]
        assert row["metric"] in [metric.name for metric in task.protocols["strict"].metrics]
        assert row["factor"] in task.split_by
        assert 0 <= row["value"] <= 1


def test_a_printed_number_is_led_over_as_a_fraction() -> None:
    wanted = {"task": "pattern-perception", "subject": "Gemini-1.5-Pro", "factor": "question", "level": "anchor"}
    (row,) = [row for row in published() if wanted.items() <= row.items()]
    assert row["value"] == pytest.approx(0.649)


def test_the_card_says_the_same_counts() -> None:
    told = SUITES.get("combo").card.counts
    assert (told["objects"], told["views"], told["pictures"]) == (OBJECTS, VIEWS, PICTURES)
    assert told["category-building"] == COUNTS["category-building"]
