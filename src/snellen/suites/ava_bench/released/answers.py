"""What a released question and its answer say, in the item's own terms.

Formats of answers: `[0.56, 0.42, 0.67, 0.58]` in shares of the padded square, `[232, 9, 10]`, `7`, `D. 4-5`, `1. red`,
a text (appendix A.2; OSU-MLB/AVA-Bench, `tinyllava/eval/*/eval.py`, commit 081b360). Unverified: no released data file
was at hand when this was written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase
from sys import intern
from types import MappingProxyType
from typing import Any

from snellen.core.errors import SnellenError
from snellen.core.item import Affine, AnswerKind, Box
from snellen.suites.ava_bench import prompts
from snellen.suites.ava_bench.abilities import ability_named
from snellen.suites.ava_bench.abilities.ability import Ability
from snellen.suites.ava_bench.released.files import released_form

IMAGE_TOKEN = "<image>"
OVERHANG = 0.01
"""How far a box may reach over the edge of its picture, as a share of the square: boxes have two decimals."""

_NUMBER = r"\s*([-+]?(?:\d+\.?\d*|\.\d+))\s*"
_BOX = re.compile(rf"[\[(]?{','.join([_NUMBER] * 4)}[\])]?\.?")
_COLOUR = re.compile(r"[\[(]?\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*[\])]?\.?")
_COUNT = re.compile(r"(\d{1,6})\.?")
_END = " \t\r\n,;."


class LeftOut(ValueError):
    """A record that says nothing that could be asked. `reason` is the same for all alike, `said` is its own."""

    def __init__(self, reason: str, said: str) -> None:
        super().__init__(f"{reason}: {said}")
        self.reason, self.said = reason, said


@dataclass(frozen=True)
class Asked:
    """One released record, read. `options` are in the order listed; `inline` says that the question still lists them.

    The answer of localization is [x1, y1, x2, y2] in shares of the padded square (`stored_box` leads it to pixels).
    """

    question: str
    answer: Any
    options: tuple[str, ...] = ()
    inline: bool = False
    factors: Mapping[str, str] = field(default_factory=dict)
    measures: Mapping[str, float] = field(default_factory=dict)


def read_record(task: str, asked: str, said: str) -> Asked:
    """The item that a human turn `asked` and its answer `said` make. Raises LeftOut for what cannot be read."""
    question, said = asked.replace(IMAGE_TOKEN, "", 1).strip(), said.strip()
    if not question:
        raise LeftOut("there is no question", asked)
    ability = ability_named(task)
    if ability.has_options:
        return _choice(ability, question, said)
    answer = _READERS[ability.kind](said)
    levels = released_form(task).levels(question, answer, ())
    return Asked(question, answer, factors=levels.factors, measures=levels.measures)


def _unit_box(said: str) -> list[float]:
    found = _BOX.fullmatch(said)
    if found is None:
        raise LeftOut("the answer is no box [x1, y1, x2, y2]", said)
    x1, y1, x2, y2 = (float(side) for side in found.groups())
    if not all(0 <= side <= 1 for side in (x1, y1, x2, y2)):
        raise LeftOut("the box reaches out of the square, whose sides go from 0 to 1", said)
    if x1 == x2 or y1 == y2:
        raise LeftOut("the box has no area", said)
    if x1 > x2 or y1 > y2:
        raise LeftOut("the corners of the box are exchanged", said)
    return [x1, y1, x2, y2]


def _count(said: str) -> int:
    found = _COUNT.fullmatch(said)
    if found is None:
        raise LeftOut("the answer is no whole number", said)
    if not int(found[1]):
        raise LeftOut("nothing is counted, and an error over a truth of 0 is not defined", said)
    return int(found[1])


def _colour(said: str) -> list[int]:
    found = _COLOUR.fullmatch(said)
    levels = [int(level) for level in found.groups()] if found else []
    if not levels or max(levels) > 255:
        raise LeftOut("the answer is no colour [R, G, B] of whole numbers from 0 to 255", said)
    return levels


def _text(said: str) -> str:
    if not said:
        raise LeftOut("the answer is empty", said)
    return said


_READERS: Mapping[AnswerKind, Callable[[str], Any]] = MappingProxyType(
    {"box": _unit_box, "integer": _count, "colour": _colour, "text": _text}
)


def _choice(ability: Ability, question: str, said: str) -> Asked:
    texts = listed(ability, question)
    answer = _chosen(ability, texts, said)
    cut = _cut(ability, question, texts)
    if not cut and not prompts.lists_options(question):
        raise LeftOut("the options are listed in a way that would list them twice", question)
    try:
        factors, measures = released_form(ability.name).levels(question, answer, texts)
    except SnellenError:
        raise LeftOut("an option is no bin of depths like 4-5", question) from None
    return Asked(cut or question, answer, texts, not cut, factors, measures)


def labels_of(ability: Ability, count: int) -> list[str]:
    """`A`, `B` … or `1`, `2` …: what stands before the dot of so many options of a task."""
    return list(ascii_uppercase[:count]) if ability.option_labels == "letters" else [str(n + 1) for n in range(count)]


def listed(ability: Ability, question: str) -> tuple[str, ...]:
    """The options that a question lists, in order, without labels. Raises LeftOut for fewer than two, or one twice.

    Labels count up from the first one; of several readings the longest list is taken, of equal ones the last.
    """
    first = re.compile(rf"(?<![\w.-]){labels_of(ability, 1)[0]}\.(?!\d)\s*")
    lists = [_from(ability, question, found) for found in first.finditer(question)]
    texts = max(reversed(lists), key=len, default=())
    if len(texts) < 2:
        kind = "A., B." if ability.option_labels == "letters" else "1., 2."
        raise LeftOut(f"the question does not list its options as {kind}", question)
    if not all(texts) or len({text.casefold() for text in texts}) < len(texts):
        raise LeftOut("two options are the same, or one is empty", question)
    return texts


def _from(ability: Ability, question: str, first: re.Match[str]) -> tuple[str, ...]:
    most = len(ascii_uppercase) if ability.option_labels == "letters" else len(question)
    texts, start = list[str](), first.end()
    for place in range(1, most):
        label = ascii_uppercase[place] if ability.option_labels == "letters" else str(place + 1)
        found = re.compile(rf"(?:[,;]\s*|\s+){label}\.(?!\d)\s*").search(question, start)
        if found is None:
            break
        texts.append(intern(question[start : found.start()].strip(_END)))
        start = found.end()
    return (*texts, intern(question[start:].strip(_END)))


def _chosen(ability: Ability, texts: Sequence[str], said: str) -> str:
    """The text of the option that the answer names by label, by text, or by both alike."""
    plain = said.rstrip(_END)
    folded = [text.casefold() for text in texts]
    if plain.casefold() in folded:  # first: a text may look like a label
        return texts[folded.index(plain.casefold())]
    for label, text in zip(labels_of(ability, len(texts)), texts, strict=False):
        found = re.fullmatch(rf"{label}(?:\.\s*(.*))?", plain, re.DOTALL)
        if found and (found[1] or text).casefold() == text.casefold():
            return text
    raise LeftOut("the answer is none of the options of the question", said)


def _cut(ability: Ability, question: str, texts: Sequence[str]) -> str:
    """The question without its list, if presenters write the same text again letter for letter; else nothing."""
    names = [f"{label}. {text}" for label, text in zip(labels_of(ability, len(texts)), texts, strict=True)]
    tail = f" {prompts.list_options(ability.options_wording, names)}"
    head = question.removesuffix(tail)
    same = head != question and head == head.rstrip() and not prompts.lists_options(head)
    return head if same else ""


def stored_box(unit: Sequence[float], width: int, height: int) -> Box:
    """A box in shares of the padded square as [x1, y1, x2, y2] in pixels of the stored picture of `width` x `height`.

    The picture lies in the middle of the square (`transforms.Padded`); stored squares are their own squares. What
    reaches over an edge by `OVERHANG` or less is cut off, more raises LeftOut.
    """
    side = max(width, height)
    # Whole pixels, as `Padded` moves pictures: so what is written of the item is the released box again.
    left, top = (side - width) // 2, (side - height) // 2
    x1, y1, x2, y2 = Affine(side, 0, -left, 0, side, -top).box((unit[0], unit[1], unit[2], unit[3]))
    over = max(-x1, -y1, x2 - width, y2 - height)
    held = max(x1, 0.0), max(y1, 0.0), min(x2, float(width)), min(y2, float(height))
    if over > OVERHANG * side or held[0] >= held[2] or held[1] >= held[3]:
        raise LeftOut("the box lies on the padding beside its picture", f"{list(unit)} of {width} x {height}")
    return held
