"""Several processes, weights in main memory and recomputed activations train what the plain loop trains."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.extras import lazy_module, need

need("peft", "heads")
torch = lazy_module("torch")
training = lazy_module("snellen.towers.heads.training")


SCRIPT = Path(__file__).with_name("sharded_training.py")


def _trained(folder: Path, processes: int, scope: str, *names: str, last: int = 0) -> dict[str, Any]:
    """The result of a training in so many processes; empty if it is stopped before step `last`."""
    folder.mkdir(exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    launch = ["-m", "torch.distributed.run", f"--nproc-per-node={processes}", f"--master-port={port}"]
    words = [sys.executable, *(launch if processes > 1 else []), str(SCRIPT), str(folder), scope, str(last), *names]
    root = SCRIPT.parents[3]
    environment = os.environ | {
        "PYTHONPATH": f"{root / 'src'}:{root / 'packages/sight/src'}:{root}",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return {} if last else dict(torch.load(folder / "result.pt"))


def _assert_equal(result: dict[str, Any], expected: dict[str, Any]) -> None:
    assert result["losses"] == pytest.approx(expected["losses"], abs=1e-3)
    assert result["weights"].keys() == expected["weights"].keys()
    for name, weight in expected["weights"].items():
        torch.testing.assert_close(result["weights"][name], weight, rtol=0, atol=1e-3, msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["language-model", "lora"])
def test_two_processes_train_what_one_trains(scope: str, tmp_path: Path) -> None:
    expected = _trained(tmp_path / "one", 1, scope)
    assert len(expected["losses"]) > 2
    moved = max(float(weight.abs().max()) for weight in expected["weights"].values())
    assert moved > 0.01, "weights are not all near zero"
    _assert_equal(_trained(tmp_path / "two", 2, scope), expected)
    _assert_equal(_trained(tmp_path / "three", 2, scope, "recompute"), expected)


@pytest.mark.slow
def test_weights_in_main_memory_and_recomputed_activations_change_nothing(tmp_path: Path) -> None:
    expected = _trained(tmp_path / "plain", 1, "language-model")
    _assert_equal(_trained(tmp_path / "both", 1, "language-model", "offload", "recompute"), expected)


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 2)])
def test_a_training_resumes_with_another_number_of_processes(before: int, after: int, tmp_path: Path) -> None:
    expected = _trained(tmp_path / "whole", 1, "language-model")
    _trained(tmp_path / "parts", before, "language-model", last=3)
    assert (tmp_path / "parts" / training.CHECKPOINT).is_file()
    _assert_equal(_trained(tmp_path / "parts", after, "language-model"), expected)
