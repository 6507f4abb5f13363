"""Commands in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

PATIENCE = 600
"""Timeout in seconds; no measurement depends on it."""
BEGIN = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
"""As on a terminal: shells make background commands ignore Ctrl-C."""


def start(words: Sequence[object], home: Path | None = None, begin: str = BEGIN) -> subprocess.Popen[str]:
    """A command with its own home folder, in its own session."""
    command = [sys.executable, "-c", f"{begin}from snellen.cli import main; main()", *map(str, words)]
    paths = os.pathsep.join(filter(None, [*sys.path, os.environ.get("PYTHONPATH", "")]))
    environment = os.environ | {"PYTHONPATH": paths} | ({"SNELLEN_HOME": str(home)} if home else {})
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def wait_until(condition: Callable[[], object]) -> None:
    """Wait until the condition holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)
