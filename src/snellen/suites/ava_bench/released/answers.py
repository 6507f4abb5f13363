"""Released questions and answers, read as fields of an item.

Answer formats: `[0.56, 0.42, 0.67, 0.58]` in shares of the padded square, `[232, 9, 10]`, `7`, `D. 4-5`, `1. red`, a
text (appendix A.2; OSU-MLB/AVA-Bench, `tinyllava/eval/*/eval.py`, commit 081b360). Unverified: no released data file
was available when this was written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase
from sys import intern
from typing import Any

from snellen.core.errors import SnellenError
from snellen.core.item import Affine, AnswerKind, Box
from snellen.suites.ava_bench import prompts
from snellen.suites.ava_bench.abilities import ability_named
from snellen.suites.ava_bench.abilities.ability import Ability
from snellen.suites.ava_bench.released.files import released_form

IMAGE_TOKEN = "<image>"
OVERHANG = 0.01
"""The tolerated overhang of a box over its image, as a share of the square: boxes have two decimals."""

_NUMBER = r"\s*([-+]?(?:\d+\.?\d*|\.\d+))\s*"
_BOX = re.compile(rf"[\[(]?{','.join([_NUMBER] * 4)}[\])]?\.?")
_COLOUR = re.compile(r"[\[(]?\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*[\])]?\.?")
_COUNT = re.compile(r"(\d{1,6})\.?")
_END = " \t\r\n,;."


class LeftOut(ValueError):
    """A record that cannot become an item. `reason` is the general rule, `detail` belongs to this record."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason, self.detail = reason, detail


@dataclass(frozen=True)
class ReleasedQuestion:
    """A parsed record. `options` are in the listed order; `inline` is True if the question still lists them.

    The answer of localization is [x1, y1, x2, y2] in shares of the padded square (`stored_box` converts it to pixels).
    """

    question: str
    answer: Any
    options: tuple[str, ...] = ()
    inline: bool = False
    factors: Mapping[str, str] = field(default_factory=dict)
    measures: Mapping[str, float] = field(default_factory=dict)


def read_record(task: str, question_text: str, answer_text: str) -> ReleasedQuestion:
    """The parsed record of a human turn and its answer. Raises LeftOut for unreadable ones."""
    question, answer_text = question_text.replace(IMAGE_TOKEN, "", 1).strip(), answer_text.strip()
    if not question:
        raise LeftOut("the question is missing", question_text)
    ability = ability_named(task)
    if ability.has_options:
        return _choice(ability, question, answer_text)
    answer = _READERS[ability.kind](answer_text)
    levels = released_form(task).levels(question, answer, ())
    return ReleasedQuestion(question, answer, factors=levels.factors, measures=levels.measures)


def _unit_box(answer_text: str) -> list[float]:
    match = _BOX.fullmatch(answer_text)
    if match is None:
        raise LeftOut("the answer is not a box [x1, y1, x2, y2]", answer_text)
    x1, y1, x2, y2 = (float(side) for side in match.groups())
    if not all(0 <= side <= 1 for side in (x1, y1, x2, y2)):
        raise LeftOut("the box is not inside the square, whose sides go from 0 to 1", answer_text)
    if x1 == x2 or y1 == y2:
        raise LeftOut("the box has no area", answer_text)
    if x1 > x2 or y1 > y2:
        raise LeftOut("the corners of the box are exchanged", answer_text)
    return [x1, y1, x2, y2]


def _count(answer_text: str) -> int:
    match = _COUNT.fullmatch(answer_text)
    if match is None:
        raise LeftOut("the answer is not a whole number", answer_text)
    if not int(match[1]):
        raise LeftOut("the count is 0, and an error relative to 0 is undefined", answer_text)
    return int(match[1])


def _colour(answer_text: str) -> list[int]:
    match = _COLOUR.fullmatch(answer_text)
    levels = [int(level) for level in match.groups()] if match else []
    if not levels or max(levels) > 255:
        raise LeftOut("the answer is not a colour [R, G, B] of whole numbers from 0 to 255", answer_text)
    return levels


def _text(answer_text: str) -> str:
    if not answer_text:
        raise LeftOut("the answer is empty", answer_text)
    return answer_text


_READERS: Mapping[AnswerKind, Callable[[str], Any]] = {
    "box": _unit_box,
    "integer": _count,
    "colour": _colour,
    "text": _text,
}


def _choice(ability: Ability, question: str, answer_text: str) -> ReleasedQuestion:
    texts = listed(ability, question)
    answer = _chosen(ability, texts, answer_text)
    cut = _cut(ability, question, texts)
    if not cut and not prompts.lists_options(question):
        raise LeftOut("the options are listed in a form in which prompts would list them twice", question)
    try:
        factors, measures = released_form(ability.name).levels(question, answer, texts)
    except SnellenError:
        raise LeftOut("an option is not a bin of depths like 4-5", question) from None
    return ReleasedQuestion(cut or question, answer, texts, not cut, factors, measures)


def labels_of(ability: Ability, count: int) -> list[str]:
    """The labels before the dot of so many options: `A`, `B` … or `1`, `2` …."""
    return list(ascii_uppercase[:count]) if ability.option_labels == "letters" else [str(n + 1) for n in range(count)]


def listed(ability: Ability, question: str) -> tuple[str, ...]:
    """The options that a question lists, in order, without labels. Raises LeftOut for fewer than two, or duplicates.

    Labels count up from the first one; of several possible lists the longest is taken, of equally long ones the last.
    """
    first = re.compile(rf"(?<![\w.-]){labels_of(ability, 1)[0]}\.(?!\d)\s*")
    lists = [_from(ability, question, match) for match in first.finditer(question)]
    texts = max(reversed(lists), key=len, default=())
    if len(texts) < 2:
        kind = "A., B." if ability.option_labels == "letters" else "1., 2."
        raise LeftOut(f"the question does not list its options as {kind}", question)
    if not all(texts) or len({text.casefold() for text in texts}) < len(texts):
        raise LeftOut("two options are equal, or one is empty", question)
    return texts


def _from(ability: Ability, question: str, label_match: re.Match[str]) -> tuple[str, ...]:
    max_options = len(ascii_uppercase) if ability.option_labels == "letters" else len(question)
    texts, start = list[str](), label_match.end()
    for index in range(1, max_options):
        label = ascii_uppercase[index] if ability.option_labels == "letters" else str(index + 1)
        match = re.compile(rf"(?:[,;]\s*|\s+){label}\.(?!\d)\s*").search(question, start)
        if match is None:
            break
        texts.append(intern(question[start : match.start()].strip(_END)))
        start = match.end()
    return (*texts, intern(question[start:].strip(_END)))


def _chosen(ability: Ability, texts: Sequence[str], answer_text: str) -> str:
    """The text of the option that the answer names by label, by text, or consistently by both."""
    plain = answer_text.rstrip(_END)
    folded = [text.casefold() for text in texts]
    if plain.casefold() in folded:  # first: a text may look like a label
        return texts[folded.index(plain.casefold())]
    for label, text in zip(labels_of(ability, len(texts)), texts, strict=False):
        match = re.fullmatch(rf"{label}(?:\.\s*(.*))?", plain, re.DOTALL)
        if match and (match[1] or text).casefold() == text.casefold():
            return text
    raise LeftOut("the answer is not among the options of the question", answer_text)


def _cut(ability: Ability, question: str, texts: Sequence[str]) -> str:
    """The question without its list, if presenters reproduce the list verbatim; otherwise ""."""
    names = [f"{label}. {text}" for label, text in zip(labels_of(ability, len(texts)), texts, strict=True)]
    tail = f" {prompts.list_options(ability.options_wording, names)}"
    head = question.removesuffix(tail)
    same = head != question and head == head.rstrip() and not prompts.lists_options(head)
    return head if same else ""


def stored_box(unit: Sequence[float], width: int, height: int) -> Box:
    """A box in shares of the padded square as [x1, y1, x2, y2] in pixels of the stored image of `width` x `height`.

    The image is in the middle of the square (`transforms.Padded`); a stored square is its own square. An overhang of
    `OVERHANG` or less is cut off, more raises LeftOut.
    """
    side = max(width, height)
    # Whole pixels, as `Padded` moves images, so that writing the item's answer reproduces the released box.
    left, top = (side - width) // 2, (side - height) // 2
    x1, y1, x2, y2 = Affine(side, 0, -left, 0, side, -top).box((unit[0], unit[1], unit[2], unit[3]))
    over = max(-x1, -y1, x2 - width, y2 - height)
    box = max(x1, 0.0), max(y1, 0.0), min(x2, float(width)), min(y2, float(height))
    if over > OVERHANG * side or box[0] >= box[2] or box[1] >= box[3]:
        raise LeftOut("the box is on the padding next to its image", f"{list(unit)} of {width} x {height}")
    return box
