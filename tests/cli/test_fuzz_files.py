"""Damaged files of every kind: an answer or one short line, never a traceback, and never long or large.

The slow test damages files by today's date, so that every day tries others; FUZZ_SEED repeats a day's (20261126), and
FUZZ_COUNT says how many files it tries.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.helpers.fuzzing import KINDS, fuzz, write_world

SEED = int(os.environ.get("FUZZ_SEED") or 20261127)
TODAY = int(os.environ.get("FUZZ_SEED") or time.strftime("%Y%m%d"))
COUNT = int(os.environ.get("FUZZ_COUNT") or 2000)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("fuzz") / "world"
    root.mkdir()
    write_world(root)
    return root


@pytest.mark.parametrize(("count", "seed"), [(len(KINDS), SEED), pytest.param(COUNT, TODAY, marks=pytest.mark.slow)])
def test_damaged_files_are_read_or_refused_in_a_line(world: Path, tmp_path: Path, count: int, seed: int) -> None:
    trials = fuzz(world, tmp_path, count, seed)
    assert {trial.kind for trial in trials} == set(KINDS)
    troubles = [f"{trial.kind}, {trial.what}: {trial.trouble}" for trial in trials if trial.trouble]
    assert not troubles, f"FUZZ_SEED={seed}\n" + "\n".join(troubles)
