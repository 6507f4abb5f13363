"""The item set of a run: its questions by task and by format of the answer, as in Figure 4."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

from snellen.analysis.pivot import table_section
from snellen.analysis.section import ReportSection, Run
from snellen.suites.vlm2_bench.report import figures
from snellen.suites.vlm2_bench.tasks import TASKS

FORMATS = {"true_false": "true or false", "integer": "number", "choice": "choice", "description": "description"}


def set_statistics(run: Run) -> Iterator[ReportSection]:
    """Test questions by task, and the share of each format of answer."""
    counts = Counter(item.task for item in run.items.items if item.split == "test")
    by_task = [(task, counts[task]) for task in TASKS if counts[task]]
    by_kind = Counter[str]()
    for task, count in by_task:
        by_kind[TASKS[task].kind] += count
    by_format = [(name, by_kind[kind]) for kind, name in FORMATS.items() if by_kind[kind]]
    total = sum(count for _, count in by_task)
    lines = [
        [figures.FAMILIES[task[:2]], task, FORMATS[TASKS[task].kind], count, f"{100 * count / total:.1f}"]
        for task, count in by_task
    ]
    shares = ", ".join(f"{100 * count / total:.1f} % {name}" for name, count in by_format)
    note = (
        f"{total:,} test questions of this item set by task; a statement that is true or false is one question, so a "
        f"pair is two. By format of the answer: {shares}."
    )
    names = ["cues", "task", "format", "questions", "percent"]
    title, figure = "The item set: tasks and formats (Figure 4)", partial(figures.set_statistics, by_task, by_format)
    yield from table_section(title, note, names, lines, "set-statistics", figure, detail=True)
