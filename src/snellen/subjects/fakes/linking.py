"""Ideal observers that link images: which of them show the same thing, and in which way two of them differ.

`latent["partitions"]` leads from every partition of the query images to the answer it would have, and
`latent["worlds"]` lists what could be the case, the actual case first. Both functions give an answer only where
everything the observer cannot rule out has that answer. Options do not help to rule anything out: whether an answer
is among them is not asked here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from string import ascii_uppercase

from snellen.core.item import Item, Media, View
from snellen.subjects.fakes.appearances import Appearance, perceive

Same = Callable[[int, int], bool | None]
"""Whether two images, by their places from 0, show the same thing; None where that is not known."""


def by_partitions(
    view: View,
    item: Item,
    shows: Mapping[str, Appearance],
    blind_to: frozenset[str],
    missing: int | None = None,
) -> str | None:
    """The answer of every partition of the shown images that the observer cannot rule out, or None.

    A partition that the item leaves out has no place in its benchmark, and is ruled out. None too where a shown
    image is not described in `shows` (stored SHA-256 -> appearance), or where not as many images are shown as the
    item has. Which images they are does not matter: of others, their own truth is told. The image at the place
    `missing` (from 1) is not seen.
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
    """The answer of every world that looks like the actual one in what the observer sees, or None.

    None too unless the images of the query are shown, all of them and in their places.
    """
    worlds = item.latent["worlds"]
    if [image.stored_sha256 for image in view.query] != [image.stored_sha256 for image in item.query] or not worlds:
        return None
    actual = perceive(worlds[0]["look"], blind_to)
    return _common_answer(world["answer"] for world in worlds if perceive(world["look"], blind_to) == actual)


def known_same(
    image: Media, other_image: Media, shows: Mapping[str, Appearance], blind_to: frozenset[str]
) -> bool | None:
    """Whether two described images show the same thing, or None where the observer cannot know.

    Whatever is seen to differ tells them apart. That they are the same takes more: to miss nothing of either, or to be
    shown one stored image twice.
    """
    if image.stored_sha256 == other_image.stored_sha256:
        return True
    appearances = shows[image.stored_sha256], shows[other_image.stored_sha256]
    perceived = tuple(perceive(appearance, blind_to) for appearance in appearances)
    if perceived[0] != perceived[1]:
        return False
    return True if perceived == appearances else None


def partitions(count: int, same: Same) -> Iterator[str]:
    """Every way to sort `count` images into things shown that fits what is known of each two, e.g. `ABA`.

    Written by first appearance, in alphabetical order; each is given once. At most 26 things have letters.
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
    """What all say; None where two differ or there are none. Looks no further than it must."""
    remaining = iter(answers)
    first = next(remaining, None)
    return first if all(answer == first for answer in remaining) else None
