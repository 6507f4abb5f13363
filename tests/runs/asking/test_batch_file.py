"""Batch files hold the requests that a run sends, and their results score like the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx", reason="the extra 'chat' is not installed")

from snellen.cli.asking import write_requests
from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.storage.itemset import ItemSet
from snellen.exam.examine import run
from snellen.exam.items import find_items
from snellen.runs.asking.batch_file import write_batch
from snellen.runs.planning.options import RunOptions
from snellen.subjects.chat import ChatSubject, make_chat
from snellen.subjects.registry import subjects_of
from snellen.suites import suite_of
from tests.helpers.stub_server import StubServer


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SNELLEN_HOME", str(tmp_path_factory.mktemp("home")))
        return find_items("thresholds/touching", limit=12, test_only=True, show_progress=False)


@pytest.mark.parametrize(("condition", "seed"), [("vanilla", 0), ("images=shuffled", 7)])
def test_requests_are_those_of_a_run_and_results_score_like_it(
    items: ItemSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, condition: str, seed: int
) -> None:
    with StubServer(lambda request: "yes" if len(request.images[0]) % 2 else "no") as server:
        monkeypatch.setenv("LOCAL_BASE_URL", server.url)
        monkeypatch.setenv("LOCAL_API_KEY", "none")
        subject = make_chat("openai-api/local/m", {"max_tokens": "16", "max_px": "100"})
        assert isinstance(subject, ChatSubject)
        points = parse_conditions(suite_of(items).axes, condition)
        count = write_batch(tmp_path / "b.jsonl", items, subject, points, seed=seed)
        lines = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text().splitlines()]
        examination = run(subject, items, conditions=(condition,), seed=seed, out=tmp_path / "run", show_progress=False)
        sent = [request.body for request in server.requests if request.images]
    assert count == len(lines) == len(items.items)
    assert {line["url"] for line in lines} == {"/v1/chat/completions"}
    replies = {response.item_id: response.text for response in examination.responses}
    mark = f"@{digest(items.card.rows_hash, 8)}" + (f"@{condition}@seed={seed}" if condition != "vanilla" else "")
    assert set(replies) <= {line["custom_id"].removesuffix(mark) for line in lines}  # a run of this suite asks fewer
    assert len(sent) == len(replies)
    assert all(body in [line["body"] for line in lines] for body in sent)
    (tmp_path / "results.jsonl").write_text(
        "".join(result(line, replies.get(line["custom_id"].partition("@")[0])) for line in lines)
    )
    spec = f"recorded:{tmp_path / 'results.jsonl'}"
    recorded = run(spec, items, seed=seed, out=tmp_path / "again", show_progress=False)
    assert {response.subject for response in recorded.responses} == {"recorded:m-2026"}
    assert {response.item_id: response.text for response in recorded.responses if response.text} == replies
    assert {response.condition for response in recorded.responses} == {condition}
    text = (tmp_path / "results.jsonl").read_text()
    (tmp_path / "results.jsonl").write_text(text.replace(mark, f"@01234567{mark[9:]}"))
    with pytest.raises(SnellenError, match=r"row 1: .* is of a batch written for another item set"):
        run(f"recorded:{tmp_path / 'results.jsonl'}", items, out=tmp_path / "other", show_progress=False)


@pytest.mark.parametrize(
    ("condition", "seed", "hint"),
    [
        ("vanilla", 0, "recorded:RESULTS.jsonl"), ("vanilla", 5, "recorded:RESULTS.jsonl --condition vanilla --seed 5"),
        ("box_unit=own", 0, "'recorded:RESULTS.jsonl?box_unit=thousandths' --condition box_unit=own --seed 0"),
    ],
)  # fmt: skip
def test_the_command_for_results_names_all_that_decides_how_they_are_read(
    items: ItemSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, condition: str, seed: int, hint: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    options = RunOptions(conditions=(condition,), seed=seed)
    write_requests([str(items.root)], ["chat:openai/qwen3-vl-8b"], options, tmp_path / "b.jsonl")
    assert capsys.readouterr().out.endswith(f"snellen run {items.root} --subject {hint}\n")


def result(line: dict[str, Any], reply: str | None) -> str:
    """A line of a batch's results; without a reply it failed."""
    body = {"model": "m-2026", "choices": [{"finish_reason": "stop", "message": {"content": reply}}]}
    failure = {"model": "m-2026", "error": {"message": "expired", "type": "batch_expired"}}
    answer = {"status_code": 200 if reply else 500, "body": body if reply else failure}
    return json.dumps({"custom_id": line["custom_id"], "response": answer, "error": None}) + "\n"


def test_what_a_batch_cannot_hold_is_refused(items: ItemSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    vanilla = parse_conditions(suite_of(items).axes, "vanilla")
    (fake,) = subjects_of("fake:chance", items.items)
    with pytest.raises(SnellenError, match="chat completions"):
        write_batch(tmp_path / "b.jsonl", items, fake, vanilla)
    with pytest.raises(SnellenError, match="one condition"):
        write_batch(tmp_path / "b.jsonl", items, make_chat("openai/gpt-4o", {}), [*vanilla, *vanilla])
