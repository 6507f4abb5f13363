"""Subjects that look at nothing are never told better than chance, in no suite.

Each attacker of `analysis.blind` is fitted on other items and asked like any subject. What it gets is compared with
chance and with the blind score that stands beside the set, which was measured on other items again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from scipy.stats import binom

from snellen.analysis.blind.measure import ATTACKS, main_metric
from snellen.analysis.run_view import lines_of
from snellen.core.item import Item
from snellen.core.storage.itemset import ItemSet
from snellen.core.subject import SubjectCard
from snellen.exam.items import with_blind
from snellen.exam.run import run
from snellen.reports.rows import metric_in, standing, subgroups, whole_tasks
from snellen.runs.blind import blind_card
from snellen.subjects.fakes.simple import Scripted
from snellen.suites import SUITES
from tests.helpers.sets import undrawn_set

SEEDS, LESSON_SEED, TEST_ITEMS = (0, 1, 2), 10, 100
MISSES = 0.025
"""How often a 95 % interval lies above what it should cover."""


@dataclass(frozen=True)
class Count:
    """Rows that stand above chance and blind, among all that could."""

    above: tuple[str, ...]
    rows: int


def _subjects(items: ItemSet, lessons: Sequence[Item]) -> list[Scripted]:
    """A subject an attack: it has learnt from training items, or from those of another seed where a task has none."""
    suite = SUITES.get(items.card.suite)
    scripts: dict[str, dict[str, str]] = {attack.name: {} for attack in ATTACKS}
    for task in suite.tasks.values():
        test = [item for item in items.task(task.id) if item.split == "test"]
        train = [item for item in items.task(task.id) if item.split == "train"]
        train = train or [item for item in lessons if item.task == task.id]
        if not test or task.protocols["strict"].judge is not None:
            continue
        for attack in ATTACKS:
            answers = attack.fit(train, main_metric(task))(test)
            scripts[attack.name] |= {
                item.item_id: "" if answer is None else item.view().reply.write(answer)
                for item, answer in zip(test, answers, strict=True)
            }
    return [
        Scripted(SubjectCard(f"attack {name}", {"script": name}, reads="views"), script | {"*": ""})
        for name, script in scripts.items()
    ]


def _count(suite_name: str, seed: int, folder: Path, root: Path) -> tuple[Count, Count]:
    """Of whole tasks, and of their parts."""
    suite = SUITES.get(suite_name)
    items = undrawn_set(suite, folder, seed=seed, test_items=TEST_ITEMS)
    taught = {item.task for item in items.items if item.split == "train"}
    has_lessons = all(item.task in taught for item in items.items)
    lessons = () if has_lessons else undrawn_set(suite, folder, seed=LESSON_SEED, test_items=TEST_ITEMS).items
    items = with_blind(items, blind_card(items, suite))
    results = run(items, _subjects(items, lessons), root, show_progress=False).results()
    results = results[results["protocol"] == "strict"]
    counts = []
    for rows in (whole_tasks(results), subgroups(results)):
        verdicts = {
            f"{row.subject}, {row.task} {row.metric} {row.factor} {row.level}: {row.value:.3f} [{row.low:.3f}, "
            f"{row.high:.3f}], blind {row.blind:.3f}, chance {row.chance:.3f}": standing(row, metric_in(suite, row))
            for row in lines_of(rows[rows["value"].notna()])
        }
        counts.append(Count(tuple(row for row, verdict in verdicts.items() if verdict == "above"), len(verdicts)))
    return counts[0], counts[1]


@pytest.mark.slow
@pytest.mark.parametrize("suite_name", ["combo", "vlm2-bench", "vfm-bench", "ava-bench"])
def test_who_looks_at_nothing_is_not_above(suite_name: str, sets_folder: Path, tmp_path: Path) -> None:
    whole, parts = (
        list(counts)
        for counts in zip(*(_count(suite_name, seed, sets_folder, tmp_path / str(seed)) for seed in SEEDS), strict=True)
    )
    for counts in (whole, parts):
        above = [row for count in counts for row in count.above]
        total = sum(count.rows for count in counts)
        print(f"{suite_name}: {len(above)} of {total} above", *above, sep="\n  ")
        # As many may lie above by luck as intervals of 95 % allow.
        assert len(above) <= binom.isf(1e-3, total, MISSES), above
