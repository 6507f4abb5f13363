"""Rows of a file of answers, and the items of a set that they may be answers to."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from snellen.core.hashing import ListDigest
from snellen.core.item import Item
from snellen.core.prompt import Reply

POSITION, NUMBER = "position", "number"
"""What the id of a row is if not an id: its position in the data set, or a whole number that may be one."""
IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff")
WHOLE_NUMBER = re.compile(r"0|[1-9]\d{0,8}")


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """A reply, or the reason why there is none. `score` is the one given by the tool that asked, else NaN."""

    reply: Reply | None
    reason: str = ""
    score: float = math.nan


@dataclass(slots=True)
class AnswerRow:
    """An answer as it is in a file, before its item is known.

    `images` are file names and SHA-256, `condition` is as written on the command line, `repeat` counts from 0. `path`
    and `number` are the file and the row for messages. `target` holds the right answers according to the file,
    `numbering` is POSITION, NUMBER, or empty for an id.
    """

    item: str
    question: str
    images: tuple[str, ...]
    condition: str
    repeat: int
    answer: RecordedAnswer
    path: str
    number: int
    target: tuple[str, ...] = ()
    numbering: str = ""

    @property
    def location(self) -> str:
        """File and row."""
        return f"{self.path} row {self.number}"


def answers_digest(answer_rows: Iterable[AnswerRow]) -> str:
    """A digest of answers and of all that decides which items they are of, 12 hexadecimal digits."""
    content = ListDigest()
    for row in answer_rows:
        reply = row.answer.reply
        outcome = [reply.text, reply.reasoning, reply.stop] if reply else [row.answer.reason]
        numbering = [row.numbering] if row.numbering else []
        content.add([row.item, row.question, row.images, row.condition, row.repeat, outcome, *numbering])
    return content.digest()[:12]


def image_name(path: str) -> str:
    """The last part of a path or address if it is an image file by its ending; else empty."""
    name = path[-500:].replace("\\", "/").rpartition("/")[2]
    return name if name.lower().endswith(IMAGE_ENDINGS) else ""


class ItemIndex:
    """The test items of a set by id, by the id or number that their source gives them, and by question.

    `images_of` has the file names and the SHA-256 of an item's images, `images` those of all items. `first` is the
    number of the first row of the source if items are numbered, else None.
    """

    def __init__(self, items: Iterable[Item]) -> None:
        self.words: dict[str, str] = {}
        self.by_id = {item.item_id: item for item in items if item.split == "test"}
        self.by_provenance: dict[str, list[Item]] = {}
        self.by_question: dict[str, list[tuple[Item, frozenset[str], frozenset[str]]]] = {}
        self.images_of = dict[str, frozenset[str]]()
        for item in self.by_id.values():
            if own_id := str(item.provenance.get("id", "")):
                self.by_provenance.setdefault(own_id, []).append(item)
            texts = (text for text in item.provenance.values() if isinstance(text, str))
            names = frozenset(filter(None, map(image_name, texts)))
            digests = frozenset(image.stored_sha256 for image in item.media())
            self.by_question.setdefault(self.plain(item.question), []).append((item, names, digests))
            self.images_of[item.item_id] = names | digests
        self.images = frozenset().union(*self.images_of.values())
        self.tasks = dict[str, list[Item]]()
        for item in self.by_id.values():
            self.tasks.setdefault(item.task, []).append(item)
        self.first: int | None = None
        if self.by_provenance and all(map(WHOLE_NUMBER.fullmatch, self.by_provenance)):
            pairs = [(int(number), items[0].provenance.get("row", 0)) for number, items in self.by_provenance.items()]
            firsts = {number - row + 1 for number, row in pairs}
            self.first = firsts.pop() if len(firsts) == 1 else min(pairs)[0]

    def plain(self, text: str) -> str:
        """The text with single spaces between its words."""
        if (words := self.words.get(text)) is None:
            words = self.words[text] = " ".join(text.split())
        return words

    def match(self, row: AnswerRow) -> Sequence[Item]:
        """The items that a row may belong to, by its id or else by its question and images."""
        if row.item in self.by_id:
            return [self.by_id[row.item]]
        if row.item in self.by_provenance:
            return self.by_provenance[row.item]
        alike = self.by_question.get(self.plain(row.question), []) if row.question else []
        if same_image := [item for item, names, digests in alike if not (names | digests).isdisjoint(row.images)]:
            return same_image
        has_name = any(map(image_name, row.images))  # then it is of another image than items with other names
        return [item for item, names, _ in alike if not (has_name and names)]
