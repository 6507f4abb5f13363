"""What every suite declares equals its golden: axes, tasks, metrics, printed tables, thresholds' measures, settings."""

from __future__ import annotations

import pytest

from snellen.suites import SUITES
from snellen.suites.thresholds.measures import MEASURES
from tests.goldens.descriptions import line, task_lines
from tests.goldens.golden import assert_golden


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
