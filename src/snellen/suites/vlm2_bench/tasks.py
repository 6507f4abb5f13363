"""The ten tasks of VLM2-Bench: axes, transforms, methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from snellen.core.condition import Axis, Condition, Value
from snellen.core.item import AnswerKind, Item, Montage, Part, View
from snellen.core.subject import SubjectCard
from snellen.core.suite import Method, Task, Transform, ViewContext
from snellen.presentation.controls import (
    ORDER,
    PICTURES,
    PROMPT,
    SHEET,
    Lettered,
    control,
    order_transforms,
    resolve_sheet,
)
from snellen.presentation.methods import OneByOne
from snellen.stimuli.transforms.frames import Frames
from snellen.suites.vlm2_bench import prompts, scoring
from snellen.suites.vlm2_bench.items import GROUPS, KINDS, TASKS, VIDEOS
from snellen.suites.vlm2_bench.visual_prompts import COLUMNS, ROWS, DotGrid, zoom

METHOD = Axis(
    "method", ("vanilla", "cot", "cot-special"), "chain of thought (Table 16), in four steps for GC (Table 17)"
)
VISUAL_PROMPT = Axis(
    "visual_prompt",
    ("none", "vp-grid", "vp-zoom-o", "vp-zoom-p"),
    "dots with coordinates (GC, Figure 9), crops of the object (OC, Figure 10) or of the face (PC, Figure 11)",
)
FRAMES = Axis("frames", ("auto", "8", "16", "1fps", "native"), "which frames of a video are shown (Table 9)")
AXES = (METHOD, VISUAL_PROMPT, FRAMES, SHEET, ORDER, PROMPT, PICTURES)

FAMILY_OF: Mapping[Value, str] = {"vp-grid": "gc", "vp-zoom-o": "oc", "vp-zoom-p": "pc", "cot-special": "gc"}
"""Methods made for one family of tasks; the others are not asked under them (section 4)."""
SHORT: Mapping[AnswerKind, str] = {
    "true_false": "Answer T or F.",
    "integer": "Answer with one number.",
    "choice": "Answer with one letter.",
}
"""In place of the paper's rules at `prompt=short`."""
FRAMES_A_LINE = 4


def resolve(condition: Condition, card: SubjectCard) -> Mapping[str, Value]:
    """One laid-out picture for subjects that take only one; frames as Table 9 has them.

    A subject may say so itself (attribute `frames`); of the others, models of the Qwen family see one frame a second,
    who takes fewer than sixteen pictures sees eight, everybody else sixteen.
    """
    told = dict(resolve_sheet(condition, card))
    if condition["frames"] == "auto":
        said = card.attributes.get("frames", "")
        few = card.max_pictures is not None and 1 < card.max_pictures < 16
        usual = "1fps" if "qwen" in card.name.lower() else "8" if few else "16"
        told["frames"] = said if said in FRAMES.values[1:] else usual
    return told


def choices(view: View) -> str:
    """The options as Table 8 writes them, such as `Choices: A) 1 and 3; B) None.` (with four of them)."""
    listed = "; ".join(f"{view.reply.name(option.key)}) {option.text}" for option in view.options)
    return prompts.CHOICES.format(choices=listed)


def lists_choices(question: str) -> bool:
    """Whether a released question names its choices itself, in a form that is not rebuilt letter for letter."""
    return "Choices:" in question


def wording(view: View, condition: Condition) -> str:
    """Everything that is said beside the pictures."""
    question = view.question
    listed = [choices(view)] if view.reply.kind == "choice" and not lists_choices(question) else []
    if condition["prompt"] != "full":
        question = prompts.core(question)
    said = [" ".join([question, *listed])]
    if condition["prompt"] == "short" and view.reply.kind in SHORT:
        said.append(SHORT[view.reply.kind])
    if condition["visual_prompt"] == "vp-grid":
        said.append(prompts.VP_GRID.format(rows=ROWS, columns=COLUMNS))
    if condition["method"] != "vanilla":
        said.append(prompts.COT if condition["method"] == "cot" else prompts.COT_SPECIAL)
    return "\n".join(said)


def presented(condition: Condition) -> Callable[[View], tuple[Part, ...]]:
    """Pictures in order, then the words, as the authors' scripts send them; one laid-out picture where wanted."""

    def parts(view: View) -> tuple[Part, ...]:
        words = wording(view, condition)
        if condition["sheet"] != "single" or len(view.query) < 2:
            return (*view.query, words)
        labels = tuple(f"Image {n}" for n in range(1, len(view.query) + 1))
        columns = FRAMES_A_LINE if view.task in VIDEOS else 2
        return (Montage(view.query, columns, labels), words)

    return parts


def _method(condition: Condition) -> Method:
    return OneByOne(presented(condition))


def _shown(item: Item, context: ViewContext) -> tuple[Transform, ...]:
    return (
        *order_transforms(context.condition["order"]),
        *((Lettered(),) if item.answer_kind == "choice" else ()),
        *_pixels(item, context),
        *control(context.condition["pictures"], context),
    )


def _pixels(item: Item, context: ViewContext) -> tuple[Transform, ...]:
    if item.task in VIDEOS:
        how = str(context.condition["frames"])
        return () if how == "native" else (Frames(how),)
    wanted = context.condition["visual_prompt"]
    if wanted == "vp-grid":
        return (DotGrid(),)
    return (zoom(item, context),) if wanted in ("vp-zoom-o", "vp-zoom-p") else ()


def _asks(item: Item, condition: Condition) -> bool:
    """Methods made for one family are asked there alone; choices that the question lists cannot be reordered."""
    if condition["order"] == "shuffled" and lists_choices(item.question):
        return False
    wanted = (FAMILY_OF.get(condition[name]) for name in ("method", "visual_prompt"))
    return all(family in (None, item.task[:2]) for family in wanted)


def _axes(task: str) -> tuple[Axis, ...]:
    if task in VIDEOS:
        return (FRAMES, SHEET, PROMPT, PICTURES)
    return (METHOD, VISUAL_PROMPT, SHEET, *((ORDER,) if task in GROUPS else ()), PROMPT, PICTURES)


def _task(name: str) -> Task:
    linked = name[:2] != "gc" and name not in VIDEOS
    return Task(
        name,
        KINDS[name],
        tuple(axis.name for axis in _axes(name)),
        _shown,
        _method,
        scoring.protocols(name),
        train_split="calibration" if linked else None,
        asks=_asks,
        split_by=("cue",) if name.startswith("gc") else ("pattern",),
    )


TASK_BY_NAME = {name: _task(name) for name in TASKS}
