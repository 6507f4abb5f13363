"""Heavy modules are loaded once and quietly, and what they lack is said in one line; none of them is needed here."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from snellen.core.errors import SnellenError
from snellen.core.hashing import sha256
from snellen.subjects import checkpoints
from snellen.subjects.loading import (
    file_sha256,
    import_extra,
    inference,
    less_memory,
    once,
    one_thread,
    quiet_transformers,
)
from tests.helpers.refusals import assert_refused


class MemoryFull(RuntimeError):
    """A GPU's memory is full."""


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of threads of a stand-in for torch, four at first."""
    numbers = [4]
    inference_mode = threading.RLock
    torch = SimpleNamespace(
        get_num_threads=lambda: numbers[-1], set_num_threads=numbers.append, OutOfMemoryError=MemoryFull,
        inference_mode=inference_mode, float32="f4", cuda=SimpleNamespace(get_device_name=lambda device: f"H {device}"),
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "torch", torch)
    return numbers


def enter_one_thread() -> None:
    with one_thread():
        pass


def test_torch_has_one_thread_and_the_main_thread_its_own_again(counts: list[int]) -> None:
    with one_thread():
        assert counts == [4, 1]
    assert counts == [4, 1, 4]
    other = threading.Thread(target=enter_one_thread)
    other.start()
    other.join()
    assert counts == [4, 1, 4, 1], "another thread has ended before it needs more"
    enter_one_thread()
    assert counts == [4, 1, 4, 1], "one is enough"


def test_a_full_memory_is_one_line_with_a_hint(counts: list[int]) -> None:
    def fail(error: Exception) -> None:
        with less_memory("a smaller head"):
            raise error

    def infer() -> None:
        with inference():
            raise MemoryFull("9 GiB\nand so on")

    assert_refused(lambda: fail(MemoryFull("9 GiB")), "out of memory on the GPU; use a smaller head")
    assert_refused(infer, "use a smaller batch= (encoder:NAME?batch=1)")
    with pytest.raises(RuntimeError, match="other"):
        fail(RuntimeError("other"))
    assert counts[-1] == 4


@pytest.mark.parametrize("has_bars", [True, False])
def test_transformers_is_quiet_meanwhile(has_bars: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after an error, it has the progress bars and the verbosity that it had."""
    state = {"bars": has_bars, "verbosity": 30}
    logging = SimpleNamespace(
        is_progress_bar_enabled=lambda: state["bars"], get_verbosity=lambda: state["verbosity"],
        disable_progress_bar=lambda: state.update(bars=False), enable_progress_bar=lambda: state.update(bars=True),
        set_verbosity_error=lambda: state.update(verbosity=40), set_verbosity=lambda level: state.update(verbosity=level),
    )  # fmt: skip
    module = SimpleNamespace(utils=SimpleNamespace(logging=logging))
    monkeypatch.setitem(sys.modules, "transformers", module)

    def load() -> None:
        with quiet_transformers("x") as transformers:
            assert transformers is module
            assert state == {"bars": False, "verbosity": 40}
            raise ValueError("damaged")

    with pytest.raises(ValueError, match="damaged"):
        load()
    assert state == {"bars": has_bars, "verbosity": 30}


def test_what_is_loaded_once_is_loaded_by_one_of_two_threads(tmp_path: Path) -> None:
    calls, barrier = list[str](), threading.Barrier(2)

    @once
    def load(name: str) -> object:
        calls.append(name)
        return object()

    results = list[object]()

    def wait_and_load() -> None:
        barrier.wait()
        results.append(load("a"))

    threads = [threading.Thread(target=wait_and_load) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results[0] is results[1] is load("a") is not load("b")
    assert calls == ["a", "b"]
    (tmp_path / "x").write_bytes(b"abc")
    assert file_sha256(tmp_path / "x") == sha256(b"abc")
    assert_refused(lambda: import_extra("no_such_module", "encoder:x", "chat"), "encoder:x needs no_such_module (No")
    assert_refused(lambda: import_extra("no_such_module", "encoder:x", "chat"), "[chat]")


def test_a_device_that_is_too_small_or_missing_is_named_with_its_setting(counts: list[int]) -> None:
    def move(error: Exception) -> Callable[[], Any]:
        def to(device: str) -> None:
            raise error

        return lambda: checkpoints.to_device("w", SimpleNamespace(to=to), "cuda:1", "--device")

    assert_refused(move(MemoryFull("x")), "w: its weights do not fit into the memory of cuda:1; leave out --device")
    for error in (RuntimeError("no CUDA\nmore"), AssertionError("no CUDA\nmore")):
        assert_refused(move(error), "w: no device 'cuda:1' (no CUDA); leave out --device")
    assert [checkpoints.device_name(device) for device in ("cpu", "cuda:1")] == ["cpu", "H cuda:1"]
    assert checkpoints.first_line(ValueError("\n a\nb")) == "a"
    assert checkpoints.first_line(KeyError()) == "KeyError"


def test_weights_that_a_checkpoint_lacks_are_told_but_for_positions(
    counts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("safetensors")
    settings: dict[str, Any] = {}

    class Kind:
        @staticmethod
        def from_pretrained(path: str, **options: Any) -> tuple[str, dict[str, list[str]]]:
            settings.update(options, path=path)
            return "model", {"missing_keys": ["b.weight", "a.weight", "embeddings.position_ids"]}

    logging = SimpleNamespace(
        **dict.fromkeys(("is_progress_bar_enabled", "get_verbosity"), lambda: 0),
        **dict.fromkeys(("disable_progress_bar", "set_verbosity_error"), lambda: None), set_verbosity=lambda level: None,
    )  # fmt: skip
    module = SimpleNamespace(utils=SimpleNamespace(logging=logging), Named=Kind)
    monkeypatch.setitem(sys.modules, "transformers", module)
    for kind, dtype, expected in (("Named", "float32", "f4"), (Kind, "auto", "auto")):
        model, missing = checkpoints.load_weights("w", kind, "p", dtype, revision="r")
        assert (model, missing) == ("model", {"a.weight", "b.weight"})
        assert settings == {
            "path": "p", "dtype": expected, "output_loading_info": True, "trust_remote_code": False, "revision": "r",
        }  # fmt: skip
    with pytest.raises(SnellenError, match="w: the checkpoint has no a.weight; its answers would be random"):
        checkpoints.load_complete("w", "Named", "p", "auto")
