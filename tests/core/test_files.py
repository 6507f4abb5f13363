"""Tables as text that a spreadsheet opens: no cell is a formula."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from snellen.core.files import write_csv
from snellen.core.plain_text import no_formula


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("+1+cmd", "'+1+cmd"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("-0.5", "-0.5"),
        ("+1e-3", "+1e-3"),
        ("-", "-"),
        ("a=b", "a=b"),
        ("", ""),
        (-1.5, -1.5),
        (None, None),
    ],
)
def test_only_a_formula_is_changed(cell: object, written: object) -> None:
    assert no_formula(cell) == written


def test_a_table_is_written_as_it_is_but_for_formulas(tmp_path: Path) -> None:
    rows = [["a", -1.0, 2, None], ["b, c", float("nan"), -3, "x"]]
    table = pd.DataFrame(rows, columns=["text", "number", "count", "text"])
    write_csv(tmp_path / "a.csv", table)
    assert (tmp_path / "a.csv").read_text() == table.to_csv(index=False)
    hostile = pd.DataFrame({"=head": ["=1+1", "fine"], "n": [-1, 2]})
    write_csv(tmp_path / "b.csv", hostile)
    assert (tmp_path / "b.csv").read_text() == "'=head,n\n'=1+1,-1\nfine,2\n"
    assert list(hostile.columns) == ["=head", "n"]
    assert hostile["=head"][0] == "=1+1"
