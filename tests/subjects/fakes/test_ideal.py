"""Ideal observers know what they are shown and nothing else."""

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
    """No observer opens an image, so that its bytes may be missing."""
    return Media(f"{COLOURS.index(colour)}{SHAPES.index(shape)}{mark:062}", "image", "png", 8, 6)


LOOKS = {
    image(colour, shape, mark).sha256: {"colour/primary": colour, "shape/primary": shape}
    for colour in COLOURS
    for shape in SHAPES
    for mark in range(4)
}


def name_it(n: int, dimension: str) -> Item:
    """Which colour, or which shape, has the image?"""
    colour, shape = COLOURS[n % 4], SHAPES[n // 4 % 4]
    values, truth = (COLOURS, colour) if dimension == "colour" else (SHAPES, shape)
    query = image(colour, shape, n % 3)
    claims = {value: {f"{dimension}/primary": [value]} for value in values}
    told: dict[str, Any] = {
        "options": tuple(Option(value, f"a {value} one") for value in values),
        "latent": {"shows": {query.sha256: LOOKS[query.sha256]}, "claims": claims},
        "requires": (dimension,),
    }
    return item(f"{dimension}-{n}", [query], truth, "choice", **told)


def learn_it(n: int, dimension: str) -> Item:
    """Two made-up words are shown on two images each; which one is the query?"""
    values = COLOURS[:2] if dimension == "colour" else SHAPES[:2]

    def variant(value: str, k: int, mark: int) -> Media:
        return image(value, SHAPES[k], mark) if dimension == "colour" else image(COLOURS[k], value, mark)

    demos = [
        Demo((variant(value, shot, 1),), key, shot)
        for shot in range(2)
        for key, value in zip("xy", values, strict=True)
    ]
    truth, query = "xy"[n % 2], variant(values[n % 2], n // 2 % 4, 2)
    shown = [query, *(demo.media[0] for demo in demos)]
    latent = {
        "shows": {one.sha256: LOOKS[one.sha256] for one in shown},
        "claims": {key: {f"{dimension}/primary": [value]} for key, value in zip("xy", values, strict=True)},
        "learned": True,
    }
    options = (Option("x", "blicket"), Option("y", "dax"))
    told: dict[str, Any] = {"options": options, "support": tuple(demos), "latent": latent, "requires": (dimension,)}
    return item(f"learn-{dimension}-{n}", [query], truth, "choice", **told)


def pick_it(n: int) -> Item:
    """Which of four images is red?"""
    shown = [image(COLOURS[(n + k) % 4], SHAPES[n % 4], 3) for k in range(4)]
    truth = "abcd"[-n % 4]
    latent = {
        "shows": {one.sha256: LOOKS[one.sha256] for one in shown},
        "claims": {key: {"colour/primary": ["red"]} for key in "abcd"},
        "about": "option",
    }
    options = tuple(Option(key, "", (one,)) for key, one in zip("abcd", shown, strict=True))
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
    """The share of right answers; every reply must be one that is offered."""
    return asyncio.run(_share(subject, items, media, change, method))


async def _share(subject: Subject, items: Sequence[Item], media: MediaFolder, change: Change, method: Method) -> float:
    right = 0
    for one in items:
        view = change(one.view(), media)
        answer = read_answer(await _final_answer(subject, method, view, media, one.item_id), view.reply)
        assert answer in view.reply.offered
        right += answer == one.answer
    return right / len(items)


async def _final_answer(subject: Subject, method: Method, view: View, media: MediaFolder, seed: str) -> str:
    talk, step = method.run((view,)), 0
    prompts = next(talk)
    while True:
        replies = []
        for prompt in prompts:
            assert subject.declines(prompt) is None
            replies.append(await subject.answer(prompt, media, stream("ideal", seed, step)))
            step += 1
        try:
            prompts = talk.send(tuple(replies))
        except StopIteration as done:
            text = done.value[view.item_id]
            assert isinstance(text, str)
            return text


def needing(dimension: str, kind: str = "") -> list[Item]:
    return [one for one in ITEMS if one.requires == (dimension,) and one.item_id.startswith(kind)]


def is_chance(value: float, items: Sequence[Item]) -> bool:
    """Whether a share lies where 99.9 % of guessers' lie."""
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
def test_the_blind_fall_to_chance_exactly_where_it_is_required(
    media: MediaFolder, kind: str, dimension: str, blind: str
) -> None:
    extra = replace(ITEMS[0], item_id="pivot", latent={"shows": {"f" * 64: {"colour/pivot": "red"}}})
    items = needing(dimension, kind)
    found = share(make_fake(f"blind-to={blind}", {}, [*ITEMS, extra]), items, media)
    misses = {part.removesuffix("/primary") for part in blind.split("+")}
    assert is_chance(found, items) if dimension in misses else found == 1.0


def test_who_cannot_tell_draws_uniformly_from_all_that_is_offered(media: MediaFolder) -> None:
    """Half of the options stay possible to the colour-blind; they are drawn no more often than the others."""
    query = image("red", "cube")
    looks = [(colour, shape) for colour in COLOURS[:2] for shape in SHAPES[:2]]
    claims = {f"{c} {s}": {"colour/primary": [c], "shape/primary": [s]} for c, s in looks}
    latent = {"shows": {query.sha256: LOOKS[query.sha256]}, "claims": claims}
    options = tuple(Option(key, key) for key in claims)
    one = item("both", [query], "red cube", "choice", options=options, latent=latent)
    blind, prompt = make_fake("blind-to=colour", {}, [one]), Prompt(("?",), (one.view(),))
    said = [asyncio.run(blind.answer(prompt, media, stream("drawn", n))).text for n in range(400)]
    count = Counter(said)
    assert set(count) == set(claims)
    assert max(abs(n - 100) for n in count.values()) < 40


def test_a_missed_image_of_an_option_leaves_that_option_possible(media: MediaFolder) -> None:
    """Who misses the third of four images is right only where it is the red one: no other is then possible."""
    for one in ITEMS[-160:-152]:
        subject = make_fake("misses-image=3", {}, [one])
        texts = Counter(
            asyncio.run(subject.answer(Prompt(("?",), (one.view(),)), media, stream("missed", n))).text
            for n in range(40)
        )
        assert set(texts) == ({"c"} if one.answer == "c" else set("abcd"))


def test_without_an_image_the_others_stay() -> None:
    """Images of the question come first, then those of the options."""
    images = [image("red", shape) for shape in SHAPES]
    options = tuple(Option(key, "", (one,)) for key, one in zip("ab", images[2:], strict=True))
    view = item("several", images[:2], "a", "choice", options=options).view()
    assert without_image(view, 2).query == (images[0],)
    assert [option.media for option in without_image(view, 3).options] == [(), (images[3],)]
    assert [option.media for option in without_image(view, 4).options] == [(images[2],), ()]
    assert without_image(view, 5) == without_image(view, None) == view


def test_requires_is_never_read(media: MediaFolder) -> None:
    lies = [replace(one, requires=("shape",) if one.requires == ("colour",) else ("colour",)) for one in ITEMS]
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


def test_of_shuffled_images_the_shown_one_is_told(media: MediaFolder) -> None:
    oracle = make_fake("oracle", {}, ITEMS)
    items = needing("colour", "colour")
    (told,) = [ViewContext(None, items)]  # type: ignore[arg-type]
    shuffled = Shuffled(told.by_stimulus, told.pool)
    right = []
    for one in items:
        view = shuffled(one.view(), media, stream("shuffled", one.item_id))
        said = asyncio.run(_final_answer(oracle, OneByOne(), view, media, one.item_id))
        look = LOOKS[view.query[0].sha256]["colour/primary"]
        assert read_answer(said, view.reply) == look
        right.append(look == one.answer)
    assert is_chance(sum(right) / len(right), items)


def test_what_is_left_of_a_shuffled_lesson_teaches_nothing(media: MediaFolder) -> None:
    """Demos that contradict the claims, or are missing, leave the words unlearned."""
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
def test_descriptions_carry_what_was_seen(media: MediaFolder, dimension: str) -> None:
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


def test_two_images_with_looks_are_no_look(media: MediaFolder) -> None:
    """A claim about the query cannot be held against two different looks."""
    items = needing("colour", "colour")
    both = [image("red", "cube"), image("blue", "cube")]
    found = share(make_fake("oracle", {}, ITEMS), items, media, lambda view, media: replace(view, query=tuple(both)))
    assert is_chance(found, items)


def test_items_without_claims_are_known_while_all_of_their_query_is_shown(media: MediaFolder) -> None:
    pair = [image("red", "cube", 1), image("blue", "ball", 2)]
    latent = {"shows": {one.sha256: LOOKS[one.sha256] for one in pair}}
    counts = [
        item(f"c{n}", [replace(one, sha256=f"{n:02}{one.sha256[2:]}") for one in pair], n, "integer") for n in range(40)
    ]
    counts = [replace(one, latent=latent) for one in counts]
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


def test_released_items_are_answered_by_key_and_declined_by_the_blind() -> None:
    released = [replace(one, latent={}) for one in needing("colour", "colour")]
    oracle, blind = make_fake("oracle", {}, released), make_fake("blind-to=colour", {}, released)
    view = released[0].view()
    prompt = Prompt(("?",), (view,))
    assert blind.declines(prompt) == "these items have no latent to be blind to"
    assert oracle.declines(prompt) is None
    reply = asyncio.run(oracle.answer(prompt, MediaFolder(Path("nowhere")), stream("x")))
    assert read_answer(reply.text, view.reply) == released[0].answer


def test_one_may_be_blind_only_to_what_is_shown() -> None:
    with pytest.raises(SnellenError, match=r"fake:blind-to=colur: no item here has 'colur'; did you mean 'colour'\?"):
        make_fake("blind-to=colur", {}, ITEMS)
    parts: tuple[Part, ...] = ("?",)
    assert make_fake("blind-to=colour+shape/primary", {}, ITEMS).declines(Prompt(parts, (ITEMS[0].view(),))) is None
