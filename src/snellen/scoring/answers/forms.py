"""Names of the forms of boxes and colours in replies, to count how models follow the requested form."""

from __future__ import annotations

import re

from snellen.core.item import Affine
from snellen.scoring.answers import shapes

PERCENT_BOX = re.compile(shapes.SEP.join([rf"{shapes.PERCENT}"] * 4))
CORNER_AND_SIZE = re.compile(r"(?i)\b(?:width|height|w|h)\b[\"']?\s?[:=]")
LARGEST_PERCENT = 100
COLOUR_FORMS = (
    ("hex", re.compile(r"(?i)(?<![\w&])#[0-9a-f]{6}(?!\w)")),
    ("hex", re.compile(r"(?i)(?<!\w)0x[0-9a-f]{6}(?!\w)")),
    ("short hex", re.compile(r"(?i)(?<![\w&])#[0-9a-f]{3}(?!\w)")),
    ("percentages", shapes.PERCENTAGES),
    ("rgba", shapes.RGBA),
    ("other colour system", re.compile(r"(?i)\b(?:hs[lvb]a?|hwb|lab|lch|cmyk)\s?\(")),
    ("unit floats", shapes.UNIT_FLOATS),
)


def box_form(text: str, frame: Affine | None) -> str:
    """The deviation of the last set of four numbers from the box asked for; empty if there is none."""
    if PERCENT_BOX.search(text):
        return "percent"
    corners = shapes.corner_numbers(text)
    if corners is None:
        return "corner and size" if CORNER_AND_SIZE.search(text) else ""
    x1, y1, x2, y2 = corners
    forms = []
    if shapes.asks_for_shares(frame) and max(map(abs, corners)) > shapes.FARTHEST_SHARE:
        forms.append("pixels" if max(map(abs, corners)) > LARGEST_PERCENT else "pixels or percent")
    if x2 < x1 or y2 < y1:
        forms.append("corners exchanged")
    return ", ".join(forms)


def colour_form(text: str) -> str:
    """The name of the first form in the text other than three whole numbers; empty if there is none."""
    mentions = shapes.Colours().mentions(text, False)
    if not mentions and re.search(rf"(?<!\w){shapes.BARE_HEX.pattern}(?!\w)", text):
        return "bare hex"
    named = ((match.start(), name) for name, form in COLOUR_FORMS if (match := form.search(text)))
    name = min(named, default=(0, ""))[1]
    # (1, 0, 1) may be shares or whole numbers; it is read as whole numbers.
    return "" if name == "unit floats" and mentions[0].value is not None else name
