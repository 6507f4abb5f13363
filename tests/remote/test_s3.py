"""A local S3 server: build, run, kill, continue elsewhere, report; failures are one line."""

from __future__ import annotations

import os
import signal
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.helpers.processes import PATIENCE, start, wait_until
from tests.helpers.sets import SMALL_BUILD
from tests.helpers.stub_server import StubServer

pytestmark = pytest.mark.slow
SECRET = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY"
BEGIN = "import snellen.remote as remote; remote.PUT_SECONDS = 0.5; "
BUILD = ("build", "combo/pattern-perception", *SMALL_BUILD, "--n", 10)
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


def give(*words: object) -> tuple[int, str, str]:
    process = start(words, begin=BEGIN)
    out, errors = process.communicate(timeout=PATIENCE)
    assert SECRET not in out + errors
    assert "Traceback" not in errors
    return process.returncode, out, errors


def recorded() -> int:
    return sum(raw.count(b"\n") for raw in objects("runs/first/parts/").values())


@pytest.mark.parametrize("stop", ["kill", "lost network"])
def test_an_interrupted_run_continues_from_what_was_uploaded(
    s3: Any, stop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a kill it goes on elsewhere; after a lost network here, where nothing is asked again."""
    pytest.importorskip("httpx", reason="the extra 'chat' is not installed")
    code, _, errors = give(*BUILD, "--out", SET)
    assert code == 0, errors
    with StubServer("A", delay=0.1) as server:
        monkeypatch.setenv("STUBBED_BASE_URL", server.url)
        monkeypatch.setenv("STUBBED_API_KEY", "k")
        words = ["run", SET, "--subject", "chat:openai-api/stubbed/model?max_concurrency=4"]
        words += ["--condition", "samples=1,questions=one", "--out", RUN]
        process = start(words, begin=BEGIN)
        wait_until(lambda: recorded() >= 10 or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        if stop == "kill":
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=PATIENCE)
            assert "responses.parquet" not in objects("runs/first/")
            monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "elsewhere"))
        else:
            s3.stop()
            _, errors = process.communicate(timeout=PATIENCE)
            assert process.returncode == 2
            assert "Traceback" not in errors
            assert f"all work is kept in {os.environ['SNELLEN_HOME']}/remote" in errors
            s3.start()  # with the same buckets, which are in this process
            monkeypatch.setenv("AWS_ENDPOINT_URL", "http://{}:{}".format(*s3.get_host_and_port()))
        put_calls, before = recorded(), server.count
        code, _, errors = give(*words)
        assert code == 0, errors
        repeated = server.count - before
        assert give(*words)[0] == 0
        assert server.count - before == repeated, "a finished run asks nothing"
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "reader"))
    code, out, errors = give("report", RUN, "--out", "s3://bucket/report")
    assert (code, out) == (0, "s3://bucket/report/index.html\n"), errors
    (tmp_path / "responses.parquet").write_bytes(objects("runs/first/responses.parquet")[""])
    responses = pd.read_parquet(tmp_path / "responses.parquet")
    assert responses["status"].eq("ok").all()
    assert len(responses) == responses["item_id"].nunique()
    assert repeated <= (len(responses) - put_calls + 1 + 4 if stop == "kill" else 1)  # 1: the first question
    assert not [name for name, raw in objects("").items() if SECRET.encode() in raw]


def test_failures_are_reported_in_one_line(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.delenv(name)
        code, _, errors = give("verify", SET)
        assert (code, errors.count("\n")) == (2, 1)
        assert errors.startswith(f"snellen: {SET}: Unable to locate credentials; check URL, credentials and network")
    assert give(*BUILD, "--out", SET)[0] == 0
    code, _, errors = give("run", SET, "-s", "fake:chance", "--out", "s3://nobucket/run")
    assert (code, errors.count("\n")) == (2, 1), errors
    assert "s3://nobucket/run: The specified bucket does not exist" in errors
    s3.stop()
    for words in (["verify", SET], ["run", SET, "-s", "fake:chance", "--out", RUN], ["report", RUN, "--out", "r"]):
        code, _, errors = give(*words)
        assert (code, errors.count("\n")) == (2, 1), errors
        assert "Could not connect to the endpoint URL" in errors
