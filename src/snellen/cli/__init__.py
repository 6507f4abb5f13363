"""The command line: thin commands over `snellen.exam`."""

from __future__ import annotations

import functools
import gc
import os
import re
import signal
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from types import FrameType

GARBAGE_THRESHOLDS = (50_000, 20, 20)
"""New objects before garbage collection: imports and items create many that stay, and hardly any cycles."""


FORMER = {
    "estimate": "`snellen build SUITE --plan` prints images, time and disk space, and `snellen run` calls, tokens and "
    "cost before it asks a paid model",
    "quiz": "`snellen study build ITEMSET --design check-keys` asks you in a browser; `snellen study import` prints "
    "how often your answers agree with the keys",
    "contamination": "`snellen diff PUBLIC_RUN SEALED_RUN` compares runs about two sets of one recipe",
    "archive": "`snellen report RUN…` makes one report on all runs, and results.csv has their numbers",
    "compare": "`snellen diff BEFORE AFTER` compares runs, subjects and logs of other tools",
    "import": "`snellen run ITEMSET --subject recorded:LOG --out RUN` makes a run of Inspect's logs",
}
"""Commands that do not exist, most of them of version 0.1, with what to do instead."""


def main() -> None:
    """Run a command.

    Exit codes: 0 done, 1 some items failed or were not asked, 2 bad input (one clear line), 3 an internal error (one
    line, and a file to send), 4 a drop (`diff --fail-on drop`), 130 and 143 stopped by SIGINT (Ctrl-C) and SIGTERM.
    """
    from snellen.cli.output import plain_streams

    gc.set_threshold(*GARBAGE_THRESHOLDS)
    if sys.stdout is None or sys.stderr is None:  # then Python's next file, such as a table, would get its number
        print("snellen: a standard stream is closed; send it to /dev/null", file=sys.stderr or sys.stdout)
        sys.exit(2)
    with plain_streams():
        _run_command()


def _run_command() -> None:
    from snellen.cli.faults import one_line_errors
    from snellen.cli.output import print_json, stopped_fields
    from snellen.core.errors import Interrupted, SeveralProblems, SnellenError
    from snellen.core.plain_text import redacted, short_line

    def interrupt(signal_number: int, stack_frame: FrameType | None) -> None:
        raise Interrupted(signal_number)

    is_main = threading.current_thread() is threading.main_thread()  # only this thread handles signals
    signals = (signal.SIGINT, signal.SIGTERM) if is_main else ()
    former = {number: signal.signal(number, interrupt) for number in signals}
    try:
        if advice := FORMER.get(" ".join(sys.argv[1:2])):
            raise SnellenError(f"`snellen {sys.argv[1]}` does not exist: {advice}")
        if empty := [word for word in sys.argv[1:] if not word or re.fullmatch("--[a-z-]+=", word)]:
            shown = f": {empty[0]}" if empty[0] else ""
            raise SnellenError(f"an argument is empty{shown}; leave it out, or fill it in")
        with one_line_errors():
            [word.encode() for word in sys.argv]  # a name that is not UTF-8 is refused before the work
            _command()(standalone_mode=True, prog_name="snellen")
    except SnellenError as error:
        text = f"snellen: {redacted(str(error))}"
        lines = text.splitlines() if isinstance(error, SeveralProblems) else [text]
        print("\n".join(map(short_line, lines)), file=sys.stderr)
        sys.exit(2)
    except Interrupted as stop:
        if "--json" in sys.argv:
            print_json(stopped_fields(stop))
        print(f"snellen: {stop}", file=sys.stderr)
        _exit(stop.exit_code)
    except SystemExit as end:
        if end.code in (130, 143):
            _exit(end.code)
        raise
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


@functools.cache
def _command() -> Callable[..., object]:
    """All commands, assembled once per process, since some hundred parameters have to be inspected."""
    from typer.main import get_command

    from snellen.cli.app import app

    return get_command(app)


def _exit(code: int) -> None:
    """End without waiting for threads with hanging calls."""
    if all(thread.daemon or thread is threading.main_thread() for thread in threading.enumerate()):
        sys.exit(code)
    sys.stdout.flush()
    sys.stderr.flush()
    if "multiprocessing.synchronize" in sys.modules:  # whose semaphores would be reported as leaked
        import_module("multiprocessing.util")._run_finalizers(0)
    os._exit(code)
