"""The protocol of subjects, and their cards."""

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
from snellen.core.response import Role, Source
from snellen.core.storage.media import MediaFolder


@dataclass(frozen=True)
class SubjectCard:
    """Description of a subject.

    `settings` holds everything that may change its answers, and determines the fingerprint. `accepts` are the kinds of
    media it can be shown, `max_images` the maximum number of images (None: no limit). `attributes` describe it for
    comparisons (family, open or closed, reasoning, supervision, parameters). `token_limit` is the maximum length of a
    reply (0: unknown or none). It is not part of the fingerprint: a reply that ended by itself is the same under any
    greater limit, and one that was cut off is asked again under it. `max_concurrency` limits simultaneous calls.
    `is_local` subjects are models in this process; they are asked one task at a time. `is_remote` subjects are asked a
    first question before items are rendered for them. Subjects that read `views` (encoders, fakes) are sent no laid-out
    images. `fitted` subjects were trained on training examples before the run, as heads are. `address` is a digest of
    the address of its server, empty if it has none; it is not part of the fingerprint.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    accepts: frozenset[str] = frozenset({"image", "video"})
    max_images: int | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    token_limit: int = 0
    max_concurrency: int = 16
    is_local: bool = False
    is_remote: bool = False
    reads: Literal["parts", "views"] = "parts"
    role: Role = "model"
    source: Source = "asked"
    fitted: bool = False
    address: str = ""

    def fingerprint(self) -> str:
        """Hash of name and settings, 12 hexadecimal digits."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        return digest([self.name, dict(self.settings)], 12)


@dataclass(frozen=True)
class TrainingExample:
    """A view of a train or calibration item under the same condition, with its answer in the item's own terms.

    `prompt` is the call that asks about the view under the condition; None if the method needs several calls.
    `target` is the right reply to it, written by the view's `ReplySpec`.
    """

    view: View
    answer: Any
    prompt: Prompt | None = None
    target: str = ""


class Subject(typing.Protocol):
    """Anything that answers prompts. Immutable: `fit` returns another subject, with its examples on its card."""

    @property
    def card(self) -> SubjectCard:
        """The subject's card."""
        ...

    def declines(self, prompt: Prompt) -> str | None:
        """The reason why this subject cannot be asked this, or None. It is scored `not_applicable`, never wrong."""
        ...

    async def fit(self, examples: Sequence[TrainingExample], media: MediaFolder) -> Subject:
        """The subject fitted to these examples; most return themselves. Called once per task and condition."""
        ...

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """Answer one call. Raises CallFailed if there is no answer."""
        ...


@typing.runtime_checkable
class Prepares(typing.Protocol):
    """A subject that needs the images in advance, to process them in batches."""

    def prepare(self, media: Iterable[Media], folder: MediaFolder) -> None:
        """Process these images and cache the results."""
        ...


SubjectFactory = typing.Callable[[str, Mapping[str, str], Sequence[Item]], Subject]
"""(name after the kind, settings after `?`, items) -> subject. Only ideal observers may read the items."""


@dataclass(frozen=True)
class Base:
    """Default behaviour of subjects: accept the media on the card, learn nothing."""

    card: SubjectCard

    def declines(self, prompt: Prompt) -> str | None:
        """Decline kinds of media the card does not accept, and more images than it takes."""
        kinds = {part.kind for part in prompt.parts if isinstance(part, Media)}
        if refused := kinds - self.card.accepts:
            return f"cannot be shown {'an image' if 'image' in refused else 'a video'}"
        count = sum(not isinstance(part, str) for part in prompt.parts)
        if self.card.max_images is not None and count > self.card.max_images:
            return f"takes {self.card.max_images} images at once, not {count}"
        return None

    async def fit(self, examples: Sequence[TrainingExample], media: MediaFolder) -> Subject:
        """Learn nothing."""
        return typing.cast(Subject, self)


def with_examples(card: SubjectCard, examples: Sequence[TrainingExample]) -> SubjectCard:
    """The card of a subject fitted to these examples: the same name, another fingerprint."""
    examples_as_data = [[example.view.item_id, _plain(example.view), example.answer] for example in examples]
    return replace(card, settings={**card.settings, "train_examples": digest(examples_as_data, 12)})


def _plain(view: View) -> dict[str, Any]:
    """The view as plain data. Empty `marks` and units are left out, to keep the fingerprints of earlier versions."""
    fields = asdict(view)
    if not view.reply.unit:
        del fields["reply"]["unit"]
    return fields if view.marks else {name: part for name, part in fields.items() if name != "marks"}
