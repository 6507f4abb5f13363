"""Answers of several numbers, which are declared or the only ones in a reply: boxes and colours."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from snellen.core.box_units import BOX_UNITS, BoxUnit, asks_for_fractions, image_size
from snellen.core.item import Box, ReplySpec
from snellen.scoring.answers.grammar import Grammar, Mention
from snellen.scoring.answers.plain import prepare

N = r"([+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,3})?)"
SEP = r"\s{0,9}[,;\s]\s{0,9}"
Colour = tuple[int, int, int]
FARTHEST_FRACTION = 2.0
"""Larger numbers are not fractions of the image, but pixels, percent or thousandths."""
LARGEST = 1e9
"""Larger coordinates are not in any image."""


def _keyed(*names: str) -> str:
    """Pattern of named numbers: "x1": 3, "y1": 4 and so on, or x1=3, y1=4; rows of a table; x1 (left) = 3."""
    named = r"(?:[\"')]|\s?\([\w -]{1,20}\))?\s{0,9}(?:[:=|]|\bis\b)\s{0,9}"
    pairs = (rf"[\"']?\b{name}\b{named}{N}" for name in names)
    return r"\s{0,9}\|?[,;\s]\s{0,9}(?:[-*•|]\s{0,3}|(?:and |the ){1,2})?(?:[^\s\d(]{1,12} ?){0,2}\(?".join(pairs)


def _row(count: int) -> str:
    return SEP.join([N] * count)


PAIR = rf"[\[(]\s{{0,9}}{_row(2)}\s{{0,9}}[\])]"
_WORDS = r"[^\d(\[]{0,40}"
NAMED_CORNERS = re.compile(
    rf"\b(?:top|upper)[- ]left\b{_WORDS}{PAIR}{_WORDS}\b(?:bottom|lower)[- ]right\b{_WORDS}{PAIR}", re.I
)
CORNERS_NAMED_AFTER = rf"{PAIR}{_WORDS}\b(?:top|upper)[- ]left\b{_WORDS}{PAIR}{_WORDS}\b(?:bottom|lower)[- ]right\b"
BOXES = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"\[\s{{0,9}}{_row(4)}\s{{0,9}}\]",
        rf"\(\s{{0,9}}{_row(4)}\s{{0,9}}\)",
        # Two corners; three or more points are a polygon.
        rf"(?<![\])])(?<![\])],)(?<![\])], ){PAIR}\s{{0,9}}(?:,|to|and|-)?\s{{0,9}}{PAIR}(?!\s{{0,9}},?\s{{0,9}}[\[(])",
        NAMED_CORNERS.pattern,
        CORNERS_NAMED_AFTER,
        _keyed("x1", "y1", "x2", "y2"),
        _keyed("x_?min", "y_?min", "x_?max", "y_?max"),
        _keyed("left", "top", "right", "bottom"),
    )
)
COLOURS = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"\[\s{{0,9}}{_row(3)}\s{{0,9}}\]",
        rf"\(\s{{0,9}}{_row(3)}\s{{0,9}}\)",
        _keyed("r(?:ed)?", "(?:g(?:reen)?|v)", "b(?:lue)?"),
    )
)
BARE = re.compile(rf"(?<![\w.+-]){N}(?:{SEP}{N})*(?![\w%])".replace("([", "(?:["))
OTHER_SYSTEM = re.compile(r"(?i)\b(?:hs[lvbi]|hsluv|cie\w*|lab|lch|xyz|yuv|cmyk?|bgr)\W{0,3}$")
HEX = re.compile(r"(?<![\w&])(?:(?:#|0x)([0-9a-f]{6})|#([0-9a-f]{3}))(?!\w)", re.I)
BARE_HEX = re.compile(r"(?=[0-9a-f]*\d|[0-9A-F]+$)(?=\d*[a-fA-F])[0-9a-fA-F]{6}")
"""Six hexadecimal digits without a mark: digits alone may be a number, small letters alone a word ("facade")."""
PERCENT = r"(\d{1,3}(?:\.\d{0,40})?)\s?%"
PERCENTAGES = re.compile(rf"rgba?\(\s{{0,9}}{PERCENT}{SEP}{PERCENT}{SEP}{PERCENT}\s{{0,9}}\)", re.I)
RGBA = re.compile(rf"rgba?\(\s{{0,9}}{_row(3)}\s{{0,9}}[,/\s]\s{{0,9}}(\d{{0,9}}\.?\d{{1,9}}%?)\s{{0,9}}\)", re.I)
UNIT_FLOATS = re.compile(rf"[\[(]\s{{0,9}}{SEP.join([r'(?:0?[.][0-9]{1,40}|[01](?:[.]0{0,40})?)'] * 3)}\s{{0,9}}[\])]")
OPAQUE = frozenset(("1", "1.0", "100%"))


class Boxes(Grammar):
    """[x1, y1, x2, y2] in the numbers of the reply. A box with exchanged corners is invalid."""

    reaches_on = counts = True

    def alone(self, passage: str) -> Box | None:
        """The box of two named corners, one per line; `mentions` reads every other box."""
        match = NAMED_CORNERS.fullmatch(passage)
        return _box(match.groups()) if match else None

    def mentions(self, passage: str, declared: bool) -> list[Mention]:
        """Every set of four numbers in the passage: bracketed or named ones if there are any, else bare ones."""
        return _mentions(passage, BOXES, 4, _box)


class Colours(Grammar):
    """(red, green, blue), whole numbers 0..255."""

    reaches_on = counts = True

    def alone(self, passage: str) -> Colour | None:
        """The colour of six hexadecimal digits without a mark, which count only alone; `mentions` reads the rest."""
        code = passage.strip(" \t\n\"'()[].,:;!")
        return _from_hex(code) if BARE_HEX.fullmatch(code) else None

    def mentions(self, passage: str, declared: bool) -> list[Mention]:
        """Every #rrggbb, #rgb, rgba(...) and rgb of percentages, and every set of three numbers in the passage."""
        coded = [Mention(*match.span(), _from_hex(match[1] or match[2])) for match in HEX.finditer(passage)]
        coded += [Mention(*match.span(), _percentages(match.groups())) for match in PERCENTAGES.finditer(passage)]
        coded += [Mention(*match.span(), _opaque(match.groups())) for match in RGBA.finditer(passage)]
        mentions = _mentions(passage, COLOURS, 0 if coded else 3, _colour)
        mentions = [
            mention
            for mention in mentions
            if not OTHER_SYSTEM.search(passage[max(0, mention.start - 12) : mention.start])
        ]
        return sorted(coded + mentions, key=lambda mention: mention.start)


def _mentions(
    passage: str,
    patterns: tuple[re.Pattern[str], ...],
    bare: int,
    value: Callable[[tuple[str, ...]], tuple[float, ...] | None],
) -> list[Mention]:
    """The mentions of all patterns in order; if there are none, rows of exactly `bare` numbers."""
    mentions = [
        Mention(*match.span(), value(match.groups())) for pattern in patterns for match in pattern.finditer(passage)
    ]
    if not mentions and bare:
        rows = ((match, tuple(re.findall(N, match[0]))) for match in BARE.finditer(passage))
        mentions = [Mention(*match.span(), value(numbers)) for match, numbers in rows if len(numbers) == bare]
    return sorted(mentions, key=lambda mention: mention.start)


LOCATION_TOKENS = re.compile(r"<loc_?(\d{1,4})>" * 4)
POINTS = re.compile(
    r"<points?\s+"
    + r"\s+".join(rf"{name}\s?=\s?[\"']?(\d{{1,9}}(?:\.\d{{0,9}})?)[\"']?" for name in ("x1", "y1", "x2", "y2"))
    + r"(?!\s+x3)[^<>]{0,300}>"
)


def numbers_written_out(text: str) -> str:
    """The text with tokens of locations, and two points as corners, as [x1, y1, x2, y2]: markup is not read."""
    if "<" not in text:
        return text
    return POINTS.sub(r"[\1, \2, \3, \4] ", LOCATION_TOKENS.sub(r"[\1, \2, \3, \4] ", text))


def corner_numbers(text: str) -> tuple[float, ...] | None:
    """The numbers of the last set of four, even if they are not a valid box."""
    sets = _mentions(text, BOXES, 4, lambda numbers: tuple(map(float, numbers)))
    return sets[-1].value if sets else None


def _box(numbers: tuple[str, ...]) -> Box | None:
    x1, y1, x2, y2 = map(float, numbers)
    within = all(math.isfinite(number) and abs(number) <= LARGEST for number in (x1, y1, x2, y2))
    return (x1, y1, x2, y2) if within and x1 <= x2 and y1 <= y2 else None


def _colour(numbers: tuple[str, ...]) -> Colour | None:
    numbers = (*numbers[:2], numbers[2].removesuffix("."))  # of the sentence
    if not all(re.fullmatch(r"\d{1,3}", number) and int(number) <= 255 for number in numbers):
        return None
    red, green, blue = map(int, numbers)
    return red, green, blue


def _from_hex(code: str) -> Colour:
    if len(code) == 3:
        code = "".join(2 * digit for digit in code)
    return int(code[:2], 16), int(code[2:4], 16), int(code[4:], 16)


def _percentages(numbers: tuple[str, ...]) -> Colour | None:
    """The colour from percentages of 255, with halves rounded up as in CSS."""
    shares = [float(number) for number in numbers]
    if max(shares) > 100:
        return None
    red, green, blue = (math.floor(share * 255 / 100 + 0.5) for share in shares)
    return red, green, blue


def _opaque(numbers: tuple[str, ...]) -> Colour | None:
    """An opaque colour; for others the colour on the screen is unknown."""
    return _colour(numbers[:3]) if numbers[3] in OPAQUE else None


# Names of the forms of boxes and colours in replies, to count how models follow the requested form


PERCENT_BOX = re.compile(SEP.join([PERCENT] * 4))
CORNER_AND_SIZE = re.compile(r"(?i)\b(?:width|height|w|h)\b[\"']?\s?[:=]")
POINT = re.compile(r"<points?\b")
TOLERANCE = 0.03
"""Share of the image's side by which a box may extend beyond it."""
COLOUR_FORMS = (
    ("hex", re.compile(r"(?i)(?<![\w&])#[0-9a-f]{6}(?!\w)")),
    ("hex", re.compile(r"(?i)(?<!\w)0x[0-9a-f]{6}(?!\w)")),
    ("short hex", re.compile(r"(?i)(?<![\w&])#[0-9a-f]{3}(?!\w)")),
    ("percentages", PERCENTAGES),
    ("rgba", RGBA),
    ("other colour system", re.compile(r"(?i)\b(?:hs[lvb]a?|hwb|lab|lch|cmyk)\s?\(")),
    ("unit floats", UNIT_FLOATS),
)


def box_form(text: str, spec: ReplySpec) -> str:
    """The units, or another form, of the last box in a reply that is not read; empty if there is none."""
    plain = prepare(numbers_written_out(text)).text
    if PERCENT_BOX.search(plain):
        return "percent"
    corners = corner_numbers(plain)
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
    mentions = Colours().mentions(text, False)
    if not mentions and re.search(rf"(?<!\w){BARE_HEX.pattern}(?!\w)", text):
        return "bare hex"
    named = ((match.start(), name) for name, form in COLOUR_FORMS if (match := form.search(text)))
    name = min(named, default=(0, ""))[1]
    # (1, 0, 1) may be shares or whole numbers; it is read as whole numbers.
    return "" if name == "unit floats" and mentions[0].value is not None else name
