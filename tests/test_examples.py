"""Notebooks of `examples/` run as they are written, and show what they show in the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.notebook import EXAMPLES, code_cells, outputs_of, read

NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
MOST_BYTES = 20_000


def test_there_are_examples() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_as_written(path: Path, tmp_path: Path) -> None:
    notebook = read(path)
    outputs = [cell["outputs"] for cell in code_cells(notebook)]
    assert outputs_of(notebook, tmp_path) == outputs, "write them anew: python -m tests.helpers.notebook --write"
    assert any(outputs)
    assert path.stat().st_size < MOST_BYTES
