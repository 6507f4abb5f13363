"""Commands in the pages: all name existing commands and options, and those of tutorials run as written."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from snellen.cli.app import app

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "measurements").glob("*.md")),
    *sorted(ROOT.glob("src/snellen/suites/*/README.md")),
    *sorted(ROOT.glob("skills/*/SKILL.md")),
    *sorted(ROOT.glob("*.yml")),
    *sorted(ROOT.glob("examples/*.y*ml")),
    *sorted(ROOT.glob(".github/workflows/*.yml")),
]
TUTORIALS = (
    "first-report", "own-model", "ci-guard", "own-images", "own-table", "recorded-answers", "logs", "thresholds",
    "sealed-exams",
)  # fmt: skip
NOT_RUN = "# not run by a test: "
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, languages: tuple[str, ...] = ("sh",)) -> list[tuple[str, str]]:
    """(language, text) of every block of these languages."""
    return [(language, text) for language, text in BLOCK.findall(page.read_text("utf-8")) if language in languages]


def commands(page: Path) -> list[list[str]]:
    """Every call of `snellen` in a page's shell blocks, or in the steps of a workflow or a hook, in words."""
    if page.suffix == ".md":
        lines = "".join(text for _, text in blocks(page)).replace("\\\n", " ").splitlines()
    else:
        lines = [line for text in scripts(yaml.safe_load(page.read_text("utf-8"))) for line in text.splitlines()]
    calls = [re.split(r"[;|]", line)[0] for line in map(str.strip, lines) if line.startswith("snellen ")]
    return [shlex.split(re.sub(r"[][]|\.\.\.|…", " ", call), comments=True)[1:] for call in calls]


def scripts(part: Any) -> list[str]:
    """The values of `run`, `entry` and `args` in YAML: what a step or a hook runs."""
    if not isinstance(part, dict | list):
        return []
    pairs = list(part.items()) if isinstance(part, dict) else [("", each) for each in part]
    texts = {"run", "entry", "args"}
    return [
        text
        for name, value in pairs
        for text in ([*([value] if isinstance(value, str) else value)] if name in texts else scripts(value))
    ]


def unknown_words(words: list[str]) -> list[str]:
    """The commands and options of a call that do not exist."""
    command: Any = typer.main.get_command(app)
    while (commands_by_name := getattr(command, "commands", None)) and words and not words[0].startswith("-"):
        if words[0] not in commands_by_name:
            return [words[0]]
        command, words = commands_by_name[words[0]], words[1:]
    options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    return [word for word in words if word.startswith("--") and word.split("=")[0] not in options | {"--help"}]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_name_existing_commands_and_options(page: Path) -> None:
    assert [(words, unknown) for words in commands(page) if (unknown := unknown_words(words))] == []


def test_an_unknown_command_or_option_is_noticed() -> None:
    assert unknown_words(["run", "items", "--subjects", "x"]) == ["--subjects"]
    assert unknown_words(["study", "make"]) == ["make"]
    assert sum(len(commands(page)) for page in PAGES) > 100


@pytest.mark.slow
@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_runs_as_written(name: str, tmp_path: Path) -> None:
    """Block by block in an empty folder, with the `snellen` under test."""
    shim = tmp_path / "bin" / "snellen"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} -m snellen "$@"\n')
    shim.chmod(0o755)
    (folder := tmp_path / "here").mkdir()
    environment = os.environ | {
        "PATH": f"{shim.parent}:{os.environ['PATH']}",
        "SNELLEN_HOME": str(tmp_path / "home"),
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'packages/sight/src'}",
    }
    for language, text in blocks(ROOT / "docs" / f"{name}.md", ("sh", "python")):
        if not text.startswith(NOT_RUN):
            command = ["bash", "-euc", text] if language == "sh" else [sys.executable, "-c", text]
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, f"{text}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
