"""Every wording: the author's question, images at their places, options, and one line with the form of the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count

from snellen.core.item import Media, Part, View
from snellen.presentation.presenters import option_lines

PLACEHOLDER = re.compile(r"<image(?:[ _]?(\d{1,2}))?>", re.IGNORECASE)
"""The place of an image in the author's text."""
REST_OF_LINE = re.compile(r"[^\S\n]*\S")
MARKS = re.compile(r"^(?:\[image \d{1,3}\][ \t]{0,4})+(?:\n|$)", re.MULTILINE)
"""A line of nothing but images."""
LETTER, LETTERS = "the letter of one option", "the letters of all right options, separated by commas"
FORMS = {
    "choice": "one of the options",
    "integer": "a whole number",
    "number": "a number",
    "text": "a word or a short phrase",
}
DIRECT = "Answer with {form}."
REASONING = "Explain briefly, then give {form} as the final answer in the last line, as `Answer: X`."


def form_of(view: View) -> str:
    """The words for the form of the answer."""
    names = [view.reply.name(key) for key in view.reply.offered]
    if view.reply.kind == "true_false":
        return " or ".join(names)
    if view.reply.kind == "choices":
        return LETTERS
    return LETTER if names and all(len(name) == 1 and name.isalpha() for name in names) else FORMS[view.reply.kind]


def lists_options(view: View, embedded: Sequence[str]) -> bool:
    """True if the prompt lists the options: they have texts, and the question does not list them (`embedded` keys)."""
    keys = {option.key for option in view.options}
    is_choice = view.reply.kind in ("choice", "choices")
    return is_choice and any(option.text for option in view.options) and keys != set(embedded)


def most_mentioned(question: str, options: Sequence[str]) -> int:
    """The greatest number of an image that the texts mention; unnumbered placeholders count one each."""
    matches = [match for text in (question, *options) for match in PLACEHOLDER.finditer(text)]
    numbers = [int(match[1]) for match in matches if match[1]]
    return max([*numbers, len(matches) - len(numbers)])


def numbered_places(question: str, options: Sequence[str]) -> list[str]:
    """The options with a number in each placeholder: in another order of the options, each keeps its image."""
    numbers = count(1 + sum(not match[1] for match in PLACEHOLDER.finditer(question)))
    return [PLACEHOLDER.sub(lambda match: match[0] if match[1] else f"<image {next(numbers)}>", o) for o in options]


def placed(text: str, images: Sequence[Media]) -> tuple[Part, ...]:
    """The images in place of their placeholders, those without one first.

    A placeholder at either end or on its own line is removed if its image is not shown there; one within a sentence
    becomes `[image 1]`.
    """
    parts = list(_parts(text, len(images)))
    mentioned = {part for part in parts if isinstance(part, int)}
    first = [image for number, image in enumerate(images, 1) if number not in mentioned]
    return (*first, *(images[part - 1] if isinstance(part, int) else part for part in parts))


def _parts(text: str, count: int) -> Iterator[str | int]:
    """The text with the numbers of images (from 1) at their first places; texts are stripped and not empty."""
    numbers, before, start, passage, is_within = set[int](), 0, 0, "", False
    for match in PLACEHOLDER.finditer(text):
        before += not match[1]
        number = int(match[1] or before)
        _, line_feed, line = text[start : match.start()].rpartition("\n")
        is_within = bool(line.strip()) or (is_within and not line_feed)  # something stands before it in its line
        passage += text[start : match.start()]
        start = match.end()
        if number <= count and number not in numbers:
            if passage.strip():
                yield passage.strip()
            numbers.add(number)
            passage = ""
            yield number
        elif is_within and REST_OF_LINE.match(text, start):
            passage += f"[image {number}]"
        is_within = True
    if rest := (passage + text[start:]).strip():
        yield rest


def for_people(view: View) -> str:
    """The author's question alone. Marks of images are the numbers that people see, and are left out on own lines."""
    numbers, is_single = count(1), len(view.query) == 1
    text = PLACEHOLDER.sub(lambda match: f"[image {match[1] or next(numbers)}]", view.question)
    text = MARKS.sub("", text)
    return (text.replace("[image 1]", "") if is_single else text).strip()


def words(view: View, method: str, embedded: Sequence[str]) -> str:
    """The author's question; unless `verbatim`, with options that it does not list, and the form of the answer."""
    if method == "verbatim":
        return view.question
    ending = (REASONING if method == "reasoning" else DIRECT).format(form=form_of(view))
    options = [option_lines(view)] if lists_options(view, embedded) else []
    return "\n".join([view.question, *options, ending])
