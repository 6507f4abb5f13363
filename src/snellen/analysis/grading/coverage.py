"""Coverage of a run: a report on a run that did not ask everything states what is missing, or why it stopped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from snellen.analysis.grading.results import SEQUENTIAL
from snellen.analysis.grading.rows import ResultRow
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


def stopping_note(whole_tasks: Iterable[ResultRow], arms: Sequence[ArmCard]) -> str:
    """How many tasks that were asked until decided are so, and why the others are not; empty if there are none.

    `whole_tasks` are results without factors.
    """
    rows = list(whole_tasks)
    asked, looked_at = [row for row in rows if row.interval == SEQUENTIAL], _looks_note(rows)
    limits = [arm.max_items for arm in arms if arm.decide not in ("", "drop")]
    if not asked or not limits:
        return looked_at
    counts = [row.items for row in asked if row.grade.is_decided]
    number = f"{len(counts)} of {len(asked)} {'is' if len(counts) == 1 else 'are'} decided"
    if counts:
        number += f", after {sum(counts) / len(counts):.0f} items on average"
    if undecided := Counter(row.grade.label for row in asked if not row.grade.is_decided):
        number += f"; undecided: {', '.join(f'{count} {state}' for state, count in undecided.most_common())}"
    rule = f"Each task was asked until its score was decided, {max(limits)} items at most"
    sequences = f"{rule}: {number}. Intervals are 95 % confidence sequences, which hold whenever asking ends."
    return " ".join(filter(None, (looked_at, sequences)))


def _looks_note(whole_tasks: Sequence[ResultRow]) -> str:
    """At which planned look the tasks of encoders and simulated subjects are; empty if none is planned."""
    looks = Counter(row.interval.rpartition("; ")[2] for row in whole_tasks if "; look " in row.interval)
    if not looks:
        return ""
    counts = ", ".join(f"{count} at {look}" for look, count in sorted(looks.items()))
    return (
        f"Scores of encoders and simulated subjects at planned looks: {counts}. The intervals of all looks at a score "
        "hold together with 95 %."
    )


def gaps(arms: Sequence[ArmCard], responses: Iterable[Response]) -> list[Gap]:
    """Incomplete tasks in the order of arms and tasks; none if the card does not record the number of items."""
    counts = Counter((*response.arm_key, response.task) for response in responses)
    items, missing = Counter[tuple[str, str, str]](), Counter[tuple[str, str, str]]()
    for arm in arms:
        for task, count in arm.test_items.items():
            items[arm.subject, arm.condition, task] += count
            missing[arm.subject, arm.condition, task] += count - counts[*arm.arm_key, task]
    return [Gap(*place, missing[place], count) for place, count in items.items() if missing[place] > 0]
