"""Rows of results as lines with a checksum, as the page writes them and all transports keep them."""

from __future__ import annotations

import re
import zlib

from pydantic import ValidationError

from snellen.web.plan import RecordRow

MAX_LINE = 2**20
"""Characters of a row."""
CHECKSUM = re.compile(r',"sum":"([0-9a-f]{8})"\}$')
"""The end of a line: the CRC-32 of the line without it, as UTF-8."""


def line_of(record_row: RecordRow) -> str:
    """A row as a line with its checksum, as the page writes it."""
    text = record_row.model_dump_json()
    return f'{text[:-1]},"sum":"{zlib.crc32(text.encode()):08x}"}}\n'


def parse_line(line: str, needs_checksum: bool = False, max_length: int = MAX_LINE) -> RecordRow | str:
    """The row of a line, or the reason that it is none."""
    if len(line) > max_length:
        return f"The line has more than {max_length} characters."
    line = line.removeprefix("\ufeff")  # which editors put before the first line
    checksum = CHECKSUM.search(line)
    text = f"{line[: checksum.start()]}}}" if checksum else line
    if checksum and zlib.crc32(text.encode("utf-8", "surrogatepass")) != int(checksum[1], 16):
        return "The line was changed: its checksum is that of other content."
    if needs_checksum and not checksum:
        return "The line has no checksum, but others have."
    try:
        return RecordRow.model_validate_json(text)
    except ValidationError:
        return "The line is not a row of results."
