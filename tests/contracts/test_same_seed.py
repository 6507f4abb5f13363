"""The same seed makes the same items: in any process, hash seed, locale, time zone and number of workers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from snellen.exam.items import build
from snellen.suites import SUITES
from tests.goldens.house import BLIND_OBSERVERS
from tests.helpers.sets import small_options, small_set

CHEAP = "vlm2-bench"
SURROUNDINGS: Sequence[tuple[str, Mapping[str, str]]] = (
    # Python reads and writes ASCII by default here, which exposes files opened without an encoding.
    ("1", {"PYTHONHASHSEED": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "TZ": "UTC"}),
    ("2", {"PYTHONHASHSEED": "random", "LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Kathmandu"}),
    ("1", {"PYTHONHASHSEED": "8", "LC_ALL": "tr_TR.UTF-8", "TZ": "America/St_Johns"}),
)
"""Number of workers, and environment variables. Time zones are 5:45 ahead of UTC and 3:30 behind. If a
locale is not installed, C is used."""


def hashes(folder: Path, workers: str, environment: Mapping[str, str], suites: Sequence[str]) -> str:
    """The hashes of small sets that another process builds."""
    command = [sys.executable, "-m", "tests.helpers.hashes", str(folder), workers, *suites]
    paths = {"PYTHONPATH": os.pathsep.join(sys.path), "SNELLEN_HOME": str(folder / "home")}
    finished = subprocess.run(
        command, env={**os.environ, **paths, **environment}, capture_output=True, encoding="utf-8", check=False
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.mark.slow
def test_another_process_makes_the_same_items(sets_folder: Path, tmp_path: Path) -> None:
    card = small_set(CHEAP, sets_folder).card
    assert hashes(tmp_path, *SURROUNDINGS[0], [CHEAP]).split() == [CHEAP, card.recipe_hash, card.content_hash]


@pytest.mark.slow
def test_every_suite_makes_the_same_items_everywhere(tmp_path: Path) -> None:
    suites = list(BLIND_OBSERVERS)
    built = [hashes(tmp_path / str(n), *surroundings, suites) for n, surroundings in enumerate(SURROUNDINGS)]
    assert [line.split()[0] for line in built[0].splitlines()] == suites
    assert len(set(built)) == 1, "\n".join(built)


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["ava-bench", "vlm2-bench"])
def test_sets_rendered_by_mitsuba_agree_in_all_but_pixels(suite: str, tmp_path: Path) -> None:
    """With another number of threads pixels differ, as between processors; in AVA-Bench's colour task also answers."""
    cards = []
    for workers in (1, 2):
        patch = pytest.MonkeyPatch()
        patch.setenv("SNELLEN_HOME", str(tmp_path / f"home-{workers}"))
        options = replace(small_options(tmp_path / str(workers), test_items=3), renderer="mitsuba", quality="fast")
        cards.append(build(SUITES.get(suite), "generated", replace(options, workers=workers)).card)
        patch.undo()
    assert cards[0].rows_hash == cards[1].rows_hash
    assert cards[0].recipe_hash == cards[1].recipe_hash
    assert cards[0].content_hash != cards[1].content_hash
