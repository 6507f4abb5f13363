"""Fifty people who answer a study at once: how long an answer takes until it lies on the disk.

    python bench/study_server.py            50 people, 20 times a form of 11 rows each
    python bench/study_server.py --quick    3 times

The server runs in a process of its own, the people in this one, over the loopback. All open the study at the same
moment and answer every second on average, which is quicker than people are; every second row is sent twice, as by a
browser that heard nothing. The limit is 150 ms for 95 of 100 answers, on two cores with nothing else to do; beside it
stand the bare disk (single commits) and the processor time of the server, which other work changes less.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.helpers.studies import rows_by_name, write_study
from tests.helpers.study_load import Walk, server_process, walk_all

PEOPLE = 50
LIMIT = 0.150
PAUSE = 2.0
"""Longest seconds between two answers of a person; drawn evenly from 0."""


def commit_seconds(folder: Path, count: int = 100) -> list[float]:
    """Seconds of single commits under the same settings, without a server."""
    connection = sqlite3.connect(folder / "bare.sqlite", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE rows (number INTEGER PRIMARY KEY, text TEXT)")
    seconds = []
    for number in range(count):
        before = time.perf_counter()
        connection.execute("INSERT INTO rows VALUES (?, ?)", (number, "x" * 300))
        seconds.append(time.perf_counter() - before)
    connection.close()
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 3 if parser.parse_args().quick else 20
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bare = commit_seconds(folder)
        plan = write_study(folder)
        walks = [Walk(pause=PAUSE) for _ in range(PEOPLE * rounds)]
        before = os.times()
        with server_process(folder) as (_, link):
            for first in range(0, len(walks), PEOPLE):
                asyncio.run(walk_all(walks[first : first + PEOPLE], link, plan))
        after = os.times()
        spent = after.children_user + after.children_system - before.children_user - before.children_system
        kept = rows_by_name(folder)
    seconds = np.array([second for walk in walks for second in walk.seconds])
    whole = sum(kept.get(walk.participant) == walk.rows for walk in walks)
    p50, p95, p99 = np.quantile(seconds, [0.5, 0.95, 0.99])
    rate = len(seconds) / (after.elapsed - before.elapsed)
    print(f"{len(seconds)} answers of {PEOPLE} people at once, {rate:.0f} a second")
    print(f"seconds until kept: median {p50:.4f}, p95 {p95:.4f}, p99 {p99:.4f}; {p95 / LIMIT:.2f} of the limit")
    print(f"processor time of the server an answer: {1000 * spent / len(seconds):.1f} ms, its start among it")
    print(f"one bare commit: median {np.median(bare):.4f}; p95 of an answer is {p95 / np.median(bare):.0f} of them")
    print(f"participants with each of their rows once: {whole} of {len(walks)}; participants in all: {len(kept)}")


if __name__ == "__main__":
    main()
