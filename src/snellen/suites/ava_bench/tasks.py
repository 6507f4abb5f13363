"""The fourteen tasks of AVA-Bench, and those composed of them: axes, transforms, methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from snellen.core.condition import Axis, Condition, Value
from snellen.core.item import Item, Part, View
from snellen.core.subject import SubjectCard
from snellen.core.suite import Method, Task, Transform, ViewContext
from snellen.presentation.controls import ORDER, PICTURES, PROMPT, control, order_transforms
from snellen.presentation.methods import OneByOne
from snellen.suites.ava_bench import prompts
from snellen.suites.ava_bench.crops import Cut
from snellen.suites.ava_bench.items import CHOICES, KINDS
from snellen.suites.ava_bench.scoring import protocols
from snellen.suites.ava_bench.transforms import Boxed, Labelled, Padded, UnitFrame, boxes_of

FORMAT = Axis(
    "format",
    ("auto", "with-format", "paper"),
    "the question of Table 1 with the form of the answer behind it, or without, for heads tuned on it",
)
BOXES = Axis("boxes", ("drawn", "none"), "spatial: with the red and the blue box, or without (Figure 8a)")
LOOK = Axis(
    "look",
    ("auto", "picture", "box"),
    "the whole picture with its red box, or the inside of the box alone, for encoders",
)
AXES = (FORMAT, BOXES, LOOK, ORDER, PROMPT, PICTURES)

PADDED = ("localization", "object", "absolute-depth", "relative-depth", "nearer-localization")
"""Tasks whose pictures are padded to a square (appendix A.2, and what is composed of them); others are shown as is."""
LOOKED_INTO = ("object", "colour", "ocr", "emotion")
"""Tasks about what is inside the red box, and about nothing else: it may be shown alone."""
LETTERED = ("spatial", "absolute-depth")
"""Options as A., B., C.; those of all other choices are numbered (appendix A.2)."""
SPLIT_BY: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "localization": ("source", "box_size"),
        "counting": ("source", "count_range"),
        "spatial": ("source", "position"),
        "orientation": ("source", "orientation"),
        "absolute-depth": ("scene_type", "depth_range"),
        "relative-depth": ("scene_type",),
        "object": ("source", "box_size"),
        "fine-grained": ("group",),
        "colour": ("source",),
        "texture": ("source",),
        "ocr": ("source", "text_length"),
        "action": ("source",),
        "emotion": ("source", "emotion"),
        "scene": ("source",),
        "counting-by-colour": ("source", "count_range"),
        "nearer-localization": ("source", "box_size"),
    }
)
"""Subgroups: those of Figures 8(b) and 21 to 28, elsewhere the data set; of composite tasks those of a part."""


def resolve(condition: Condition, card: SubjectCard) -> Mapping[str, Value]:
    """`format=auto` is `paper` for heads, which were tuned on it, and `with-format` for everybody else.

    A subject may say so itself (attribute `format`). `look=auto` is `box` for encoders, which see a picture as a whole
    and cannot be told what a box in it is for, and `picture` for everybody else.
    """
    sort, told = card.name.partition(":")[0], dict[str, Value]()
    if condition["format"] == "auto":
        said = card.attributes.get("format", "")
        told["format"] = said if said in FORMAT.values[1:] else "paper" if sort == "head" else "with-format"
    if condition["look"] == "auto":
        told["look"] = "box" if sort == "encoder" else "picture"
    return told


def wording(view: View, condition: Condition) -> str:
    """Everything that is said beside the picture: the question, its options in one line, the form of the answer."""
    question = view.question
    if view.task == "spatial" and condition["boxes"] == "none":
        question = prompts.without_marks(question)
    if view.options and not prompts.lists_choices(question):
        names = [view.reply.name(option.key) for option in view.options]
        question = f"{question} {prompts.choices(view.task, names)}"
    if condition["format"] == "paper" or condition["prompt"] == "minimal":
        return question
    forms = prompts.FORMS if condition["prompt"] == "full" else prompts.SHORT_FORMS
    return f"{question}\n{forms[view.reply.kind]}"


def presented(condition: Condition) -> Callable[[View], tuple[Part, ...]]:
    """The picture, then the words, as in the authors' data."""

    def parts(view: View) -> tuple[Part, ...]:
        return (*view.query, wording(view, condition))

    return parts


def _method(condition: Condition) -> Method:
    return OneByOne(presented(condition))


def _shown(item: Item, context: ViewContext) -> tuple[Transform, ...]:
    condition = context.condition
    boxes = boxes_of(item.task, item.regions) if condition["boxes"] == "drawn" else {}
    cut = (Cut(boxes.pop("red")),) if _looks_into(item.task, condition) and boxes else ()
    labels = Labelled("letters" if item.task in LETTERED else "numbers")
    padded = item.task in PADDED
    return (
        *order_transforms(condition["order"]),
        *((labels,) if item.options else ()),
        *cut,
        *((Boxed(boxes, padded),) if boxes else (Padded(),) if padded else ()),
        *((UnitFrame(),) if item.answer_kind == "box" else ()),
        *control(condition["pictures"], context),
    )


def _looks_into(task: str, condition: Condition) -> bool:
    """Whether the inside of the box is shown alone; where the box is in the stored pixels already, the whole is."""
    return task in LOOKED_INTO and condition["look"] == "box"


def _asks(item: Item, condition: Condition) -> bool:
    """Options that a released question lists itself cannot be reordered; boxes drawn into a picture cannot be left out.

    Nothing but spatial is asked without boxes, and nothing but a choice with its options shuffled.
    """
    if condition["order"] == "shuffled" and (not item.options or prompts.lists_choices(item.question)):
        return False
    return condition["boxes"] == "drawn" or bool(boxes_of(item.task, item.regions))


def _axes(task: str) -> tuple[Axis, ...]:
    return (
        FORMAT,
        *((BOXES,) if task == "spatial" else ()),
        *((LOOK,) if task in LOOKED_INTO else ()),
        *((ORDER,) if task in CHOICES else ()),
        PROMPT,
        PICTURES,
    )


def _task(name: str) -> Task:
    return Task(
        name,
        KINDS[name],
        tuple(axis.name for axis in _axes(name)),
        _shown,
        _method,
        protocols(name),
        train_split="train",
        asks=_asks,
        split_by=SPLIT_BY[name],
    )


TASK_BY_NAME = {name: _task(name) for name in KINDS}
