"""The tests detect small changes of the code that scores, analyses and asks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers.mutants import AREAS, ROOT, SAMPLE, copy_of_the_tree, mutants_of, sample, source_of, survives

PAGE = ROOT / "design" / "mutants.md"
PARTS = 4
"""Parts of the sample, so that none takes over five minutes."""


def listed() -> set[str]:
    """The survivors that the page explains."""
    return set(re.findall(r"^- `(src/snellen/.+?)`:\s", PAGE.read_text("utf-8"), re.MULTILINE))


def test_each_mutant_changes_one_place(tmp_path: Path) -> None:
    """Of `a < b and not c`: the comparison, the `and`, the `not`; 1 once; the return once. Annotations stay."""
    path = tmp_path / "module.py"
    path.write_text("def f(a: int, b: int, c: bool) -> bool:\n    return a < b + 1 and not c\n")
    changes = {mutant.name.partition(": ")[2] for mutant in mutants_of(path, tmp_path)}
    assert changes == {
        "a < b + 1 -> a <= b + 1", "b + 1 -> b - 1", "1 -> 2", "not c -> c",
        "a < b + 1 and (not c) -> a < b + 1 or not c", "return a < b + 1 and (not c) -> return None",
    }  # fmt: skip
    sources = {source_of(mutant, tmp_path) for mutant in mutants_of(path, tmp_path)}
    assert len(sources) == len(changes), "every mutant differs"
    assert "def f(a: int, b: int, c: bool) -> bool:\n    return a < b + 2 and (not c)" in sources


def test_equal_expressions_are_distinguished(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text("x = 1\ny = 1\n")
    first, second = mutants_of(path, tmp_path)
    assert (first.name, second.name) == ("module.py module: 1 -> 2", "module.py module: 1 -> 2 (2)")
    assert (source_of(first, tmp_path), source_of(second, tmp_path)) == ("x = 2\ny = 1", "x = 1\ny = 2")


def test_the_page_names_mutants_of_the_areas() -> None:
    assert listed()
    assert all(name.startswith(tuple(f"src/snellen/{area}/" for area in AREAS)) for name in listed())


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_survivors_are_those_of_the_page(part: int, tmp_path: Path) -> None:
    tree = copy_of_the_tree(tmp_path)
    survivors = {mutant.name for mutant in sample(ROOT, SAMPLE)[part::PARTS] if survives(mutant, tree)}
    assert survivors <= listed(), "kill each by a meaningful test, or explain it in design/mutants.md"
