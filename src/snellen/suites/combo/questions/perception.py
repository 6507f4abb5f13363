"""Pattern Perception (section 3.2, Table 2): seven questions about one image, eight with the pivot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from snellen.core.condition import Axis, Condition
from snellen.core.errors import SnellenError
from snellen.core.item import Demo, Item, Media, Montage, Option, Part, Split, View
from snellen.core.plain_text import printable
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.core.suite import Method, Task, Transform, ViewContext
from snellen.presentation.controls import IMAGES, LAYOUT, ORDER, PROMPT, SHEET, control, order_transforms
from snellen.presentation.methods import OneByOne, Sheet
from snellen.presentation.presenters import Present, PresentMany, with_layout
from snellen.stimuli.scenes import ANCHORS, COLOURS, MATERIALS, PIVOTS, SHAPES, text_name
from snellen.suites.combo import prompts
from snellen.suites.combo.items import SUITE, choice_item
from snellen.suites.combo.scoring import PROTOCOLS
from snellen.suites.combo.space import as_claims, members, required

TASK = "pattern-perception"
SAMPLES = Axis("samples", (10, 1), "objects per call in pattern-perception (paper: 10, appendix D.1)")
QUESTIONS_A_CALL = Axis("questions", ("all", "one"), "all questions about an object in one call, or one per call")
PIVOT = Axis("pivot", ("off", "on"), "ask the eighth question too")
DEMOS = Axis("demos", ("none", "in-context"), "solved examples for contact point and materials (Figure 6)")
PAPER_COUNT = 5000
"""Number of test objects (Table 1)."""
QUESTIONS: Mapping[str, str] = {
    "primary-shape": "shape/primary",
    "primary-material": "material/primary",
    "primary-colour": "colour/primary",
    "secondary-shape": "shape/secondary",
    "secondary-material": "material/secondary",
    "secondary-colour": "colour/secondary",
    "anchor": "contact-point/anchor",
    "pivot": "contact-point/pivot",
}
"""Factor `question` -> dimension. The first seven are those of Table 2."""
_DIMENSIONS = {text: dimension for dimension, text in prompts.QUESTION.items()}
ANCHOR_QUESTION = prompts.QUESTION["contact-point/anchor"]
IN_CONTEXT = ("primary-material", "secondary-material", "anchor")
"""The questions with solved examples in Figure 6."""


def option_values(dimension: str, appearance: Mapping[str, str]) -> tuple[str, ...]:
    """The options of a question. Contact points are those of the object's shape, as the paper's 5/11 implies."""
    factor, part = dimension.split("/")
    if factor == "shape":
        return SHAPES
    if factor == "material":
        return MATERIALS
    if factor == "colour":
        return (*COLOURS, prompts.NO_COLOUR)
    shape = appearance["shape/primary" if part == "anchor" else "shape/secondary"]
    points = {str(key): tuple(names) for key, names in (ANCHORS if part == "anchor" else PIVOTS).items()}
    return points[shape]


def words(dimension: str, value: str) -> str:
    """A value as shown to a subject."""
    return prompts.NO_COLOUR_TEXT if value == prompts.NO_COLOUR else text_name(dimension, value)


def names(dimension: str, value: str) -> tuple[str, ...]:
    """The accepted names of a value: as shown, its key, synonyms, and American spellings."""
    british = (words(dimension, value), value, *prompts.ALSO.get(dimension.split("/")[0], {}).get(value, ()))
    american = (name.replace("colour", "color").replace("centre", "center") for name in british)
    return tuple(dict.fromkeys((*british, *american)))


def items_about(
    stimulus: str,
    image: Media,
    appearance: Mapping[str, str],
    split: Split,
    *,
    cluster: str,
    provenance: Mapping[str, object],
) -> list[Item]:
    """The eight items about one image. The factor `anchor` states whether the shape implies the contact point."""
    items = []
    anchor = "implied by the shape" if len(option_values("contact-point/anchor", appearance)) == 1 else "open"
    for question, dimension in QUESTIONS.items():
        options = option_values(dimension, appearance)
        fits = {value: members({dimension: [value]}) for value in options}
        item = choice_item(
            f"{stimulus}-{question}",
            task=TASK,
            split=split,
            question=prompts.QUESTION[dimension],
            query=(image,),
            answer=appearance[dimension],
            stimulus_id=stimulus,
            cluster_id=cluster,
            options=tuple(Option(value, words(dimension, value)) for value in options),
            factors={"question": question, "primary shape": appearance["shape/primary"], "anchor": anchor},
            requires=required([(appearance, mask) for mask in fits.values()]),
            latent={"shows": {image.sha256: dict(appearance)}, "claims": as_claims(fits)},
            provenance=dict(provenance),
        )
        items.append(item)
    return items


def asks(item: Item, condition: Condition) -> bool:
    """True if the condition asks the item: questions with one option never, the pivot only with `pivot=on`.

    With solved examples only the questions of Figure 6 are asked.
    """
    question = item.factors["question"]
    if len(item.options) == 1:
        return False
    if condition["demos"] == "in-context":
        return question in IN_CONTEXT
    return question != "pivot" or condition["pivot"] == "on"


@dataclass(frozen=True)
class AlsoNamed:
    """Accept other names of an option in addition to the one shown: the pattern is tested, not its spelling."""

    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view whose reply may contain any of the names; the one shown stays first."""
        dimension = _dimension(view.question)
        keys = tuple((name, option.key) for option in view.options for name in names(dimension, option.key))
        return replace(view, reply=replace(view.reply, keys=keys))


def _dimension(question: str) -> str:
    dimension = _DIMENSIONS.get(question)
    if dimension is None:
        raise SnellenError(f"{TASK} has no question {printable(question)!r:.80}; build the item set again")
    return dimension


@dataclass(frozen=True)
class InContext:
    """Solved examples from the train split, the same for all items: one per answer, for anchors one per shape too."""

    demos: Mapping[str, tuple[Demo, ...]]
    version: int = 1

    def __repr__(self) -> str:
        return f"InContext(questions={len(self.demos)}, version={self.version})"

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view with the examples as support."""
        return replace(view, support=self.demos.get(view.question, ()))


def in_context(context: ViewContext) -> InContext:
    """The examples of every question, drawn from train items by a separate stream; computed once per context."""
    transform: InContext | None = vars(context).get("in_context")
    if transform is None:
        transform = InContext(_examples(context))
        vars(context)["in_context"] = transform  # stored like a cached property, since every item needs it
    return transform


def _examples(context: ViewContext) -> dict[str, tuple[Demo, ...]]:
    train: dict[str, list[Item]] = {}
    for item in context.items:
        if item.split == "train" and asks(item, context.condition):
            train.setdefault(item.question, []).append(item)
    demos = {}
    for question, items in train.items():
        order = stream(SUITE, "in-context", question).permutation(len(items))
        # Two shapes have a base, and two a side: a contact point gets an example on every shape that has it.
        first = {
            (str(items[n].answer), items[n].factors["primary shape"] if question == ANCHOR_QUESTION else ""): items[n]
            for n in reversed(order)
        }
        demos[question] = tuple(Demo(item.query, answer, 0) for (answer, _), item in sorted(first.items()))
    return demos


# Presentation


def option_list(view: View) -> str:
    """The options of a question; contact points of all shapes, so that the options do not reveal the shape."""
    if view.question == ANCHOR_QUESTION:
        return prompts.ANCHOR_PLACES
    if view.question == prompts.QUESTION["contact-point/pivot"]:
        return prompts.PIVOT_PLACES
    return ", ".join(option.text for option in view.options)


def demo_parts(views: tuple[View, ...]) -> list[Part]:
    """The solved examples, each image once per question."""
    parts: list[Part] = []
    for view in {view.question: view for view in views if view.support}.values():
        dimension = _dimension(view.question)
        parts.append(view.question)
        for demo in view.support:
            parts += [*demo.media, f"Answer: {words(dimension, demo.answer)}"]
    return [prompts.DEMOS_INTRO, *parts] if parts else []


def sheet_parts(prompt: str, single: bool) -> PresentMany:
    """Present up to ten samples and their questions, to be answered on one JSON sheet."""

    def present(views: tuple[View, ...]) -> tuple[Part, ...]:
        stimuli = {view.stimulus_id: view.query for view in views}
        questions = {view.question: view for view in views}
        names = [f"q{n}" for n in range(1, len(questions) + 1)]
        question_lines = [
            f"{name}: {question} Options: {option_list(view)}."
            for name, (question, view) in zip(names, questions.items(), strict=True)
        ]
        count = f"{len(stimuli)} samples, one image each" if len(stimuli) > 1 else "one sample, one image"
        cells = ", ".join(f'"{name}": "..."' for name in names)
        example = f'[{{"sample": 1, {cells}}}]'
        samples: list[Part] = []
        if single:
            labels = tuple(f"Sample {n}" for n, query in enumerate(stimuli.values(), 1) for _ in query)
            images = tuple(image for query in stimuli.values() for image in query)
            samples = [Montage(images, 5, labels)] if images else []
        else:
            for number, query in enumerate(stimuli.values(), 1):
                samples += [f"Sample {number}:", *query]
        lines = [prompts.DESCRIPTION[prompt], prompts.SHEET[prompt].format(count=count), *question_lines]
        form = prompts.SHEET_FORM[prompt].format(example=example)
        return ("\n".join(filter(None, lines)), *demo_parts(views), *samples, form)

    return present


def one_parts(prompt: str) -> Present:
    """Present one sample and one question."""

    def present(view: View) -> tuple[Part, ...]:
        lines = [
            prompts.DESCRIPTION[prompt],
            f"{view.question} Options: {option_list(view)}.",
            prompts.ONE_FORM[prompt],
        ]
        return (*demo_parts((view,)), *view.query, "\n".join(filter(None, lines)))

    return present


def _transforms(item: Item, context: ViewContext) -> tuple[Transform, ...]:
    demos: tuple[Transform, ...] = (in_context(context),) if context.condition["demos"] == "in-context" else ()
    names = (*order_transforms(context.condition["order"]), AlsoNamed())
    return (*names, *demos, *control(context.condition["images"], context))


def _method(condition: Condition) -> Method:
    prompt, single, layout = str(condition["prompt"]), condition["sheet"] == "single", condition["layout"]
    samples, apart = int(condition["samples"]), condition["questions"] == "one"
    if samples == 1 and apart:
        return OneByOne(with_layout(one_parts(prompt), layout))
    return Sheet(samples, with_layout(sheet_parts(prompt, single), layout), by_question=apart)


AXES = (SAMPLES, QUESTIONS_A_CALL, PIVOT, DEMOS)
"""The axes of this task alone."""
TASKS = (
    Task(
        id=TASK,
        kind="choice",
        axes=tuple(axis.name for axis in (*AXES, SHEET, LAYOUT, ORDER, PROMPT, IMAGES)),
        transforms=_transforms,
        method=_method,
        protocols=PROTOCOLS,
        train_split="train",
        asks=asks,
        split_by=("question",),
        cheap_sight="shapes, materials and contact points are in the details of two touching objects",
        question_for_people=lambda view: view.question,
    ),
)
