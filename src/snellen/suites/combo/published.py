"""The numbers printed in the ComBo paper, as data with table and row. Fractions 0 to 1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from snellen.core.suite import printed_number

TABLE_2_QUESTIONS = (
    "primary-shape",
    "primary-material",
    "primary-colour",
    "secondary-shape",
    "secondary-material",
    "secondary-colour",
    "anchor",
)
TABLE_2 = {
    "LLaVA-v1.5-13B": (55.7, 50.7, 40.6, 48.6, 38.1, 29.5, 47.2),
    "Qwen-VL-Chat": (70.7, 70.2, 65.8, 37.2, 43.1, 25.4, 43.8),
    "GPT-4V": (89.4, 75.8, 94.8, 64.6, 68.4, 87.9, 43.7),
    "Gemini-1.5-Pro": (95.9, 96.0, 99.5, 79.6, 86.6, 94.8, 64.9),
}
"""Percent right, Pattern Perception."""

TABLE_4_LEVELS = ("easy", "medium", "hard", "expert")
TABLE_4 = {
    "LLaVA (instruction-following QA)": (0.48, 0.38, 0.36, 0.26),
    "GPT-4V (instruction-following QA)": (0.98, 0.92, 0.80, 0.72),
    "ResNet-50 (pre-trained, clustering & retrieval)": (0.98, 0.80, 0.70, 0.58),
    "ViT-B/16 (pre-trained, clustering & retrieval)": (1.00, 0.98, 0.86, 0.66),
    "ResNet-50 (fine-tuned, clustering & retrieval)": (1.00, 1.00, 1.00, 0.92),
    "ViT-B/16 (fine-tuned, clustering & retrieval)": (1.00, 1.00, 0.96, 0.94),
    "LLaVA (fine-tuned, instruction-following QA)": (1.00, 1.00, 0.98, 0.92),
}
"""Category Building by difficulty."""


def published() -> Iterator[Mapping[str, Any]]:
    """Every printed number: task, metric, subject, factor, level, value, source.

    Table 3 and Figures 6 and 7 are images.
    """
    for subject, row in TABLE_2.items():
        for question, value in zip(TABLE_2_QUESTIONS, row, strict=True):
            how: dict[str, Any] = {"factor": "question", "level": question, "decimals": 3}
            yield printed_number("pattern-perception", "accuracy", subject, value / 100, "Table 2", **how)
    for subject, levels in TABLE_4.items():
        for level, value in zip(TABLE_4_LEVELS, levels, strict=True):
            how = {"factor": "difficulty", "level": level, "decimals": 2}
            yield printed_number("category-building", "accuracy", subject, value, "Table 4", **how)
