"""Training examples of a subject: the call as it would be asked, and the right reply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np

from snellen.core.condition import Axis, Condition
from snellen.core.item import Affine, Item, Media, Montage, Part, ReplySpec, View
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.itemset import read_itemset, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base, Subject, SubjectCard, TrainingExample
from snellen.core.suite import Method, Suite, Transform, ViewContext
from snellen.presentation.methods import OneByOne, PerceiveThenClassify
from snellen.runs.asking.ask import ask
from snellen.runs.asking.views import training_example
from snellen.runs.planning.plan import Plan
from tests.helpers.journey import RGB, arm, colour_set, patch, suite_of


@dataclass(frozen=True)
class Pupil(Base):
    """Stores its training examples and its calls."""

    examples: list[TrainingExample] = field(default_factory=list)
    prompts: list[Prompt] = field(default_factory=list)

    async def fit(self, examples: Sequence[TrainingExample], media: MediaFolder) -> Subject:
        self.examples.extend(examples)
        return self

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        self.prompts.append(prompt)
        return Reply("red")


def asked_twice(root: Path, suite: Suite, reads: Literal["parts", "views"], condition: str = "vanilla") -> Pupil:
    """Each item once for training and once for testing."""
    built = colour_set(root / "first")
    both = [replace(item, split=split, item_id=f"{split}-{item.item_id}", stimulus_id=item.item_id)
            for split in ("train", "test") for item in built.items]  # fmt: skip
    write_itemset(root / "first", both, source="generated", recipe={"seed": 1})
    pupil = Pupil(SubjectCard("own:pupil", reads=reads, max_concurrency=1))
    ask(root / "run", Plan(read_itemset(root / "first"), suite, [arm(pupil, suite, condition)]))
    return pupil


def numbered(item: Item, context: ViewContext) -> tuple[Transform, ...]:
    def rename(view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        keys = tuple((f"{n}. {option.text}", option.key) for n, option in enumerate(view.options, 1))
        return replace(view, reply=replace(view.reply, keys=keys))

    return (rename,) if context.condition["names"] == "numbered" else ()


def on_a_sheet(condition: Condition) -> Method:
    def present(view: View) -> tuple[Part, ...]:
        return (Montage((*view.query, *view.query), 2), f"{condition['names']}: which colour?")

    return OneByOne(present)


NAMES = Axis("names", ("plain", "numbered"), "options as they are, or with numbers")
SUITE = suite_of(NAMES, train_split="train", transforms=numbered, method=on_a_sheet)


def test_the_prompt_of_a_training_example_is_the_one_that_would_be_sent(tmp_path: Path) -> None:
    pupil = asked_twice(tmp_path, SUITE, "parts", "names=numbered")
    assert len(pupil.examples) == len(pupil.prompts) == 4
    for example, prompt in zip(pupil.examples, pupil.prompts, strict=True):
        assert example.prompt is not None
        assert example.prompt.parts == prompt.parts
        assert example.prompt.views == (example.view,)
        sheet, words = example.prompt.parts
        assert isinstance(sheet, Media), "montages are laid out, as in a sent prompt"
        assert words == "numbered: which colour?"
    # RGB is red, green, blue, and the fourth item is red again.
    assert [example.target for example in pupil.examples] == ["1. red", "2. green", "3. blue", "1. red"]
    assert [example.answer for example in pupil.examples] == ["red", "green", "blue", "red"]


def test_training_examples_for_readers_of_views_have_no_montage(tmp_path: Path) -> None:
    pupil = asked_twice(tmp_path, SUITE, "views")
    assert all(example.prompt and isinstance(example.prompt.parts[0], Montage) for example in pupil.examples)
    assert [example.target for example in pupil.examples] == ["red", "green", "blue", "red"]


def test_questions_of_several_calls_have_a_target_and_no_prompt(tmp_path: Path) -> None:
    def parts(view: View, description: str = "") -> tuple[Part, ...]:
        return (*view.query, description)

    several = suite_of(train_split="train", method=lambda c: PerceiveThenClassify(parts, parts, "Describe it."))
    pupil = asked_twice(tmp_path, several, "parts")
    assert [(example.prompt, example.target) for example in pupil.examples] == [(None, name) for name in [*RGB, "red"]]


def test_training_items_that_cannot_be_learned_are_left_out_and_counted(tmp_path: Path) -> None:
    def ask_for_a_box(view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        return replace(view, reply=ReplySpec("box")) if view.item_id == "001" else view

    teaching = [replace(item, split="train") for item in colour_set(tmp_path / "set", 2).items]
    write_itemset(tmp_path / "set", teaching, source="generated", recipe={"seed": 1})
    method = OneByOne(lambda view: ("?",))
    suite = suite_of(
        train_split="train", transforms=lambda item, context: (ask_for_a_box,), method=lambda condition: method
    )
    lines, pupil = list[str](), Pupil(SubjectCard("own:pupil"))
    ask(tmp_path / "run", Plan(read_itemset(tmp_path / "set"), suite, [arm(pupil, suite)], notify=lines.append))
    assert [example.target for example in pupil.examples] == ["red"]
    assert "own:pupil: 1 training items of task are left out: 1 × ValueError: " in lines[0]


def test_a_target_uses_the_terms_of_the_reply(tmp_path: Path) -> None:
    image = patch(MediaFolder(tmp_path), RGB["red"], size=(40, 20))
    # An image of 40 x 20: x in shares is x / 40, y is y / 20.
    shares = ReplySpec("box", frame=Affine(1 / 40, 0, 0, 0, 1 / 20, 0))
    targets: list[tuple[ReplySpec, object, str]] = [
        (shares, [10, 5, 30, 20], "[0.25, 0.25, 0.75, 1.0]"),
        (ReplySpec("colour"), [1.6, 2, 255], "[2, 2, 255]"),
        (ReplySpec("integer"), 7, "7"),
        (ReplySpec("text"), "Snellen", "Snellen"),
    ]
    for spec, answer, target in targets:
        example = training_example(View("1", "1", "task", "?", (image,), spec), answer, OneByOne())
        assert (example.answer, example.target) == (answer, target)
