"""A run that is killed repeatedly ends like an undisturbed one."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from snellen.core.prompt import Prompt, Reply
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet, read_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.parts import read_exchanges
from snellen.core.subject import Base, SubjectCard
from snellen.runs.asking.ask import ask
from snellen.runs.planning.plan import Plan
from tests.helpers.journey import arm, colour_set, says, suite_of

ITEMS, MAX_CONCURRENCY, KILLS = 500, 8, 10


@dataclass(frozen=True)
class Slow(Base):
    """Takes 1 to 3 ms, and logs every item that it was asked about, in one write that no kill can tear."""

    diary: str = ""

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        name = prompt.views[0].item_id
        book = os.open(self.diary, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(book, f"{name}\n".encode())
        os.close(book)
        await asyncio.sleep(0.001 + 0.002 * rng.random())
        return Reply(f"{name} {rng.integers(10**6)}")


@pytest.mark.slow
def test_kill_9_at_ten_random_moments(tmp_path: Path) -> None:
    colour_set(tmp_path / "set", ITEMS)
    built, diary = read_itemset(tmp_path / "set"), tmp_path / "diary"
    suite = suite_of()
    arms = [arm(Slow(SubjectCard("own:slow", max_concurrency=MAX_CONCURRENCY), str(diary)), suite)]
    rng = stream("kill", 0)
    counts: list[int] = []
    for life in range(KILLS):
        child = os.fork()
        if child == 0:
            try:
                ask(tmp_path / "run", Plan(built, suite, arms))
            finally:
                os._exit(3)
        # Kills spread over the whole run: a number of items later, and a little more.
        enough = (life + 1) * ITEMS // (KILLS + 2) + int(rng.integers(10))
        while len(_read_diary(diary)) < enough:
            time.sleep(0.001)
        time.sleep(float(rng.uniform(0, 0.01)))
        os.kill(child, signal.SIGKILL)
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
        counts.append(len(list(read_exchanges(tmp_path / "run"))))
    assert 0 < counts[0] < counts[-1] < ITEMS
    finished = ask(tmp_path / "run", Plan(built, suite, arms))
    _check(tmp_path, built, finished)
    calls = _read_diary(diary)
    assert len(calls) - ITEMS <= KILLS * MAX_CONCURRENCY, "only what was in flight at a kill is asked twice"
    assert max(Counter(calls).values()) <= 1 + KILLS
    whole = ask(tmp_path / "whole", Plan(built, suite, arms))
    assert finished == whole


def _read_diary(diary: Path) -> list[str]:
    return diary.read_text().split() if diary.exists() else []


def _check(tmp_path: Path, built: ItemSet, finished: object) -> None:
    table = pd.read_parquet(tmp_path / "run" / "responses.parquet")
    assert table["item_id"].to_list() == [item.item_id for item in built.items]
    assert table["status"].eq("ok").all()
    keys = [exchange.key for exchange in read_exchanges(tmp_path / "run")]
    assert len(pd.read_parquet(tmp_path / "run" / "exchanges.parquet")) == ITEMS == len(set(keys)) == len(keys)
    assert len(pd.read_parquet(tmp_path / "run" / "sent.parquet")) == ITEMS


def test_a_kill_during_the_writing_of_tables_costs_no_call(tmp_path: Path) -> None:
    built, suite = colour_set(tmp_path / "set", 5), suite_of()
    arms = [arm(says("own:red", "red"), suite)]
    for fatal in range(1, 4):
        root = tmp_path / f"run{fatal}"
        child = os.fork()
        if child == 0:
            _die_at_table(fatal)
            try:
                ask(root, Plan(built, suite, arms))
            finally:
                os._exit(3)
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
        calls: list[Prompt] = []

        def count(prompt: Prompt, calls: list[Prompt] = calls) -> str:
            calls.append(prompt)
            return "red"

        assert len(ask(root, Plan(built, suite, [arm(says("own:red", count), suite)]))) == 5
        assert calls == []
        assert len(pd.read_parquet(root / "responses.parquet")) == len(pd.read_parquet(root / "sent.parquet")) == 5


def _die_at_table(fatal: int) -> None:
    """The kernel kills this process in the middle of writing table number `fatal`."""
    real, written = Path.write_bytes, [0]

    def half(path: Path, raw: bytes) -> int:
        written[0] += ".parquet" in path.name
        if written[0] == fatal:
            real(path, raw[: len(raw) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return real(path, raw)

    Path.write_bytes = half  # type: ignore[method-assign, assignment]
