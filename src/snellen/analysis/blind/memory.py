"""What the other questions of an exam reveal about one of them to an attacker that recognises files.

It knows every question as shown: the files of its images, its words and options, its drawn boxes and solved examples.
It knows neither keys nor ids, and reads no pixel. People in a study remember as much.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from snellen.analysis.blind.attacks import labels
from snellen.core.item import Box, Item

MAX_LINKED = 10
"""Linked files up to which every half of them is tried."""
MOST_USES = 100
"""Questions about a file above which it is not recognised: it stands for images that are not drawn."""


class ExamMemory:
    """The questions of an exam, by the files that they show."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._by_file: dict[str, list[Item]] = defaultdict(list)
        self._labels: dict[str, set[tuple[str, str]]] = defaultdict(set)
        self._uses: dict[str, set[tuple[str, ...]]] = defaultdict(set)
        self._main: dict[frozenset[str], frozenset[str]] = {}
        self._offers: dict[str, list[set[str]]] = {}
        for item in items:
            files = _files(item)
            for file in files:
                self._by_file[file].append(item)
                self._uses[file].add((item.task, *files))
            for demo in item.support:
                for media in demo.media:
                    self._labels[media.sha256].add((item.item_id, labels(item).get(demo.answer, demo.answer)))
        for file in [file for file, questions in self._by_file.items() if len(questions) > MOST_USES]:
            del self._by_file[file], self._uses[file]
            self._labels.pop(file, None)

    def clues(self, item: Item, key: str = "") -> Iterator[str]:
        """What other questions reveal about an item, and about the option `key` if one is given; as words."""
        text = labels(item).get(key, key) if key else ""
        often = self._often(item)
        several = f"often={sum(often)} of {len(often)}"
        numbers = [int(number) for number in re.findall(r"\d+", text)]
        if numbers and max(numbers) <= len(often) and min(numbers):
            named = [often[number - 1] for number in numbers]
            several = f"often={sum(named)} of {len(named)} named, {sum(often) - sum(named)} of the rest"
        of_option = self._of_option(item, key) if key else ()
        for clue in (several, f"alike={all(often)}", *self._repetition(item), *of_option):
            yield f"elsewhere {clue}"
            yield f"elsewhere {clue}/{text}"
            yield f"elsewhere {clue}/{text}/{item.question}"

    def _often(self, item: Item) -> list[bool]:
        """For each of its images, whether it probably shows what most of the images linked to it show."""
        related, new = set[str](), set(_files(item))
        while new:
            related |= new
            new = {file for own in new for use in self._uses[own] for file in use[1:]} - related
        linked = frozenset(related)
        if linked not in self._main:
            self._main[linked] = _likeliest(
                linked, [use[1:] for use in {use for file in linked for use in self._uses[file]}]
            )
        return [file in self._main[linked] for file in _files(item)]

    def _repetition(self, item: Item) -> Iterator[str]:
        """Whether questions of other tasks on its files share more words with it, or with another one of its task."""
        same, other = list[set[str]](), list[set[str]]()
        for question in self._others(item):
            (same if question.task == item.task else other).append(set(question.question.lower().split()))
        said = {word for words in other for word in words}
        own = len(said & set(item.question.lower().split()))
        yield f"words={own > max((len(said & words) for words in same), default=own)}"

    def _of_option(self, item: Item, key: str) -> Iterator[str]:
        """Whether examples of other questions label the image so, or other questions on it name or offer the option."""
        text = labels(item).get(key, key).lower()
        own = _files(item)[:1]
        elsewhere = {name.lower() for file in own for at, name in self._labels[file] if at != item.item_id}
        yield f"label={text in elsewhere}"
        others = self._others(item)
        named = [question for question in others if text in question.question.lower()]
        boxes = set(_boxes(item))
        yield f"named={bool(named)}"
        yield from (f"named in {task}" for task in sorted({question.task for question in named}))
        yield f"named in box={any(boxes & set(_boxes(question)) for question in named)}"
        if (offers := self._offers.get(item.item_id)) is None:
            offers = [{name.lower() for name in labels(question).values()} for question in others]
            self._offers[item.item_id] = offers
        yield f"offered={sum(text in offer for offer in offers)} of {len(offers)}"
        files = {media.sha256 for option in item.options if option.key == key for media in option.media}
        yield f"shown={bool(files & {file for question in others for file in _files(question)})}"

    def _others(self, item: Item) -> list[Item]:
        """The other questions that show its first image."""
        return [other for file in _files(item)[:1] for other in self._by_file[file] if other.item_id != item.item_id]


def _likeliest(linked: frozenset[str], uses: Sequence[Sequence[str]]) -> frozenset[str]:
    """The half of the linked files that likeliest shows one thing, while each of the others shows its own.

    Half of the questions are taken to show the thing alone, and the others to have any number of others. Of many files,
    it is those that are in most questions.
    """
    half = (len(linked) + 1) // 2
    if len(linked) > MAX_LINKED:
        counts = Counter(file for use in uses for file in use)
        return frozenset(sorted(linked, key=lambda file: (-counts[file], file))[:half])

    def likelihood(chosen: frozenset[str]) -> float:
        total = 0.0
        for use in uses:
            inside = len(chosen.intersection(use))
            share = 0.5 if inside == len(use) else 0.5 / (len(use) - 1) if inside else 1e-6
            total += math.log(
                share / max(math.comb(half, inside), 1) / max(math.comb(len(linked) - half, len(use) - inside), 1)
            )
        return total

    return max(map(frozenset, combinations(sorted(linked), half)), key=likelihood)


def _files(item: Item) -> tuple[str, ...]:
    return tuple(media.sha256 for media in item.query)


def _boxes(item: Item) -> Iterator[Box]:
    """The boxes that its question names, which are drawn in its image; none if a box is the answer.

    What stands in brackets is said of boxes that only a condition draws.
    """
    for name, region in item.regions.items() if item.answer_kind != "box" else ():
        if name in re.sub(r"\(.*?\)", "", item.question) and isinstance(region, list | tuple) and len(region) == 4:
            x1, y1, x2, y2 = region
            yield x1, y1, x2, y2
