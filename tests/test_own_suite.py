"""The suite of `examples/landolt` works as docs/own-suite.md states, without any file of the package knowing it."""

from __future__ import annotations

import math
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from snellen.core.build_options import BuildOptions
from snellen.exam.items import build
from snellen.exam.run import run
from snellen.suites import SUITES

FOLDER = Path(__file__).parent.parent / "examples" / "landolt"


def test_a_suite_in_one_folder_is_built_asked_and_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A seeing subject is perfect; one that is blind to the gap, or is shown no image, is near chance."""
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.setitem(SUITES.__dict__, "_entry_points", {"landolt": EntryPoint("landolt", "landolt:SUITE", "")})
    items = build(SUITES.get("landolt"), "generated", BuildOptions(tmp_path / "items", n=48, show_progress=False))
    subjects = ["fake:oracle", "fake:blind-to=gap"]
    examination = run(items, subjects, tmp_path / "run", conditions=["vanilla", "images=none"], show_progress=False)
    rows = examination.all_results()
    score_by_arm = {
        (row["subject"], row["condition"]): row["value"] for row in rows[rows.factor == ""].to_dict("records")
    }
    assert score_by_arm.pop(("fake:oracle", "vanilla")) == 1
    assert len(score_by_arm) == 3
    spread = 3 * math.sqrt(0.25 * 0.75 / 48)  # three standard errors of a guesser among four options
    assert all(abs(score - 0.25) < spread for score in score_by_arm.values())
    report = examination.report(tmp_path / "report")
    assert "Landolt rings" in report.pages[1].read_text("utf-8")
    del SUITES._loaded["landolt"]
