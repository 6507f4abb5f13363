"""Answers as rows of a file, the items that they may be of, and whether these agree in questions, images and keys."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from string import ascii_uppercase
from typing import TypeAlias
from unicodedata import normalize
from urllib.parse import unquote

from snellen.core.errors import SnellenError
from snellen.core.hashing import ListDigest
from snellen.core.item import Item, ReplySpec
from snellen.core.plain_text import short_reason
from snellen.core.prompt import Reply

POSITION, NUMBER = "position", "number"
"""What the id of a row is if not an id: its position in the data set, or a whole number that may be one."""
WHOLE_NUMBER = re.compile(r"0|[1-9]\d{0,8}")
IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff")
LabelReader: TypeAlias = Callable[[str, Sequence[tuple[str, str]]], str]
"""Gives the label that a reply names of options, labels and texts; empty for none."""
_BARE_LETTER = re.compile(r"\s*\(?([A-Z])\)?[.:]?\s*")


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """A reply, or the reason why there is none. `score` is the one given by the tool that asked, else NaN.

    `options` are the texts of the options that the tool lettered A, B ..; empty if its file has none.
    """

    reply: Reply | None
    reason: str = ""
    score: float = math.nan
    options: tuple[str, ...] = ()

    def reply_to(self, spec: ReplySpec, read_label: LabelReader) -> Reply | None:
        """The reply. If it names a letter of the tool's own options where the question has none, their text ends it."""
        shown_by_letter = dict(zip(ascii_uppercase, self.options, strict=False))
        if not self.reply or not spec.keys or not shown_by_letter.keys().isdisjoint(dict(spec.keys)):
            return self.reply
        text = self.reply.text
        shown = shown_by_letter.get(read_label(text, list(shown_by_letter.items())), "")
        if not shown or words_of(shown) in words_of(text):
            return self.reply
        return replace(self.reply, text=shown if _BARE_LETTER.fullmatch(text) else f"{text}\nAnswer: {shown}")


@dataclass(slots=True)
class AnswerRow:
    """An answer as it is in a file, before its item is known.

    `images` are file names and SHA-256, `condition` is as written on the command line, `repeat` counts from 0. `path`
    and `number` are the file and the row for messages. `target` holds the right answers according to the file,
    `numbering` is POSITION, NUMBER, or empty for an id, `seed` the run's as written, or empty.
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
    seed: str = ""

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
        more = [part for part in (row.numbering, row.answer.options) if part]
        content.add([row.item, row.question, row.images, row.condition, row.repeat, outcome, *more])
    return content.digest()[:12]


def image_name(path: str) -> str:
    """The last part of a path or address if it is an image file by its ending; else empty. URL codes are resolved."""
    name = normalize("NFC", unquote(path[-500:])).replace("\\", "/").rpartition("/")[2]
    return name if name.lower().endswith(IMAGE_ENDINGS) else ""


class ItemIndex:
    """The test items of a set by id, by the id or number that their source gives them, and by question.

    `image_names` are those that images had in the user's folder, by SHA-256. `images_of` has the file names and the
    SHA-256 of an item's images, `images` those of all items. `by_sign` has the items by image, then by question, and
    by rarest word after a space; `unnamed` those without file names by question. `first` is the number of the
    first row of the source if items are numbered, else None.
    """

    def __init__(self, items: Iterable[Item], image_names: Mapping[str, Sequence[str]] | None = None) -> None:
        self.words: dict[str, str] = {}
        self.by_id = {item.item_id: item for item in items if item.split == "test"}
        self.by_provenance: dict[str, list[Item]] = {}
        self.by_question, self.unnamed = dict[str, list[Item]](), dict[str, list[Item]]()
        self.images_of, self.by_sign = dict[str, frozenset[str]](), dict[str, dict[str, list[Item]]]()
        self.texts = {item.item_id: words_of(item.question) for item in self.by_id.values()}
        counts = Counter(word for text in self.texts.values() for word in set(text.split()))
        for item in self.by_id.values():
            if own_id := str(item.provenance.get("id", "")):
                self.by_provenance.setdefault(own_id, []).append(item)
            texts = (text for text in item.provenance.values() if isinstance(text, str))
            names = frozenset(filter(None, map(image_name, texts)))
            digests = frozenset(image.stored_sha256 for image in item.media())
            digests = digests.union(*((image_names or {}).get(digest, ()) for digest in digests))
            question = self.plain(item.question)
            for items_by_question in (self.by_question,) if names else (self.by_question, self.unnamed):
                items_by_question.setdefault(question, []).append(item)
            self.images_of[item.item_id] = names | digests
            rarest = min(self.texts[item.item_id].split(), key=counts.__getitem__, default="")
            for image, sign in product(names | digests, (question, f" {rarest}")):
                self.by_sign.setdefault(image, {}).setdefault(sign, []).append(item)
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

    def named(self, name: str) -> Sequence[Item]:
        """The items with this id, or with this id in their source; pandas writes 7.0 in a column with gaps."""
        for each in (name, name.removesuffix(".0")):
            if items := [self.by_id[each]] if each in self.by_id else self.by_provenance.get(each, []):
                return items
        return []

    def match(self, row: AnswerRow) -> Sequence[Item]:
        """The items that a row may belong to, by its id or else by its question, also within a prompt, and images.

        Of many by their question, which are as good as none, there are at least two.
        """
        if items := self.named(row.item):
            return items
        question, words = self.plain(row.question), words_of(row.question)
        alike = self.by_question.get(question, []) if row.question else []
        # A prompt has more words than the question.
        signs = {question} if alike else {" ", *(f" {word}" for word in words.split())}
        known = [self.by_sign[image] for image in dict.fromkeys(row.images) if image in self.by_sign]
        lists = [of_image[sign][: 2 if alike else None] for of_image in known for sign in of_image.keys() & signs]
        near = {item.item_id: item for items in lists for item in items}
        fitting = [item for item_id, item in near.items() if alike or self.texts[item_id] in words]
        if fitting or not alike:
            return fitting
        has_name = any(map(image_name, row.images))  # then it is of another image than items with other names
        return (self.unnamed.get(question, []) if has_name else alike)[:2]


MAX_SHARE, MIN_ROWS = 0.02, 2
"""The share of comparable rows that may contradict their items, and the number of rows from which a join is refused."""
MIN_COMMON = 0.5
"""The share of common words, of those of the shorter text, below which two wordings are of two questions."""
CONTRADICTION = "contradict their item in the question, the image, the options or the target"
TRUTH = {"true": "true", "t": "true", "yes": "true", "false": "false", "f": "false", "no": "false"}
_LABEL = re.compile(r"\(?(\w{1,2})[.):](?:\s|$)")
"""The label at the beginning of `C. blue` or `(C) blue`."""


def contradictions(joined: Sequence[tuple[AnswerRow, Item]], index: ItemIndex) -> tuple[int, list[str]]:
    """The number of comparable rows, and a description of each that contradicts its item."""
    comparable, described = 0, list[str]()
    for row, item in joined:
        ours = ", ".join(option.text for option in item.options)
        verdicts = {
            ("question", row.question, item.question): question_agrees(row.question, item.question, index.by_question),
            ("image", "another item", "its own"): _image_agrees(row.images, item, index),
            ("options", ", ".join(row.answer.options), ours): _options_agree(row, item),
            ("target", ", ".join(row.target), str(item.answer)): _target_agrees(row, item),
        }
        comparable += any(verdict is not None for verdict in verdicts.values())
        for what, theirs, ours in [cells for cells, verdict in verdicts.items() if verdict is False][:1]:
            same = next((n for n, (a, b) in enumerate(zip(theirs, ours, strict=False)) if a != b), 0)
            start = max(same - 5, 0)  # long texts differ late, and the line is short
            texts = f"{short_reason(theirs[start:], 14)!r}, not {short_reason(ours[start:], 14)!r}"
            described.append(f"row {row.number}: {what} {texts}")
    return comparable, described


def is_refused(comparable: int, described: Sequence[str]) -> bool:
    """True if too many of the rows that can be compared are described as contradictions."""
    return len(described) >= MIN_ROWS and len(described) > MAX_SHARE * comparable


def refuse_other_items(joined: Sequence[tuple[AnswerRow, Item]], index: ItemIndex) -> int:
    """The number of rows of a file that contradict their items. Raises SnellenError if they are too many."""
    comparable, described = contradictions(joined, index)
    if is_refused(comparable, described):
        raise SnellenError(
            f"{short_reason(Path(joined[0][0].path).name, 25)}: {len(described)} of {comparable} rows contradict their "
            f"item ({'; '.join(described[:3])}); give other items, ?id=COLUMN, or ?image=none, ?target=none …"
        )
    return len(described)


def question_agrees(text: str, question: str, questions: Container[str]) -> bool | None:
    """False for a text with few words of a question, or with a line that is another one; None for other wordings."""
    theirs, ours = words_of(text), words_of(question)
    if not theirs.strip() or not ours.strip():
        return None
    if ours in theirs or theirs in ours:
        return True
    is_of_other = any(" ".join(line.split()) in questions for line in (text, *text.splitlines()))
    sets = set(theirs.split()), set(ours.split())
    return False if is_of_other or len(sets[0] & sets[1]) < MIN_COMMON * min(map(len, sets)) else None


def _image_agrees(images: Sequence[str], item: Item, index: ItemIndex) -> bool | None:
    """False for images of other items only; None for unknown images, which may be the same in other files."""
    known = index.images.intersection(images)
    return not known.isdisjoint(index.images_of[item.item_id]) if known else None


def _options_agree(row: AnswerRow, item: Item) -> bool | None:
    """False if an option has another place, so another letter; None if none is known, or the reply is one's text."""
    theirs = [_LABEL.sub("", _plain(text)).strip() for text in row.answer.options]
    ours = [_plain(option.text or option.key) for option in item.options]
    if row.condition not in ("", "vanilla") or (row.answer.reply and _plain(row.answer.reply.text) in ours):
        return None
    places = [theirs.index(text) == place for place, text in enumerate(ours) if text in theirs]
    return all(places) if places else None


def _target_agrees(row: AnswerRow, item: Item) -> bool | None:
    """Whether one of the texts of a target may be the item's answer; None if none can be compared."""
    kind, answer, is_tuple = item.answer_kind, item.answer, isinstance(item.answer, tuple)
    if row.condition not in ("", "vanilla"):  # options may have other letters
        return None
    if kind in ("choice", "choices", "true_false"):
        named = [keys for text in row.target for keys in _options_named(text, item)]
        own = {str(key) for key in (answer if is_tuple else (answer,))}
        return all(keys & own for keys in named) and own <= set().union(*named) if named else None
    if kind in ("integer", "number") and isinstance(answer, int | float):
        numbers = [number for number in map(_number, row.target) if not math.isnan(number)]
        return any(math.isclose(number, answer, rel_tol=1e-6) for number in numbers) if numbers else None
    answers = answer if is_tuple else (answer,)
    theirs, ours = ([words_of(str(text)) for text in texts] for texts in (row.target, answers))
    return any(one in other or other in one for one in theirs for other in ours) if kind == "text" and theirs else None


def _options_named(text: str, item: Item) -> list[set[str]]:
    """The keys that each part of a target may mean: by key, text, index from 0 or from 1; none if one means nothing."""
    names: dict[str, set[str]] = {}
    for n, option in enumerate(item.options):
        indices = () if item.answer_kind == "true_false" else (str(n), str(n + 1))  # 1 may be the first word, or true
        for name in (_plain(option.key), _plain(option.text), *indices):
            names.setdefault(name, set()).add(option.key)
    for name, key in TRUTH.items() if item.answer_kind == "true_false" else ():
        names.setdefault(name, {key})
    whole, label = _plain(text), _LABEL.match(_plain(text))
    parts = [whole if whole in names or label is None else label[1]]
    if item.answer_kind == "choices" and whole not in names:
        parts = re.findall(r"\w+", whole)
        parts = list(whole) if len(parts) == 1 else parts
    return [names[part] for part in parts] if all(names.get(part) and part for part in parts) else []


def words_of(text: str) -> str:
    """The words of a text between single spaces, which are also at its ends."""
    words = re.findall(r"\w+", re.sub(r"<image[^<>]{0,20}>", " ", text.casefold()))
    return f" {' '.join(words)} "


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")


def _number(text: str) -> float:
    """The number; NaN for another text."""
    with suppress(ValueError):
        return float(text.replace(",", "").strip(" $%"))
    return math.nan


def placed(index: ItemIndex, answer_rows: Sequence[AnswerRow]) -> Mapping[str, Item] | None:
    """The item of each row number in a file, none if there are more or fewer rows; None if they are ids."""
    written = {row.item for row in answer_rows if row.numbering}
    if not written or not all(map(WHOLE_NUMBER.fullmatch, written)):
        return None
    numbers = sorted(map(int, written))
    is_run = numbers[0] in (0, 1) and numbers[-1] - numbers[0] == len(numbers) - 1
    by_task = [item for items in index.tasks.values() for item in items]
    orders = [("", list(index.by_id.values())), ("", by_task), *index.tasks.items()]
    fitting = {tuple(item.item_id for item in items): task for task, items in orders if len(items) == len(numbers)}
    are_ids = numbers[0] == index.first and (not fitting or written <= index.by_provenance.keys())
    if not any(row.numbering == POSITION for row in answer_rows) and (are_ids or not is_run):
        return None
    ranked = list[tuple[tuple[int, int], str, dict[str, Item]]]()
    for ids, task in fitting.items() if is_run else ():
        place = {str(number): index.by_id[item_id] for number, item_id in zip(numbers, ids, strict=True)}
        joined = [(row, place[row.item]) for row in answer_rows if row.numbering]
        comparable, described = contradictions(joined, index)
        ranked.append(((len(described) - comparable, len(described)), task, place))
    best = [entry for entry in ranked if entry[0] == min(rank for rank, *_ in ranked)]
    if len(best) > 1:
        file = _slug(Path(answer_rows[0].path).name)
        named = [task for _, task, _ in best if task and _slug(task) in file]
        best = [entry for entry in best if entry[1] in named and len(entry[1]) == max(map(len, named))]
    return best[0][2] if len(best) == 1 else {}


def _slug(text: str) -> str:
    return re.sub(r"[\W_]+", "_", f"_{text}_")
