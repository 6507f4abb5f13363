"""The page of the papers' parts: 37 rows, whose commands have known names and options, and the abilities twice."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from snellen.cli.app import app
from snellen.core.condition import parse_conditions
from snellen.suites import SUITES
from snellen.suites.ava_bench.published import COLUMNS

PAGE = Path(__file__).parents[1] / "docs" / "mission.md"
SUITE_NAMES = {"ComBo": "combo", "VFM Bench": "vfm-bench", "AVA-Bench": "ava-bench", "VLM²-Bench": "vlm2-bench"}
ROWS = [line.split("|")[1:-1] for line in PAGE.read_text("utf-8").splitlines() if re.match(r"\| (ComBo|V|AVA)", line)]


def test_all_parts_have_a_row_with_evidence() -> None:
    assert len(ROWS) == 37
    assert len({(row[0], row[1]) for row in ROWS}) == 37
    assert all(cell.strip() for row in ROWS for cell in row)


def test_each_ability_says_how_it_was_tried_generated_and_curated() -> None:
    suite, page = SUITES.get("ava-bench"), PAGE.read_text("utf-8")
    rows = dict(re.findall(r"^\| ([a-z-]+) \| ([^|]+) \| made files \|$", page, re.MULTILINE))
    assert set(rows) == set(COLUMNS)
    assert {name for name, evidence in rows.items() if evidence == "–"} == set(suite.card.needs_real)
    for command in re.findall(r"`(snellen build ava-bench/ABILITY [^`]*)`", page.replace("\n", " ")):
        for name in rows:
            recipe = "curated" if "--from curated" in command else "generated"
            assert recipe in suite.recipes
            assert name in suite.tasks


@pytest.mark.parametrize("row", ROWS, ids=[row[1].strip() for row in ROWS])
def test_commands_have_known_names_and_options(row: list[str]) -> None:
    program, *words = shlex.split(row[2].strip().strip("`"))
    command: Any = typer.main.get_command(app)
    assert program == "snellen"
    while hasattr(command, "commands"):
        command, words = command.commands[words[0]], words[1:]
    options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    assert {word for word in words if word.startswith("--")} <= {*options, "--help"}
    if command.name == "build" and "--from" in words:
        name, _, task = words[0].partition("/")
        recipe = words[words.index("--from") + 1]
        assert recipe in SUITES.get(name).recipes
        assert recipe == "curated" or task in ("", *SUITES.get(name).tasks)  # curated sets are built in steps
    if "--condition" in words:
        text = words[words.index("--condition") + 1]
        suite = SUITES.get(SUITE_NAMES[row[0].strip()])
        assert parse_conditions(suite.axes, text)
