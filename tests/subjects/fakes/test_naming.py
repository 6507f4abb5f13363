"""Three observers distinguished by labels and images: one sees and reads, one only reads, one only compares."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from snellen.core.item import Demo, Item, Media, Option, ReplySpec, View
from snellen.core.prompt import Prompt
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.presentation.controls import Lettered, Without
from snellen.subjects.fakes import make_fake
from tests.helpers.journey import item

NOWHERE = MediaFolder(Path("nowhere"))
LIGHTS = {"c0": "warm", "c1": "cool", "c2": "dim"}
MADE_UP = {"c0": "wfqex", "c1": "ooind", "c2": "zmpal"}
IMAGES = {
    (light, mark): Media(f"{n}{mark}".ljust(64, "0"), "image", "png", 8, 6)
    for n, light in enumerate(LIGHTS.values())
    for mark in range(4)
}
SHOWS = {image.sha256: {"light": light} for (light, _), image in IMAGES.items()}


def episode(n: int) -> Item:
    """An item that asks for the light, with two demos per class; `c0` to `c2` stand for the three lights."""
    truth = f"c{n % 3}"
    support = tuple(Demo((IMAGES[light, shot],), key, shot) for shot in range(2) for key, light in LIGHTS.items())
    claims = {key: {"light": [light]} for key, light in LIGHTS.items()}
    claims_by_name = {f"{light} light": claims[key] for key, light in LIGHTS.items()}
    latent = {"shows": SHOWS, "claims": claims, "learned": True, "named": claims_by_name}
    options = tuple(Option(key, f"{light} light") for key, light in LIGHTS.items())
    query = IMAGES[LIGHTS[truth], 2 + n % 2]
    return item(f"episode-{n}", [query], truth, "choice", options=options, support=support, latent=latent)


ITEMS = [episode(n) for n in range(240)]


def with_names(view: View, names: dict[str, str]) -> View:
    keys = tuple((names[key], key) for _, key in view.reply.keys)
    options = tuple(replace(option, text=names[option.key]) for option in view.options)
    return replace(view, options=options, reply=ReplySpec(view.reply.kind, keys))


def changed(view: View, labels: str, shots: int, images: str, letters: bool) -> View:
    view = replace(view, support=tuple(demo for demo in view.support if demo.shot < shots))
    if labels != "real":
        turned = {key: f"{LIGHTS[other]} light" for key, other in zip(LIGHTS, ("c1", "c2", "c0"), strict=True)}
        view = with_names(view, turned if labels == "exchange" else MADE_UP)
    if images == "none":
        view = Without()(view, NOWHERE, stream("none"))
    if images == "none of the demos":
        view = replace(view, support=tuple(replace(demo, media=()) for demo in view.support))
    return Lettered()(view, NOWHERE, stream("letters")) if letters else view


def share(fake: str, labels: str, shots: int, images: str, letters: bool = False) -> float:
    subject, count = make_fake(fake, {}, ITEMS), 0
    with asyncio.Runner() as runner:
        for target in ITEMS:
            view = changed(target.view(), labels, shots, images, letters)
            prompt = Prompt(("?",), (view,))
            assert subject.declines(prompt) is None
            reply = runner.run(subject.answer(prompt, NOWHERE, stream("naming", target.item_id))).text
            count += dict(view.reply.keys)[reply] == target.answer
    return count / len(ITEMS)


CHANCE = -1.0
CASES = [
    # fake, labels, shots, images, share of right answers
    *(("oracle", labels, 1, "original", 1.0) for labels in ("real", "exchange", "fabricated")),
    ("oracle", "real", 0, "original", 1.0),
    ("oracle", "exchange", 0, "original", 0.0),
    ("oracle", "fabricated", 0, "original", CHANCE),
    ("oracle", "real", 2, "none of the demos", 1.0),
    ("oracle", "fabricated", 2, "none of the demos", CHANCE),
    ("oracle", "real", 2, "none", CHANCE),
    ("knows-names", "real", 0, "none", 1.0),
    ("knows-names", "exchange", 2, "original", 0.0),
    ("knows-names", "fabricated", 2, "original", CHANCE),
    *(("compares-images", labels, 1, "original", 1.0) for labels in ("real", "exchange", "fabricated")),
    ("compares-images", "real", 0, "original", CHANCE),
    ("compares-images", "real", 2, "none of the demos", CHANCE),
    ("compares-images", "real", 2, "none", CHANCE),
    ("blind-to=light", "real", 0, "original", CHANCE),
]


@pytest.mark.parametrize("letters", [False, True])
@pytest.mark.parametrize(("fake", "labels", "shots", "images", "expected"), CASES)
def test_share_of_right_answers_by_observer_and_condition(
    fake: str, labels: str, shots: int, images: str, expected: float, letters: bool
) -> None:
    right_share = share(fake, labels, shots, images, letters)
    assert abs(right_share - 1 / 3) < 0.1 if expected == CHANCE else right_share == expected


def test_items_without_names_or_examples_are_declined() -> None:
    options = (Option("A", "A"), Option("B", "B"))
    bare = item("bare", [], "A", "choice", options=options)
    for fake, words in (("knows-names", "not a name"), ("compares-images", "no recorded meaning")):
        reason = make_fake(fake, {}, [bare]).declines(Prompt(("?",), (bare.view(),)))
        assert reason is not None
        assert words in reason
