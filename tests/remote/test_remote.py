"""Sets, runs and reports at URLs: the same as in folders, continued after a kill, and errors in one line."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import snellen as package
from snellen import remote
from snellen.core.errors import SnellenError
from snellen.core.storage.parts import read_exchanges
from snellen.core.storage.runfolder import read_run_card
from snellen.remote import ITEMSET, RUN, address_of, fetched, is_url, lies_there, published, record_folder, with_urls
from snellen.reports import load_run
from tests.cli.conftest import Command, snellen
from tests.helpers.processes import wait_until
from tests.helpers.sets import small_set
from tests.helpers.stub_server import StubServer
from tests.reports.exam import leave_out_figures

__all__ = ["snellen"]
PART, IMAGE = "parts/0000.jsonl", f"media/ab/ab{'0' * 62}.png"


def objects(url: str) -> dict[str, bytes]:
    import fsspec.core

    files, top = fsspec.core.url_to_fs(url)
    paths = files.find(top) if files.exists(top) else []
    return {path.removeprefix(f"{top.rstrip('/')}/"): files.cat_file(path) for path in paths}


def write(root: Path, contents: Mapping[str, bytes]) -> None:
    for name, raw in contents.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(raw)


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], None]:
    """Go on on another machine, with another home folder."""
    return lambda: monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "other-home"))


@pytest.fixture
def uploaded(url: str, sets_folder: Path) -> Path:
    """A small set in a folder, and a copy of it in `set` at the URL."""
    items = small_set("vlm2-bench", sets_folder)
    with published(f"{url}/set", card=ITEMSET) as root:
        shutil.copytree(items.root, root)
    return items.root


def test_a_run_at_urls_equals_one_in_folders(
    url: str, uploaded: Path, snellen: Command, tmp_path: Path, elsewhere: Callable[[], None]
) -> None:
    words = ["--subject", "fake:chance", "--limit", 2, "--json"]
    elsewhere()
    code, out, errors = snellen("run", f"{url}/set", *words, "--out", f"{url}/run")
    assert (code, errors) == (0, "")
    assert json.loads(out)["runs"][0]["run"] == f"{url}/run"
    assert snellen("run", uploaded, *words, "--out", tmp_path / "run")[0] == 0
    root, local = fetched(f"{url}/run"), tmp_path / "run"
    assert read_run_card(root).itemset == f"{url}/set"
    for table in ("responses", "exchanges", "scores.strict"):
        expected, rows = (pd.read_parquet(folder / f"{table}.parquet") for folder in (local, root))
        pd.testing.assert_frame_equal(rows, expected)
    assert {name.partition("/")[0] for name in objects(f"{url}/run")} == {p.name for p in local.iterdir()} - {"lock"}
    code, out, _ = snellen("verify", f"{url}/run")
    assert code == 0
    assert out.startswith(f"{url}/run: whole; ")
    assert out.splitlines()[0].endswith(f"about {url}/set")


@pytest.mark.slow
def test_the_other_commands_take_urls(
    url: str, uploaded: Path, snellen: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    elsewhere: Callable[[], None],
) -> None:  # fmt: skip
    run, report = f"{url}/run", f"{url}/report"
    leave_out_figures(monkeypatch)
    package.examine(["fake:oracle", "fake:chance"], f"{url}/set", out=run, limit=1, show_progress=False)
    elsewhere()
    assert len(load_run(run).responses) > 0
    code, out, _ = snellen("score", run, "--protocol", "published")
    assert (code, out.startswith(f"{run}/scores.published.parquet: ")) == (0, True)
    assert lies_there(run, "scores.published.parquet")
    page = tmp_path / "diff.html"
    assert snellen("diff", f"{run}:fake:oracle", f"{run}:fake:chance", "--out", page, "--json")[0] == 0
    assert f"snellen: {run}: holds no subject 'fake:nobody'" in snellen("diff", f"{run}:fake:nobody", run)[2]
    errors = snellen("diff", f"{url}/none?signature=abcdef", run)[2]
    assert errors == f"snellen: {url}/none: is neither a run nor a log; give a run folder, or RUN:SUBJECT\n"
    code, out, _ = snellen("report", run, "--out", report)
    assert (code, out.splitlines()[0]) == (0, f"{report}/index.html")
    texts = [raw for name, raw in objects(report).items() if name.endswith((".html", ".csv", ".json"))]
    assert not [raw for raw in texts if b"other-home" in raw], "pages name URLs, not local copies"


@pytest.mark.slow
def test_a_set_is_complete_or_not_there(
    url: str, snellen: Command, elsewhere: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    build = ["build", "vlm2-bench/gc-mat", "--from", "generated", "--n", 1, "--renderer", "toy", "--size", "160x120"]
    build += ["--json", "--out", url]
    with monkeypatch.context() as patch:
        patch.setattr(remote, "_rank", lambda name: {}[name] if name == "items.parquet" else 1)
        code, out, errors = snellen(*build)
    assert (code, out, errors.count("\n")) == (2, "", 1)
    assert "; all work" in errors
    assert ITEMSET not in objects(url)
    assert snellen("verify", url)[0] == 2
    code, out, _ = snellen(*build)
    assert (code, json.loads(out)["itemset"]) == (0, url)
    elsewhere()
    assert snellen("verify", url)[1].startswith(f"{url}: whole")
    assert snellen(*build)[2].startswith(f"snellen: {url}: already contains an item set")


def test_files_are_copied_when_they_differ_and_cards_last(url: str, elsewhere: Callable[[], None]) -> None:
    contents = {PART: b"1\n", IMAGE: b"pixels", "scores.parquet": b"old", RUN: b"{}", "stamp.json": b"s"}
    with record_folder(url) as root:
        write(root, {**contents, "lock": b"", "scores.parquet.host-1.half": b"o"})
    assert objects(url) == contents
    assert sorted([RUN, PART, "stamp.json", IMAGE], key=remote._rank) == [PART, IMAGE, RUN, "stamp.json"]
    elsewhere()
    with record_folder(url) as other:
        assert {name: (other / name).read_bytes() for name in contents} == contents
        write(other, {"scores.parquet": b"new", "parts/0001.jsonl": b"2\n"})
    assert objects(url) == {**contents, "scores.parquet": b"new", "parts/0001.jsonl": b"2\n"}
    assert (fetched(url) / "scores.parquet").read_bytes() == b"new"


def test_calls_that_were_not_uploaded_are_kept(url: str) -> None:
    with record_folder(url) as root:
        write(root, {PART: b"1\n", RUN: b"{}", "scores.parquet": b"old"})
    write(root, {PART: b"1\n2\n", "scores.parquet": b"lost"})
    with record_folder(url):
        assert (root / PART).read_bytes() == b"1\n2\n"
        assert (root / "scores.parquet").read_bytes() == b"old", "tables are made again from the record"
    assert objects(url)[PART] == b"1\n2\n"


def test_the_record_is_uploaded_before_the_end_and_after_failures(
    url: str, elsewhere: Callable[[], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A process that dies leaves its uploads to others; a network that fails and returns stops nothing."""
    monkeypatch.setattr(remote, "PUT_SECONDS", 0.005)
    line = b'{"key":"a/b/c","digest":"d","reply":{"text":"A"},"crc":1418025188}\n'
    with record_folder(url) as root:
        with monkeypatch.context() as patch:
            patch.setattr(remote, "_rank", lambda name: {}[name])
            write(root, {PART: line + b'{"key":"torn', RUN: b"{}", "scores.parquet": b"half"})
            wait_until(lambda: "all work is kept" in capsys.readouterr().err)
        wait_until(lambda: RUN in objects(url))
        assert set(objects(url)) == {PART, RUN}
        elsewhere()
        assert [exchange.key for exchange in read_exchanges(fetched(url))] == ["a/b/c"]
    assert "scores.parquet" in objects(url)


def test_after_an_error_a_run_is_uploaded_and_a_report_is_not(url: str) -> None:
    def stop(root: Path) -> None:
        write(root, {RUN: b"{}"})
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), record_folder(f"{url}/run") as root:
        stop(root)
    with pytest.raises(KeyboardInterrupt), published(f"{url}/report") as root:
        stop(root)
    assert list(objects(url)) == [f"run/{RUN}"]


@pytest.mark.slow
@pytest.mark.parametrize("url", ["file"], indirect=True)
@pytest.mark.parametrize("goes_on", ["here", "elsewhere"])
def test_a_killed_run_loses_only_what_was_in_flight(
    url: str, uploaded: Path, goes_on: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("httpx", reason="the extra 'chat' is not installed")
    begin = "from snellen import remote; remote.PUT_SECONDS = 0.2; from snellen.cli import main; main()"
    at_once, run = 4, f"{url}/run"
    with StubServer("A", delay=0.1) as server:
        monkeypatch.setenv("STUBBED_BASE_URL", server.url)
        monkeypatch.setenv("STUBBED_API_KEY", "k")
        words = ["run", f"{url}/set", "-s", f"chat:openai-api/stubbed/model?max_concurrency={at_once}", "--out", run]
        command: list[Any] = [sys.executable, "-c", begin, *words]
        process = subprocess.Popen(command)
        wait_until(lambda: lines(run) >= 10)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if goes_on == "elsewhere":
            monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "other-home"))
        put_calls, before = lines(run), server.count
        finished = subprocess.run(command, capture_output=True, text=True)
        assert finished.returncode == 0, finished.stderr
    (arm,) = json.loads(objects(run)[RUN])["arms"]
    items = sum(arm["test_items"].values())
    assert 10 <= put_calls < items
    assert server.count - before <= items - put_calls + 1 + at_once
    responses = pd.read_parquet(fetched(run) / "responses.parquet")
    assert len(responses) == responses["item_id"].nunique() == items


def lines(run: str) -> int:
    return sum(raw.count(b"\n") for name, raw in objects(run).items() if name.startswith("parts/"))


@pytest.mark.parametrize(
    ("address", "expected"),
    [("s3://bucket/run", True), ("GS://b/r", True), ("runs/first", False), ("a:b//c", False), (Path("s3://b"), False)],
)
def test_a_url_has_a_scheme_and_is_text(address: str | Path, expected: bool) -> None:
    assert is_url(address) is expected


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("memory://bucket/nothing", "contains neither itemset.json nor run.json"),
        ("nosuch://bucket/set", "Protocol not known"),
        ("s3://user:secret99@bucket/set", "may hold no user, key or query"),
        ("sftp://key:secret99/word@host/set", "may hold no user, key or query"),
        ("https://host/run?X-Amz-Signature=secret99", "may hold no user, key or query"),
        ("https://host/run#secret99", "may hold no user, key or query"),
        ("s3://bucket/../other", "write the URL of a folder"),
    ],
)
@pytest.mark.parametrize("url", ["memory"], indirect=True)
@pytest.mark.usefixtures("url")
def test_unreadable_addresses_are_refused_in_one_line(snellen: Command, address: str, reason: str) -> None:
    for words in (["verify", address], ["report", address, "--out", "unused"]):
        code, out, errors = snellen(*words)
        assert (code, out, errors.count("\n")) == (2, "", 1)
        assert reason in errors
        assert "secret99" not in errors


@pytest.mark.parametrize("url", ["memory"], indirect=True)
def test_failures_of_a_store_are_one_line_without_keys(
    url: str, snellen: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fsspec.core
    from fsspec.implementations.memory import MemoryFileSystem

    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY")

    def refuse(files: MemoryFileSystem, path: str, mode: str) -> None:
        raise PermissionError("signature of wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY\ndoes not match")

    def missing(address: str, **options: object) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(MemoryFileSystem, "open", refuse)
    code, _, errors = snellen("verify", url)
    assert (code, errors.count("\n"), "wJalr" in errors) == (2, 1, False)
    assert "does not match; check URL, credentials" in errors
    monkeypatch.setattr(fsspec.core, "url_to_fs", missing)
    code, _, errors = snellen("verify", "s3://bucket/set")
    assert (code, errors.count("\n")) == (2, 1)
    assert "Install s3fs to access S3; for s3:// that is pip install" in errors


def test_calls_that_a_failed_transfer_abandons_print_no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    """Asyncio logs the exception of a future that nobody awaits, with its traceback."""
    pytest.importorskip("aiohttp", reason="the extra 'remote' is not installed")
    loop = remote._Copy("http://127.0.0.1:9/runs")._files.loop

    async def abandon() -> None:
        loop.create_future().set_exception(ConnectionResetError("the network is lost"))

    asyncio.run_coroutine_threadsafe(abandon(), loop).result(60)
    assert not caplog.records


def test_files_outside_the_folder_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from fsspec.implementations.memory import MemoryFileSystem

    monkeypatch.setattr(MemoryFileSystem, "store", {})
    for name in ("run.json", "../outside"):
        MemoryFileSystem().pipe_file(f"/evil/{name}", b"{}")
    monkeypatch.setattr(MemoryFileSystem, "find", lambda self, top, detail: {f"{top}../x": {"size": 1}})
    with pytest.raises(SnellenError, match=r"'\.\./x' would lie outside the folder"):
        fetched("memory://evil")


def test_a_card_is_read_up_to_its_limit(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write(remote._Copy(url).root, {"run.json": b"{}"})
    remote._Copy(url).put()
    monkeypatch.setattr(remote, "MAX_CARD_BYTES", 1)
    with pytest.raises(SnellenError, match=r"run\.json has more than 0 MB"):
        fetched(url)


def test_local_copies_are_named_by_their_url(url: str, tmp_path: Path, home: Path) -> None:
    with published(f"{url}/") as root:
        assert address_of(root) == url
        assert address_of(root / "judgements" / "items") == f"{url}/judgements/items"
        assert (
            with_urls(f"{root / 'run.json'}: malformed; see {root}, {root}.")
            == f"{url}/run.json: malformed; see {url}, {url}."
        )
    for folder in (tmp_path / "runs" / "first", Path("runs/first"), home / "remote", home / "remote" / "0123abcd"):
        assert address_of(folder) == str(folder)
        assert with_urls(f"{folder}: gone") == f"{folder}: gone"


def test_two_sets_of_one_suite_are_not_asked_in_one_run(url: str, uploaded: Path, snellen: Command) -> None:
    code, out, errors = snellen("run", f"{url}/set", uploaded, "--subject", "fake:chance", "--out", f"{url}/run")
    assert (code, out) == (2, "")
    assert errors == (
        f"snellen: --out {url}/run: two of the sets are of the same suite; use a separate command and --out for each\n"
    )
    assert objects(f"{url}/run") == {}
