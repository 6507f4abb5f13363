"""Items that a run leaves out though no rule does, so that answers may have been chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from snellen.analysis.grading.deciding import turns
from snellen.core.condition import Condition, parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.grouping import lists_by_key
from snellen.core.item import Item
from snellen.core.response import Response
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.runfolder import ArmCard, RunCard, is_person
from snellen.core.suite import Suite, Task, Trial, replayed, with_columns
from snellen.runs.planning.deciding import batches
from snellen.runs.planning.plan import is_asked, select_test_items
from snellen.runs.scores.score import primary_score

MAX_SILENT_ARMS = 100
"""Arms without an answer: each takes time to check."""


def left_out(card: RunCard, items: ItemSet, suite: Suite, responses: Sequence[Response]) -> list[str]:
    """In words, the tasks of which items are missing or declined that no rule leaves out: they may have been chosen.

    People answer a part each. A subject asked until its scores were decided answers the first batches of a fixed order.
    The numbers of items on the card are not believed.
    """
    answers = {(arm.arm_key, task): dict[str, Response]() for arm in card.arms for task in suite.tasks}
    for response in responses:
        answers[response.arm_key, response.task][response.item_id] = response
    silent = sum(not any(answers[arm.arm_key, task] for task in suite.tasks) for arm in card.arms)
    if silent > MAX_SILENT_ARMS:
        raise SnellenError(f"{card.file}: {silent} arms without a record; more than {MAX_SILENT_ARMS} are refused")
    lines = list[str]()
    for (subject, text), repeats in lists_by_key(((a.subject, a.condition), a.repeat) for a in card.arms).items():
        if sorted(repeats) != list(range(len(repeats))):
            lines.append(f"{subject} under {text}: the repeats on the card are not all of them")
    for arm in card.arms:
        written = parse_conditions(suite.axes, arm.condition)[0]
        if is_person(arm):
            continue
        for task in suite.tasks.values():
            given, condition = answers[arm.arm_key, task.id], with_columns(written, arm.columns)
            tested = select_test_items(items.task(task.id), task, condition, card.limit)
            name = f"{arm.subject} under {arm.condition}, {task.id}"
            declined = sum(response.status == "declined" for response in given.values())
            if 0 < declined < len(given):
                lines.append(f"{name}: {declined} items were declined, of which no record shows why")
            if tested and is_asked(written, task) and not _follows_rule(arm, items, task, condition, tested, given):
                lines.append(f"{name}: {len(given)} of {len(tested)} items were asked, not those that its rule asks")
    return lines


def _follows_rule(
    arm: ArmCard, items: ItemSet, task: Task, condition: Condition, tested: Sequence[Item],
    by_item: Mapping[str, Response],
) -> bool:  # fmt: skip
    """True if the items asked about are those of all batches of an arm's rule; of the first ones, if it may stop."""
    trials = [Trial(views) for views in task.method(condition).group([item.view() for item in tested])]
    left, has_schedule = set(by_item), task.schedule is not None and arm.source == "asked"
    for batch in _ruled_batches(arm, items, task, tested, trials, by_item):
        names = {view.item_id for trial in batch for view in trial.views}
        if not names <= left:
            # Those not scored before cannot drop.
            is_unscored = arm.decide == "drop" and task.protocols["strict"].judge is not None
            may_stop = arm.decide in ("none", "drop") and not has_schedule and (bool(by_item) or is_unscored)
            return not left and may_stop
        left -= names
    return not left


def _ruled_batches(
    arm: ArmCard, items: ItemSet, task: Task, tested: Sequence[Item], trials: Sequence[Trial],
    by_item: Mapping[str, Response],
) -> Iterator[Sequence[Trial]]:  # fmt: skip
    """The batches of an arm's rule: those of a task's own schedule depend on the answers."""
    if task.schedule is not None and arm.source == "asked":
        strict = task.protocols["strict"]
        schedule = task.schedule(tested)(trials)
        yield from replayed(schedule, lambda name: primary_score(items.by_id[name], by_item[name], strict))
    elif arm.decide:
        yield from batches(items, task, trials, turns(items, task, arm.max_items), arm.max_items)
    else:
        yield trials
