"""The trials of `bench/reliability.py` as tests: faults drawn from a seed, none of which loses anything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers import trials
from tests.helpers.extras import need
from tests.helpers.hostile_trials import good_sets, hostile_replies, hostile_sets
from tests.helpers.jobs import JOBS, prepare_relative_run
from tests.helpers.trials import Bench, Tally

SEED = 1
TRAININGS = {"sweep": 1, "llava": 4}
"""Numbers of trials: a short training may end within the milliseconds before a kill."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "trial", [trials.kills, trials.full_disks, trials.clock_jumps], ids=lambda trial: trial.__name__
)
@pytest.mark.parametrize("name", [name for name in JOBS if name not in TRAININGS])
def test_a_fault_costs_only_time(tmp_path: Path, name: str, trial: Callable[[Bench, int, int], Tally]) -> None:
    tally = trial(Bench.prepare(JOBS[name], tmp_path), 3, SEED)
    assert tally.troubles == []
    assert tally.lost == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAININGS)
def test_a_killed_training_comes_to_the_same_result(tmp_path: Path, name: str) -> None:
    need("peft", "heads")
    tally = trials.kills(Bench.prepare(JOBS[name], tmp_path), TRAININGS[name], SEED)
    assert tally.tried
    assert tally.troubles == []


@pytest.mark.slow
def test_damage_is_reported_or_harmless(tmp_path: Path) -> None:
    prepare_relative_run(tmp_path / "inputs")
    tallies = trials.corruption(tmp_path / "inputs", 120, SEED)
    assert {"images", "parts", "tables"} <= set(tallies)
    assert [trouble for file in ("images", "parts", "tables") for trouble in tallies[file].troubles] == []


@pytest.mark.slow
@pytest.mark.parametrize("count", [40, 3_000])
def test_hostile_replies_are_read_and_recorded(tmp_path: Path, count: int) -> None:
    tally = hostile_replies(tmp_path, count, SEED)
    assert tally.troubles == []
    assert tally.survived["reply"] == count


@pytest.mark.parametrize("count", [12, pytest.param(500, marks=pytest.mark.slow)])
def test_hostile_sets_are_refused_in_one_line_or_examined(tmp_path: Path, sets_folder: Path, count: int) -> None:
    tally, outcomes = hostile_sets(tmp_path / "sets", good_sets(tmp_path / "good", sets_folder), count, SEED)
    assert tally.troubles == []
    assert outcomes["refused"] > 0 < outcomes["examined"]
