"""The printed numbers and their consequences."""

from __future__ import annotations

import re
from collections import Counter
from importlib.resources import files

import pytest
import yaml

from snellen.core.condition import parse_conditions
from snellen.suites.combo import SUITE
from snellen.suites.combo.generated.recipe import PAPER_COUNTS
from snellen.suites.combo.published import TABLE_2, TABLE_2_QUESTIONS, TABLE_4, published
from snellen.suites.combo.questions.perception import QUESTIONS
from tests.published.combo import COUNTS, OBJECTS, RENDERED_IMAGES, VIEWS


def test_table_2_asks_the_first_seven_of_our_questions() -> None:
    assert tuple(QUESTIONS)[:7] == TABLE_2_QUESTIONS
    assert all(len(row) == 7 for row in TABLE_2.values())


def test_every_value_of_table_4_is_an_even_hundredth_as_with_50_questions_per_level() -> None:
    values = [value for row in TABLE_4.values() for value in row]
    assert len(values) == 28
    assert all(round(100 * value) % 2 == 0 for value in values)


def test_table_1_counts_the_questions_of_the_full_size() -> None:
    assert PAPER_COUNTS["pattern-perception"] == COUNTS["pattern-perception"] == 5000
    assert PAPER_COUNTS["img2text"] + PAPER_COUNTS["text2img"] == COUNTS["abstraction-alignment"] == 240
    assert PAPER_COUNTS["category-building"] == COUNTS["category-building"] == 4 * 100


def test_published_rows_belong_to_tasks_and_levels_of_the_suite() -> None:
    rows = list(published())
    assert len(rows) == 4 * 7 + 7 * 4
    assert Counter(row["source"] for row in rows) == {"Table 2": 28, "Table 4": 28}
    for row in rows:
        task = SUITE.tasks[row["task"]]
        assert row["metric"] in [metric.name for metric in task.protocols["strict"].metrics]
        assert row["factor"] in task.split_by
        assert 0 <= row["value"] <= 1


def test_a_printed_number_becomes_a_fraction() -> None:
    fields = {"task": "pattern-perception", "subject": "Gemini-1.5-Pro", "factor": "question", "level": "anchor"}
    (row,) = [row for row in published() if fields.items() <= row.items()]
    assert row["value"] == pytest.approx(0.649)


def test_the_card_records_the_same_counts() -> None:
    counts = SUITE.card.counts
    assert (counts["objects"], counts["views"], counts["images"]) == (OBJECTS, VIEWS, RENDERED_IMAGES)
    assert counts["category-building"] == COUNTS["category-building"]


# Data and pages that agree


def _text(name: str) -> str:
    return files("snellen.suites.combo").joinpath(name).read_text("utf-8")


def test_the_readme_has_the_printed_tables() -> None:
    rows = [line.strip("|").split("|") for line in _text("README.md").splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in row] for row in rows]
    for name, values in TABLE_2.items():
        mean = f"{sum(values) / len(values):.2f}"
        assert [name, *(f"{value:.1f}" for value in values), mean] in cells
    for levels in TABLE_4.values():
        assert [f"{value:.2f}" for value in levels] in [row[1:] for row in cells]


def test_the_readme_names_every_axis_and_value() -> None:
    text = _text("README.md")
    for axis in SUITE.axes:
        assert f"`{axis.name}`" in text
        for value in axis.values:
            assert f"`{value}`" in text, f"{axis.name}={value}"


def test_run_settings_have_a_source_and_name_conditions_that_exist() -> None:
    settings = yaml.safe_load(_text("paper.yaml"))
    entries = [entry for group, group_entries in settings.items() if group != "not_said" for entry in group_entries]
    assert {model["version"] for model in settings["models"]} >= {"gpt-4-1106-vision-preview", "gpt-4-turbo-2024-04-09"}
    for entry in entries:
        assert re.search(r"section|appendix|Table", entry["source"]), entry
        assert set(entry.get("tasks", [entry.get("task", "img2text")])) <= set(SUITE.tasks)
        for condition in re.findall(r"\b[a-z]+=[\w-]+", entry.get("ours", "")):
            assert parse_conditions(SUITE.axes, condition)
