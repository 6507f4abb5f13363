"""The observer with a planted threshold: as often right as its function says, and a guesser without images."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.core.item import Item, Option, View
from snellen.core.prompt import Prompt
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Subject
from snellen.subjects.fakes.make import make_fake
from snellen.subjects.fakes.planted import LAPSE, SLOPE

LEVELS = (0.0, 0.4, 1.0)


@pytest.fixture
def items(tmp_path: Path) -> list[Item]:
    """One item at each level, and a control."""
    image = MediaFolder(tmp_path).add_image(Image.new("L", (2, 2)))
    return [
        Item(
            item_id=str(number), suite="s", task="t", question="?", query=(image,), answer="b", answer_kind="choice",
            stimulus_id=str(number), group_id=str(number), cluster_id=str(number),
            options=tuple(Option(key, key) for key in "abcd"), latent={"level": level},
            factors={"control": "yes" if number == len(LEVELS) else "no"},
        )
        for number, level in enumerate((*LEVELS, 1.2))
    ]  # fmt: skip


def share_right(subject: Subject, view: View, media: MediaFolder, count: int = 2000) -> float:
    """The share of right answers to a view."""
    rng = stream("test", "planted", view.item_id)

    async def ask() -> list[str]:
        return [(await subject.answer(Prompt((), (view,)), media, rng)).text for _ in range(count)]

    return float(np.mean([text == "b" for text in asyncio.run(ask())]))


def test_it_is_right_as_often_as_its_function_says(items: list[Item], tmp_path: Path) -> None:
    # Place 2.5 is halfway between .4 and 1.0.
    subject, media = make_fake("threshold=2.5", {}, items), MediaFolder(tmp_path)
    for item in items:
        level = item.latent["level"]
        detected = 1 - LAPSE
        if item.factors["control"] == "no":
            detected *= 1 - 2 ** -(10 ** (SLOPE * (level - 0.7)))
        expected = detected + (1 - detected) / 4
        assert share_right(subject, item.view(), media) == pytest.approx(expected, abs=0.04)


def test_points_that_it_does_not_see_lie_anywhere_in_the_image(items: list[Item], tmp_path: Path) -> None:
    image = MediaFolder(tmp_path).add_image(Image.new("L", (400, 100)))
    pointed = [replace(item, query=(image,), answer=(1.0, 2.0), answer_kind="point", options=()) for item in items]
    subject, view = make_fake("threshold=1", {}, pointed), pointed[0].view()
    blank = replace(view, query=(replace(image, sha256="0" * 64),))

    async def ask() -> list[list[float]]:
        rng = stream("test", "points")
        prompt = Prompt((), (blank,))
        return [json.loads((await subject.answer(prompt, MediaFolder(tmp_path), rng)).text) for _ in range(300)]

    x, y = np.array(asyncio.run(ask())).T
    assert (x.min() < 20, 380 < x.max() <= 400, y.min() < 5, 95 < y.max() <= 100) == (True,) * 4


def test_without_its_image_it_guesses(items: list[Item], tmp_path: Path) -> None:
    subject, view = make_fake("threshold=1", {}, items), replace(items[3].view(), query=())
    assert share_right(subject, view, MediaFolder(tmp_path)) == pytest.approx(0.25, abs=0.04)


def test_what_has_no_level_is_declined_and_no_number_refused(items: list[Item]) -> None:
    plain = replace(items[0], latent={})
    subject = make_fake("threshold=1", {}, [plain])
    assert subject.declines(Prompt((), (plain.view(),))) == "these items have no levels"
    with pytest.raises(SnellenError, match=r"write fake:threshold=8\.5"):
        make_fake("threshold=low", {}, items)


def test_what_is_judged_is_equally_often_on_both_sides_at_the_threshold(items: list[Item], tmp_path: Path) -> None:
    """The middle of three levels; the spread is 1.5 of their mean distance, .5, and 4 % are guesses among four."""
    judged = [replace(item, latent={**item.latent, "sides": ("b", "c")}, factors={}) for item in items[:3]]
    train = replace(judged[0], item_id="train", split="train", latent={"level": 9.0})
    subject, media = make_fake("threshold=2", {}, [*judged, train]), MediaFolder(tmp_path)
    for item in judged:
        below = NormalDist(item.latent["level"], 0.75).cdf(0.4)
        share = share_right(subject, item.view(), media)
        assert share == pytest.approx(0.96 * below + 0.01, abs=0.035)
