"""No command ends in a traceback."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from rich.color import ColorSystem

from snellen.core.errors import SnellenError, refuse_problems
from snellen.core.storage import files
from tests.cli.conftest import Command, Serve
from tests.helpers.sets import small_set
from tests.helpers.stub_server import Answer, ServedRequest, Status

KEY = "CANARY-NOT-FOR-EYES"


@pytest.mark.parametrize(
    "error",
    [
        KeyError("x"), RuntimeError(f"two\nlines \x1b[2J with {KEY}"), RecursionError(), MemoryError(),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"), OSError("no file is named"), ValueError("x" * 10**5),
    ],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_an_unexpected_error_is_one_line_and_a_file_without_keys(
    snellen: Command, error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise error

    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path))
    monkeypatch.setenv("SOME_API_KEY", KEY)
    monkeypatch.setattr("snellen.cli.preview.show", fail)
    code, out, message = snellen("show", "combo", "--condition", f"key={KEY}")
    assert (code, out) == (3, "")
    assert message.count("\n") == 1
    assert message.startswith(f"snellen: internal error: {type(error).__name__}")
    assert len(message) < 400
    assert "\x1b" not in message
    (path,) = (tmp_path / "faults").iterdir()
    assert message.endswith(f"; please send {path}\n")
    text = path.read_text()
    assert "Traceback (most recent call last)" in text
    assert "raise error" in text
    assert "snellen show combo --condition key=[redacted]" in text
    assert KEY not in text + message
    assert "\x1b" not in text


@pytest.mark.parametrize("key", ["/CANARY/0123456789+abcdef=", "CANARY-0123456789"])
def test_a_key_that_the_server_repeats_is_in_no_product(
    snellen: Command, stub: Serve, key: str, sets_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every second call, in several forms; the others are answered."""

    def answer(request: ServedRequest) -> Answer:
        sent = request.headers["Authorization"].removeprefix("Bearer ")
        text = f"wrong key {sent}, ?key={quote(sent, safe='')}, Authorization: Bearer {sent}"
        return Status(400, error={"message": text, "type": sent, "code": sent}) if request.number % 2 else "A"

    stub(answer)
    monkeypatch.setenv("STUBBED_API_KEY", key)
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))
    items, run, subject = small_set("combo", sets_folder).root, tmp_path / "run", "chat:openai-api/stubbed/model"
    outputs = [snellen("run", items, "--subject", subject, "--keep-going", "--limit", 4, "--out", run)]
    outputs += [snellen("report", run, "--out", tmp_path / "report"), snellen("show", items)]
    outputs += [snellen("export", run, "--to", "every-eval-ever", "--out", tmp_path / "export")]
    outputs += [snellen("diff", run, run, "--out", tmp_path / "diff")]
    monkeypatch.setattr("snellen.cli.preview.show", lambda *args, **options: int(key))
    outputs += [snellen("show", items, "--condition", f"key={key}")]
    assert [code for code, _, _ in outputs] == [1, 0, 0, 0, 0, 3]
    content = "".join(out + error for _, out, error in outputs).encode()
    tables = [path for path in tmp_path.rglob("*.parquet") if "home" not in path.parts]
    content += "".join(files.read_table(path).to_pylist().__repr__() for path in tables).encode()
    content += b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"CANARY" not in content
    assert b"[redacted]" in content


def test_an_error_file_that_cannot_be_written_is_reported(
    snellen: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "file"))
    monkeypatch.setattr("snellen.cli.preview.show", None)
    code, _, message = snellen("show", "combo")
    assert code == 3
    assert message.count("\n") == 1
    assert "could not be written to a file" in message


def test_a_path_that_the_system_refuses_is_bad_input(snellen: Command, sets_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    items = small_set("combo", sets_folder).root
    code, _, message = snellen("show", items, "--html", tmp_path / "file" / "page.html")
    assert code == 2
    assert message.count("\n") == 1
    assert str(tmp_path / "file") in message


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "snellen: No space left on device; fix that"),
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
    code, out, message = snellen("show", "combo")
    assert (code, out, message.count("\n")) == (2, "", 1)
    assert message.startswith(words)


@pytest.mark.parametrize("words", [("verify", "r\udcff"), ("run", "combo", "-s", "fake:chance", "--out", "r\udcff")])
def test_a_name_that_is_not_utf_8_is_refused_before_the_work(
    snellen: Command, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert snellen(*words) == (2, "", "snellen: 'r\\udcff': not UTF-8; rename it\n")
    assert not list(tmp_path.iterdir())


def test_a_file_whose_name_is_not_utf_8_is_bad_input_and_half_a_character_of_ours_is_not(
    snellen: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text, code in (("r\udcff", 2), ("\ud800", 3)):
        monkeypatch.setattr("snellen.cli.preview.show", lambda *args, text=text, **options: text.encode())
        assert snellen("show", "combo")[0] == code


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_closed_stream_is_bad_input(stream: str, tmp_path: Path) -> None:
    """The next file, such as a table, would get its number, and what a library prints."""
    command = [sys.executable, "-m", "snellen", "list", "suites"]
    number = {"stdout": 1, "stderr": 2}[stream]
    ended = subprocess.run(command, capture_output=True, text=True, preexec_fn=lambda: os.close(number), check=False)
    assert ended.returncode == 2
    assert ended.stdout + ended.stderr == "snellen: a standard stream is closed; send it to /dev/null\n"


def test_no_escape_reaches_a_terminal(snellen: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither through print nor in a cell of a table; the table's own characters are unchanged."""

    def act(*args: object, **options: object) -> None:
        from rich.table import Table

        from snellen.cli.output import console

        print("\x1b[2Jwords")
        print("\x9bmessages", file=sys.stderr)
        table = Table("head")
        table.add_row("\x1b]0;owned\x07cell")
        console().print(table)

    monkeypatch.setattr("snellen.cli.preview.show", act)
    code, out, messages = snellen("show", "combo")
    assert code == 0
    assert r"\x1b[2Jwords" in out
    assert r"\x1b]0;owned" in out
    assert messages == "\\x9bmessages\n"
    assert not {"\x1b", "\x07", "\x9b"} & set(out + messages)


def test_own_colours_reach_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    from snellen.cli.output import console, plain_streams

    with plain_streams():
        screen = console()
        screen._force_terminal, screen._color_system = True, ColorSystem.STANDARD
        screen.print("[red]a\x1bb[/]")
    assert capsys.readouterr().out == "\x1b[31ma\\x1bb\x1b[0m\n"


def test_a_long_error_keeps_its_beginning_and_its_remedy(snellen: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **options: object) -> None:
        raise SnellenError(f"items.parquet: {'x ' * 10**6}\n is odd; build it again")

    monkeypatch.setattr("snellen.cli.preview.show", fail)
    code, out, message = snellen("show", "combo")
    assert (code, out, message.count("\n")) == (2, "", 1)
    assert len(message) == 301
    assert message.startswith("snellen: items.parquet: x x")
    assert message.endswith(" x is odd; build it again\n")


def test_several_faults_are_a_line_each(snellen: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **options: object) -> None:
        refuse_problems(Path("here"), ["one", "y" * 999], "rows that are bad", "mend them")

    monkeypatch.setattr("snellen.cli.preview.show", fail)
    code, _, message = snellen("show", "combo")
    assert code == 2
    first, second, third = message.splitlines()
    assert (first, second) == ("snellen: here: 2 of rows that are bad; mend them:", "one")
    assert len(third) == 300


def test_a_stopped_command_says_as_json_what_is_kept(snellen: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*args: object, **options: object) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("snellen.cli.sealing.seal", stop)
    code, out, message = snellen("seal", "combo", "--out", "a b", "--json")
    message_text = "stopped; the same command continues from here"
    assert json.loads(out) == {"stopped": message_text, "next": "snellen seal combo --out 'a b' --json"}
    assert (code, message) == (130, f"snellen: {message_text}\n")
    assert snellen("seal", "combo", "--out", "a b")[:2] == (130, "")


HANGING = """
import threading, time
from multiprocessing import get_context
lock = get_context("spawn").Lock()
threading.Thread(target=time.sleep, args=(60,)).start()
from snellen.cli import _exit
_exit(143)
"""


def test_an_end_with_a_hanging_call_leaves_no_semaphores() -> None:
    done = subprocess.run([sys.executable, "-c", HANGING], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (143, "")
