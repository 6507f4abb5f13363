"""The unit of an arm's boxes, recognised over all of its replies, never reply by reply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pandas as pd

from snellen.core.box_units import BOX_UNITS

LEAST_SHARE = 0.9
"""Share of the replies that must be a box within the image in a unit for the unit to be recognised."""


def other_unit(forms: Sequence[str], own: str = "") -> str:
    """The unit in which boxes were given instead of the one asked for; empty if there is none.

    `forms` are those of all replies of an arm (`scoring.answers.answer_form`). Of several units in which nearly all
    boxes are within the image it is `own`, the unit of the subject's family, if that is one of them, else the smallest:
    in any larger unit, no box would come near the right or the bottom edge.
    """
    units = [[name for name in form.split(" or ") if name in BOX_UNITS] for form in forms]
    counts = Counter(name for names in units for name in names)
    possible = {name for name, count in counts.items() if count >= LEAST_SHARE * len(forms)}
    if own.removesuffix("-y-first").replace("1024ths", "thousandths") in possible:
        return own
    smallest = Counter(next((name for name in names if name in possible), "") for names in units)
    return smallest.most_common(1)[0][0] if possible else ""


def units_read(forms: Sequence[str], outcomes: Sequence[str]) -> list[str]:
    """The units other than fractions in which boxes were read."""
    pairs = zip(forms, outcomes, strict=True)
    return sorted({form for form, outcome in pairs if outcome == "answered" and form in BOX_UNITS})


def box_units(scores: pd.DataFrame, own: str) -> tuple[str, str]:
    """The unit of boxes not given as asked, and a note on the unit in which they were read; empty if there is none."""
    if "form" not in scores or not scores["form"].any():
        return "", ""
    replies = scores[scores["form"] != ""]
    units = units_read(replies["form"].tolist(), replies["outcome"].tolist())
    unread = replies["form"].where(replies["outcome"] != "answered", "as asked")
    return other_unit(unread.tolist(), own), f"boxes read in {', '.join(units)}" if units else ""
