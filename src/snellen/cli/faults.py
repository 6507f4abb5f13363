"""No command ends in a traceback: an error that nobody expected is one line, and a file to send."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

EXIT_CODE = 3
"""Of a command that ended by a fault of the program."""
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system says where a disk, a share of it or a file is full; it does not name the file when one is written."""


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Files that the system refuses become a SnellenError; any other error that is none ends the command."""
    from snellen.core.errors import SnellenError
    from snellen.core.plain_text import short_reason

    try:
        yield
    except SnellenError:
        raise
    except OSError as error:
        if not (reason := _reason(error)):
            _end(error)
        raise SnellenError(f"{short_reason(reason)}; mend that and give the same command again") from error
    except Exception as error:  # noqa: BLE001  # whatever it is, people are not shown a traceback
        _end(error)


def _reason(error: OSError) -> str:
    """Which file the system refused, and why; empty where neither the file nor a want of room is named."""
    if isinstance(error, shutil.Error) and isinstance(error.args[0], list):  # of the files of a folder
        _, target, why = error.args[0][0]
        return f"{target}: {why}"
    if error.filename is None:
        return str(error.strerror) if error.errno in NO_ROOM else ""
    return f"{error.filename}: {error.strerror or type(error).__name__}"


def _end(error: Exception) -> NoReturn:
    from snellen.core.plain_text import short_reason

    reason = short_reason(f"{type(error).__name__}: {error}", 200).rstrip(": ")
    place = f"please send {path}" if (path := _write(error)) else "and nowhere to write what happened"
    print(f"snellen: an error that should not be: {reason}; {place}", file=sys.stderr)
    sys.exit(EXIT_CODE)


def _write(error: Exception) -> Path | None:
    """The command, versions and traceback, without keys, under the home folder or among temporary files."""
    from snellen.core.plain_text import printable, redacted
    from snellen.core.storage.files import write_text
    from snellen.core.storage.home import home
    from snellen.core.storage.versions import versions

    lines = ["snellen " + " ".join(sys.argv[1:]), *(f"{name} {version}" for name, version in versions().items())]
    text = printable(redacted("\n".join([*lines, "", *traceback.format_exception(error, limit=-50)])))
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    for folder in (home() / "faults", Path(tempfile.gettempdir())):
        try:
            write_text(folder / name, text[: 2**20] + "\n")
        except (OSError, ValueError):
            continue
        return folder / name
    return None
