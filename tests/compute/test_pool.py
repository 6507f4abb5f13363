import math
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from snellen.compute import Progress, Shard, ShardFailed, map_shards
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


def test_a_killed_worker_is_told() -> None:
    with pytest.raises(ShardFailed, match="worker process died"):
        map_shards(os._exit, [Shard("a", 3), Shard("b", 3)], workers=2)


def test_progress_counts_sizes() -> None:
    with Progress("counting", visible=False) as progress:
        map_shards(math.sqrt, [Shard("a", 1.0, size=3), Shard("b", 4.0, size=4)], progress=progress)
        assert (progress.done, progress.total) == (7, 7)


def test_no_workers_is_refused() -> None:
    with pytest.raises(SnellenError, match="at least 1"):
        map_shards(math.sqrt, [], workers=0)


def test_ctrl_c_ends_the_workers(tmp_path: Path) -> None:
    script = tmp_path / "long.py"
    script.write_text(
        "import signal, time\nfrom snellen.compute import Shard, map_shards\n"
        "if __name__ == '__main__':\n"
        "    signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # which a shell's background jobs ignore
        "    print('ready', flush=True)\n"
        "    map_shards(time.sleep, [Shard('a', 60), Shard('b', 60)], workers=2)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, str(script)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(1.0)
    process.send_signal(2)
    _, errors = process.communicate(timeout=20)
    assert process.returncode != 0
    assert b"KeyboardInterrupt" in errors
