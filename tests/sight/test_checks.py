"""Each check behind a planted fault, seen by an observer that reads pixels: the line names this fault and no other."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from PIL import Image

from snellen_sight import drawing
from snellen_sight.asking import stream
from snellen_sight.checks import CHECKS
from snellen_sight.checks.sequence import AFTER_A_TURN, AT_ONCE
from snellen_sight.likelihood import SightQuestion
from tests.helpers.sight_servers import CLEAN, FAULTS, NEW_FAULTS, Observer, Server, observer

TEXTS: Mapping[str, Mapping[str, str]] = {
    "colours": {
        "": "hues arrive as they are", "red and blue exchanged": "red and blue arrive exchanged",
        "grey": "colours arrive as shades of grey", "inverted": "colours arrive inverted",
        "channels rotated": "red, green and blue arrive as blue, red and green",
        "channels rotated back": "red, green and blue arrive as green, blue and red",
    },
    "transparency": {
        "": "transparent areas arrive white",
        "transparent on black": "transparent areas arrive black: dark drawings vanish",
        "alpha removed": "transparency is ignored: the colours that it hides arrive",
    },
    "orientation": {
        "": "orientation flags of JPEG files are applied",
        "orientation ignored": "orientation flags of JPEG files are ignored: photographs from phones arrive turned",
        "orientation applied twice": "orientation flags of JPEG files are applied twice",
        "mirrored": "images arrive mirrored", "turned by 180 degrees": "images arrive upside down",
    },
    "crop": {
        "": "the ends of images of 3:1 arrive", "crop of 87.5 %": "the ends of images of 3:1 are cut off",
        "square from the middle": "only the middle of images of 3:1 arrives: they are cropped to a square",
    },
    "aspect": {
        "": "proportions of images of 3:1 are kept", "squashed to a square": "images of 3:1 are squashed to a square",
    },
    "compression": {
        "": "no strong lossy compression", "JPEG at quality 30": "lossy compression: stripes that JPEG removes at "
        "quality 30 are missing, stronger ones arrive",
    },
    "shades": {
        "": "white, grey and black arrive as such, and smooth changes without steps",
        "halved contrast": "shades: white is named light grey and black dark grey, as with less contrast",
        "gamma twice": "shades: grey is named dark grey, as with another gamma",
        "gamma halved": "shades: grey is named light grey, as with another gamma",
    },
}  # fmt: skip
"""The line of each check by the server's fault; of a clean server without one."""
SERVERS = {
    "": CLEAN, **FAULTS, **NEW_FAULTS,
    "channels rotated back": Server("colours", lambda image: Image.merge("RGB", image.split()[2:] + image.split()[:2])),
    "gamma halved": Server("shades", lambda image: image.point(lambda level: round(255 * (level / 255) ** 0.45))),
}  # fmt: skip


@pytest.mark.parametrize(("name", "fault"), [(name, fault) for name, texts in TEXTS.items() for fault in texts])
def test_the_line_of_a_check_names_the_fault_of_the_server(name: str, fault: str) -> None:
    check, server, planted = CHECKS[name], SERVERS[fault], observer(SERVERS[fault], gap_px=0.5)
    assert isinstance(planted, Observer)
    replies: list[tuple[SightQuestion, str]] = []
    while len(replies) < check.base or not (check.is_decided(replies) or len(replies) == check.most):
        number = len(replies)
        question = check.draw(stream("test", name, number), number)
        images = [server.change(server.open(Image.open(io.BytesIO(file.raw)))) for file in question.images]
        replies.append((question, ", ".join(planted._answers(question.text, images, stream("observer", number))[0])))
    verdict = "fine" if not fault else "cannot tell" if TEXTS[name][fault].startswith(f"{name}: ") else "not so"
    line = check.line(replies)
    assert (line.check, line.text, line.verdict) == (name, TEXTS[name][fault], verdict)
    assert len(replies) == check.base or fault


@pytest.mark.parametrize(
    ("served", "text"),
    [
        (lambda own, n: own[n], "each call gets its own image, one after another and at once"),
        (lambda own, n: own[max(0, n - 1)], "each answer is about the image of the call before"),
        (lambda own, n: own[0], "calls with the same words get the same reply, whatever their image"),
        (lambda own, n: own[4 + (n - 2) % 6] if n in AT_ONCE else own[n],
         "calls that are made at once get each other's images"),
        (lambda own, n: own[n - 5] if n in AFTER_A_TURN else own[n],
         "after an earlier turn, the answer is about the image of that turn"),
    ],
)  # fmt: skip
def test_calls_that_get_images_of_other_calls_are_told_apart(
    served: Callable[[Sequence[str], int], str], text: str
) -> None:
    """Calls 0 to 3 are made one after another, 4 to 9 at once, 10 and 11 after a turn with that of 5 or 6."""
    questions = [CHECKS["sequence"].draw(stream("test", number), number) for number in range(12)]
    letters = [question.right[0] for question in questions]
    assert len(set(letters)) == 12
    assert [question.earlier[0][2] if question.earlier else "" for question in questions] == [""] * 10 + letters[5:7]
    replies = [(question, served(letters, number)) for number, question in enumerate(questions)]
    assert CHECKS["sequence"].line(replies).text == text


def _extent(image: Image.Image) -> tuple[int, ...]:
    """Left, top, width and height of what is dark."""
    y, x = np.nonzero(np.asarray(image.convert("L")) < 100)
    return int(x.min()), int(y.min()), int(np.ptp(x)) + 1, int(np.ptp(y)) + 1


def test_figures_have_the_sizes_that_are_stated() -> None:
    """Rings are five gaps wide, an ellipse three times as long as wide."""
    assert _extent(drawing.letter("H"))[3] == pytest.approx(0.55 * 448, abs=3)
    assert _extent(drawing.ring(1344, 160.0, 1))[2:] == pytest.approx((800, 800), abs=2)
    assert _extent(drawing.ring(448, 50.0, 3)) == pytest.approx((99, 99, 250, 250), abs=2)
    assert _extent(drawing.ellipse(is_circle=True, is_wide=True)) == pytest.approx((522, 74, 300, 300), abs=1)
    assert _extent(drawing.ellipse(is_circle=False, is_wide=False)) == pytest.approx((164, 492, 120, 360), abs=1)
