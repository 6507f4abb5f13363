"""The part of a reply that was complete before the token limit cut it off."""

from __future__ import annotations

import re

END = re.compile(r"[.!?][\"'”’)\]*_`]{0,4}(?=\s)|[。！？\n}\]]|</\w{1,20}>")
"""The end of a sentence, a line, a bracket or a tag. A full stop at the very end may be a decimal point."""


def finished(text: str) -> str:
    """The text up to the last sentence, line, bracket or tag that ended."""
    ends = [match.end() for match in END.finditer(text)]
    return text[: ends[-1]] if ends else ""
