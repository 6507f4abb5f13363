"""The suite of `examples/landolt` does what docs/own-suite.md says of it, and no file of the package knows it."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from snellen.core.suite import BuildOptions
from snellen.exam import build, run
from snellen.suites import SUITES

FOLDER = Path(__file__).parent.parent / "examples" / "landolt"


def test_a_suite_in_one_folder_is_built_asked_and_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Who sees is perfect; who is blind to the gap, or is shown nothing, is within the interval of chance."""
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.setitem(SUITES.__dict__, "_entry_points", {"landolt": EntryPoint("landolt", "landolt:SUITE", "")})
    items = build(SUITES.get("landolt"), "generated", BuildOptions(tmp_path / "items", n=48, show_progress=False))
    subjects = ["fake:oracle", "fake:blind-to=gap"]
    examination = run(items, subjects, tmp_path / "run", conditions=["vanilla", "pictures=none"], show_progress=False)
    rows = examination.results()
    rows = rows[rows.factor == ""].set_index(["subject", "condition"])
    assert rows.loc[("fake:oracle", "vanilla"), "value"] == 1
    for arm in [("fake:oracle", "pictures=none"), *(("fake:blind-to=gap", c) for c in ("vanilla", "pictures=none"))]:
        assert rows.loc[arm, "low"] < rows.loc[arm, "chance"] == 0.25 < rows.loc[arm, "high"]
    report = examination.report(tmp_path / "report")
    assert "Landolt rings" in report.pages[1].read_text("utf-8")
    del SUITES._loaded["landolt"]
