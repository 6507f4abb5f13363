"""The table and the figure for a paper: what is in their cells, and that LaTeX compiles the table."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from snellen.reports.export import LATEX
from snellen.reports.writing import Report

COMPILERS = {"pdflatex": ["-interaction=nonstopmode", "-halt-on-error"], "tectonic": list[str]()}


def table(report: Report) -> str:
    return (report.root / "tables" / "paper.tex").read_text("utf-8")


def test_cells_are_numbers_with_half_of_their_interval_and_a_mark(report: Report) -> None:
    head, *rows = [line for line in table(report).splitlines() if " & " in line]
    rows_of_tasks = {row.partition(" & ")[0]: row.split(" & ")[1:] for row in rows}
    results = report.results
    whole = results[(results["factor"].fillna("") == "") & (results["protocol"] == "strict") & results["n"].gt(0)]
    names = head.removesuffix(r" \\").split(" & ")[1:]
    cells = rows_of_tasks["naming"]
    for name, cell in zip(names, cells, strict=True):
        row = whole[whole["subject"].str.endswith(name) & (whole["task"] == "naming")].iloc[0]
        half = f"{100 * (row.high - row.low) / 2:.0f}"
        assert cell.startswith(rf"\num{{{100 * row.value:.0f} +- {half}}}")
        assert (r"\bullet" in cell, r"\circ" in cell) == (row.grade not in ("", "none"), row.grade == "none")
    assert all(
        word in table(report) for word in (r"\label{tab:snellen}", r"\caption{", "% \\usepackage{booktabs,siunitx}")
    )


def test_the_page_names_them_where_it_says_what_to_cite(report: Report) -> None:
    _, _, section = report.page.read_text("utf-8").partition('id="cite"')
    assert 'href="tables/paper.tex"' in section
    assert 'href="figures/paper.pdf"' in section


def test_no_character_of_ours_stops_pdflatex(report: Report) -> None:
    assert "error ↓ (ΔE²) ≥ 5 ± 1".translate(LATEX).isascii()
    assert table(report).isascii()


@pytest.mark.slow
def test_it_compiles(report: Report, tmp_path: Path) -> None:
    compiler = next((name for name in COMPILERS if shutil.which(name)), None)
    if compiler is None:
        pytest.skip("needs pdflatex or tectonic")
    packages = r"\usepackage{booktabs,siunitx}"
    document = rf"\documentclass{{article}}{packages}\begin{{document}}{table(report)}\end{{document}}"
    (tmp_path / "paper.tex").write_text(document, "utf-8")
    run = subprocess.run([compiler, *COMPILERS[compiler], "paper.tex"], cwd=tmp_path, capture_output=True, text=True)
    assert (tmp_path / "paper.pdf").is_file(), run.stdout
