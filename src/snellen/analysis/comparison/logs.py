"""Logs of any tool as rows, and which rows of two logs are of one item.

Items are joined by id, else by question and images, else by their place, and every join is checked: questions and
targets that contradict each other refuse it. Whole numbers may number the rows of a data set, from 0 or from 1; they
are ids unless texts contradict them, or all of them differ by one and no text contradicts their places.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from snellen.core.errors import SnellenError
from snellen.core.plain_text import short_reason
from snellen.subjects.joins import TRUTH, image_name, is_refused, question_agrees, words_of

BY_ID, BY_QUESTION, BY_PLACE = "id", "question and images", "place"
MAX_PAIRS = 2500
"""Most pairs of right answers of two rows that are compared by what they mean."""
_LABEL = re.compile(r"\(?([^\W\d])(?:[.):]\s*(.*))?", re.DOTALL)
"""`C`, `C.`, `(C)`, or a letter before the text of an option."""


@dataclass(frozen=True, slots=True)
class LogRow:
    """One answer in a log. `score` is a share, 1 for the best, NaN for none; `epoch` counts from 0.

    `images` are SHA-256 and file names, `group` is the cluster according to the log, `options` are labels and texts. A
    `reply` is None if the log has none, and `failure` says why if a call failed; `stop` is that of a `Reply`.
    `is_numbered`: the id may be a number of the row. `number` is the row in its file. `is_prompt`: question and
    images are what was sent, as far as the log tells.
    """

    item: str
    task: str = ""
    epoch: int = 0
    question: str = ""
    images: tuple[str, ...] = ()
    group: str = ""
    target: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    reply: str | None = None
    stop: str = ""
    failure: str = ""
    score: float = math.nan
    is_numbered: bool = False
    number: int = 0
    is_prompt: bool = True


@dataclass(frozen=True)
class Log:
    """The rows of one model in a file or a folder. `notes` are sentences about what was read."""

    name: str
    rows: Sequence[LogRow]
    notes: tuple[str, ...] = ()


Epochs: TypeAlias = list[LogRow]
"""The rows of an item in a log, by epoch."""
LogItems: TypeAlias = Mapping[str, Epochs]
"""The items of a task, or of a log, by a unique id."""


class ItemPair(NamedTuple):
    """An item of both logs."""

    item_id: str
    task: str
    before: Epochs
    after: Epochs


@dataclass(frozen=True)
class Join:
    """The items of both logs, their numbers by how they were joined, and the numbers of items that one log alone has.

    `comparable` is the number of pairs with a question, images or a target on both sides, `contradictions` that of
    those which differ in them.
    """

    pairs: Sequence[ItemPair]
    counts: Mapping[str, int]
    only_before: int
    only_after: int
    comparable: int
    contradictions: int

    @property
    def shares(self) -> str:
        """How many items were joined, by what, and checked by what."""
        ways = ", ".join(f"{count / len(self.pairs):.0%} by {name}" for name, count in self.counts.items())
        check = f"{self.contradictions} of {self.comparable} with texts to compare contradict each other"
        return f"{len(self.pairs)} items joined: {ways}; {check}."


def join(first_log: Log, second_log: Log) -> Join:
    """The items of both logs, with tasks named as in the log that has more of them, or as in both.

    Raises SnellenError for rows that contradict each other, and if no items are joined.
    """
    sides = [_by_item(log) for log in (first_log, second_log)]
    tasks, others = ({row.task for row in log.rows} for log in (first_log, second_log))
    names = tasks if len(tasks) > 1 or tasks == others else others if len(others) > 1 else set()
    keys, counts = _joined_keys(*sides)
    comparable, described = contradictions(keys, *sides)
    if not keys or is_refused(comparable, described):
        reason = f"no ids or questions in common ({len(first_log.rows)} and {len(second_log.rows)} rows)"
        if keys:
            reason = f"{len(described)} of {comparable} joined rows contradict each other ({'; '.join(described[:3])})"
        raise SnellenError(
            f"{first_log.name:.60} and {second_log.name:.60}: {reason}; give logs of the same items, "
            "FILE?id=COLUMN, ?question=COLUMN, or ?target=none"
        )
    pairs = list[ItemPair]()
    for key, other_key in keys.items():
        epochs = sides[0][key], sides[1][other_key]
        pairs.append(ItemPair(key, next((rows[0].task for rows in epochs if rows[0].task in names), ""), *epochs))
    only = [len(side) - len(keys) for side in sides]
    return Join(pairs, counts, only[0], only[1], comparable, len(described))


def _by_item(log: Log) -> LogItems:
    """The rows by id, with the task if tasks have the same ids. Raises SnellenError for two rows of one epoch."""
    names = {(row.item, row.task) for row in log.rows}
    is_unique = len({item for item, _ in names}) == len(names)
    items, epochs = dict[str, Epochs](), set[tuple[str, int]]()
    for row in log.rows:
        key = (row.item if is_unique else f"{row.task}/{row.item}") if row.item else f"row {row.number} {row.task}"
        if (key, row.epoch) in epochs:
            raise SnellenError(
                f"{log.name} row {row.number}: another row of {short_reason(key, 60)!r}; name the column in which they "
                "differ: ?repeat=COLUMN, ?task=COLUMN or ?id=COLUMN+COLUMN"
            )
        epochs.add((key, row.epoch))
        items.setdefault(key, []).append(row)
    return items


def _joined_keys(former_items: LogItems, current_items: LogItems) -> tuple[dict[str, str], Counter[str]]:
    """The keys of items of both, and their numbers by how they were joined."""
    sides = former_items, current_items
    by_id = {key: key for key, rows in former_items.items() if key in current_items and rows[0].item}
    numbers = [_numbers(side) for side in sides]  # in order, since rows are written as calls end
    orders = ([key for _, _, key in of_side] or side for side, of_side in zip(sides, numbers, strict=True))
    places = dict(zip(*orders, strict=False)) if len(former_items) == len(current_items) else {}
    if all(numbers) and by_id:
        steps = {second - first for (_, first, _), (_, second, _) in zip(*numbers, strict=False)}
        are_shifted = places and steps in ({1}, {-1}) and not is_refused(*contradictions(places, *sides))
        if are_shifted or is_refused(*contradictions(by_id, *sides)):
            by_id = {}
    keys = by_id | _by_question(*sides, by_id)
    are_ids = not any(numbers) and all(rows[0].item for side in sides for rows in side.values())
    are_places = not by_id and not are_ids and len(places) > len(keys) and keys.items() <= places.items()
    if are_places and not is_refused(*contradictions(places, *sides)):
        return places, Counter({BY_PLACE: len(places)})
    return keys, +Counter({BY_ID: len(by_id), BY_QUESTION: len(keys) - len(by_id)})


def _numbers(log_items: LogItems) -> list[tuple[int, int, str]]:
    """The number of the task, the id as a number and the key of each item in order, if all ids may number rows."""
    first_rows = [(rows[0], key) for key, rows in log_items.items()]
    if not all(row.is_numbered and row.item.isdecimal() and len(row.item) < 10 for row, _ in first_rows):
        return []
    tasks = {task: n for n, task in enumerate(dict.fromkeys(row.task for row, _ in first_rows))}
    return sorted((tasks[row.task], int(row.item), key) for row, key in first_rows)


def _by_question(former_items: LogItems, current_items: LogItems, by_id: Mapping[str, str]) -> dict[str, str]:
    """The keys of items without a common id that alone have their question and images in both."""
    by_sign, fitting = dict[tuple[str, object], list[str]](), dict[str, list[str]]()
    for key, rows in current_items.items() if len(by_id) < len(current_items) else ():
        if rows[0].question:
            question = " ".join(rows[0].question.split())
            for sign in {*rows[0].images, _kinds(rows[0])}:
                by_sign.setdefault((question, sign), []).append(key)
    kinds = {sign for _, sign in by_sign if isinstance(sign, frozenset)}
    for key, rows in former_items.items() if by_sign else ():
        question, best = " ".join(rows[0].question.split()), set[str]()
        for signs in (rows[0].images, kinds - {sign for sign in kinds if sign & _kinds(rows[0])}):
            best = best or {other for sign in signs for other in by_sign.get((question, sign), [])[:2]}  # or more
        if len(best) == 1:
            fitting.setdefault(best.pop(), []).append(key)
    return {keys[0]: other for other, keys in fitting.items() if len(keys) == 1 and not by_id.keys() & {*keys, other}}


def _kinds(row: LogRow) -> frozenset[bool]:
    """Whether images are named, whether some have a SHA-256, or both; empty without images."""
    return frozenset(bool(image_name(image)) for image in row.images)


def _images_agree(row: LogRow, other_row: LogRow) -> bool | None:
    """Whether two rows have an image in common; None if their images cannot be compared."""
    return not set(row.images).isdisjoint(other_row.images) if _kinds(row) & _kinds(other_row) else None


def contradictions(keys: Mapping[str, str], former_items: LogItems, current_items: LogItems) -> tuple[int, list[str]]:
    """The number of pairs that can be compared, and a description of each that contradicts itself.

    Images contradict if those of both rows are, by file name or bytes, those of other items of the other log.
    """
    questions = {" ".join(rows[0].question.split()) for rows in current_items.values()}
    images = [{image for rows in side.values() for image in rows[0].images} for side in (former_items, current_items)]
    comparable, described = 0, list[str]()
    for key, other_key in keys.items():
        rows = row, other_row = former_items[key][0], current_items[other_key][0]
        theirs, ours = row.question, other_row.question
        verdicts = {
            ("question", theirs, ours): theirs == ours != "" or question_agrees(theirs, ours, questions),
            ("image", *("/".join(one.images) for one in rows)): _images_agree(*rows)
            if images[1].intersection(row.images) and images[0].intersection(other_row.images)
            else None,
            ("target", *("/".join(one.target) for one in rows)): targets_agree(*rows),
        }
        comparable += any(verdict is not None for verdict in verdicts.values())
        for what, *texts in [words for words, verdict in verdicts.items() if verdict is False][:1]:
            contents = " and ".join(repr(short_reason(text, 30)) for text in texts)
            described.append(f"rows {row.number} and {other_row.number}: {what} {contents}")
    return comparable, described


def targets_agree(row: LogRow, other_row: LogRow) -> bool | None:
    """Whether two rows have a right answer in common; None if their forms differ, such as a letter and a text.

    None, too, if they have very many, and none is written alike.
    """
    if len(row.target) * len(other_row.target) > MAX_PAIRS:
        return None if set(row.target).isdisjoint(other_row.target) else True
    first, second = ([(text, words_of(text).strip()) for text in one.target] for one in (row, other_row))
    verdicts = {_texts_agree(*form, *other) for form in first for other in second}
    return True if True in verdicts else False if verdicts == {False} else None


def _texts_agree(text: str, words: str, other: str, other_words: str) -> bool | None:
    if words == other_words or TRUTH.get(words, 0) == TRUTH.get(other_words, 1):
        return True
    labels = [match and match[1].casefold() for match in map(_LABEL.fullmatch, (text, other))]
    if any(labels):
        return labels[0] == labels[1] if all(labels) else None
    try:
        return math.isclose(float(text), float(other), rel_tol=1e-6)
    except ValueError:
        return words in other_words or other_words in words
