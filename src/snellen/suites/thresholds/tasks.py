"""The tasks of thresholds: one per measure, all asked in the same way."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from snellen.core.condition import Condition
from snellen.core.item import Item, Part, View
from snellen.core.suite import Task, Transform, ViewContext
from snellen.presentation.box_units import BOX_UNIT, UnitFrame
from snellen.presentation.controls import IMAGES, PROMPT, control
from snellen.presentation.methods import OneByOne
from snellen.suites.thresholds import prompts
from snellen.suites.thresholds.measures import MEASURES
from snellen.suites.thresholds.measures.measure import Measure
from snellen.suites.thresholds.scoring import protocols, schedule

AXES = (PROMPT, BOX_UNIT, IMAGES)


def _transforms(has_frame: bool, item: Item, context: ViewContext) -> tuple[Transform, ...]:
    frame = (UnitFrame(str(context.condition["box_unit"])),) * has_frame
    return (*frame, *control(context.condition["images"], context))


def presenter(condition: Condition) -> Callable[[View], tuple[Part, ...]]:
    """The image, then the question."""
    return lambda view: (*view.query, prompts.words(view, condition))


def _task(measure: Measure) -> Task:
    return Task(
        id=measure.task,
        kind="point" if measure.is_pointing else "choice",
        axes=tuple(axis.name for axis in AXES if measure.is_pointing or axis is not BOX_UNIT),
        transforms=partial(_transforms, measure.is_pointing),
        method=lambda condition: OneByOne(presenter(condition)),
        protocols=protocols(measure),
        train_split="train",
        split_by=(*("canvas",) * (len(measure.canvases) > 1), *("eccentricity",) * measure.is_pointing),
        question_for_people=lambda view: measure.question_for_people,
        schedule=schedule,
    )


TASKS = {task: _task(measure) for task, measure in MEASURES.items()}
