"""The numbers printed in the ComBo paper, as data with table and row. Fractions 0 to 1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from snellen.core.suite import printed_number

COUNTS = {"pattern-perception": 5000, "abstraction-alignment": 240, "category-building": 400}
"""Table 1: questions a task; 240 are 120 of either type."""
OBJECTS, VIEWS, RENDERED_IMAGES = 9504, 20, 190_080
"""Section 3.1."""
MATERIALS, COLOURED_MATERIALS, COLOURS = 4, 2, 5
"""Materials of a primitive (section 3.1), those of them that come in colours, and how many colours there are."""
SHAPES, SECOND_PIVOTS = 5, 1
"""Shapes of a primitive, and those that can be attached in a second way: the cone alone (appendix B.1)."""
QUESTION_TYPES, QUESTIONS_A_TYPE = 2, 120
"""Abstraction Alignment (section 3.2): Img2Text and Text2Img."""
CATEGORIES, OTHER_CATEGORIES = 24, 23
"""Natural categories, and those of them that an image's distractors come from (appendix B.3)."""
PATTERN_QUESTIONS, PATTERNS = 7, 8
"""Questions on an object in the text; patterns with the pivot in the appendix (D.3)."""
CATEGORY_IMAGES, IMAGES, PATTERN_QUERIES = (4, 4, 1), 9, 72
"""Category Building (D.3): images of either category and the query, all of them, and queries of single patterns."""
MODELS_OF_A_KIND = 2
"""Models of either branch, closed and open source, in Table 2 (section 5)."""
GENERAL_PERCENT = 90
"""What Gemini and GPT-4V "generally" pass in primary shape and both colours (section 4.2)."""
DIFFICULTY_AGREEMENT, COMPARISONS, RATERS = 0.954, 40, 8
"""Appendix C.3: agreement of the distance with 8 people over 40 comparisons."""

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
            yield printed_number(
                "pattern-perception", "accuracy", subject, value / 100, "Table 2", factor="question", level=question
            )
    for subject, levels in TABLE_4.items():
        for level, value in zip(TABLE_4_LEVELS, levels, strict=True):
            yield printed_number(
                "category-building", "accuracy", subject, value, "Table 4", factor="difficulty", level=level
            )
