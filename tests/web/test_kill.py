"""A server that is killed while fifty people answer: what it acknowledged is there, and nothing twice."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from snellen.web.store import read_results
from tests.helpers.studies import write_study
from tests.helpers.study_load import outlive

PEOPLE, KILLS, ROWS_A_LIFE = 50, 3, 130


@pytest.mark.slow
def test_every_acknowledged_answer_outlives_a_kill(tmp_path: Path) -> None:
    plan = write_study(tmp_path)
    ended, lost = outlive(tmp_path, plan, PEOPLE, [(signal.SIGKILL, ROWS_A_LIFE)] * KILLS)
    assert (ended, lost) == (KILLS, 0)
    kept = dict(read_results(tmp_path))
    assert len(kept) == PEOPLE
    assert all(len(rows) == 11 for rows in kept.values())
