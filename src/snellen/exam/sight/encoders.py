"""What of an image reaches an encoder: two images with the same features do not differ for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from snellen.core.storage.sight import SightLine
from snellen.exam.sight import drawing
from snellen.exam.sight.drawing import LONG, RGB, SIDE
from snellen.subjects.encoders.encoder import Encoder

CANVAS = 2048
CYCLES = tuple(round(8 * 2 ** (step / 4)) for step in range(29))
"""Cycles of gratings across the canvas, from 8 to 1,024 in quarters of an octave."""
EQUAL, VISIBLE = 0.02, 0.05
"""Distances of features, as shares of that between clearly different images: the same image; a visible grating."""

Floats = NDArray[np.float64]


def _features(encoder: Encoder, images: Sequence[Image.Image]) -> Floats:
    size = max(1, encoder.batch)
    parts = [encoder.features(images[start : start + size]) for start in range(0, len(images), size)]
    return np.concatenate(parts).astype(np.float64)


def _closest(encoder: Encoder, image: Image.Image, candidates: Mapping[str, Image.Image]) -> str | None:
    """The candidate with the features of the image; None if there is none, or more than one."""
    features = _features(encoder, [image, *candidates.values()])
    distances = np.linalg.norm(features[1:] - features[0], axis=1)
    spread = np.linalg.norm(features[1:] - features[1:].mean(0), axis=1).max()
    near = [name for name, distance in zip(candidates, distances, strict=True) if distance <= EQUAL * max(spread, 1e-9)]
    return near[0] if len(near) == 1 else None


def _grating(cycles: int, contrast: float) -> Image.Image:
    wave = 128 + 100 * contrast * np.cos(2 * np.pi * cycles * (np.arange(CANVAS) + 0.5) / CANVAS + 0.7)
    return Image.fromarray(np.broadcast_to(np.rint(wave).astype(np.uint8), (CANVAS, CANVAS))).convert("RGB")


def encoder_lines(encoder: Encoder) -> tuple[list[SightLine], dict[int, tuple[float, float, float]]]:
    """The lines of an encoder, and the effective scale of an image of 2,048 px."""
    plain = drawing.bands(("green", "magenta", "white", "black", "magenta", "green"), is_wide=True)
    grey = drawing.framed(("red", "green", "blue", "yellow"))
    lines = [
        _line("colours", _closest(encoder, grey, {"grey": grey.convert("L").convert("RGB"), "fine": _redder(grey)}),
              {"grey": "colours arrive as shades of grey", None: "colours arrive"}),
        _orientation_line(encoder),
        _transparency_line(encoder),
        _ends_line(encoder, plain),
        _aspect_line(encoder),
    ]  # fmt: skip
    scale = _scale(encoder)
    if scale is None:
        text = "resolution: no grating changes the features"
        return [*lines, SightLine(check="resolution", verdict="cannot tell", text=text)], {}
    px = f"about {scale * CANVAS:,.0f} px"
    is_full = scale > 0.9
    text = "images of up to 2,048 px arrive in full" if is_full else f"an image of 2,048 px arrives as {px}"
    line = SightLine(check="resolution", verdict="fine" if is_full else "not so", text=text)
    return [*lines, line], {CANVAS: (scale, scale / 2**0.25, min(1.0, scale * 2**0.25))}


def _redder(image: Image.Image) -> Image.Image:
    pixels = np.asarray(image).copy()
    pixels[..., 0] = 255 - pixels[..., 0]
    return Image.fromarray(pixels)


def _line(check: str, explanation: str | None, texts: Mapping[str | None, str]) -> SightLine:
    verdict = "fine" if explanation in (None, "fine") else "not so"
    return SightLine(check=check, verdict=verdict, text=texts[explanation])


def _orientation_line(encoder: Encoder) -> SightLine:
    upright = drawing.framed(("red", "green", "blue", "yellow"))
    stored = upright.transpose(drawing.TURNED[6])
    flagged = stored.copy()
    flagged.getexif()[drawing.ORIENTATION] = 6
    explanation = _closest(encoder, flagged, {"fine": upright, "ignored": stored})
    if explanation is None:
        return SightLine(check="orientation", verdict="cannot tell", text="orientation: both have the same features")
    texts: dict[str | None, str] = {
        "fine": "orientation flags are applied",
        "ignored": "orientation flags are ignored: photographs from phones arrive turned",
    }
    return _line("orientation", explanation, texts)


def _transparency_line(encoder: Encoder) -> SightLine:
    image = drawing.transparent("green")
    on = {
        name: Image.alpha_composite(Image.new("RGBA", image.size, (*RGB[name], 255)), image).convert("RGB")
        for name in ("white", "black")
    }
    on["white"].paste((255, 255, 255), mask=Image.eval(image.getchannel("A"), lambda alpha: 255 - alpha))
    on["black"].paste((0, 0, 0), mask=Image.eval(image.getchannel("A"), lambda alpha: 255 - alpha))
    explanation = _closest(encoder, image, {"fine": on["white"], "black": on["black"], "hidden": image.convert("RGB")})
    if explanation is None:
        return SightLine(
            check="transparency", verdict="cannot tell", text="transparency: arrives as none of the usual grounds"
        )
    texts: dict[str | None, str] = {
        "fine": "transparent areas arrive white", "black": "transparent areas arrive black: dark drawings vanish",
        "hidden": "transparency is ignored: the colours that it hides arrive",
    }  # fmt: skip
    return _line("transparency", explanation, texts)


def _ends_line(encoder: Encoder, image: Image.Image) -> SightLine:
    cut, other = image.copy(), image.copy()
    cut.paste(RGB["blue"], (0, 0, LONG // 6, SIDE))
    cut.paste(RGB["blue"], (LONG - LONG // 6, 0, LONG, SIDE))
    other.paste(RGB["blue"], (LONG // 3, 0, 2 * LONG // 3, SIDE))
    is_cut = _closest(encoder, image, {"cut": cut, "fine": other}) == "cut"
    texts = {
        "cut": "only the middle of images of 3:1 arrives: they are cropped",
        None: "the ends of images of 3:1 arrive",
    }
    return _line("crop", "cut" if is_cut else None, texts)


def _aspect_line(encoder: Encoder) -> SightLine:
    image = drawing.ellipse(is_circle=True, is_wide=True)
    squashed = image.resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    middle = image.crop(((LONG - SIDE) // 2, 0, (LONG + SIDE) // 2, SIDE))
    features = _features(encoder, [image, squashed, middle])
    distances = np.linalg.norm(features[1:] - features[0], axis=1)
    is_squashed = distances[0] < 0.25 * distances[1]
    texts = {"squashed": "images of 3:1 are squashed to a square", None: "proportions of images of 3:1 are kept"}
    return _line("aspect", "squashed" if is_squashed else None, texts)


def _scale(encoder: Encoder) -> float | None:
    """The share of the resolution of an image of 2,048 px that reaches the features; None if none does."""
    features = _features(encoder, [_grating(8, 0.0), *(_grating(cycles, 1.0) for cycles in CYCLES)])
    distances = np.linalg.norm(features[1:] - features[0], axis=1)
    if not distances[0] > 0:
        return None
    # Beyond the last visible grating only traces of aliasing are left.
    visible = [
        cycles for cycles, distance in zip(CYCLES, distances, strict=True) if distance >= VISIBLE * distances.max()
    ]
    return min(1.0, 2 * max(visible) / CANVAS) if visible else None
