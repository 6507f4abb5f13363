"""Ideal observers: they know the contents of the images that they are shown, and nothing else.

An item's `latent` has `shows` (stored image's SHA-256 -> appearance: dimension -> value) and `claims` (option key
-> dimension -> allowed values). `about` states whose appearance an option's claims describe: `query` (default) or
`option`, the option's own image. If `learned` is true, the claims of an option must be learned from its demos or, if
those show nothing, from its name, provided that `named` (name -> claims) defines the name shown. A dimension is written
`factor/part`, e.g. `colour/primary`. Questions that link images have instead of `claims` either
`partitions`, which maps each partition of the query images to its answer, or `worlds`, which lists the possible cases,
the actual one first; an answer is given only if all cases that the observer cannot rule out share it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from string import ascii_uppercase
from typing import Any, TypeAlias

import numpy as np

from snellen.core.grouping import lists_by_key
from snellen.core.item import Item, Media, Option, View
from snellen.core.prompt import Prompt, Reply
from snellen.core.sheet import answer_views
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base

Appearance = Mapping[str, str]


def is_erased(dimension: str, blind_to: Iterable[str]) -> bool:
    """True if an observer blind to these factors or dimensions misses this dimension."""
    return any(dimension == blind or dimension.split("/")[0] == blind for blind in blind_to)


def perceive(appearance: Appearance, blind_to: Iterable[str]) -> Appearance:
    """The part of an appearance that an observer blind to these factors or dimensions sees."""
    return {dimension: value for dimension, value in appearance.items() if not is_erased(dimension, blind_to)}


def appearances_by_image(items: Iterable[Item]) -> dict[str, Appearance]:
    """The appearance of each described image, by stored SHA-256."""
    return {name: appearance for item in items for name, appearance in item.latent.get("shows", {}).items()}


def dimensions_of(items: Iterable[Item]) -> set[str]:
    """All dimensions in the items' latent, of their images and of their worlds."""
    appearances = (
        appearance
        for item in items
        for appearance in (
            *item.latent.get("shows", {}).values(),
            *(world.get("look", {}) for world in item.latent.get("worlds", ())),
        )
    )
    return {dimension for appearance in appearances for dimension in appearance}


Claims: TypeAlias = Mapping[str, Sequence[str]]
"""An option's claims about an image: the allowed values of each dimension."""


@dataclass(frozen=True)
class IdealObserver(Base):
    """Answers by logic from the appearances of the images shown, with the factors in `blind_to` erased.

    If the rest does not determine the answer, it draws uniformly from all offered options, so it is at chance exactly
    on those items. It never reads `requires`. For items without latent, an observer that sees everything gives the
    key, and a blind one declines. Without `names` it knows no names, and answers only what demos teach. The image
    at position `missing` (from 1; images of the question, then of the options) is not seen.
    """

    items: Mapping[str, Item] = field(default_factory=dict, repr=False)
    shows: Mapping[str, Appearance] = field(default_factory=dict, repr=False)
    blind_to: frozenset[str] = frozenset()
    names: bool = True
    missing: int | None = None

    def declines(self, prompt: Prompt) -> str | None:
        """Decline items whose images are not described (if blind) or whose demos teach nothing (if without names)."""
        if any(self._unknown(view) for view in prompt.views):
            return "no right answer is recorded for this item"
        if self.blind_to and any(not self.items[view.item_id].latent for view in prompt.views):
            return "these items have no latent to be blind to"
        if not self.names and any(not self.items[view.item_id].latent.get("learned") for view in prompt.views):
            return "the solved examples of this item have no recorded meaning"
        return super().declines(prompt)

    def _unknown(self, view: View) -> bool:
        item = self.items[view.item_id]
        return not item.latent and item.answer_kind == "description" and not item.answer

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """Answer each view separately."""
        return Reply(answer_views(prompt.views, lambda view: self.answer_view(view, rng)))

    def answer_view(self, view: View, rng: np.random.Generator) -> str:
        """The reply to one view."""
        item = self.items[view.item_id]
        if "partitions" in item.latent and view.reply.kind != "description":
            answer = by_partitions(view, item, self.shows, self.blind_to, self.missing)
            return self._write_answer(answer, view, rng)
        view = without_image(view, self.missing)
        if view.reply.kind == "description" and item.answer_kind != "description":
            appearances = [self._appearance([image]) or {} for image in view.query]
            return "\n".join(json.dumps(appearance) for appearance in appearances)
        if "claims" in item.latent and view.reply.keys:
            return view.reply.name(self._choose(view, item.latent, rng))
        if "worlds" in item.latent:
            return self._write_answer(by_worlds(view, item, self.blind_to), view, rng)
        if not item.latent or self._sees_all_of(view, item):
            return view.reply.write(item.answer)
        return draw(view, self._peers, rng)

    def _write_answer(self, answer: str | None, view: View, rng: np.random.Generator) -> str:
        """The answer if it exists and is offered, else a draw."""
        if answer is None or (view.reply.keys and answer not in view.reply.offered):
            return draw(view, self._peers, rng)
        return view.reply.write(answer)

    def _choose(self, view: View, latent: Mapping[str, Any], rng: np.random.Generator) -> str:
        offered = view.reply.offered
        possible = [key for key in offered if self._is_possible(key, view, latent)]
        return possible[0] if len(possible) == 1 else str(rng.choice(offered))

    def _is_possible(self, key: str, view: View, latent: Mapping[str, Any]) -> bool:
        """True if nothing seen contradicts the option; unseen dimensions contradict nothing."""
        claims = self._meaning(key, view, latent)
        chosen = next((option for option in view.options if option.key == key), Option(key))
        appearance = self._appearance(chosen.media if latent.get("about") == "option" else view.query)
        return claims is None or appearance is None or agrees(appearance, claims)

    def _meaning(self, key: str, view: View, latent: Mapping[str, Any]) -> Claims | None:
        """The option's claims as far as the observer sees them; None if they had to be learned and were not."""
        claims = self._visible(latent["claims"].get(key, {}))
        if not latent.get("learned"):
            return claims
        demos = [self._demo_appearance(demo) for demo in view.support if demo.answer == key]
        if all(appearance is None for appearance in demos):
            name = next((option.text for option in view.options if option.key == key), "")
            named_claims = latent.get("named", {}).get(name) if self.names else None
            return None if named_claims is None else self._visible(named_claims)
        return claims if all(appearance is not None and agrees(appearance, claims) for appearance in demos) else None

    def _visible(self, claims: Claims) -> Claims:
        return {dimension: values for dimension, values in claims.items() if not is_erased(dimension, self.blind_to)}

    def _appearance(self, images: Sequence[Media]) -> Appearance | None:
        appearances = [self.shows[image.stored_sha256] for image in images if image.stored_sha256 in self.shows]
        if len(appearances) != 1:
            return None
        return perceive(appearances[0], self.blind_to)

    def _demo_appearance(self, demo: Any) -> Appearance | None:
        if demo.media:
            return self._appearance(demo.media)
        try:
            appearance = json.loads(demo.caption)
        except ValueError:
            return None
        return appearance if isinstance(appearance, dict) else None

    def _sees_all_of(self, view: View, item: Item) -> bool:
        hashes = {image.stored_sha256 for image in view.media()}
        return {image.sha256 for image in item.query} <= hashes and not self.blind_to

    @cached_property
    def _peers(self) -> Peers:
        return peers_of(self.items.values())


def without_image(view: View, position: int | None) -> View:
    """The view without the image at a position, counted from 1 over the images of the question, then the options."""
    if position is None:
        return view
    if position <= len(view.query):
        return replace(view, query=view.query[: position - 1] + view.query[position:])
    options, before = [], len(view.query)
    for option in view.options:
        images = tuple(image for n, image in enumerate(option.media, before + 1) if n != position)
        options.append(replace(option, media=images))
        before += len(option.media)
    return replace(view, options=tuple(options))


def agrees(appearance: Appearance, claims: Claims) -> bool:
    """True if an appearance contradicts none of the claims; a missing dimension contradicts nothing."""
    return all(appearance[dimension] in values for dimension, values in claims.items() if dimension in appearance)


Peers = Mapping[tuple[str, str], Sequence[Item]]
"""Items by task and kind of answer, whose truths a guesser may give."""


def peers_of(items: Iterable[Item]) -> Peers:
    """Items by task and kind of answer."""
    return lists_by_key(((item.task, item.answer_kind), item) for item in items)


def draw(view: View, peers: Peers, rng: np.random.Generator) -> str:
    """A guess: a uniform draw from the offered options, or the truth of another item of the task and kind.

    If several options may be right, it is a uniform draw from their subsets that are not empty.
    """
    if view.reply.kind == "choices":
        mask = int(rng.integers(1, 2 ** len(view.reply.offered)))
        return view.reply.write([key for n, key in enumerate(view.reply.offered) if mask >> n & 1])
    if view.reply.keys:
        return view.reply.name(str(rng.choice(view.reply.offered)))
    alike = peers.get((view.task, view.reply.kind), ())
    if all(item.item_id == view.item_id for item in alike):
        return ""
    while (other := alike[int(rng.integers(len(alike)))]).item_id == view.item_id:
        continue
    return view.reply.write(other.answer)


# Linking images: which show the same thing, and how two of them differ


Same = Callable[[int, int], bool | None]
"""Returns whether two images, by position from 0, show the same thing; None if unknown."""


def by_partitions(
    view: View, item: Item, shows: Mapping[str, Appearance], blind_to: frozenset[str], missing: int | None = None
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
    actual = perceive(worlds[0].get("look", {}), blind_to)
    return _common_answer(w.get("answer") for w in worlds if perceive(w.get("look", {}), blind_to) == actual)


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


# Ideal observers with one bias: they answer some questions differently from what they see


Bias: TypeAlias = Callable[[View, str, np.random.Generator], str]
"""Maps a view and the ideal observer's reply to the biased reply."""
PREFERENCE = 0.5
"""Share of questions in which the preferred option is taken regardless of the answer."""


@dataclass(frozen=True)
class Biased(Base):
    """The ideal observer with biased replies. Declines what the observer declines."""

    observer: IdealObserver
    bias: Bias

    def declines(self, prompt: Prompt) -> str | None:
        """Decline what the observer declines."""
        return self.observer.declines(prompt)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """Answer each view separately."""
        return Reply(
            answer_views(prompt.views, lambda view: self.bias(view, self.observer.answer_view(view, rng), rng))
        )


def counting_to(limit: int) -> Bias:
    """A bias that replies `limit` to counts above `limit`; others are unchanged."""

    def bias(view: View, reply: str, rng: np.random.Generator) -> str:
        too_many = view.reply.kind == "integer" and reply.isdecimal() and int(reply) > limit
        return view.reply.write(limit) if too_many else reply

    return bias


def preference_for(name: str) -> Bias:
    """A bias that takes the option shown under this name half of the time (`PREFERENCE`), right or not."""

    def bias(view: View, reply: str, rng: np.random.Generator) -> str:
        is_offered = name in (shown_name for shown_name, _ in view.reply.keys)
        return name if is_offered and rng.random() < PREFERENCE else reply

    return bias


def says_yes(view: View, reply: str, rng: np.random.Generator) -> str:
    """A bias that replies true to every statement; other replies are unchanged."""
    return view.reply.write("true") if view.reply.kind == "true_false" else reply
