"""Printed numbers of ComBo recomputed from others: counts, steps of accuracies, and claims about all of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from snellen.suites.combo.published import TABLE_2, TABLE_2_QUESTIONS, TABLE_4, TABLE_4_LEVELS
from tests.published.derived import DerivedNumber, PrintedNumber, Underivable, by_subject, count_row, nearest_share

COUNTS = {"pattern-perception": 5000, "abstraction-alignment": 240, "category-building": 400}
"""Table 1: questions per task; 240 are 120 of either type."""
OBJECTS, VIEWS, RENDERED_IMAGES = 9504, 20, 190_080
"""Section 3.1."""
MATERIALS, COLOURED_MATERIALS, COLOURS = 4, 2, 5
"""Materials of a primitive (section 3.1), the coloured ones, and the number of colours."""
SHAPES, SECOND_PIVOTS = 5, 1
"""Shapes of a primitive, and those that can be attached in a second way: only the cone (appendix B.1)."""
QUESTION_TYPES, QUESTIONS_PER_TYPE = 2, 120
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
"""The value that Gemini and GPT-4V "generally" pass in primary shape and both colours (section 4.2)."""
DIFFICULTY_AGREEMENT, COMPARISONS, RATERS = 0.954, 40, 8
"""Appendix C.3: agreement of the distance with 8 people over 40 comparisons."""


CLOSED = ("GPT-4V", "Gemini-1.5-Pro")
FINE_TUNED = tuple(name for name in TABLE_4 if "fine-tuned" in name)
MAX_QUESTIONS = 100
"""The largest number of questions per level tried for the steps of Table 4: two decimals resolve no more."""


def _counts() -> Iterator[PrintedNumber]:
    coloured = COLOURED_MATERIALS
    finishes = coloured * COLOURS + MATERIALS - coloured
    unit = finishes**2 * (SHAPES + SECOND_PIVOTS)
    yield DerivedNumber(
        "section 3.1",
        "Objects: a multiple of 12 x 12 finishes and 6 pivots (anchors are drawn: 11)",
        OBJECTS,
        unit * round(OBJECTS / unit),
    )
    yield DerivedNumber("section 3.1", "Images: objects x views", RENDERED_IMAGES, OBJECTS * VIEWS)
    yield DerivedNumber(
        "Table 1",
        "Abstraction Alignment: types x questions",
        COUNTS["abstraction-alignment"],
        QUESTION_TYPES * QUESTIONS_PER_TYPE,
    )
    yield DerivedNumber(
        "Table 1",
        "Category Building: questions that the steps of Table 4 fit",
        COUNTS["category-building"],
        len(TABLE_4_LEVELS) * _questions_per_level(),
        known_reason="all 28 values are even hundredths, as of 50 questions per level; of 100 some would be odd",
    )
    yield DerivedNumber("appendix B.3", "Remaining categories", OTHER_CATEGORIES, CATEGORIES - 1)
    yield DerivedNumber(
        "section 3.2", "Questions on an object: columns of Table 2", PATTERN_QUESTIONS, len(TABLE_2_QUESTIONS)
    )
    yield DerivedNumber("appendix D.3", "Patterns: the questions and the pivot", PATTERNS, PATTERN_QUESTIONS + 1)
    yield DerivedNumber("appendix D.3", "Images of a question: 4 + 4 + 1", IMAGES, sum(CATEGORY_IMAGES))
    yield DerivedNumber("appendix D.3", "Queries: patterns x images", PATTERN_QUERIES, PATTERNS * IMAGES)
    kinds = {"closed": CLOSED, "open": tuple(name for name in TABLE_2 if name not in CLOSED)}
    yield from by_subject(
        "section 5",
        "Models of a branch: rows of Table 2",
        dict.fromkeys(kinds, MODELS_OF_A_KIND),
        {kind: len(names) for kind, names in kinds.items()},
    )


def _questions_per_level() -> int:
    """The fewest questions per level of which every value of Table 4 is a share."""
    shares = [round(100 * value) for row in TABLE_4.values() for value in row]
    return next(
        count
        for count in range(1, MAX_QUESTIONS + 1)
        if all(nearest_share(share, count, 2) == share for share in shares)
    )


def _agreement() -> Iterator[PrintedNumber]:
    votes = COMPARISONS * RATERS
    agreement = 100 * DIFFICULTY_AGREEMENT
    for units, unit in ((COMPARISONS, "comparisons"), (votes, "votes")):
        yield DerivedNumber(
            "appendix C.3",
            f"Agreement with the distance (%): a share of {units} {unit}",
            round(agreement, 1),
            nearest_share(agreement, units, 1),
            1,
            known_reason="no share of either; how votes were aggregated is not said",
        )


def _claims() -> Iterator[PrintedNumber]:
    columns = dict(zip(TABLE_2_QUESTIONS, zip(*TABLE_2.values(), strict=True), strict=True))
    rows = {name: dict(zip(columns, row, strict=True)) for name, row in TABLE_2.items()}
    gemini = rows["Gemini-1.5-Pro"]
    yield count_row(
        "section 4.2", "Gemini best in all metrics of Table 2", [gemini[name] == max(columns[name]) for name in columns]
    )
    yield count_row(
        "section 4.2",
        "Secondary below primary primitive, all models and patterns",
        [
            row[f"secondary-{pattern}"] < row[f"primary-{pattern}"]
            for row in rows.values()
            for pattern in ("shape", "material", "colour")
        ],
    )
    yield count_row(
        "section 4.2",
        f"Over {GENERAL_PERCENT} %: Gemini and GPT-4V in primary shape, both colours",
        [
            rows[name][question] > GENERAL_PERCENT
            for name in CLOSED
            for question in ("primary-shape", "primary-colour", "secondary-colour")
        ],
        '"generally": GPT-4V has 89.4 in shape and 87.9 in the secondary colour',
    )
    models = [row for name, row in TABLE_4.items() if name.endswith("(instruction-following QA)")]
    yield count_row(
        "section 4.2",
        "Steps of difficulty at which LMMs of Table 4 decline",
        [b < a for row in models for a, b in pairwise(row)],
    )
    (model,) = (row for name, row in TABLE_4.items() if name.startswith("GPT-4V"))
    yield count_row(
        "appendix E",
        "Fine-tuned models above GPT-4V, all levels of Table 4",
        [value > other for name in FINE_TUNED for value, other in zip(TABLE_4[name], model, strict=True)],
    )


def _underivable() -> Iterator[PrintedNumber]:
    why = "nothing of the benchmark was released"
    yield Underivable("Table 2", "Accuracies in Pattern Perception", sum(map(len, TABLE_2.values())), why)
    yield Underivable("Table 4", "Accuracies in Category Building", sum(map(len, TABLE_4.values())), why)
    yield Underivable("Table 3, Figures 6, 7", "Alignment, in-context learning, people", 0, "drawn, not printed")
    yield Underivable(
        "appendix E", "33,656 descriptions, 40,000 questions for fine-tuning", 2, "no construction is printed"
    )


def derived_numbers() -> Iterator[PrintedNumber]:
    """Every number of the paper that follows from others, then those that follow from nothing printed."""
    for part in (_counts, _agreement, _claims, _underivable):
        yield from part()
