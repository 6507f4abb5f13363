"""Printing by commands."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast

from snellen.core.plain_text import PlainStream, printable, unfiltered

if TYPE_CHECKING:
    from rich.console import Console


def console(width: int = 120, *, fixed: bool = False) -> Console:
    """A console on standard output with colours, which escapes control characters in texts.

    It is as wide as the terminal or COLUMNS; pipes and files get `width`, and with `fixed` terminals too.
    """
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class PlainConsole(Console):
        """A console whose texts are printable."""

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(printable(segment.text), segment.style)

    has_width = not fixed and (sys.stdout.isatty() or "COLUMNS" in os.environ)
    # ":m:" in a subject's name is no emoji.
    return PlainConsole(file=unfiltered(sys.stdout), width=None if has_width else width, emoji=False)


@contextmanager
def plain_streams() -> Iterator[None]:
    """Escape control characters on standard output and standard error within the block."""
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, PlainStream(stream)) for stream in streams)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def print_json(content: Any) -> None:
    """Print one JSON object on one line."""
    print(json.dumps(content, default=int))


def print_fields(fields: Mapping[str, Any], as_json: bool) -> None:
    """Print one line per field, and one per element of a list; or one JSON object."""
    if as_json:
        print_json(fields)
        return
    for name, content in fields.items():
        for line in content if isinstance(content, list) else [content]:
            print(f"{name}: {json.dumps(line) if isinstance(line, dict) else line}")


def stopped_fields(stop: BaseException) -> dict[str, str]:
    """The output of `--json` about a command that was stopped: what is kept, and the command that goes on."""
    return {"stopped": str(stop), "next": shlex.join(["snellen", *sys.argv[1:]])}
