"""Subjects whose answers exist already: in files of other tools, in logs, as people's decisions. Nobody is asked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Generator, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from snellen.core.condition import Condition, parse_conditions
from snellen.core.errors import CallFailed, SnellenError
from snellen.core.grouping import lists_by_key
from snellen.core.hashing import digest
from snellen.core.item import Item
from snellen.core.plain_text import short_reason
from snellen.core.prompt import Prompt, Reply
from snellen.core.response import Role
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base, Subject, SubjectCard
from snellen.core.suite import Suite, Trial
from snellen.subjects.joins import (
    CONTRADICTION,
    AnswerRow,
    ItemIndex,
    LabelReader,
    RecordedAnswer,
    placed,
    refuse_other_items,
)

NO_ITEM, SEVERAL_ITEMS = "match no item", "match several items"
REPEATED = "repeat the reply of another row, as rows of another filter do"
REMEDY = "remove one, or name the column in which they differ: ?repeat=COLUMN or ?condition=COLUMN"
NO_PLACE = "have only a row number, which counts if the file has as many rows as the set or just one task"
BY_POSITION = "were joined by position, since their ids number the rows"
NO_SEED = "do not say with which --seed they were asked, so that of the run is assumed"
BATCH = 256
"""Items of an arm that the ask loop has in hand at a time, which bounds its memory."""
_BATCH_ID = re.compile(r"(.+)@([0-9a-f]{8})(?:@(.+?)(?:@seed=(.+))?)?")


@dataclass(frozen=True)
class Recorded(Base):
    """Gives recorded answers by item id. `tasks` are those with answers; None if all tasks are to be asked.

    `read_label` reads letters of a file's own options.
    """

    answers: Mapping[str, RecordedAnswer] = field(default_factory=dict)
    tasks: frozenset[str] | None = None
    read_label: LabelReader = field(default=lambda text, options: "", compare=False)

    def schedule(self, trials: Sequence[Trial]) -> Generator[tuple[Trial, ...], dict[str, float], None]:
        """Every item that has an answer, each alone and a batch at a time; other items have no row."""
        views = [view for trial in trials for view in trial.views if view.item_id in self.answers]
        for start in range(0, len(views), BATCH):
            yield tuple(Trial((view,)) for view in views[start : start + BATCH])

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """The recorded reply to the prompt's only item. Raises CallFailed if there is none."""
        answer = self.answers.get(prompt.views[0].item_id) if prompt.views else None
        reply = answer.reply_to(prompt.views[0].reply, self.read_label) if answer else None
        if reply is None:
            raise CallFailed(answer.reason if answer else "no answer is recorded for this item")
        return reply


def recorded(name: str, texts: Mapping[str, str], role: Role = "model") -> Subject:
    """A subject of this name with these texts by item id. An item without a text is a failed call."""
    answers = {item_id: RecordedAnswer(Reply(text)) for item_id, text in texts.items()}
    return Recorded(SubjectCard(name, {"answers": digest(dict(texts), 12)}, role=role, source="recorded"), answers)


def batch_id(item_id: str, items: ItemSet, condition: Condition, seed: int) -> str:
    """The id of a call in a batch: that of the item, a mark of its set, and the condition and seed if they matter."""
    tail = f"@{condition}@seed={seed}" if condition.is_random else f"@{condition}" if condition.changed else ""
    return f"{item_id}@{digest(items.card.rows_hash, 8)}{tail}"


def _of_batch(row: AnswerRow, id_match: re.Match[str], items: ItemSet) -> AnswerRow:
    item_id, mark, condition, seed = id_match.groups(default="")
    if f"{item_id}@{mark}" != batch_id(item_id, items, Condition(()), 0):
        raise SnellenError(f"{row.location}: {row.item!r:.100} is of a batch written for another item set")
    return replace(row, item=item_id, condition=row.condition or condition, seed=row.seed or seed)


def _without_seed(answer_rows: Collection[AnswerRow], condition: Condition, seed: int) -> int:
    """The number of rows that do not say with which seed they were asked. Raises SnellenError for another one."""
    for row in answer_rows:
        if (own := row.seed.removesuffix(".0")) not in ("", str(seed)):  # of a column that has empty cells
            option = f"--seed {short_reason(own, 20)}"
            raise SnellenError(f"{row.location} was asked under {condition} with {option}, not {seed}; give {option}")
    return sum(not row.seed for row in answer_rows)


RecordedArm: TypeAlias = tuple[Condition, int, Recorded]
JoinedRows: TypeAlias = tuple[list[RecordedArm], Counter[str], str]
"""Arms (condition, repeat, subject), counts of rows by what is odd, and the id or question of a row without item."""


@dataclass(frozen=True)
class Recording(Recorded):
    """All answers of one model in its files, to be matched to the items of a set.

    `check` raises SnellenError if the answers are not to the items of a set. `remedy` says in which column of a
    file rows differ, by their numbers, whose keys are equal.
    """

    rows: Sequence[AnswerRow] = ()
    check: Callable[[ItemSet, Suite], None] = lambda items, suite: None
    remedy: Callable[[str, Mapping[int, Hashable]], str] = field(default=lambda path, keys: "", compare=False)

    def join(
        self, items: ItemSet, suite: Suite, index: ItemIndex, seed: int, conditions: Sequence[Condition] = ()
    ) -> JoinedRows:
        """An arm per condition and repeat, and the rows that do not clearly answer an item.

        `index` is that of the items; `seed` the run's, checked for these `conditions` or all. Raises SnellenError for
        unknown conditions, another seed, two rows for one item, and rows of other items than they say.
        """
        self.check(items, suite)
        by_text = dict[str, Condition]()
        arms: dict[tuple[Condition, int], dict[str, AnswerRow]] = {}
        faults, example = Counter[str](), ""
        places, pairs = self._places(index), dict[str, list[tuple[AnswerRow, Item]]]()
        for row in self.rows:
            if (parts := _BATCH_ID.fullmatch(row.item)) and not index.named(row.item):
                row = _of_batch(row, parts, items)
            place = places[row.path] if row.numbering else None
            if place and row.item in place:
                matches: Sequence[Item] = [place[row.item]]
                faults[BY_POSITION] += 1
            else:
                matches = index.match(row if place is None else replace(row, item=""))
            if len(matches) != 1:
                faults[NO_PLACE if place is not None else SEVERAL_ITEMS if matches else NO_ITEM] += 1
                example = example or row.item or row.question
                continue
            (item,) = matches
            if row.condition not in by_text:
                by_text[row.condition] = self._condition(row, suite)
            rows = arms.setdefault((by_text[row.condition], row.repeat), {})
            former = rows.get(item.item_id)
            if former and row.item and index.named(former.item) and not index.named(row.item):  # in another order
                faults[NO_ITEM] += 1
                example = example or row.item
                continue
            same = former and replace(former, number=row.number, answer=row.answer)  # tools may score it in two ways
            if former and row == same and row.answer.reply == former.answer.reply:
                faults[REPEATED] += 1
                continue
            if former:
                raise self._two_rows(former, row, item)
            rows[item.item_id] = row
            pairs.setdefault(row.path, []).append((row, item))
        count = sum(map(len, pairs.values()))
        covered = {item.item_id for joined in pairs.values() for _, item in joined}
        if count and 2 * count + 10 < len(self.rows) and 2 * len(covered) < len(index.by_id):
            raise SnellenError(
                f"{self.card.name}: only {count} of {len(self.rows)} rows are of one of {len(index.by_id)} items; name "
                "the column of their ids with ?id=COLUMN, or give the items that were asked"
            )
        for joined in pairs.values():
            faults[CONTRADICTION] += refuse_other_items(joined, index)
        subjects = list[RecordedArm]()
        for (condition, repeat), rows in sorted(arms.items(), key=lambda pair: pair[0][1]):
            if condition.is_random and (not conditions or condition in conditions):
                faults[NO_SEED] += _without_seed(rows.values(), condition, seed)
            answers = {item_id: row.answer for item_id, row in rows.items()}
            tasks = frozenset(index.by_id[item_id].task for item_id in rows)
            subjects.append((condition, repeat, Recorded(self.card, answers, tasks, self.read_label)))
        return subjects, +faults, example

    def _two_rows(self, former: AnswerRow, row: AnswerRow, item: Item) -> SnellenError:
        rows = [other for other in self.rows if other.path == row.path]
        remedy = self.remedy(row.path, {other.number: (other.item, other.question, other.images) for other in rows})
        places = f"{former.location} and {row.location} both answer item {item.item_id!r:.100}"
        return SnellenError(f"{places}; {remedy or REMEDY}")

    def _places(self, index: ItemIndex) -> dict[str, Mapping[str, Item] | None]:
        """What `ItemIndex.placed` says of each file, or of all if no two hold the same number."""
        by_path = lists_by_key((row.path, row) for row in self.rows)
        if sum(len({row.item for row in rows}) for rows in by_path.values()) == len({row.item for row in self.rows}):
            return dict.fromkeys(by_path, placed(index, self.rows))
        return {path: placed(index, rows) for path, rows in by_path.items()}

    def _condition(self, row: AnswerRow, suite: Suite) -> Condition:
        try:
            (condition,) = parse_conditions(suite.axes, row.condition)
        except ValueError as error:  # SnellenError, or several conditions
            raise SnellenError(
                f"{row.location}: {row.condition!r:.100} is not one condition of {suite.name} "
                f"({short_reason(str(error), 200)}); write ?condition=COLUMN:VALUE>CONDITION+VALUE>CONDITION"
            ) from error
        return condition
