"""Suites: tasks over common axes, and the recipes that make their items."""

from __future__ import annotations

import typing
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict

from snellen.core.annotations import Annotations
from snellen.core.condition import Axis, Condition, Value, refuse_unknown
from snellen.core.errors import SnellenError
from snellen.core.fidelity import PrintedNumber
from snellen.core.hashing import digest
from snellen.core.item import AnswerKind, Item, Media, Split, View
from snellen.core.item_checks import STEP_SUITE
from snellen.core.prompt import Prompt, Reply
from snellen.core.score import Protocol
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import SubjectCard

SIZE_PX, QUICK_SIZE_PX, CHECKUP_SIZE_PX = (640, 480), (240, 180), (384, 288)
"""Width and height of generated images: of a build, of a quick one, and of the checkup."""
MIN_SIDE_PX, MAX_SIDE_PX = 90, 4096
"""What generated images may measure across and along."""

Dialogue: TypeAlias = Generator[tuple[Prompt, ...], tuple[Reply, ...], dict[str, str | None]]
"""Yields prompts that may go at once, is sent their replies in order, returns each item's answering text, or None."""


class Method(typing.Protocol):
    """How views become calls. `run` is pure, so that whoever drives it can replay it from a record."""

    def group(self, views: Sequence[View]) -> list[tuple[View, ...]]:
        """Which views share a talk. Decided over all views of a task, whatever is already answered."""
        ...

    def run(self, views: tuple[View, ...]) -> Dialogue:
        """The talk about views that belong together."""
        ...


class Transform(typing.Protocol):
    """How a condition changes what is shown: a frozen dataclass whose repr is what the run card says of it."""

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view as changed. `rng` depends on run seed, stimulus and transform alone: equal in all arms."""
        ...


@dataclass(frozen=True)
class ViewContext:
    """What transforms may need beside the item: the condition, all items of the task, annotation tables."""

    condition: Condition
    items: Sequence[Item]
    annotations: Mapping[str, Annotations] = field(default_factory=dict)

    @cached_property
    def by_stimulus(self) -> Mapping[str, tuple[Media, ...]]:
        """Everything the items show, by stimulus, each once."""
        media_by_stimulus: dict[str, dict[Media, None]] = {}
        for item in self.items:
            media_by_stimulus.setdefault(item.stimulus_id, {}).update(dict.fromkeys(item.media()))
        return {stimulus: tuple(media) for stimulus, media in media_by_stimulus.items()}

    @cached_property
    def pool(self) -> tuple[Media, ...]:
        """Everything the items show, each once."""
        return tuple(dict.fromkeys(image for media in self.by_stimulus.values() for image in media))


@dataclass(frozen=True)
class Trial:
    """Views that one talk answers together."""

    views: tuple[View, ...]

    @property
    def trial_id(self) -> str:
        """Hash of the item ids, independent of everything else in the run; 12 hexadecimal digits."""
        return digest([view.item_id for view in self.views], 12)


Schedule: TypeAlias = Callable[[Sequence[Trial]], Generator[tuple[Trial, ...], dict[str, float], None]]
"""Yields trials that may go at once, is sent the scores of their items: a fixed list, or an adaptive one."""


def all_trials(trials: Sequence[Trial]) -> Generator[tuple[Trial, ...], dict[str, float], None]:
    """All trials at once."""
    yield tuple(trials)


def _always(item: Item, condition: Condition) -> bool:
    return True


@dataclass(frozen=True)
class Task:
    """One kind of question: which axes it knows, and how it is shown, asked, trained on and scored.

    `transforms` sees the whole item, since a crop may need a region that the subject must not be told. `train_split`
    is the split that subjects may learn from. `asks` says whether an item is asked under a condition at all.
    `split_by` names factors whose levels get rows of their own in the results.
    """

    id: str
    kind: AnswerKind
    axes: tuple[str, ...]
    transforms: Callable[[Item, ViewContext], tuple[Transform, ...]]
    method: Callable[[Condition], Method]
    protocols: Mapping[str, Protocol]
    train_split: Split | None = None
    asks: Callable[[Item, Condition], bool] = _always
    split_by: tuple[str, ...] = ()


class Ceiling(BaseModel):
    """How well people do, with its source."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: str
    metric: str
    value: float
    source: str
    factor: str = ""
    level: str = ""


class SuiteCard(BaseModel):
    """`suite.yaml`: what the suite measures, where it comes from, and where it departs from its paper.

    `needs_real` names tasks, and values of axes written `axis=value`, that the generated recipe has nothing for, each
    with the reason.
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
    changelog: list[str] = []


def read_suite_card(package: str) -> SuiteCard:
    """The card of a suite: `suite.yaml` in its package."""
    import yaml

    text = files(package).joinpath("suite.yaml").read_text("utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml reads the same ten times as fast
    return SuiteCard.model_validate(yaml.load(text, loader))


Settings: TypeAlias = Mapping[str, tuple[str, ...]]
"""What a recipe may be set to beside its sizes: name -> values, of which the first is the default."""


@dataclass(frozen=True)
class BuildOptions:
    """What a recipe is told.

    `n` is the number of test items a task, None for the checkup size; `tasks` empty means all. `balance` says whose
    frequencies answers have: the paper's own, or level ones (`answers`), so that no base rate helps who does not look.
    `rules` is a file of thresholds that differ from the recipe's own, `encoder` the one by whose features it chooses.
    `settings` are those that the recipe declares (`Recipe.settings`). `size` is width and height of generated images,
    None for the usual ones (`size_px`).
    """

    out: Path
    seed: int = 0
    n: int | None = None
    full: bool = False
    tasks: tuple[str, ...] = ()
    sources: Mapping[str, Path] = field(default_factory=dict)
    inputs: Mapping[str, Path] = field(default_factory=dict)
    workers: int = 1
    renderer: str = "mitsuba"
    quality: str = "good"
    quick: bool = False
    size: tuple[int, int] | None = None
    rules: Path | None = None
    encoder: str = ""
    balance: Literal["paper", "answers"] = "paper"
    settings: Mapping[str, str] = field(default_factory=dict)
    show_progress: bool = True

    def test_items(self, suite: str, checkup: int, quick: int) -> int:
        """How many test items a task are wanted: `n`, else the suite's checkup or quick size.

        Raises SnellenError for less than one.
        """
        self.need_items(suite)
        return self.n if self.n is not None else quick if self.quick else checkup

    def balanced(self) -> dict[str, Any]:
        """What the card of a recipe keeps of `balance`: nothing where it is the paper's."""
        return {} if self.balance == "paper" else {"balance": self.balance}

    @property
    def size_px(self) -> tuple[int, int]:
        """Width and height of generated images."""
        return self.size or (QUICK_SIZE_PX if self.quick else SIZE_PX)

    def size_notes(self) -> list[str]:
        """What the card says of images that are smaller than usual ones."""
        (width, height), (usual_width, usual_height) = self.size_px, SIZE_PX
        if width * height >= usual_width * usual_height:
            return []
        return [
            f"images of {width}x{height} pixels, smaller than the usual {usual_width}x{usual_height}: small things "
            "are harder to see in them"
        ]

    def setting(self, name: str, settings: Settings) -> str:
        """The value of one of a recipe's settings. Raises SnellenError with the nearest one there is."""
        value = self.settings.get(name, settings[name][0])
        refuse_unknown([value], settings[name], f"--set {name}:")
        return value

    def changed(self, settings: Settings) -> dict[str, Any]:
        """What the card of a recipe keeps of its settings: those that are not at their default."""
        values = {name: self.setting(name, settings) for name in settings}
        changed = {name: value for name, value in values.items() if value != settings[name][0]}
        return {"settings": changed} if changed else {}

    def rendering(self) -> dict[str, Any]:
        """What decides how images are rendered, as the card of a recipe `generated` keeps it."""
        return {
            "seed": self.seed,
            "full": self.full,
            "quick": self.quick,
            "size_px": list(self.size_px),
            "renderer": self.renderer,
            **({"quality": self.quality} if self.renderer == "mitsuba" else {}),
        }

    def refuse_others(self, location: str, tasks: Iterable[str], sources: Iterable[str]) -> None:
        """Raise SnellenError, beginning with `location`, for tasks and sources other than these, and for inputs."""
        refuse_unknown(self.tasks, tasks, f"{location}: no task")
        refuse_unknown(self.sources, sources, f"{location}: no source")
        if self.inputs:
            raise SnellenError(f"{location}: no use for --input {next(iter(self.inputs))!r}; it takes none")

    def need_items(self, suite: str) -> None:
        """Raise SnellenError where less than one item is wanted."""
        if self.n is not None and self.n < 1:
            raise SnellenError(f"{suite}: --n {self.n} makes no items; give 1 or more")


class Recipe(typing.Protocol):
    """One way to the items of a suite. One that has `settings` declares them as an attribute of that name."""

    def parameters(self, options: BuildOptions) -> Mapping[str, Any]:
        """What the card keeps as the recipe: everything that decides the items, as plain JSON data."""
        ...

    def plan(self, options: BuildOptions) -> Mapping[str, Any]:
        """What would be made: counts, time, disk. Plain data with plain integers; nothing is written."""
        ...

    def build(self, options: BuildOptions) -> ItemSet:
        """Make the set in `options.out`; what a kill left behind is used again."""
        ...


def printed_number(
    task: str, metric: str, subject: str, value: float, source: str, *, factor: str = "", level: str = ""
) -> dict[str, Any]:
    """A number as a paper prints it, in the columns of results: shares as fractions; `source` names table and row."""
    return {
        "task": task,
        "metric": metric,
        "subject": subject,
        "factor": factor,
        "level": level,
        "value": value,
        "source": source,
    }


@dataclass(frozen=True)
class Suite:
    """Tasks over common axes. `resolve` settles axes left at `auto` by the subject's card, on top of nothing else.

    `recipes` are called generated, curated and released where they lead to the suite's own items. `report_inputs` names
    what `snellen report --input NAME=…` may hand to the sections. `blind_renderer` makes the images of sets that
    blind scores are measured on: blank, unless truths are read off pixels. `derived_numbers` are the paper's printed
    numbers that others decide, each computed again, and those that nothing printed decides.
    """

    card: SuiteCard
    axes: tuple[Axis, ...]
    tasks: Mapping[str, Task]
    recipes: Mapping[str, Recipe]
    resolve: Callable[[Condition, SubjectCard], Mapping[str, Value]]
    published: Callable[[], Iterable[Mapping[str, Any]]] | None = None
    derived_numbers: Callable[[], Iterable[PrintedNumber]] | None = None
    sections: Callable[..., Iterable[Any]] | None = None
    report_inputs: tuple[str, ...] = ()
    blind_renderer: str = "blank"

    def __repr__(self) -> str:
        return f"<Suite {self.name} version {self.card.version}: {len(self.tasks)} tasks>"

    @property
    def name(self) -> str:
        """The name written on the command line."""
        return self.card.name


def check_items(items: ItemSet, suite: Suite) -> None:
    """Raise SnellenError, naming the row, for an item of no task of the suite, without an answer, or without an image.

    Items of curation steps may lack both: they are asked since nobody knows what is right, some about words alone.
    """
    path = items.root / "items.parquet"
    for number, item in enumerate(items.items):
        task = suite.tasks.get(item.task)
        location = f"{path} row {number}"
        if task is None:
            raise SnellenError(f"{location}: {suite.name} has no task {item.task!r:.60}; build the item set again")
        if suite.name != STEP_SUITE and next(item.media(), None) is None:
            raise SnellenError(f"{location}: {item.item_id!r} shows no image; build the item set again")
        if suite.name != STEP_SUITE and item.answer is None and item.answer_kind != "description":
            raise SnellenError(f"{location}: {item.item_id!r} has no answer; build the item set again")
        if item.answer is not None and (metric := _undefined(item, task)):
            raise SnellenError(
                f"{location}: no reply has a {metric} where the answer is {item.answer!r:.60}; build the item set again"
            )


def _undefined(item: Item, task: Task) -> str:
    """The name of a metric by which the item cannot be scored, or nothing."""
    metrics = (metric for protocol in task.protocols.values() for metric in protocol.metrics)
    return next((metric.name for metric in metrics if not metric.is_defined(item)), "")


def settle(condition: Condition, suite: Suite, card: SubjectCard) -> Condition:
    """The condition with every `auto` replaced by what it means for this subject; its written form stays apart."""
    resolved = suite.resolve(condition, card)
    columns = {**condition.columns(), **resolved}
    return Condition(
        condition.axes, tuple((a.name, columns[a.name]) for a in condition.axes if columns[a.name] != a.default)
    )
