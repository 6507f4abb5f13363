"""What providers accept in one request, and how many tokens an image costs, each with its published source.

None means that no limit was found; then nothing is checked. MB are 2**20 bytes. Sources were read in November 2026.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TypeAlias

MB = 2**20
IMAGE_TOKENS = 1000
"""A rough estimate of an image's tokens where the rule is unknown."""
VIDEO_TOKENS_PER_S = 263
"""https://ai.google.dev/gemini-api/docs/tokens; a rough estimate for other models."""


@dataclass(frozen=True)
class Limits:
    """Limits of a provider's requests; `source` is where they are published.

    `formats`: files that are sent as stored. `images`: number per request. `image_bytes`: size of an image's file (3/4
    of its base64 text). `image_px`: longest side in pixels; `crowd` is (number, pixels): in requests with more images
    than that, the longest side. `request_bytes`: texts and base64 texts of one request.
    """

    source: str = ""
    formats: frozenset[str] = frozenset({"png", "jpg", "webp", "gif"})
    images: int | None = None
    image_bytes: int | None = None
    image_px: int | None = None
    crowd: tuple[int, int] | None = None
    request_bytes: int | None = None


_OPENAI = "https://developers.openai.com/api/docs/guides/images-vision"
_CLAUDE = "https://platform.claude.com/docs/en/build-with-claude/vision"
_GEMINI = "https://ai.google.dev/gemini-api/docs/image-understanding"
_VERTEX = "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/image-understanding"
_BEDROCK = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html"
_NO_GIF = frozenset({"png", "jpg", "webp"})
_ANTHROPIC = Limits(_CLAUDE, images=600, image_px=8000, crowd=(20, 2000), request_bytes=32 * MB)
LIMITS: dict[str, Limits] = {
    # Until April 2026 the page said 50 MB, now 512 MB; but "Total image size is 50.6MB, which exceeds the allowed limit
    # of 50.0MB" is still what larger requests get: https://github.com/open-webui/open-webui/issues/26967
    "openai": Limits(_OPENAI, images=1500, request_bytes=50 * MB),
    # Per image 10 MB of base64 text, elsewhere 5 MB. Models with a context of 200,000 tokens take 100 images.
    "anthropic": replace(_ANTHROPIC, image_bytes=10 * MB * 3 // 4),
    "anthropic/bedrock": replace(_ANTHROPIC, image_bytes=5 * MB * 3 // 4),
    "anthropic/vertex": replace(_ANTHROPIC, image_bytes=5 * MB * 3 // 4),
    # The size is from https://ai.google.dev/gemini-api/docs/file-input-methods
    "google": Limits(_GEMINI, _NO_GIF, images=3600, request_bytes=100 * MB),
    "google/vertex": Limits(_VERTEX, _NO_GIF, images=3000, image_bytes=7 * MB),
    "bedrock": Limits(_BEDROCK, images=20, image_bytes=15 * MB // 4, image_px=8000),
    "mistral": Limits("https://docs.mistral.ai/capabilities/vision", images=8, image_bytes=10 * MB),
    "groq": Limits("https://console.groq.com/docs/vision", images=5, request_bytes=4 * MB),
    "grok": Limits("https://docs.x.ai/docs/guides/image-understanding", frozenset({"png", "jpg"}), image_bytes=20 * MB),
    "openrouter": Limits("https://openrouter.ai/docs/features/multimodal/images"),
}
"""By the first words of a subject's name after `chat:`; other servers have their own limits, which are unknown."""


def limits_of(model_name: str) -> Limits:
    """The limits of `PROVIDER/MODEL`; unknown ones for other servers."""
    provider, _, rest = model_name.partition("/")
    return LIMITS.get(f"{provider}/{rest.partition('/')[0]}") or LIMITS.get(provider) or Limits()


@dataclass(frozen=True)
class ImageSize:
    """An image as it is sent: bytes of its file, and pixels."""

    bytes: int
    width: int
    height: int


def limit_fault(limits: Limits, sizes: Sequence[ImageSize], text_bytes: int) -> str | None:
    """What a request exceeds, with the numbers, their source and the ways out, or None."""
    count, side = len(sizes), max((max(size.width, size.height) for size in sizes), default=0)
    largest, fewer = max((size.bytes for size in sizes), default=0), "fewer examples (shots=)"
    total = text_bytes + sum(-(-size.bytes // 3) * 4 for size in sizes)
    most_px = limits.crowd[1] if limits.crowd and count > limits.crowd[0] else limits.image_px
    for number, most, unit, content, advice in (
        (count, limits.images, 1, f"{count} images", f"{fewer}, ?max_images={limits.images}"),
        (side, most_px, 1, f"a side of {side} px in {count} images", f"?max_px={most_px}"),
        (largest, limits.image_bytes, MB, f"an image of {largest / MB:.1f} MB", "a smaller ?max_px="),
        (total, limits.request_bytes, MB, f"{total / MB:.1f} MB in {count} images", f"?max_px=, {fewer}"),
    ):
        if most is not None and number > most:
            way_out = f"use {advice}, or another provider"
            return f"{content}, at most {most / unit:g} are accepted ({limits.source}): {way_out}"
    return None


TokenRule: TypeAlias = Callable[[int, int], int]
"""Tokens of an image of (width, height) pixels."""


def _patches(
    px: int, most: int = 10**9, side: int = 10**9, factor: float = 1.0, whole: Callable[[float], int] = math.ceil
) -> TokenRule:
    """A token per square of `px` pixels, in the image shrunk to at most so many of them, and pixels per side."""

    def tokens(width: int, height: int) -> int:
        scale = min(1.0, side / max(width, height), math.sqrt(px * px * most / (width * height)))
        if scale < 1.0:
            scale *= min(max(1, edge * scale // px) * px / (edge * scale) for edge in (width, height))
        counts = [max(1, whole(round(edge * scale) / px)) for edge in (width, height)]
        return round(min(counts[0] * counts[1], most) * factor)

    return tokens


def _tiles(base: int, tile: int) -> TokenRule:
    """A base and a price per tile of 512 px, in the image shrunk to 2048 px and then to a shorter side of 768 px."""

    def tokens(width: int, height: int) -> int:
        scale = min(1.0, 2048 / max(width, height), 768 / min(width, height))
        return base + tile * math.ceil(round(width * scale) / 512) * math.ceil(round(height * scale) / 512)

    return tokens


def _crops(width: int, height: int) -> int:
    """258 tokens per crop, whose side is two thirds of the shorter side, from 256 to 768 px."""
    crop = min(max(256, int(min(width, height) / 1.5)), 768)
    return 258 * (1 if max(width, height) <= 384 else math.ceil(width / crop) * math.ceil(height / crop))


_small = partial(_patches, 32, 1536, 2048)
_RULES: Sequence[tuple[str, TokenRule]] = (
    (r"gpt-4o-mini", _tiles(2833, 5667)),  # this one to gpt-5: _OPENAI
    (r"gpt-(4\.1|5|5\.4)-mini", _small(1.62)),
    (r"gpt-(4\.1|5|5\.4)-nano", _small(2.46)),
    (r"\bo4-mini", _small(1.72)),
    (r"gpt-4(o|\.1|\.5)", _tiles(85, 170)),
    (r"\bo[13]\b", _tiles(75, 150)),
    (r"gpt-5\.[23]|gpt-5(\.1)?-codex-mini", _small()),
    (r"gpt-5\.4", _patches(32, 2500, 2048)),
    (r"gpt-5\.5", _patches(32, 10_000, 6000)),
    (r"gpt-5\.6", _patches(32)),
    (r"gpt-5(?!\.)", _tiles(70, 140)),
    (r"claude-(opus-(4-[78]|5)|sonnet-5|fable|mythos)", _patches(28, 4784, 2576)),  # _CLAUDE
    (r"claude", _patches(28, 1568, 1568)),
    (r"gemini-3", lambda width, height: 1120),  # _VERTEX, at the default resolution
    (r"gemini", _crops),  # _GEMINI
    # https://huggingface.co/Qwen/Qwen2-VL-2B/blob/main/preprocessor_config.json
    (r"qwen2(\.5)?-?vl", _patches(28, 16_384, whole=round)),
    # https://huggingface.co/cdreetz/Qwen3-VL-8B-Instruct/blob/main/preprocessor_config.json (a copy)
    (r"qwen3-?vl", _patches(32, 16_384, whole=round)),
)
"""By an expression found in the model's name, whoever serves it; the first one counts."""


@lru_cache(maxsize=10_000)  # images of a set have few sizes
def image_tokens(model_name: str, width: int, height: int) -> int:
    """Tokens of an image as sent, by the model's published rule; a rough `IMAGE_TOKENS` if it is unknown."""
    rule = next((rule for pattern, rule in _RULES if re.search(pattern, model_name.casefold())), None)
    return IMAGE_TOKENS if rule is None else rule(width, height)
