"""The tasks of all abilities: axes, transforms, methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from snellen.core.condition import Axis, Condition, Value
from snellen.core.item import Item, Part, View
from snellen.core.subject import SubjectCard
from snellen.core.suite import Method, Task, Transform, ViewContext
from snellen.presentation.box_units import BOX_UNIT, UnitFrame, resolve_unit
from snellen.presentation.controls import IMAGES, ORDER, PROMPT, control, order_transforms
from snellen.presentation.methods import OneByOne
from snellen.suites.ava_bench import prompts
from snellen.suites.ava_bench.abilities import ABILITIES
from snellen.suites.ava_bench.abilities.ability import Ability
from snellen.suites.ava_bench.transforms import Boxed, Cut, Labelled, Marked, ObjectNames, Padded, boxes_of

FORMAT = Axis(
    "format",
    ("auto", "with-format", "paper"),
    "the question of Table 1 followed by the form of the answer, or alone, for heads tuned on it",
)
BOXES = Axis(
    "boxes",
    ("auto", "depths", "drawn", "none"),
    "spatial and both depths: boxes around the objects in both depths, in all, or names alone (Figure 8a)",
)
LOOK = Axis(
    "look", ("auto", "image", "box"), "the whole image with its red box, or only the inside of the box, for encoders"
)
MARKS = Axis(
    "marks", ("pixels", "queries"), "only the drawn boxes, or also their positions, for probes with query positions"
)
AXES = (FORMAT, BOXES, LOOK, MARKS, BOX_UNIT, ORDER, PROMPT, IMAGES)


def resolve(condition: Condition, card: SubjectCard) -> Mapping[str, Value]:
    """Settings for `auto`: `format=paper` for heads, which were tuned on it, `with-format` for all others.

    A subject may declare its own (attribute `format`). `look=auto` is `box` for encoders, which see an image as a whole
    and have no instruction that explains a drawn box, and `image` for all others. `boxes=auto` is `drawn` for heads, as
    in the paper, and `depths` for all others, since boxes reveal the answer in spatial.
    """
    settings = dict(resolve_unit(condition, card))
    if condition["format"] == "auto":
        card_format = card.attributes.get("format", "")
        settings["format"] = (
            card_format if card_format in FORMAT.values[1:] else "paper" if card.fitted else "with-format"
        )
    if condition["look"] == "auto":
        settings["look"] = "box" if card.role == "encoder" else "image"
    if condition["boxes"] == "auto":
        settings["boxes"] = "drawn" if card.fitted else "depths"
    return settings


def wording(ability: Ability, view: View, condition: Condition) -> str:
    """The whole text of a prompt: the question, its options in one line, the form of the answer."""
    question = view.question
    if view.options and not prompts.lists_options(question):
        names = [view.reply.name(option.key) for option in view.options]
        question = f"{question} {prompts.list_options(ability.options_wording, names)}"
    if condition["format"] == "paper" or condition["prompt"] == "minimal":
        return question
    if view.reply.unit:
        return f"{question}\n{prompts.box_form(view.reply.unit)}"
    forms = prompts.FORMS if condition["prompt"] == "full" else prompts.SHORT_FORMS
    return f"{question}\n{forms[view.reply.kind]}"


def presented(ability: Ability, condition: Condition) -> Callable[[View], tuple[Part, ...]]:
    """The image, then the words, as in the authors' data."""

    def parts(view: View) -> tuple[Part, ...]:
        return (*view.query, wording(ability, view, condition))

    return parts


def _method(ability: Ability, condition: Condition) -> Method:
    return OneByOne(presented(ability, condition))


def _transforms(ability: Ability, item: Item, context: ViewContext) -> tuple[Transform, ...]:
    condition = context.condition
    hides_boxes = _hides_boxes(ability, item, condition)
    boxes = {} if hides_boxes else boxes_of(ability.boxes, item.regions)
    # If the stored pixels already have the box, there is none to cut out, and the whole image is shown.
    inside = ability.asks_inside_box and condition["look"] == "box" and bool(boxes)
    crop = (Cut(boxes.pop("red")),) if inside else ()
    return (
        *((ObjectNames(object_names(ability, item)),) if hides_boxes else ()),
        *order_transforms(condition["order"]),
        *((Labelled(ability.option_labels),) if item.options else ()),
        *crop,
        *((Boxed(boxes, ability.padded),) if boxes else (Padded(),) if ability.padded else ()),
        *((Marked(boxes),) if boxes and condition["marks"] == "queries" else ()),
        *((UnitFrame(str(condition["box_unit"])),) if item.answer_kind == "box" else ()),
        *control(condition["images"], context),
    )


def _hides_boxes(ability: Ability, item: Item, condition: Condition) -> bool:
    """True if the boxes of an item are not drawn: at `none`, and at `depths` if they reveal the answer."""
    boxes = condition["boxes"]
    if boxes == "depths":
        return ability.boxes_reveal_answer and bool(boxes_of(ability.boxes, item.regions))
    return boxes == "none"


def object_names(ability: Ability, item: Item) -> dict[str, str]:
    """The names of the objects in the boxes of an item, by the colour of the box."""
    factors = dict(zip(ability.boxes, ("thing", "reference"), strict=False))
    return {colour: item.factors[factor] for colour, factor in factors.items()}


def _asks(ability: Ability, item: Item, condition: Condition) -> bool:
    """True if an item can be asked under a condition.

    Only options of a choice can be shuffled, and not those that a released question lists itself. Boxes drawn into a
    stored image cannot be left out, and their positions are unknown. Without boxes an item must name its objects;
    encoders (`look=box`) do not read names.
    """
    if condition["order"] == "shuffled" and (not item.options or prompts.lists_options(item.question)):
        return False
    if _hides_boxes(ability, item, condition):
        is_named = ability.is_named is not None and ability.is_named(item)
        return is_named and condition["look"] != "box" and bool(boxes_of(ability.boxes, item.regions))
    return condition["marks"] == "pixels" or bool(boxes_of(ability.boxes, item.regions))


def _axes(ability: Ability) -> tuple[Axis, ...]:
    return (
        FORMAT,
        *((BOXES,) if ability.is_named else ()),
        *((LOOK,) if ability.asks_inside_box else ()),
        *((MARKS,) if ability.boxes else ()),
        *((BOX_UNIT,) if ability.kind == "box" else ()),
        *((ORDER,) if ability.has_options else ()),
        PROMPT,
        IMAGES,
    )


def make_task(ability: Ability) -> Task:
    """The task that asks about an ability."""
    return Task(
        id=ability.name,
        kind=ability.kind,
        axes=tuple(axis.name for axis in _axes(ability)),
        transforms=partial(_transforms, ability),
        method=partial(_method, ability),
        protocols=ability.protocols,
        train_split="train",
        asks=partial(_asks, ability),
        split_by=tuple(ability.subgroups),
        boxes=ability.boxes,
        boxes_only=ability.boxes_only,
        cheap_sight=ability.cheap_sight,
        question_for_people=lambda view: prompts.for_people(view.task, view.question),
        without_boxes=(BOXES.name, "none", *(("depths",) if ability.boxes_reveal_answer else ()))
        if ability.is_named
        else (),
    )


def make_tasks() -> dict[str, Task]:
    """The tasks of all registered abilities, by name."""
    return {name: make_task(ability) for name, ability in ABILITIES.items()}
