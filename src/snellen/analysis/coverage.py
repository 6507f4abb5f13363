"""Coverage of a run: a report on a run that did not ask everything states what is missing, or why it stopped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from snellen.analysis.grades import TOO_FEW
from snellen.analysis.results import SEQUENTIAL
from snellen.core.response import Response
from snellen.core.storage.runfolder import ArmCard


@dataclass(frozen=True)
class Gap:
    """A task that a subject was not asked completely under a condition: `missing` of `items`, counting repeats."""

    subject: str
    condition: str
    task: str
    missing: int
    items: int


def partial_note(shortfalls: Sequence[Gap]) -> str:
    """The note for every table of an incomplete run; empty for a complete one."""
    if not shortfalls:
        return ""
    by_arm: dict[str, list[str]] = {}
    for gap in shortfalls:
        name = gap.subject if gap.condition == "vanilla" else f"{gap.subject} [{gap.condition}]"
        by_arm.setdefault(name, []).append(f"{gap.task} {gap.items - gap.missing} of {gap.items}")
    arms = "; ".join(f"{name}: {', '.join(tasks)}" for name, tasks in by_arm.items())
    return f"Partial: not all items were asked, and numbers are of those that were ({arms})."


def stopping_note(rows: Iterable[Any], arms: Sequence[ArmCard]) -> str:
    """Why not all items were asked of tasks that were asked until decided; empty if there are none.

    `rows` are results of whole tasks.
    """
    asked = [row for row in rows if row.interval == SEQUENTIAL]
    questions = {arm.decide: arm.max_items for arm in arms if arm.decide in ("none", "grade")}
    if not asked or not questions:
        return ""
    question = "whether its grade is none" if "none" in questions else "its grade"
    decided = [row.items for row in asked if row.state != TOO_FEW]
    number = f"{len(decided)} of {len(asked)} are decided"
    if decided:
        number += f", after {sum(decided) / len(decided):.0f} items on average"
    if len(decided) < len(asked):
        number += f"; the others have no items left, or reached the limit of {max(questions.values())}"
    intervals = "Intervals are 95 % confidence sequences, which hold whenever asking ends."
    return f"Each task was asked until it was decided {question}: {number}. {intervals}"


def gaps(arms: Sequence[ArmCard], responses: Iterable[Response]) -> list[Gap]:
    """Incomplete tasks in the order of arms and tasks; none if the card does not record the number of items."""
    counts = Counter((r.subject, r.condition, r.repeat, r.task) for r in responses)
    items, missing = Counter[tuple[str, str, str]](), Counter[tuple[str, str, str]]()
    for arm in arms:
        for task, count in arm.test_items.items():
            items[arm.subject, arm.condition, task] += count
            missing[arm.subject, arm.condition, task] += count - counts[arm.subject, arm.condition, arm.repeat, task]
    return [Gap(*place, missing[place], count) for place, count in items.items() if missing[place] > 0]
