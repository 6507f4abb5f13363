"""A server that is killed while fifty people answer: what it acknowledged is there, and nothing twice."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from snellen.web.store import read_results
from tests.helpers.studies import write_study
from tests.helpers.study_load import Walk, server_process, walk_all

PEOPLE, KILLS, ROWS_A_LIFE = 50, 3, 130


@pytest.mark.slow
def test_every_acknowledged_answer_outlives_a_kill(tmp_path: Path) -> None:
    plan = write_study(tmp_path)
    walks = [Walk() for _ in range(PEOPLE)]
    for life in range(KILLS + 1):
        with server_process(tmp_path) as (process, link):
            rows = 0

            def on_row() -> None:
                nonlocal rows
                rows += 1
                if rows == ROWS_A_LIFE and life < KILLS:  # noqa: B023
                    os.kill(process.pid, signal.SIGKILL)

            asyncio.run(walk_all(walks, link, plan, on_row))
        kept = dict(read_results(tmp_path))
        for walk in walks:
            if walk.acknowledged:
                assert kept[walk.participant][: len(walk.acknowledged)] == walk.acknowledged
    finished = {walk.participant: walk.rows for walk in walks}
    # Who was killed between being written down and being told so comes back as somebody else, without rows.
    assert kept == finished
    assert len(finished) == PEOPLE
    assert all(len(rows) == 11 for rows in finished.values())
