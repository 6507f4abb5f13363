"""Subjects that see no image are reported as better than chance in no suite.

Each attacker of `analysis.blind` is fitted on other items and asked like any subject. Its score is compared with
chance and with the blind score stored with the set, which was measured on further items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from scipy.stats import binom

from snellen.analysis.blind.measure import ATTACKS, main_metric
from snellen.analysis.grading.grades import GRADES
from snellen.analysis.grading.rows import rows_of
from snellen.core.item import Item
from snellen.core.storage.itemset import ItemSet
from snellen.core.subject import SubjectCard
from snellen.exam.items import with_blind
from snellen.exam.run import run
from snellen.reports.rows import subgroups, whole_tasks
from snellen.runs.scores.blind import blind_card
from snellen.subjects.fakes.simple import Scripted
from snellen.suites import SUITES
from tests.helpers.sets import undrawn_set

SEEDS, EXAMPLE_SEED, TEST_ITEMS = (0, 1, 2), 10, 100
MISSES = 0.025
"""The rate at which a 95 % interval is above the value that it should cover."""


@dataclass(frozen=True)
class Count:
    """Rows above chance and blind, and the number of all rows that could be."""

    above: tuple[str, ...]
    rows: int


def _subjects(items: ItemSet, examples: Sequence[Item]) -> list[Scripted]:
    """One subject per attack, fitted on training items, or on those of another seed if a task has none."""
    suite = SUITES.get(items.card.suite)
    scripts: dict[str, dict[str, str]] = {attack.name: {} for attack in ATTACKS}
    for task in suite.tasks.values():
        test = [item for item in items.task(task.id) if item.split == "test"]
        train = [item for item in items.task(task.id) if item.split == "train"]
        train = train or [item for item in examples if item.task == task.id]
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
    """Counts for whole tasks, and for their parts."""
    suite = SUITES.get(suite_name)
    items = undrawn_set(suite, folder, seed=seed, test_items=TEST_ITEMS)
    trained_tasks = {item.task for item in items.items if item.split == "train"}
    has_examples = all(item.task in trained_tasks for item in items.items)
    examples = () if has_examples else undrawn_set(suite, folder, seed=EXAMPLE_SEED, test_items=TEST_ITEMS).items
    items = with_blind(items, blind_card(items, suite))
    results = run(items, _subjects(items, examples), root, show_progress=False).all_results()
    results = results[results["protocol"] == "strict"]
    counts = []
    for rows in (whole_tasks(results), subgroups(results)):
        verdicts = {
            f"{row.subject}, {row.task} {row.metric} {row.factor} {row.level}: {row.value:.3f} [{row.low:.3f}, "
            f"{row.high:.3f}], blind {row.blind:.3f}, chance {row.chance:.3f}": row.grade.label
            for row in rows_of(rows[rows["value"].notna()])
        }
        counts.append(Count(tuple(row for row, verdict in verdicts.items() if verdict in GRADES[1:]), len(verdicts)))
    return counts[0], counts[1]


@pytest.mark.slow
@pytest.mark.parametrize("suite_name", ["combo", "vlm2-bench", "vfm-bench", "ava-bench"])
def test_blind_subjects_are_not_above_chance(suite_name: str, sets_folder: Path, tmp_path: Path) -> None:
    whole, parts = (
        list(counts)
        for counts in zip(*(_count(suite_name, seed, sets_folder, tmp_path / str(seed)) for seed in SEEDS), strict=True)
    )
    for counts in (whole, parts):
        above = [row for count in counts for row in count.above]
        total = sum(count.rows for count in counts)
        print(f"{suite_name}: {len(above)} of {total} above", *above, sep="\n  ")
        # As many may be above by luck as 95 % intervals allow.
        assert len(above) <= binom.isf(1e-3, total, MISSES), above
