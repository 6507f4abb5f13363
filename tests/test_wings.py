"""The wings: `snellen` builds, asks and reports without them, and its main house names them only as entry points."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import snellen

SOURCE = Path(__file__).parents[1] / "src" / "snellen"
SIGHT = Path(__file__).parents[1] / "packages" / "sight" / "src"
WINGS = ("curated_sets", "towers")


@pytest.fixture
def main_house(tmp_path: Path) -> Path:
    """A folder with the package without its wings."""
    package = tmp_path / "house" / "snellen"
    package.mkdir(parents=True)
    for path in SOURCE.iterdir():
        if path.name not in (*WINGS, "__pycache__"):
            (package / path.name).symlink_to(path)
    return package.parent


def command(house: Path, *words: str) -> tuple[int, str]:
    """The exit code and all output of a command of the main house alone."""
    path = os.pathsep.join(map(str, (house, SIGHT)))
    done = subprocess.run(
        [sys.executable, "-m", "snellen", *words],
        env={**os.environ, "PYTHONPATH": path},
        cwd=house.parent,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def test_sets_are_built_asked_and_reported_without_the_wings(main_house: Path) -> None:
    build = ("build", "combo/img2text", "--n", "2", "--renderer", "toy", "--out", "items")
    run = ("run", "items", "--subject", "fake:oracle", "--subject", "encoder:hog", "--out", "run")
    for words in (build, run, ("report", "run", "--out", "report"), ("list", "subjects")):
        code, text = command(main_house, *words)
        assert code == 0, text
    assert (main_house.parent / "report" / "index.html").is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("tower", "list"), "No such command 'tower'"),
        (("build", "combo", "--from", "curated", "--plan"), "no recipe 'curated'"),
        (("run", "combo", "--subject", "head:folder"), "no kind of subject 'head'"),
        (("run", "combo", "--subject", "encoder:hog?readout=attentive"), "no readout 'attentive'"),
    ],
)
def test_what_is_absent_is_unknown(main_house: Path, words: tuple[str, ...], message: str) -> None:
    code, text = command(main_house, *words)
    assert code == 2
    assert message in text


def test_the_main_house_names_them_only_as_entry_points() -> None:
    names = re.compile(rf"""["']snellen\.({"|".join(WINGS)})\b""")
    house = [path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE).parts[0] not in WINGS]
    assert [path.name for path in house if names.search(path.read_text("utf-8"))] == ["__init__.py"]


def test_their_commands_are_listed_last_under_a_heading_of_their_own() -> None:
    done = subprocess.run([sys.executable, "-m", "snellen"], capture_output=True, text=True, check=True)
    main, wings = done.stdout.split("Curated sets and vision towers:\n")
    assert [line.split()[0] for line in wings.splitlines()] == list(snellen.ENTRY_POINTS["snellen.commands"])
    assert "  checkup " in main
    assert "  tower " not in main
