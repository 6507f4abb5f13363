"""The four tasks of ComBo: axes, transforms, methods."""

from __future__ import annotations

from snellen.core.condition import Axis, Condition
from snellen.core.item import Item
from snellen.core.suite import Method, Task, Transform, ViewContext
from snellen.presentation.controls import LAYOUT, ORDER, PICTURES, PROMPT, SHEET, Lettered, control, order_transforms
from snellen.presentation.methods import OneByOne, PerceiveThenClassify, Sheet
from snellen.presentation.presenters import with_layout
from snellen.suites.combo import alignment, categories, perception, prompts
from snellen.suites.combo.scoring import PUBLISHED, STRICT, STRICT_PAIRS

SAMPLES = Axis("samples", (10, 1), "objects a call in pattern-perception (paper: 10, appendix D.1)")
QUESTIONS = Axis("questions", ("all", "one"), "all questions about an object in one call, or one a call")
PIVOT = Axis("pivot", ("off", "on"), "ask the eighth question too")
DEMOS = Axis("demos", ("none", "in-context"), "solved examples for contact point and materials (Figure 6)")
METHOD = Axis(
    "method",
    ("vanilla", "cot", "perceive-then-classify", "caption-then-classify"),
    "how category-building is asked (Figures 22-26)",
)
AXES = (SAMPLES, QUESTIONS, PIVOT, DEMOS, SHEET, METHOD, LAYOUT, ORDER, PROMPT, PICTURES)


def _perception_shown(item: Item, context: ViewContext) -> tuple[Transform, ...]:
    demos: tuple[Transform, ...] = (
        (perception.in_context(context),) if context.condition["demos"] == "in-context" else ()
    )
    named = (*order_transforms(context.condition["order"]), perception.AlsoNamed())
    return (*named, *demos, *control(context.condition["pictures"], context))


def _perception_method(condition: Condition) -> Method:
    prompt, single = str(condition["prompt"]), condition["sheet"] == "single"
    layout = condition["layout"]
    samples, apart = int(condition["samples"]), condition["questions"] == "one"
    if samples == 1 and apart:
        return OneByOne(with_layout(perception.one_parts(prompt), layout))
    return Sheet(samples, with_layout(perception.sheet_parts(prompt, single), layout), by_question=apart)


def _lettered(item: Item, context: ViewContext) -> tuple[Transform, ...]:
    return (*order_transforms(context.condition["order"]), Lettered(), *control(context.condition["pictures"], context))


def _plain(item: Item, context: ViewContext) -> tuple[Transform, ...]:
    return (*order_transforms(context.condition["order"]), *control(context.condition["pictures"], context))


def _img2text_method(condition: Condition) -> Method:
    return OneByOne(with_layout(alignment.img2text_parts(str(condition["prompt"])), condition["layout"]))


def _text2img_method(condition: Condition) -> Method:
    present = alignment.text2img_parts(str(condition["prompt"]), condition["sheet"] == "single")
    return OneByOne(with_layout(present, condition["layout"]))


def _category_method(condition: Condition) -> Method:
    prompt, single, layout = str(condition["prompt"]), condition["sheet"] == "single", condition["layout"]
    classify = with_layout(categories.classify_parts(prompt), layout)
    if condition["method"] == "perceive-then-classify":
        question = categories.perceive_question()
        return PerceiveThenClassify(categories.perceive_parts, classify, question)
    if condition["method"] == "caption-then-classify":
        return PerceiveThenClassify(categories.caption_parts, classify, prompts.CAPTION)
    present = categories.category_parts(prompt, single, think=condition["method"] == "cot")
    return OneByOne(with_layout(present, layout))


def _named(*axes: Axis) -> tuple[str, ...]:
    return tuple(axis.name for axis in axes)


TASKS = {
    task.id: task
    for task in (
        Task(
            perception.TASK,
            "choice",
            _named(SAMPLES, QUESTIONS, PIVOT, DEMOS, SHEET, LAYOUT, ORDER, PROMPT, PICTURES),
            _perception_shown,
            _perception_method,
            {"strict": STRICT, "published": PUBLISHED},
            train_split="train",
            asks=perception.asks,
            split_by=("question",),
        ),
        Task(
            alignment.IMG2TEXT,
            "choice",
            _named(SHEET, LAYOUT, ORDER, PROMPT, PICTURES),
            _lettered,
            _img2text_method,
            {"strict": STRICT, "published": PUBLISHED},
        ),
        Task(
            alignment.TEXT2IMG,
            "choice",
            _named(SHEET, LAYOUT, ORDER, PROMPT, PICTURES),
            _lettered,
            _text2img_method,
            {"strict": STRICT, "published": PUBLISHED},
        ),
        Task(
            categories.TASK,
            "choice",
            _named(SHEET, METHOD, LAYOUT, ORDER, PROMPT, PICTURES),
            _plain,
            _category_method,
            {"strict": STRICT_PAIRS, "published": PUBLISHED},
            split_by=("difficulty",),
        ),
    )
}
