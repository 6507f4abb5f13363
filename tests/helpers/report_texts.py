"""Reports as text, to be compared with goldens."""

from __future__ import annotations

import io
import re

from rich.console import Console

from snellen import __version__
from snellen.reports import Report, print_table
from tests.goldens.house import page_text
from tests.reports.exam import suite_of


def report_text(report: Report) -> str:
    """The words of all pages, every table, what to cite, and what a terminal shows."""
    console = Console(file=io.StringIO(), width=160)
    console.print(print_table(report.results, suite_of=suite_of, can_grow=True))
    texts = ["".join(map(page_text, report.pages)), console.file.getvalue()]  # type: ignore[attr-defined]
    for pattern in (
        "tables/*.csv",
        "tables/*.tex",
        "tables/more/*.csv",
        "tables/more/*main.md",
        "tables/more/*main.tex",
    ):
        texts += [f"== {path.name}\n{path.read_text('utf-8')}" for path in sorted(report.root.glob(pattern))]
    texts.append(re.sub(r"version = \{.*\}", "version = {VERSION}", (report.root / "citation.bib").read_text("utf-8")))
    lines = (line.rstrip() for text in texts for line in text.split("\n"))
    return rounded("\n".join(lines))


def rounded(text: str) -> str:
    """The text without the version, and with few digits after a point: further ones depend on the processor."""
    text = text.replace(f"Snellen {__version__}", "Snellen VERSION")
    return re.sub(r"-?\d+\.\d{10,}(?:e-\d+)?", lambda match: f"{round(float(match[0]), 9):g}", text)
