"""The letters of four to eight images, in order: which image stands at each place of the reply."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from snellen_sight import drawing
from snellen_sight.checks.check import SightCheck
from snellen_sight.drawing import png
from snellen_sight.likelihood import FINE, SightQuestion, read_answers
from snellen_sight.results import SightLine

LETTERS = tuple("CEFHKLPRTUXZ")
COUNTS = (4, 4, 6, 8, 4, 6, 8)
"""Images of the n-th question."""
PLACES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
Pattern = tuple[int, ...]
"""For each letter of a reply, the place of its image among those sent, from 0; -1 for a letter that was not sent."""


def _letters(rng: np.random.Generator, number: int) -> SightQuestion:
    sent = [str(letter) for letter in rng.permutation(LETTERS)[: COUNTS[number % len(COUNTS)]]]
    text = (
        "Each image shows one capital letter. Write the letters of all images in the order in which the images were "
        "given, separated by commas, and nothing else."
    )
    images = tuple(png(drawing.letter(letter)) for letter in sent)
    return SightQuestion("several images", images, text, LETTERS, {FINE: tuple(frozenset({name}) for name in sent)})


def pattern_of(question: SightQuestion, reply: str) -> Pattern:
    """Which image stands at each place of a reply."""
    return tuple(
        question.right.index(letter) if letter in question.right else -1 for letter in read_answers(reply, question)
    )


def order_line(replies: Sequence[tuple[SightQuestion, str]]) -> SightLine:
    """The line: fine if all lists are right, a fault if two lists of one length agree in another pattern."""
    patterns: dict[int, list[Pattern]] = {}
    sorted_wrongly = 0
    for question, reply in replies:
        pattern, letters = pattern_of(question, reply), read_answers(reply, question)
        if letters != question.right and len(letters) > 1 and list(letters) == sorted(question.right):
            sorted_wrongly += 1
        elif pattern:
            patterns.setdefault(len(question.images), []).append(pattern)
    faults, right, wrong = dict[int, Pattern](), 0, 0
    for count, found in patterns.items():
        usual = max(found, key=found.count)
        is_fault = found.count(usual) >= 2 and usual != tuple(range(count)) and -1 not in usual
        if is_fault:
            faults[count] = usual
        right += found.count(tuple(range(count)))
        wrong += len(found) - found.count(tuple(range(count)))
    if sorted_wrongly >= 2 and sorted_wrongly > wrong:
        text = f"several images: {sorted_wrongly} lists of letters are in the order of the alphabet"
        return SightLine("several images", "cannot tell", text)
    wrong += sorted_wrongly
    if faults:
        words = dict.fromkeys(words_of(pattern, count) for count, pattern in faults.items())
        return SightLine("several images", "not so", "; ".join(words))
    if right >= 3 and not wrong:
        most = max(patterns)
        return SightLine("several images", "fine", f"up to {most} images of a call arrive in order")
    whole = [p for count, found in patterns.items() for p in found if sorted(p) == list(range(count)) != list(p)]
    if len(whole) >= 2 and len(whole) > right:
        text = "several images arrive in an order that changes from call to call"
        if all(p == tuple(range(len(p)))[::-1] for p in whole):
            text = words_of(whole[0], len(whole[0]))
        return SightLine("several images", "not so", text)
    reason = (
        f"{wrong} of {right + wrong} lists of letters are wrong, in no common way" if wrong else "no lists are read"
    )
    return SightLine("several images", "cannot tell", f"several images: {reason}")


def words_of(pattern: Pattern, count: int) -> str:
    """What happens to so many images: which are missing, or the order in which they arrive."""
    missing = [PLACES[place] for place in range(count) if place not in pattern]
    if pattern == tuple(range(count))[::-1]:
        return "several images arrive in reverse order"
    if pattern in {(0,), (count - 1,)}:
        return f"only the {'last' if pattern[0] else 'first'} of several images arrives"
    if missing and list(pattern) == sorted(set(pattern)):
        return f"the {_listed(missing)} of {count} images {'does' if len(missing) == 1 else 'do'} not arrive"
    return f"{count} images arrive in the order {', '.join(str(place + 1) for place in pattern)}"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


ORDER = SightCheck("several images", _letters, 4, 7, "several images", {}, conclude=order_line)
