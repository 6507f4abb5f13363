"""Damaged files of every kind: an answer or one short line, never a traceback, and never long or large.

Files are damaged by today's date, so that every day tries others; FUZZ_SEED repeats a day's (20261126), and FUZZ_COUNT
says how many files are tried.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.helpers.fuzzing import KINDS, fuzz, write_world

TODAY = int(os.environ.get("FUZZ_SEED") or time.strftime("%Y%m%d"))
COUNT = int(os.environ.get("FUZZ_COUNT") or 240)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("fuzz") / "world"
    root.mkdir()
    write_world(root)
    return root


@pytest.mark.slow
def test_damaged_files_are_read_or_refused_in_a_line(world: Path, tmp_path: Path) -> None:
    trials = fuzz(world, tmp_path, COUNT, TODAY)
    assert {trial.kind for trial in trials} == set(KINDS)
    troubles = [f"{trial.kind}, {trial.what}: {trial.trouble}" for trial in trials if trial.trouble]
    assert not troubles, f"FUZZ_SEED={TODAY}\n" + "\n".join(troubles)
