"""Items as training examples of a head to be trained."""

from __future__ import annotations

from collections.abc import Sequence

from snellen.core.condition import Condition, parse_conditions
from snellen.core.item import Item
from snellen.core.prompt import Prompt
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import SubjectCard, TrainingExample
from snellen.core.suite import Suite, Task, ViewContext, settle
from snellen.runs.asking.failures import without_faults
from snellen.runs.asking.views import lay_out_montages, show_items, training_example

LEARNER = SubjectCard("head:new", fitted=True)
"""Card of a head to be trained, for settling `auto`."""


def learner_condition(suite: Suite, written: str = "vanilla") -> Condition:
    """The written condition, settled for a head to be trained."""
    (condition,) = parse_conditions(suite.axes, written)
    return settle(condition, suite, LEARNER)


def solved_examples(
    items: Sequence[Item],
    task: Task,
    condition: Condition,
    task_items: Sequence[Item],
    media: MediaFolder,
    seed: int = 0,
    faults: dict[str, str] | None = None,
) -> list[TrainingExample]:
    """Items of a task as training examples under a settled condition; new images are stored in `media`.

    `task_items` are all items of the task, from which transforms may draw. `faults` is as in `show_items`.
    """
    views = show_items(items, ViewContext(condition, task_items, {}), task, seed, media, faults)
    method = task.method(condition)

    def as_sent(prompt: Prompt) -> Prompt:
        return lay_out_montages(prompt, media)

    def solve(item: Item) -> TrainingExample:
        return training_example(views[item.item_id], item.answer, method, as_sent)

    return [*without_faults(solve, {item.item_id: item for item in items if item.item_id in views}, faults).values()]
