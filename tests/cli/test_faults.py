"""No command ends in a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

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
    monkeypatch.setattr("snellen.exam.find_items", fail)
    code, out, told = snellen("run", "combo", "-s", f"chat:openai/x?key={KEY}")
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
    assert "snellen run combo -s chat:openai/x?key=[redacted]" in text
    assert KEY not in text + told
    assert "\x1b" not in text


def test_nowhere_to_write_is_said(snellen: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "file"))
    monkeypatch.setattr("snellen.exam.find_items", None)
    code, _, told = snellen("run", "combo", "-s", "fake:chance")
    assert code == 3
    assert told.count("\n") == 1
    assert "nowhere to write" in told


def test_a_file_the_system_refuses_is_bad_input(snellen: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    code, _, told = snellen("fidelity", "combo", "--out", tmp_path / "file" / "page.md")
    assert code == 2
    assert told.count("\n") == 1
    assert str(tmp_path / "file") in told
