"""Users' files are read up to a size limit, and YAML without aliases."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from snellen.core.errors import SnellenError
from snellen.core.storage import user_files
from snellen.core.storage.home import home
from snellen.core.storage.trees import tree_digest
from snellen.core.storage.user_files import (
    TableLines,
    bounded_json,
    bounded_literal,
    distinct,
    file_fault,
    file_mark,
    leads_outside,
    read_bytes,
    read_file,
    read_text,
    table_encoding,
    table_header,
    unfilled_rows,
)
from snellen.core.storage.user_yaml import parse_yaml, read_yaml
from snellen.datasets.formats.json_stream import stream_json
from snellen.interop.inspect_logs import read_log


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("é\r\nb\rc\n".encode("utf-8-sig"))
    assert read_text(path, "utf-8-sig") == path.read_text("utf-8-sig") == "é\nb\nc\n"
    assert len(read_bytes(path, 11)) == path.stat().st_size == 11
    with pytest.raises(OSError, match=f"more than the 10 bytes.*{path}"):
        read_bytes(path, 10)


def test_a_pipe_is_read_up_to_the_limit_too(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for size, fits in ((100, True), (101, False)):
        writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(bytes(size),))
        writer.start()
        if fits:
            assert read_bytes(tmp_path / "pipe", 100) == bytes(100)
        else:
            with pytest.raises(OSError, match="more than the 100 bytes"):
                read_bytes(tmp_path / "pipe", 100)
        writer.join()


def test_only_regular_files_are_opened_where_a_stranger_may_have_put_others(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        assert file_fault(path) == "not a file"
    assert file_fault(tmp_path / "none") == "there is no such file"
    (tmp_path / "a").write_bytes(b"12345")
    assert [file_fault(tmp_path / "a", limit) for limit in (5, 4)] == ["", "file of more than 0 MB"]


def test_the_digest_of_a_folder_follows_no_links_to_folders_and_opens_regular_files_only(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a").write_text("a")
    digest = tree_digest(folder)
    os.mkfifo(folder / "pipe")
    targets = {"device": "/dev/zero", "circle": "circle", "self": ".", "root": "/", "missing": "nowhere"}
    for name, target in targets.items():
        (folder / name).symlink_to(target)
    assert tree_digest(folder) == digest
    with (tmp_path / "large").open("wb") as file:
        file.truncate(5_000_000_000)
    (folder / "b").symlink_to(tmp_path / "large")
    assert tree_digest(folder) != digest
    (folder / "c").symlink_to("/proc/self/pagemap")  # regular, of no size, and endless
    assert read_file(folder / "c") == b""


@pytest.mark.parametrize("read", [lambda path: list(stream_json(path, frozenset())), read_log], ids=["list", "log"])
def test_json_of_too_many_values_is_not_parsed(
    read: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"info": [[]] * 500}))
    monkeypatch.setattr(user_files, "MAX_VALUES", 900)
    with pytest.raises((ValueError, SnellenError), match="more than 900 values in one text"):
        read(tmp_path / "a.json")


@pytest.mark.parametrize("text", ["a: &x 1\nb: *x", "a: &x [*x]", "a: &x {b: 1}\nc:\n  <<: *x"])
def test_aliases_are_refused_with_their_place(text: str) -> None:
    with pytest.raises(yaml.YAMLError, match=r"aliases are not read(.|\n)*line \d"):
        parse_yaml(text)


def test_yaml_is_plain_data(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: [1, x, 2.5]\n")
    assert read_yaml(tmp_path / "a.yaml") == {"a": [1, "x", 2.5]}
    with pytest.raises(yaml.YAMLError, match="could not determine a constructor"):
        parse_yaml("!!python/object/apply:os.system [ls]")
    with pytest.raises(yaml.YAMLError, match="nested too deep"):
        parse_yaml("[" * 5000)
    faults = {
        "[" * 101 + "]" * 101: "nested too deep",
        "12:30": "base 60",
        "1" * 101: "too long",
        "a: 1\na: 2": "key twice",
    }
    for text, message in faults.items():
        with pytest.raises(yaml.YAMLError, match=message):
            parse_yaml(text)
    for text in ("[" * 100 + "]" * 100, "1" * 100, "'12:30'"):
        parse_yaml(text)
    assert len(parse_yaml("\n".join(f"k{n}: [1]" for n in range(200)))) == 200, "side by side is not deep"


def test_what_is_no_text_is_no_json() -> None:
    """An empty cell of a table: a TypeError, as json.loads has it, which readers expect."""
    with pytest.raises(TypeError):
        bounded_json(None)  # type: ignore[type-var]


@pytest.mark.parametrize(
    ("lines", "header", "separator", "rest"),
    [
        (["a,b;c,d", "1"], "a,b;c,d", ",", ["1"]), (["a;b;c,d"], "a;b;c,d", ";", []), (["a\tb"], "a\tb", "\t", []),
        (["a"], "a", ",", []), ([], "", ",", []), (["SEP=|", "a|b", "1"], "a|b", "|", ["1"]), (["sep=;"], "", ";", []),
        (["sep=long,b"], "sep=long,b", ",", []), (["asep=;"], "asep=;", ";", []),
    ],
)  # fmt: skip
def test_the_separator_of_a_table_is_the_most_frequent_or_stated(
    lines: list[str], header: str, separator: str, rest: list[str]
) -> None:
    remaining = iter(lines)
    assert table_header(remaining) == (header, separator)
    assert list(remaining) == rest


def test_lines_and_values_are_read_up_to_their_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_files, "MAX_LINES", 2)

    def read(text: str, left: int = 10, rows: bool = True) -> list[str]:
        lines, whole = TableLines[str](io.StringIO(text), 5, left), list[str]()
        for line in lines:
            whole.append(line)
            lines.row_size = 0 if rows else lines.row_size
        return whole

    assert read("1234\n12345") == ["1234\n", "12345"]
    for text, left, message in [("12345\n", 10, "a line of more"), ("1\n2\n3", 10, "2 lines"), ("1234\n1", 5, "bytes")]:
        with pytest.raises(ValueError, match=message):
            read(text, left)
    with pytest.raises(ValueError, match="quotation mark that is not closed"):
        read("123\n45\n", rows=False)
    assert bounded_json("[1,2,3]", 3) == "[1,2,3]"
    for call in (lambda: bounded_json("[1,2,3,4]", 3), lambda: bounded_json(b'{"a":[{}],"b":1}', 3)):
        with pytest.raises(ValueError, match="more than 3 values in one text"):
            call()
    assert distinct([("a", 1), ("b", 1)]) == {"a": 1, "b": 1}
    with pytest.raises(ValueError, match="the key 'b' twice"):
        distinct([("a", 1), ("b", 1), ("b", 1)])
    names = {
        "a/b.png": False,
        "a..b/c": False,
        "../a": True,
        "a/../../b": True,
        "/a": True,
        "\\\\server\\a": True,
        "a\\..": True,
    }
    assert {name: leads_outside(name) for name in names} == names
    encodings = {b"\xff\xfea\0": "utf-16", b"\xfe\xff\0a": "utf-16", b"\xef\xbb\xbfa": "utf-8-sig", b"": "utf-8-sig"}
    assert {start: table_encoding(start) for start in encodings} == encodings


def test_a_short_row_is_not_filled_to_the_width_of_the_header() -> None:
    rows = unfilled_rows(csv.DictReader(["a,b", "1", "", "1,2,3"]))
    assert list(rows) == [(2, {"a": "1"}), (4, {"a": "1", "b": "2", None: "3"})]


def test_long_literals_are_lists_of_texts_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert bounded_literal("['a', (1, None)]") == ["a", (1, None)]
    monkeypatch.setattr(user_files, "MAX_LITERAL", 8)
    assert bounded_literal("['abc', 'def']") == ["abc", "def"]
    monkeypatch.setattr(user_files, "MAX_CELLS", 3)
    for text in ("(1, 2, 3, 4)", "[[], [], [], []]"):
        with pytest.raises(ValueError, match=r"Expecting value|more than 3 values"):
            bounded_literal(text)


def test_the_mark_of_a_file_covers_all_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_files, "_PIECE", 4)
    (tmp_path / "f").write_bytes(b"0123456789")
    assert file_mark(tmp_path / "f") == hashlib.sha256(b"0123456789").hexdigest()


def test_a_missing_file_is_distinguished_from_one_that_is_not_read(tmp_path: Path) -> None:
    for path, error in ((tmp_path / "none", FileNotFoundError), (tmp_path, OSError)):
        with pytest.raises(error) as caught:
            read_file(path)
        assert isinstance(caught.value, FileNotFoundError) == (error is FileNotFoundError)


def test_the_home_folder_is_named_by_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value, folder in [
        ("HOME", tmp_path, tmp_path / ".cache" / "snellen"), ("XDG_CACHE_HOME", tmp_path, tmp_path / "snellen"),
        ("SNELLEN_HOME", "~/own", tmp_path / "own"),
    ]:  # fmt: skip
        if name == "HOME":
            monkeypatch.delenv("SNELLEN_HOME", raising=False)
            monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.setenv(name, str(value))
        assert home() == folder


def test_a_file_that_is_not_read_has_its_reason_as_its_mark(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(2_000_000_001)
    marks = {".": "not a file", "none": "there is no such file", "large": "file of more than 2000 MB"}
    assert {name: file_mark(tmp_path / name) for name in marks} == marks
