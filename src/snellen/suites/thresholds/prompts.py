"""The wordings of thresholds: a question states the task, the possible answers and the form of the reply."""

from __future__ import annotations

from snellen.core.box_units import FRACTIONS
from snellen.core.condition import Condition
from snellen.core.item import View
from snellen.presentation.box_units import UNIT_WORDS
from snellen.suites.thresholds.measures import MEASURES
from snellen.suites.thresholds.measures.measure import PLACES

SHORT_JUDGEMENTS = {
    "touching": "Do the two circles touch or overlap? Reply with yes or no.",
    "same-length": "Is the upright bar shorter than the level bar? Reply with yes or no.",
}
SHORT_ODD = "Which of the nine patches is odd? Reply with its number, 1 to 9."
SHORT_GAP = "In which direction is the gap of the ring? Reply with one of: {answers}."
SHORT_MIDDLE_GAP = "In which direction is the gap of the middle ring? Reply with one of: {answers}."
SHORT_DISC, POINT = "Where is the middle of the disc?", "Reply with {pair} alone, each {unit}."
MINIMAL = "{answers}?"
"""In place of the question at `prompt=short` and `prompt=minimal`."""


def _pointed(view: View, condition: Condition) -> str:
    """The question for a point, in the unit of its reply."""
    name, y_first, _ = view.reply.unit.partition("-y-first")
    pair = "[y, x]" if y_first else "[x, y]"
    if condition["prompt"] == "minimal":
        return f"{pair} of the disc?"
    form = POINT.format(pair=pair, unit=UNIT_WORDS[name or FRACTIONS])
    return f"{view.question if condition['prompt'] == 'full' else SHORT_DISC} {form}"


def words(view: View, condition: Condition) -> str:
    """The question of a view under a condition."""
    if view.reply.kind == "point":
        return _pointed(view, condition)
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
