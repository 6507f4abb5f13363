"""Conversations in LLaVA's layout: one JSON array, as in LLaVA-558K (captions) and mix665k (instructions).

Layout: https://github.com/haotian-liu/LLaVA/blob/main/docs/Finetune_Custom_Data.md. A record has `id`, `image` (absent
if there is none) and `conversations`, alternating turns of `human` and `gpt`; `<image>` marks the image's position.
Never tried on the original files: unverified.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from snellen.core.errors import SnellenError, refuse_problems
from snellen.core.storage.files import write_text
from snellen.core.storage.schemas import fault_of
from snellen.core.storage.user_files import bounded_json, is_file, leads_outside, read_bytes
from snellen.towers.heads.conversations import Conversation, ConversationTurn

MARK = "<image>"


class Message(BaseModel):
    """One message of a conversation."""

    speaker: Literal["human", "gpt"] = Field(alias="from")
    value: str


class Record(BaseModel):
    """A conversation, with or without an image."""

    id: str | int = ""
    image: str | None = None
    conversations: list[Message]


@dataclass(frozen=True)
class LlavaFile:
    """Conversations of a file, and the number left out because their image is missing."""

    conversations: tuple[Conversation, ...]
    missing: int = 0


def read_llava(path: Path, images: Path, *, skip_missing: bool = False) -> LlavaFile:
    """Read a file; record paths of images are relative to `images`.

    Raises SnellenError for a file in another layout, for turns that are not in pairs, and for missing images, which it
    lists, unless they are to be skipped.
    """
    try:
        records = TypeAdapter(list[Record]).validate_json(bounded_json(read_bytes(path)))
    except (OSError, ValidationError) as error:
        raise SnellenError(f"{path}: cannot be read in LLaVA's layout ({fault_of(error)})") from error

    def is_there(image: str) -> bool:
        return not leads_outside(image) and is_file(images / image)

    absent = {record.image for record in records if record.image and not is_there(record.image)}
    if not skip_missing:
        remedy = "put them there, or leave them out (--skip-missing)"
        refuse_problems(path, sorted(absent), f"images missing under {images}", remedy)
    present = [record for record in records if record.image not in absent]
    problems = [f"{record.id}: turns are not in pairs" for record in present if not _pairs(record.conversations)]
    refuse_problems(path, problems, "conversations that cannot be read", "fix or remove them")
    return LlavaFile(tuple(_conversation(record, images) for record in present), len(records) - len(present))


def write_llava(path: Path, records: Sequence[Record]) -> None:
    """Write records atomically as one JSON array, one record per line."""
    lines = ",\n".join(record.model_dump_json(by_alias=True, exclude_none=True) for record in records)
    write_text(path, f"[\n{lines}\n]\n")


def question_record(name: str, image: str, question: str, answer: str) -> Record:
    """A record of one question about one image, with its answer. The image precedes the words."""
    turns = [Message.model_validate({"from": "human", "value": f"{MARK}\n{question}"})]
    turns.append(Message.model_validate({"from": "gpt", "value": answer}))
    return Record(id=name, image=image, conversations=turns)


def _pairs(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """Questions with their answers, from the first question on; empty if they do not pair up."""
    turns = list(dropwhile(lambda message: message.speaker != "human", messages))
    if [message.speaker for message in turns] != ["human", "gpt"] * (len(turns) // 2):
        return []
    return [(question.value, answer.value) for question, answer in zip(turns[::2], turns[1::2], strict=True)]


def _conversation(record: Record, images: Path) -> Conversation:
    """A conversation with each image before the words of its turn, as in TinyLLaVA; `MARK` without image is dropped."""
    turns = []
    for question, answer in _pairs(record.conversations):
        words = question.replace(MARK, "").strip()
        imaged = MARK in question and record.image is not None
        parts = ((images / str(record.image),) if imaged else ()) + ((words,) if words else ())
        turns.append(ConversationTurn(parts, answer))
    return Conversation(str(record.id), tuple(turns))
