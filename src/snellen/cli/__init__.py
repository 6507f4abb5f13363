"""The command line: thin commands over `snellen.exam`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run a command.

    Exit codes: 0 done, 1 some items failed, 2 bad input (one clear line), 3 a fault of the program (one line, and a
    file to send), 130 stopped by the user.
    """
    from snellen.cli.faults import one_line_errors
    from snellen.core.errors import SnellenError
    from snellen.core.plain_text import printable, redacted

    try:
        with one_line_errors():
            from snellen.cli.app import app

            app(standalone_mode=True)
    except SnellenError as error:
        print(f"snellen: {printable(redacted(str(error)))}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("snellen: stopped; the same command goes on from here", file=sys.stderr)
        sys.exit(130)
