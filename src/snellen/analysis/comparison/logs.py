"""Logs of any tool as rows, and which rows of two logs are of one item.

Items are joined by id, else by question and images, else by their place, and every join is checked: questions and
targets that contradict each other refuse it. Whole numbers may number the rows of a data set, from 0 or from 1; they
are ids only if the texts that both logs have agree.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

from snellen.core.errors import SnellenError
from snellen.core.plain_text import short_reason
from snellen.subjects.recorded import MAX_SHARE, MIN_ROWS, TRUTH, WHOLE_NUMBER, image_name, question_agrees, words_of

BY_ID, BY_QUESTION, BY_PLACE = "id", "question and images", "place"
_LABEL = re.compile(r"\(?([^\W\d])(?:[.):]\s*(.*))?", re.DOTALL)
"""`C`, `C.`, `(C)`, or a letter before the text of an option."""


@dataclass(frozen=True, slots=True)
class LogRow:
    """One answer in a log. `score` is a share, 1 for the best, NaN for none; `epoch` counts from 0.

    `images` are SHA-256 and file names, `group` is the cluster according to the log, `options` are labels and texts. A
    `reply` is None if the log has none, and `failure` says why if a call failed; `stop` is that of a `Reply`.
    `is_numbered`: the id may be a number of the row. `number` is the row in its file.
    """

    item: str
    task: str
    epoch: int
    question: str
    images: tuple[str, ...]
    group: str
    target: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    reply: str | None
    stop: str
    failure: str
    score: float
    is_numbered: bool
    number: int


@dataclass(frozen=True)
class Log:
    """The rows of one model in a file or a folder. `notes` are sentences about what was read."""

    name: str
    rows: Sequence[LogRow]
    notes: tuple[str, ...] = ()


Epochs: TypeAlias = list[LogRow]
"""The rows of an item in a log, by epoch."""
Group: TypeAlias = Mapping[str, Epochs]
"""The items of a task, or of a log, by a unique id."""


class ItemPair(NamedTuple):
    """An item of both logs."""

    item_id: str
    task: str
    before: Epochs
    after: Epochs


@dataclass(frozen=True)
class Join:
    """The items of both logs, their numbers by how they were joined, and those that one log alone has, by task.

    `comparable` is the number of pairs with a question, images or a target on both sides, `contradictions` that of
    those which differ in them.
    """

    pairs: Sequence[ItemPair]
    counts: Mapping[str, int]
    only_before: Mapping[str, int]
    only_after: Mapping[str, int]
    comparable: int
    contradictions: int


def join(first: Log, second: Log) -> Join:
    """The items of both logs.

    Tasks are joined by name, or everything if a log has one task or no name is common. Raises SnellenError for rows
    that contradict each other, and if no items are joined.
    """
    tasks, others = (dict.fromkeys(row.task for row in log.rows) for log in (first, second))
    common = [task for task in tasks if task in others]
    by_task = len(tasks) > 1 and len(others) > 1 and bool(common)
    names = tasks if len(tasks) > 1 or tasks.keys() == others.keys() else others if len(others) > 1 else {"": None}
    pairs, counts, only = list[ItemPair](), Counter[str](), (Counter[str](), Counter[str]())
    comparable = contradicting = 0
    for name in dict.fromkeys([*tasks, *others]) if by_task else ("",):
        sides = [_by_item([row for row in log.rows if not by_task or row.task == name], log) for log in (first, second)]
        keys, reason = _joined_keys(*sides)
        checked, described = contradictions(keys, *sides)
        _refuse(described, checked, first, second)
        comparable, contradicting = comparable + checked, contradicting + len(described)
        for left, right in keys.items():
            before, after = sides[0][left], sides[1][right]
            task = next((rows[0].task for rows in (before, after) if rows[0].task in names), "")
            pairs.append(ItemPair(f"{name}/{left}" if by_task else left, task, before, after))
        counts.update(reason)
        for side, joined, lonely in zip(sides, (keys.keys(), set(keys.values())), only, strict=True):
            missing = [rows[0].task for key, rows in side.items() if key not in joined]
            lonely.update(task if task in names else "" for task in missing)
    if not pairs:
        raise SnellenError(
            f"{first.name} and {second.name}: no ids or questions in common ({len(first.rows)} and {len(second.rows)} "
            "rows); name columns with FILE?id=COLUMN or FILE?question=COLUMN"
        )
    return Join(pairs, counts, *only, comparable, contradicting)


def _by_item(rows: Sequence[LogRow], log: Log) -> Group:
    """The rows by id, with the task if tasks have the same ids. Raises SnellenError for two rows of one epoch."""
    seen = {(row.item, row.task) for row in rows}
    is_unique = len({item for item, _ in seen}) == len(seen)
    items = dict[str, Epochs]()
    epochs = set[tuple[str, int]]()
    for row in rows:
        key = (row.item if is_unique else f"{row.task}/{row.item}") if row.item else f"row {row.number} {row.task}"
        if (key, row.epoch) in epochs:
            raise SnellenError(
                f"{log.name} row {row.number}: another row of {short_reason(key, 60)!r}; name the column in which they "
                "differ: ?repeat=COLUMN, ?task=COLUMN or ?id=COLUMN+COLUMN"
            )
        epochs.add((key, row.epoch))
        items.setdefault(key, []).append(row)
    return items


def _joined_keys(before: Group, after: Group) -> tuple[dict[str, str], Counter[str]]:
    """The keys of items of both, and their numbers by how they were joined."""
    by_id = {key: key for key, rows in before.items() if key in after and rows[0].item}
    numbers = [_numbers(side) for side in (before, after)]
    if all(numbers) and by_id:
        are_shifted = len(numbers[0]) == len(numbers[1]) and numbers[0] != numbers[1] and all(map(_is_run, numbers))
        if are_shifted or _is_refused(*contradictions(by_id, before, after)[::-1]):
            by_id = {}
    keys = by_id | _by_question(before, after, by_id)
    counts = Counter({BY_ID: len(by_id), BY_QUESTION: len(keys) - len(by_id)})
    may_count = any(numbers) or any(not next(iter(side.values()))[0].item for side in (before, after) if side)
    if not by_id and may_count and len(before) == len(after) > len(keys):
        places = dict(zip(before, after, strict=True))
        agree = all(places[key] == other for key, other in keys.items())
        if agree and not _is_refused(*contradictions(places, before, after)[::-1]):
            return places, Counter({BY_PLACE: len(places)})
    return keys, +counts


def _numbers(side: Group) -> list[int]:
    """The ids as sorted numbers if all may number rows; else nothing."""
    rows = [rows[0] for rows in side.values()]
    are_numbers = all(row.is_numbered and WHOLE_NUMBER.fullmatch(row.item) for row in rows)
    return sorted(int(row.item) for row in rows) if are_numbers else []


def _is_run(numbers: Sequence[int]) -> bool:
    return numbers[-1] - numbers[0] == len(numbers) - 1


def _by_question(before: Group, after: Group, joined: Mapping[str, str]) -> dict[str, str]:
    """The keys of items that alone have their question and images in both."""
    by_question = dict[str, list[str]]()
    for key, rows in after.items():
        if key not in joined and rows[0].question:
            by_question.setdefault(" ".join(rows[0].question.split()), []).append(key)
    found = dict[str, list[str]]()
    for key, rows in before.items():
        if key in joined or not by_question:
            continue
        alike = by_question.get(" ".join(rows[0].question.split()), [])
        same_image = [other for other in alike if _images_agree(rows[0], after[other][0])]
        fitting = same_image or [other for other in alike if _images_agree(rows[0], after[other][0]) is None]
        if len(fitting) == 1:
            found.setdefault(fitting[0], []).append(key)
    return {keys[0]: other for other, keys in found.items() if len(keys) == 1}


def _images_agree(row: LogRow, other: LogRow) -> bool | None:
    """Whether two rows have an image in common; None if their images cannot be compared."""
    kinds = [{bool(image_name(image)) for image in images} for images in (row.images, other.images)]
    return not set(row.images).isdisjoint(other.images) if kinds[0] & kinds[1] else None


# Contradictions


def contradictions(keys: Mapping[str, str], before: Group, after: Group) -> tuple[int, list[str]]:
    """The number of pairs that can be compared, and a description of each that contradicts itself.

    Images contradict if those of an item are, by file name or bytes, those of other items of the second log.
    """
    questions = {" ".join(rows[0].question.split()) for rows in after.values()}
    images = {image for rows in after.values() for image in rows[0].images}
    comparable, described = 0, list[str]()
    for key, other_key in keys.items():
        row, other = before[key][0], after[other_key][0]
        are_alike = row.question == other.question != ""
        verdicts = {
            ("question", row.question, other.question): are_alike
            or question_agrees(row.question, other.question, questions),
            ("image", *("/".join(one.images) for one in (row, other))): not set(row.images).isdisjoint(other.images)
            if images.intersection(row.images)
            else None,
            ("target", *("/".join(one.target) for one in (row, other))): targets_agree(row, other),
        }
        comparable += any(verdict is not None for verdict in verdicts.values())
        for what, *texts in [words for words, verdict in verdicts.items() if verdict is False][:1]:
            contents = " and ".join(repr(short_reason(text, 30)) for text in texts)
            described.append(f"rows {row.number} and {other.number}: {what} {contents}")
    return comparable, described


def targets_agree(row: LogRow, other: LogRow) -> bool | None:
    """Whether two rows have a right answer in common; None if their forms differ, such as a letter and a text."""
    verdicts = [_texts_agree(text, another) for text in row.target for another in other.target]
    return None if not verdicts or (None in verdicts and True not in verdicts) else True in verdicts


def _texts_agree(text: str, other: str) -> bool | None:
    words = [words_of(target).strip() for target in (text, other)]
    if words[0] == words[1] or TRUTH.get(words[0], 0) == TRUTH.get(words[1], 1):
        return True
    labels = [_LABEL.fullmatch(target) for target in (text, other)]
    if all(labels):
        return labels[0][1].casefold() == labels[1][1].casefold()  # type: ignore[index]
    if any(labels):
        return None
    try:
        return math.isclose(float(text), float(other), rel_tol=1e-6)
    except ValueError:
        return words[0] in words[1] or words[1] in words[0]


def _is_refused(described: Sequence[str], comparable: int) -> bool:
    return len(described) >= MIN_ROWS and len(described) > MAX_SHARE * comparable


def _refuse(described: Sequence[str], comparable: int, first: Log, second: Log) -> None:
    if _is_refused(described, comparable):
        names = " and ".join(short_reason(Path(log.name).name, 30) for log in (first, second))
        raise SnellenError(
            f"{names}: {len(described)} of {comparable} joined rows contradict each other "
            f"({'; '.join(described[:3])}); give logs of the same items, ?id=COLUMN, or ?target=none"
        )
