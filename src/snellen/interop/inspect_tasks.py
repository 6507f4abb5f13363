"""Item sets as Inspect AI tasks, found by entry point: `inspect eval snellen/combo_category_building`.

Tasks and scorers: https://inspect.aisi.org.uk/tasks.html, https://inspect.aisi.org.uk/extensions.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, Content, ContentImage, ContentText
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, mean, metric, scorer, stderr
from inspect_ai.solver import TaskState, generate

from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.storage.home import home
from snellen.exam.items import find_items
from snellen.interop.inspect_logs import sample_metadata
from snellen.interop.questions import ModelQuestion, Selection, select_questions
from snellen.interop.scorers.scoring import mean_of_units
from snellen.interop.scoring_fields import units
from snellen.suites import SUITES, suite_of


def inspect_task(suite_task: str, itemset: str = "", condition: str = "vanilla") -> Task:
    """The questions of `SUITE/TASK` as samples, worded by our presenters, scored by our parser and metric.

    `itemset` is a folder, or empty for the suite's generated set. Raises SnellenError if every item of the task is
    asked together with others or in several calls.
    """
    suite_name, task_id = suite_task.split("/")
    suite = suite_of(items := find_items(itemset or suite_name))
    (point, *others) = parse_conditions(suite.axes, condition)
    folder = home() / "inspect" / items.card.content_hash[:16]
    selection = select_questions(items, suite, point, folder)
    questions = [question for question in selection.questions if question.item.task == task_id]
    if others or not questions:
        reasons = "; ".join(f"{n} {reason}" for (name, reason), n in selection.left_out.items() if name == task_id)
        raise SnellenError(
            f"{suite_task}: the questions cannot be asked separately under {condition}: "
            f"{reasons or 'several conditions'}"
        )
    unit_of = units(questions)
    samples = [_sample(question, selection, unit_of) for question in questions]
    score_of = strict_scorer({question.item.item_id: question.score for question in questions})
    return Task(dataset=MemoryDataset(samples, name=suite_task), solver=generate(), scorer=score_of)


def _sample(question: ModelQuestion, selection: Selection, unit_of: Mapping[str, tuple[str, int]]) -> Sample:
    content: list[Content] = [
        ContentText(text=part) if isinstance(part, str) else ContentImage(image=str(selection.media.find(part)))
        for part in question.parts
    ]
    metadata = sample_metadata(question, selection, unit_of)
    return Sample([ChatMessageUser(content=content)], target=question.key, id=question.item.item_id, metadata=metadata)


@metric  # type: ignore[untyped-decorator]  # not followed, for its size (pyproject)
def unit_mean() -> Metric:
    """The mean over the metric's units: questions, or groups in which every question must be right."""

    def mean_over_units(sample_scores: list[SampleScore]) -> float:
        metadata = [(each.sample_metadata or {})["snellen"] for each in sample_scores]
        return mean_of_units(
            (place["unit"], place["unit_size"], each.score.as_float())
            for place, each in zip(metadata, sample_scores, strict=True)
        )

    return mean_over_units


def strict_scorer(score_of: Mapping[str, Callable[[str], tuple[str, float]]]) -> Scorer:
    """The main metric of the protocol, by sample id; `outcome` is `answered` or `no_answer`."""

    @scorer(metrics=[unit_mean(), mean(), stderr()], name="protocol_scorer")  # type: ignore[untyped-decorator]  # not followed, for its size (pyproject)
    def strict() -> Scorer:  # arguments of a scorer are written to every log and every sample
        async def score_reply(state: TaskState, target: Target) -> Score:
            reply = state.output.completion
            outcome, value = score_of[str(state.sample_id)](reply)
            return Score(value=value, answer=reply, metadata={"outcome": outcome})

        return score_reply

    return strict()


def _register(suite_task: str) -> Callable[..., Task]:
    def build(itemset: str = "", condition: str | list[str] = "vanilla") -> Task:
        # `-T` turns values with commas into lists
        return inspect_task(suite_task, itemset, condition if isinstance(condition, str) else ",".join(condition))

    register: Callable[[Callable[..., Task]], Callable[..., Task]] = task(name=re.sub(r"\W", "_", suite_task))
    return register(build)


TASKS = {
    f"{suite_name}/{task_id}": _register(f"{suite_name}/{task_id}")
    for suite_name in SUITES
    if suite_name != "curation-steps"
    for task_id in SUITES.get(suite_name).tasks
}
"""Every task of every benchmark under its Inspect name: `combo_category_building`."""
