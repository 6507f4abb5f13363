"""Ideal observers know only what they are shown."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from snellen.core.errors import SnellenError
from snellen.core.item import Demo, Item, Media, Option, Part, View
from snellen.core.prompt import Prompt
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Subject
from snellen.core.suite import Method, ViewContext
from snellen.presentation.controls import Grey, Lettered, Shuffled, Without
from snellen.presentation.methods import OneByOne, PerceiveThenClassify
from snellen.scoring.answers import read_answer
from snellen.scoring.uncertainty import wilson
from snellen.subjects.fakes import make_fake
from snellen.subjects.fakes.ideal import without_image
from tests.helpers.journey import item

COLOURS, SHAPES = ("red", "green", "blue", "grey"), ("cube", "ball", "cone", "rod")
Change = Callable[[View, MediaFolder], View]


@pytest.fixture
def media(tmp_path: Path) -> MediaFolder:
    return MediaFolder(tmp_path / "media")


def image(colour: str, shape: str, mark: int = 0) -> Media:
    """An image without a file: no observer opens images."""
    return Media(f"{COLOURS.index(colour)}{SHAPES.index(shape)}{mark:062}", "image", "png", 8, 6)


APPEARANCES = {
    image(colour, shape, mark).sha256: {"colour/primary": colour, "shape/primary": shape}
    for colour in COLOURS
    for shape in SHAPES
    for mark in range(4)
}


def name_it(n: int, dimension: str) -> Item:
    """An item that asks for the colour or the shape of an image."""
    colour, shape = COLOURS[n % 4], SHAPES[n // 4 % 4]
    values, truth = (COLOURS, colour) if dimension == "colour" else (SHAPES, shape)
    query = image(colour, shape, n % 3)
    claims = {value: {f"{dimension}/primary": [value]} for value in values}
    fields: dict[str, Any] = {
        "options": tuple(Option(value, f"a {value} one") for value in values),
        "latent": {"shows": {query.sha256: APPEARANCES[query.sha256]}, "claims": claims},
        "requires": (dimension,),
    }
    return item(f"{dimension}-{n}", [query], truth, "choice", **fields)


def learn_it(n: int, dimension: str) -> Item:
    """An item with two made-up words, each with two images, that asks for the word of the query."""
    values = COLOURS[:2] if dimension == "colour" else SHAPES[:2]

    def variant(value: str, k: int, mark: int) -> Media:
        return image(value, SHAPES[k], mark) if dimension == "colour" else image(COLOURS[k], value, mark)

    demos = [
        Demo((variant(value, shot, 1),), key, shot)
        for shot in range(2)
        for key, value in zip("xy", values, strict=True)
    ]
    truth, query = "xy"[n % 2], variant(values[n % 2], n // 2 % 4, 2)
    images = [query, *(demo.media[0] for demo in demos)]
    latent = {
        "shows": {media.sha256: APPEARANCES[media.sha256] for media in images},
        "claims": {key: {f"{dimension}/primary": [value]} for key, value in zip("xy", values, strict=True)},
        "learned": True,
    }
    options = (Option("x", "blicket"), Option("y", "dax"))
    fields: dict[str, Any] = {"options": options, "support": tuple(demos), "latent": latent, "requires": (dimension,)}
    return item(f"learn-{dimension}-{n}", [query], truth, "choice", **fields)


def pick_it(n: int) -> Item:
    """An item that asks which of four images is red."""
    images = [image(COLOURS[(n + k) % 4], SHAPES[n % 4], 3) for k in range(4)]
    truth = "abcd"[-n % 4]
    latent = {
        "shows": {media.sha256: APPEARANCES[media.sha256] for media in images},
        "claims": {key: {"colour/primary": ["red"]} for key in "abcd"},
        "about": "option",
    }
    options = tuple(Option(key, "", (media,)) for key, media in zip("abcd", images, strict=True))
    return item(f"pick-{n}", [], truth, "choice", options=options, latent=latent, requires=("colour",))


ITEMS = [
    *(make(n, dimension) for make in (name_it, learn_it) for dimension in ("colour", "shape") for n in range(160)),
    *(pick_it(n) for n in range(160)),
]


DIRECT = OneByOne()


def identity(view: View, media: MediaFolder) -> View:
    return view


def share(
    subject: Subject, items: Sequence[Item], media: MediaFolder, change: Change = identity, method: Method = DIRECT
) -> float:
    """The share of right answers; every reply must be one of the offered ones."""
    return asyncio.run(_share(subject, items, media, change, method))


async def _share(subject: Subject, items: Sequence[Item], media: MediaFolder, change: Change, method: Method) -> float:
    count = 0
    for target in items:
        view = change(target.view(), media)
        answer = read_answer(await _final_answer(subject, method, view, media, target.item_id), view.reply)
        assert answer in view.reply.offered
        count += answer == target.answer
    return count / len(items)


async def _final_answer(subject: Subject, method: Method, view: View, media: MediaFolder, seed: str) -> str:
    dialogue, step = method.run((view,)), 0
    prompts = next(dialogue)
    while True:
        replies = []
        for prompt in prompts:
            assert subject.declines(prompt) is None
            replies.append(await subject.answer(prompt, media, stream("ideal", seed, step)))
            step += 1
        try:
            prompts = dialogue.send(tuple(replies))
        except StopIteration as done:
            text = done.value[view.item_id]
            assert isinstance(text, str)
            return text


def needing(dimension: str, kind: str = "") -> list[Item]:
    return [
        candidate for candidate in ITEMS if candidate.requires == (dimension,) and candidate.item_id.startswith(kind)
    ]


def is_chance(value: float, items: Sequence[Item]) -> bool:
    """True if a share is in the range of 99.9 % of guessers."""
    chance = 1 / len(items[0].options)
    low, high = wilson(value * len(items), len(items), 0.999)
    return low < chance < high


KINDS = [
    (kind, dimension)
    for kind in ("colour", "shape", "learn", "pick")
    for dimension in ("colour", "shape")
    if needing(dimension, kind)
]
CHAIN = PerceiveThenClassify(lambda view: view.query, lambda view, description: (description,), "Describe it.")


def lettered(view: View, media: MediaFolder) -> View:
    return Lettered()(view, media, stream("letters"))


@pytest.mark.parametrize("change", [identity, lettered])
def test_the_oracle_is_perfect(media: MediaFolder, change: Change) -> None:
    assert share(make_fake("oracle", {}, ITEMS), ITEMS, media, change) == 1.0


@pytest.mark.parametrize(("kind", "dimension"), KINDS)
@pytest.mark.parametrize("blind", ["colour", "colour/primary", "shape", "colour+shape", "colour/pivot+shape"])
def test_the_blind_fall_to_chance_exactly_if_their_dimension_is_required(
    media: MediaFolder, kind: str, dimension: str, blind: str
) -> None:
    extra = replace(ITEMS[0], item_id="pivot", latent={"shows": {"f" * 64: {"colour/pivot": "red"}}})
    items = needing(dimension, kind)
    right_share = share(make_fake(f"blind-to={blind}", {}, [*ITEMS, extra]), items, media)
    misses = {part.removesuffix("/primary") for part in blind.split("+")}
    assert is_chance(right_share, items) if dimension in misses else right_share == 1.0


def test_a_guessing_observer_draws_uniformly_from_all_options(media: MediaFolder) -> None:
    """Half of the options remain possible to a colour-blind observer; they are drawn no more often than the others."""
    query = image("red", "cube")
    pairs = [(colour, shape) for colour in COLOURS[:2] for shape in SHAPES[:2]]
    claims = {f"{c} {s}": {"colour/primary": [c], "shape/primary": [s]} for c, s in pairs}
    latent = {"shows": {query.sha256: APPEARANCES[query.sha256]}, "claims": claims}
    options = tuple(Option(key, key) for key in claims)
    both = item("both", [query], "red cube", "choice", options=options, latent=latent)
    blind, prompt = make_fake("blind-to=colour", {}, [both]), Prompt(("?",), (both.view(),))
    replies = [asyncio.run(blind.answer(prompt, media, stream("drawn", n))).text for n in range(400)]
    count = Counter(replies)
    assert set(count) == set(claims)
    assert max(abs(n - 100) for n in count.values()) < 40


def test_an_option_whose_image_is_missed_stays_possible(media: MediaFolder) -> None:
    """Missing the third of four images, an observer is right only if it is the red one: no other is then possible."""
    for picked in ITEMS[-160:-152]:
        subject = make_fake("misses-image=3", {}, [picked])
        texts = Counter(
            asyncio.run(subject.answer(Prompt(("?",), (picked.view(),)), media, stream("missed", n))).text
            for n in range(40)
        )
        assert set(texts) == ({"c"} if picked.answer == "c" else set("abcd"))


def test_without_image_keeps_the_other_images() -> None:
    """Images are numbered from those of the question to those of the options."""
    images = [image("red", shape) for shape in SHAPES]
    options = tuple(Option(key, "", (media,)) for key, media in zip("ab", images[2:], strict=True))
    view = item("several", images[:2], "a", "choice", options=options).view()
    assert without_image(view, 2).query == (images[0],)
    assert [option.media for option in without_image(view, 3).options] == [(), (images[3],)]
    assert [option.media for option in without_image(view, 4).options] == [(images[2],), ()]
    assert without_image(view, 5) == without_image(view, None) == view


def test_requires_is_never_read(media: MediaFolder) -> None:
    lies = [
        replace(original, requires=("shape",) if original.requires == ("colour",) else ("colour",))
        for original in ITEMS
    ]
    items = needing("colour", "colour")
    assert is_chance(share(make_fake("blind-to=colour", {}, lies), items, media), items)


@pytest.mark.parametrize("value", ["none", "grey"])
@pytest.mark.parametrize(("kind", "dimension"), KINDS)
@pytest.mark.parametrize("method", [OneByOne(), CHAIN])
def test_without_images_nothing_is_known(
    media: MediaFolder, kind: str, dimension: str, value: str, method: Method
) -> None:
    control = Without() if value == "none" else Grey()
    items = needing(dimension, kind)
    oracle = make_fake("oracle", {}, ITEMS)
    assert is_chance(share(oracle, items, media, lambda view, media: control(view, media, stream("c")), method), items)


def test_answers_about_shuffled_images_describe_the_shown_image(media: MediaFolder) -> None:
    oracle = make_fake("oracle", {}, ITEMS)
    items = needing("colour", "colour")
    (context,) = [ViewContext(None, items)]  # type: ignore[arg-type]
    shuffled = Shuffled(context.by_stimulus, context.pool)
    hits = []
    for target in items:
        view = shuffled(target.view(), media, stream("shuffled", target.item_id))
        reply = asyncio.run(_final_answer(oracle, OneByOne(), view, media, target.item_id))
        colour = APPEARANCES[view.query[0].sha256]["colour/primary"]
        assert read_answer(reply, view.reply) == colour
        hits.append(colour == target.answer)
    assert is_chance(sum(hits) / len(hits), items)


def test_contradicting_or_missing_demos_teach_nothing(media: MediaFolder) -> None:
    """The words stay unlearned if demos contradict the claims or are missing."""
    items = needing("colour", "learn")
    oracle = make_fake("oracle", {}, ITEMS)

    def swapped(view: View, media: MediaFolder) -> View:
        first, second, *rest = view.support
        swap = replace(first, media=second.media), replace(second, media=first.media)
        return replace(view, support=(*swap, *rest))

    def untaught(view: View, media: MediaFolder) -> View:
        return replace(view, support=())

    for change in (swapped, untaught):
        assert is_chance(share(oracle, items, media, change), items)
    assert share(oracle, items, media, lambda view, media: replace(view, support=view.support[:2])) == 1.0


@pytest.mark.parametrize("dimension", ["colour", "shape"])
def test_descriptions_contain_what_was_seen(media: MediaFolder, dimension: str) -> None:
    items = needing(dimension, "learn")
    assert share(make_fake("oracle", {}, ITEMS), items, media, method=CHAIN) == 1.0
    blind = share(make_fake("blind-to=colour", {}, ITEMS), items, media, method=CHAIN)
    assert is_chance(blind, items) if dimension == "colour" else blind == 1.0


def test_a_changed_image_is_known_by_its_origin_and_others_are_not(media: MediaFolder) -> None:
    items = needing("colour", "colour")
    oracle = make_fake("oracle", {}, ITEMS)

    def cropped(view: View, media: MediaFolder) -> View:
        (query,) = view.query
        return replace(view, query=(replace(query, sha256="f" * 64, origin=query.sha256),))

    def strange(view: View, media: MediaFolder) -> View:
        return replace(view, query=(replace(view.query[0], sha256="f" * 64),))

    assert share(oracle, items, media, cropped) == 1.0
    assert is_chance(share(oracle, items, media, strange), items)


def test_a_query_of_two_different_images_is_unknown(media: MediaFolder) -> None:
    """A claim about the query cannot be compared with two different appearances."""
    items = needing("colour", "colour")
    images = [image("red", "cube"), image("blue", "cube")]
    right_share = share(
        make_fake("oracle", {}, ITEMS), items, media, lambda view, media: replace(view, query=tuple(images))
    )
    assert is_chance(right_share, items)


def test_items_without_claims_are_known_if_their_complete_query_is_shown(media: MediaFolder) -> None:
    pair = [image("red", "cube", 1), image("blue", "ball", 2)]
    latent = {"shows": {shown_image.sha256: APPEARANCES[shown_image.sha256] for shown_image in pair}}
    counts = [
        item(f"c{n}", [replace(original, sha256=f"{n:02}{original.sha256[2:]}") for original in pair], n, "integer")
        for n in range(40)
    ]
    counts = [replace(count_item, latent=latent) for count_item in counts]
    oracle = make_fake("oracle", {}, counts)

    def oracle_counts(change: Change) -> list[int]:
        texts = [
            asyncio.run(_final_answer(oracle, OneByOne(), change(x.view(), media), media, x.item_id)) for x in counts
        ]
        return [int(text) for text in texts]

    assert oracle_counts(identity) == list(range(40))
    half = oracle_counts(lambda view, media: replace(view, query=view.query[:1]))
    assert all(guess != n for n, guess in enumerate(half)), "a guess is another item's truth"
    assert set(half) <= set(range(40))
    assert len(set(half)) > 15


def test_released_items_are_answered_by_the_oracle_and_declined_by_the_blind() -> None:
    released = [replace(original, latent={}) for original in needing("colour", "colour")]
    oracle, blind = make_fake("oracle", {}, released), make_fake("blind-to=colour", {}, released)
    view = released[0].view()
    prompt = Prompt(("?",), (view,))
    assert blind.declines(prompt) == "these items have no latent to be blind to"
    assert oracle.declines(prompt) is None
    reply = asyncio.run(oracle.answer(prompt, MediaFolder(Path("nowhere")), stream("x")))
    assert read_answer(reply.text, view.reply) == released[0].answer


def test_observers_can_be_blind_only_to_existing_dimensions() -> None:
    with pytest.raises(SnellenError, match=r"fake:blind-to=colur: no item here has 'colur'; did you mean 'colour'\?"):
        make_fake("blind-to=colur", {}, ITEMS)
    parts: tuple[Part, ...] = ("?",)
    assert make_fake("blind-to=colour+shape/primary", {}, ITEMS).declines(Prompt(parts, (ITEMS[0].view(),))) is None
