"""What is said of the size kept, with numbers worked by hand, and the states of its estimate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from snellen.core.item import Item, Media, Option
from snellen.core.score import BELOW, MEASURED, NOT_UNDERSTOOD
from snellen.scoring.kept_size import Reduction
from snellen.suites.questions.kinds import PROTOCOLS
from snellen.suites.questions.sizes import (
    LEVELS,
    Reading,
    advice,
    bias,
    estimate,
    guess_of,
    key_text,
    level_of,
    reduced_protocol,
)

HALF = LEVELS.index(0.5)
OPTIONS = tuple(Option(key, word) for key, word in zip("ABCD", ("red", "green", "blue", "grey"), strict=True))
SIZES = ((100, 100, 10.0), (560, 280, 24.0), (900, 900, 60.0))
"""Width and height of images, and the marked thing in pixels: the second is the middle one of each."""


def item(number: int, level: int, size: tuple[int, int, float] = SIZES[0], reduction: str = "scale") -> Item:
    """A question at a level, about an image of this full size."""
    width, height, thing_px = size
    image = Media(f"{number:064x}", "image", "png", width, height)
    return Item(
        f"q{number}@{level}", "questions", "questions", "Which?", (image,), "A", "choice", "s", f"q{number}",
        f"c{number}", options=OPTIONS, factors={"reduction": reduction},
        measures={"sent_level": float(level), "thing_px": thing_px},
    )  # fmt: skip


def reading(pairs: Sequence[tuple[bool, bool]], struck: int = 0) -> Reading:
    """Pairs of full and half size."""
    fit = Reduction(0.3, 0.2, 0.4, 0.5, 0.4, 0.6, np.ones(len(LEVELS)))
    names = frozenset(f"blind {number}" for number in range(struck))
    return Reading(fit, names, 0.25, HALF, {f"q{number}": pair for number, pair in enumerate(pairs)})


FULL = [item(number, 0, size) for number, size in enumerate(SIZES)]
KEPT = [(True, True)] * 40
# The four cells of the table get half an answer each: +-1.96 sqrt(1 / 42 / 42) = 4.7 points.
KEPT_WORDS = "loss 0.0 points [-4.7, 4.7] in 40 paired questions"


def test_advice_has_the_pixels_and_tokens_of_the_middle_image() -> None:
    """Half of 560 x 280 px: 20 x 10 and 10 x 5 patches of 28 px, two tiles of 512 px and one, each 170 beside 85."""
    assert advice(reading(KEPT, struck=2), FULL) == (
        "send at 0.50 of its size, the marked thing at 12 px: 25 % of the pixels, 50 tokens instead of 200 by the "
        "published rule of claude or 255 tokens instead of 425 by the published rule of gpt-4o; "
        f"{KEPT_WORDS}; 2 questions struck as blind"
    )
    unmarked = [replace(i, measures={"sent_level": 0.0}) for i in FULL]
    assert advice(reading(KEPT, struck=1), unmarked).startswith("send at 0.50 of its size: 25 % of the")
    assert advice(reading(KEPT, struck=1), FULL).endswith("; 1 question struck as blind")


def test_a_loss_above_zero_says_what_not_to_send() -> None:
    """Half of 40 are lost: (20.5 - 0.5) / 42 +- 1.96 sqrt((21 / 42 - 0.4762^2) / 42) = 47.6 +- 15.8 points."""
    lost = [(True, False)] * 20 + [(True, True)] * 20
    words = "do not send at 0.50: loss 50.0 points [31.8, 63.4] in 40 paired questions"
    assert advice(reading(lost), FULL) == words
    one = [(True, False)] + [(True, True)] * 39
    assert advice(reading(one), FULL).startswith("send at 0.50"), "the interval has zero"


def test_other_reductions_have_a_level_and_no_cost() -> None:
    blurred = [item(number, 0, size, "blur") for number, size in enumerate(SIZES)]
    assert advice(reading(KEPT), blurred) == f"level 0.50 keeps what is right: {KEPT_WORDS}"


def test_forty_pairs_are_enough_for_advice() -> None:
    assert advice(reading(KEPT[:39], struck=1), FULL) == (
        "no advice before 40 paired questions (39 so far); 1 question struck as blind"
    )
    assert advice(reading(KEPT), FULL).startswith("send at")


def test_only_questions_with_yes_or_no_have_a_bias() -> None:
    """Statements are counted as yes and no; here both *no* are missed at half size."""
    answers = {"q0": True, "q1": False, "q2": False}
    statements = [replace(i, answer=answers[i.group_id], answer_kind="true_false", options=()) for i in FULL]
    assert [key_text(i) for i in statements] == ["yes", "no", "no"]
    assert bias(reading([(True, True), (True, False), (False, False)]), statements) == (
        '; of 1 "yes" missed 0 at full size, 0 reduced; of 2 "no" missed 1 at full size, 2 reduced'
    )
    assert bias(reading(KEPT[:3]), FULL) == ""


def test_guesses_are_those_of_options_or_of_other_answers() -> None:
    free = replace(FULL[0], answer="a cat", answer_kind="text", options=())
    likely = replace(free, measures={"chance_accuracy": 0.2})
    assert guess_of([FULL[0], replace(FULL[0], options=OPTIONS[:2])]) == pytest.approx(0.375)
    assert guess_of([likely, FULL[0], free]) == pytest.approx(0.15)
    assert guess_of([replace(free, measures={"chance_accuracy": 0.9})]) == 0.5
    assert guess_of([]) == 0.0


def test_the_states_of_the_size_kept() -> None:
    """All right to the last; three of eight right where two are guessed; right without the image; nothing asked."""
    items = [item(n, level) for n in range(20) for level in range(len(LEVELS))]
    for name in ("size_kept", "threshold"):
        best = estimate(name, items, [0.0] * len(items))
        assert (best.reason, best.value, math.isnan(best.low)) == (BELOW, 1 / 16, True)
    guessed = estimate("size_kept", items, [float(number % 8 > 2) for number in range(len(items))])
    assert guessed.reason == NOT_UNDERSTOOD
    full, _, rest = guessed.note.partition(" % right at full size, ")
    assert (rest, 31 <= int(full) <= 44, math.isnan(guessed.value)) == ("25 % by guessing", True, True)
    blind = [replace(item(n, -1), item_id=f"q{n}@blind-{turn}") for n in range(20) for turn in range(3)]
    known = estimate("size_kept", [*items, *blind], [0.0] * (len(items) + len(blind)))
    assert (known.reason, known.note) == (NOT_UNDERSTOOD, "all questions are right without the image")
    some = estimate("size_kept", [*items, *blind[:3]], [0.0] * (len(items) + 3))
    assert some.reason == BELOW, "one struck question is not all of them"
    nothing = estimate("size_kept", [], [])
    assert (nothing.reason, nothing.note, math.isnan(nothing.value)) == ("", "", True)


def test_the_threshold_is_below_the_size_kept() -> None:
    """Right down to a quarter of the size: at the threshold half is right, at the size kept nearly all."""
    items = [item(n, level) for n in range(20) for level in range(len(LEVELS))]
    errors = [float(LEVELS[level_of(i)] < 0.24) for i in items]
    kept, threshold = (estimate(name, items, errors) for name in ("size_kept", "threshold"))
    for measured in (kept, threshold):
        assert measured.reason == MEASURED
        assert measured.low < measured.value < measured.high
    assert 0.19 < threshold.value < 0.25 < kept.value < 0.34
    assert (threshold.note, kept.note) == ("", "no advice before 40 paired questions (20 so far)")


def test_the_metrics_of_levels_are_errors_with_the_size_kept_first() -> None:
    kept, threshold = reduced_protocol(PROTOCOLS["choice"]).metrics
    assert (kept.name, threshold.name) == ("size_kept", "threshold")
    for metric in (kept, threshold):
        assert [metric.score(FULL[0], key) for key in "AB"] == [0.0, 1.0]
        assert (metric.higher_is_better, metric.worst, metric.share) == (False, 1.0, False)
    assert kept.estimate != threshold.estimate
