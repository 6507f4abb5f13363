"""Options that are written once: in commands, in keywords and in the stamp of finished runs."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import snellen
from snellen.cli.derived import pairs, read_balance, with_options
from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.lazy import LazyObjects
from snellen.core.options import Flag, flags_of
from snellen.runs.planning.options import RunOptions
from snellen.suites import SUITES


@with_options(BuildOptions)
def command(options: BuildOptions) -> BuildOptions:
    return options


def test_a_command_has_the_options_of_the_fields() -> None:
    names = {flag.names[0] if flag.names else name.replace("_", "-") for name, flag in flags_of(BuildOptions).items()}
    declared = [p.annotation.__metadata__[0].default for p in inspect.signature(command).parameters.values()]
    assert {word.removeprefix("--") for word in declared} == names


def test_what_is_written_becomes_the_fields(tmp_path: Path) -> None:
    given = {name: p.default for name, p in inspect.signature(command).parameters.items()}
    written = given | {"sources": [f"COCO={tmp_path}"], "size": "320x240", "balance": "uniform", "settings": ["a=1"]}
    options = command(**written)
    assert options == BuildOptions(sources={"COCO": tmp_path}, size=(320, 240), balance="answers", settings={"a": "1"})
    assert command(**given) == BuildOptions()


def test_pairs_are_written_once_each() -> None:
    flag = Flag("", is_list=True, form="FIELD=COLUMN")
    assert pairs("--map", ["question=prompt,answer=key"], flag) == {"question": "prompt", "answer": "key"}
    for wrong in (["question"], ["=key"], ["a=b,a=c"]):
        with pytest.raises(SnellenError, match=r"--map .*: write FIELD=COLUMN"):
            pairs("--map", wrong, flag)
    assert read_balance("--balance", "paper") == "paper"


def test_every_option_that_decides_is_in_the_stamp() -> None:
    """`out`, a budget and what to do about failures decide about no answer; tables count by their content."""
    free = {"out", "inputs", "budget", "keep_going"}
    assert RunOptions().deciding().keys() == flags_of(RunOptions).keys() - free


@pytest.mark.parametrize("function", [snellen.run, snellen.build])
def test_keywords_of_functions_are_those_of_the_options(function: object) -> None:
    options = RunOptions if function is snellen.run else BuildOptions
    assert flags_of(options).keys() <= inspect.signature(function).parameters.keys()  # type: ignore[arg-type]
    for flag in flags_of(options).values():
        assert flag.help.split(" ")[0] in (inspect.getdoc(function) or "")


def test_every_recipe_and_report_of_a_suite_can_be_imported() -> None:
    recipes = {name: sorted(SUITES.get(name).recipes) for name in SUITES}
    assert all(SUITES.get(name).recipes[recipe] is not None for name in recipes for recipe in recipes[name])
    assert recipes["ava-bench"] == ["curated", "generated", "own", "released"]
    with pytest.raises(KeyError):
        LazyObjects(a="snellen.core.errors:SnellenError")["b"]
