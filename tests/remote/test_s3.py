"""A local S3 server: build, run, kill, resume here and elsewhere, report; failures are one line."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from snellen.core.storage.parts import read_exchanges
from tests.helpers.stub_server import StubServer

pytestmark = pytest.mark.slow
PATIENCE = 300
"""Timeout in seconds; no measurement depends on it."""
SECRET = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY"
BEGIN = (
    "import snellen.remote.writers as writers; writers.BEAT_SECONDS = 0.5; writers.STALE_SECONDS = 3.0; "
    "from snellen.cli import main; main()"
)
BUILD = ["build", "combo/pattern-perception", "--from", "generated", "--n", 10, "--renderer", "toy"]
BUILD += ["--size", "160x120"]
SET, RUN = "s3://bucket/sets/pattern", "s3://bucket/runs/first"


@pytest.fixture
def s3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A server with an empty bucket, found by commands in the environment; `server.stop()` simulates a lost network."""
    pytest.importorskip("s3fs", reason="the extra 'remote' is not installed")
    server_module = pytest.importorskip("moto.server", reason="moto is not installed")
    for name, text in {
        "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
        "SNELLEN_HOME": str(tmp_path / "home"),
    }.items():
        monkeypatch.setenv(name, text)
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    urllib.request.urlopen(urllib.request.Request(f"http://{host}:{port}/moto-api/reset", method="POST")).close()
    import boto3

    boto3.client("s3").create_bucket(Bucket="bucket")
    yield server
    server.stop()


def objects(prefix: str) -> dict[str, bytes]:
    import boto3

    bucket = boto3.resource("s3").Bucket("bucket")
    return {row.key.removeprefix(prefix): row.get()["Body"].read() for row in bucket.objects.filter(Prefix=prefix)}


def start(*words: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", BEGIN, *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def give(*words: object) -> tuple[int, str, str]:
    process = start(*words)
    out, errors = process.communicate(timeout=PATIENCE)
    assert SECRET not in out + errors
    assert "Traceback" not in errors
    return process.returncode, out, errors


def wait_until(process: subprocess.Popen[str], condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)


def lines_there() -> int:
    return sum(raw.count(b"\n") for raw in objects("runs/first/parts/").values())


@pytest.mark.parametrize("goes_on", ["here", "elsewhere"])
def test_a_killed_run_resumes_without_loss(
    s3: Any, goes_on: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On this machine only calls in flight are repeated; elsewhere also those recorded since the last upload."""
    pytest.importorskip("inspect_ai", reason="the extra 'chat' is not installed")
    code, _, errors = give(*BUILD, "--out", SET)
    assert code == 0, errors
    assert give(*BUILD, "--out", tmp_path / "local")[0] == 0
    card = objects("sets/pattern/itemset.json")[""]
    assert card == (tmp_path / "local" / "itemset.json").read_bytes()
    at_once = 4
    with StubServer("A", delay=0.2) as server:
        monkeypatch.setenv("STUBBED_BASE_URL", server.url)
        monkeypatch.setenv("STUBBED_API_KEY", "k")
        words = ["run", SET, "--subject", f"chat:openai-api/stubbed/model?max_concurrency={at_once}"]
        words += ["--condition", "samples=1,questions=one", "--out", RUN]
        recorded = 0
        for enough in (15, 35):
            process = start(*words)
            wait_until(process, lambda enough=enough: lines_there() >= enough)  # type: ignore[misc]
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=PATIENCE)
            recorded = lines_there()
            assert "responses.parquet" not in objects("runs/first/")
            if goes_on == "elsewhere":
                monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / f"home-{enough}"))
        items = _asked_items()
        assert 35 <= recorded < items
        before = server.count
        code, _, errors = give(*words)
        assert code == 0, errors
        assert ("waiting up to 3 seconds for a heartbeat" in errors) is (goes_on == "elsewhere")
        calls, count = server.count - before, server.count
        assert calls <= items - recorded + 1 + at_once, "uploaded responses are not asked again"
        code, _, errors = give(*words)
        assert (code, server.count) == (0, count), errors
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "reader"))
    code, out, errors = give("verify", RUN)
    assert code == 0, errors
    code, out, errors = give("report", RUN, "--out", "s3://bucket/report")
    assert (code, out) == (0, "s3://bucket/report/index.html\n"), errors
    assert b"home" not in objects("report/index.html")[""].replace(b"homepage", b"")
    _check(tmp_path / "copy")


def _asked_items() -> int:
    (arm,) = json.loads(objects("runs/first/run.json")[""])["arms"]
    return int(sum(arm["test_items"].values()))


def _check(copy: Path) -> None:
    items = _asked_items()
    for name, raw in objects("runs/first/").items():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes(raw)
    responses = pd.read_parquet(copy / "responses.parquet")
    assert len(responses) == responses["item_id"].nunique() == items
    assert responses["status"].eq("ok").all()
    keys = Counter(exchange.key for exchange in read_exchanges(copy) if exchange.key.count("/") > 1)
    assert len(keys) == items
    assert len(pd.read_parquet(copy / "exchanges.parquet")) >= items
    assert not [name for name, raw in objects("").items() if SECRET.encode() in raw]


def test_two_machines_cannot_write_at_the_same_time(s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("inspect_ai", reason="the extra 'chat' is not installed")
    assert give(*BUILD, "--out", SET)[0] == 0
    with StubServer("A", delay=2.0) as server:
        monkeypatch.setenv("STUBBED_BASE_URL", server.url)
        monkeypatch.setenv("STUBBED_API_KEY", "k")
        words = ["run", SET, "--subject", "chat:openai-api/stubbed/model?max_concurrency=2", "--out", RUN]
        words += ["--condition", "samples=1,questions=one"]
        process = start(*words)
        wait_until(process, lambda: lines_there() >= 1)
        monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "second"))
        code, _, errors = give(*words)
        assert code == 2
        assert f"snellen: {RUN}: another process is writing there" in errors
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130, errors
        assert f"{RUN}: stopped by SIGINT; every reply so far is kept" in errors
    assert "responses.parquet" in objects("runs/first/")
    assert lines_there() >= 1


def test_failures_are_reported_in_one_line(s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.delenv(name)
        code, _, errors = give("verify", SET)
        assert (code, errors.count("\n")) == (2, 1)
        assert errors.startswith(f"snellen: {SET}: Unable to locate credentials; set AWS_ACCESS_KEY_ID")
    code, _, errors = give("run", "combo", "-s", "fake:chance", "--out", "s3://nobucket/run")
    assert (code, errors.count("\n")) == (2, 1)
    assert errors.startswith(
        "snellen: s3://nobucket/run: The specified bucket does not exist; create the bucket, or correct the URL"
    )
    assert give("build", "combo/pattern-perception", "--from", "generated", "--n", 2, "--renderer", "toy", "--size",
                "160x120", "--out", SET)[0] == 0  # fmt: skip
    s3.stop()
    for words in (["verify", SET], ["run", SET, "-s", "fake:chance", "--out", RUN], ["report", RUN, "--out", "r"]):
        code, _, errors = give(*words)
        assert (code, errors.count("\n")) == (2, 1), errors
        assert "Could not connect to the endpoint URL" in errors


def test_a_network_failure_during_a_run_costs_no_reply(
    s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("inspect_ai", reason="the extra 'chat' is not installed")
    assert give(*BUILD, "--out", SET)[0] == 0
    with StubServer("A", delay=0.1) as server:
        monkeypatch.setenv("STUBBED_BASE_URL", server.url)
        monkeypatch.setenv("STUBBED_API_KEY", "k")
        words = ["run", SET, "--subject", "chat:openai-api/stubbed/model?max_concurrency=4", "--out", RUN]
        words += ["--condition", "samples=1,questions=one"]
        process = start(*words)
        wait_until(process, lambda: lines_there() >= 5)
        s3.stop()
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 2
        assert "Traceback" not in errors
        assert SECRET not in errors
        assert "all finished work is kept in" in errors
        count = server.count
        s3.start()  # with the same buckets, which are in this process
        host, port = s3.get_host_and_port()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        code, _, errors = give(*words)
        assert (code, server.count - count) in {(0, 0), (0, 1)}, errors  # at most the first question
    _check(tmp_path / "copy")
