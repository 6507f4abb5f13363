"""What of an image reaches an encoder: two images with the same features do not differ for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from snellen.core.seeds import stream
from snellen.subjects.encoders.encoder import Encoder
from snellen_sight import drawing
from snellen_sight.checks import CHECKS
from snellen_sight.drawing import LONG, RGB, SIDE
from snellen_sight.likelihood import FINE
from snellen_sight.results import SightLine, Verdict

CANVAS = 2048
SIZES = tuple(round(64 * 2 ** (step / 4)) for step in range(20))
"""Sides in pixels to which a detailed image is shrunk and enlarged again, in quarters of an octave."""
EQUAL, LOST = 0.02, 0.12
"""Distances of features as shares of that between clearly different images: the same image; details are missing."""
WITHIN = 1.7
"""Encoders whose input side is known were measured within this factor."""

Floats = NDArray[np.float64]


def _features(encoder: Encoder, images: Sequence[Image.Image]) -> Floats:
    size = max(1, encoder.batch)
    parts = [encoder.features(images[start : start + size]) for start in range(0, len(images), size)]
    return np.concatenate(parts).astype(np.float64)


def _closest(encoder: Encoder, image: Image.Image, variants: Mapping[str, Image.Image]) -> str | None:
    """The variant with the features of the image; None if there is none, or more than one."""
    features = _features(encoder, [image, *variants.values()])
    distances = np.linalg.norm(features[1:] - features[0], axis=1)
    spread = np.linalg.norm(features[1:] - features[1:].mean(0), axis=1).max()
    near = [name for name, distance in zip(variants, distances, strict=True) if distance <= EQUAL * max(spread, 1e-9)]
    return near[0] if len(near) == 1 else None


def _detailed() -> Image.Image:
    """Coloured noise with as much contrast at every scale, as photographs have (a spectrum of 1/f)."""
    rng = stream("sight", "detail")
    frequency = np.hypot(np.fft.fftfreq(CANVAS)[:, None], np.fft.rfftfreq(CANVAS)[None])
    frequency[0, 0] = 1.0
    planes = []
    for _ in range(3):
        plane = np.fft.irfft2(np.fft.rfft2(rng.standard_normal((CANVAS, CANVAS))) / frequency, s=(CANVAS, CANVAS))
        planes.append(128 + 45 * (plane - plane.mean()) / plane.std())
    return Image.fromarray(np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8))


def encoder_lines(encoder: Encoder) -> tuple[list[SightLine], dict[int, tuple[float, float, float]]]:
    """The lines of an encoder, and the effective scale of an image of 2,048 px."""
    plain = drawing.bands(("green", "magenta", "white", "black", "magenta", "green"), is_wide=True)
    grey = drawing.framed(("red", "green", "blue", "yellow"))
    is_grey = _closest(encoder, grey, {"grey": grey.convert("L").convert("RGB"), FINE: _redder(grey)}) == "grey"
    lines = [
        _line("colours", "grey" if is_grey else FINE),
        _orientation_line(encoder),
        _transparency_line(encoder),
        _ends_line(encoder, plain),
        _aspect_line(encoder),
    ]
    scale = _scale(encoder)
    if scale is None:
        text = "resolution: no detail changes the features"
        return [*lines, SightLine(check="resolution", verdict="cannot tell", text=text)], {}
    is_full = scale > 0.9
    text = f"an image of 2,048 px arrives as about {scale * CANVAS:,.0f} px (within a factor of {WITHIN:g})"
    if is_full:
        text = "images of up to 2,048 px arrive in full"
    line = SightLine(check="resolution", verdict="fine" if is_full else "not so", text=text)
    return [*lines, line], {CANVAS: (scale, scale / WITHIN, min(1.0, scale * WITHIN))}


def _redder(image: Image.Image) -> Image.Image:
    pixels = np.asarray(image).copy()
    pixels[..., 0] = 255 - pixels[..., 0]
    return Image.fromarray(pixels)


def _line(check: str, explanation: str | None, unknown: str = "") -> SightLine:
    """The line of a check; without an explanation it says what is `unknown`."""
    if explanation is None:
        return SightLine(check=check, verdict="cannot tell", text=f"{check}: {unknown}")
    verdict: Verdict = "fine" if explanation == FINE else "not so"
    return SightLine(check=check, verdict=verdict, text=CHECKS[check].texts[explanation])


def _orientation_line(encoder: Encoder) -> SightLine:
    upright = drawing.framed(("red", "green", "blue", "yellow"))
    stored = upright.transpose(drawing.TURNED[6])
    flagged = stored.copy()
    flagged.getexif()[drawing.ORIENTATION] = 6
    explanation = _closest(encoder, flagged, {FINE: upright, "ignored": stored})
    return _line("orientation", explanation, "the features are the same with and without the flag")


def _transparency_line(encoder: Encoder) -> SightLine:
    image = drawing.transparent("green")
    white, black = (
        Image.alpha_composite(Image.new("RGBA", image.size, (level, level, level, 255)), image).convert("RGB")
        for level in (255, 0)
    )
    explanation = _closest(encoder, image, {FINE: white, "black": black, "hidden": image.convert("RGB")})
    return _line("transparency", explanation, "neither white, black nor the hidden colour arrives")


def _ends_line(encoder: Encoder, image: Image.Image) -> SightLine:
    cut, other = image.copy(), image.copy()
    cut.paste(RGB["blue"], (0, 0, LONG // 6, SIDE))
    cut.paste(RGB["blue"], (LONG - LONG // 6, 0, LONG, SIDE))
    other.paste(RGB["blue"], (LONG // 3, 0, 2 * LONG // 3, SIDE))
    is_cut = _closest(encoder, image, {"narrow": cut, FINE: other}) == "narrow"
    return _line("crop", "narrow" if is_cut else FINE)


def _aspect_line(encoder: Encoder) -> SightLine:
    image = drawing.ellipse(is_circle=True, is_wide=True)
    squashed = image.resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    middle = image.crop(((LONG - SIDE) // 2, 0, (LONG + SIDE) // 2, SIDE))
    features = _features(encoder, [image, squashed, middle])
    distances = np.linalg.norm(features[1:] - features[0], axis=1)
    is_squashed = distances[0] < 0.25 * distances[1]
    return _line("aspect", "squashed" if is_squashed else FINE)


def _scale(encoder: Encoder) -> float | None:
    """The share of the resolution of an image of 2,048 px that reaches the features; None if no detail does.

    It is the least size to which a detailed image can be shrunk before its features change.
    """
    image = _detailed()
    copies = [
        image.resize((size, size), Image.Resampling.LANCZOS).resize(image.size, Image.Resampling.LANCZOS)
        for size in (16, *SIZES)
    ]
    features = _features(encoder, [image, *copies])
    distances = np.linalg.norm(features[1:] - features[0], axis=1)
    if not distances[0] > 0:
        return None
    shares = distances[1:] / distances[0]
    losing = [number for number, share in enumerate(shares) if share >= LOST]
    if not losing or losing[-1] == len(SIZES) - 1:
        return 1.0 if losing else SIZES[0] / CANVAS
    last = losing[-1]
    position = (shares[last] - LOST) / (shares[last] - shares[last + 1])
    return float(min(1.0, SIZES[last] * (SIZES[last + 1] / SIZES[last]) ** position / CANVAS))
