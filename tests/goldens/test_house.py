"""Items, results and reports of every suite equal the goldens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from tests.goldens.house import BLIND_OBSERVERS, FOLDER, outputs
from tests.helpers.sets import small_set


def laid_out(figure: Figure, folder: Path, name: str, *, formats: Sequence[str]) -> None:
    """No files are written, because only texts are compared."""
    figure.draw_without_rendering()


def unsaved(figure: Figure, folder: Path, name: str, *, formats: Sequence[str]) -> None:
    """Figures are made, which may fail, but not laid out, which would take a third of the test."""


@pytest.mark.parametrize("save", [unsaved, pytest.param(laid_out, marks=pytest.mark.slow)])
@pytest.mark.parametrize("suite", BLIND_OBSERVERS)
def test_suites_reproduce_their_goldens(
    suite: str, save: Callable[..., None], sets_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("snellen.reports.figures.save", save)
    texts = outputs(small_set(suite, sets_folder), tmp_path)
    assert texts == {name: (FOLDER / suite / name).read_text("utf-8") for name in texts}
