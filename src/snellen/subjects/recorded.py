"""Subjects whose answers exist already: in files of other tools, in logs, as people's decisions. Nobody is asked."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from snellen.core.condition import Condition, parse_conditions
from snellen.core.errors import CallFailed, SnellenError
from snellen.core.hashing import ListDigest, digest
from snellen.core.item import Item
from snellen.core.plain_text import short_reason
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base, Subject, SubjectCard
from snellen.core.suite import Suite, Trial

NO_ITEM, SEVERAL_ITEMS = "match no item", "match several items"
OTHER_QUESTION = "match an item by id whose question has another text"
IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff")
BATCH = 256
"""Items of an arm that the ask loop has in hand at a time, which bounds its memory."""


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """A reply, or the reason why there is none. `score` is the one given by the tool that asked, else NaN."""

    reply: Reply | None
    reason: str = ""
    score: float = math.nan


@dataclass(frozen=True)
class Recorded(Base):
    """Gives recorded answers by item id. `tasks` are those with answers; None if all tasks are to be asked."""

    answers: Mapping[str, RecordedAnswer] = field(default_factory=dict)
    tasks: frozenset[str] | None = None

    def schedule(self, trials: Sequence[Trial]) -> Generator[tuple[Trial, ...], dict[str, float], None]:
        """Every item that has an answer, each alone and a batch at a time; other items have no row."""
        views = [view for trial in trials for view in trial.views if view.item_id in self.answers]
        for start in range(0, len(views), BATCH):
            yield tuple(Trial((view,)) for view in views[start : start + BATCH])

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """The recorded reply to the prompt's only item. Raises CallFailed if there is none."""
        answer = self.answers.get(prompt.views[0].item_id) if prompt.views else None
        if answer is None or answer.reply is None:
            raise CallFailed(answer.reason if answer else "no answer is recorded for this item")
        return answer.reply


def recorded(name: str, texts: Mapping[str, str]) -> Subject:
    """A subject of this name with these texts by item id. An item without a text is a failed call."""
    answers = {item_id: RecordedAnswer(Reply(text)) for item_id, text in texts.items()}
    return Recorded(SubjectCard(name, settings={"answers": digest(dict(texts), 12)}), answers)


@dataclass(slots=True)
class AnswerRow:
    """An answer as it is in a file, before its item is known.

    `images` are file names and SHA-256, `condition` is as written on the command line, `repeat` counts from 0. `path`
    and `number` are the file and the row for messages.
    """

    item: str
    question: str
    images: tuple[str, ...]
    condition: str
    repeat: int
    answer: RecordedAnswer
    path: str
    number: int

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
        content.add([row.item, row.question, row.images, row.condition, row.repeat, outcome])
    return content.digest()[:12]


def image_name(path: str) -> str:
    """The last part of a path or address if it is an image file by its ending; else empty."""
    name = path[-500:].replace("\\", "/").rpartition("/")[2]
    return name if name.lower().endswith(IMAGE_ENDINGS) else ""


class ItemIndex:
    """The test items of a set by id, by `provenance["id"]` as text, and by question.

    With each item of a question are the file names and the SHA-256 of its images.
    """

    def __init__(self, items: Iterable[Item]) -> None:
        self.words: dict[str, str] = {}
        self.by_id = {item.item_id: item for item in items if item.split == "test"}
        self.by_provenance: dict[str, list[Item]] = {}
        self.by_question: dict[str, list[tuple[Item, frozenset[str], frozenset[str]]]] = {}
        for item in self.by_id.values():
            if "id" in item.provenance:
                self.by_provenance.setdefault(str(item.provenance["id"]), []).append(item)
            texts = (text for text in item.provenance.values() if isinstance(text, str))
            names = frozenset(filter(None, map(image_name, texts)))
            digests = frozenset(image.stored_sha256 for image in item.media())
            self.by_question.setdefault(self.plain(item.question), []).append((item, names, digests))

    def plain(self, text: str) -> str:
        """The text with single spaces between its words."""
        if (words := self.words.get(text)) is None:
            words = self.words[text] = " ".join(text.split())
        return words

    def match(self, row: AnswerRow) -> tuple[Sequence[Item], bool]:
        """The items that a row may belong to, and whether they were found by id."""
        if row.item in self.by_id:
            return [self.by_id[row.item]], True
        if row.item in self.by_provenance:
            return self.by_provenance[row.item], True
        alike = self.by_question.get(self.plain(row.question), []) if row.question else []
        if same_image := [item for item, names, digests in alike if not (names | digests).isdisjoint(row.images)]:
            return same_image, False
        has_name = any(map(image_name, row.images))  # then it is of another image than items with other names
        return [item for item, names, _ in alike if not (has_name and names)], False


RecordedArm: TypeAlias = tuple[Condition, int, Recorded]
"""Condition, repeat and subject."""


@dataclass(frozen=True)
class Recording(Recorded):
    """All answers of one model in its files, to be matched to the items of a set.

    `check` raises SnellenError if the answers are not to the items of a set.
    """

    rows: Sequence[AnswerRow] = ()
    check: Callable[[ItemSet, Suite], None] | None = None

    def join(self, items: ItemSet, suite: Suite, index: ItemIndex) -> tuple[list[RecordedArm], Counter[str], str]:
        """An arm per condition and repeat, numbers of rows by fault, and the id or question of a row without an item.

        `index` is that of the items. Raises SnellenError for unknown conditions, and two rows for one item.
        """
        if self.check is not None:
            self.check(items, suite)
        conditions, names = dict[str, Condition](), dict[str, str]()  # by name, and names by what is written
        arms: dict[tuple[str, int], dict[str, AnswerRow]] = {}
        faults, example = Counter[str](), ""
        for row in self.rows:
            matches, by_id = index.match(row)
            if len(matches) != 1:
                faults[SEVERAL_ITEMS if matches else NO_ITEM] += 1
                example = example or row.item or row.question
                continue
            (item,) = matches
            if by_id and row.question:
                first, second = index.plain(row.question), index.plain(item.question)
                faults[OTHER_QUESTION] += first not in second and second not in first
            if row.condition not in names:
                condition = self._condition(row, suite)
                names[row.condition] = str(condition)
                conditions.setdefault(str(condition), condition)
            rows = arms.setdefault((names[row.condition], row.repeat), {})
            if former := rows.get(item.item_id):
                raise SnellenError(
                    f"{former.location} and {row.location} both answer item {item.item_id!r:.100}; remove one, or name "
                    f"the column in which they differ: ?repeat=COLUMN or ?condition=COLUMN"
                )
            rows[item.item_id] = row
        subjects = list[RecordedArm]()
        for (name, repeat), rows in sorted(arms.items(), key=lambda pair: pair[0][1]):
            answers = {item_id: row.answer for item_id, row in rows.items()}
            tasks = frozenset(index.by_id[item_id].task for item_id in rows)
            subjects.append((conditions[name], repeat, Recorded(self.card, answers, tasks)))
        return subjects, +faults, example

    def _condition(self, row: AnswerRow, suite: Suite) -> Condition:
        try:
            (condition,) = parse_conditions(suite.axes, row.condition)
        except ValueError as error:  # SnellenError, or several conditions
            raise SnellenError(
                f"{row.location}: {row.condition!r:.100} is not one condition of {suite.name} "
                f"({short_reason(str(error), 200)}); write ?condition=COLUMN:VALUE>CONDITION+VALUE>CONDITION"
            ) from error
        return condition
