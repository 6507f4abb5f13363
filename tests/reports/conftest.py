"""One examined set for the whole folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.reports import Report, Run, load_run, write_report
from tests.reports.exam import SUITE, leave_out_figures, subjects, suite_of, write_items, write_run


@pytest.fixture
def without_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports with an empty file in place of each figure, for tests of everything else: drawing takes longest."""
    leave_out_figures(monkeypatch)


@pytest.fixture(scope="session")
def run_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scored run of eight subjects over four tasks."""
    root = tmp_path_factory.mktemp("exam")
    items = write_items(root / "items", 16)
    return write_run(root / "run", items, subjects(items))


@pytest.fixture(scope="session")
def small_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scored run of one subject and the oracle over a few items."""
    root = tmp_path_factory.mktemp("small")
    items = write_items(root / "items", 6)
    examined = subjects(items)
    return write_run(root / "run", items, [examined[1], examined[5]])


@pytest.fixture(scope="session")
def naming_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scored run of the same two about one task, for tests that do not depend on the task."""
    root = tmp_path_factory.mktemp("naming")
    items = write_items(root / "items", 6, tasks=("naming",))
    examined = subjects(items)
    return write_run(root / "run", items, [examined[1], examined[5]], tasks=("naming",))


@pytest.fixture(scope="session")
def small_report(small_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The report on the small run, without printed numbers."""
    return write_report([small_root], tmp_path_factory.mktemp("small-report"), suite_of=suite_of)


@pytest.fixture(scope="session")
def loaded(run_root: Path) -> Run:
    return load_run(run_root, lambda name: SUITE)


@pytest.fixture(scope="session")
def report(run_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The report on that run, with printed numbers."""
    return write_report([run_root], tmp_path_factory.mktemp("report"), compare_published=True, suite_of=suite_of)
