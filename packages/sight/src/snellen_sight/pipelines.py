"""What providers document about the size of images, with source and date of reading."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Pipeline:
    """A documented change of size: `scale` is that of a square image with this side in pixels."""

    name: str
    source: str
    scale: Callable[[int], float]


def _long_edge(limit: int) -> Callable[[int], float]:
    return lambda side: min(1.0, limit / side)


PIPELINES = (
    Pipeline("no resizing up to 2,048 px", "", lambda side: 1.0),
    Pipeline(
        "a long edge of 1,568 px (Claude)",
        "https://platform.claude.com/docs/en/build-with-claude/vision, read in November 2026",
        _long_edge(1568),
    ),
    Pipeline(
        "1,568 patches of 28 px (Claude)",
        "https://platform.claude.com/docs/en/build-with-claude/vision, read in November 2026",
        _long_edge(1108),
    ),
    Pipeline(
        "a short side of 768 px (GPT-4o and others of OpenAI)",
        "https://developers.openai.com/api/docs/guides/images-vision, read in November 2026",
        _long_edge(768),
    ),
    Pipeline(
        "1,536 patches of 32 px (GPT-4.1 mini and others of OpenAI)",
        "https://developers.openai.com/api/docs/guides/images-vision, read in November 2026",
        _long_edge(1248),
    ),
)
