"""The wordings of thresholds: a question states the task, the possible answers and the form of the reply."""

from __future__ import annotations

from snellen.core.condition import Condition
from snellen.core.item import View
from snellen.suites.thresholds.measures import MEASURES
from snellen.suites.thresholds.measures.measure import PLACES

SHORT_JUDGEMENTS = {
    "touching": "Do the two circles touch or overlap? Reply with yes or no.",
    "same-length": "Is the upright bar shorter than the level bar? Reply with yes or no.",
}
SHORT_ODD = "Which of the nine patches is odd? Reply with its number, 1 to 9."
SHORT_GAP = "In which direction is the gap of the ring? Reply with one of: {answers}."
SHORT_MIDDLE_GAP = "In which direction is the gap of the middle ring? Reply with one of: {answers}."
MINIMAL = "{answers}?"
"""In place of the question at `prompt=short` and `prompt=minimal`."""


def words(view: View, condition: Condition) -> str:
    """The question of a view under a condition."""
    if condition["prompt"] == "full":
        return view.question
    measure = MEASURES[view.task]
    answers = ", ".join(measure.answers)
    if condition["prompt"] == "minimal":
        return MINIMAL.format(answers=answers)
    if measure.answers == PLACES:
        return SHORT_ODD
    if measure.is_judgement:
        return SHORT_JUDGEMENTS[measure.task]
    return (SHORT_MIDDLE_GAP if measure.task == "crowded-acuity" else SHORT_GAP).format(answers=answers)
