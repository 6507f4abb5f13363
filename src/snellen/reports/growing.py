"""Reports that are written again while further runs are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from snellen.analysis.tables.section import Run
from snellen.core.storage import files
from snellen.reports.loading import SuiteOf, load_runs
from snellen.reports.page import render_placeholder
from snellen.reports.stamp import begin


@dataclass
class GrowingReport:
    """What is kept until a report is written again: runs by folder, contents of pages by name.

    `waiting` names the suites whose results follow; until there are none, the report is not complete.
    """

    waiting: Sequence[str] = ()
    runs: dict[Path, Run] = field(default_factory=dict)
    contents: dict[str, dict[str, Any]] = field(default_factory=dict)

    def load(self, runs: Sequence[Path], suite_of: SuiteOf, workers: int) -> list[Run]:
        """The runs, of which only new ones are read."""
        new = [root for root in runs if root not in self.runs]
        self.runs.update(zip(new, load_runs(new, suite_of, workers), strict=True))
        return [self.runs[root] for root in runs]

    def content(self, name: str, run: Run, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The content of a page, made if it is not known of this run."""
        if name not in self.contents or self.contents[name]["run"] is not run:
            self.contents[name] = make()
        return self.contents[name]


def write_placeholder(out: Path, waiting: Sequence[str]) -> None:
    """Write a page that names the suites whose results follow, unless there is a report in the folder."""
    if not (out / "index.html").exists():
        begin(out)
        files.write_text(out / "index.html", render_placeholder(waiting))
