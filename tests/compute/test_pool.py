import fcntl
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from snellen.compute import Progress, Shard, ShardFailed, background, map_ahead, map_shards, one_at_a_time
from snellen.compute import pool as pool_module
from snellen.compute.pool import sharing_processes
from snellen.core.errors import SnellenError


def test_results_keep_the_order_of_the_shards_here_and_in_processes() -> None:
    shards = [Shard(f"n{i}", float(i * i)) for i in range(5)]
    assert map_shards(math.sqrt, shards) == [0, 1, 2, 3, 4]
    assert map_shards(math.sqrt, shards, workers=2) == [0, 1, 2, 3, 4]
    assert map_shards(math.sqrt, [], workers=2) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failure_names_its_shard_and_keeps_its_cause(workers: int) -> None:
    with pytest.raises(ShardFailed, match="shard bad failed: ValueError") as caught:
        map_shards(math.sqrt, [Shard("good", 1.0), Shard("bad", -1.0)], workers=workers)
    assert isinstance(caught.value.__cause__, ValueError)


def refuse(text: str) -> None:
    raise SnellenError(text)


def test_bad_input_stays_bad_input() -> None:
    with pytest.raises(SnellenError, match=r"no such colour .*one"):
        map_shards(refuse, [Shard("one", "no such colour")])


def test_a_killed_worker_is_reported() -> None:
    with pytest.raises(ShardFailed, match="worker process died"):
        map_shards(os._exit, [Shard("a", 3), Shard("b", 3)], workers=2)


def test_progress_counts_sizes() -> None:
    with Progress("counting", visible=False) as progress:
        map_shards(math.sqrt, [Shard("a", 1.0, size=3), Shard("b", 4.0, size=4)], progress=progress)
        assert (progress.done, progress.total) == (7, 7)


def test_no_workers_is_refused() -> None:
    with pytest.raises(SnellenError, match="at least 1"):
        map_shards(math.sqrt, [], workers=0)


def wait_for(path: Path) -> str:
    """A result that waits for another shard's file."""
    while not path.exists():
        time.sleep(0.01)
    return path.read_text()


def test_work_continues_while_a_result_is_used(tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in "abc")
    first.write_text("1")
    shards = [Shard(path.name, path) for path in (first, second, third)]
    with map_ahead(wait_for, shards) as results:
        assert next(results) == "1"
        third.write_text("3")
        second.write_text("2")
        assert list(results) == ["2", "3"]


def test_failures_ahead_name_their_shard() -> None:
    with map_ahead(math.sqrt, [Shard("good", 4.0), Shard("bad", -1.0)]) as results:
        assert next(results) == 2.0
        with pytest.raises(ShardFailed, match="shard bad failed: ValueError"):
            next(results)


def write_process(path: Path) -> None:
    path.write_text(str(os.getpid()))


def test_background_work_is_done_at_the_end_of_its_block(tmp_path: Path) -> None:
    first, second = (Shard(name, tmp_path / name) for name in "ab")
    with background(write_process, workers=1) as submit:
        submit(first)
        assert first.work.read_text() == str(os.getpid())
    with background(write_process, workers=2) as submit:
        submit(first)
        submit(second)
    assert first.work.read_text() == second.work.read_text() != str(os.getpid())


def test_background_work_that_cannot_be_pickled_is_done_here() -> None:
    numbers: list[int] = []

    def append(number: int) -> None:
        numbers.append(number)

    with background(append, workers=2) as submit:
        submit(Shard("one", 1))
        assert numbers == [1]


def write_priority(path: Path) -> None:
    path.write_text(str(os.nice(0)))


def test_one_work_at_a_time_has_the_lowest_priority_and_fails_silently(tmp_path: Path) -> None:
    with one_at_a_time(write_priority) as begin:
        assert begin(Shard("bad", tmp_path / "missing" / "a"))
        while not begin(Shard("good", tmp_path / "a")):
            time.sleep(0.01)
        while not (tmp_path / "a").exists() or not (tmp_path / "a").read_text():
            time.sleep(0.01)
    assert (tmp_path / "a").read_text() == "19"


def test_work_that_is_not_needed_ends_with_its_block(tmp_path: Path) -> None:
    with one_at_a_time(sleep_in_two_processes) as begin:
        assert begin(Shard("long", tmp_path))
        assert not begin(Shard("second", tmp_path))
        wait_for_locks(tmp_path)
    wait_for_ends(tmp_path)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failure_in_the_background_names_its_shard(workers: int) -> None:
    with pytest.raises(ShardFailed, match="shard bad failed: ValueError"), background(math.sqrt, workers) as submit:
        submit(Shard("bad", -1.0))


def sleep_in_two_processes(folder: Path) -> None:
    map_shards(lock_and_sleep, [Shard(name, folder / name) for name in "ab"], workers=2)


def lock_and_sleep(path: Path) -> None:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        path.with_suffix(".locked").touch()
        time.sleep(600)


def wait_for_locks(folder: Path) -> None:
    while len(list(folder.glob("*.locked"))) < 2:
        time.sleep(0.01)


def wait_for_ends(folder: Path) -> None:
    """A surviving process keeps its lock: then this hangs, which is the failure."""
    for name in "ab":
        with (folder / name).open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)


def leave_early(folder: Path) -> None:
    with map_ahead(sleep_in_two_processes, [Shard("long", folder)]):
        wait_for_locks(folder)
        raise KeyboardInterrupt


@pytest.mark.slow
def test_leaving_early_ends_nested_workers(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        leave_early(tmp_path)
    wait_for_ends(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=lambda number: number.name)
def test_workers_do_not_outlive_their_parent(number: signal.Signals, tmp_path: Path) -> None:
    script = tmp_path / "long.py"
    script.write_text(
        "import signal, sys\nfrom pathlib import Path\nfrom tests.compute.test_pool import sleep_in_two_processes\n"
        "if __name__ == '__main__':\n"
        "    signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored by background jobs of a shell
        "    sleep_in_two_processes(Path(sys.argv[1]))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(Path.cwd())])}
    process = subprocess.Popen([sys.executable, str(script), str(tmp_path)], env=environment, stderr=subprocess.PIPE)
    wait_for_locks(tmp_path)
    process.send_signal(number)
    _, errors = process.communicate()  # surviving workers make this hang, which is the failure
    wait_for_ends(tmp_path)
    assert process.returncode != 0
    assert (b"KeyboardInterrupt" in errors) == (number == signal.SIGINT)


def processes_of(count: int) -> set[int]:
    """The processes that did so many shards."""
    return set(map_shards(sleep_a_little, [Shard(f"n{n}", n) for n in range(count)], workers=2))


def sleep_a_little(number: int) -> int:
    time.sleep(0.1)
    return os.getpid()


def test_calls_of_a_block_share_processes_also_those_of_another_process() -> None:
    with sharing_processes(2):
        first = processes_of(6)
        with map_ahead(processes_of, [Shard("six", 6), Shard("four", 4)]) as results:
            assert first == processes_of(6) == next(results) == next(results)
        with sharing_processes(3), background(math.sqrt, 2) as submit:
            submit(Shard("four", 4.0))
        assert first == processes_of(6)
    assert len(first) == 2
    assert os.getpid() not in first
    assert first.isdisjoint(processes_of(6))


def fail(error: Exception) -> None:
    map_shards(raise_or_end, [Shard("bad", error), Shard("worse", error)], workers=2)


def raise_or_end(error: Exception) -> None:
    if isinstance(error, KeyboardInterrupt | MemoryError):
        os._exit(3)
    raise error


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (SnellenError("no such colour"), SnellenError, r"no such colour \(shard (bad|worse)\)"),
        (ValueError("no"), ShardFailed, r"shard (bad|worse) failed: ValueError"),
        (MemoryError(), ShardFailed, r"worker process died while shard (bad|worse)"),
    ],
)
def test_failures_in_shared_processes_name_their_shard(error: Exception, kind: type[Exception], message: str) -> None:
    with sharing_processes(2), pytest.raises(kind, match=message):
        fail(error)
    with (
        sharing_processes(2),
        map_ahead(fail, [Shard("outer", error)]) as results,
        pytest.raises(kind, match=message + ".*outer|outer.*" + message),
    ):
        next(results)


def roots_after_failures(number: float) -> list[float]:
    with pytest.raises(ShardFailed):
        map_shards(math.sqrt, [Shard("bad", -1.0), Shard("worse", -4.0)], workers=2)
    return map_shards(math.sqrt, [Shard("one", number), Shard("four", 4 * number)], workers=2)


def test_results_of_a_call_that_failed_are_not_those_of_the_next_in_shared_processes() -> None:
    with sharing_processes(2), map_ahead(roots_after_failures, [Shard("roots", 1.0)]) as results:
        assert next(results) == [1.0, 2.0]


def share_and_sleep(folder: Path) -> None:
    with sharing_processes(2), map_ahead(sleep_in_two_processes, [Shard("long", folder)]) as results:
        wait_for_locks(folder)
        if folder.name == "early":
            raise KeyboardInterrupt
        next(results)


@pytest.mark.slow
def test_shared_processes_end_with_their_block_and_with_a_killed_parent(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("early", "late")]
    for folder in folders:
        folder.mkdir()
    with pytest.raises(KeyboardInterrupt):
        share_and_sleep(folders[0])
    wait_for_ends(folders[0])
    code = f"from tests.compute.test_pool import Path, share_and_sleep; share_and_sleep(Path({str(folders[1])!r}))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(Path.cwd())])}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment)
    wait_for_locks(folders[1])
    process.kill()
    process.wait()
    wait_for_ends(folders[1])


def test_the_script_is_hidden_only_while_processes_start() -> None:
    """torch looks for the file of every module when it is imported."""
    script = sys.modules["__main__"]
    before = dict(vars(script))
    with map_ahead(math.sqrt, [Shard("number", 4.0)]) as results:
        assert {name: vars(script).get(name) for name in before} == before
        assert next(results) == 2.0


class HerePool:
    """Does at once what is submitted, and counts it."""

    count = 0

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        self.count, future = self.count + 1, Future[Any]()
        future.set_result(function(*arguments))
        return future


@pytest.mark.parametrize(("ahead", "counts"), [(2, [2, 3, 4, 5, 5, 5]), (None, [5] * 6), (9, [5] * 6)])
def test_only_so_many_results_are_computed_ahead(
    ahead: int | None, counts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = HerePool()
    monkeypatch.setattr(pool_module, "_pool", lambda *arguments: nullcontext(pool))
    with map_ahead(math.sqrt, [Shard(str(n), float(n * n)) for n in range(5)], ahead) as results:
        submitted = [(0.0, pool.count), *((result, pool.count) for result in results)]
    assert submitted == list(zip([0, 0, 1, 2, 3, 4], counts, strict=True))
