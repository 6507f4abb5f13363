"""Lists written as text, and options that a question lists itself."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from snellen.core.storage.user_files import bounded_list, bounded_literal

FORMS = (
    re.compile(r"^[ \t]{0,8}[(\[]?([A-Za-z])[)\].:][ \t]{1,4}(?=\S)", re.MULTILINE),
    re.compile(r"\(([A-Za-z])\)[ \t]{0,4}(?=\S)"),
    re.compile(r"(?<![\w(.])([A-Z])[.):][ \t]{1,4}(?=\S)"),
)
"""The beginning of an option in a question: on its own line, `(a)`, and `A.` or `A)` within a line."""

LABEL = re.compile(r"[(\[]?(?:([A-Za-z])(?:[)\].:]{1,2}|、)\s{0,4}|(\d{1,2})[)\].:]{1,2}\s{1,4})(?=\S)")
"""The label of an option within its text: `A.`, `(A)`, `A:`, or `1.` before a space."""
_NO_COMMA = re.compile(r"['\"]\s+['\"]")  # as NumPy writes lists; Python reads one text


def without_labels(options: list[str]) -> list[str]:
    """The texts of options without labels of their own, if all have one, from A, a, 0 or 1 on; else as they are."""
    matches = [match for text in options if (match := LABEL.match(text))]
    labels = [ord(match[1]) if match[1] else int(match[2]) for match in matches]
    is_run = len(labels) > 1 and labels == list(range(labels[0], labels[0] + len(options)))
    if not is_run or labels[0] not in (0, 1, ord("A"), ord("a")):
        return options
    return [text[match.end() :] for text, match in zip(options, matches, strict=True)]


def as_list(text: str) -> list[Any] | None:
    """The list that a text is, in JSON or as Python writes it; None if it is none."""
    for read in (bounded_list, bounded_literal):
        try:
            value = read(text)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(value, list | tuple) and (read is bounded_list or not _NO_COMMA.search(text)):
            return list(value)
    return None


@lru_cache(maxsize=1 << 12)
def options_in(question: str) -> tuple[tuple[str, str], ...]:
    """The options (letter as written, text) that a question lists from A or a on; empty if it lists none.

    The last list counts. It begins at the start of a line or after a sentence or a colon, so that "(a) in (b)" is none.
    An option ends at the next one or at the end of its line.
    """
    for form in FORMS:
        run: list[re.Match[str]] = []
        for match in form.finditer(question):
            if run and ord(match[1]) == ord(run[-1][1]) + 1:
                run.append(match)
            elif match[1] in "Aa":
                run = [match]
        ends = [*(match.start() for match in run[1:]), len(question)]
        texts = [
            question[match.end() : end].split("\n")[0].strip(" \t,;") for match, end in zip(run, ends, strict=False)
        ]
        before = question[: run[0].start()].rstrip(" \t") if run else ""
        if len(run) > 1 and all(texts) and (not before or before[-1] in "?!.:\n"):
            return tuple((match[1], text) for match, text in zip(run, texts, strict=True))
    return ()
