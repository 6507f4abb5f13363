"""Conditions of every test: no hub, no screen, no keys, a separate home folder, the same random choices everywhere."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path

import pytest
from hypothesis import settings

from tests.helpers.skips import pytest_make_collect_report, pytest_runtest_makereport  # noqa: F401  # hooks

# Before anything heavy is imported, and inherited by the processes that tests start.
os.environ.update(HF_HUB_OFFLINE="1", MPLBACKEND="Agg", TOKENIZERS_PARALLELISM="false")
# Matrices of tests are small: threads of linear algebra would only wait for each other.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
for name in [name for name in os.environ if name.endswith(("_API_KEY", "_BASE_URL"))]:
    del os.environ[name]

# Shells make background commands ignore Ctrl-C, which tests send to themselves and their children.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The quick run tries the same examples on every machine; `make slow` tries many more new ones.
settings.register_profile("snellen", deadline=None, derandomize=True, database=None, max_examples=25)
settings.register_profile("thorough", deadline=None, max_examples=500, print_blob=True)
settings.load_profile("snellen")


COLLECTED = pytest.StashKey[AbstractSet[object]]()
"""The modules that are imported when all tests are collected."""

gc.disable()  # until everything is imported: little of it is garbage


def pytest_report_header() -> str:
    """The settings that the last digits of results depend on."""
    from snellen.compute.dispatch import dispatch

    return f"machine code: {dispatch()}"


def pytest_collection_finish(session: pytest.Session) -> None:
    """Freeze imported objects: later garbage collections skip them and are fewer."""
    session.config.stash[COLLECTED] = frozenset(sys.modules)
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def snellen_home() -> Iterator[Path]:
    """An initially empty home folder per test process, removed at the end; nothing waits for the disk."""
    with tempfile.TemporaryDirectory(prefix="snellen-home-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        patch.setenv("SNELLEN_HOME", folder)
        yield Path(folder)


@pytest.fixture(scope="session")
def sets_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The folder of the small sets of all suites (`tests.helpers.sets`), shared by the processes of one test run."""
    folder = tmp_path_factory.getbasetemp()
    return (folder if worker_id == "master" else folder.parent) / "small-sets"
