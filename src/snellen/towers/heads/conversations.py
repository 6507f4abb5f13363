"""Conversations that heads are trained on and asked: turns about images, their wording, and their tokens.

Wording and learned part are those of TinyLLaVA's templates `pretrain` and `qwen2_base` (TinyLLaVA_Factory,
data/template, commit 0fd7154), which AVA-Bench uses: a caption directly after its image, or Vicuna's dialogue with each
answer ended by the tokenizer's own end token.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, TypeAlias

from snellen.core.errors import SnellenError
from snellen.core.item import Media, Montage

StoredImage: TypeAlias = Media | Path
"""An image of an item set, or a file."""
Template: TypeAlias = Literal["caption", "conversation"]

SYSTEM = (
    "A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, detailed, "
    "and polite answers to the user's questions."
)
IGNORED = -100
"""Label of tokens that are not learned."""
MAX_LENGTH = 2048
"""Maximum of tokens per conversation (TinyLLaVA's `model_max_length`); longer ones are cut."""


@dataclass(frozen=True)
class ConversationTurn:
    """A prompt of texts and images, and the reply; None if the reply is to be generated."""

    parts: tuple[str | StoredImage, ...]
    reply: str | None


@dataclass(frozen=True)
class Conversation:
    """Turns in order. `name` is for messages."""

    name: str
    turns: tuple[ConversationTurn, ...]

    @property
    def images(self) -> tuple[StoredImage, ...]:
        """The images in order."""
        return tuple(part for turn in self.turns for part in turn.parts if not isinstance(part, str))

    @property
    def words(self) -> int:
        """Number of words of all texts; conversations are sorted by it."""
        texts = (part for turn in self.turns for part in (*turn.parts, turn.reply) if isinstance(part, str))
        return sum(len(text.split()) for text in texts)


def images_only(name: str, parts: Iterable[Any]) -> tuple[str | StoredImage, ...]:
    """The parts of a prompt, whose `name` is for messages. Raises SnellenError for a montage and for a video."""
    shown = tuple(parts)
    if any(isinstance(part, Montage) or (isinstance(part, Media) and part.kind != "image") for part in shown):
        raise SnellenError(f"{name}: shows media other than images; heads read only these")
    return shown


@dataclass(frozen=True)
class Passage:
    """A part of a conversation: text (None for an image), and whether it is learned."""

    text: str | None
    learned: bool = False


@dataclass(frozen=True)
class Tokens:
    """A conversation as token ids and labels (`IGNORED` if not learned), with its images."""

    ids: tuple[int, ...]
    labels: tuple[int, ...]
    images: tuple[StoredImage, ...] = ()

    @property
    def targets(self) -> int:
        """Number of learned tokens: all labels except the first, which has no predecessor."""
        return sum(label != IGNORED for label in self.labels[1:])


def passages(conversation: Conversation, template: Template, end: str) -> Iterator[Passage]:
    """The wording of a conversation. `end` is the text of the tokenizer's end token."""
    if template == "caption":
        for turn in conversation.turns:
            for part in turn.parts:
                if not isinstance(part, str):
                    yield Passage(None)
            if turn.reply is not None:
                yield Passage(f"{turn.reply}\n", learned=True)
        return
    lead = f"{SYSTEM} USER: "
    for turn in conversation.turns:
        for part in turn.parts:
            if isinstance(part, str):
                yield Passage(lead + part)
            else:
                yield Passage(lead)
                yield Passage(None)
            lead = "\n"
        yield Passage(" ASSISTANT:")
        if turn.reply is not None:
            yield Passage(f" {turn.reply}{end}", learned=True)
        lead = "USER: "


@dataclass(frozen=True)
class Wording:
    """Converts conversations to tokens; `image_tokens` times `image_id` represents an image."""

    tokenizer: Any
    image_id: int
    image_tokens: int
    template: Template = "conversation"

    def tokens(self, conversation: Conversation) -> Tokens:
        """Ids and labels. Raises SnellenError if the images alone exceed `MAX_LENGTH`."""
        ids = self._begin()
        labels = [IGNORED] * len(ids)
        # Texts that are both learned or both not are joined, since tokens may cross their border.
        parts = passages(conversation, self.template, self.tokenizer.eos_token)
        for (learned, is_image), group in groupby(parts, key=lambda part: (part.learned, part.text is None)):
            texts = [part.text or "" for part in group]
            new = [self.image_id] * self.image_tokens * len(texts)
            if not is_image:
                new = self.tokenizer("".join(texts), add_special_tokens=False).input_ids
            ids += new
            labels += new if learned else [IGNORED] * len(new)
        return self._cut(conversation, ids, labels)

    @property
    def padding(self) -> int:
        """The padding id: the tokenizer's own, else its end token."""
        tokenizer = self.tokenizer
        return int(tokenizer.eos_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id)

    def _cut(self, conversation: Conversation, ids: Sequence[int], labels: Sequence[int]) -> Tokens:
        ids, labels, images = tuple(ids[:MAX_LENGTH]), tuple(labels[:MAX_LENGTH]), conversation.images
        if ids.count(self.image_id) < self.image_tokens * len(images):
            raise SnellenError(
                f"{conversation.name}: its images do not fit into the maximum of {MAX_LENGTH} tokens "
                f"({self.image_tokens} each)"
            )
        return Tokens(ids, labels, images)

    def _begin(self) -> list[int]:
        begin = self.tokenizer.bos_token_id
        return [begin] if begin is not None and self.tokenizer("a").input_ids[:1] == [begin] else []


def learnable(wording: Wording, conversations: Sequence[Conversation]) -> list[Conversation]:
    """The conversations that give tokens; a line counts the others. Raises SnellenError if there are none."""
    kept, faults = list[Conversation](), list[str]()
    for conversation in conversations:
        try:
            wording.tokens(conversation)
        except SnellenError as error:
            faults.append(str(error))
        else:
            kept.append(conversation)
    if not kept:
        raise SnellenError(faults[0])
    if faults:
        sys.stderr.write(f"snellen: {len(faults)} conversations are left out; the first: {faults[0]}\n")
    return kept
