"""Making foreign text (replies, error messages, names in files) safe to keep and print."""

from __future__ import annotations

import json
import os
import re
import shutil
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, TextIO
from urllib.parse import quote

_ALLOWED = "\n\t"
_COMMANDS = "Next: ", "Try it: "
"""Beginnings of lines that offer a command."""
_CONTROLS = {
    code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in _ALLOWED
}  # C0, DEL, C1: terminals act on them
_REORDERING = {code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
_CONTROL = re.compile(f"[{''.join(map(re.escape, map(chr, _CONTROLS)))}]")
_UNPRINTED = re.compile(f"{_CONTROL.pattern}|[{''.join(map(chr, _REORDERING))}]")
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|_PWD|CREDENTIAL|SIGNATURE|_(PASS|PAT|AUTH|DSN|SAS)$")
_MIN_SECRET = 8
"""Characters; shorter environment values may be ordinary words."""
MIN_KEY = 20
"""Characters of a value that is taken out of replies, too: a shorter one may be an answer."""
_REDACTED = "[redacted]"
_SECRETS = re.compile(
    r"""
    \b(?:sk|pk|rk|glpat|nvapi|xai|pplx|csk|tvly|xox[abeoprs]|xapp)-[\w-]{8,}
    | \b(?:[spr]k_live|[spr]k_test|hf|gh[oprsu]|github_pat|gsk|dop_v1)_\w{8,} | \b(?:r8|fw|npm)_\w{16,}
    | \bAIza[\w-]{20,} | \bya29\.[\w-]{8,} | \bSG\.[\w-]{8,}[\w.-]* | \bA[KS]IA[0-9A-Z]{12,}
    | \bBasic\s+(?=\S*[A-Z0-9=])[\w+/]{8,}=*
    | \beyJ[\w-]{8,}(?:\.[\w-]*){1,2}                           # JSON web tokens, also cut
    | (?<=://)[^/\s:@]+:[^/\s@]+(?=@)                            # user:password@host
    """,
    re.VERBOSE,
)
_NAMED_SECRET = re.compile(
    r"""(\bbearer\s+|(?<![a-z])(?:(?:api|access|auth|client|id|refresh|secret|session)[-_ ]?)?"""
    r"""(?:key|token|password|passwd|pwd|secret|credential|signature|sig|authorization)"""
    r"""["']?\s*[=:]\s*["']?)(?!(?:bearer|basic)\s|\d+\b)[^\s"'&,;]{6,}""",
    re.IGNORECASE,
)


def encodable(text: Any) -> Any:
    """A text with lone surrogates escaped, which UTF-8 cannot encode and no table holds; anything else unchanged."""
    return text.encode("utf-8", "backslashreplace").decode() if isinstance(text, str) else text


def printable(text: str) -> str:
    r"""The text with control characters, marks that reorder text and surrogates escaped (ESC as `\x1b`)."""
    text = encodable(text)
    return text.translate(_CONTROLS | _REORDERING) if _UNPRINTED.search(text) else text


def control_character(text: str) -> str | None:
    """The first control character other than line feed and tab, escaped; None if there is none."""
    match = _CONTROL.search(text)
    return _CONTROLS[ord(match.group())] if match else None


_BORDERS = re.compile('([;\t|"])')
"""Characters at which some settings of spreadsheets begin a new cell."""
_LINE_AS_FORMULA = re.compile(r"\n(?=[=@])")
"""The beginning of a line that would be a formula; lists begin with + or -, and stay."""


def no_formula(cell: Any) -> Any:
    """The cell of a CSV, with an apostrophe before text that a spreadsheet would run as a formula.

    Numbers are unchanged, also those written as text. Carriage returns become line breaks: the csv module does not
    quote them, and readers begin a new row there. A formula after a semicolon, tab, bar or quotation mark gets an
    apostrophe, too.
    """
    if not isinstance(cell, str):
        return cell
    cell = _LINE_AS_FORMULA.sub("\n'", cell.replace("\r\n", "\n").replace("\r", "\n"))
    if cell[:1] in ("\t", "\n") and len(cell) > 1:
        return f"'{cell}"
    if _BORDERS.search(cell) is None:
        return _defused(cell)
    return "".join(map(_defused, _BORDERS.split(cell)))


def _defused(text: str) -> str:
    """The text, with an apostrophe before it if it begins as a formula and is no number."""
    formula = text.lstrip(" \n")
    if len(formula) < 2 or formula[0] not in "=+-@":
        return text
    try:
        float(formula)
    except ValueError:
        return f"{text[: len(text) - len(formula)]}'{formula}"
    return text


class PlainStream:
    """A text stream, such as standard output, that escapes control characters.

    On a terminal, long lines are broken between words, except those that offer a command to copy. Code that draws with
    control characters (colours, bars) writes to `stream` and checks its texts itself.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write the text with control characters escaped; returns the length of `text`."""
        written = printable(text)
        if self.stream.isatty():
            columns = shutil.get_terminal_size().columns
            written = "\n".join(_broken(line, columns) for line in written.split("\n"))
        self.stream.write(written)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each line."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def _broken(line: str, columns: int) -> str:
    """A line broken between words, if it is longer than the terminal is wide and is text."""
    if len(line) <= columns or line.startswith(("{", *_COMMANDS)):
        return line
    return textwrap.fill(line, columns, break_long_words=False, break_on_hyphens=False)


def unfiltered(stream: Any) -> Any:
    """The stream behind a PlainStream; any other stream unchanged."""
    return stream.stream if isinstance(stream, PlainStream) else stream


def redacted(text: str, environment: Mapping[str, str] | None = None) -> str:
    """The text without keys and tokens: values of variables with such names, and texts in the form of known keys.

    A value is found as it is and as in addresses and JSON; the name of an existing folder is none.
    """
    text = without_secrets(text, secret_texts(os.environ if environment is None else environment))
    return _NAMED_SECRET.sub(rf"\g<1>{_REDACTED}", _SECRETS.sub(_REDACTED, text))


def secret_texts(variables: Mapping[str, str], least: int = _MIN_SECRET) -> list[str]:
    """The values of variables with names of secrets, of at least so many characters, in the forms of `redacted`."""
    secrets = {
        form
        for name, value in variables.items()
        if _SECRET_NAME.search(name.upper()) and len(value.strip()) >= least
        if not os.path.isdir(value)  # noqa: PTH112  # raises nothing for a long value
        for line in (value.strip(), " ".join(value.split()))
        for form in (line, quote(line), quote(line, safe=""), json.dumps(line)[1:-1])
    }
    return sorted(secrets, key=len, reverse=True)


def without_secrets(text: str, secrets: Sequence[str]) -> str:
    """The text with `[redacted]` in place of each of these."""
    return reduce(lambda rest, secret: rest.replace(secret, _REDACTED), secrets, text)


def short_reason(text: str, max_characters: int = 400) -> str:
    """An error text as it is stored: one line, printable, without keys, at most `max_characters` long."""
    line = printable(redacted(" ".join(text.split())[: 4 * max_characters]))
    return line if len(line) <= max_characters else line[: max_characters - 1] + "…"


def short_line(text: str, max_characters: int = 300) -> str:
    """One line of at most so many characters; of a longer one the middle is left out, as the end has the remedy."""
    far = 4 * max_characters  # a text of megabytes is cut before it is split
    line = " ".join((text if len(text) <= 2 * far else f"{text[:far]} … {text[-far:]}").split())
    if len(line) <= max_characters:
        return line
    end = max_characters // 4
    return f"{line[: max_characters - end - 3]} … {line[-end:]}"
