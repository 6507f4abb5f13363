"""Items, results and reports of every suite are what the goldens say."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure

from tests.goldens.house import BLIND_OBSERVERS, FOLDER, outputs
from tests.helpers.sets import small_set


def laid_out(figure: Figure, folder: Path, name: str, *, png: bool) -> None:
    """No files are written, for texts alone are compared."""
    figure.draw_without_rendering()


def unsaved(figure: Figure, folder: Path, name: str, *, png: bool) -> None:
    """Figures are made, which is where they may fail; to lay them all out takes a third of the test."""


@pytest.mark.parametrize("save", [unsaved, pytest.param(laid_out, marks=pytest.mark.slow)])
@pytest.mark.parametrize("suite", BLIND_OBSERVERS)
def test_the_house_makes_what_it_made(
    suite: str, save: Callable[..., None], sets_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("snellen.reports.figures.save", save)
    texts = outputs(small_set(suite, sets_folder), tmp_path)
    goldens = {name: (FOLDER / suite / name).read_text("utf-8") for name in texts}
    assert texts["content_hash.txt"] == goldens["content_hash.txt"]
    results, golden = (pd.read_csv(io.StringIO(files["results.csv"])) for files in (texts, goldens))
    # The last digits of sums hang on the processor.
    pd.testing.assert_frame_equal(results, golden, rtol=1e-9, atol=1e-12)
    assert texts["report.txt"].splitlines() == goldens["report.txt"].splitlines()
