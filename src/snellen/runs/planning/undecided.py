"""Which tasks of a run are undecided after all drawn items, so that its set must grow (`exam.instalments`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from snellen.analysis.grading.deciding import sampled
from snellen.core.grouping import lists_by_key
from snellen.core.response import Response
from snellen.core.suite import settle
from snellen.runs.planning.plan import Arm, Plan
from snellen.runs.scores.score import primary_score


def is_undecided(plan: Plan, responses: Sequence[Response]) -> bool:
    """True if a set in instalments can grow, and that may decide a task of an arm.

    It may not if the task's main score has no confidence sequence, or if not even all drawn items were asked: then the
    subject failed too often.
    """
    return bool(plan.items.card.instalments_left) and next(undecided_tasks(plan, responses), None) is not None


def undecided_tasks(plan: Plan, responses: Sequence[Response]) -> Iterator[tuple[Arm, str, float]]:
    """The arms and tasks that are undecided after all drawn items, of which there are fewer than `max_items`.

    The third is about how many times as many items decide them.
    """
    by_task = lists_by_key(((*response.arm_key, response.task), response) for response in responses)
    for arm in plan.arms:
        if not arm.decide or arm.is_recorded:
            continue
        decider = plan.decider
        axes = settle(arm.condition, plan.suite, arm.subject.card).columns()
        for task in plan.suite.tasks.values():
            of_task = by_task.get((*arm.arm_key, task.id), [])
            chosen = sampled(plan.items, task, plan.max_items)
            if (
                task.schedule is not None
                or not of_task
                or len(chosen) >= plan.max_items
                or not chosen <= {one.item_id for one in of_task}
            ):
                continue
            strict, by_id = task.protocols["strict"], plan.items.by_id
            values = {one.item_id: primary_score(by_id[one.item_id], one, strict) for one in of_task}
            is_fitted = any(one.fingerprint != arm.subject.card.fingerprint() for one in of_task)
            if growth := decider.growth_needed(task, values, axes, is_fitted, arm.decide == "look"):
                yield arm, task.id, growth
