"""The structure of the package: the files of a suite, and names that are defined in one place."""

from __future__ import annotations

import runpy
from collections.abc import Mapping
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "snellen"
SUITES = [folder for folder in sorted((SOURCE / "suites").iterdir()) if (folder / "tasks.py").is_file()]
MAX_MODULES, MAX_FILES, MAX_FILES_OF_MANY = 15, 15, 20
MANY = ("abilities", "curated", "choices")
"""Folders with one file per ability, and with the data of choices."""


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_file() and path.suffix != ".pyc"]


@pytest.mark.parametrize("suite", SUITES, ids=lambda folder: folder.name)
def test_a_suite_has_the_standard_files(suite: Path) -> None:
    assert {"suite.yaml", "README.md", "paper.yaml"} <= {path.name for path in _files(suite)}
    assert {"tasks.py", "prompts.py", "scoring.py", "published.py"} <= {path.name for path in _files(suite)}
    modules = [path for path in _files(suite) if path.suffix == ".py" and path.stem != "__init__"]
    assert len(modules) <= MAX_MODULES, sorted(path.name for path in modules)
    for recipe in ("generated", "curated", "released"):
        assert not (suite / recipe).is_dir() or (suite / recipe / "recipe.py").is_file()
    assert (suite / "report" / "sections.py").is_file()


@pytest.mark.parametrize("suite", SUITES, ids=lambda folder: folder.name)
def test_folders_of_a_suite_are_small(suite: Path) -> None:
    for folder in [suite, *(path for path in suite.rglob("*") if path.is_dir() and path.name != "__pycache__")]:
        limit = MAX_FILES_OF_MANY if folder == suite or folder.name in MANY else MAX_FILES
        assert len(_files(folder)) <= limit, folder


def test_simulated_subjects_are_named_in_one_place() -> None:
    places = [path for path in SOURCE.rglob("*.py") if 'startswith("fake:")' in path.read_text("utf-8")]
    assert len(places) == 1, places


BUDGETS: Mapping[str, int] = {
    ".": 270, "analysis": 5660, "cli": 3300, "compute": 750, "core": 4750, "curation": 1700, "datasets": 6900,
    "exam": 3200, "interop": 2900, "presentation": 350, "reports": 3850, "runs": 3200, "scoring": 4300, "stimuli": 3700,
    "subjects": 11650, "suites": 29550, "towers": 920, "web": 4700, "src": 91350, "tests": 71000,
    "commands": 39, "options": 236, "long functions": 8, "long modules": 14, "words of docs": 85000,
}  # fmt: skip
"""The most of each count of `scripts/counts.py`. Whoever raises one says here what the addition replaces.

The last 60 lines of `analysis` (figures of levels, pairs and heat maps) replace four modules of figures in `suites`.
"""


def test_the_project_keeps_its_budgets() -> None:
    counts = runpy.run_path(str(SOURCE.parents[1] / "scripts" / "counts.py"))["counts"]()
    assert counts.keys() == BUDGETS.keys()
    assert {name: count for name, count in counts.items() if count > BUDGETS[name]} == {}
