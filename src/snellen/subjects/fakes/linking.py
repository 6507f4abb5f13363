"""Ideal observers that link images: which images show the same thing, and how two of them differ.

`latent["partitions"]` maps each partition of the query images to its answer, and `latent["worlds"]` lists the possible
cases, the actual one first. Both functions give an answer only if all cases that the observer cannot rule out share it.
Options rule nothing out; whether the answer is among them is not checked here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from string import ascii_uppercase

from snellen.core.item import Item, Media, View
from snellen.subjects.fakes.appearances import Appearance, perceive

Same = Callable[[int, int], bool | None]
"""Returns whether two images, by position from 0, show the same thing; None if unknown."""


def by_partitions(
    view: View,
    item: Item,
    shows: Mapping[str, Appearance],
    blind_to: frozenset[str],
    missing: int | None = None,
) -> str | None:
    """The common answer of all partitions of the shown images that the observer cannot rule out, or None.

    Partitions that the item leaves out do not occur in its benchmark and are ruled out. None too if a shown image is
    not described in `shows` (stored SHA-256 -> appearance), or if the number of images differs from the item's. Other
    images than the item's are answered by their own truth. The image at position `missing` (from 1) is not seen.
    """
    images = view.query
    if len(images) != len(item.query) or any(image.stored_sha256 not in shows for image in images):
        return None

    def same(index: int, other_index: int) -> bool | None:
        if missing is not None and missing - 1 in (index, other_index):
            return None
        return known_same(images[index], images[other_index], shows, blind_to)

    answers: Mapping[str, str] = item.latent["partitions"]
    return _common_answer(answers[fits] for fits in partitions(len(images), same) if fits in answers)


def by_worlds(view: View, item: Item, blind_to: frozenset[str]) -> str | None:
    """The common answer of all worlds that the observer cannot distinguish from the actual one, or None.

    None too unless all images of the query are shown, in their order.
    """
    worlds = item.latent["worlds"]
    if [image.stored_sha256 for image in view.query] != [image.stored_sha256 for image in item.query] or not worlds:
        return None
    actual = perceive(worlds[0]["look"], blind_to)
    return _common_answer(world["answer"] for world in worlds if perceive(world["look"], blind_to) == actual)


def known_same(
    image: Media, other_image: Media, shows: Mapping[str, Appearance], blind_to: frozenset[str]
) -> bool | None:
    """True if two described images show the same thing, False if they differ, None if the observer cannot know.

    Any visible difference means False. True requires that the observer misses nothing of either image, or that both
    are the same stored image.
    """
    if image.stored_sha256 == other_image.stored_sha256:
        return True
    appearances = shows[image.stored_sha256], shows[other_image.stored_sha256]
    perceived = tuple(perceive(appearance, blind_to) for appearance in appearances)
    if perceived[0] != perceived[1]:
        return False
    return True if perceived == appearances else None


def partitions(count: int, same: Same) -> Iterator[str]:
    """Partitions of `count` images that agree with the known pairs, e.g. `ABA`.

    Labelled by first appearance, in alphabetical order, each once. At most 26 blocks have letters.
    """

    def grow(blocks: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        new = len(blocks)
        if new == count:
            yield blocks
            return
        for block in range(max(blocks, default=-1) + 2):
            if all(same(old, new) in (None, blocks[old] == block) for old in range(new)):
                yield from grow((*blocks, block))

    return ("".join(ascii_uppercase[block] for block in blocks) for blocks in grow(()))


def _common_answer(answers: Iterable[str]) -> str | None:
    """The answer shared by all; None if two differ or there are none. Stops at the first difference."""
    remaining = iter(answers)
    first = next(remaining, None)
    return first if all(answer == first for answer in remaining) else None
