"""`head:DIR`: trained heads as a subject. `DIR` is one head, or a folder with one head per task."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from snellen.core.errors import CallFailed, SnellenError
from snellen.core.item import Item
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base, SubjectCard
from snellen.subjects.chat.batching import Batches
from snellen.subjects.chat.settings import Readers, read_values, whole_number
from snellen.subjects.checkpoints import first_line
from snellen.subjects.loading import import_extra
from snellen.towers.heads.conversations import Conversation, ConversationTurn, images_only
from snellen.towers.heads.towers import find_tower

if TYPE_CHECKING:
    from snellen.towers.heads.files import HeadCard

SETTINGS = {"batch": 8, "max_new_tokens": 64}
UNSTABLE = "unstable.txt"
"""File in the folder of a head whose training diverged, instead of a card."""


@dataclass(frozen=True)
class HeadQuestion:
    """A prompt as a conversation, with the folders of its head and of its images."""

    conversation: Conversation
    folder: Path
    media: MediaFolder


@dataclass(frozen=True)
class HeadSubject(Base):
    """Heads by task; the one under the empty name answers every other task. Concurrent prompts are batched."""

    folders: Mapping[str, Path]
    unstable: frozenset[str]
    batches: Batches[HeadQuestion, Reply] = field(compare=False, repr=False)

    def declines(self, prompt: Prompt) -> str | None:
        """Decline what the card excludes, and tasks without a head."""
        task = prompt.views[0].task if prompt.views else ""
        if task in self.unstable:
            return f"unstable: the head for {task} diverged during training"
        if task not in self.folders and "" not in self.folders:
            return f"no head was trained for {task}"
        return super().declines(prompt)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """The greedy reply, independent of the rest of the batch. Raises CallFailed if the model fails."""
        pairs = [*((turn.parts, turn.reply) for turn in prompt.history), (prompt.parts, None)]
        turns = tuple(ConversationTurn(images_only("the prompt", parts), reply) for parts, reply in pairs)
        task = prompt.views[0].task if prompt.views else ""
        folder = self.folders.get(task) or self.folders[""]
        return await self.batches.do(HeadQuestion(Conversation("prompt", turns), folder, media))


def make_head(name: str, settings: Mapping[str, str], items: Sequence[Item]) -> HeadSubject:
    """The subject `head:DIR?batch=8&max_new_tokens=64&device=cpu`. Weights are loaded at the first call.

    Raises SnellenError for an unknown setting, or if neither DIR nor the folders in it contain a trained head.
    """
    readers: Readers = {**dict.fromkeys(SETTINGS, whole_number(1, 10**6)), "device": str}
    numbers = SETTINGS | read_values(f"head:{name}", settings, readers)
    device = numbers.pop("device", "cpu")
    import_extra("torch", f"head:{name}")
    from snellen.towers.heads.files import is_head, read_head_card

    root = Path(name)
    folders = [root] if is_head(root) else sorted(folder for folder in root.glob("*") if is_head(folder))
    cards = {card.task: (folder, card) for folder in folders for card in [read_head_card(folder)]}
    unstable = frozenset(path.parent.name for path in root.glob(f"*/{UNSTABLE}"))
    if not cards:
        raise SnellenError(f"head:{name}: no trained head there (no head.json); train one with `snellen tower fit`")
    work = partial(answer_batch, device=device, length=numbers["max_new_tokens"])
    return HeadSubject(
        card=_card(name, {task: card for task, (_, card) in cards.items()}, device, numbers),
        folders={task: folder for task, (folder, _) in cards.items()},
        unstable=unstable,
        batches=Batches(work, numbers["batch"], alike=lambda question: question.folder),
    )


def _card(name: str, cards: Mapping[str, HeadCard], device: str, numbers: Mapping[str, int]) -> SubjectCard:
    first = next(iter(cards.values()))
    length = numbers["max_new_tokens"]
    settings: dict[str, Any] = {"head": 1, "heads": {task: card.weights for task, card in sorted(cards.items())}}
    settings |= {"fingerprints": {task: card.fingerprint for task, card in sorted(cards.items())}}
    settings |= {"max_new_tokens": length} | ({} if device == "cpu" else {"device": device})
    suffix = f"?max_new_tokens={length}" if length != SETTINGS["max_new_tokens"] else ""
    return SubjectCard(
        name=f"head:{name}{suffix}",
        settings=settings,
        accepts=frozenset({"image"}),
        attributes={
            **find_tower(first.tower).attributes,
            "tower": first.tower,
            "language_model": first.language_model,
            "evaluator": first.language_model,
        },
        max_concurrency=2 * numbers["batch"],
        is_local=True,
        fitted=True,
    )


def answer_batch(questions: Sequence[HeadQuestion], device: str, length: int) -> list[Reply | Exception]:
    """Replies to questions of one head; if a batch fails, each question is retried alone."""
    from snellen.towers.heads.answering import generate, shared_head

    begun, failure = time.perf_counter(), None
    head = shared_head(questions[0].folder, device)  # a head that cannot be loaded is bad input, not a failed call
    try:
        replies = generate(head, [(question.conversation, question.media) for question in questions], device, length)
    except Exception as error:  # noqa: BLE001  # models may raise anything; all of it is a failed call
        failure = error.with_traceback(None)  # the traceback's frames hold the batch in memory
    if failure is not None and len(questions) > 1:
        return [reply for question in questions for reply in answer_batch([question], device, length)]
    if failure is not None:
        return [CallFailed(str(failure) if isinstance(failure, SnellenError) else _reason(failure, device))]
    seconds = time.perf_counter() - begun
    return [replace(reply, model=str(questions[0].folder), seconds=seconds) for reply in replies]


def _reason(error: Exception, device: str) -> str:
    torch = import_extra("torch", "a head")
    if isinstance(error, torch.OutOfMemoryError):
        return f"out of memory on {device}, even with one question; use another device="
    return f"{type(error).__name__}: {first_line(error)}"
