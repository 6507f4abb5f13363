"""Reports that are written again after each run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from snellen.core.storage.runfolder import read_run_card
from snellen.exam.run import run
from snellen.reports import Run
from snellen.reports.growing import GrowingReport, write_placeholder
from snellen.reports.loading import load_runs
from snellen.reports.writing import write_report
from tests.helpers.sets import small_set


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory, sets_folder: Path) -> list[Path]:
    """A run each of two suites."""
    folder, subjects = tmp_path_factory.mktemp("growing"), ["fake:chance", "fake:oracle"]
    names = ("combo", "vfm-bench")
    return [run(small_set(name, sets_folder), subjects, folder / name, show_progress=False).root for name in names]


def test_a_draft_ends_as_the_report_that_is_written_at_once(
    roots: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without_figures: None
) -> None:
    read = list[Path]()

    def load(runs: list[Path], *rest: Any) -> list[Run]:
        read.extend(runs)
        return load_runs(runs, *rest)

    monkeypatch.setattr("snellen.reports.growing.load_runs", load)
    write_placeholder(tmp_path / "growing", ["ComBo", "VFM Bench"])
    assert "To come" in (tmp_path / "growing" / "index.html").read_text()
    growing = GrowingReport(["VFM Bench"])
    first = write_report(roots[:1], tmp_path / "growing", growing=growing)
    text = first.page.read_text()
    assert "still running" in text
    assert "VFM Bench" in text
    assert not (first.root / "stamp.json").exists(), "an incomplete report is never current"
    write_placeholder(first.root, ["ComBo"])
    assert first.page.read_text() == text, "a page is not replaced by the first one"
    growing.waiting = []
    whole = write_report(roots, first.root, growing=growing)
    assert read == roots, "each run is read once"
    at_once = write_report(roots, tmp_path / "at-once")
    names = {path.relative_to(whole.root) for path in whole.root.rglob("*") if path.is_file()}
    assert names == {path.relative_to(at_once.root) for path in at_once.root.rglob("*") if path.is_file()}
    assert [read_run_card(root).suite for root in roots] == ["combo", "vfm-bench"]
    different = [name for name in names if (whole.root / name).read_bytes() != (at_once.root / name).read_bytes()]
    assert [str(name) for name in different if name.name != "stamp.json"] == []
