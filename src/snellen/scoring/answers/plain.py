"""Normalises replies: removes thoughts, markup, LaTeX and typographic variants, and marks declared answers."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any, NamedTuple

from snellen.scoring.answers.cues import CUES
from snellen.scoring.answers.vocabulary import ANSWER_KEY

OPEN, CLOSE = "\ue000", "\ue001"
"""Private characters around an answer that a reply marks by a tag, a box or a JSON key."""
LONGEST = 16_000
"""In a longer reply only the end is read, and only for an explicit declaration."""
UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""Scripts without spaces between words, or with endings attached to them."""
MANY_MARKS = re.compile(r"([\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u064b-\u065f\u3099\u309a]{8})[\u0300-\u309a]{8,}")


# JSON between prose and code fences, in time proportional to the text


OPENING = re.compile(r"\[(?=\s{0,99}[\[\]{\"\d\-tfn])|\{(?=\s{0,99}[\"}])")
"""A bracket that may begin JSON, by the characters that follow it, unlike brackets of prose and LaTeX."""
MAX_BROKEN_BRACKETS = 300
"""Failed brackets after which the search ends: each failure costs a pass over all the text before it."""


def _reject(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


DECODER = json.JSONDecoder(parse_constant=_reject)


def json_values(text: str) -> list[tuple[int, int, Any]]:
    """(start, end, value) of every well-formed outermost list or object; none if too many brackets are not JSON."""
    values, broken, position = list[tuple[int, int, Any]](), 0, 0
    while (opening := OPENING.search(text, position)) and broken <= MAX_BROKEN_BRACKETS:
        try:
            value, position = DECODER.raw_decode(text, opening.start())
            values.append((opening.start(), position, value))
        except (ValueError, RecursionError):
            # ValueError: not JSON, or a number with more digits than Python reads.
            broken, position = broken + 1, opening.end()
    return values if broken <= MAX_BROKEN_BRACKETS else []


def read_json_objects(text: str) -> list[Any] | dict[str, Any] | None:
    """The last well-formed JSON list or object of a reply, which may have prose and fences around it, or None.

    Broken JSON is not repaired; if an outer value is broken (for example cut off), complete values inside it are found.
    """
    values = json_values(text)
    return values[-1][2] if values else None


class Prepared(NamedTuple):
    """A reply ready to be read. `cut`: the reply was too long and only its end is here."""

    text: str
    cut: bool


def without_thoughts(text: str) -> str:
    """The text after the reasoning; of reasoning that never ends, the text before it."""
    if not text.startswith("analysis") and not any(mark in text for mark in ("<", "◁", "THINK]")):
        return text
    ends = [match.end() for match in CUES["thought_end"].finditer(text)]
    rest = text[ends[-1] :] if ends else text
    start = CUES["thought_start"].search(rest)
    return rest[: start.start()] if start else rest


def _only_reply(text: str) -> str:
    """The reply itself: what is before a next turn, without calls of tools and code."""
    text = CUES["opened"].sub("", text)
    turn = next((match for match in CUES["next_turn"].finditer(text) if text[: match.start()].strip()), None)
    text = text[: turn.start() + (turn[0][0] not in "<[")] if turn else text
    may_call = any(mark in text for mark in ("(", "[", "<", "```", "Action"))
    for call in ("call", "code_block", "code_line") if may_call else ():
        text = CUES[call].sub(lambda match: match[0] if CUES["submits"].search(match[0]) else " ", text)
    return text


def prepare(text: str) -> Prepared:
    """The reply in the form that grammars read."""
    reply = without_thoughts(text.replace(OPEN, " ").replace(CLOSE, " ")).strip()
    cut = len(reply) > LONGEST
    plainly = flat(_mark_tags(_mark_json(_only_reply(reply[-LONGEST:]))))
    # Most replies have none of the signs of a remark on how sure they are.
    is_sure = any(sign in plainly for sign in ("onfiden", "ONFIDEN", "ertain", "ERTAIN", "%"))
    return Prepared((CUES["confidence"].sub("", plainly) if is_sure else plainly).strip(), cut)


def _mark_json(text: str) -> str:
    """{"answer": "B"} becomes a marked B."""
    parts, position = [], 0
    for start, end, value in json_values(text):
        if isinstance(value, dict) and (answer := _json_answer(value)) is not None:
            parts += [text[position:start], f" {OPEN}{answer}{CLOSE} "]
            position = end
    return "".join(parts) + text[position:]


def _json_answer(value: dict[str, Any]) -> str | None:
    """The values of an object under keys that mean an answer; None without such keys. A call of a tool is empty."""
    if {"arguments", "parameters", "args", "input", "tool_input", "action_input"} & value.keys():
        return None if CUES["submits"].search(json.dumps(value)) else ""
    values = [answer for key, answer in value.items() if ANSWER_KEY.fullmatch(key)]
    return ", ".join(str(answer) for answer in values if answer is not None) if values else None


TAGS = (
    re.compile(r"<(?:final_?)?ans(?:wer)?>([^<]*)(?:</?(?:final_?)?ans(?:wer)?>)?", re.I),
    re.compile(r"<\|begin_of_box\|>([^<]*)<\|end_of_box\|>"),
    re.compile(r"\\boxed\s?\{((?:[^{}]|\{[^{}]*\})*)\}"),
)


def _mark_tags(text: str) -> str:
    r"""<answer>B</answer> and \boxed{B} become a marked B."""
    for tag in TAGS:
        text = tag.sub(lambda match: f" {OPEN}{match[1]}{CLOSE} " if match[1].strip() else " ", text)
    return text


def _variants() -> dict[int, str | None]:
    """Variants of ASCII characters, with the characters they stand for."""
    table: dict[int, str | None] = {}
    for first, last in ((0xFF01, 0xFF5E), (0x2460, 0x2468), (0x24B6, 0x24E9), (0x1D400, 0x1D7FF)):
        for code in range(first, last + 1):
            if len(same := unicodedata.normalize("NFKC", chr(code))) == 1 and same.isascii():
                table[code] = same
    table |= {0x1F170 + index: chr(ord("A") + index) for index in range(26)}  # letters in dark squares
    invisible = (0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), 0x2060, 0xFE0E, 0xFE0F, 0xFEFF)
    table |= dict.fromkeys(invisible)
    table |= dict.fromkeys((*range(0x2010, 0x2014), 0x2212), "-")
    table |= {0x2014: " - ", 0x2015: " - ", 0x3002: ". ", 0x3001: ", ", 0: " ", 0x2028: "\n", 0x2029: "\n"}
    table |= dict.fromkeys(map(ord, "‘’‚‛´′"), "'")
    table |= dict.fromkeys(map(ord, "“”„‟″«»「」『』"), '"')
    return table | dict.fromkeys(map(ord, "【〔［"), "[") | dict.fromkeys(map(ord, "】〕］"), "]")


VARIANTS = _variants()
MARKUP = (
    ("\r", re.compile(r"\r\n?"), "\n"),
    ("~~", re.compile(r"~~[^~\n]*~~"), " "),
    ("<", re.compile(r"<!--.{0,999}?-->|<(del|strike)>[^<>\n]*</\1>", re.I), " "),
    ("\\", re.compile(r"\\(?:text\w{0,2}|math\w{2}|operatorname)\s?\{([^{}\n]*)\}"), r"\1"),
    ("", re.compile(r"\\[()\[\]]|\\?\$"), ""),
    ("\\", re.compile(r"\\[,;! ]"), " "),
    ("\\", re.compile(r"\\([_*#%&{}])"), r"\1"),
    ("<", re.compile(r"<\|[^|<>\n]{0,60}\|>|</?s>|<eos>|<end_of_turn>"), " "),
    ("<", re.compile(r"<([a-z])>([^<>\n]*)</\1>", re.I), r"\2"),
    ("<", re.compile(r"</?[a-z][\w:-]{1,40}(?:\s[^<>\n=]{0,40}=[^<>\n]{0,200})?\s?/?>", re.I), " "),
    # A star between digits is a product, not emphasis.
    ("", re.compile(r"(?<![\d*])\*+|\*+(?![\d*])|`+"), ""),
    ("_", re.compile(r"(?<!\w)(_{1,3})(?=[^\s_])([^_\n]+)\1(?!\w)"), r"\2"),
    # Single spaces, which are most matches of spaces, stay as they are.
    ("", re.compile(r"[^\S\n ][^\S\n]*| [^\S\n]+"), " "),
)
"""Patterns, what each stands for, and a sign without which a text has none of them."""


_SAFE = r"[A-Za-z0-9.,:;!?'\"()\[\]&#%/+=|^-]+"
FLAT = re.compile(rf"{_SAFE}(?:[ \n]{_SAFE})*")
"""Text that needs no change: most names, and most short replies."""


def flat(text: str) -> str:
    """The text in plain characters, without markup. Used for replies and shown names."""
    return text if FLAT.fullmatch(text) else flattened(text)


def flattened(text: str) -> str:
    """`flat` for a text of any characters."""
    if not text.isascii() or "\0" in text:
        # Ordering combining marks takes quadratic time in their number.
        text = unicodedata.normalize("NFC", MANY_MARKS.sub(r"\1", text)).translate(VARIANTS)
    for sign, pattern, plainly in MARKUP:
        text = pattern.sub(plainly, text) if sign in text else text
    return text.strip()


SPACES = str.maketrans("-_", "  ")
MINUS = re.compile(r"(?<![\w)\]])-(?=\.?\d)")
"""The minus of a number. `lower` turns it into U+2212, which plain text does not contain."""


def lower(text: str) -> str:
    """The text in lower case with hyphens and underscores as spaces, at the same length, so that positions stay."""
    small = text.lower()
    if len(small) != len(text):
        small = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    return (MINUS.sub("\u2212", small) if "-" in small else small).translate(SPACES)
