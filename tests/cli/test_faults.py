"""No command ends in a traceback."""

from __future__ import annotations

import errno
import shutil
import sys
from pathlib import Path

import pytest
from rich.color import ColorSystem

from tests.cli.conftest import Command

KEY = "CANARY-NOT-FOR-EYES"


@pytest.mark.parametrize(
    "error",
    [
        KeyError("x"),
        RuntimeError(f"two\nlines \x1b[2J with {KEY}"),
        RecursionError(),
        MemoryError(),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"),
        OSError("no file is named"),
        ValueError("x" * 10**5),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_nobody_expected_is_one_line_and_a_file_without_keys(
    snellen: Command, error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise error

    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path))
    monkeypatch.setenv("SOME_API_KEY", KEY)
    monkeypatch.setattr("snellen.cli.preview.show", fail)
    code, out, told = snellen("show", "combo", "--condition", f"key={KEY}")
    assert (code, out) == (3, "")
    assert told.count("\n") == 1
    assert told.startswith(f"snellen: an error that should not be: {type(error).__name__}")
    assert len(told) < 400
    assert "\x1b" not in told
    (path,) = (tmp_path / "faults").iterdir()
    assert told.endswith(f"; please send {path}\n")
    text = path.read_text()
    assert "Traceback (most recent call last)" in text
    assert "raise error" in text
    assert "snellen show combo --condition key=[redacted]" in text
    assert KEY not in text + told
    assert "\x1b" not in text


def test_nowhere_to_write_is_said(snellen: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "file"))
    monkeypatch.setattr("snellen.cli.preview.show", None)
    code, _, told = snellen("show", "combo")
    assert code == 3
    assert told.count("\n") == 1
    assert "nowhere to write" in told


def test_a_file_the_system_refuses_is_bad_input(snellen: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    code, _, told = snellen("fidelity", "combo", "--out", tmp_path / "file" / "page.md")
    assert code == 2
    assert told.count("\n") == 1
    assert str(tmp_path / "file") in told


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "snellen: No space left on device; mend that"),
        (
            shutil.Error([("from", "to/file.js", "[Errno 28] No space left")]),
            "snellen: to/file.js: [Errno 28] No space",
        ),
    ],
    ids=["a write that names no file", "a folder that is copied"],
)
def test_a_full_disk_is_bad_input(
    snellen: Command, error: OSError, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise error

    monkeypatch.setattr("snellen.cli.preview.show", fail)
    code, out, told = snellen("show", "combo")
    assert (code, out, told.count("\n")) == (2, "", 1)
    assert told.startswith(words)


def test_no_escape_reaches_a_terminal(snellen: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither through print, nor as a cell of a table; what a table draws itself is left alone."""

    def act(*args: object, **options: object) -> None:
        from rich.table import Table

        from snellen.cli.output import console

        print("\x1b[2Jwords")
        print("\x9bmessages", file=sys.stderr)
        table = Table("head")
        table.add_row("\x1b]0;owned\x07cell")
        console().print(table)

    monkeypatch.setattr("snellen.cli.preview.show", act)
    code, out, told = snellen("show", "combo")
    assert code == 0
    assert r"\x1b[2Jwords" in out
    assert r"\x1b]0;owned" in out
    assert told == "\\x9bmessages\n"
    assert not {"\x1b", "\x07", "\x9b"} & set(out + told)


def test_colours_of_our_own_reach_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    from snellen.cli.output import console, plain_streams

    with plain_streams():
        screen = console()
        screen._force_terminal, screen._color_system = True, ColorSystem.STANDARD
        screen.print("[red]a\x1bb[/]")
    assert capsys.readouterr().out == "\x1b[31ma\\x1bb\x1b[0m\n"
