"""Answers of several numbers, which are declared or the only ones in a reply: boxes and colours."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from snellen.core.box_units import BOX_UNITS, asks_for_fractions, image_size
from snellen.core.item import Box, ReplySpec
from snellen.scoring.answers.grammar import Grammar, Mention
from snellen.scoring.answers.plain import prepare
from snellen.scoring.answers.vocabulary import CENTRE_SIZE, CHANNELS, CORNERS, EDGES, FORMATS

N = r"([+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,3})?)"
SEP = r"\s{0,9}[,;\s]\s{0,9}"
Colour = tuple[int, int, int]
FARTHEST_FRACTION = 2.0
"""Larger numbers are not fractions of the image, but pixels, percent or thousandths."""
LARGEST = 1e9
"""Larger coordinates are not in any image."""
TWO, THREE, FOUR = (SEP.join([N] * count) for count in (2, 3, 4))
PAIR = rf"[\[(]\s{{0,9}}{TWO}\s{{0,9}}[\])]"
_WORDS = r"[^\d(\[]{0,40}"
AND = r"\s{0,9}(?:,|to|and|-)?\s{0,9}"
_FIRST, _LAST = r"\b(?:top|upper)[- _]left\b", r"\b(?:bottom|lower)[- _]right\b"
BOXES = [
    (re.compile(f"(?i){pattern}"), names)
    for pattern, names in (
        (rf"[\[(]\s{{0,9}}{FOUR}\s{{0,9}}[\])]", None),
        # Two corners; three or more points are a polygon.
        (rf"(?<![\])])(?<![\])],)(?<![\])], ){PAIR}{AND}{PAIR}(?!\s{{0,9}},?\s{{0,9}}[\[(])", None),
        (rf"{_FIRST}{_WORDS}{PAIR}{_WORDS}{_LAST}{_WORDS}{PAIR}", None),
        (rf"{PAIR}{_WORDS}{_FIRST}{_WORDS}{PAIR}{_WORDS}{_LAST}", None),
        (rf"\bx\b\D{{0,20}}{N} (?:to|and) {N}\D{{0,20}}?\by\b\D{{0,20}}{N} (?:to|and) {N}", ("x1", "x2", "y1", "y2")),
        (
            rf"\bcent(?:er|re)\W{{0,5}}(?:is |at ){{0,2}}{PAIR}\D{{0,20}}\bsize\D{{0,6}}{N} ?(?:[x×,]|by) ?{N}",
            CENTRE_SIZE,
        ),
    )
]
"""Forms of four numbers and their names; None: in the order stated."""
NAMED_CORNERS = BOXES[2][0]
COLOUR = re.compile(rf"[\[(]\s{{0,9}}{THREE}(?:\s?[,/\s]\s?(?:255|1\.0|1|100%))?\s{{0,9}}[\])]")
"""Three numbers, and a fourth of an opaque colour."""


def _named(names: Mapping[str, str]) -> re.Pattern[str]:
    """Pattern of a named number: "x1": 3, x1 = 3, red 3; a row of a table with one number; x1 (left) = 3."""
    return re.compile(
        rf"(?i)[\"']?(?<![^\W_])(?:{'|'.join(f'(?P<{name}>{words})' for name, words in names.items())})"
        rf"(?:[\"')]|\s?\([\w -]{{1,20}}\))?\s{{0,9}}(?:[:=|]|\bis\b|(?<=\w )(?=\d))\s{{0,9}}(?P<number>{N})"
        r"(?![\w.]*\d|\s?\|\s?[\d.])"
    )


NAMED_SIDE, NAMED_CHANNEL = _named(EDGES), _named(CHANNELS)
BESIDE = re.compile(r"[^\d\[{]{1,40}")
"""Between the named numbers of a set."""
_SIDE = "|".join(f"(?:{words})" for words in EDGES.values())
ORDERED = re.compile(rf"(?i)(?<!\w)(?:{_SIDE})(?:[\s,;/|-]{{1,3}}(?:{_SIDE})){{3}}(?!\w)")
FORMAT = re.compile(rf"(?i)\b(?:{'|'.join(FORMATS)})\b")
SIZED = re.compile(r"(?i)\bwidth\W{1,3}(?:and )?height\b|[\])][^\[(]{0,99}[\[(][\d\s.,-]{0,99}\Z")
"""Sign that a list is no pair of corners, or that another list was broken off."""
BARE = re.compile(rf"(?<![\w.+-]){N}(?:{SEP}{N})*(?![\w%])".replace("([", "(?:["))
OTHER_SYSTEM = re.compile(r"(?i)\b(?:hs[lvbi]|hsluv|cie\w*|lab|lch|xyz|yuv|cmyk?)\W{0,3}$")
BGR = re.compile(r"(?i)\bb\W{0,2}g\W{0,2}r\W{0,5}$")
HEX = re.compile(r"(?<![\w&])(?:(?:#|0x)([0-9a-f]{6})|#([0-9a-f]{3}))(?!\w)", re.I)
BARE_HEX = re.compile(r"(?=[0-9a-f]*\d|[0-9A-F]+$)(?=\d*[a-fA-F])[0-9a-fA-F]{6}")
"""Six hexadecimal digits without a mark: digits alone may be a number, small letters alone a word ("facade")."""
PERCENT = r"(\d{1,3}(?:\.\d{0,40})?)\s?%"
PERCENTAGES = re.compile(rf"rgba?\(\s{{0,9}}{PERCENT}{SEP}{PERCENT}{SEP}{PERCENT}\s{{0,9}}\)", re.I)
RGBA = re.compile(rf"rgba?\(\s{{0,9}}{THREE}\s{{0,9}}[,/\s]\s{{0,9}}(\d{{0,9}}\.?\d{{1,9}}%?)\s{{0,9}}\)", re.I)
UNIT_FLOATS = re.compile(rf"[\[(]\s{{0,9}}{SEP.join([r'(?:0?[.][0-9]{1,40}|[01](?:[.]0{0,40})?)'] * 3)}\s{{0,9}}[\])]")


def stated_order(text: str) -> tuple[str, ...] | None:
    """The sides in the order that the reply states, such as "(x, y, width, height)"; None if it cannot be known."""
    orders: set[tuple[str, ...]] = {FORMATS[match[0].lower()] for match in FORMAT.finditer(text)}
    for match in ORDERED.finditer(text):
        words = re.split(r"[\s,;/|-]+", match[0])
        orders.add(tuple(next(edge for edge in EDGES if re.fullmatch(EDGES[edge], word, re.I)) for word in words))
    if len(orders) > 1 or (not orders and SIZED.search(text)):
        return None
    return orders.pop() if orders else ()


def _corners(numbers: Mapping[str, str]) -> Box | None:
    """x1, y1, x2, y2 of named numbers: of two corners, or of a corner or the centre and a size; None of others."""
    of = {side: float(number) for side, number in numbers.items()}
    if of.keys() >= set(CORNERS):
        return of["x1"], of["y1"], of["x2"], of["y2"]
    for x, y, share in (("x1", "y1", 0.0), ("cx", "cy", 0.5)):
        if of.keys() >= {x, y, "w", "h"}:
            left, top = of[x] - share * of["w"], of[y] - share * of["h"]
            return left, top, left + of["w"], top + of["h"]
    return None


@dataclass(frozen=True)
class Boxes(Grammar):
    """[x1, y1, x2, y2] in the numbers of the reply. A box with exchanged corners is invalid.

    `order` is that of the numbers of a list, if it is stated; None: unknown. With `y_first` the order, if not stated,
    and that of the answer are [y1, x1, y2, x2].
    """

    y_first: bool = False
    order: tuple[str, ...] | None = ()
    reaches_on = counts = True

    def within(self, text: str) -> Boxes:
        """The same with the order that the text states."""
        return replace(self, order=stated_order(text))

    def alone(self, passage: str) -> Box | None:
        """The box of two named corners, one per line; `mentions` reads every other box."""
        match = NAMED_CORNERS.fullmatch(passage)
        return self._checked(self._listed(match.groups())) if match else None

    def mentions(self, passage: str, declared: bool) -> list[Mention]:
        """Every set of four numbers in the passage: bracketed or named ones if there are any, else bare ones."""
        return [replace(mention, value=self._checked(mention.value)) for mention in self.sets(passage)]

    def sets(self, passage: str) -> list[Mention]:
        """The same sets as corners, even if they are no valid box."""
        sets = [Mention(start, end, _corners(named)) for start, end, named in _sets(passage, NAMED_SIDE, _corners)]
        for pattern, names in BOXES:
            sets += [Mention(*match.span(), self._listed(match.groups(), names)) for match in pattern.finditer(passage)]
        return sorted(sets or _bare(passage, 4, self._listed), key=lambda mention: mention.start)

    def _listed(self, numbers: tuple[str, ...], names: tuple[str, ...] | None = None) -> Box | None:
        names = names or self.order or (("y1", "x1", "y2", "x2") if self.y_first else CORNERS)
        return None if self.order is None else _corners(dict(zip(names, numbers, strict=True)))

    def _checked(self, box: Box | None) -> Box | None:
        if box is None or not all(math.isfinite(number) and abs(number) <= LARGEST for number in box):
            return None
        x1, y1, x2, y2 = box
        return None if x2 < x1 or y2 < y1 else (y1, x1, y2, x2) if self.y_first else box


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
        for start, end, numbers in _sets(passage, NAMED_CHANNEL, lambda numbers: len(numbers) == 3):
            coded.append(Mention(start, end, _colour(tuple(numbers[name] for name in CHANNELS))))
        listed = [Mention(*match.span(), _colour(match.groups())) for match in COLOUR.finditer(passage)]
        for mention in listed if coded or listed else _bare(passage, 3, _colour):
            lead = passage[max(0, mention.start - 15) : mention.start]
            value = mention.value[::-1] if mention.value and BGR.search(lead) else mention.value
            coded += [] if OTHER_SYSTEM.search(lead) else [replace(mention, value=value)]
        return sorted(coded, key=lambda mention: mention.start)


def _sets(
    passage: str, pattern: re.Pattern[str], complete: Callable[[Mapping[str, str]], object]
) -> Iterator[tuple[int, int, Mapping[str, str]]]:
    """(start, end, numbers) of every complete set of named numbers, in any order, with no other number between them."""
    numbers, start, end = dict[str, str](), 0, 0
    for match in pattern.finditer(passage):
        name = next(name for name in pattern.groupindex if match[name])
        if name in numbers or not BESIDE.fullmatch(passage, end, match.start()):
            numbers = {}
        start = start if numbers else match.start()
        numbers[name], end = match["number"], match.end()
        if complete(numbers):
            yield start, end, numbers
            numbers = {}


def _bare(passage: str, count: int, value: Callable[[tuple[str, ...]], tuple[float, ...] | None]) -> list[Mention]:
    """Rows of exactly this many numbers, without brackets or names."""
    rows = ((match, tuple(re.findall(N, match[0]))) for match in BARE.finditer(passage))
    return [Mention(*match.span(), value(numbers)) for match, numbers in rows if len(numbers) == count]


LOCATION_TOKENS = re.compile(r"<loc_?(\d{1,4})>" * 4)
DECIMAL_COMMAS = re.compile(r"[\[(](?:\d{1,9},\d{1,9}\s?;\s?){3}\d{1,9},\d{1,9}[\])]")
_AT = r"\s?=\s?[\"']?(\d{1,9}(?:\.\d{0,9})?)[\"']?"
POINTS = re.compile(rf"<points?\s+x1{_AT}\s+y1{_AT}\s+x2{_AT}\s+y2{_AT}(?!\s+x3)[^<>]{{0,300}}>")


def numbers_written_out(text: str, fractions: bool) -> str:
    """The text with tokens of locations, and two points as corners, as [x1, y1, x2, y2]: markup is not read.

    If `fractions` are asked for, percentages are written so.
    """
    text = DECIMAL_COMMAS.sub(lambda match: match[0].replace(",", ".").replace(";", ","), text)
    if fractions and "%" in text:
        text = re.sub(PERCENT, lambda match: f"{float(match[1]) / 100:.9g}", text)
    return POINTS.sub(r"[\1, \2, \3, \4] ", LOCATION_TOKENS.sub(r"[\1, \2, \3, \4] ", text))


def _colour(numbers: tuple[str, ...]) -> Colour | None:
    # A full stop may be that of the sentence.
    if not all(re.fullmatch(r"\d{1,3}\.?", number) and float(number) <= 255 for number in numbers):
        return None
    red, green, blue = (int(float(number)) for number in numbers)
    return red, green, blue


def _from_hex(code: str) -> Colour:
    red, green, blue = bytes.fromhex(code if len(code) == 6 else "".join(2 * digit for digit in code))
    return red, green, blue


def _percentages(numbers: tuple[str, ...]) -> Colour | None:
    """The colour from percentages of 255, with halves rounded up as in CSS."""
    red, green, blue = (math.floor(float(share) * 255 / 100 + 0.5) for share in numbers)
    return (red, green, blue) if max(red, green, blue) <= 255 else None


# Names of the forms of boxes and colours in replies, to count how models follow the requested form


PERCENT_BOX = re.compile(SEP.join([PERCENT] * 4))
CORNER_AND_SIZE = re.compile(r"(?i)\b(?:width|height|w|h)\b[\"']?\s?[:=]")
POINT = re.compile(r"<points?\b")
TOLERANCE = 0.03
"""Share of the image's side by which a box may extend beyond it."""
COLOUR_FORMS = (
    ("hex", re.compile(r"(?i)(?<![\w&])(?:#|0x)[0-9a-f]{6}(?!\w)")),
    ("short hex", re.compile(r"(?i)(?<![\w&])#[0-9a-f]{3}(?!\w)")),
    ("percentages", PERCENTAGES),
    ("rgba", RGBA),
    ("other colour system", re.compile(r"(?i)\b(?:hs[lvb]a?|hwb|lab|lch|cmyk)\s?\(")),
    ("unit floats", UNIT_FLOATS),
)


def box_form(text: str, spec: ReplySpec) -> str:
    """The units, or another form, of the last box in a reply that is not read; empty if there is none."""
    plain = prepare(numbers_written_out(text, False)).text
    if PERCENT_BOX.search(plain):
        return "percent"
    sets = Boxes().within(plain).sets(plain)
    if not sets or (corners := sets[-1].value) is None:
        return "corner and size" if CORNER_AND_SIZE.search(plain) else "point" if POINT.search(text) else ""
    x1, y1, x2, y2 = corners
    if x2 < x1 or y2 < y1:
        return "corners exchanged"
    if not asks_for_fractions(spec):
        return "fractions" if spec.unit and max(map(abs, corners)) <= 1 else ""
    # The numbers do not show the order of the sides.
    units = sorted((unit.edges(image_size(spec)), unit.name) for unit in BOX_UNITS.values() if not unit.y_first)
    least, share = min(x1, y1), 1 + TOLERANCE
    return " or ".join(
        name for (right, bottom), name in units if least >= 0 and x2 <= right * share and y2 <= bottom * share
    )


def colour_form(text: str) -> str:
    """The name of the first form in the text other than three whole numbers; empty if there is none."""
    mentions = Colours().mentions(text, False)
    if not mentions and re.search(rf"(?<!\w){BARE_HEX.pattern}(?!\w)", text):
        return "bare hex"
    named = ((match.start(), name) for name, form in COLOUR_FORMS if (match := form.search(text)))
    name = min(named, default=(0, ""))[1]
    # (1, 0, 1) may be shares or whole numbers; it is read as whole numbers.
    return "" if name == "unit floats" and mentions[0].value is not None else name
