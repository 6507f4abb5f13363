"""What works without system calls that some operating systems lack."""

from __future__ import annotations

import platform
import resource
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from snellen.core.errors import SnellenError
from snellen.core.storage import files, system_calls

WITHOUT = """
import importlib, os, pkgutil, platform, sys

import joblib, matplotlib.pyplot, numpy, pandas, pyarrow.parquet, sklearn  # which ask for themselves

platform.node()
extras = "inspect_ai torch transformers mitsuba drjit ray av mediapipe onnx onnxruntime datasets fastapi peft"
sys.modules.update(dict.fromkeys(["fcntl", *extras.split()]))
for name in ("sched_getaffinity", "uname", "O_NOFOLLOW", "O_NONBLOCK", "nice"):
    delattr(os, name)
import snellen

for module in pkgutil.walk_packages(snellen.__path__, "snellen."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            assert error.name != "fcntl", module.name
from snellen.core.storage import system_calls

assert system_calls.fcntl is None and system_calls.UNFOLLOWED == 0
system_calls.IS_POSIX = False
examination = snellen.examine(lambda parts: "A", "thresholds/acuity", limit=17, out=sys.argv[1], show_progress=False)
print(len(examination.responses), examination.report(sys.argv[2]).page.is_file())
"""


def test_everything_is_imported_and_an_exam_is_run_without_them(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(tmp_path / "run"), str(tmp_path / "report")],
        capture_output=True, text=True, check=False, env={"SNELLEN_HOME": str(tmp_path / "home"), "PATH": "/usr/bin"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    responses, has_page = done.stdout.split()
    assert int(responses) > 0
    assert has_page == "True"


class Windows:
    """Locks as of `msvcrt`."""

    LK_LOCK, LK_NBLCK = 1, 2

    def __init__(self) -> None:
        self.modes: list[int] = []

    def locking(self, descriptor: int, mode: int, size: int) -> None:
        self.modes.append(mode)
        if len(self.modes) > 1 and mode == self.LK_NBLCK:
            raise PermissionError(13, "Permission denied")


def test_a_lock_of_windows_is_refused_in_the_same_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    windows = Windows()
    monkeypatch.setattr(system_calls, "fcntl", None)
    monkeypatch.setattr(system_calls, "msvcrt", windows)
    with files.kernel_lock(tmp_path / "lock", tmp_path):
        with pytest.raises(SnellenError, match="another process is writing there"):
            files.kernel_lock(tmp_path / "lock", tmp_path).__enter__()
        with files.kernel_lock(tmp_path / "lock", tmp_path, wait=True):
            assert windows.modes == [windows.LK_NBLCK, windows.LK_NBLCK, windows.LK_LOCK]


def test_processes_are_never_signalled_and_folders_not_synced_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "IS_POSIX", False)
    monkeypatch.setattr("os.kill", lambda *_: pytest.fail("a signal"))
    half = tmp_path / f"a.{system_calls.machine_name()}-99999999.half"
    half.touch()
    files.remove_halves(tmp_path)
    assert half.exists(), "a process may live"
    files.write_text(tmp_path / "b", "text")
    assert (tmp_path / "b").read_text() == "text"


@pytest.mark.parametrize(("allowed", "limits"), [((256, -1), (1600, -1)), ((256, 999), (999, 999)), ((-1, -1), None)])
def test_more_files_are_allowed_where_few_are(
    allowed: tuple[int, int], limits: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as are asked for, or as the system lets anybody have; no limit stays none."""
    monkeypatch.setattr(resource, "getrlimit", lambda kind: allowed)
    new = list[tuple[int, int]]()
    monkeypatch.setattr(resource, "setrlimit", lambda kind, values: new.append(values))
    system_calls.allow_open_files(1600)
    assert new == ([limits] if limits else [])


LIMITED = """
import contextlib, resource
from concurrent.futures import ThreadPoolExecutor
from snellen.core.storage.system_calls import bounded_memory

def is_given():
    with contextlib.suppress(MemoryError):
        return len(bytearray(200_000_000)) > 0
    return False

before, states = resource.getrlimit(resource.RLIMIT_DATA), []
with ThreadPoolExecutor(1) as threads:
    with bounded_memory(50_000_000):
        states += [is_given(), threads.submit(is_given).result()]
        with bounded_memory(500_000_000):  # the outer limit holds
            states += [is_given()]
    states += [threads.submit(is_given).result()]
with contextlib.suppress(ValueError), bounded_memory(50_000_000):
    raise ValueError
with bounded_memory(500_000_000):
    states += [is_given()]
print(*map(int, states), int(resource.getrlimit(resource.RLIMIT_DATA) == before))
"""


@pytest.mark.skipif(platform.system() != "Linux", reason="memory is limited on Linux only")
def test_memory_is_limited_in_the_block_only_and_for_all_threads() -> None:
    """In a process of its own: another may reuse memory that it has."""
    printed = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["0", "0", "0", "1", "1", "1"]


@pytest.mark.skipif(platform.system() != "Linux", reason="memory is limited on Linux only")
def test_nobody_waits_for_the_limit_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit within a limit is none, and a limit is never higher than the one that was there."""
    limits = list[tuple[int, int]]()
    monkeypatch.setattr(resource, "setrlimit", lambda kind, values: limits.append(values))

    def limited(allowed: tuple[int, int]) -> list[tuple[int, int]]:
        monkeypatch.setattr(resource, "getrlimit", lambda kind: allowed)
        limits.clear()
        with system_calls.bounded_memory(1000), system_calls.bounded_memory(10):
            pass
        return list(limits)

    thread = threading.Thread(target=limited, args=((-1, -1),), daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert limited((5, -1)) == [(5, -1)], "one below what is used already stays"
    assert limited((-1, 9)) == [(9, 9), (-1, 9)]
    (most, hard), after = limited((-1, -1))
    assert (hard, after, most > 1000) == (-1, (-1, -1), True)
