"""The ten tasks of VLM2-Bench: axes, transforms, methods and protocols."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from snellen.core.condition import Axis, Condition, Value
from snellen.core.errors import SnellenError
from snellen.core.item import AnswerKind, Item, Montage, Part, Split, View
from snellen.core.score import Protocol, Protocols
from snellen.core.subject import SubjectCard
from snellen.core.suite import Task, Transform, ViewContext
from snellen.presentation.controls import (
    FRAMES,
    IMAGES,
    ORDER,
    PROMPT,
    SHEET,
    Lettered,
    control,
    order_transforms,
    resolve_frames,
    resolve_sheet,
)
from snellen.presentation.methods import OneByOne
from snellen.stimuli.transforms.frames import Frames
from snellen.suites.vlm2_bench import prompts, scoring
from snellen.suites.vlm2_bench.named_colour import by_named_colour
from snellen.suites.vlm2_bench.visual_prompts import COLUMNS, ROWS, DotGrid, zoom

METHOD = Axis(
    "method", ("vanilla", "cot", "cot-special"), "chain of thought (Table 16), in four steps for GC (Table 17)"
)
VISUAL_PROMPT = Axis(
    "visual_prompt",
    ("none", "vp-grid", "vp-zoom-o", "vp-zoom-p"),
    "dots with coordinates (GC, Figure 9), crops of the object (OC, Figure 10) or of the face (PC, Figure 11)",
)
AXES = (METHOD, VISUAL_PROMPT, FRAMES, SHEET, ORDER, PROMPT, IMAGES)

FAMILY_BY_VALUE: Mapping[Value, str] = {"vp-grid": "gc", "vp-zoom-o": "oc", "vp-zoom-p": "pc", "cot-special": "gc"}
"""Methods for one family of tasks; other families are not asked under them (section 4)."""
FRAMES_A_LINE = 4


def resolve(condition: Condition, card: SubjectCard) -> Mapping[str, Value]:
    """The values of `auto`: a single sheet for subjects that accept only one image, and frames as in Table 9."""
    return {**resolve_sheet(condition, card), **resolve_frames(condition, card)}


def choices(view: View) -> str:
    """The options in the form of Table 8, such as `Choices: A) 1 and 3; B) None.` (with four of them)."""
    listed = "; ".join(f"{view.reply.name(option.key)}) {option.text}" for option in view.options)
    return prompts.CHOICES.format(choices=listed)


def lists_choices(question: str) -> bool:
    """True if a released question contains its choices, in a form that cannot be rebuilt letter for letter."""
    return re.search(r"\b(choices|options)\s*:\s*\(?A\)", question, re.IGNORECASE) is not None


def wording(view: View, condition: Condition) -> str:
    """The text that accompanies the images."""
    question = view.question
    listed = [choices(view)] if view.reply.kind == "choice" and not lists_choices(question) else []
    if condition["prompt"] != "full":
        question = prompts.core(question)
    lines = [" ".join([question, *listed])]
    if condition["prompt"] == "short" and view.reply.kind in prompts.SHORT:
        lines.append(prompts.SHORT[view.reply.kind])
    if condition["visual_prompt"] == "vp-grid":
        lines.append(prompts.VP_GRID.format(rows=ROWS, columns=COLUMNS))
    if condition["method"] != "vanilla":
        lines.append(prompts.COT if condition["method"] == "cot" else prompts.COT_SPECIAL)
    return "\n".join(lines)


def presenter(condition: Condition) -> Callable[[View], tuple[Part, ...]]:
    """Present the images in order, then the words, as the authors' scripts do; with `sheet=single` on one sheet."""

    def parts(view: View) -> tuple[Part, ...]:
        words = wording(view, condition)
        if condition["sheet"] != "single" or len(view.query) < 2:
            return (*view.query, words)
        labels = tuple(f"Image {n}" for n in range(1, len(view.query) + 1))
        columns = FRAMES_A_LINE if view.task in VIDEOS else 2
        return (Montage(view.query, columns, labels), words)

    return parts


def _transforms(item: Item, context: ViewContext) -> tuple[Transform, ...]:
    return (
        *order_transforms(context.condition["order"]),
        *((Lettered(),) if item.answer_kind == "choice" else ()),
        *_pixels(item, context),
        *control(context.condition["images"], context),
    )


def _pixels(item: Item, context: ViewContext) -> tuple[Transform, ...]:
    if item.task in VIDEOS:
        frames = str(context.condition["frames"])
        return () if frames == "native" else (Frames(frames),)
    visual_prompt = context.condition["visual_prompt"]
    if visual_prompt == "vp-grid":
        return (DotGrid(),)
    return (zoom(item, context),) if visual_prompt in ("vp-zoom-o", "vp-zoom-p") else ()


def _asks(item: Item, condition: Condition) -> bool:
    """True if the item can be asked: methods fit its family, and choices inside the question keep their order."""
    if condition["order"] == "shuffled" and lists_choices(item.question):
        return False
    families = (FAMILY_BY_VALUE.get(condition[name]) for name in ("method", "visual_prompt"))
    return all(family in (None, item.task[:2]) for family in families)


def _task(
    name: str,
    kind: AnswerKind,
    axes: tuple[Axis, ...],
    protocols: Protocols,
    split_by: str = "pattern",
    train_split: Split | None = None,
) -> Task:
    return Task(
        id=name,
        kind=kind,
        axes=tuple(axis.name for axis in axes),
        transforms=_transforms,
        method=lambda condition: OneByOne(presenter(condition)),
        protocols=protocols,
        train_split=train_split,
        asks=_asks,
        split_by=(split_by,),
        colour_only=by_named_colour if name.startswith("gc") else None,
        question_for_people=lambda view: prompts.for_people(view.question),
    )


IMAGE_AXES = (METHOD, VISUAL_PROMPT, SHEET, PROMPT, IMAGES)
GROUP_AXES = (METHOD, VISUAL_PROMPT, SHEET, ORDER, PROMPT, IMAGES)
VIDEO_AXES = (FRAMES, SHEET, PROMPT, IMAGES)


def _family_tasks(family: str) -> tuple[Task, ...]:
    """Comparing, counting, grouping and describing objects (`oc`) or people (`pc`)."""
    return (
        _task(f"{family}-cpr", "true_false", IMAGE_AXES, scoring.COMPARISONS, train_split="calibration"),
        _task(f"{family}-cnt", "integer", IMAGE_AXES, scoring.COUNTING, train_split="calibration"),
        _task(f"{family}-grp", "choice", GROUP_AXES, scoring.GROUPING, train_split="calibration"),
        _task(f"{family}-vid", "description", VIDEO_AXES, scoring.DESCRIBING),
    )


TASKS: Mapping[str, Task] = {
    task.id: task
    for task in (
        _task("gc-mat", "true_false", IMAGE_AXES, scoring.CUES, split_by="cue"),
        _task("gc-trk", "true_false", IMAGE_AXES, scoring.CUES, split_by="cue"),
        *_family_tasks("oc"),
        *_family_tasks("pc"),
    )
}
"""Mat and Trk have statements about two images of one scene, before and after an edit."""


def _of_kind(kind: AnswerKind) -> tuple[str, ...]:
    return tuple(name for name, task in TASKS.items() if task.kind == kind)


TRUE_FALSE, COUNTS = _of_kind("true_false"), _of_kind("integer")
GROUPS, VIDEOS = _of_kind("choice"), _of_kind("description")


def protocols(task: str) -> Mapping[str, Protocol]:
    """The protocols of a task by name; the first metric of each is that of the paper's Table 1.

    Raises SnellenError for an unknown task.
    """
    if task not in TASKS:
        raise SnellenError(f"vlm2-bench has no task {task!r}; available: {', '.join(TASKS)}")
    return TASKS[task].protocols
