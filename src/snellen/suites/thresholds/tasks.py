"""The tasks of thresholds: one per measure, all asked in the same way."""

from __future__ import annotations

from collections.abc import Callable

from snellen.core.condition import Condition
from snellen.core.item import Part, View
from snellen.core.suite import Task
from snellen.presentation.controls import IMAGES, PROMPT, control
from snellen.presentation.methods import OneByOne
from snellen.suites.thresholds import prompts
from snellen.suites.thresholds.measures import MEASURES
from snellen.suites.thresholds.measures.measure import Measure
from snellen.suites.thresholds.scoring import protocols, schedule

AXES = (PROMPT, IMAGES)


def presenter(condition: Condition) -> Callable[[View], tuple[Part, ...]]:
    """The image, then the question."""
    return lambda view: (*view.query, prompts.words(view, condition))


def _task(measure: Measure) -> Task:
    return Task(
        id=measure.task,
        kind="choice",
        axes=tuple(axis.name for axis in AXES),
        transforms=lambda item, context: control(context.condition["images"], context),
        method=lambda condition: OneByOne(presenter(condition)),
        protocols=protocols(measure),
        train_split="train",
        split_by=("canvas",) * (len(measure.canvases) > 1),
        question_for_people=lambda view: measure.question_for_people,
        schedule=schedule,
    )


TASKS = {task: _task(measure) for task, measure in MEASURES.items()}
