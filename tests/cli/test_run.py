"""`snellen run` when it refuses, stops or continues: calls, output and exit code."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from snellen.core.storage.parts import read_exchanges
from tests.cli.conftest import Command, Serve
from tests.helpers.sets import small_set
from tests.helpers.stub_server import Answer, ServedRequest, Status, Words

CHAT = "chat:openai-api/stubbed/model"


def test_a_refused_key_is_one_request_and_renders_nothing(
    snellen: Command, stub: Serve, tmp_path: Path, sets_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = small_set("combo", sets_folder)
    server = stub(Status(401, error={"message": "Incorrect API key", "type": "auth", "code": None}))
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))
    for itemset in ("combo", items.root):
        code, out, err = snellen("run", itemset, "--subject", CHAT, "--subject", "fake:chance", "--out", tmp_path / "r")
        assert (code, out, err.count("\n")) == (2, "", 2 if itemset == "combo" else 3), err
        assert f"{CHAT}: 401 Unauthorized" in err
        assert itemset != "combo" or not (tmp_path / "home").exists()
    assert server.count == 2
    assert not (tmp_path / "r").exists()


def test_a_missing_key_is_reported_within_five_seconds_of_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))
    before = os.times()
    words = ["run", "combo", "--subject", "chat:openai/gpt-4o", "--limit", "2"]
    command = [sys.executable, "-c", "from snellen.cli import main; main()", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = os.times()
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "OPENAI_API_KEY" in done.stderr
    assert not (tmp_path / "home").exists()
    assert after.children_user + after.children_system - before.children_user - before.children_system < 5


@pytest.mark.slow
def test_a_key_withdrawn_in_mid_run_ends_only_its_arm(
    snellen: Command, stub: Serve, tmp_path: Path, sets_folder: Path
) -> None:
    def answer(request: ServedRequest) -> Answer:
        return "A" if request.number <= 4 else Status(403)

    server = stub(answer)
    words = (
        "run",
        small_set("combo", sets_folder).root,
        "--subject",
        f"{CHAT}?max_concurrency=1",
        "--subject",
        "fake:chance",
    )
    code, out, err = snellen(*words, "--out", tmp_path / "run", "--json")
    (summary,) = json.loads(out)["runs"]
    assert code == 1
    assert server.count == 7, "a first question, three replies, three refusals"
    assert summary["failed"] >= 3
    assert summary["unasked"] > 0
    assert summary["failures"][CHAT][0].startswith(f"{summary['failed']} × 403 ")
    assert f"{CHAT} is no longer asked: 3 calls failed alike: 403 " in err
    stub("A")
    code, out, err = snellen(*words, "--out", tmp_path / "run")
    assert (code, "recorded)" in err, "partial" in err) == (0, True, False)
    code, out, err = snellen(*words, "--out", tmp_path / "run")
    opening = f"snellen: opening {CHAT}?max_concurrency=1\n"
    line = f"{tmp_path / 'run'}: finished earlier, so nothing was asked; another --out asks again\n"
    assert (code, err) == (0, opening + line), "a finished run announces no calls"
    (finished,) = json.loads(snellen(*words, "--out", tmp_path / "run", "--json")[1])["runs"]
    assert (finished["finished_earlier"], summary["finished_earlier"]) == (True, False)
    scored = [row for row in finished["results"] if row["subject"] == "fake:chance"]
    assert {row["task"] for row in scored} == {row["task"] for row in summary["results"]}
    assert all(row["n"] > 0 and (row["grade"] or row["state"]) and "chance" in row for row in scored), (
        "grades with the finished run too"
    )


def test_nobody_is_told_to_ask_recorded_subjects_again(snellen: Command, tmp_path: Path, sets_folder: Path) -> None:
    items = small_set("combo", sets_folder)
    ids = [item.item_id for item in items.items if item.split == "test"]
    rows = [{"id": ids[0], "reply": "The", "finish_reason": "length"}, {"id": ids[1], "reply": None}]
    file = tmp_path / "a.jsonl"
    for count in (2, 1):
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows[:count]))
        code, _, err = snellen("run", items.root, "-s", f"recorded:{file}", "--out", tmp_path / f"run-{count}")
        assert code == 1
        assert "recorded:a: partial, " in err
        assert "again" not in err
        assert ("failed and are not scored" in err) == (count == 2)


def test_a_budget_needs_prices_before_anything_is_asked(
    snellen: Command, stub: Serve, tmp_path: Path, sets_folder: Path
) -> None:
    server, items = stub("A"), small_set("combo", sets_folder).root
    priced = f"{CHAT}-2?price_in=2.5&price_out=10"
    words = ("run", items, "-s", CHAT, "-s", priced, "-s", "fake:chance", "--budget", "0.1", "--out", tmp_path / "run")
    code, out, err = snellen(*words)
    assert (code, out, server.count) == (2, "", 0)
    refusal = f"snellen: {CHAT}: --budget needs prices: ?price_in=…&price_out=… (per million tokens)"
    assert err.splitlines()[1:] == [refusal], "after the line that services are opened"
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_the_cost_printed_is_that_of_all_recorded_calls(
    snellen: Command, stub: Serve, tmp_path: Path, sets_folder: Path
) -> None:
    """A call of 2000 tokens in and 500 out costs 0.005 + 0.005 = 0.01, so 0.085 is enough for eight."""
    server = stub(Words("A", tokens=(2000, 500)))
    server.tail = random.Random(0)
    items, root = small_set("combo", sets_folder).root, tmp_path / "run"
    words = ["run", items, "-s", f"{CHAT}?price_in=2.5&price_out=10", "-s", "fake:chance", "--out", root]
    for budget, calls in (("0.085", 8), ("0.085", 8), ("0.125", 12)):
        code, out, err = snellen(*words, "--budget", budget, "--json")
        printed = json.loads(out)
        spent = f"{calls / 100:.4f} is spent of a budget of {float(budget):.4f}, and the next call costs about 0.0100"
        assert (code, spent in printed["stopped"], spent in err) == (1, True, True)
        assert printed["runs"][0]["cost"] == {CHAT: calls / 100}
        paid = [exchange.key for exchange in read_exchanges(root) if exchange.reply and exchange.reply.tokens_in]
        assert server.count == len(paid) == calls, "with first questions"
    code, out, err = snellen(*words, "--budget", "0.125")
    assert (code, server.count, f"\nCost of all calls: {CHAT} 0.1200\n" in out) == (1, 12, True)
    assert snellen("report", root, "--out", tmp_path / "report")[0] == 0
    page = next(page for page in (tmp_path / "report").rglob("*.html") if "cost of all calls" in page.read_text())
    assert f"{CHAT} 0.1200" in page.read_text()
    assert "<td>0.1000</td>" in page.read_text(), "ten about items, and two first questions"
