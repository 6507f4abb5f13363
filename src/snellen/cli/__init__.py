"""The command line: thin commands over `snellen.exam`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run a command. Exit codes: 0 done, 1 some items failed, 2 bad input (one clear line), 130 stopped by the user."""
    from snellen.core.errors import SnellenError

    try:
        from snellen.cli.app import app

        app(standalone_mode=True)
    except SnellenError as error:
        print(f"snellen: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("snellen: stopped; the same command goes on from here", file=sys.stderr)
        sys.exit(130)
