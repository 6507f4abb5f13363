"""People made by hand: subjects named `human:STUDY/p01`, each with an own form."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np

from snellen.core.condition import parse_conditions
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.runfolder import kind_by_name
from snellen.core.subject import Base, Subject
from snellen.core.suite import Schedule, Suite, Trial
from snellen.runs.asking.ask import ask
from snellen.runs.planning.plan import Arm, Plan
from snellen.runs.scores.score import score, write_scores
from snellen.subjects.fakes.make import make_fake

Form = Callable[[str], bool]
"""A predicate on item ids: True if the item is on a person's form."""


def everything(item_id: str) -> bool:
    """The form with all items."""
    return True


@dataclass(frozen=True)
class Stand(Base):
    """A subject under a person's name that takes `seconds` per page."""

    subject: Subject
    seconds: float

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        return replace(await self.subject.answer(prompt, media, rng), seconds=self.seconds)


def person(name: str, subject: Subject, seconds: float = 2.0, **attributes: str) -> Subject:
    """A subject that answers like another one, under a person's name and with its own fingerprint."""
    settings, role = {"participant": name}, kind_by_name(name).get("role", "model")
    card = replace(subject.card, name=name, settings=settings, attributes=attributes, role=role)
    return cast(Subject, Stand(card, subject, seconds))


def fakes(study: str, kinds: Sequence[str], items: ItemSet) -> list[Subject]:
    """`human:STUDY/p01` …, one person per kind of fake (`oracle`, `chance`, `blind-to=colour`)."""
    return [
        person(f"human:{study}/p{n:02d}", make_fake(kind, {}, items.items), float(n)) for n, kind in enumerate(kinds, 1)
    ]


def form(asks: Form) -> Schedule:
    """The schedule of a person with only these items."""

    def schedule(trials: Sequence[Trial]) -> Generator[tuple[Trial, ...], dict[str, float], None]:
        yield tuple(trial for trial in trials if all(asks(view.item_id) for view in trial.views))

    return schedule


def ask_people(
    root: Path,
    items: ItemSet,
    suite: Suite,
    people: Sequence[Subject],
    forms: Sequence[Form] = (everything,),
    conditions: Sequence[str] = ("vanilla",),
    others: Sequence[Subject] = (),
) -> Path:
    """A scored run: person n is asked form n modulo their number, `others` everything; all under all conditions."""
    points = [point for text in conditions for point in parse_conditions(suite.axes, text)]
    arms = [Arm(other, point) for other in others for point in points]
    arms += [
        Arm(subject, point, schedule=form(forms[n % len(forms)]))
        for n, subject in enumerate(people)
        for point in points
    ]
    responses = ask(root, Plan(items, suite, arms))
    write_scores(root, score(responses, items, suite, "strict"), "strict")
    return root
