"""Items that a run leaves out though no rule does, so that answers may have been chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from snellen.analysis.grading.coverage import gaps
from snellen.analysis.grading.deciding import turns
from snellen.core.condition import parse_conditions
from snellen.core.item import Item
from snellen.core.response import Response
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.runfolder import ArmCard, RunCard, kind_by_name
from snellen.core.suite import Suite, Task, Trial, settle
from snellen.runs.asking.replay import card_of
from snellen.runs.planning.deciding import batches
from snellen.runs.planning.plan import select_test_items
from snellen.runs.scores.score import primary_score


def left_out(card: RunCard, items: ItemSet, suite: Suite, responses: Sequence[Response]) -> list[str]:
    """In words, the tasks of which items are missing or declined that no rule leaves out: they may have been chosen.

    People answer a part each. A subject asked until its scores were decided answers the first batches of a fixed order.
    """
    answers = {(arm.arm_key, task): dict[str, Response]() for arm in card.arms for task in suite.tasks}
    for response in responses:
        answers[response.arm_key, response.task][response.item_id] = response
    arms = [arm for arm in card.arms if kind_by_name(arm.subject).get("role") != "person"]
    lines = [
        f"{gap.subject} under {gap.condition}: {gap.missing} of the {gap.items} items of {gap.task} were not asked, "
        "and the card states no rule for stopping"
        for gap in gaps([arm for arm in arms if arm.decide not in ("none", "look")], responses)
    ]
    for arm in arms:
        for task, given in ((task, answers[arm.arm_key, task.id]) for task in suite.tasks.values()):
            name = f"{arm.subject} under {arm.condition}, {task.id}"
            declined = sum(response.status == "declined" for response in given.values())
            if 0 < declined < len(given):
                lines.append(f"{name}: {declined} items were declined, of which no record shows why")
            has_rule = arm.source == "asked" and (task.schedule is not None or arm.decide in ("none", "look"))
            if given and has_rule and not _follows_rule(arm, items, suite, task, given):
                lines.append(f"{name}: the items asked are not those that come first by its rule")
    return lines


def _follows_rule(arm: ArmCard, items: ItemSet, suite: Suite, task: Task, by_item: Mapping[str, Response]) -> bool:
    """True if the items asked about are those of all batches of an arm's rule; of the first ones, if it may stop."""
    condition = settle(parse_conditions(suite.axes, arm.condition)[0], suite, card_of(arm))
    tested = select_test_items(items.task(task.id), task, condition, arm.test_items.get(task.id))
    trials = [Trial(views) for views in task.method(condition).group([item.view() for item in tested])]
    left = set(by_item)
    for batch in _ruled_batches(arm, items, task, tested, trials, by_item):
        names = {view.item_id for trial in batch for view in trial.views}
        if not names <= left:
            return not left and arm.decide == "none" and task.schedule is None
        left -= names
    return not left


def _ruled_batches(
    arm: ArmCard, items: ItemSet, task: Task, tested: Sequence[Item], trials: Sequence[Trial],
    by_item: Mapping[str, Response],
) -> Iterator[tuple[Trial, ...]]:  # fmt: skip
    """The batches of an arm's rule: those of a task's own schedule depend on the answers."""
    if task.schedule is None:
        yield from batches(items, task, trials, turns(items, task, arm.max_items), arm.max_items)
        return
    schedule, strict = task.schedule(tested)(trials), task.protocols["strict"]
    with suppress(StopIteration):
        batch = next(schedule)
        while True:
            yield batch
            names = [view.item_id for trial in batch for view in trial.views]
            batch = schedule.send({name: primary_score(items.by_id[name], by_item[name], strict) for name in names})
