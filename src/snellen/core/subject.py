"""Who answers: the protocol every subject fulfils, and its card."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from snellen.core.hashing import digest
from snellen.core.item import Item, Media, View
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.media import MediaFolder


def is_simulated(subject: str) -> bool:
    """Whether a subject of this name (or an arm called after it) is a simulated observer: oracle, guesser, blind."""
    return subject.startswith("fake:")


def is_person(subject: str) -> bool:
    """Whether a subject of this name is somebody who took part in a study or a review."""
    return subject.startswith("human:")


@dataclass(frozen=True)
class SubjectCard:
    """What a subject is.

    `settings` is everything that may change its answers, and makes the fingerprint. `accepts` are the kinds of media
    it can be shown, `max_images` how many at most (None: any number). `attributes` describe it for comparisons
    (family, open or closed, reasoning, supervision, parameters). `max_concurrency` is how many calls may be under
    way. Of `is_local` subjects, models in this process, one task of one subject is asked at a time. An `is_remote` one
    is asked a first question before items are rendered for it. Who reads `views` (encoders, fakes) is sent no laid-out
    images.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    accepts: frozenset[str] = frozenset({"image", "video"})
    max_images: int | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    max_concurrency: int = 16
    is_local: bool = False
    is_remote: bool = False
    reads: Literal["parts", "views"] = "parts"

    def fingerprint(self) -> str:
        """Twelve hexadecimal digits that change whenever the name or the settings do."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        return digest([self.name, dict(self.settings)], 12)


@dataclass(frozen=True)
class TrainingExample:
    """A view of a train or calibration item under the same condition, with its answer in the item's own terms.

    `prompt` is the call in which the view is asked under the condition, as it would be sent; None where the method asks
    it in several calls. `target` is the reply to it that is right, written by the view's own `ReplySpec`.
    """

    view: View
    answer: Any
    prompt: Prompt | None = None
    target: str = ""


class Subject(typing.Protocol):
    """Anything that answers prompts. Immutable: `fit` returns another subject, with its examples on its card."""

    @property
    def card(self) -> SubjectCard:
        """What it is."""
        ...

    def declines(self, prompt: Prompt) -> str | None:
        """Why this subject cannot be asked this at all, or None. A reason is `not_applicable`, never wrong."""
        ...

    async def fit(self, examples: Sequence[TrainingExample], media: MediaFolder) -> Subject:
        """The subject after these examples; most return themselves. Called once a task and condition."""
        ...

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """One call. Raises CallFailed when there is no answer."""
        ...


@typing.runtime_checkable
class Prepares(typing.Protocol):
    """A subject that wants to be told which images will be shown, to look at them in batches."""

    def prepare(self, media: Iterable[Media], folder: MediaFolder) -> None:
        """Look at all of these images and remember what matters."""
        ...


SubjectFactory = typing.Callable[[str, Mapping[str, str], Sequence[Item]], Subject]
"""(name after the kind, settings after `?`, items) -> subject. Only ideal observers may look at the items."""


@dataclass(frozen=True)
class Base:
    """What most subjects share: accept what the card says, learn nothing."""

    card: SubjectCard

    def declines(self, prompt: Prompt) -> str | None:
        """Decline kinds of media the card does not accept, and more images than it takes."""
        kinds = {part.kind for part in prompt.parts if isinstance(part, Media)}
        if refused := kinds - self.card.accepts:
            return f"cannot be shown a {min(refused)}"
        count = sum(not isinstance(part, str) for part in prompt.parts)
        if self.card.max_images is not None and count > self.card.max_images:
            return f"takes {self.card.max_images} images at once, not {count}"
        return None

    async def fit(self, examples: Sequence[TrainingExample], media: MediaFolder) -> Subject:
        """Learn nothing."""
        return typing.cast(Subject, self)


def with_examples(card: SubjectCard, examples: Sequence[TrainingExample]) -> SubjectCard:
    """The card of a subject that learned from these examples: another fingerprint, the same name."""
    examples_as_data = [[example.view.item_id, _plain(example.view), example.answer] for example in examples]
    return replace(card, settings={**card.settings, "train_examples": digest(examples_as_data, 12)})


def _plain(view: View) -> dict[str, Any]:
    """A view as plain data; without marks as it was before there were any, so that fingerprints stay."""
    fields = asdict(view)
    return fields if view.marks else {name: part for name, part in fields.items() if name != "marks"}
