"""Score tables are read again as they were written, under every protocol."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.exam.rescoring import rescore
from snellen.exam.run import run
from snellen.reports.loading import load_run
from snellen.suites import SUITES
from tests.helpers.sets import small_set

SUITE_NAMES = ["ava-bench", *(pytest.param(n, marks=pytest.mark.slow) for n in ("combo", "vlm2-bench", "vfm-bench"))]


@pytest.mark.parametrize("name", SUITE_NAMES)
def test_scores_of_every_protocol_belong_to_their_run(name: str, sets_folder: Path, tmp_path: Path) -> None:
    """Also what the scorers of others read: a count as a text, a letter, several words."""
    items, suite = small_set(name, sets_folder), SUITES.get(name)
    subjects = ("fake:oracle", "fake:chance", "fake:constant=I think (B) 3 red [1, 2, 3, 4] T")
    run(items, subjects, tmp_path / "run", show_progress=False)
    protocols = {protocol for task in suite.tasks.values() for protocol in task.protocols}
    for protocol in protocols:
        rescore(tmp_path / "run", items, suite, protocol)
    assert load_run(tmp_path / "run").scores.keys() == protocols
