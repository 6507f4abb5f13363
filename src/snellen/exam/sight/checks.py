"""The checks: groups of questions, and the lines that follow from the replies to them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from snellen.core.item import Media
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.sight import SightCall, SightLine, Verdict
from snellen.exam.sight import drawing
from snellen.exam.sight.drawing import RGB, SIDE, STABLE
from snellen.exam.sight.likelihood import FINE, UNABLE, SightQuestion, best
from snellen.suites.thresholds.measures.acuity import ACUITY
from snellen.suites.thresholds.measures.measure import DIRECTIONS

LETTERS = tuple("CEFHKLPRTUXZ")
QUARTERS = ("upper left", "upper right", "lower left", "lower right")
COLOUR_ALONE = "Reply with the colour alone."
EDGES = ("top", "right", "bottom", "left")
VIDEO_SECONDS, VIDEO_FPS = 12, 8
STRIPES = (8.7, 12.4, 52.0)
"""Amplitudes in levels of Cr: faint, clear and strong. JPEG at quality 30, whose step is 20.6, removes the faint ones
alone."""

SAMPLERS = {
    FINE: range(VIDEO_SECONDS),
    **{
        f"{count} frames, {where}": [min(VIDEO_SECONDS - 1, int(VIDEO_SECONDS * share)) for share in shares]
        for count in range(1, VIDEO_SECONDS - 1)
        for where, shares in (
            ("middles of parts", (np.arange(count) + 0.5) / count),
            ("starts of parts", np.arange(count) / count),
            ("with both ends", np.linspace(0, 1, count)),
        )
    },
}
"""By explanation, the seconds from which frames are taken. Letters follow each other every second."""

Draw = Callable[[MediaFolder, np.random.Generator, int], SightQuestion]
Logs = Mapping[str, float]


@dataclass(frozen=True)
class SightCheck:
    """Questions of one kind, from which the line `check` follows: `draw` makes the n-th one.

    `base` are asked, and up to `most` if these decide nothing. `texts` are the lines by explanation, `weak` further
    explanations that decide nothing, and `topic` begins the line if nothing is decided.
    """

    check: str
    draw: Draw
    base: int
    most: int
    topic: str
    texts: Mapping[str, str]
    weak: tuple[str, ...] = ()

    @property
    def explanations(self) -> tuple[str, ...]:
        """All explanations, without `UNABLE`."""
        return (*self.texts, *self.weak)

    def line(self, likelihoods: Logs) -> SightLine:
        """The line that follows from the log likelihoods of the explanations."""
        explanation = best(by_text(self, likelihoods))
        if explanation is not None and explanation in self.texts:
            verdict: Verdict = "fine" if explanation == FINE else "not so"
            return SightLine(check=self.check, verdict=verdict, text=self.texts[explanation])
        reason = (
            "the replies fit no explanation well" if explanation is None else "the replies do not depend on the images"
        )
        return SightLine(check=self.check, verdict="cannot tell", text=f"{self.topic}: {reason}")


def by_text(check: SightCheck, likelihoods: Logs) -> dict[str, float]:
    """The log likelihoods of explanations; of those with the same text the first has that of the best."""
    firsts: dict[str, str] = {}
    merged: dict[str, float] = {}
    for name, log in likelihoods.items():
        first = firsts.setdefault(check.texts.get(name, name), name)
        merged[first] = max(log, merged.get(first, -np.inf))
    return merged


def _choice(group: str, image: Media, text: str, answers: Sequence[str], **expected: str) -> SightQuestion:
    places = {name: (frozenset({answer}),) for name, answer in expected.items()}
    return SightQuestion(group, (image,), text, tuple(answers), places)


_EXCHANGED = {"red": "blue", "blue": "red", "yellow": "cyan", "cyan": "yellow"}
_INVERTED = {"red": "cyan", "cyan": "red", "blue": "yellow", "yellow": "blue", "green": "magenta", "magenta": "green"}


def _colours(media: MediaFolder, rng: np.random.Generator, number: int) -> SightQuestion:
    colour = ("red", "yellow", "green", "blue", "cyan", "magenta")[number % 6]
    text = f"Which colour fills the whole image: {_names(tuple(RGB))}? {COLOUR_ALONE}"
    question = _choice(
        "colours", media.add_image(drawing.filled(colour), quick=True), text, tuple(RGB),
        fine=colour, exchanged=_EXCHANGED.get(colour, colour), inverted=_INVERTED[colour], grey="grey",
    )  # fmt: skip
    return replace(question, expected={**question.expected, "grey": (frozenset({"grey", "black", "white"}),)})


def _letters(media: MediaFolder, rng: np.random.Generator, number: int) -> SightQuestion:
    count = 2 + number % 3
    sent = [str(letter) for letter in rng.permutation(LETTERS)[:count]]
    sequences = {
        FINE: sent, "reversed": sent[::-1], "first": sent[:1], "last": sent[-1:],
        "second missing": [sent[0], *sent[2:]], "first two": sent[:2],
    }  # fmt: skip
    text = (
        "Each image shows one capital letter. Write the letters of all images in the order in which the images were "
        "given, separated by commas, and nothing else."
    )
    images = tuple(media.add_image(drawing.letter(letter), quick=True) for letter in sent)
    expected = {name: tuple(frozenset({letter}) for letter in letters) for name, letters in sequences.items()}
    return SightQuestion("several images", images, text, LETTERS, expected)


def _names(answers: Sequence[str]) -> str:
    return f"{', '.join(answers[:-1])} or {answers[-1]}"


def _orientation(media: MediaFolder, rng: np.random.Generator, number: int) -> SightQuestion:
    colours, edge = [str(colour) for colour in rng.permutation(STABLE)], int(rng.integers(4))
    flag = (6, 8, 3)[number % 3]
    # An image whose pixels are stored a quarter turn to the left has its top on the left.
    moved = {6: 1, 3: 2, 8: 3}[flag]
    text = f"Which colour is the band along the {EDGES[edge]} edge of the image: {_names(STABLE)}? {COLOUR_ALONE}"
    image = drawing.flagged(drawing.framed(colours), flag, media)
    ignored = colours[(edge + moved) % 4]
    return _choice("orientation", image, text, STABLE, fine=colours[edge], ignored=ignored)


def _transparency(media: MediaFolder, rng: np.random.Generator, number: int) -> SightQuestion:
    hidden = ("green", "magenta")[number % 2]
    text = f"The image shows a grey disc. Which colour is the background around it: {_names(STABLE)}? {COLOUR_ALONE}"
    image = media.add_image(drawing.transparent(hidden), quick=True)
    return _choice("transparency", image, text, STABLE, fine="white", black="black", hidden=hidden)


def _ends(media: MediaFolder, rng: np.random.Generator, number: int) -> SightQuestion:
    is_wide, is_end = number % 2 == 0, number // 2 % 2 == 1
    near, far = ([str(colour) for colour in rng.permutation(STABLE)[:3]] for _ in range(2))
    if near[2] == far[2]:
        far = far[1:] + far[:1]
    colours = [*near, *far[::-1]]
    side = (("left", "right") if is_wide else ("top", "bottom"))[is_end]
    text = (
        f"The image has bands of colour from {'left to right' if is_wide else 'top to bottom'}. Which colour is the "
        f"band at the {side} end: {_names(STABLE)}? {COLOUR_ALONE}"
    )
    outermost, second, third = far if is_end else near
    image = media.add_image(drawing.bands(colours, is_wide), quick=True)
    return _choice("crop", image, text, STABLE, fine=outermost, narrow=second, centre=third)


def _aspect(media: MediaFolder, rng: np.random.Generator, number: int) -> SightQuestion:
    is_circle, is_wide = number % 2 == 0, number // 2 % 2 == 0
    along, across = ("wide", "tall") if is_wide else ("tall", "wide")
    text = 'Is the black shape a circle, a wide ellipse or a tall ellipse? Reply with "circle", "wide" or "tall".'
    fine, squashed = ("circle", across) if is_circle else (along, "circle")
    image = media.add_image(drawing.ellipse(is_circle, is_wide), quick=True)
    return _choice("aspect", image, text, ("circle", "wide", "tall"), fine=fine, squashed=squashed)


def _ring(media: MediaFolder, rng: np.random.Generator, number: int) -> SightQuestion:
    is_large, direction = number % 5 in (1, 2, 4), int(rng.integers(8))
    side, gap_px = (drawing.LONG, 160.0) if is_large else (SIDE, 50.0)
    image = media.add_image(drawing.ring(side, gap_px, direction), quick=True)
    question = _choice("whole", image, ACUITY.question, DIRECTIONS, fine=DIRECTIONS[direction])
    split = (frozenset(DIRECTIONS),) if is_large else question.expected[FINE]
    return replace(question, expected={**question.expected, "split": split})


def _stripes(media: MediaFolder, rng: np.random.Generator, number: int) -> SightQuestion:
    strength, quarter = (0, 1, 2, 0, 1, 0, 1, 2)[number] if number < 8 else number % 2, int(rng.integers(4))
    text = (
        f"One quarter of the image has narrow coloured stripes, the rest is plain grey. Which quarter: "
        f"{_names(QUARTERS)}? Reply with the quarter alone."
    )
    image = media.add_image(drawing.striped(quarter, STRIPES[strength]), quick=True)
    question = _choice("compression", image, text, QUARTERS, fine=QUARTERS[quarter])
    fine, guessed = question.expected[FINE], (frozenset(QUARTERS),)
    expected = {FINE: fine, "removed": guessed if strength == 0 else fine, "weak": guessed if strength < 2 else fine}
    return replace(question, expected=expected)


def _video(media: MediaFolder, rng: np.random.Generator, number: int) -> SightQuestion:
    from snellen.stimuli.video.writing import write_video

    order = [str(letter) for letter in rng.permutation(LETTERS)]
    frames = (np.asarray(drawing.letter(letter, 320)) for letter in order for _ in range(VIDEO_FPS))
    with tempfile.TemporaryDirectory(prefix="snellen-sight-") as folder:
        path = Path(folder) / "letters.mp4"
        write_video(frames, path, fps=VIDEO_FPS)
        video = media.add(path.read_bytes(), "video", "mp4", (320, 320), float(VIDEO_SECONDS))
    text = (
        "The video shows capital letters, one after the other. Write all letters in the order in which they appear, "
        "separated by commas, and nothing else."
    )
    expected = {name: tuple(frozenset({order[place]}) for place in places) for name, places in SAMPLERS.items()}
    return SightQuestion("video", (video,), text, LETTERS, expected)


CHECKS: Mapping[str, SightCheck] = {
    check.check: check
    for check in (
        SightCheck("colours", _colours, 6, 14, "colours", {
            FINE: "colours arrive as they are", "exchanged": "red and blue arrive exchanged",
            "inverted": "colours arrive inverted", "grey": "colours arrive as shades of grey",
        }),
        SightCheck("several images", _letters, 3, 5, "several images", {
            FINE: "four images arrive in order", "reversed": "several images arrive in reverse order",
            "first": "only the first of several images arrives", "last": "only the last of several images arrives",
            "second missing": "the second of several images does not arrive",
            "first two": "only the first two of several images arrive",
        }),
        SightCheck("orientation", _orientation, 3, 9, "orientation flags", {
            FINE: "orientation flags of JPEG files are applied",
            "ignored": "orientation flags of JPEG files are ignored: photographs from phones arrive turned",
        }),
        SightCheck("transparency", _transparency, 3, 9, "transparency", {
            FINE: "transparent areas arrive white", "black": "transparent areas arrive black: dark drawings vanish",
            "hidden": "transparency is ignored: the colours that it hides arrive",
        }),
        SightCheck("crop", _ends, 4, 9, "the ends of long images", {
            FINE: "the ends of images of 3:1 arrive", "narrow": "the ends of images of 3:1 are cut off",
            "centre": "only the middle of images of 3:1 arrives: they are cropped to a square",
        }),
        SightCheck("aspect", _aspect, 4, 8, "proportions", {
            FINE: "proportions of images of 3:1 are kept", "squashed": "images of 3:1 are squashed to a square",
        }),
        SightCheck("whole", _ring, 5, 9, "large figures", {
            FINE: "a figure of 800 px is seen as a whole",
            "split": "a figure of 800 px is not seen as a whole, one of 250 px is: tiles arrive without an overview",
        }),
        SightCheck("compression", _stripes, 8, 14, "compression", {
            FINE: "no strong lossy compression",
            "removed": "lossy compression: stripes that JPEG removes at quality 30 are missing, stronger ones arrive",
        }, ("weak",)),
        SightCheck("video", _video, 2, 3, "videos", {
            FINE: "a video arrives with at least one frame per second",
            **{
                name: f"about {name.partition(' ')[0]} frames of a video of {VIDEO_SECONDS} s arrive"
                for name in SAMPLERS if name != FINE
            },
        }),
    )
}  # fmt: skip
STABLE_CHECKS = frozenset({"orientation", "transparency", "crop"})
"""Groups that ask for the colours of parts of an image, which must not be inverted."""


def image_line(colours: Logs) -> SightLine:
    """Whether an image arrives at all: a model that names no colour of a whole image gets none of it."""
    sighted = {FINE: max(log for name, log in colours.items() if name != UNABLE), UNABLE: colours[UNABLE]}
    if best(sighted) == FINE:
        return SightLine(check="image", verdict="fine", text="an image arrives")
    if best(sighted) == UNABLE:
        text = "no image reaches the model: its replies about the colour of the whole image do not depend on it"
        return SightLine(check="image", verdict="not so", text=text)
    text = "whether an image arrives: the replies fit no explanation well"
    return SightLine(check="image", verdict="cannot tell", text=text)


def token_line(calls: Sequence[SightCall], sides: Mapping[str, int]) -> SightLine:
    """The server's own counts of tokens by the size of the image: evidence that does not depend on the replies."""
    counts: dict[int, list[int]] = {}
    for call in calls:
        if call.group in sides and call.tokens_in:
            counts.setdefault(sides[call.group], []).append(call.tokens_in)
    if len(counts) < 2:
        return SightLine(check="tokens", verdict="cannot tell", text="tokens: the server reports no counts for images")
    by_side = {side: round(median(numbers)) for side, numbers in sorted(counts.items())}
    numbers = ", ".join(f"{count} at {side} px" for side, count in by_side.items())
    smallest, largest = min(by_side.values()), max(by_side.values())
    if largest <= 1.02 * smallest:
        text = f"the server counts the same tokens for every size ({numbers}), as if all images had one size"
        return SightLine(check="tokens", verdict="cannot tell", text=text)
    return SightLine(check="tokens", verdict="fine", text=f"the server counts more tokens for larger images: {numbers}")
