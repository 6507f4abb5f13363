"""Unexpected errors of commands: one line and a file to send instead of a traceback."""

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
"""Exit code of a command that ended by an internal error."""
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Error numbers of a full disk, quota or file; the system does not name the file that was being written."""


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn file errors of the system into SnellenError; end the command at any other error."""
    from snellen.core.errors import SnellenError
    from snellen.core.plain_text import short_reason

    try:
        yield
    except SnellenError:
        raise
    except UnicodeEncodeError as error:
        if not "\udc80" <= error.object[error.start] <= "\udcff":  # how Python shows a byte of a name
            _end(error)
        raise SnellenError(f"{short_reason(ascii(error.object))}: not UTF-8; rename it") from error
    except OSError as error:
        if not (reason := _reason(error)):
            _end(error)
        raise SnellenError(f"{short_reason(reason)}; fix that and run the same command again") from error
    except Exception as error:  # noqa: BLE001  # users never see a traceback
        _end(error)


def _reason(error: OSError) -> str:
    """The file that the system refused, and the reason; empty if neither a file nor a lack of space is named."""
    if isinstance(error, shutil.Error) and isinstance(error.args[0], list):  # of the files of a folder
        _, target, why = error.args[0][0]
        return f"{target}: {why}"
    if error.filename is None:
        return str(error.strerror) if error.errno in NO_ROOM else ""
    return f"{error.filename}: {error.strerror or type(error).__name__}"


def _end(error: Exception) -> NoReturn:
    from snellen.core.plain_text import short_reason

    reason = short_reason(f"{type(error).__name__}: {error}", 200).rstrip(": ")
    advice = f"please send {path}" if (path := _write(error)) else "the details could not be written to a file"
    print(f"snellen: internal error: {reason}; {advice}", file=sys.stderr)
    sys.exit(EXIT_CODE)


def _write(error: Exception) -> Path | None:
    """Write command, versions and traceback, without keys, into the home folder or the temporary folder."""
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
