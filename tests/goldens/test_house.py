"""Items, results and reports of every suite are what the goldens say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

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
    assert texts == {name: (FOLDER / suite / name).read_text("utf-8") for name in texts}
