"""How names of options stand in a text: as lone letters and numbers, as whole words, and in other forms."""

from __future__ import annotations

import re
from collections.abc import Iterator

from snellen.scoring.answers.plain import MINUS, UNSPACED
from snellen.scoring.answers.vocabulary import NUMERALS, ORDINALS

SINGLE = re.compile(rf"(?:(?<=[{UNSPACED}])|(?<!\w))([A-Za-z]|\d{{1,3}})(?=[{UNSPACED}]|\W|$)")
NAMED_AS = re.compile(
    r"(?i)\b(?:option|choice|letter|number|picture|image|photo|candidate|panel|figure|answer) ?[#:]? ?[\"'(\[]?$|#$"
)
NOT_ARTICLE = re.compile(
    rf"(?:$|[\n.,:;!?)\]\"'/&|]| \(\d| ?(?![型形恤字光])[{UNSPACED}]"
    r"| [^\w\s\"'(\[$#]| [A-Z](?![\w'])| (?:because|since|is|was|are|or|and|due|matches|shows|seems|looks|has|given"
    r"|based|as|for|with|but|not|does|doesn't|isn't|over|than|though|although|rather than|instead)\b)"
)
"""Text after a letter that is not an article."""
NO_NAME = re.compile(
    r" (?:[\"'(]|(?:fits|appears|corresponds|represents|depicts|contains|displays|features|belongs|best|most|clearly"
    r"|also|here|to|in|on|by|at|from|would|must|should|can|will|could|alone|only|rather)\b)"
)
"""Other text after a letter of an option that is not part of a name like "T shape"."""
A_THING = re.compile(r"\b(?:an?|[Vv]itamin|Mrs?\.?|Dr\.?|[Pp]lan|[Gg]rade) $")
"""Text before a letter that names a thing: "the shape of a C"."""
WORDLIKE = frozenset("aeiouy")
"""Letters that are words in some language: 'a', 'I', Spanish 'o' and 'y', Italian 'e'."""
SIGNS_BEFORE = ("-", "°", "$", "+", "∠", "△", "⊙", "√", "∥", "⊥")
"""Signs that belong to the letter or number after them: a temperature, a sum, the name of an angle."""
CAPITAL = re.compile(r" [A-Z]")
SPACELESS = re.compile(f"[{UNSPACED}]")
_NUMERAL = rf"(?:the |image )?(?:\d|{'|'.join(ORDINALS)})"
LIST_BEFORE = re.compile(rf"{_NUMERAL}(?:st|nd|rd|th)? ?(?:,|and|&|, ?and) ?(?:the )?$")
LIST_AFTER = re.compile(rf" ?(?:,|and|&|, ?and) ?{_NUMERAL}")
NUMBERED = re.compile(r"[1-9](?:(?:, | and |, and )[1-9]){1,8}")
"""A name that is a list of numbers, of images: "1 and 3", for which also "first and third" counts."""
GROUP = re.compile(rf"{_NUMERAL}(?:st|nd|rd|th)?(?:,| and )")
RANGE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) (\d{1,9}(?:\.\d{1,9})?)(?: (?:m|meters|metres))?")
"""A range in the search form of names, in which a hyphen is a space."""


def variants(name: str) -> Iterator[str]:
    """Other forms of a text: "3 to 4" and "between 3 and 4" for "3-4"; "first and third" for "1 and 3"."""
    if match := RANGE.fullmatch(name):
        yield from (f"{match[1]} to {match[2]}", f"between {match[1]} and {match[2]}")
    if NUMBERED.fullmatch(name):
        yield from (re.sub(",? and ", joint, name) for joint in (", ", ","))
        for numerals in NUMERALS:
            yield "".join(numerals[int(char) - 1] if char.isdigit() else char for char in name)


def is_whole_word(passage: str, start: int, end: int) -> bool:
    """True if passage[start:end] is not part of a longer word, number, compound or list of numbers."""
    before, after = passage[start - 1 : start], passage[end : end + 1]
    group = GROUP.match(passage[start:end].lower())
    if (group or passage[start].isdigit()) and LIST_BEFORE.search(passage[max(0, start - 20) : start].lower()):
        return False
    if (group or passage[end - 1].isdigit()) and LIST_AFTER.match(passage[end : end + 30].lower()):
        return False
    if passage[start].isdigit() and MINUS.match(passage, start - 1):
        return False
    return not (
        _binds(passage[start], before, passage[start - 2 : start - 1] if start > 1 else "", ".,")
        or _binds(passage[end - 1], after, passage[end + 1 : end + 2], ".,'")
    )


def _binds(edge: str, near: str, far: str, links: str) -> bool:
    """True if the characters beyond an edge belong to the same word."""
    if not near:
        return False
    if near.isalnum() or near == "_":
        # A Latin word inside Chinese is a word; a Chinese one inside Chinese may be part of another.
        if not edge.isalnum():
            return False
        return bool(SPACELESS.match(edge)) or not SPACELESS.match(near)
    if near == "-":
        return far.isalnum() or (edge.isdigit() and not far.isspace())
    if near in links:
        return (far.isdigit() and edge.isdigit()) or (near == "'" and far.isalpha())
    return False


def is_label(passage: str, start: int, end: int, declared: bool) -> bool | None:
    """True if a lone letter or number is meant as the label of an option; None if that cannot be known.

    "B red", "I choose A ...": a label or an article, a label or the name of a thing.
    """
    name, before, after = passage[start:end], passage[max(0, start - 12) : start], passage[end : end + 12]
    if _belongs_to_more(before, after):
        return False
    bracketed = (after[:1] == ")" and not before[-1:].isalnum()) or (before[-1:] == "[" and after[:1] == "]")
    apart = bool(NOT_ARTICLE.match(after))
    if bracketed or (NAMED_AS.search(before) and (apart or (name.isupper() and name != "A"))):
        return True
    if name.isdigit():
        opens = not before.strip(" ") or before.rstrip(" ").endswith("\n")
        return apart and (declared or (opens and after[:1] in (".", ":")))
    if A_THING.search(before):
        return False
    if name.lower() in WORDLIKE:
        # A capital within a sentence is not an article either, unless all are capitals.
        within = before[-1:] == " " and before[-2:-1].isalnum() and not CAPITAL.match(after)
        meant = (apart and declared) or ((apart or within) and name in "AEOUY")
        return meant or (None if declared and name == "A" else False)
    meant = declared or (name.isupper() and (apart or bool(NO_NAME.match(after))))
    return meant or (None if name.isupper() else False)


def _belongs_to_more(before: str, after: str) -> bool:
    """True if a lone letter or number is part of something: "C'est", "T-shirt", "U.S.A.", "37 °C", "f(b)", "4.5"."""
    near, far = after[:1], after[1:2]
    if before[-1:] in SIGNS_BEFORE or (before[-1:] in ("'", ".", ",") and before[-2:-1].isalnum()):
        return True
    if near in ("+", "#", "%", "°") or (near in ("'", "-", ".", ",") and far.isalnum() and not SPACELESS.match(far)):
        return True
    return (near == ")" or before[-1:] == "(") and before.rstrip("(")[-1:].isalnum()
