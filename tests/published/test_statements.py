"""The audit of the four papers: each of its statements has a state, and names code that exists."""

from __future__ import annotations

import ast
import csv
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STATEMENTS = list(csv.DictReader((Path(__file__).parent / "statements.tsv").open(encoding="utf-8"), delimiter="\t"))
STATES = ("as printed", "departure", "not applicable")


@cache
def names_in(module: str) -> frozenset[str]:
    """The names that a module or package of the source defines."""
    path = ROOT / "src" / module.replace(".", "/")
    file = path.with_suffix(".py") if path.with_suffix(".py").is_file() else path / "__init__.py"
    names = set[str]()
    for node in ast.parse(file.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return frozenset(names)


def test_every_statement_of_the_audit_has_a_line() -> None:
    papers = Counter(row["paper"] for row in STATEMENTS)
    assert papers == {"ComBo": 49, "VFM Bench": 45, "AVA-Bench": 80, "VLM²-Bench": 48}
    assert len({(row["paper"], row["section"], row["statement"]) for row in STATEMENTS}) == len(STATEMENTS)


def test_no_departure_is_silent() -> None:
    for row in STATEMENTS:
        assert row["state"] in STATES, row
        assert row["state"] == "as printed" or row["reason"].strip(), row


@pytest.mark.parametrize("row", STATEMENTS, ids=[f"{row['paper']}-{n}" for n, row in enumerate(STATEMENTS, 1)])
def test_each_line_names_code_that_exists(row: dict[str, str]) -> None:
    module, _, name = row["code"].partition(":")
    assert name in names_in(module), row["code"]
