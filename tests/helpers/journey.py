"""Small items, suites and subjects by hand, and the results of their runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
from PIL import Image

from snellen.analysis.grading.results import results
from snellen.core.condition import Axis, parse_conditions
from snellen.core.item import AnswerKind, Item, Media, Option
from snellen.core.prompt import Prompt, Reply
from snellen.core.response import Response
from snellen.core.storage.itemset import ItemSet, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.runfolder import read_run_card
from snellen.core.subject import Base, Subject, SubjectCard, TrainingExample
from snellen.core.suite import Schedule, Suite, SuiteCard, Task, all_trials
from snellen.presentation.methods import OneByOne
from snellen.runs.planning.plan import Arm
from snellen.runs.scores.score import score
from snellen.scoring.protocols import strict

STRICT = strict()
PUBLISHED = replace(STRICT, name="published", unreadable="left out")


@dataclass(frozen=True)
class Says(Base):
    """Replies with the result of a function of the prompt, or with a fixed text."""

    says: Callable[[Prompt], str] | str

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        return Reply(self.says if isinstance(self.says, str) else self.says(prompt))


def says(name: str, reply: Callable[[Prompt], str] | str, **card: Any) -> Subject:
    return Says(SubjectCard(name, **card), reply)


@dataclass(frozen=True)
class Watched:
    """A subject whose every call is passed to `record` before it is made."""

    inner: Subject
    record: Callable[[Prompt], object]

    @property
    def card(self) -> SubjectCard:
        return replace(self.inner.card, max_concurrency=1)

    def declines(self, prompt: Prompt) -> str | None:
        return self.inner.declines(prompt)

    async def fit(self, examples: Sequence[TrainingExample], media: MediaFolder) -> Subject:
        return replace(self, inner=await self.inner.fit(examples, media))

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        self.record(prompt)
        await asyncio.sleep(0)  # others may start meanwhile
        return await self.inner.answer(prompt, media, rng)


def patch(media: MediaFolder, rgb: Sequence[int], size: tuple[int, int] = (8, 6), mark: int = 0) -> Media:
    """A flat image; `mark` makes another file of the same colour."""
    pixels = np.full((size[1], size[0], 3), rgb, np.uint8)
    pixels[0, 0, 0] = (int(pixels[0, 0, 0]) + mark) % 256
    return media.add_image(Image.fromarray(pixels))


def item(item_id: str, query: Sequence[Media], answer: Any, kind: AnswerKind, **fields: Any) -> Item:
    fields = {"question": "?", "stimulus_id": item_id, "group_id": item_id, "task": "task", **fields}
    fields = {"cluster_id": fields["group_id"], **fields}
    return Item(item_id, "hard", query=tuple(query), answer=answer, answer_kind=kind, **fields)


def task(**fields: Any) -> Task:
    """A task named `task` that shows items unchanged and asks one by one by default."""
    plain: dict[str, Any] = {
        "id": "task", "kind": "choice", "axes": (), "transforms": lambda item, context: (),
        "method": lambda condition: OneByOne(), "protocols": {"strict": STRICT, "published": PUBLISHED},
    }  # fmt: skip
    return Task(**{**plain, **fields})


def suite_of(
    *axes: Axis, tasks: Sequence[Task] = (), resolve: Any = lambda condition, card: {}, **fields: Any
) -> Suite:
    """A suite of `tasks`, or of one `task(**fields)`."""
    all_tasks = tasks or (task(axes=tuple(axis.name for axis in axes), **fields),)
    card = SuiteCard(name="hard", title="Hard cases", measures="the core", paper="none", version="1", counts={})
    return Suite(card, axes, {each.id: each for each in all_tasks}, {}, resolve)


def arm(
    subject: Subject, suite: Suite, condition: str = "vanilla", repeat: int = 0, schedule: Schedule = all_trials
) -> Arm:
    (point,) = parse_conditions(suite.axes, condition)
    return Arm(subject, point, repeat, schedule)


def watched(arms: Sequence[Arm], record: Callable[[Prompt], object]) -> list[Arm]:
    return [replace(arm, subject=Watched(arm.subject, record)) for arm in arms]


def tabulate(root: Path, responses: Sequence[Response], built: ItemSet, suite: Suite) -> pd.DataFrame:
    """The results of a run under `strict` and `published`."""
    arms = read_run_card(root).arms
    tables = [results(score(responses, built, suite, name), built, suite, arms) for name in ("strict", "published")]
    return pd.concat(tables, ignore_index=True)


def row(table: pd.DataFrame, **cells: Any) -> Any:
    """The only whole-task row that matches; `factor` and `level` may select another."""
    for name, value in {"factor": "", "level": "", **cells}.items():
        table = table[table[name] == value]
    assert len(table) == 1, table
    return cast(Any, table.iloc[0])


def value(table: pd.DataFrame, **cells: Any) -> float:
    return float(row(table, **cells)["value"])


RGB = {"red": (220, 20, 20), "green": (20, 200, 20), "blue": (20, 20, 220)}
NAMED = tuple(Option(name, name) for name in RGB)


def colour_set(root: Path, n: int = 4, **fields: Any) -> ItemSet:
    """A set of `n` items, each with a flat image whose colour is to be named."""
    media = MediaFolder(root / "media")
    names = [list(RGB)[k % 3] for k in range(n)]
    items = [
        item(f"{k:03}", [patch(media, RGB[name], mark=k)], name, "choice", options=NAMED, **fields)
        for k, name in enumerate(names)
    ]
    return write_itemset(root, items, source="generated", recipe={"seed": 0})


def looker(built: ItemSet, name: str = "own:looker", **card: Any) -> Subject:
    """A subject that is always right."""
    return says(name, lambda prompt: str(built.by_id[prompt.views[0].item_id].answer), **card)
