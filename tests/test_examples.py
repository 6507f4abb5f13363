"""Notebooks of `examples/` run as written, with the outputs stored in the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.notebook import EXAMPLES, code_cells, outputs_of, read

NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
MOST_BYTES = 40_000


def test_examples_exist() -> None:
    assert NOTEBOOKS


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_as_written(path: Path, tmp_path: Path) -> None:
    notebook = read(path)
    outputs = [cell["outputs"] for cell in code_cells(notebook)]
    assert outputs_of(notebook, tmp_path) == outputs, "rewrite them: python -m tests.helpers.notebook --write"
    assert any(outputs)
    assert path.stat().st_size < MOST_BYTES
