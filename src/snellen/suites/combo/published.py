"""The numbers printed in the ComBo paper, as data with table and row. Fractions 0 to 1."""

from __future__ import annotations

from collections.abc import Iterator

from snellen.core.printed import PrintedColumn, PrintedTable

PAPER_COMPARISONS = 40
"""Comparisons of pairs of categories per participant (appendix C.3)."""
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
SPHERES = (
    "The paper asked the contact point of spheres too, which have one: a share of s here is (1 + 10 s) / 11 there, if "
    "all shapes are equally frequent."
)


def published() -> Iterator[PrintedTable]:
    """Tables 2 to 4. The values of Table 3, and of people in Figures 6 and 7, are drawn, not printed."""
    questions = [
        PrintedColumn(
            name.replace("-", " "), "pattern-perception", factor="question", level=name, scale=100, decimals=1
        )
        for name in TABLE_2_QUESTIONS
    ]
    cells = {subject: [f"{value:.1f}" for value in row] for subject, row in TABLE_2.items()}
    yield PrintedTable("table-2", "Table 2", tuple(questions), cells, note=SPHERES)
    tasks = [PrintedColumn(name, name.lower(), scale=100, decimals=1) for name in ("Img2Text", "Text2Img")]
    note = "The paper shows the values of models and of people as an image only."
    yield PrintedTable("table-3", "Table 3", tuple(tasks), {}, note=note)
    levels = [PrintedColumn(name, "category-building", factor="difficulty", level=name) for name in TABLE_4_LEVELS]
    cells = {subject: [f"{value:.2f}" for value in row] for subject, row in TABLE_4.items()}
    yield PrintedTable("table-4", "Table 4", tuple(levels), cells)
