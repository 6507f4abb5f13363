"""Table files: CSV for programs, Markdown and LaTeX for texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa

from snellen.analysis.grading.coverage import Gap
from snellen.analysis.grading.results import with_python_strings
from snellen.core.storage import files
from snellen.reports.wide_tables import readable
from snellen.reports.words import foreign

LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
        "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
        "–": "--", "−": "$-$", "Δ": r"$\Delta$", "↓": r"$\downarrow$", "↑": r"$\uparrow$", "→": r"$\to$", "²": "$^2$",
        "³": "$^3$", "±": r"$\pm$", "×": r"$\times$", "°": r"$^{\circ}$", "≥": r"$\ge$", "≤": r"$\le$", "µ": r"$\mu$",
    }
)  # fmt: skip
"""Characters that are commands of LaTeX, or that pdfLaTeX does not know, as it writes them."""


def write_results(out: Path, rows: pd.DataFrame) -> None:
    """Write `results.csv` and `results.parquet` with the same rows and columns."""
    files.write_csv(out / "results.csv", rows)
    files.write_table(out / "results.parquet", pa.Table.from_pandas(_one_type(rows), preserve_index=False))


def read_results(out: Path) -> pd.DataFrame:
    """The rows of `results.parquet`."""
    return with_python_strings(files.read_table(out / "results.parquet").to_pandas())


def _one_type(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with columns of mixed types (an axis may have `auto` and 10) as text, as Parquet needs one type."""
    mixed = [
        name for name in rows.columns if rows[name].dtype == object and rows[name].dropna().map(type).nunique() > 1
    ]
    columns = {
        name: pd.Series([None if pd.isna(v) else str(v) for v in rows[name]], index=rows.index, dtype="str")
        for name in mixed
    }
    return rows.assign(**columns)


def write_frame(folder: Path, name: str, table: pd.DataFrame) -> None:
    """Write `name.csv`, `name.md` and `name.tex`; the latter two are transposed if they are wide."""
    files.write_csv(folder / f"{name}.csv", table)
    table = readable(table)
    files.write_text(folder / f"{name}.md", to_markdown(table))
    files.write_text(folder / f"{name}.tex", to_latex(table))


def add_note(folder: Path, prefix: str, note: str) -> None:
    """Add a note below every Markdown and LaTeX table whose name has this prefix; CSV files have no notes."""
    for path in sorted(folder.glob(f"{prefix}-*.md")):
        files.write_text(path, f"{path.read_text('utf-8')}\n{note}\n")
    for path in sorted(folder.glob(f"{prefix}-*.tex")):
        files.write_text(path, f"{path.read_text('utf-8')}\\par{{\\footnotesize {note.translate(LATEX)}}}\n")


def with_unasked(rows: pd.DataFrame, gaps: Mapping[str, Sequence[Gap]]) -> pd.DataFrame:
    """Results with a column `unasked` (items of the row's task and arm that were not asked) if there are gaps.

    `gaps` are by suite.
    """
    missing = Counter[tuple[str, str, str, str]]()
    for suite, of_suite in gaps.items():
        for gap in of_suite:
            missing[suite, gap.subject, gap.condition, gap.task] += gap.missing
    if not missing:
        return rows
    keys = zip(*(rows[name] for name in ("suite", "subject", "condition", "task")), strict=True)
    return rows.assign(unasked=[missing[key] for key in keys])


def to_markdown(table: pd.DataFrame) -> str:
    """The table as a Markdown pipe table."""

    def line(cells: list[str]) -> str:
        escaped = (
            cell.replace("\\", "\\\\").replace("|", r"\|").replace("<", "&lt;").replace("\n", " ").replace("](", r"]\(")
            for cell in cells
        )
        return "| " + " | ".join(escaped) + " |\n"

    head, *rows = _cells(table)
    return line(head) + "|" + " --- |" * len(head) + "\n" + "".join(map(line, rows))


def to_latex(table: pd.DataFrame) -> str:
    """The table as a `tabular` for the package booktabs."""
    head, *rows = (
        " & ".join(cell.replace("\n", " ").translate(LATEX) for cell in cells) + r" \\" for cells in _cells(table)
    )
    columns = "l" + "r" * (len(table.columns) - 1)
    lines = [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        head,
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def format_cell(value: object) -> str:
    """A cell as text: numbers to four digits, empty if missing."""
    if isinstance(value, float):
        return "" if value != value else f"{value:.4g}"
    return "" if value is None or value is pd.NA else foreign(str(value), 400)


def _cells(table: pd.DataFrame) -> list[list[str]]:
    rows = [[format_cell(value) for value in row] for row in table.itertuples(index=False, name=None)]
    return [[format_cell(name) for name in table.columns], *rows]
