"""Commands on a local Ray cluster of two workers give the same as in this process, even if workers are killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from snellen.compute import Shard, ShardFailed, executing, map_shards
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset_cards import read_card
from tests.helpers.extras import need
from tests.helpers.processes import PATIENCE, start, wait_until

pytestmark = pytest.mark.slow
need("ray", "cluster")

BUILD = ("build", "combo", "--from", "generated", "--n", 40, "--renderer", "toy", "--workers", 2)
SMALL = ("--language-model", "random-qwen2?layers=1&width=32", "--epochs", 1)


def finish(words: tuple[object, ...], home: Path) -> str:
    """Wait for the command to end with 0; return its stderr."""
    process = start(words, home)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    return errors


def processes(home: Path, title: str = "") -> Iterator[int]:
    """Running processes of a command (by its home folder in their environment) whose title begins with `title`."""
    for folder in Path("/proc").iterdir():
        try:
            is_ours = folder.name.isdecimal() and f"SNELLEN_HOME={home}\0" in (folder / "environ").read_text() + "\0"
            if is_ours and (folder / "cmdline").read_text().startswith(title):
                yield int(folder.name)
        except (OSError, UnicodeDecodeError):
            continue


def kill_at_work(home: Path) -> None:
    """Send SIGKILL to a worker in the middle of a shard: it is stopped first, and its title still names the shard."""
    while True:
        wait_until(lambda: any(processes(home, "ray::_do")))
        for worker in processes(home, "ray::_do"):
            os.kill(worker, signal.SIGSTOP)
            if worker in processes(home, "ray::_do"):
                os.kill(worker, signal.SIGKILL)
                return
            os.kill(worker, signal.SIGCONT)


def test_a_build_survives_killed_workers(tmp_path: Path) -> None:
    words = (*BUILD, "--size", "320x240")
    finish((*words, "--out", tmp_path / "here"), tmp_path / "home-here")
    home = tmp_path / "home-there"
    process = start((*words, "--out", tmp_path / "there", "--executor", "ray"), home)
    for _ in range(2):
        kill_at_work(home)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    assert "snellen: shards repeated elsewhere, since their worker died: " in errors
    assert "(image " in errors
    assert read_card(tmp_path / "there") == read_card(tmp_path / "here")
    assert not list(home.glob(".snellen-*"))


def test_ctrl_c_ends_the_cluster_and_the_same_command_resumes(tmp_path: Path) -> None:
    words = (*BUILD, "--executor", "ray")
    process = start((*words, "--out", tmp_path / "items"), tmp_path / "home")
    wait_until(lambda: any((tmp_path / "home").rglob("renders/*/*.png")))
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, errors
    wait_until(lambda: not any(processes(tmp_path / "home")))
    images = set((tmp_path / "home").rglob("renders/*/*.png"))
    assert images
    finish((*words, "--out", tmp_path / "items"), tmp_path / "home")
    assert images <= set((tmp_path / "home").rglob("renders/*/*.png"))


def test_encoders_probes_and_heads_give_the_same_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="the extra 'models' is not installed")
    pytest.importorskip("peft", reason="the extra 'heads' is not installed")
    items = tmp_path / "items"
    size = ("--n", 4, "--renderer", "toy", "--size", "320x240")
    finish(("build", "ava-bench/counting", "--from", "generated", *size, "--out", items), tmp_path / "home")
    encoder = "encoder:efficientnet-lite0"
    subjects = ("-s", encoder, "-s", f"{encoder}?readout=attentive", "-s", "fake:chance")
    sweep = ("tower", "sweep", "--towers", "tiny/clip-l,tiny/sam-h", "--abilities", "counting", "--workers", 2, *SMALL)
    for name, more in {"here": (), "there": ("--executor", "ray")}.items():
        (folder := tmp_path / name).mkdir()
        monkeypatch.chdir(folder)  # heads are named after their folder
        conditions = ("--condition", "vanilla", "--condition", "images=grey")
        finish(("run", items, *subjects, *conditions, "--out", "run", *more), folder / "home")
        finish(("report", "run", "--out", "report"), folder / "home")
        finish((*sweep, "--items", items, "--out", "sweep", *more), folder / "home")
    for name in ("report/results.csv", "run/responses.parquet", "sweep/ranks.csv", "sweep/run/responses.parquet"):
        local, remote = ((tmp_path / folder / name).read_bytes() for folder in ("here", "there"))
        assert local == remote, name
    jobs = [pd.read_csv(tmp_path / folder / "sweep" / "jobs.csv") for folder in ("here", "there")]
    assert list(jobs[0]["status"]) == ["done", "done"]
    assert list(jobs[0]["last_loss"]) == list(jobs[1]["last_loss"])


def die_once(path: Path) -> str:
    if not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return path.name


def die(path: Path) -> None:
    with path.open("a") as file:
        file.write("x")
    os.kill(os.getpid(), signal.SIGKILL)


def refuse(text: str) -> None:
    raise SnellenError(text)


def test_shards_of_dead_workers_are_retried_and_failures_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with executing("ray", workers=2):
        shards = [Shard(name, tmp_path / name) for name in "abc"]
        assert map_shards(die_once, shards) == ["a", "b", "c"]
        with pytest.raises(SnellenError, match=r"^no such colour \(shard one\)$"):
            map_shards(refuse, [Shard("one", "no such colour")])
        with pytest.raises(ShardFailed, match="worker process died while shard bad was"):
            map_shards(die, [Shard("bad", tmp_path / "lives")])
        assert (tmp_path / "lives").read_text() == "xxxx"
        with pytest.raises(SnellenError, match="a shard needs a GPU, but the cluster has none"):
            map_shards(die_once, shards, gpus=1)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
    written = capsys.readouterr()
    assert "repeated elsewhere, since their worker died: 6 (a, b, c, bad, bad" in written.err.replace("b, a", "a, b")
    assert written.out == ""


def test_a_missing_cluster_is_reported_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")
    words = ("build", "combo", "--from", "generated", "--n", 4, "--renderer", "toy", "--executor", "ray")
    process = start((*words, "--out", tmp_path / "items"), tmp_path / "home")
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    last = errors.splitlines()[-1]
    assert last.startswith("snellen: --executor ray: the cluster at RAY_ADDRESS=127.0.0.1:9 cannot be used (")
