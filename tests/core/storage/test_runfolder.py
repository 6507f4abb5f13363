"""The record of a run: one writer, complete lines, and full disks."""

from __future__ import annotations

import errno
import json
import os
import resource
import zlib
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from snellen.core.errors import CallFailed, SnellenError
from snellen.core.item import Affine, ReplySpec
from snellen.core.prompt import MAX_TEXT, Prompt, Reply
from snellen.core.response import Exchange, Response
from snellen.core.storage import files, runfolder
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.parts import line_of, read_exchanges
from snellen.core.storage.run_tables import read_responses, tables_are_behind, write_tables
from snellen.core.storage.runfolder import RunFolder, open_run, read_run_card
from snellen.core.subject import Base, SubjectCard
from snellen.runs.asking.ask import ask
from snellen.runs.planning.plan import Plan, run_card
from snellen.runs.scores.score import write_scores
from tests.helpers.journey import arm, colour_set, looker, says, suite_of, watched
from tests.helpers.refusals import assert_refused


@pytest.fixture
def built(tmp_path: Path) -> ItemSet:
    return colour_set(tmp_path / "set")


def run(root: Path, built: ItemSet, record: Callable[[Any], object] = lambda prompt: None) -> list[Response]:
    suite = suite_of()
    return ask(root, Plan(built, suite, watched([arm(looker(built), suite)], record)))


@dataclass(frozen=True)
class Replies(Base):
    """Always gives this reply."""

    reply: Reply

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        return self.reply


def replies(name: str, reply: Reply) -> Replies:
    return Replies(card=SubjectCard(name), reply=reply)


def only_part(root: Path) -> Path:
    (part,) = (root / "parts").glob("*.jsonl")
    return part


def test_another_process_cannot_write_at_the_same_time(tmp_path: Path, built: ItemSet) -> None:
    (tmp_path / "run").mkdir()
    ready, release = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        suite = suite_of()
        plan = Plan(built, suite, [arm(looker(built), suite)])
        with open_run(tmp_path / "run", run_card(plan), built.media):  # the lock that a run takes
            os.write(ready[1], b".")
            os.read(release[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    try:
        with pytest.raises(SnellenError, match=rf"{tmp_path}/run: another process is writing there"):
            run(tmp_path / "run", built)
    finally:
        os.write(release[1], b".")
        os.waitpid(child, 0)
    assert len(run(tmp_path / "run", built)) == 4, "the lock ends with its process"


def test_every_process_that_asks_writes_its_own_part(tmp_path: Path, built: ItemSet) -> None:
    root = tmp_path / "run"
    run(root, built)
    part = only_part(root)
    lines = part.read_bytes().splitlines(keepends=True)
    part.write_bytes(b"".join(lines[:2]) + lines[2][:40])
    assert [e.digest for e in read_exchanges(root)] == [json.loads(line)["digest"] for line in lines[:2]]
    prompts: list[Any] = []
    run(root, built, prompts.append)
    assert len(prompts) == 2, "the torn line was in flight"
    run(root, built)
    assert sorted(path.name for path in (root / "parts").iterdir()) == ["0000.jsonl", "0001.jsonl"]
    assert part.read_bytes().endswith(lines[2][:40]), "parts are never changed"
    assert len(read_responses(root)) == 4


@pytest.mark.parametrize(
    "line",
    [b"", b"{}", b"7", b"null", b'{"key":"a","digest":"b"}', b'{"key":"a","digest":"b","reply":"red"}', b"\xff",
     b'{"key":"a","digest":"b","reply":{"text":"red","mood":"good"}}', b'{"key":"a","digest":"b","reply":{}}',
     b'{"key":"a","digest":"b","reply":{"text":"without a checksum"}}'],
)  # fmt: skip
def test_a_broken_line_is_named_by_file_and_line(tmp_path: Path, built: ItemSet, line: bytes) -> None:
    run(tmp_path / "run", built)
    part = only_part(tmp_path / "run")
    lines = part.read_bytes().split(b"\n")
    part.write_bytes(b"\n".join([*lines[:2], line, *lines[2:]]))
    with pytest.raises(SnellenError, match=rf"^{part} line 3: broken") as caught:
        run(tmp_path / "run", built)
    assert "\n" not in str(caught.value)


def test_exchanges_are_recorded_completely(tmp_path: Path, built: ItemSet) -> None:
    full = Reply("red", "because", (0.1, float("inf"), 1e-300), "length", "m-2", 3, 4, 0.25)
    suite = suite_of()
    given_replies = iter([full, Reply(""), Reply("\ud800\x00"), Reply("\ud83d\ude00", "\ude00\ud83d\ude00")])

    class Records:
        card = looker(built).card

        def declines(self, prompt: object) -> None:
            return None

        async def fit(self, examples: object, media: object) -> Any:
            return self

        async def answer(self, prompt: object, media: object, rng: object) -> Reply:
            return next(given_replies)

    responses = ask(tmp_path / "run", Plan(built, suite, [arm(Records(), suite)]))
    replies = [e.reply for e in read_exchanges(tmp_path / "run")]
    # Two surrogates of a character are read as that character by JSON; a single surrogate stays one.
    assert replies == [full, Reply(""), Reply("\ud800\x00"), Reply("\U0001f600", "\ude00\U0001f600")]
    assert [response.text for response in responses] == [reply.text for reply in replies if reply]
    assert {e.error for e in read_exchanges(tmp_path / "run")} == {""}
    numbers = pq.read_table(tmp_path / "run" / "exchanges.parquet")["numbers"].to_pylist()
    assert numbers == [list(reply.numbers) for reply in replies if reply]


def test_the_reply_spec_is_stored_with_the_response(tmp_path: Path, built: ItemSet) -> None:
    spec = ReplySpec("box", (("A", "k"), ("ä", "k")), Affine(0.1, 2, 3, 4, 5, 1e-9))
    run(tmp_path / "run", built)
    (first, *rest) = read_responses(tmp_path / "run")
    assert first.reply_spec == built.items[0].view().reply
    responses = [replace(first, reply_spec=spec, calls=("a", "b"), text=None), *rest]
    write_tables(RunFolder(tmp_path / "run", MediaFolder(tmp_path)), responses)
    assert read_responses(tmp_path / "run") == responses


def test_a_missing_run_is_distinguished_from_a_partial_run(tmp_path: Path, built: ItemSet) -> None:
    with pytest.raises(SnellenError, match="no run"):
        read_run_card(tmp_path / "none")
    run(tmp_path / "run", built)
    (tmp_path / "run" / "responses.parquet").unlink()
    with pytest.raises(SnellenError, match="the run was interrupted; run the same `snellen run` command again"):
        read_responses(tmp_path / "run")
    run(tmp_path / "run", built)
    assert len(read_responses(tmp_path / "run")) == 4
    (tmp_path / "run" / "run.json").write_text("{")
    with pytest.raises(SnellenError, match=r"run\.json: malformed") as caught:
        run(tmp_path / "run", built)
    assert "\n" not in str(caught.value)


def test_parts_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    """Of two calls with one key the later one counts."""
    (tmp_path / "parts").mkdir()
    for name in ("0002", "0000", "0001"):
        (tmp_path / "parts" / f"{name}.jsonl").write_text(line_of(Exchange("key", name, Reply(name), "")))
    assert [exchange.digest for exchange in read_exchanges(tmp_path)] == ["0000", "0001", "0002"]


def test_a_price_that_is_no_number_is_refused(tmp_path: Path, built: ItemSet) -> None:
    run(tmp_path / "run", built)
    card = json.loads((tmp_path / "run" / "run.json").read_text())
    card["arms"][0]["attributes"] |= {"price_in": "x", "price_out": "1"}
    (tmp_path / "run" / "run.json").write_text(json.dumps(card))
    with pytest.raises(SnellenError, match=r"run\.json: malformed .*'x'"):
        read_run_card(tmp_path / "run")


def test_a_part_at_its_size_limit_is_never_written_to_again(
    tmp_path: Path, built: ItemSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runfolder, "MAX_PART_BYTES", 1)
    responses, again = run(tmp_path / "run", built), list[Any]()
    parts = sorted((tmp_path / "run" / "parts").iterdir())
    assert [part.name for part in parts] == [f"{number:04d}.jsonl" for number in range(len(responses))]
    assert [part.read_bytes().count(b"\n") for part in parts] == [1] * len(responses)
    assert run(tmp_path / "run", built, again.append) == responses
    assert again == []


class Full:
    """A file on a disk that fills up after `room` lines: the next line is cut, and every flush raises."""

    def __init__(self, opened: IO[str], room: int) -> None:
        self.opened, self.room = opened, room

    def write(self, line: str) -> int:
        self.room -= 1
        return self.opened.write(line if self.room >= 0 else line[:20])

    def flush(self) -> None:
        self.opened.flush()
        if self.room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fileno(self) -> int:
        return self.opened.fileno()

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

    prompts: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", tight)
        with pytest.raises(SnellenError, match=r"run/parts: cannot be written \(No space left on device\)"):
            run(tmp_path / "run", built, prompts.append)
    assert len(prompts) == 3, "no call is made that cannot be recorded"
    prompts.clear()
    assert len(run(tmp_path / "run", built, prompts.append)) == 4
    assert len(prompts) == 2


def test_a_file_that_really_cannot_grow(tmp_path: Path) -> None:
    """The kernel refuses to write in the middle of a line; then the limit is lifted and the run continues."""
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
    prompts: list[Any] = []
    assert len(run(tmp_path / "run", built, prompts.append)) == 30
    assert len(prompts) == 30 - whole


@pytest.mark.parametrize(
    "name", ["", "run", "run/parts", "run/parts/0000.jsonl", "run/run.json", "run/responses.parquet"]
)
def test_obstacles_in_the_folder_are_named(tmp_path: Path, built: ItemSet, name: str) -> None:
    base = tmp_path / "out"
    path = base / name
    if name.endswith((".jsonl", ".json", ".parquet")):
        (path / "not" / "empty").mkdir(parents=True)  # a folder where a file should be
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")  # a file where a folder should be
    with pytest.raises(SnellenError, match=str(base)) as caught:
        run(base / "run", built)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["media", "media/ab", "media/derived.jsonl", "parts", "judgements/0123456789ab"])
def test_a_run_is_not_written_through_links(tmp_path: Path, built: ItemSet, name: str) -> None:
    run(tmp_path / "run", built)
    path, elsewhere = tmp_path / "run" / name, tmp_path / "elsewhere"
    if path.exists():
        path.rename(elsewhere)
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(elsewhere)
    with pytest.raises(SnellenError, match=f"run/{name}: a link, but what is written in run stays there"):
        run(tmp_path / "run", built)


@pytest.mark.parametrize("name", ["parts", "lock", "run.json"])
def test_a_folder_without_a_card_is_not_written_through_links_either(tmp_path: Path, built: ItemSet, name: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).symlink_to(tmp_path / "elsewhere" / ("" if name == "parts" else name))
    with pytest.raises(SnellenError, match=f"run/{name}: a link, but what is written in run stays there"):
        run(tmp_path / "run", built)
    assert not any((tmp_path / "elsewhere").iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_a_closed_folder_is_named(tmp_path: Path, built: ItemSet) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    with pytest.raises(SnellenError, match=r"closed/run: cannot be written \(Permission denied\)"):
        run(closed / "run", built)


def test_a_partial_file_never_has_its_final_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "folder" / "a.json"
    files.write_text(path, "first")
    real = Path.write_bytes

    def full(self: Path, raw: bytes) -> int:
        real(self, raw[:2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(SnellenError, match=rf"{path}: cannot be written \(No space left on device\); fix that"):
        files.write_text(path, "second")
    assert path.read_text() == "first"
    assert list(path.parent.iterdir()) == [path]


def test_parts_are_numbered_by_the_highest(tmp_path: Path, built: ItemSet) -> None:
    root = tmp_path / "run"
    for count in (2, 4):
        with pytest.raises(SnellenError) if count < 4 else nullcontext():
            run(root, built, stops_after(count))
    (root / "parts" / "0000.jsonl").unlink()
    prompts: list[Any] = []
    assert len(run(root, built, prompts.append)) == 4
    assert len(prompts) == 2
    assert sorted(path.name for path in (root / "parts").iterdir()) == ["0001.jsonl", "0002.jsonl"]


def stops_after(count: int) -> Callable[[Any], object]:
    prompts: list[Any] = []

    def stop(prompt: Any) -> None:
        prompts.append(prompt)
        if len(prompts) > count:
            raise SnellenError("stop")

    return stop


@pytest.mark.parametrize("name", ["exchanges", "responses", "sent"])
@pytest.mark.parametrize("damage", [b"", b"PAR1", b"no table"])
def test_torn_tables_are_rebuilt_from_the_parts(tmp_path: Path, built: ItemSet, name: str, damage: bytes) -> None:
    whole = run(tmp_path / "run", built)
    table = tmp_path / "run" / f"{name}.parquet"
    before, prompts = table.read_bytes(), list[Any]()
    table.write_bytes(damage or before[: len(before) // 2])
    if name == "responses":
        with pytest.raises(SnellenError, match="run the same `snellen run` command again"):
            read_responses(tmp_path / "run")
    assert run(tmp_path / "run", built, prompts.append) == whole == read_responses(tmp_path / "run")
    assert prompts == []
    assert table.read_bytes() == before


def test_a_torn_table_is_not_rebuilt_without_its_other_arms(tmp_path: Path, built: ItemSet) -> None:
    root, suite = tmp_path / "run", suite_of()
    red, blue = (arm(says(f"own:{name}", name), suite) for name in ("red", "blue"))
    ask(root, Plan(built, suite, [red]))
    ask(root, Plan(built, suite, [blue]))
    assert {response.text for response in read_responses(root)} == {"red", "blue"}
    (root / "responses.parquet").write_bytes(b"torn")
    with pytest.raises(SnellenError, match="leaves out arms of that run: own:blue under vanilla") as caught:
        ask(root, Plan(built, suite, [red]))
    assert "\n" not in str(caught.value)
    ask(root, Plan(built, suite, [blue, red]))
    assert {response.text for response in read_responses(root)} == {"red", "blue"}


NONSENSE: dict[str, Any] = {
    "tokens": Reply("red", tokens_in=10**30),
    "fewer than no tokens": Reply("red", tokens_out=-1),
    "tokens in words": Reply("red", tokens_out="many"),  # type: ignore[arg-type]
    "no text": Reply(None),  # type: ignore[arg-type]
    "much text": Reply("x" * (MAX_TEXT + 1)),
    "much reasoning": Reply("red", "x" * (MAX_TEXT + 1)),
    "a long stop": Reply("red", stop="x" * 201),
    "no seconds": Reply("red", seconds=float("nan")),
    "words for numbers": Reply("red", numbers=("a",)),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", NONSENSE)
def test_a_reply_that_cannot_be_recorded_is_a_failure_of_one_item(tmp_path: Path, built: ItemSet, name: str) -> None:
    root, suite, reply = tmp_path / "run", suite_of(), NONSENSE[name]
    failed = ask(root, Plan(built, suite, [arm(replies("own:red", reply), suite)]))
    assert {(r.status, r.text) for r in failed} == {("failed", None)}
    assert all(r.reason.startswith("the reply's ") and len(r.reason) < 200 for r in failed)
    good = ask(root, Plan(built, suite, [arm(replies("own:red", Reply("red")), suite)]))
    assert {r.text for r in good} == {"red"}
    assert read_responses(root) == good


def test_a_nonsense_usage_in_the_record_is_asked_again(tmp_path: Path, built: ItemSet) -> None:
    """Runs became unreadable by a usage of 10^30 tokens in their parts."""
    root, prompts = tmp_path / "run", list[Any]()
    run(root, built)
    part = only_part(root)
    first, *rest = part.read_text().splitlines()
    cells = json.loads(first.rpartition(',"crc":')[0] + "}")
    cells["reply"]["tokens_in"] = 10**30
    before = json.dumps(cells).removesuffix("}")
    part.write_text("\n".join([f'{before},"crc":{zlib.crc32(before.encode())}}}', *rest, ""]))
    assert len(run(root, built, prompts.append)) == 4
    assert len(prompts) == 1


@pytest.mark.parametrize("change", [{"key": 1}, {"digest": None}, {"error": 5}, {"reply": 5}, {"reply": {"a": 1}}])
def test_a_line_of_other_types_is_refused_though_its_checksum_is_right(
    tmp_path: Path, built: ItemSet, change: dict[str, Any]
) -> None:
    root = tmp_path / "run"
    run(root, built)
    part = only_part(root)
    first, *rest = part.read_text().splitlines()
    cells = {name: cell for name, cell in json.loads(first).items() if name != "crc"} | change
    before = json.dumps(cells).removesuffix("}")
    part.write_text("\n".join([f'{before},"crc":{zlib.crc32(before.encode())}}}', *rest, ""]))
    with pytest.raises(SnellenError, match="line 1: broken"):
        list(read_exchanges(root))


def test_error_texts_are_recorded_in_one_line_without_keys(
    tmp_path: Path, built: ItemSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_STUB_API_KEY", "CANARY-OF-MINE")

    def fail(prompt: Any) -> None:
        raise CallFailed("401 refused\n\x1b[2J CANARY-OF-MINE " + "x" * 10**5)

    responses = run(tmp_path / "run", built, fail)
    assert {r.status for r in responses} == {"failed"}
    assert {r.reason[:38] for r in responses} == {r"401 refused \x1b[2J [redacted] xxxxxxxxx"[:38]}
    contents = b"".join(path.read_bytes() for path in sorted((tmp_path / "run").rglob("*")) if path.is_file())
    assert b"CANARY" not in contents
    assert b"\x1b" not in only_part(tmp_path / "run").read_bytes()


def test_a_replacement_is_synced_before_the_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes are synced under another name, then the name moves, then the folder is synced."""
    steps: list[str] = []
    real_sync, real_replace = os.fsync, Path.replace

    def sync(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        steps.append("folder" if path.is_dir() else path.suffix)
        real_sync(descriptor)

    def replace_file(path: Path, target: Path) -> Path:
        steps.append("replace")
        return real_replace(path, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Path, "replace", replace_file)
    files.write_text(tmp_path / "run.json", "{}")
    assert steps == [".half", "replace", "folder"]
    files.write_bytes(tmp_path / "image.png", b"x", durable=False)
    assert steps == [".half", "replace", "folder", "replace"]


def test_pandas_reads_the_tables_of_a_run_by_name(tmp_path: Path, built: ItemSet) -> None:
    import pandas as pd

    root = tmp_path / "run"
    run(root, built)
    assert len(pd.read_parquet(root / "responses.parquet")) == 4
    for protocol in ("strict", "published"):
        scores = pd.DataFrame({"protocol": [protocol], "value": [1.0]})
        write_scores(root, scores, protocol)
    scores = pd.concat(map(pd.read_parquet, sorted(root.glob("scores.*.parquet"))))
    assert list(scores["protocol"]) == ["published", "strict"]


def test_a_flipped_bit_of_the_record_is_named(tmp_path: Path, built: ItemSet) -> None:
    """Any bit except those of line ends; a changed letter of a reply would change the score."""
    root = tmp_path / "run"
    run(root, built)
    part, rng = only_part(root), np.random.default_rng(0)
    whole = part.read_bytes()
    for position in rng.choice([n for n, byte in enumerate(whole) if byte != 10], 60, replace=False):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << int(rng.integers(8))
        part.write_bytes(damaged)
        assert_refused(lambda: list(read_exchanges(root)), f"{part} line {whole[:position].count(10) + 1}: broken")


def test_tables_record_their_parts_without_a_clock(tmp_path: Path, built: ItemSet) -> None:
    root = tmp_path / "run"
    run(root, built)
    assert not tables_are_behind(root)
    for moment in (0, 2e9):  # parts older and younger than all tables
        os.utime(only_part(root), (moment, moment))
        assert not tables_are_behind(root)
    part = root / "parts" / "0001.jsonl"
    part.write_bytes(only_part(root).read_bytes())
    os.utime(part, (0, 0))
    assert tables_are_behind(root), "a process after the tables, under a clock that was set back"
    part.unlink()
    whole = only_part(root).read_bytes()
    only_part(root).write_bytes(whole[:-30])
    assert_refused(lambda: tables_are_behind(root), "truncated or missing since the tables were made from it")
    lost = only_part(root)
    lost.unlink()
    assert_refused(lambda: tables_are_behind(root), "truncated or missing since the tables were made from it")
    lost.write_bytes(whole)
    pq.write_table(pq.read_table(root / "exchanges.parquet").replace_schema_metadata(), root / "exchanges.parquet")
    assert tables_are_behind(root), "tables that do not name their parts"
    (root / "exchanges.parquet").write_bytes(b"PAR1")
    assert tables_are_behind(root)


def test_a_failure_counts_for_its_own_prompt_alone_and_a_part_is_synced_when_closed(
    tmp_path: Path, built: ItemSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite, root = suite_of(), tmp_path / "run"
    plan = Plan(built, suite, [arm(replies("own:red", Reply("x" * (MAX_TEXT + 1))), suite)])
    synced = list[tuple[int, int]]()
    monkeypatch.setattr(os, "fsync", lambda file: synced.append((os.fstat(file).st_ino, os.fstat(file).st_size)))
    ask(root, plan)
    status = only_part(root).stat()
    assert (status.st_ino, status.st_size) in synced
    exchange = next(iter(read_exchanges(root)))
    with open_run(root, run_card(plan), built.media) as folder:
        assert folder.failed(exchange.key, exchange.digest)
        assert not folder.failed(exchange.key, "0" * len(exchange.digest))


def test_a_failure_at_a_new_prompt_replaces_the_reply_to_the_old_one(tmp_path: Path) -> None:
    """The reply to the same prompt stays, if it is complete."""
    (tmp_path / "parts").mkdir()
    folder = RunFolder(tmp_path, MediaFolder(tmp_path))
    folder.record(Exchange("key", "old", Reply("red")))
    folder.record(Exchange("key", "old", None, "503"))
    assert folder.recall("key", "old") == Reply("red")
    folder.record(Exchange("key", "new", None, "504"))
    assert folder.failed("key", "new")
    assert folder.error("key") == "504"


@pytest.mark.parametrize("name", ["text", "reasoning", "model"])
def test_a_reply_is_recorded_without_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Wherever a service repeats the key that it got."""
    monkeypatch.setenv("MY_STUB_API_KEY", "CANARY-OF-MINE-012345")
    (tmp_path / "parts").mkdir()
    folder = RunFolder(tmp_path, MediaFolder(tmp_path))
    fields: dict[str, Any] = {"text": "red", name: "with CANARY-OF-MINE-012345"}
    reply = folder.record(Exchange("key", "digest", Reply(**fields)))
    assert reply is not None
    assert getattr(reply, name) == "with [redacted]"
    assert b"CANARY" not in only_part(tmp_path).read_bytes()


def test_characters_of_reasoning_beside_an_ascii_text_are_joined(tmp_path: Path) -> None:
    """As the record is read again, so that tables made of either are equal."""
    (tmp_path / "parts").mkdir()
    folder = RunFolder(tmp_path, MediaFolder(tmp_path))
    reply = folder.record(Exchange("key", "digest", Reply("red", "\ud83d\ude00")))
    assert reply == Reply("red", "\U0001f600") == next(read_exchanges(tmp_path)).reply
