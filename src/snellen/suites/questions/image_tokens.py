"""What an image costs in input tokens, by the rules that providers publish. No call is made."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from snellen.subjects.chat.limits import image_tokens


@dataclass(frozen=True)
class TokenRule:
    """A provider's rule: tokens from width and height in pixels, with its page and the date at which it was read."""

    tokens: Callable[[int, int], int]
    source: str


def _by_area(width: int, height: int) -> int:
    """One token per 750 pixels, after a reduction to at most 1,568 px on the longer side and 1,600 tokens."""
    scale = min(1.0, 1568 / max(width, height))
    return min(1600, math.ceil(width * height * scale**2 / 750))


TOKEN_RULES: Mapping[str, TokenRule] = {
    "Anthropic": TokenRule(_by_area, "Claude documentation, Vision, models with a limit of 1,568 px, read in 2026"),
    "OpenAI": TokenRule(
        partial(image_tokens, "gpt-4o"),
        "OpenAI documentation, Images and vision, gpt-4o with high detail, read in 2026",
    ),
}
"""Newer models of the same provider may have other rules; the number in an answer's usage is what is billed."""


def token_words(width: int, height: int, share: float) -> str:
    """The tokens of an image at a share of its size and at full size, by each rule."""
    small = max(1, round(width * share)), max(1, round(height * share))
    return " or ".join(
        f"{rule.tokens(*small):,} tokens instead of {rule.tokens(width, height):,} by {provider}'s published rule"
        for provider, rule in TOKEN_RULES.items()
    )
