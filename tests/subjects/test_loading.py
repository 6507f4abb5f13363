"""Heavy modules are loaded once and quietly, and what they lack is said in one line; stand-ins take their place."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from snellen.subjects import checkpoints
from snellen.subjects.loading import inference, one_thread, quiet_transformers
from tests.helpers.refusals import assert_refused


class MemoryFull(RuntimeError):
    """A GPU's memory is full."""


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of threads of a stand-in for torch, four at first."""
    numbers = [4]
    torch = SimpleNamespace(
        get_num_threads=lambda: numbers[-1], set_num_threads=numbers.append, OutOfMemoryError=MemoryFull,
        inference_mode=threading.RLock, cuda=SimpleNamespace(get_device_name=lambda device: f"H {device}"),
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "torch", torch)
    return numbers


def test_torch_has_one_thread_and_the_main_thread_its_own_again(counts: list[int]) -> None:
    def enter() -> None:
        with one_thread():
            assert counts[-1] == 1

    enter()
    assert counts == [4, 1, 4]
    other = threading.Thread(target=enter)
    other.start()
    other.join()
    enter()
    assert counts == [4, 1, 4, 1], "another thread ends before it needs more, and one is enough"


def test_a_device_that_is_missing_or_too_small_is_one_line(counts: list[int]) -> None:
    def infer() -> None:
        with inference():
            raise MemoryFull("9 GiB\nand so on")

    assert_refused(infer, "out of memory on the GPU; use a smaller batch= (encoder:NAME?batch=1)")
    for error, message in (
        (MemoryFull("x"), "w: its weights do not fit into the memory of cuda:1; leave out --device"),
        (RuntimeError("no CUDA\nmore"), "w: no device 'cuda:1' (no CUDA); leave out --device"),
        (AssertionError(), "w: no device 'cuda:1' (AssertionError); leave out --device"),
    ):

        def to(device: str, error: Exception = error) -> None:
            raise error

        assert_refused(lambda: checkpoints.to_device("w", SimpleNamespace(to=to), "cuda:1", "--device"), message)
    assert [checkpoints.device_name(device) for device in ("cpu", "cuda:1")] == ["cpu", "H cuda:1"]


@pytest.mark.parametrize("has_bars", [True, False])
def test_transformers_is_quiet_meanwhile(has_bars: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after an error, it has the progress bars and the verbosity that it had."""
    state: dict[str, Any] = {"bars": has_bars, "verbosity": 30}
    logging = SimpleNamespace(
        is_progress_bar_enabled=lambda: state["bars"], disable_progress_bar=lambda: state.update(bars=False),
        enable_progress_bar=lambda: state.update(bars=True), get_verbosity=lambda: state["verbosity"],
        set_verbosity_error=lambda: state.update(verbosity=40), set_verbosity=lambda n: state.update(verbosity=n),
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "transformers", SimpleNamespace(utils=SimpleNamespace(logging=logging)))
    states = list[dict[str, Any]]()
    with suppress(ValueError), quiet_transformers("x"):
        states.append(dict(state))
        raise ValueError("damaged")
    assert [*states, state] == [{"bars": False, "verbosity": 40}, {"bars": has_bars, "verbosity": 30}]
