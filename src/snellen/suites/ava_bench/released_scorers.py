"""Readers of replies as in the authors' scripts (OSU-MLB/AVA-Bench, `tinyllava/eval/*/eval.py`, commit 081b360).

Five abilities have no script. The scripts compare a reply with the text of the truth, `D. 4-5` or `90. bulldozing`. A
reader here does not know the truth, so for a choice it returns the keys of all options that the script would accept if
they were the truth. Each maps (text, spec) to the input of its metric, None if the script skips the reply.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import lru_cache

from snellen.core.item import Box, ReplySpec
from snellen.scoring.answers.vocabulary import ONES

_PUNCTUATION = ';/[]"{}()=+\\_-><@`,?!'
_ARTICLES = frozenset(("a", "an", "the"))
_WORDS = {word: str(number) for number, word in enumerate(ONES.split()[:11])} | {"none": "0"}
_PERIOD = re.compile(r"\.(?!\d)")
_COMMA_IN_NUMBER = re.compile(r"(\d),(\d)")
_SIGNED = re.compile(r"-?\d+(?:\.\d+)?")
_LONGEST = 15
"""Numbers with more digits are ignored."""


def as_vqa(text: str) -> str:
    """The reply as cleaned by the scripts for counting, depth and relative depth: VQA's rules as coded there.

    A punctuation sign is removed if it is next to a space anywhere in the reply, or if the reply has a comma between
    digits; otherwise it becomes a space: `4-5` gives `4 5`, `-3` gives `3`. Number words up to ten become digits.
    Contractions, which the scripts also normalise, occur in no answer here.
    """
    stripped = cleaned = re.sub(r"[\n\t]", " ", text).strip()
    grouped = _COMMA_IN_NUMBER.search(stripped) is not None
    for sign in _PUNCTUATION:
        near_space = f"{sign} " in stripped or f" {sign}" in stripped
        cleaned = cleaned.replace(sign, "" if near_space or grouped else " ")
    words = (_WORDS.get(word, word) for word in _PERIOD.sub("", cleaned, count=32).lower().split())
    return " ".join(word for word in words if word not in _ARTICLES)


def as_action(text: str) -> str:
    """The reply as cleaned by the script for action: commas between digits removed, other punctuation as spaces."""
    cleaned = _PERIOD.sub("", _COMMA_IN_NUMBER.sub(r"\1\2", re.sub(r"[\n\t]", " ", text).strip().lower()))
    for sign in _PUNCTUATION:
        cleaned = cleaned.replace(sign, " ")
    return " ".join(word for word in cleaned.split() if word not in _ARTICLES)


def read_count(text: str, spec: ReplySpec) -> str | None:
    """The cleaned reply: right if it equals the true number as text; its error counts if it is a number.

    The script's `int` also accepts `07`: for 7 it is wrong, with an error of 0.
    """
    return as_vqa(text) or None


def whole_number(reply: str) -> int | None:
    """The cleaned reply as a number, or None."""
    return int(reply) if re.fullmatch(rf"\d{{1,{_LONGEST}}}", reply) else None


def read_depth(text: str, spec: ReplySpec) -> float | None:
    """The mean of the last two whole numbers of a reply, or its only one, in metres; None without any.

    `D. 4-5` is 4.5, and so is `4.5`; `12.0` is 6.
    """
    numbers = re.findall(r"\d+", as_vqa(text))[-2:]
    if not numbers or any(len(number) > _LONGEST for number in numbers):
        return None
    return sum(map(int, numbers)) / len(numbers)


def read_first_box(text: str, spec: ReplySpec) -> Box | None:
    """The first four numbers of a reply, converted to pixels, with exchanged corners corrected; None for fewer."""
    numbers = _first(text, 4)
    if numbers is None:
        return None
    x1, y1, x2, y2 = numbers
    box = min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)
    return box if spec.frame is None else spec.frame.inverse().box(box)


def read_first_colour(text: str, spec: ReplySpec) -> tuple[float, ...] | None:
    """The first three numbers of a reply, clipped to 0..255; None for fewer."""
    numbers = _first(text, 3)
    return None if numbers is None else tuple(max(0.0, min(255.0, number)) for number in numbers)


def _first(text: str, count: int) -> list[float] | None:
    matches = _SIGNED.findall(text)[:count]
    numbers = [float(number) for number in matches]
    return numbers if len(numbers) == count and all(map(math.isfinite, numbers)) else None


def read_whole_text(text: str, spec: ReplySpec) -> str | None:
    """The whole reply, as the script for OCR compares it; an empty one scores 0."""
    return re.sub(r"[\n\t]", " ", text).strip() or None


def _keys(spec: ReplySpec, right: Callable[[str], bool]) -> tuple[str, ...]:
    """The keys of the options that would be right, each tested by the first name under which it is shown."""
    names: dict[str, str] = {}
    for name, key in spec.keys:
        names.setdefault(key, name)
    return tuple(key for key, name in names.items() if right(name))


# Truths are names of options, and recur in many items.
_as_vqa = lru_cache(maxsize=1 << 16)(as_vqa)


@lru_cache(maxsize=1 << 16)
def _numbered(truth: str) -> tuple[str, str | None]:
    """The truth as cleaned by the script for action, and its leading number."""
    cleaned = as_action(truth)
    number = re.match(r"\d+", cleaned)
    return cleaned, number and number[0]


@lru_cache(maxsize=1 << 16)
def read_equal(text: str, spec: ReplySpec) -> tuple[str, ...]:
    """Relative depth: the option equal to the cleaned reply, including the number: `1. red`, never `red`."""
    reply = as_vqa(text)
    return _keys(spec, lambda truth: _as_vqa(truth) == reply)


def read_number_or_equal(text: str, spec: ReplySpec) -> tuple[str, ...]:
    """Action: the option with the reply's leading number; if either has none, the option with the same cleaned text."""
    reply = as_action(text)
    number = re.match(r"\d+", reply)

    def right(truth: str) -> bool:
        cleaned, true_number = _numbered(truth)
        if true_number and number:
            return true_number == number[0]
        return cleaned == reply

    return _keys(spec, right)


def read_any_token(text: str, spec: ReplySpec) -> tuple[str, ...]:
    """Fine-grained: every option that shares a word or number with the reply.

    Words are separated by dots and spaces, and are case-sensitive. `3. Boletus edulis` is right for any truth with
    number 3, or with `Boletus` in its name.
    """
    reply_tokens = set(_tokens(text))
    return _keys(spec, lambda truth: not reply_tokens.isdisjoint(_tokens(truth)))


def read_first_token(text: str, spec: ReplySpec) -> tuple[str, ...]:
    """Spatial: the options with the reply's first token as letter, or with the other words equal to all its stretches.

    "Every stretch" is true of a reply with fewer words: `B`, `left` or nothing is right whatever the truth.
    """
    reply_tokens = [token.lower() for token in _tokens(text)]

    def right(truth: str) -> bool:
        true_tokens = [token.lower() for token in _tokens(truth)]
        rest = true_tokens[1:]
        stretches = (reply_tokens[n : n + len(rest)] for n in range(len(reply_tokens) - len(rest) + 1))
        return true_tokens[0] == reply_tokens[0] or (bool(rest) and all(stretch == rest for stretch in stretches))

    return _keys(spec, right)


def _tokens(text: str) -> list[str]:
    return re.split(r"[. ]+", re.sub(r"[\n\t]", " ", text).strip())
