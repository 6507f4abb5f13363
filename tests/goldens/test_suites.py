"""What every suite declares equals its golden: axes, tasks, metrics, printed tables, thresholds' measures, settings."""

from __future__ import annotations

from typing import Any

import pytest

from snellen.core.score import Metric
from snellen.core.suite import Task
from snellen.suites import SUITES
from snellen.suites.thresholds.measures import MEASURES
from tests.goldens.descriptions import line
from tests.goldens.golden import assert_golden

FUNCTIONS = ("boxes_only", "colour_only", "question_for_people", "schedule", "read_verdict", "agrees", "judge")
"""Functions that a task or a protocol may lack."""


def present(declared: Any) -> list[str]:
    return [name for name in FUNCTIONS if getattr(declared, name, None) is not None]


def task_lines(task: Task) -> list[str]:
    """A task with its protocols and metrics."""
    names = ("id", "kind", "axes", "train_split", "split_by", "boxes", "without_boxes", "cheap_sight")
    lines = [line([*(getattr(task, name) for name in names), present(task)])]
    for name, protocol in task.protocols.items():
        plain = protocol.name, protocol.unreadable, protocol.threshold, protocol.tolerance, present(protocol)
        lines.append(f"  {name}: {line(plain)} {line([metric_fields(metric) for metric in protocol.metrics])}")
    return lines


def metric_fields(metric: Metric) -> list[Any]:
    plain = ("name", "worst", "higher_is_better", "summary", "share", "decimals", "binary", "bounds", "title", "remark")
    return [*(getattr(metric, name) for name in plain), metric.unit, metric.estimate is not None]


@pytest.mark.parametrize("name", [name for name in SUITES if name != "questions"])
def test_declarations_equal_their_golden(name: str) -> None:
    suite = SUITES.get(name)
    lines = [line(axis) for axis in suite.axes] + [text for task in suite.tasks.values() for text in task_lines(task)]
    lines += [
        f"recipe {recipe}: {line(getattr(suite.recipes[recipe], 'settings', {}))}"
        for recipe in suite.recipes
        if recipe != "curated"
    ]
    for table in suite.published() if suite.published else ():
        lines += [
            f"{table.name} {line([table.title, table.columns, table.people, table.chance, table.more, table.note])}"
        ]
        lines += [line([table.ranks, table.rank_average, table.has_mean]), *map(line, table.rows.items())]
    if name == "thresholds":
        lines += [line({**vars(measure), "draw": ""}) for measure in MEASURES.values()]
    assert_golden(f"suites/{name}-declarations.txt", "\n".join(lines) + "\n")
