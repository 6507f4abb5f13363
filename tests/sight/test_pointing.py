"""Servers that give points in known frames: the frame is named, or nothing is, and never another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from PIL import Image

from snellen_sight.checks import pointing
from snellen_sight.checks.pointing import PointingResult
from snellen_sight.frames import DECLARED, PointTrial, fit_conversion
from snellen_sight.likelihood import SightQuestion
from tests.goldens.golden import assert_golden

FrameMap = Callable[[float, float, int, int], tuple[float, float]]


def grid(number: float) -> FrameMap:
    return lambda x, y, width, height: (x / width * number, y / height * number)


def limited(most: float, *, by: Callable[[int, int], float] = max) -> FrameMap:
    return lambda x, y, *size: (x * min(1.0, most / by(*size)), y * min(1.0, most / by(*size)))


def padded(number: float) -> FrameMap:
    def point(x: float, y: float, width: int, height: int) -> tuple[float, float]:
        side = max(width, height)
        return (x + (side - width) / 2) / side * number, (y + (side - height) / 2) / side * number

    return point


FRAMES: Mapping[str, FrameMap] = {
    "pixels of the image as sent": lambda x, y, width, height: (x, y),
    "pixels of an image with a longer side": limited(1092),
    "shares of width and height": grid(1),
    "hundredths of width and height": grid(100),
    "thousandths of width and height": grid(1000),
    "1024ths of width and height": grid(1024),
    "thousandths of the image padded to a square": padded(1000),
}


def served(frame: FrameMap, spread: float, seed: int, *, follows: str = "", lapses: float = 0.03) -> PointingResult:
    """The result for a server whose replies are in a frame, scattered by a share of the longer side."""
    rng, answered = np.random.default_rng(seed), list[tuple[SightQuestion, str]]()
    for number in range(14):
        question = pointing.question(number, rng)
        trial = question.trial
        assert trial is not None
        (width, height), (x, y) = trial.size, trial.target
        x, y = (value + float(rng.normal(0, spread)) * max(width, height) for value in (x, y))
        if rng.random() < lapses:
            x, y = float(rng.uniform(0, width)), float(rng.uniform(0, height))
        a, b = frame(x, y, width, height)
        if question.group == follows == pointing.STATED:
            a, b = x / width, y / height
        elif question.group == follows == pointing.DECLARING and trial.declared:
            a, b = x / width * trial.declared[0], y / height * trial.declared[1]
        digits = 4 if max(abs(a), abs(b)) < 3 else 0
        answered.append((question, f"({a:.{digits}f}, {b:.{digits}f})"))
    return pointing.result(answered)


def name_of(result: PointingResult) -> str:
    return result.conversion.names[0] if result.is_sure and result.conversion else ""


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_is_named_with_its_conversion(name: str) -> None:
    result = served(FRAMES[name], 0.002, 1)
    assert name_of(result).startswith(name)
    assert result.conversion is not None
    best = result.conversion.best
    for size in pointing.SIZES:
        numbers = FRAMES[name](300.0, 200.0, *size)
        assert best.to_px(size, numbers) == pytest.approx((300, 200), abs=0.008 * max(size))


def test_lines_of_servers_are_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every frame, sharp and blurred, with lapses and a shift, and what it follows; images are not needed."""
    monkeypatch.setattr(pointing, "target_image", lambda trial, rng: Image.new("L", (8, 8)))
    frames = {
        **FRAMES, "shorter side": limited(700, by=min), "area": limited(900, by=lambda w, h: (w * h) ** 0.5),
        "two sides": lambda x, y, w, h: (x / w * 640, y / h * 640),
        "y first": lambda x, y, w, h: (y / h * 100, x / w * 100), "shifted": lambda x, y, w, h: (x + 25, y - 14),
    }  # fmt: skip
    lines = list[str]()
    for number, (name, frame) in enumerate(frames.items()):
        follows = ("", pointing.STATED, pointing.DECLARING)[number % 3]
        for spread in (0.002, 0.025):
            result = served(frame, spread, number, follows=follows, lapses=0.1)
            rivals = result.conversion.rivals[:3] if result.conversion else ()
            lines.append(f"{name}, {spread}, {follows!r}: {result.frame!r} {rivals} {result.line().text}")
    assert_golden("sight/pointing.txt", "\n".join(lines) + "\n")


def test_y_first_offset_and_units_are_told_apart() -> None:
    turned = served(lambda x, y, w, h: (y / h * 1000, x / w * 1000), 0.002, 2)
    assert name_of(turned) == "thousandths of width and height, y first"
    assert "x = b · width / 1000" in turned.line().text
    shifted = served(lambda x, y, w, h: (x + 40, y), 0.001, 3)
    assert "shifted by +" in shifted.line().text


@pytest.mark.parametrize("follows", [pointing.STATED, pointing.DECLARING])
def test_what_a_question_states_is_followed_or_not(follows: str) -> None:
    result = served(FRAMES["pixels of the image as sent"], 0.003, 4, follows=follows)
    assert (result.follows_unit, result.follows_display) == (follows == pointing.STATED, follows == pointing.DECLARING)


def test_replies_that_do_not_point_tell_no_frame() -> None:
    assert "do not follow the target" in served(lambda x, y, w, h: (x, y), 0.3, 5).line().text
    assert "do not follow the target" in served(lambda x, y, w, h: (w / 2, h / 2), 0.0, 6, lapses=0).line().text
    questions = [pointing.question(number, np.random.default_rng(7)) for number in range(8)]
    assert "read in 0 of 8" in pointing.result([(question, "I see a disc.") for question in questions]).line().text


@pytest.mark.parametrize(("unread", "is_enough"), [(2, True), (3, False)])
def test_a_point_must_be_read_in_three_quarters_of_the_replies(unread: int, is_enough: bool) -> None:
    rng, answered = np.random.default_rng(8), list[tuple[SightQuestion, str]]()
    for number in range(pointing.PLAIN_CALLS):
        question = pointing.question(number, rng)
        assert question.trial is not None
        answered.append((question, "hm" if number < unread else "({:.0f}, {:.0f})".format(*question.trial.target)))
    assert (pointing.result(answered).conversion is not None) == is_enough


def test_a_frame_that_over_three_tenths_of_the_replies_miss_is_not_sure() -> None:
    """Three of 12 replies are far off, 25 %, then four of 13, 31 %."""
    right = [PointTrial((800, 600), (x, y), (x / 0.8, y / 0.6)) for x in (90, 480, 700) for y in (60, 310, 510)]
    far = [PointTrial((800, 600), (400, 300), reply) for reply in ((30, 40), (900, 80), (60, 950), (970, 960))]
    for misses, is_sure in (3, True), (4, False):
        conversion = fit_conversion([*right, *far[:misses]])
        assert conversion is not None
        assert (conversion.names, conversion.is_sure) == (("thousandths of width and height",), is_sure)


def test_a_declared_display_alone_is_no_frame_of_questions_without_one() -> None:
    trials = [PointTrial((800, 600), (x, y), (x, y)) for x in (50, 400, 750) for y in (60, 550)]
    conversion = fit_conversion(trials)
    assert conversion is not None
    assert DECLARED not in (*conversion.names, *conversion.rivals)


def test_the_target_is_red_at_its_place() -> None:
    rng = np.random.default_rng(8)
    trial = pointing.question(0, rng).trial
    assert trial is not None
    red, green, _ = np.asarray(pointing.target_image(trial, rng), int).transpose(2, 0, 1)
    rows, columns = np.nonzero((red > 180) & (green < 80))
    assert (columns.mean(), rows.mean()) == pytest.approx(trial.target, abs=1.5)


@pytest.mark.slow
def test_of_twenty_servers_of_a_frame_nineteen_are_named_and_none_wrongly() -> None:
    rng = np.random.default_rng(9)
    for name, frame in FRAMES.items():
        sharp = Counter(name_of(served(frame, rng.uniform(0, 0.005), seed)).startswith(name) for seed in range(20))
        blurred = Counter(name_of(served(frame, 0.04, seed)) for seed in range(20))
        wrong = sum(count for other, count in blurred.items() if other and not other.startswith(name))
        print(f"| {name} | {sharp[True]} | {20 - blurred[''] - wrong} | {wrong} |")
        assert sharp[True] >= 19
        assert wrong == 0


@pytest.mark.slow
def test_scattered_replies_of_200_servers_are_never_named() -> None:
    named = 0
    for seed in range(200):
        noise = np.random.default_rng(seed)
        corner = [float(share) for share in noise.uniform(0, 1, 2)]
        kinds: tuple[FrameMap, ...] = (
            lambda x, y, w, h: (noise.uniform(0, w), noise.uniform(0, h)),  # noqa: B023
            lambda x, y, w, h: (corner[0] * w, corner[1] * h),  # noqa: B023
            lambda x, y, w, h: (round(x / w) * w / 2 + w / 4, noise.uniform(0, h)),  # noqa: B023
            lambda x, y, w, h: (noise.uniform(0, 1000), noise.uniform(0, 1000)),  # noqa: B023
        )
        named += bool(name_of(served(kinds[seed % 4], 0.01, seed)))
    assert named == 0
