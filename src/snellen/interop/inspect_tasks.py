"""Item sets as tasks of Inspect AI: `inspect eval snellen/combo_category_building`, found by its entry point.

Tasks and scorers: https://inspect.aisi.org.uk/tasks.html, https://inspect.aisi.org.uk/extensions.html
"""

from __future__ import annotations

import re
from collections.abc import Callable

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, Content, ContentImage, ContentText
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState, generate

from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.home import home
from snellen.exam import find_items
from snellen.interop.questions import Question, Selection, select_questions
from snellen.suites import SUITES


def inspect_task(suite_task: str, itemset: str = "", condition: str = "vanilla") -> Task:
    """The questions of `SUITE/TASK` as samples, in the words of our presenters, scored by our parser and metric.

    `itemset` is a folder, or empty for the suite's generated set. Raises SnellenError where every item of the task is
    asked together with others or in several calls.
    """
    suite_name, task_id = suite_task.split("/")
    items, suite = find_items(itemset or suite_name), SUITES.get(suite_name)
    (point, *others) = parse_conditions(suite.axes, condition)
    folder = home() / "inspect" / items.card.content_hash[:16]
    selection = select_questions(items, suite, point, folder)
    questions = [question for question in selection.questions if question.item.task == task_id]
    if others or not questions:
        reasons = "; ".join(f"{n} {why}" for (name, why), n in selection.left_out.items() if name == task_id)
        raise SnellenError(f"{suite_task}: no question of its own under {condition}: {reasons or 'several conditions'}")
    samples = [_sample(question, selection) for question in questions]
    by_id = {question.item.item_id: question for question in questions}
    return Task(dataset=MemoryDataset(samples, name=suite_task), solver=generate(), scorer=protocol_scorer(by_id))


def _sample(question: Question, selection: Selection) -> Sample:
    content: list[Content] = [
        ContentText(text=part) if isinstance(part, str) else ContentImage(image=str(selection.media.find(part)))
        for part in question.parts
    ]
    metadata = {"metric": question.metric, "group_id": question.item.group_id, **question.item.factors}
    return Sample([ChatMessageUser(content=content)], target=question.key, id=question.item.item_id, metadata=metadata)


@scorer(metrics=[mean(), stderr()])  # type: ignore[untyped-decorator]  # not followed, for its size (pyproject)
def protocol_scorer(by_id: dict[str, Question]) -> Scorer:
    """The main metric of the protocol `strict`; the one parser reads, and `outcome` says whether it could."""

    async def score(state: TaskState, target: Target) -> Score:
        reply = state.output.completion
        outcome, value = by_id[str(state.sample_id)].score(reply)
        return Score(value=value, answer=reply, metadata={"outcome": outcome})

    return score


def _register(suite_task: str) -> Callable[..., Task]:
    def build(itemset: str = "", condition: str | list[str] = "vanilla") -> Task:
        # `-T` makes a list of what has commas
        return inspect_task(suite_task, itemset, condition if isinstance(condition, str) else ",".join(condition))

    register: Callable[[Callable[..., Task]], Callable[..., Task]] = task(name=re.sub(r"\W", "_", suite_task))
    return register(build)


TASKS = {
    f"{suite_name}/{task_id}": _register(f"{suite_name}/{task_id}")
    for suite_name in SUITES
    if suite_name != "curation-steps"
    for task_id in SUITES.get(suite_name).tasks
}
"""Every task of every benchmark, as Inspect calls it: `combo_category_building`."""
