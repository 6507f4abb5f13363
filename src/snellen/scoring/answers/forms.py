"""Names of the forms of boxes and colours in replies, to count how models follow the requested form."""

from __future__ import annotations

import re

from snellen.core.box_units import BOX_UNITS, BoxUnit, asks_for_fractions, image_size
from snellen.core.item import ReplySpec
from snellen.scoring.answers import shapes
from snellen.scoring.answers.plain import prepare

PERCENT_BOX = re.compile(shapes.SEP.join([rf"{shapes.PERCENT}"] * 4))
CORNER_AND_SIZE = re.compile(r"(?i)\b(?:width|height|w|h)\b[\"']?\s?[:=]")
POINT = re.compile(r"<points?\b")
TOLERANCE = 0.03
"""Share of the image's side by which a box may extend beyond it."""
COLOUR_FORMS = (
    ("hex", re.compile(r"(?i)(?<![\w&])#[0-9a-f]{6}(?!\w)")),
    ("hex", re.compile(r"(?i)(?<!\w)0x[0-9a-f]{6}(?!\w)")),
    ("short hex", re.compile(r"(?i)(?<![\w&])#[0-9a-f]{3}(?!\w)")),
    ("percentages", shapes.PERCENTAGES),
    ("rgba", shapes.RGBA),
    ("other colour system", re.compile(r"(?i)\b(?:hs[lvb]a?|hwb|lab|lch|cmyk)\s?\(")),
    ("unit floats", shapes.UNIT_FLOATS),
)


def box_form(text: str, spec: ReplySpec) -> str:
    """The units, or another form, of the last box in a reply that is not read; empty if there is none."""
    plain = prepare(shapes.numbers_written_out(text)).text
    if PERCENT_BOX.search(plain):
        return "percent"
    corners = shapes.corner_numbers(plain)
    if corners is None:
        return "corner and size" if CORNER_AND_SIZE.search(plain) else "point" if POINT.search(text) else ""
    x1, y1, x2, y2 = corners
    if x2 < x1 or y2 < y1:
        return "corners exchanged"
    if not asks_for_fractions(spec):
        return "fractions" if spec.unit and max(map(abs, corners)) <= 1 else ""
    size = image_size(spec)

    def is_within(candidate: BoxUnit) -> bool:
        right, bottom = (edge * (1 + TOLERANCE) for edge in candidate.edges(size))
        return x1 >= 0 and y1 >= 0 and x2 <= right and y2 <= bottom

    # The numbers do not show the order of the sides.
    units = [unit for unit in BOX_UNITS.values() if not unit.y_first and is_within(unit)]
    return " or ".join(unit.name for unit in sorted(units, key=lambda unit: unit.edges(size)))


def colour_form(text: str) -> str:
    """The name of the first form in the text other than three whole numbers; empty if there is none."""
    mentions = shapes.Colours().mentions(text, False)
    if not mentions and re.search(rf"(?<!\w){shapes.BARE_HEX.pattern}(?!\w)", text):
        return "bare hex"
    named = ((match.start(), name) for name, form in COLOUR_FORMS if (match := form.search(text)))
    name = min(named, default=(0, ""))[1]
    # (1, 0, 1) may be shares or whole numbers; it is read as whole numbers.
    return "" if name == "unit floats" and mentions[0].value is not None else name
