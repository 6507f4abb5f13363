from __future__ import annotations

from collections.abc import Callable

import pytest

from snellen.cli import main

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def snellen(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command; return its exit code, output and messages."""

    def give(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["snellen", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return give
