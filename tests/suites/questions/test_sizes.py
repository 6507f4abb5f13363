"""What is said of the size kept, with numbers worked by hand, its states, and the pixels of reductions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from snellen.core.item import Item, Media, Option
from snellen.core.score import BELOW, MEASURED, NOT_UNDERSTOOD
from snellen.core.seeds import stream
from snellen.scoring.kept_size import Reduction
from snellen.suites.questions.kinds import PROTOCOLS
from snellen.suites.questions.reduced.recipe import REDUCTIONS
from snellen.suites.questions.sizes import LEVELS, Reading, advice, bias, estimate, guess_of, level_of, reduced_protocol
from tests.suites.questions.test_reduced import WORDS

OPTIONS = tuple(Option(key, word) for key, word in zip("ABCD", WORDS, strict=True))


def item(number: int, level: int, width: int = 9, height: int = 9, px: float = 0.0) -> Item:
    """A question at a level, about an image of this full size with a marked thing."""
    image, name = Media(f"{number:064x}", "image", "png", width, height), f"q{number}"
    measures = {"sent_level": float(level), **({"thing_px": px} if px else {})}
    words = (f"{name}@{level}", "questions", "t", "Which?", (image,), "A", "choice", "s", name, name)
    return Item(*words, options=OPTIONS, factors={"reduction": "scale"}, measures=measures)  # type: ignore[arg-type]


FULL = [item(0, 0, 100, 100, 10.0), item(1, 0, 560, 280, 24.0), item(2, 0, 900, 900, 60.0)]
BOTH, FIRST = (True, True), (True, False)


def reading(pairs: Sequence[tuple[bool, bool]], struck: int = 0) -> Reading:
    """Pairs of full and half size."""
    fit, blind = Reduction(0.3, 0.2, 0.4, 0.5, 0.4, 0.6, np.ones(len(LEVELS))), frozenset(map(str, range(struck)))
    return Reading(fit, blind, 0.25, LEVELS.index(0.5), {f"q{number}": pair for number, pair in enumerate(pairs)})


def test_advice_worked_by_hand() -> None:
    """The middle image has 560 x 280 px: 20 x 10 and 10 x 5 patches of 28 px, two tiles and one, each 170 beside 85.

    The cells of the table get half an answer each: of forty pairs without a loss +-1.96 sqrt(1 / 42 / 42) = 4.7 points;
    with twenty (20.5 - 0.5) / 42 +- 1.96 sqrt((21 / 42 - 0.4762^2) / 42) = 47.6 +- 15.8.
    """
    sentence = "loss 0.0 points [-4.7, 4.7] in 40 paired questions"
    assert advice(reading([BOTH] * 40, struck=2), FULL) == (
        "send at 0.50 of its size, the marked thing at 12 px: 25 % of the pixels, 50 tokens instead of 200 by the "
        "published rule of claude or 255 tokens instead of 425 by the published rule of gpt-4o; "
        f"{sentence}; 2 questions struck as blind"
    )
    smaller = [item(n, level, 30, 30, full.measures["thing_px"]) for level in (3, -1) for n, full in enumerate(FULL)]
    assert advice(reading([BOTH] * 40), [*smaller, *FULL]) == advice(reading([BOTH] * 40), FULL)
    assert advice(reading([BOTH] * 40), [item(0, 0)]).startswith("send at 0.50 of its size: 25 % of the pixels, ")
    blurred = [replace(item, factors={"reduction": "blur"}) for item in FULL]
    assert advice(reading([BOTH] * 40), blurred) == f"level 0.50 keeps what is right: {sentence}"
    lost = "do not send at 0.50: loss 50.0 points [31.8, 63.4] in 40 paired questions"
    assert advice(reading([FIRST, BOTH] * 20), FULL) == lost
    assert advice(reading([FIRST, *[BOTH] * 39]), FULL).startswith("send at 0.50"), "the interval has zero"
    few = "no advice before 40 paired questions (39 so far); 1 question struck as blind"
    assert advice(reading([BOTH] * 39, struck=1), FULL) == few
    truths = [replace(item, answer=item is FULL[0], answer_kind="true_false", options=()) for item in FULL]
    assert bias(reading([BOTH, FIRST, (False, False)]), truths) == (
        '; of 1 "yes" missed 0 at full size, 0 reduced; of 2 "no" missed 1 at full size, 2 reduced'
    )


def test_guesses_are_those_of_options_or_of_other_answers() -> None:
    free = replace(FULL[0], answer="a cat", answer_kind="text", options=())
    likely, surely = (replace(free, measures={"chance_accuracy": chance}) for chance in (0.2, 0.9))
    several = [FULL[:1], [FULL[0], replace(FULL[0], options=OPTIONS[:2])], [likely, FULL[0], free], [surely], []]
    assert list(map(guess_of, several)) == pytest.approx([0.25, 0.375, 0.15, 0.5, 0.0])


def test_the_states_of_the_size_kept_and_of_the_threshold() -> None:
    """All right to the last; three of eight right, of which two are guessed; right without the image; to a quarter."""
    items = [item(number, level) for number in range(20) for level in range(len(LEVELS))]
    errors = [float(LEVELS[level_of(item)] < 0.24) for item in items]
    size, threshold = (estimate(name, items, errors) for name in ("size_kept", "threshold"))
    assert size.reason == threshold.reason == MEASURED
    assert 0.15 < threshold.low < threshold.value < 0.25 < size.value < size.high < 0.4
    assert (threshold.note, size.note) == ("", "no advice before 40 paired questions (20 so far)")
    for name in ("size_kept", "threshold"):
        best = estimate(name, items, [0.0] * len(items))
        assert (best.reason, best.value, math.isnan(best.low)) == (BELOW, 1 / 16, True)
    guessed = estimate("size_kept", items, [float(number % 8 > 2) for number in range(len(items))])
    assert (guessed.reason, guessed.note.partition("size, ")[2]) == (NOT_UNDERSTOOD, "25 % by guessing")
    assert 31 <= int(guessed.note.split()[0]) <= 44
    blind = [replace(item(n, -1), item_id=f"q{n}@blind-{turn}") for n in range(20) for turn in range(3)]
    known = estimate("size_kept", [*items, *blind], [0.0] * (len(items) + len(blind)))
    assert (known.reason, known.note) == (NOT_UNDERSTOOD, "all questions are right without the image")
    assert estimate("size_kept", [*items, *blind[:3]], [0.0] * (len(items) + 3)).reason == BELOW
    assert estimate("size_kept", [], []).reason == ""
    for metric in reduced_protocol(PROTOCOLS["choice"]).metrics:
        assert ([metric.score(FULL[0], key) for key in "AB"], metric.higher_is_better) == ([0.0, 1.0], False)
    assert [metric.name for metric in reduced_protocol(PROTOCOLS["choice"]).metrics] == ["size_kept", "threshold"]


def reduced(name: str, pixels: Any, share: float) -> Any:
    image = Image.fromarray(np.asarray(pixels, np.uint8))
    return np.asarray(REDUCTIONS[name](image, share, stream("test", "reduction")), float)


def test_reductions_of_pixels() -> None:
    """Noise of 8 (1/s - 1) levels; half of a contrast; a blur leaves 1 / (2 sqrt(pi) 1.5) of noise."""
    two = [[[0, 90, 40], [200, 110, 40]]]
    assert reduced("contrast", two, 0.5).tolist() == [[[50, 95, 40], [150, 105, 40]]]
    assert [reduced("scale", np.zeros((9, 30, 3)), share).shape for share in (1 / 3, 1 / 32)] == [(3, 10, 3), (1, 1, 3)]
    for share, deviation in ((0.5, 8), (0.25, 24)):
        noise = reduced("noise", np.full((64, 64, 3), 128), share)
        assert (noise.mean(), noise.std()) == pytest.approx((128, deviation), rel=0.03)
    rough = stream("test", "rough").normal(128, 40, (64, 64, 1)).clip(0, 255).repeat(3, 2)
    assert reduced("blur", rough, 0.25)[8:-8, 8:-8].std() == pytest.approx(40 / (2 * np.sqrt(np.pi) * 1.5), rel=0.2)
    errors = [np.abs(reduced("jpeg", rough, share) - rough.astype(np.uint8)).mean() for share in (1.0, 0.5, 0.06)]
    assert errors[0] < 4 < errors[1] < errors[2]
