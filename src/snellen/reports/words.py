"""Formats of numbers and foreign texts on a page."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Literal, TypeAlias

from snellen.analysis.grading import states
from snellen.analysis.grading.rows import Grade, ResultRow
from snellen.analysis.tables.plots import without_middle
from snellen.core.item import Item
from snellen.core.score import ABOVE, BELOW, MEASURED, NOT_UNDERSTOOD, Metric

Colour: TypeAlias = Literal["below", "same", "part", "above", "none"]
DASH = "–"
BEYOND, HARDLY = "beyond guessing", "hardly beyond guessing"
"""What a first page says of a grade: *some* or better, and *none*."""
TEXTS = {
    (states.NO_BETTER, states.THUMBNAIL): "no better than a thumbnail",
    (states.THRESHOLD, MEASURED): "threshold",
    (states.THRESHOLD, BELOW): "below the smallest level",
    (states.THRESHOLD, ABOVE): "above the largest level",
    (states.THRESHOLD, NOT_UNDERSTOOD): NOT_UNDERSTOOD,
    (states.UNREADABLE, states.WORDS): states.UNREADABLE,
    (states.UNREADABLE, states.UNIT): "boxes in another unit",
    (states.DECLINED, states.ALL): states.DECLINED,
    (states.DECLINED, states.IN_PART): "partly declined",
    (states.FAILED, states.ALL): states.FAILED,
    (states.FAILED, states.IN_PART): "partly failed",
    (states.NOT_ASKED, states.UNJUDGED): states.UNJUDGED,
    (states.NOT_ASKED, states.NEVER): states.NOT_ASKED,
}
"""Texts of states with their reasons, if they are not `state: reason`."""
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def amount(value: float, metric: Metric, n: int = 0, unit: bool = True) -> str:
    """A score with its unit, or in percent: then with a decimal only if there are enough scored units `n`."""
    if math.isnan(value):
        return DASH
    if metric.share:
        return f"{100 * value:.{int(n >= 200)}f}" + " %" * unit
    number = "0" if value == 0 else f"{value:#.{3 if abs(value) >= 1 else 2}g}".rstrip(".")
    return f"{number}{'' if metric.unit in ('', '°') else ' '}{metric.unit}" if unit else number


def grade_text(grade: Grade) -> str:
    """A grade, or the state in its place with its reason."""
    return label_text(grade.label)


def label_text(label: str) -> str:
    """The text of a `Grade.label`."""
    state, _, reason = label.partition(": ")
    text = f"{state} {reason}" if state == states.NO_BETTER else label
    return TEXTS.get((state, reason), text)


def first_text(grade: Grade) -> str:
    """What a first page says of a grade, or the state in its place."""
    return grade_text(grade) if not grade.word else HARDLY if grade.word == "none" else BEYOND


def colour(grade: Grade) -> Colour:
    """The colour of a cell on every page, as a class of the style sheets."""
    if not grade.word:
        return "none" if grade.state == states.NOT_ASKED else "same"
    return "below" if grade.word == "none" else "part" if grade.word == "some" else "above"


def value_words(row: ResultRow, metric: Metric) -> str:
    """The value of a row of results as text; an estimate beyond the levels as a bound."""
    sign = {BELOW: "< ", ABOVE: "> "}.get(row.grade.reason, "")
    return sign + amount(row.value, metric, row.n)


def span(low: float, high: float, metric: Metric, n: int = 0) -> str:
    """An interval as `[low, high]`; empty if there is none."""
    if math.isnan(low) or math.isnan(high):
        return ""
    return f"[{amount(low, metric, n, False)}, {amount(high, metric, n, False)}]"


def difference(value: float, metric: Metric, n: int = 0) -> str:
    """A difference of two scores without its sign, in points or in the metric's own unit."""
    text = amount(abs(value), metric, n, not metric.share)
    return f"{text} {'point' if text == '1' else 'points'}" if metric.share else text


def probability(p: float) -> str:
    """A p value as text; a dash if there is none."""
    if math.isnan(p):
        return DASH
    return "< 0.001" if p < 0.001 else f"{p:.2g}"


def rate(share: float) -> str:
    """A small share in percent that is never rounded to nothing."""
    return "< 1 %" if 0 < share < 0.01 else f"{100 * share:.0f} %"


def unread_notes(row: ResultRow, metric: Metric) -> list[str]:
    """The rates of replies that were unreadable and cut off, with the score of the others; empty if all were read."""
    rates = (("no answer", row.no_answer_rate), ("cut off", row.cut_off_rate))
    notes = [f"{name} {rate(share)}" for name, share in rates if share > 0]
    if notes and not math.isnan(row.value_answered):
        notes.append(f"of what was read {amount(row.value_answered, metric, row.n)}")
    return notes


def foreign(text: str, limit: int = 300) -> str:
    """A text from outside, cut to `limit`, with hidden and direction-changing characters made visible.

    The page also escapes it.
    """
    cut = text[:limit]
    escaped = _HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", cut)
    return escaped if len(text) <= limit else f"{escaped} … ({len(text):,} characters)"


def brief(name: str, room: int) -> str:
    """A name without its middle if it is too long, since names differ at their ends."""
    return without_middle(foreign(name, 400), room)


def answer_words(item: Item, answer: Any) -> str:
    """An answer in the item's own terms as text: an option by its text, numbers with four digits."""
    if answer is None:
        return ""
    for option in item.options:
        if option.key == answer:
            return foreign(option.text or option.key, 80)
    if isinstance(answer, list) and all(isinstance(number, int | float) for number in answer):
        return f"[{', '.join(f'{number:.4g}' if abs(number) < 1e4 else f'{number:.0f}' for number in answer)}]"
    return foreign(answer if isinstance(answer, str) else json.dumps(answer), 80)


def slug(text: str) -> str:
    """A text as part of a file name."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"
