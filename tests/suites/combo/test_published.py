"""The printed numbers and their consequences."""

from __future__ import annotations

import re
from importlib.resources import files

import yaml

from snellen.core.condition import parse_conditions
from snellen.suites.combo import SUITE
from snellen.suites.combo.generated.recipe import PAPER_COUNTS
from snellen.suites.combo.published import TABLE_2, TABLE_2_QUESTIONS, TABLE_4, published
from snellen.suites.combo.questions.perception import QUESTIONS
from tests.goldens.descriptions import assert_lines
from tests.published.combo import COUNTS, OBJECTS, RENDERED_IMAGES, VIEWS


def test_the_printed_tables_are_as_they_were() -> None:
    assert_lines("combo/published.txt", published())


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


def test_printed_tables_belong_to_tasks_and_levels_of_the_suite() -> None:
    tables = {table.name: table for table in published()}
    assert {name: len(table.rows) * len(table.columns) for name, table in tables.items()} == {
        "table-2": 28, "table-3": 0, "table-4": 28,
    }  # fmt: skip
    for column in (column for table in tables.values() for column in table.columns):
        task = SUITE.tasks[column.task]
        assert column.metric in [metric.name for metric in task.protocols["published"].metrics]
        assert not column.factor or column.factor in task.split_by
    assert tables["table-2"].rows["Gemini-1.5-Pro"] == ["95.9", "96.0", "99.5", "79.6", "86.6", "94.8", "64.9"]
    assert tables["table-4"].rows["GPT-4V (instruction-following QA)"] == ["0.98", "0.92", "0.80", "0.72"]


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
