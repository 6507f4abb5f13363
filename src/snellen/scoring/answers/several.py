"""Replies that name all right options: `A, C`, `A and C`, `["A", "C"]`, one per line, or letters alone (`AC`).

A passage counts only if every part of it is one offered option: the reply itself, what follows its last declaration, or
its last lines. Otherwise there is no answer.
"""

from __future__ import annotations

import re

from snellen.core.item import ReplySpec
from snellen.scoring.answers.cues import CUES
from snellen.scoring.answers.options import Options
from snellen.scoring.answers.plain import CLOSE, OPEN, Prepared

PREFIX = re.compile(
    r"(?:the )?(?:options?|choices|letters?|figures?|images?|both)\s|(?:only|just)\s(?=(?-i:[A-Z])\b)|(?:正确)?选项",
    re.IGNORECASE,
)
BULLET = re.compile(r"^\s*(?:[-*•+]|\d{1,2}[.)])\s+")
SEPARATOR = re.compile(r"\s*(?:[,;/&+]\s*(?:and\s)?|\sand\s(?:also\s)?|以?及|[和与跟]|\n)\s*", re.IGNORECASE)
LETTERS = re.compile(r"[A-Z]{2,26}")
MAX_PASSAGE = 2000
"""Characters of a passage that may be an answer."""


def read_several(reply: Prepared, spec: ReplySpec) -> tuple[str, ...] | None:
    """The sorted keys of the options that a prepared reply gives, or None."""
    options, text = Options.from_spec(spec), reply.text
    if not reply.cut and (keys := _keys(text.strip(f"{OPEN}{CLOSE} \n"), options)):
        return keys
    if declarations := list(CUES["several_declared"].finditer(text)):
        sentence = re.split(r"[.!?\n]", text[: declarations[-1].start()][-MAX_PASSAGE:])[-1].lstrip()
        if CUES["hypothetical"].search(sentence[-40:]) or CUES["condition"].match(sentence):
            return None
        return _declared(text[declarations[-1].end() :].split(CLOSE)[0].strip(), options)
    lines = [line for line in text.split("\n") if line.strip()]
    if reply.cut or len(lines) < 2 or CUES["unsure"].search(text) or _keys(lines[-2], options):
        return None  # the last of several lines with options may be the end of a list
    if BULLET.match(lines[-1]) or PREFIX.match(lines[-1].strip()):
        return None  # a description that was cut off: "Option (c"
    return _keys(lines[-1], options)


def _declared(passage: str, options: Options) -> tuple[str, ...] | None:
    """The keys of the whole passage, of its first paragraph, or of its first line if no list begins there."""
    lines = [line for line in passage.split("\n") if line.strip()]
    second = BULLET.sub("", lines[1])[:MAX_PASSAGE] if len(lines) > 1 else ""
    is_list = any(mention.start < 3 for mention in options.mentions(second, True))
    parts = (passage, passage.split("\n\n")[0], "" if is_list or not lines else lines[0])
    return next(filter(None, (_keys(part, options) for part in parts)), None)


def _keys(passage: str, options: Options) -> tuple[str, ...] | None:
    """The sorted keys if the passage consists of options only, each once or more; else None."""
    passage = PREFIX.sub("", CUES["several_end"].sub("", passage.strip()), count=1).strip(" .[]")
    if not passage or len(passage) > MAX_PASSAGE:
        return None
    if (key := options.alone(passage)) is not None:
        return (key,)
    parts = SEPARATOR.split("\n".join(BULLET.sub("", line) for line in passage.split("\n") if line.strip()))
    if len(parts) == 1 and LETTERS.fullmatch(passage) and list(passage) == sorted(set(passage)):
        parts = list(passage)
    keys = [options.alone(part.strip(" '\"`")) for part in parts]
    return tuple(sorted({key for key in keys if key})) if keys and None not in keys else None
