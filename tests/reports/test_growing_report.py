"""Reports that are written again after each run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from snellen.compute import Shard
from snellen.core.storage.runfolder import read_run_card
from snellen.exam.run import run
from snellen.reports import Run
from snellen.reports.growing import GrowingReport, write_placeholder
from snellen.reports.loading import load_runs
from snellen.reports.writing import write_report
from tests.goldens.golden import assert_golden
from tests.goldens.house import page_text
from tests.helpers.report_texts import rounded
from tests.helpers.sets import small_set


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory, sets_folder: Path) -> list[Path]:
    """A run each of two suites."""
    folder, subjects = tmp_path_factory.mktemp("growing"), ["fake:chance", "fake:oracle", "encoder:colour-histogram"]
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
    texts = [page_text(whole.page), (whole.root / "tables" / "paper.tex").read_text()]
    texts += ["\n".join(page_text(page).split("\n")[:200]) for page in whole.pages[1:]]
    assert_golden("reports/two-suites.txt", rounded("\n".join(texts)))
    assert read == roots, "each run is read once"
    at_once = write_report(roots, tmp_path / "at-once")
    names = {path.relative_to(whole.root) for path in whole.root.rglob("*") if path.is_file()}
    assert names == {path.relative_to(at_once.root) for path in at_once.root.rglob("*") if path.is_file()}
    assert [read_run_card(root).suite for root in roots] == ["combo", "vfm-bench"]
    different = [name for name in names if (whole.root / name).read_bytes() != (at_once.root / name).read_bytes()]
    assert [str(name) for name in different if name.name != "stamp.json"] == []


def test_results_computed_side_by_side_are_those_computed_one_by_one(
    roots: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = list[int]()

    def in_turn(function: Callable[[Path], Any], shards: list[Shard[Path]], *, workers: int) -> list[Any]:
        counts.append(workers)
        return [function(shard.work) for shard in shards]

    monkeypatch.setattr("snellen.reports.loading.map_shards", in_turn)
    both = [load_runs(roots, workers=workers) for workers in (1, 3)]
    assert (counts, [run.root for run in both[1]]) == ([3], roots)
    for first, second in zip(*both, strict=True):
        pd.testing.assert_frame_equal(first.results, second.results)
