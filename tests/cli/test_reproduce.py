"""What the papers' tables take: every command parses, and names conditions, recipes and towers that exist."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import Any

import pytest
import typer

from snellen.cli.app import app
from snellen.core.condition import parse_conditions
from snellen.core.reproduction import Reproduction
from snellen.suites import SUITES
from snellen.towers.heads.stages import EPOCHS, STAGES
from snellen.towers.heads.towers import find_tower
from tests.cli.conftest import Command
from tests.published.ava_bench import TABLE_2

TABLES = {f"{suite}/{name}": entry for suite in SUITES for name, entry in SUITES.get(suite).reproductions().items()}
COMMANDS = [(table, command) for table, entry in TABLES.items() for command in entry.commands]


def parsed(written: str) -> tuple[str, dict[str, Any]]:
    """The name and the parameters of a command, parsed as on the command line without running it."""
    program, *words = shlex.split(written)
    command: Any = typer.main.get_command(app)
    assert program == "snellen"
    while hasattr(command, "commands"):
        command, words = command.commands[words[0]], words[1:]
    return command.name, command.make_context(command.name, words).params


@pytest.mark.parametrize(("table", "command"), COMMANDS)
def test_each_command_parses_and_names_what_exists(table: str, command: str) -> None:
    name, given = parsed(command)
    suite = SUITES.get(table.partition("/")[0])
    if name == "build" and "recipe" in given:
        target, _, task = given["suite"].partition("/")
        assert target == suite.name
        assert given["recipe"] in suite.recipes
        assert given["recipe"] == "curated" or task in ("", *suite.tasks)  # curated sets are built in steps
    for condition in given.get("condition", []) if name == "run" else []:
        assert parse_conditions(suite.axes, condition)
    towers = given.get("towers") or given.get("tower") or ""
    for tower in filter(None, towers.split(",")):
        assert find_tower(tower).name == tower


def test_the_parser_refuses_what_the_commands_would() -> None:
    for wrong in ("snellen build combo --fulll", "snellen report --out"):
        with pytest.raises(Exception, match=r"No such option|Missing argument|requires an argument"):
            parsed(wrong)


def test_the_steps_of_table_5_follow_from_the_stages_and_table_2() -> None:
    last = STAGES["fit"]
    fitting = sum(
        replace(last, epochs=EPOCHS.get(task, last.epochs)).steps(train) for task, (train, _) in TABLE_2.items()
    )
    first, second = STAGES["pretrain"].steps(558_000), STAGES["tune"].steps(665_000)
    steps = TABLES["ava-bench/table-5"].amounts["training steps"]
    for number in (first, second, fitting, 9 * (first + second + fitting)):
        assert f"{number:,} " in f"{steps} "


def test_hours_stand_with_the_page_that_measured_them() -> None:
    assert all("docs/measurements/" in entry.hours for entry in TABLES.values() if entry.hours)


def test_all_tables_are_listed_and_one_is_printed(snellen: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = snellen("reproduce")
    assert code == 0
    assert {line.split()[0] for line in out.splitlines()} == set(TABLES)
    monkeypatch.setattr("snellen.cli.reproduce.missing_packages", list)
    code, out, _ = snellen("reproduce", "ava-bench/table-5")
    assert code == 0
    assert "not installed here: torch, transformers" in out
    assert "hours: not measured" in out
    assert all(command in out for command in TABLES["ava-bench/table-5"].commands)
    facts = json.loads(snellen("reproduce", "combo/table-1", "--json")[1])["combo/table-1"]
    assert facts["missing"] == []
    again = Reproduction.model_validate({name: fact for name, fact in facts.items() if name != "missing"})
    assert again == TABLES["combo/table-1"]
    code, _, message = snellen("reproduce", "ava-bench/table-55")
    assert (code, "did you mean 'ava-bench/table-5'" in message) == (2, True)
