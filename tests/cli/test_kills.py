"""Commands that are repeatedly ended by signals come to the same result and leave no process."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from snellen.core.storage.itemset_cards import read_card
from snellen.core.storage.parts import read_exchanges
from snellen.core.storage.runfolder import read_run_card
from tests.helpers.processes import PATIENCE, start, wait_until
from tests.helpers.sets import SMALL_BUILD
from tests.helpers.stub_server import StubServer

pytestmark = pytest.mark.slow
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]


def living(session: int) -> list[str]:
    """The commands of the processes in a session, without zombies."""
    commands = []
    for folder in Path("/proc").iterdir():
        try:
            name, _, rest = (folder / "stat").read_text().rpartition(")")
            if folder.name.isdecimal() and rest.split()[0] != "Z" and int(rest.split()[3]) == session:
                commands.append(name)
        except OSError:
            continue
    return commands


def end(process: subprocess.Popen[str], number: int) -> tuple[int, str]:
    """Send the signal to the process only; return its exit code and messages once its session has no process left."""
    process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE)
    wait_until(lambda: not living(process.pid))
    return process.returncode, errors


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: signal.Signals(number).name)
def test_350_calls_ended_ten_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Calls in flight at SIGINT and SIGTERM are recorded, so that none is made twice; at SIGKILL only those may be."""
    pytest.importorskip("httpx", reason="the extra 'chat' is not installed")
    home, run, at_once, lives = tmp_path / "home", tmp_path / "run", 8, 10
    build = ["build", "combo/pattern-perception", *SMALL_BUILD, "--n", 50, "--out", tmp_path / "items"]
    assert start(build, home).communicate(timeout=PATIENCE)
    with StubServer("A", delay=0.15, keep=False) as server:
        monkeypatch.setenv("STUBBED_BASE_URL", server.url)
        monkeypatch.setenv("STUBBED_API_KEY", "k")
        subject = f"chat:openai-api/stubbed/model?max_concurrency={at_once}"
        words = ["run", tmp_path / "items", "--subject", subject, "--condition", "samples=1,questions=one"]

        def recorded() -> int:
            return sum(part.read_bytes().count(b"\n") for part in (run / "parts").glob("*.jsonl"))

        for life in range(lives):
            process, enough = start([*words, "--out", run], home), (life + 1) * 30
            wait_until(lambda enough=enough: recorded() >= enough)  # type: ignore[misc]
            code, errors = end(process, number)
            if number == signal.SIGKILL:
                assert code == -number
            else:
                assert code == 128 + number, errors
                assert f"stopped by {signal.Signals(number).name}; every reply so far is kept" in errors
                assert "Traceback" not in errors
        process = start([*words, "--out", run], home)
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, errors
        count = server.count
        again = start([*words, "--out", run], home)
        lines = again.communicate(timeout=PATIENCE)[1].splitlines()
        assert lines[0] == f"snellen: opening {subject}"
        assert all("nothing was asked" in line for line in lines[1:]), (
            "a finished run announces no calls and makes none"
        )
        assert server.count == count
    responses = pd.read_parquet(run / "responses.parquet")
    items = sum(read_run_card(run).arms[0].test_items.values())
    assert items > 40 + lives * 30
    assert len(responses) == responses["item_id"].nunique() == items
    assert responses["status"].eq("ok").all()
    keys = [exchange.key for exchange in read_exchanges(run) if exchange.key.count("/") > 1]
    assert len(keys) == len(set(keys)) == items
    first_questions = lives + 1
    twice = count - items - first_questions
    assert twice == 0 if number != signal.SIGKILL else 0 <= twice <= lives * at_once


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: signal.Signals(number).name)
def test_a_build_ended_three_times_makes_the_same_set(tmp_path: Path, number: int) -> None:
    build = ["build", "vlm2-bench", "--from", "generated", "--n", 3, "--renderer", "toy", "--size", "384x288"]
    build += ["--workers", 2]
    whole = start([*build, "--out", tmp_path / "whole"], tmp_path / "home-whole")
    assert whole.communicate(timeout=PATIENCE)[0]
    home, out = tmp_path / "home", tmp_path / "items"

    def images() -> int:
        return sum(1 for folder in (home, out) for path in folder.rglob("*") if path.is_file())

    files = sum(1 for folder in (tmp_path / "home-whole", tmp_path / "whole") for p in folder.rglob("*") if p.is_file())
    for life in range(3):
        process, enough = start([*build, "--out", out], home), (life + 1) * files // 8
        wait_until(lambda enough=enough: images() >= enough)  # type: ignore[misc]
        code, errors = end(process, number)
        assert code == (-number if number == signal.SIGKILL else 128 + number), errors
        assert "Traceback" not in errors
        assert not (out / "itemset.json").exists()
    last = start([*build, "--out", out], home)
    _, errors = last.communicate(timeout=PATIENCE)
    assert last.returncode == 0, errors
    hashes = [(card.recipe_hash, card.content_hash) for card in map(read_card, (tmp_path / "whole", out))]
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: signal.Signals(number).name)
def test_an_interrupted_report_is_written_by_the_next_run(tmp_path: Path, number: int) -> None:
    home, items, run = tmp_path / "home", tmp_path / "items", tmp_path / "run"
    build = ["build", "vfm-bench", "--from", "generated", "--n", 4, "--renderer", "toy", "--size", "384x288"]
    build += ["--out", items]
    ask = ["run", items, "--subject", "fake:oracle", "--subject", "fake:chance", "--out", run]
    for words in (build, ask, ["report", run, "--out", tmp_path / "whole"]):
        assert start(words, home).communicate(timeout=PATIENCE)[0]
    report = ["report", run, "--out", tmp_path / "report"]
    process = start(report, home)
    wait_until(lambda: (tmp_path / "report" / "results.csv").is_file())
    code, errors = end(process, number)
    assert code == (-number if number == signal.SIGKILL else 128 + number), errors
    assert not (tmp_path / "report" / "index.html").exists()
    last = start(report, home)
    _, errors = last.communicate(timeout=PATIENCE)
    assert last.returncode == 0, errors
    for name in ("index.html", "results.csv"):
        assert (tmp_path / "report" / name).read_text("utf-8") == (tmp_path / "whole" / name).read_text("utf-8")
