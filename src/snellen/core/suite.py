"""Suites: tasks over common axes, and the recipes that make their items."""

from __future__ import annotations

import json
import typing
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.resources import files
from typing import Any, Literal, TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict

from snellen.core.annotations import Annotations
from snellen.core.build_options import BuildOptions
from snellen.core.condition import Axis, Condition, Value
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import AnswerKind, Item, Media, Split, View
from snellen.core.item_checks import STEP_SUITE
from snellen.core.printed import PrintedTable
from snellen.core.prompt import Prompt, Reply
from snellen.core.reproduction import Reproduction
from snellen.core.score import Protocol
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import SubjectCard

Dialogue: TypeAlias = Generator[tuple[Prompt, ...], tuple[Reply, ...], dict[str, str | None]]
"""Yields prompts that may be sent together, receives their replies in order, returns each item's text or None."""


class Method(typing.Protocol):
    """A way to ask about views. `run` is pure, so that it can be replayed from a record."""

    def group(self, views: Sequence[View]) -> list[tuple[View, ...]]:
        """Group the views of a task into dialogues, regardless of what is already answered."""
        ...

    def run(self, views: tuple[View, ...]) -> Dialogue:
        """The dialogue about one group of views."""
        ...


class Transform(typing.Protocol):
    """A change of the view under a condition: a frozen dataclass whose repr is kept on the run card."""

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The changed view. `rng` depends only on run seed, stimulus and transform, and is equal in all arms."""
        ...


@dataclass(frozen=True)
class ViewContext:
    """The inputs of transforms in addition to the item: condition, all items of the task, annotation tables."""

    condition: Condition
    items: Sequence[Item]
    annotations: Mapping[str, Annotations] = field(default_factory=dict)

    @cached_property
    def by_stimulus(self) -> Mapping[str, tuple[Media, ...]]:
        """All media of the items by stimulus, each once."""
        media_by_stimulus: dict[str, dict[Media, None]] = {}
        for item in self.items:
            media_by_stimulus.setdefault(item.stimulus_id, {}).update(dict.fromkeys(item.media()))
        return {stimulus: tuple(media) for stimulus, media in media_by_stimulus.items()}

    @cached_property
    def pool(self) -> tuple[Media, ...]:
        """All media of the items, each once."""
        return tuple(dict.fromkeys(image for media in self.by_stimulus.values() for image in media))


@dataclass(frozen=True)
class Trial:
    """Views answered in one dialogue."""

    views: tuple[View, ...]

    @property
    def trial_id(self) -> str:
        """Hash of the item ids, independent of the rest of the run; 12 hexadecimal digits."""
        return digest([view.item_id for view in self.views], 12)


Schedule: TypeAlias = Callable[[Sequence[Trial]], Generator[tuple[Trial, ...], dict[str, float], None]]
"""Yields trials that may be asked together and receives the scores of their items; may be fixed or adaptive."""


def replayed(
    schedule: Generator[tuple[Trial, ...], dict[str, float], None], score: Callable[[str], float]
) -> Iterator[tuple[Trial, ...]]:
    """The batches of a schedule whose items have known scores, by id, which are looked up for the next batch."""
    with suppress(StopIteration):
        batch = next(schedule)
        while True:
            yield batch
            batch = schedule.send({view.item_id: score(view.item_id) for trial in batch for view in trial.views})


def all_trials(trials: Sequence[Trial]) -> Generator[tuple[Trial, ...], dict[str, float], None]:
    """All trials at once."""
    yield tuple(trials)


@dataclass(frozen=True)
class Task:
    """One kind of question: its axes, and how it is shown, asked, trained on and scored.

    `transforms` receives the whole item, since a crop may need a region that the subject must not know. `train_split`
    is the split that subjects may learn from. `asks` decides whether an item is asked under a condition. `split_by`
    names factors whose levels get separate rows in the results. `boxes` names the regions that are drawn as boxes.
    `boxes_only` answers an item by the coordinates of its boxes alone, in terms that `applied` reads; `without_boxes`
    is the axis and its values under which none is drawn. `colour_only` answers by the colour that the question names,
    seen in the images of a `MediaFolder`. `cheap_sight` states why a thumbnail does not suffice for the ability; empty
    if it may, or if a forest cannot learn the task. `question_for_people` words a question of one view for people,
    without the form of the reply and the list of options; None: they get the prompt of models. `schedule` gives, for
    the test items, the order in which they are asked as answers arrive (None: all are asked).
    """

    id: str
    kind: AnswerKind
    axes: tuple[str, ...]
    transforms: Callable[[Item, ViewContext], tuple[Transform, ...]]
    method: Callable[[Condition], Method]
    protocols: Mapping[str, Protocol]
    train_split: Split | None = None
    asks: Callable[[Item, Condition], bool] = lambda item, condition: True
    split_by: tuple[str, ...] = ()
    boxes: tuple[str, ...] = ()
    boxes_only: Callable[[Item], Any] | None = None
    without_boxes: tuple[str, ...] = ()
    colour_only: Callable[[Item, Any], Any] | None = None
    cheap_sight: str = ""
    question_for_people: Callable[[View], str] | None = None
    schedule: Callable[[Sequence[Item]], Schedule] | None = None


class Ceiling(BaseModel):
    """The score of people, with its source."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: str
    metric: str
    value: float
    source: str
    factor: str = ""
    level: str = ""


Need: TypeAlias = Literal["shape", "colour", "number", "place", "depth", "text", "matching", "learning", "scene"]
"""What a task mainly needs; groups of the front page, in this order."""


class TaskName(BaseModel):
    """A task for readers who do not know the suite: a short question or noun, and what it mainly needs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    needs: Need


class SuiteCard(BaseModel):
    """`suite.yaml`: what the suite measures, its source, and its deviations from the paper.

    `needs_real` names the tasks and axis values (`axis=value`) that cannot be generated, each with the reason. `words`
    complete "cannot tell …" for readers who do not know the suite: by name in `requires`, or by `factor=level`. Under
    `factor=` they are a noun for the factor, whose other levels are named as they are. `tasks` has a short name and the
    need of each task for the front page, `measure_words` the items' measures in words.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    title: str
    measures: str
    paper: str
    version: str
    counts: dict[str, int]
    ceilings: list[Ceiling] = []
    deviations: list[str] = []
    needs_real: dict[str, str] = {}
    words: dict[str, str] = {}
    tasks: dict[str, TaskName] = {}
    measure_words: dict[str, str] = {}
    changelog: list[str] = []

    def task_title(self, task: str, suite: str = "") -> str:
        """The short name of a task with its id, e.g. `where is it? (localization)`; the id alone without a name.

        `suite` is that of an id that needs it.
        """
        task_id, known = f"{suite}{suite and '/'}{task}", self.tasks.get(task)
        return f"{known.name} ({task_id})" if known else task_id


def read_suite_card(package: str) -> SuiteCard:
    """The card of a suite: `suite.yaml` in its package."""
    import yaml

    text = files(package).joinpath("suite.yaml").read_text("utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml is ten times as fast
    return SuiteCard.model_validate(yaml.load(text, loader))


class Recipe(typing.Protocol):
    """One way to make the items of a suite. A recipe with `settings` declares them as an attribute of that name.

    One with `opening`, a task and a number, promises that a set of so many test items of this task alone has the same
    test items as the whole set has first.
    """

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """Everything that determines the items, as plain JSON data; kept on the card."""
        ...

    def plan(self, options: BuildOptions) -> Mapping[str, Any]:
        """Expected counts, time and disk space, as plain data with plain integers. Writes nothing."""
        ...

    def build(self, options: BuildOptions) -> ItemSet:
        """Make the set in `options.out`, reusing what a killed build left."""
        ...


def recorded_parameters(recipe: Recipe, options: BuildOptions) -> dict[str, Any]:
    """The recipe's parameters as on the card of a set: plain JSON data; `parts` is its number of instalments."""
    instalments = {"parts": options.instalments} if options.instalments > 1 else {}
    plain: dict[str, Any] = json.loads(json.dumps({**recipe.parameters(options), **instalments}))
    return plain


@dataclass(frozen=True)
class Suite:
    """Tasks over common axes. `resolve` replaces axis values of `auto` using only the subject's card.

    Recipes that make the suite's own items are called generated, curated and released. `report_inputs` names inputs
    that `snellen report --input NAME=…` passes to the sections. `blind_renderer` makes the images of the sets on which
    blind scores are measured: blank, unless truths are read from pixels. With `tasks_of`, an item set determines the
    tasks (`of_items`), and `tasks` is empty. `terms` gives scenes to render (`RenderSpec`) that show people what words
    in generated questions mean. `reproductions` says what the paper's tables take, by name.
    """

    card: SuiteCard
    axes: tuple[Axis, ...]
    tasks: Mapping[str, Task]
    recipes: Mapping[str, Recipe]
    resolve: Callable[[Condition, SubjectCard], Mapping[str, Value]] = lambda condition, card: {}
    published: Callable[[], Iterable[PrintedTable]] | None = None
    sections: Callable[..., Iterable[Any]] | None = None
    report_inputs: tuple[str, ...] = ()
    blind_renderer: str = "blank"
    tasks_of: Callable[[Sequence[Item]], Mapping[str, Task]] | None = None
    terms: Callable[[], Mapping[str, Any]] | None = None
    reproductions: Callable[[], Mapping[str, Reproduction]] = dict

    def __repr__(self) -> str:
        return f"<Suite {self.name} version {self.card.version}: {len(self.tasks)} tasks>"

    @property
    def name(self) -> str:
        """The suite's name on the command line."""
        return self.card.name

    def of_items(self, items: ItemSet) -> Suite:
        """The suite with the tasks of an item set; the suite itself if its tasks are fixed."""
        return self if self.tasks_of is None else replace(self, tasks=self.tasks_of(items.items))


MAX_ABILITIES, MAX_LEVELS = 500, 20_000
"""Abilities that the items of a set may require, and levels of factors in results: each has rows of its own."""


def check_items(items: ItemSet, suite: Suite) -> None:
    """Raise SnellenError, naming the row, for an item of an unknown task, without an answer, or without an image.

    Items of curation steps may lack both: their answers are unknown, and some are about words alone.
    """
    path, suite = items.root / "items.parquet", suite.of_items(items)
    if (count := len({name for item in items.items for name in item.requires})) > MAX_ABILITIES:
        raise SnellenError(f"{path}: items require {count} abilities, more than {MAX_ABILITIES}; build the set again")
    split = {factor for task in suite.tasks.values() for factor in task.split_by}
    levels = {(factor, item.factors.get(factor)) for item in items.items for factor in split & item.factors.keys()}
    if len(levels) > MAX_LEVELS:
        raise SnellenError(f"{path}: factors have {len(levels)} levels, more than {MAX_LEVELS}; build it with others")
    for number, item in enumerate(items.items):
        task = suite.tasks.get(item.task)
        location = f"{path} row {number}"
        if task is None or (item.answer_kind != task.kind and suite.name != STEP_SUITE):
            raise SnellenError(
                f"{location}: {suite.name} has no task {item.task!r:.60} of {item.answer_kind}; build it again"
            )
        if suite.name != STEP_SUITE and next(item.media(), None) is None:
            raise SnellenError(f"{location}: {item.item_id!r} shows no image; build the item set again")
        if suite.name != STEP_SUITE and item.answer is None and item.answer_kind != "description":
            raise SnellenError(f"{location}: {item.item_id!r} has no answer; build the item set again")
        if item.answer is not None and (metric := _undefined(item, task)):
            raise SnellenError(
                f"{location}: {metric} is undefined if the answer is {item.answer!r:.60}; build the item set again"
            )


def _undefined(item: Item, task: Task) -> str:
    """The name of a metric that is undefined for the item, or an empty text."""
    metrics = (metric for protocol in task.protocols.values() for metric in protocol.metrics)
    return next((metric.name for metric in metrics if not metric.is_defined(item)), "")


def settle(condition: Condition, suite: Suite, card: SubjectCard) -> Condition:
    """The condition with every `auto` replaced by its value for this subject."""
    return with_columns(condition, suite.resolve(condition, card))


def with_columns(condition: Condition, resolved: Mapping[str, Value]) -> Condition:
    """The condition with these values of axes, such as those that a run's card states."""
    columns = {**condition.columns(), **resolved}
    return Condition(
        condition.axes, tuple((a.name, columns[a.name]) for a in condition.axes if columns[a.name] != a.default)
    )
