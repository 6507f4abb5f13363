"""The record of a run: one writer, lines that are whole, and a disk that may be full."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import resource
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import pytest

from snellen.core import files
from snellen.core.errors import SnellenError
from snellen.core.item import Affine, ReplySpec
from snellen.core.itemset import ItemSet
from snellen.core.media import MediaFolder
from snellen.core.prompt import Reply
from snellen.core.response import Response
from snellen.core.runfolder import RunFolder, read_exchanges, read_responses, read_run_card
from snellen.runs.ask import Plan, ask
from tests.helpers.journey import arm, colour_set, looker, suite_of, watched


@pytest.fixture
def built(tmp_path: Path) -> ItemSet:
    return colour_set(tmp_path / "set")


def run(root: Path, built: ItemSet, record: Callable[[Any], object] = lambda prompt: None) -> list[Response]:
    suite = suite_of()
    return ask(root, Plan(built, suite, watched([arm(looker(built), suite)], record)))


def only_part(root: Path) -> Path:
    (part,) = (root / "parts").glob("*.jsonl")
    return part


def test_another_process_may_not_write_meanwhile(tmp_path: Path, built: ItemSet) -> None:
    (tmp_path / "run").mkdir()
    ready, held = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        lock = (tmp_path / "run" / "lock").open("w")
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.write(ready[1], b".")
        os.read(held[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    with pytest.raises(SnellenError, match=rf"{tmp_path}/run: another process is writing here"):
        run(tmp_path / "run", built)
    os.write(held[1], b".")
    os.waitpid(child, 0)
    assert len(run(tmp_path / "run", built)) == 4, "the lock ends with its process"


def test_every_life_that_asks_writes_a_part_of_its_own(tmp_path: Path, built: ItemSet) -> None:
    root = tmp_path / "run"
    run(root, built)
    part = only_part(root)
    lines = part.read_bytes().splitlines(keepends=True)
    part.write_bytes(b"".join(lines[:2]) + lines[2][:40])
    assert [e.digest for e in read_exchanges(root)] == [json.loads(line)["digest"] for line in lines[:2]]
    asked: list[Any] = []
    run(root, built, asked.append)
    assert len(asked) == 2, "the torn line was in flight"
    run(root, built)
    assert sorted(path.name for path in (root / "parts").iterdir()) == ["0000.jsonl", "0001.jsonl"]
    assert part.read_bytes().endswith(lines[2][:40]), "parts are never mended"
    assert len(read_responses(root)) == 4


@pytest.mark.parametrize(
    "line",
    [b"", b"{}", b"7", b"null", b'{"key":"a","digest":"b"}', b'{"key":"a","digest":"b","reply":"red"}', b"\xff",
     b'{"key":"a","digest":"b","reply":{"text":"red","mood":"good"}}', b'{"key":"a","digest":"b","reply":{}}'],
)  # fmt: skip
def test_a_broken_line_is_named_by_file_and_line(tmp_path: Path, built: ItemSet, line: bytes) -> None:
    run(tmp_path / "run", built)
    part = only_part(tmp_path / "run")
    lines = part.read_bytes().split(b"\n")
    part.write_bytes(b"\n".join([*lines[:2], line, *lines[2:]]))
    with pytest.raises(SnellenError, match=rf"^{part} line 3: broken") as caught:
        run(tmp_path / "run", built)
    assert "\n" not in str(caught.value)


def test_exchanges_are_kept_whole(tmp_path: Path, built: ItemSet) -> None:
    full = Reply("red", "because", (0.1, float("inf"), 1e-300), "length", "m-2", 3, 4, 0.25)
    suite = suite_of()
    told = iter([full, Reply(""), Reply("\ud800\x00"), full])

    class Records:
        card = looker(built).card

        def declines(self, prompt: object) -> None:
            return None

        async def fit(self, examples: object, media: object) -> Any:
            return self

        async def answer(self, prompt: object, media: object, rng: object) -> Reply:
            return next(told)

    ask(tmp_path / "run", Plan(built, suite, [arm(Records(), suite)]))
    assert [e.reply for e in read_exchanges(tmp_path / "run")] == [full, Reply(""), Reply("\ud800\x00"), full]
    assert {e.error for e in read_exchanges(tmp_path / "run")} == {""}


def test_the_way_back_stays_with_the_response(tmp_path: Path, built: ItemSet) -> None:
    spec = ReplySpec("box", (("A", "k"), ("ä", "k")), Affine(0.1, 2, 3, 4, 5, 1e-9))
    run(tmp_path / "run", built)
    (first, *rest) = read_responses(tmp_path / "run")
    assert first.reply_spec == built.items[0].view().reply
    told = [replace(first, reply_spec=spec, calls=("a", "b"), text=None), *rest]
    RunFolder(tmp_path / "run", MediaFolder(tmp_path)).write_tables(told)
    assert read_responses(tmp_path / "run") == told


def test_what_is_no_run_is_told_apart_from_a_run_cut_off(tmp_path: Path, built: ItemSet) -> None:
    with pytest.raises(SnellenError, match="no run"):
        read_run_card(tmp_path / "none")
    run(tmp_path / "run", built)
    (tmp_path / "run" / "responses.parquet").unlink()
    with pytest.raises(SnellenError, match="cut off before its end; give the same `snellen run` command again"):
        read_responses(tmp_path / "run")
    run(tmp_path / "run", built)
    assert len(read_responses(tmp_path / "run")) == 4
    (tmp_path / "run" / "run.json").write_text("{")
    with pytest.raises(SnellenError, match=r"run\.json: malformed") as caught:
        run(tmp_path / "run", built)
    assert "\n" not in str(caught.value)


class Full:
    """A file on a disk that fills up after `room` lines: the next one is cut, and every flush says so."""

    def __init__(self, opened: IO[str], room: int) -> None:
        self.opened, self.room = opened, room

    def write(self, line: str) -> int:
        self.room -= 1
        return self.opened.write(line if self.room >= 0 else line[:20])

    def flush(self) -> None:
        self.opened.flush()
        if self.room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self) -> None:
        self.opened.close()
        if self.room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_one_clear_error_and_loses_nothing(
    tmp_path: Path, built: ItemSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.open

    def tight(path: Path, *args: Any, **options: Any) -> Any:
        opened = real(path, *args, **options)
        return Full(opened, 2) if path.suffix == ".jsonl" and path.parent.name == "parts" else opened

    asked: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", tight)
        with pytest.raises(SnellenError, match=r"run/parts: cannot be written \(No space left on device\)"):
            run(tmp_path / "run", built, asked.append)
    assert len(asked) == 3, "no call is made that cannot be recorded"
    asked.clear()
    assert len(run(tmp_path / "run", built, asked.append)) == 4
    assert len(asked) == 2


def test_a_file_that_really_cannot_grow(tmp_path: Path) -> None:
    """The kernel itself refuses in the middle of a line; then the limit is lifted and the run goes on."""
    built = colour_set(tmp_path / "set", 30)
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, resource.RLIM_INFINITY))
        try:
            run(tmp_path / "run", built)
        except SnellenError as error:
            os._exit(42 if "cannot be written (File too large)" in str(error) else 1)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42
    whole = len(list(read_exchanges(tmp_path / "run")))
    assert len(only_part(tmp_path / "run").read_bytes()) == 3000
    assert 10 < whole < 30
    asked: list[Any] = []
    assert len(run(tmp_path / "run", built, asked.append)) == 30
    assert len(asked) == 30 - whole


@pytest.mark.parametrize(
    "name", ["", "run", "run/parts", "run/parts/0000.jsonl", "run/run.json", "run/responses.parquet"]
)
def test_what_stands_in_the_way_is_named(tmp_path: Path, built: ItemSet, name: str) -> None:
    base = tmp_path / "out"
    place = base / name
    if name.endswith((".jsonl", ".json", ".parquet")):
        (place / "not" / "empty").mkdir(parents=True)  # a folder where a file should be
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("")  # a file where a folder should be
    with pytest.raises(SnellenError, match=str(base)) as caught:
        run(base / "run", built)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_a_closed_folder_is_named(tmp_path: Path, built: ItemSet) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    with pytest.raises(SnellenError, match=r"closed/run: cannot be written \(Permission denied\)"):
        run(closed / "run", built)


def test_half_a_file_never_stands_under_its_final_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "folder" / "a.json"
    files.write_text(path, "first")
    real = Path.write_bytes

    def full(self: Path, raw: bytes) -> int:
        real(self, raw[:2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(SnellenError, match=rf"{path}: cannot be written \(No space left on device\); mend that"):
        files.write_text(path, "second")
    assert path.read_text() == "first"
    assert list(path.parent.iterdir()) == [path]
