"""The task of VFM Bench: its axes, transforms and methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from snellen.core.condition import Axis, Condition, Value
from snellen.core.item import Demo, Item, Montage, Part, View
from snellen.core.suite import Task, Transform, ViewContext
from snellen.datasets.own_images import CLASS
from snellen.presentation.controls import IMAGES, ORDER, PROMPT, SHEET, control, order_transforms
from snellen.presentation.methods import OneByOne
from snellen.suites.vfm_bench import prompts, transforms
from snellen.suites.vfm_bench.items import GENERATED, SHOTS, TASK
from snellen.suites.vfm_bench.scoring import PROTOCOLS

SHOTS_AXIS = Axis("shots", (SHOTS, *range(SHOTS)), "solved examples per class; fewer are a prefix of more")
INSTRUCTION = Axis(
    "instruction", ("simple", "detailed", "cot"), "the task alone, with a description of every class, or step by step"
)
QUERY = Axis(
    "query",
    ("original", "enhance", "noise", "noise-100", "noise-50", "noise-33"),
    "the deciding region enlarged and framed, or under noise (of the source's mean size; of a share of its area)",
    ("noise", "noise-100", "noise-50", "noise-33"),
)
DEMOS = Axis("demos", ("simple", "caption", "visual-prompt"), "names alone, with captions, or as marked tokens")
LABELS = Axis(
    "labels",
    ("default", "real", "exchange", "fabricated"),
    "the real names, exchanged ones, or random letters; default: random letters in generated sets, elsewhere real",
    ("default", "exchange", "fabricated"),
)
EPISODE_IMAGES = Axis(
    IMAGES.name,
    ("original", "total-noise", "negative-noise", "replicated", *IMAGES.values[1:]),
    "demo images replaced by noise (all, or all but the true class's), one image for all shots; controls",
    ("total-noise", "negative-noise", *IMAGES.random_values),
)
AXES = (SHOTS_AXIS, INSTRUCTION, QUERY, DEMOS, LABELS, SHEET, ORDER, PROMPT, EPISODE_IMAGES)
NOISE_SHARES: Mapping[Value, float] = {"noise-100": 1.0, "noise-50": 0.5, "noise-33": 0.33}


def _transforms(item: Item, context: ViewContext) -> tuple[Transform, ...]:
    condition = context.condition
    instruction, demos = condition["instruction"], condition["demos"]
    return (
        *order_transforms(condition["order"]),
        transforms.Shots(int(condition["shots"])),
        *_label_transforms(item, condition["labels"]),
        *((transforms.Described(transforms.sentences(item, context)),) if instruction == "detailed" else ()),
        *((transforms.Captioned(transforms.captions(item, context)),) if demos == "caption" else ()),
        *_demo_transforms(item, condition["images"]),
        *_query_transforms(item, condition["query"]),
        *control(condition["images"], context),
    )


def _label_transforms(item: Item, value: Value) -> tuple[Transform, ...]:
    """Generated names describe the images: with them, no example is needed."""
    if value == "exchange":
        return (transforms.Exchanged(),)
    is_fabricated = value == "fabricated" or (value == "default" and item.factors["industry"] == GENERATED)
    return (transforms.Fabricated(),) if is_fabricated else ()


def _demo_transforms(item: Item, value: Value) -> tuple[Transform, ...]:
    if value == "total-noise":
        return (transforms.Noisy(),)
    if value == "negative-noise":
        return (transforms.Noisy(spare=str(item.answer)),)
    return (transforms.Replicated(),) if value == "replicated" else ()


def _query_transforms(item: Item, value: Value) -> tuple[Transform, ...]:
    if value == "original":
        return ()
    x1, y1, x2, y2 = (float(x) for x in item.regions["box"])
    box = (x1, y1, x2, y2)
    if value == "enhance":
        return (transforms.Enhanced(box),)
    if value != "noise":
        return (transforms.Patched(box, NOISE_SHARES[value]),)
    size = item.measures.get("mean_region_width", x2 - x1), item.measures.get("mean_region_height", y2 - y1)
    return (transforms.Patched(box, size_px=size),)


def _asks(item: Item, condition: Condition) -> bool:
    """True if the item can be asked: shots need demos, and changes of the query need a known region."""
    with_demos = bool(item.support) or condition["shots"] == 0
    return with_demos and (condition["query"] == "original" or "box" in item.regions)


def words(view: View, condition: Condition) -> str:
    """The instruction: role, task, candidates, and the required form of the answer."""
    names = [option.text for option in view.options]
    if condition["prompt"] == "short":
        return prompts.SHORT.format(names=", ".join(names))
    if condition["prompt"] == "minimal":
        return prompts.MINIMAL.format(names=", ".join(names))
    ending = prompts.COT if condition["instruction"] == "cot" else prompts.CONSTRAINT
    return prompts.instruction(view.question, names, ending)


def _demo_parts(view: View, condition: Condition) -> Iterator[Part]:
    for demo in view.support:
        name = view.reply.name(demo.answer)
        if condition["demos"] == "visual-prompt":
            yield prompts.VISUAL_BEFORE.format(number=demo.shot)
            yield from demo.media
            yield prompts.VISUAL_AFTER.format(label=name)
        else:
            yield from demo.media
            yield _caption_with_name(demo, name) if condition["demos"] == "caption" else name


def _caption_with_name(demo: Demo, name: str) -> str:
    """The caption, preceded by the name if the caption does not contain it, since the name is the answer."""
    return demo.caption if name in demo.caption else f"{name}: {demo.caption}"


def presenter(condition: Condition) -> Callable[[View], tuple[Part, ...]]:
    """Present the words, then each demo with its name, then the query without text, as the released code does.

    With marked tokens the request precedes the query image, which is last there too.
    """

    def parts(view: View) -> tuple[Part, ...]:
        request = words(view, condition)
        ending = (prompts.VISUAL_END,) if condition["demos"] == "visual-prompt" else ()
        if condition["sheet"] != "single":
            return (request, *_demo_parts(view, condition), *ending, *view.query)
        images = [*(image for demo in view.support for image in demo.media), *view.query]
        names = [view.reply.name(demo.answer) for demo in view.support for _ in demo.media]
        labels = (*names, *("?" for _ in view.query))
        columns = max(1, len(view.options)) if names else 1
        return (request, *ending, Montage(tuple(images), columns, labels)) if images else (request, *ending)

    return parts


def _question_for_people(view: View) -> str:
    """The question, after what is known of the categories if the view states it."""
    _, heading, descriptions = view.question.partition(prompts.DESCRIPTIONS.partition("\n")[0])
    return f"{heading}{descriptions}\n{prompts.FOR_PEOPLE}" if heading else prompts.FOR_PEOPLE


TASKS = {
    TASK: Task(
        id=TASK,
        kind="choice",
        axes=tuple(axis.name for axis in AXES),
        transforms=_transforms,
        method=lambda condition: OneByOne(presenter(condition)),
        protocols=PROTOCOLS,
        asks=_asks,
        split_by=("industry", "concept_level", "ways", CLASS),
        question_for_people=_question_for_people,
    )
}
