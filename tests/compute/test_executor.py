"""Executors of shards: refusals, and the outcomes of a cluster."""

from __future__ import annotations

import math
import os
import pickle
import sys
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from snellen.compute import Progress, Shard, ShardFailed, executing, map_shards
from snellen.compute.executor import RayCluster, Site, _clusters, enter, environment_digest
from snellen.core.errors import SnellenError
from snellen.core.response import Exchange
from snellen.core.storage.parts import read_exchanges
from snellen.exam.run import run
from tests.helpers.sets import small_set


@dataclass
class Backwards:
    """A fake cluster in this process that does the last shard first; work is pickled and unpickled."""

    names: list[str] = field(default_factory=list)
    gpus: list[int] = field(default_factory=list)
    broken: str = ""

    def outcomes(
        self, function: Callable[[Any], Any], works: Sequence[Any], names: Sequence[str], gpus: int
    ) -> Generator[tuple[int, Callable[[], Any]]]:
        for index in reversed(range(len(works))):
            self.names.append(names[index])
            self.gpus.append(gpus)
            if names[index] == self.broken:
                yield index, partial(refuse, "4 workers died")
            unpickled, work = pickle.loads(pickle.dumps((function, works[index])))
            result = partial(unpickled, work)
            yield index, result


def refuse(text: str) -> None:
    raise BrokenExecutor(text)


@pytest.fixture
def backwards(monkeypatch: pytest.MonkeyPatch) -> Backwards:
    cluster = Backwards()
    monkeypatch.setattr("snellen.compute.executor._clusters", [cluster])
    return cluster


def test_results_keep_the_order_of_the_shards_on_a_cluster(backwards: Backwards) -> None:
    shards = [Shard(f"n{i}", float(i * i), size=2) for i in range(4)]
    with Progress("counting", visible=False) as progress:
        assert map_shards(math.sqrt, shards, workers=1, progress=progress, gpus=1) == [0, 1, 2, 3]
        assert (progress.done, progress.total) == (8, 8)
    assert (backwards.names, backwards.gpus) == (["n3", "n2", "n1", "n0"], [1] * 4)
    assert map_shards(math.sqrt, [], workers=2) == []


def test_failures_on_a_cluster_name_their_shard(backwards: Backwards) -> None:
    with pytest.raises(ShardFailed, match="shard bad failed: ValueError"):
        map_shards(math.sqrt, [Shard("good", 1.0), Shard("bad", -1.0)])
    backwards.broken = "good"
    with pytest.raises(ShardFailed, match=r"worker process died while shard good"):
        map_shards(math.sqrt, [Shard("good", 1.0), Shard("better", 1.0)])


def test_another_executor_and_a_missing_package_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SnellenError, match=r"--executor 'spark': choose one of local, ray"), executing("spark"):
        pass
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SnellenError, match=r"^[^\n]*pip install .*\[cluster\]'$"), executing("ray"):
        pass
    with executing("local"):
        assert _clusters == []


def test_a_worker_refuses_unshared_folders_and_other_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    probe = tmp_path / "probe"
    site = Site(Path.cwd(), (probe,), environment_digest())
    with pytest.raises(SnellenError, match=rf"{tmp_path} is not the same folder on .*shared disk"):
        enter(site)
    probe.touch()
    with pytest.raises(SnellenError, match="a different version of Snellen"):
        enter(replace(site, environment="other"))
    with monkeypatch.context() as patch:
        patch.setattr("snellen.compute.executor.versions", lambda: {"torch": "other"})
        with pytest.raises(SnellenError, match="or of a library"):
            enter(site)
    before = Path.cwd()
    try:
        enter(replace(site, current_folder=tmp_path))
        assert Path.cwd() == tmp_path
    finally:
        os.chdir(before)


def test_probe_files_are_removed_if_a_folder_is_not_writable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))
    cluster = RayCluster(SimpleNamespace(is_initialized=lambda: True), (tmp_path, Path("/proc")), None)
    with pytest.raises(SnellenError, match=r"^/proc/.*cannot be written"):
        list(cluster.outcomes(math.sqrt, [1.0], ["a"], 0))
    assert list(tmp_path.glob(".snellen-*"))
    cluster.leave()
    assert not list(tmp_path.glob(".snellen-*"))


def record(root: Path) -> tuple[list[Exchange], pd.DataFrame, bytes]:
    """The record of a run, its scores, and its responses as stored."""
    scores = pd.read_parquet(root / "scores.strict.parquet")
    return sorted(read_exchanges(root), key=lambda each: each.key), scores, (root / "responses.parquet").read_bytes()


def test_workers_give_the_same_run_as_this_process(
    sets_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = small_set("ava-bench", sets_folder)
    chosen = replace(items, items=tuple(item for item in items.items if item.task in ("texture", "ocr")))
    subjects = ["fake:chance", "encoder:colour-histogram"]
    ask = partial(run, chosen, subjects, conditions=["vanilla", "images=grey"], show_progress=False)
    ask(tmp_path / "here")
    cluster = Backwards()
    monkeypatch.setattr("snellen.compute.executor._clusters", [cluster])
    ask(tmp_path / "there")
    local, remote = record(tmp_path / "here"), record(tmp_path / "there")
    assert local[0] == remote[0]
    pd.testing.assert_frame_equal(local[1], remote[1])
    assert local[2] == remote[2]
    assert len(set(cluster.names)) == len(cluster.names) == 2
    (tmp_path / "there" / "stamp.json").unlink(missing_ok=True)
    ask(tmp_path / "there")  # recorded items are not asked again
    assert record(tmp_path / "there")[0] == remote[0]
    sent = [pd.read_parquet(tmp_path / name / "sent.parquet").sort_values("digest") for name in ("here", "there")]
    assert sent[0].to_dict("records") == sent[1].to_dict("records")
