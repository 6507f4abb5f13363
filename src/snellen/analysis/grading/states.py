"""What is stated in place of a grade: seven states, each with its reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from snellen.core.score import ABOVE, BELOW, MEASURED, NOT_UNDERSTOOD

OPEN, NOT_ASKED, DECLINED, FAILED, UNREADABLE, NO_BETTER, THRESHOLD = (
    "open", "not asked", "declined", "failed", "unreadable", "no better than", "threshold",
)  # fmt: skip
TOO_FEW, BOUNDARY, NO_BASELINE, NO_ROOM, SAME_ANSWER = (
    "too few items", "near the boundary", "no baseline", "baseline leaves no room", "always the same answer",
)  # fmt: skip
UNJUDGED, NEVER, ALL, IN_PART, WORDS, UNIT, CUT_OFF = (
    "unjudged", "never asked", "all", "in part", "words", "unit", "cut off",
)  # fmt: skip
THUMBNAIL, BOXES, COLOUR, EQUAL_QUESTIONS = "thumbnail", "boxes only", "named colour", "equal questions"
STATES: Mapping[str, Sequence[str]] = {
    OPEN: (TOO_FEW, BOUNDARY, NO_BASELINE, NO_ROOM, SAME_ANSWER),
    NO_BETTER: (THUMBNAIL, BOXES, COLOUR, EQUAL_QUESTIONS),
    THRESHOLD: (MEASURED, BELOW, ABOVE, NOT_UNDERSTOOD),
    UNREADABLE: (WORDS, UNIT, CUT_OFF),
    DECLINED: (IN_PART, ALL),
    FAILED: (IN_PART, ALL),
    NOT_ASKED: (UNJUDGED, NEVER),
}
"""What is stated in place of a grade, with the reasons for it."""
