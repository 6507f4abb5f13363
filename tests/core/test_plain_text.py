"""Foreign text: no control characters for terminals, no keys in error texts."""

from __future__ import annotations

import io
import time
from pathlib import Path
from typing import Any

import pytest

from snellen.core.plain_text import (
    MIN_KEY,
    PlainStream,
    control_character,
    no_formula,
    printable,
    redacted,
    secret_texts,
    short_line,
    short_reason,
    unfiltered,
    without_secrets,
)


def test_only_control_characters_are_escaped() -> None:
    characters = "".join(map(chr, range(0x100)))
    text = printable(characters)
    assert not [c for c in text if (ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160]
    assert printable("\x1b[2J\x9b\x7f\r") == r"\x1b[2J\x9b\x7f\x0d"
    marks = [chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))]
    assert printable("".join(marks)) == "".join(rf"\u{ord(mark):04x}" for mark in marks), "they reorder what is read"
    assert printable("\ud800 é") == r"\ud800 é", "half a character cannot be written"
    assert printable("ünï \U0001f441\n\tשלום") == "ünï \U0001f441\n\tשלום"
    assert (control_character("a\x1bb"), control_character("a\n\tb")) == (r"\x1b", None)


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-abcDEF123456_7890.",
        "https://host/v1?key=AIzaSyA1234567890abcdefghijklm failed", "401 for Bearer abcdef0123456789",
        "token=abcdef0123456789&x=1", "api_key: abcdef0123456789", "hf_abcdefGHIJKL is not allowed",
        "https://me:secretpassword@proxy:8080",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwI", "eyJhbGciOiJIUzI1NiJ9.",
        "the value CANARY-VALUE-1 was refused",
    ],
)  # fmt: skip
def test_keys_are_redacted(text: str) -> None:
    secrets = ["sk-proj", "AIza", "abcdef0123456789", "hf_abc", "secretpassword", "eyJ", "CANARY-VALUE-1"]
    cleaned = redacted(text, {"MY_API_KEY": "CANARY-VALUE-1", "PATH_KEY": "/tmp", "X_TOKEN": "short"})
    assert "[redacted]" in cleaned
    assert not [secret for secret in secrets if secret in cleaned]


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("AWS_SECRET_ACCESS_KEY", "/CANARY/0123+=", "{} was refused"),
        ("A_KEY", "/CANARY/0123+=", "?k=%2FCANARY%2F0123%2B%3D failed"),
        ("A_KEY", "/CANARY/0123+=", "/v1/CANARY/0123%2B%3D"[3:]),
        ("DB_PASSWD", "CANARY-1", "{}"), ("DB_PASS", "CANARY-1", "{}"), ("NPM_AUTH", "CANARY-1", "{}"),
        ("A_DSN", "db://u:CANARY@h", "{}"), ("GH_PAT", "CANARY-1", "{}"), ("SSH_PASSPHRASE", "CANARY a b", "{}"),
        ("A_TOKEN", " CANARY-1\n", "[CANARY-1]"), ("PEM_KEY", "CANARY\nCANARY", "CANARY CANARY"),
        ("A_KEY", 'CANARY"\\x', '{{"k": "CANARY\\"\\\\x"}}'),
    ],
)  # fmt: skip
def test_every_value_of_a_secret_variable_is_redacted_in_each_form(name: str, value: str, text: str) -> None:
    cleaned = redacted(text.format(value), {name: value})
    assert "[redacted]" in cleaned
    assert "CANARY" not in cleaned


@pytest.mark.parametrize(
    "text",
    [
        "?X-Amz-Signature=CANARY1&X-Amz-Credential=CANARY2/eu", "?sv=2024&sig=CANARY1%2F", "access_token=CANARY1",
        '"accessToken":"CANARY1"', "client_secret: CANARY1", "passwd=CANARY1", "Authorization: Basic CANARY12Og==",
        "Authorization: CANARY1", "pwd=CANARY1", "glpat-CANARY12", "sk_live_CANARY12", "nvapi-CANARY12", "xai-CANARY12",
        "r8_CANARY1234567890", "github_pat_CANARY12", "pplx-CANARY12", "ASIACANARYCANARY12", "ya29.CANARY12",
    ],
)  # fmt: skip
def test_keys_are_recognised_by_their_form(text: str) -> None:
    assert "CANARY" not in redacted(text, {})


def test_an_existing_folder_and_spaces_are_no_secrets(tmp_path: Path) -> None:
    text = f"{tmp_path}/card.json: no such file; 123456 of tokens: 2000000; basic transformations; monkey: bananas"
    assert redacted(text, {"KEY_DIR": str(tmp_path), "A_KEY": " " * 9}) == text


def test_a_long_line_is_cut_before_it_is_split() -> None:
    class Text(str):
        def split(self, *args: Any, **settings: Any) -> list[str]:
            raise AssertionError("the whole text was split")

    assert short_line(Text("a b " * 1_000_000), 20) == "a b a b a b  … b a b"
    assert short_line("a\n b" * 2, 20) == "a ba b"
    assert short_line("0123456789" * 2, 16) == "012345678 … 6789"
    assert short_line("a" + " " * 1000 + "b", 20) == "a … b", "of a longer text the middle is left out"


def test_half_a_key_behind_spaces_is_not_shown() -> None:
    assert "CANARY" not in short_reason(" " * 1590 + "sk-CANARYCANARYCANARY")


def test_plain_words_are_unchanged() -> None:
    text = "429 RateLimitError: too many tokens for model gpt-4o at https://host:8080/v1?x=1 (see ask-about-skills)"
    assert redacted(text, {"MY_TOKEN": "tokens", "HOME": "too many"}) == text


def test_a_reason_is_one_short_line() -> None:
    reason = short_reason("a\x1b[31m\n b\r\n" + "x" * 10**6)
    assert reason.startswith(r"a\x1b[31m b xxx")
    assert len(reason) == 400
    assert short_reason("é" * 400) == "é" * 400


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=1+1", "'=1+1"), ("+1+cmd", "'+1+cmd"), ("@SUM(A1)", "'@SUM(A1)"), ("-", "-"), ("", ""), (-1.5, -1.5),
        ("y;=1+1", "y;'=1+1"), ("a\t@SUM(A1)", "a\t'@SUM(A1)"), ("x|+cmd", "x|'+cmd"), ("1; -2", "1; -2"),
        ("-3.5", "-3.5"), ("a=b", "a=b"), ('x;"=1+1', """x;"'=1+1"""), ("b;+1+cmd", "b;'+1+cmd"),
        ("b;- 1+cmd", "b;'- 1+cmd"), ("\t=1", "'\t=1"), ("list:\n- a", "list:\n- a"), ("a\n=1+1", "a\n'=1+1"),
        ("\r=1", "'\n'=1"),
    ],
)  # fmt: skip
def test_no_cell_begins_with_a_formula_whatever_separates_cells(cell: object, written: object) -> None:
    assert no_formula(cell) == written


def test_cells_of_borders_alone_take_no_time() -> None:
    """What a participant writes may be a megabyte of tabs."""
    begin = time.process_time()
    no_formula("a" + "\t" * 1_000_000)
    assert time.process_time() - begin < 5


def test_short_values_are_no_secrets_and_longer_secrets_are_taken_out_first() -> None:
    """Of an error text from 8 characters, of a reply from 20: a shorter value may be an ordinary word."""
    variables = {"A_KEY": "1234567", "B_KEY": "12345678", "C_KEY": "x" * 19, "D_KEY": "x" * 20, "HOME": "y" * 20}
    assert set(secret_texts(variables)) == {"12345678", "x" * 19, "x" * 20}
    assert secret_texts(variables, MIN_KEY) == ["x" * 20]
    longer = secret_texts({"A_KEY": "12345678", "B_KEY": "123456789"})
    assert without_secrets("123456789", longer) == "[redacted]", "not the shorter one with a digit left"


class Terminal(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def test_a_stream_escapes_controls_and_breaks_long_lines_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "12")
    text = "red green blue\n\x1b[2J\nNext: snellen run items\n{'a': 'red green'}\nred greens 2\n"
    plain, terminal = io.StringIO(), Terminal()
    assert PlainStream(plain).write(text) == len(text)
    PlainStream(terminal).writelines([text])
    assert plain.getvalue() == text.replace("\x1b", r"\x1b")
    assert terminal.getvalue() == plain.getvalue().replace("red green blue", "red green\nblue")
    assert unfiltered(PlainStream(plain)) is unfiltered(plain) is plain
