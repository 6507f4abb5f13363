"""Items as who is about to be trained is shown them, with the replies that are right."""

from __future__ import annotations

from collections.abc import Sequence

from snellen.core.condition import Condition, parse_conditions
from snellen.core.item import Item
from snellen.core.prompt import Prompt
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import SubjectCard, TrainingExample
from snellen.core.suite import Suite, Task, ViewContext, settle
from snellen.runs.views import lay_out_montages, show_items, training_example

LEARNER = SubjectCard("head:new")
"""Who is trained: suites settle `auto` by the kind of subject."""


def learner_condition(suite: Suite, written: str = "vanilla") -> Condition:
    """A condition as it is written, settled for who is trained."""
    (point,) = parse_conditions(suite.axes, written)
    return settle(point, suite, LEARNER)


def solved_examples(
    items: Sequence[Item],
    task: Task,
    condition: Condition,
    task_items: Sequence[Item],
    media: MediaFolder,
    seed: int = 0,
) -> list[TrainingExample]:
    """Items of a task as shown under a settled condition, solved; images made go to `media`.

    `task_items` are all of the task, which items are shown among.
    """
    views = show_items(items, ViewContext(condition, task_items, {}), task, seed, media)
    method = task.method(condition)

    def as_sent(prompt: Prompt) -> Prompt:
        return lay_out_montages(prompt, media)

    return [training_example(views[item.item_id], item.answer, method, as_sent) for item in items]
