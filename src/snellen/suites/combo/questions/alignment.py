"""Abstraction Alignment (section 3.2, appendix B.3): natural categories that composites abstract.

The paper shows its 24 categories and 21 COCO names only in figures. Ours, with object, pose and view, are in
`choices/natural_categories.yaml`; they were chosen by looking at renders (`design/natural-categories.md`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import combinations

import numpy as np
import yaml
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from snellen.core.condition import Condition
from snellen.core.item import Item, Media, Montage, Option, Part, View
from snellen.core.seeds import stream
from snellen.core.suite import Method, Task, Transform, ViewContext
from snellen.presentation.controls import IMAGES, LAYOUT, ORDER, PROMPT, SHEET, Lettered, control, order_transforms
from snellen.presentation.methods import OneByOne
from snellen.presentation.presenters import Present, option_lines, with_layout
from snellen.stimuli.scenes import MATERIAL_VARIANTS, Appearance, Composite
from snellen.suites.combo import prompts
from snellen.suites.combo.items import STREAMS, SUITE, choice_item
from snellen.suites.combo.scoring import PROTOCOLS
from snellen.suites.combo.space import Mask, as_claims, members, required

Floats = NDArray[np.float64]
IMG2TEXT, TEXT2IMG = "img2text", "text2img"
PAPER_COUNT = 120
"""Questions of either task (Table 1)."""
DISTRACTORS = ("natural", "coco-plausible", "paper")
"""Sources of the wrong labels in img2text; the first is the default.

`natural`: other categories, in sets that reveal nothing (`option_sets`). `paper`: other categories and 21 COCO names
(appendix B.3), which are never right. `coco-plausible`: the same with COCO names that common sense does not rule out.
"""
SCALING_STEPS = 300
"""Number of iterations after which the marginals of `option_sets` are equal to at least five digits."""


class NaturalCategory(BaseModel):
    """One category: the joint that abstracts it, its rotation (degrees about axes, in sequence) and its views."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    primary: str
    anchor: str
    secondary: str
    pivot: str
    turn_deg: list[tuple[str, float]] = []
    azimuth_deg: tuple[float, float] = (0.0, 360.0)
    elevation_deg: tuple[float, float] = (20.0, 55.0)
    too_similar: list[str] = []
    why: str


class PlausibleName(BaseModel):
    """A COCO name that two blocks might represent, and the categories whose images it might describe."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    too_similar: list[str]


class NaturalCategories(BaseModel):
    """`choices/natural_categories.yaml`: our 24 categories, and two lists of 21 COCO names used only as distractors."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    categories: list[NaturalCategory]
    coco_names: list[str]
    coco_plausible: list[PlausibleName]


@cache
def natural_categories() -> NaturalCategories:
    """The categories of `choices/natural_categories.yaml`."""
    text = files("snellen.suites.combo").joinpath("choices", "natural_categories.yaml").read_text("utf-8")
    return NaturalCategories.model_validate(yaml.safe_load(text))


def joint_of(category: NaturalCategory) -> Mask:
    """The objects with the category's shapes and contact point, of any material and colour."""
    return members(
        {
            "shape/primary": [category.primary],
            "contact-point/anchor": [category.anchor],
            "shape/secondary": [category.secondary],
            "contact-point/pivot": [category.pivot],
        }
    )


def dressed(category: NaturalCategory, rng: np.random.Generator) -> Composite:
    """The category's object in random materials and colours."""
    first, second = (MATERIAL_VARIANTS[int(n)] for n in rng.integers(len(MATERIAL_VARIANTS), size=2))
    primary = Appearance(category.primary, first.kind, first.colour)  # type: ignore[arg-type]  # the yaml is checked by Appearance itself
    secondary = Appearance(category.secondary, second.kind, second.colour)  # type: ignore[arg-type]
    return Composite(primary, category.anchor, secondary, category.pivot)


def similar(first_name: str, second_name: str) -> bool:
    """True if two names may not be in one question: listed as too similar, or abstracted by the same joint."""
    catalogue = natural_categories()
    by_name = {category.name: category for category in catalogue.categories}
    too_similar = {category.name: category.too_similar for category in catalogue.categories}
    too_similar |= {entry.name: entry.too_similar for entry in catalogue.coco_plausible}
    if second_name in too_similar.get(first_name, ()) or first_name in too_similar.get(second_name, ()):
        return True
    if first_name in by_name and second_name in by_name:
        return bool((joint_of(by_name[first_name]) & joint_of(by_name[second_name])).any())
    return False


@cache
def option_sets() -> tuple[tuple[tuple[str, ...], ...], Floats]:
    """All sets of four dissimilar categories, with weights that give every category the same total weight.

    Such a set reveals nothing about the right name: if answers are equally frequent and their set is drawn by weight,
    each of the four is right equally often. Of all such weights these are the most even (generalized iterative
    scaling, Darroch and Ratcliff 1972). Sum 1, shape (sets,).
    """
    names = [category.name for category in natural_categories().categories]
    unlike = {frozenset(two) for two in combinations(names, 2) if not similar(*two)}
    sets = tuple(
        four for four in combinations(names, 4) if all(frozenset(two) in unlike for two in combinations(four, 2))
    )
    contains = np.array([[name in four for name in names] for four in sets], float)
    logs = np.zeros(len(names))
    for _ in range(SCALING_STEPS):
        weights = np.exp(contains @ logs)
        weights /= weights.sum()
        logs += np.log(4 / len(names) / (weights @ contains)) / 4
    return sets, weights


def natural_distractors(name: str, rng: np.random.Generator) -> list[str]:
    """Three other categories, drawn by the weights of `option_sets`."""
    sets, weights = option_sets()
    holding = [n for n, four in enumerate(sets) if name in four]
    shares = weights[holding]
    four = sets[holding[int(rng.choice(len(holding), p=shares / shares.sum()))]]
    return [other for other in four if other != name]


def distractors(name: str, rng: np.random.Generator, others: Sequence[str] = ()) -> list[str]:
    """Three names dissimilar to `name` and to each other, from the other categories and `others`."""
    names = [category.name for category in natural_categories().categories if category.name != name]
    names += others
    chosen: list[str] = []
    for n in rng.permutation(len(names)):
        if not any(similar(names[n], other) for other in (name, *chosen)):
            chosen.append(names[n])
        if len(chosen) == 3:
            break
    return chosen


def label_distractors(name: str, rng: np.random.Generator, setting: str) -> list[str]:
    """The wrong labels of an img2text question, for one of `DISTRACTORS`."""
    catalogue = natural_categories()
    if setting == "natural":
        return natural_distractors(name, rng)
    plausible = [entry.name for entry in catalogue.coco_plausible]
    return distractors(name, rng, catalogue.coco_names if setting == "paper" else plausible)


def img2text_item(
    n: int, name: str, image: Media, appearance: Mapping[str, str], seed: int, setting: str = DISTRACTORS[0]
) -> Item:
    """The item that asks which of four labels matches the image; `setting` is one of `DISTRACTORS`."""
    rng = stream(SUITE, STREAMS, seed, IMG2TEXT, n)
    names = [name, *label_distractors(name, rng, setting)]
    names = [names[k] for k in rng.permutation(4)]
    masks = {category.name: joint_of(category) for category in natural_categories().categories}
    nothing = np.zeros(9504, bool)  # no object abstracts a COCO name
    fits = {label: masks.get(label, nothing) for label in names}
    return choice_item(
        f"img2text-{n:04d}",
        task=IMG2TEXT,
        question=prompts.IMG2TEXT_QUESTION,
        query=(image,),
        answer=name,
        options=tuple(Option(label, label) for label in names),
        requires=required([(appearance, mask) for mask in fits.values()]),
        latent={"shows": {image.sha256: dict(appearance)}, "claims": as_claims(fits)},
    )


def text2img_item(n: int, name: str, renders: Mapping[str, tuple[Media, Mapping[str, str]]], seed: int) -> Item:
    """The item that asks which of four images resembles the label.

    `renders` maps the category of each image to the image and its appearance.
    """
    rng = stream(SUITE, STREAMS, seed, TEXT2IMG, n)
    names = [list(renders)[k] for k in rng.permutation(len(renders))]
    category = next(category for category in natural_categories().categories if category.name == name)
    joint = joint_of(category)
    keys = {f"image-{k}": label for k, label in enumerate(names, 1)}
    return choice_item(
        f"text2img-{n:04d}",
        task=TEXT2IMG,
        question=prompts.TEXT2IMG_QUESTION.format(label=name),
        query=(),
        answer=next(key for key, label in keys.items() if label == name),
        options=tuple(Option(key, "", (renders[label][0],)) for key, label in keys.items()),
        requires=required([(renders[label][1], joint) for label in names]),
        latent={
            "shows": {renders[label][0].sha256: dict(renders[label][1]) for label in names},
            "claims": as_claims(dict.fromkeys(keys, joint)),
            "about": "option",
        },
    )


# Presentation


def img2text_parts(prompt: str) -> Present:
    """Present the image, the question and four lettered labels."""

    def present(view: View) -> tuple[Part, ...]:
        lines = [prompts.ALIGNMENT_INTRO[prompt], view.question, option_lines(view), prompts.LETTER_FORM[prompt]]
        return (*view.query, "\n".join(filter(None, lines)))

    return present


def text2img_parts(prompt: str, single: bool) -> Present:
    """Present four lettered images, separate or on one sheet, then the question."""

    def present(view: View) -> tuple[Part, ...]:
        letters = [view.reply.name(option.key) for option in view.options]
        images = tuple(image for option in view.options for image in option.media)
        lines = [prompts.ALIGNMENT_INTRO_MANY[prompt], view.question, prompts.LETTER_FORM[prompt]]
        text = "\n".join(filter(None, lines))
        if single and len(images) == len(letters):
            return (Montage(images, 2, tuple(letters)), text)
        parts: list[Part] = []
        for letter, option in zip(letters, view.options, strict=True):
            parts += [f"{letter}:", *option.media]
        return (*parts, text)

    return present


def names_for(n: int, seed: int, task: str) -> Sequence[str]:
    """The category of each of `n` items: every category once per round, in random order."""
    names = [category.name for category in natural_categories().categories]
    rounds = -(-n // len(names))
    in_turn = [
        names[k] for r in range(rounds) for k in stream(SUITE, STREAMS, seed, task, "order", r).permutation(len(names))
    ]
    return in_turn[:n]


def _transforms(item: Item, context: ViewContext) -> tuple[Transform, ...]:
    return (*order_transforms(context.condition["order"]), Lettered(), *control(context.condition["images"], context))


def _img2text_method(condition: Condition) -> Method:
    return OneByOne(with_layout(img2text_parts(str(condition["prompt"])), condition["layout"]))


def _text2img_method(condition: Condition) -> Method:
    present = text2img_parts(str(condition["prompt"]), condition["sheet"] == "single")
    return OneByOne(with_layout(present, condition["layout"]))


TASKS = tuple(
    Task(
        id=name,
        kind="choice",
        axes=tuple(axis.name for axis in (SHEET, LAYOUT, ORDER, PROMPT, IMAGES)),
        transforms=_transforms,
        method=method,
        protocols=PROTOCOLS,
        question_for_people=lambda view: f"{prompts.ALIGNMENT_FOR_PEOPLE} {view.question}",
    )
    for name, method in ((IMG2TEXT, _img2text_method), (TEXT2IMG, _text2img_method))
)
