"""What servers are known to do: each row of the table in docs/chat.md, played by a local server."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("httpx", reason="the extra 'chat' is not installed")

from snellen.core.errors import CallFailed
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.media import MediaFolder
from snellen.subjects.chat import ChatSubject, make_chat
from snellen.subjects.chat.client import endpoint_of, generation_settings, is_compatible
from snellen.subjects.chat.settings import read_settings
from tests.helpers.stub_server import Answer, Body, Status, StubServer, Words

LOADING = {"message": "Loading model", "type": "unavailable_error", "code": 503}
MMPROJ = {"code": 500, "message": "image input is not supported - hint: you may need to provide the mmproj"}
ONE_IMAGE = "At most 1 image(s) may be provided in one prompt."
PAGE = "<!doctype html><html><head><style>p {}</style><title>Sign in</title></head><body>to continue</body></html>"
THINKING = [{"type": "thinking", "thinking": [{"type": "text", "text": "maybe B"}]}, {"type": "text", "text": "A"}]
CHOICE = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "A"}}


def raw(status: int = 200, kind: str = "application/json", **fields: Any) -> Body:
    """JSON with these fields."""
    return Body(json.dumps(fields), kind, status)


def completion(usage: Any = None, **fields: Any) -> Body:
    """A completion whose only choice has these fields."""
    return raw(model="m", choices=[{**CHOICE, **fields}], usage=usage)


def failed(reason: str, attempts: int = 2) -> str:
    return f"{reason} (attempt {attempts})"


A, THOUGHT = Reply("A", model="m"), Reply("A", reasoning="maybe B", model="m")
OVERLOADED = {"message": "Provider returned error", "code": 429, "metadata": {"raw": "rate limited upstream"}}
SERVERS: dict[str, list[tuple[Answer, Reply | str]]] = {
    "status 200 with an `error`": [
        (raw(error="Unexpected endpoint."), "failure in place of a reply: Unexpected endpoint. (http://HOST) (does "),
        (raw(error=OVERLOADED, user_id="u"),
         failed("429 failure in place of a reply: Provider returned error, rate limited upstream")),
        (raw(choices=None, error={"message": "Rate limit exceeded", "code": 429}),
         failed("429 failure in place of a reply: Rate limit exceeded")),
        (raw(error={"message": "no credits", "code": 402}), failed("402 failure in place of a reply: no credits", 1)),
    ],
    "an error in the choice, or as the reason why it ended": [
        (completion(error={"code": 502, "message": "Upstream error"}, finish_reason="error"),
         failed("502 failure in place of a reply: Upstream error")),
        (completion(finish_reason="abort"), failed("failure in place of a reply: finish_reason 'abort'")),
    ],
    "`detail` in place of `error`": [
        (raw(422, detail=[{"type": "extra", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]),
         failed("422 Unprocessable Entity: body.seed: Extra inputs are not permitted", 1)),
        (raw(404, detail="Not Found"), "404 Not Found: Not Found (http://HOST) (does the base URL end with /v1"),
    ],
    "`message` in place of `error`": [
        (raw(400, object="error", message=ONE_IMAGE, type="BadRequestError", code=400),
         failed(f"400 Bad Request: {ONE_IMAGE}", 1)),
    ],
    "a page or plain text": [
        (Body(PAGE, "text/html"), failed("the reply is no completion: Sign in to continue")),
        (Body("<html><h1>502 Bad Gateway</h1></html>", "text/html", 502), failed("502 Bad Gateway: 502 Bad Gateway")),
        (Body("upstream timed out", "text/plain", 504), failed("504 Gateway Timeout: upstream timed out")),
        (Body("", "application/json"), failed("the reply is no completion")),
    ],
    "503 while the model is loaded": [(Status(503, error=LOADING), failed("503 Service Unavailable: Loading model"))],
    "500 for an image that it cannot read": [
        (Status(500, error=MMPROJ), failed(f"500 Internal Server Error: {MMPROJ['message']}")),
    ],
    "content in parts": [
        (completion(message={"content": [{"type": "text", "text": "A"}]}), A),
        (completion(message={"content": [*THINKING, {"type": "redacted_thinking", "data": "=="}]}), THOUGHT),
        (completion(message={"content": [{"type": "image"}]}), failed("the content of the reply is no text")),
        (completion(message={"content": {"answer": "A"}}), failed("the content of the reply is no text")),
    ],
    "reasoning in a field of its own": [
        (completion(message={"content": "A", "reasoning_content": "maybe B"}), THOUGHT),
        (completion(message={"content": "A", "reasoning": "maybe B", "reasoning_content": None}), THOUGHT),
        (completion(message={"content": "A", "reasoning_details": [
            {"type": "reasoning.text", "text": "maybe B"}, {"type": "reasoning.encrypted", "data": "=="}]}), THOUGHT),
        (completion(message={"content": None, "reasoning": "so A."}), Reply("", reasoning="so A.", model="m")),
    ],
    "reasoning in the text": [
        (completion(message={"content": "<think>maybe B</think>\n\nA"}), THOUGHT),
        (completion(message={"content": "maybe B\n</think>\n\nA"}), THOUGHT),
    ],
    "no tokens, or no numbers": [
        (completion(usage={"prompt_tokens": 9.0, "completion_tokens": "1", "total_tokens": None}),
         replace(A, tokens_in=9, tokens_out=1)),
        (completion(usage={"prompt_tokens": None, "completion_tokens": -1}), A),
        (Body(json.dumps({"model": "m", "choices": [CHOICE], "usage": {"prompt_tokens": float("nan")}})), A),
    ],
    "its own words for the reason why a reply ended": [
        (completion(finish_reason="MAX_TOKENS"), replace(A, stop="length")),
        (completion(finish_reason="eos_token"), A),
        (completion(finish_reason="SAFETY", message={"content": ""}), Reply("", stop="filter", model="m")),
        (completion(finish_reason=None), replace(A, stop="unknown")),
    ],
    "a refusal beside the text": [
        (completion(message={"content": None, "refusal": "I cannot."}), Reply("I cannot.", model="m")),
    ],
    "a prompt that its filter refuses": [
        (Status(400, error={"message": "blocked: answer A", "code": "content_policy_violation"}),
         Reply("", stop="filter", model="org/model")),
    ],
}  # fmt: skip
"""Answers and what comes of each, by the words in the first column of the table."""
CASES = [(name, answer, expected) for name, cases in SERVERS.items() for answer, expected in cases]


def outcome_of(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> Reply | str:
    """The reply without its seconds and token limit, or the reason for its absence after two attempts."""
    with StubServer(answer) as server:
        monkeypatch.setenv("MY_STUB_API_KEY", "k")
        monkeypatch.setenv("MY_STUB_BASE_URL", server.url)
        subject = make_chat("openai-api/my-stub/org/model", {"attempts": "2"})
        assert isinstance(subject, ChatSubject)
        call = replace(subject, first_wait=0.01).answer(
            Prompt(("q",), ()), MediaFolder(Path()), np.random.default_rng(0)
        )
        try:
            return replace(asyncio.run(call), seconds=0.0, token_limit=0)
        except CallFailed as failure:
            return str(failure).replace(server.url.removesuffix("/v1"), "http://HOST")


@pytest.mark.parametrize(("name", "answer", "expected"), CASES, ids=[name for name, _, _ in CASES])
def test_what_servers_are_known_to_do(
    name: str, answer: Answer, expected: Reply | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = outcome_of(answer, monkeypatch)
    if isinstance(expected, str):
        assert isinstance(outcome, str)
        assert outcome.startswith(expected)
    else:
        assert outcome == expected


def test_each_row_of_the_page_is_a_case() -> None:
    page = Path(__file__).parents[3] / "docs" / "chat.md"
    _, _, table = page.read_text().partition("### What servers are known to do")
    rows = re.findall(r"^\| (.+?) \|", table.partition("\n#")[0], re.MULTILINE)
    assert rows[1:] == [*SERVERS, "models of OpenAI that reason"]


@pytest.mark.parametrize(
    ("name", "written", "expected"),
    [
        ("openai/gpt-4o", {}, {"temperature": 0.0, "max_tokens": 9, "seed": 0}),
        ("openai/gpt-5-mini", {}, {"max_completion_tokens": 9, "seed": 0}),
        ("openai/gpt-5.1", {}, {"temperature": 0.0, "max_completion_tokens": 9, "seed": 0}),
        ("openai/gpt-5.1", {"reasoning_effort": "low", "seed": "none"},
         {"max_completion_tokens": 9, "reasoning_effort": "low"}),
        ("openai/gpt-5.1", {"reasoning_effort": "none", "seed": "none"},
         {"temperature": 0.0, "max_completion_tokens": 9, "reasoning_effort": "none"}),
        ("openai/gpt-5.5", {"top_p": "0.5"}, {"max_completion_tokens": 9, "seed": 0}),
        ("openai/o3", {}, {"max_completion_tokens": 9, "seed": 0}),
        ("openai-api/my-stub/openai/o3", {}, {"temperature": 0.0, "max_completion_tokens": 9, "seed": 0}),
        ("openai-api/my-stub/allenai/Molmo2-8B", {}, {"temperature": 0.0, "max_tokens": 9, "seed": 0}),
        ("openrouter/a/b", {"reasoning_effort": "max"},
         {"temperature": 0.0, "max_tokens": 9, "seed": 0, "reasoning": {"effort": "xhigh"}}),
    ],
)  # fmt: skip
def test_settings_are_named_as_the_service_names_them(
    name: str, written: dict[str, str], expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for service in ("OPENAI", "OPENROUTER", "MY_STUB"):
        monkeypatch.setenv(f"{service}_API_KEY", "k")
    monkeypatch.setenv("MY_STUB_BASE_URL", "http://127.0.0.1:9/v1")
    assert generation_settings(endpoint_of(name, "x"), read_settings({"max_tokens": "9", **written})) == expected


def test_names_of_compatible_services(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VLLM_BASE_URL", raising=False)
    ours = ["openai/gpt-4o", "openai/o3", "openai-api/box/m", "openrouter/a/b", "together/a/b", "ollama/llava:7b"]
    others = ["openai/azure/gpt-4o", "openai/bedrock/m", "openai/o3-pro", "openai/gpt-5-codex", "google/gemini-x",
              "anthropic/claude-x", "bedrock/m", "vllm/m", "mockllm/model"]  # fmt: skip
    assert [name for name in (*ours, *others) if is_compatible(name)] == ours
    monkeypatch.setenv("VLLM_BASE_URL", "http://127.0.0.1:8000/v1/")
    assert is_compatible("vllm/org/model")
    endpoint = endpoint_of("vllm/org/model", "x")
    assert (endpoint.url, endpoint.model) == ("http://127.0.0.1:8000/v1", "org/model")
    assert endpoint_of("ollama/llava:7b", "x").url == "http://localhost:11434/v1"


@pytest.mark.parametrize(
    ("name", "written", "fingerprint"),
    [
        ("openai/gpt-4o", {}, "caf41da5da4b"),
        ("openai/o3", {"temperature": "none"}, "75f8e51727f2"),
        ("openai-api/box/org/model", {}, "3f187589d242"),
        ("openai-api/box/org/model", {"max_px": "512", "seed": "3"}, "f195792a7d2f"),
        ("openrouter/a/b", {"reasoning_effort": "low"}, "2fa1aba63dba"),
        ("vllm/org/model", {}, "7f2e5747bf2e"),
        ("together/a/b", {}, "65f8fa1afc1a"),
    ],
)
def test_runs_that_inspect_ai_began_are_continued(
    name: str, written: dict[str, str], fingerprint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """These are the fingerprints of version 0.1.0, which asked through inspect_ai; they decide what is asked again."""
    for service in ("OPENAI", "OPENROUTER", "TOGETHER", "BOX"):
        monkeypatch.setenv(f"{service}_API_KEY", "k")
    for service in ("BOX", "VLLM"):
        monkeypatch.setenv(f"{service}_BASE_URL", "http://127.0.0.1:9/v1")
    assert make_chat(name, written).card.fingerprint() == fingerprint


@pytest.mark.parametrize("cut", [False, True])
def test_a_call_that_was_cancelled_leaves_its_connection_usable(cut: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one event loop after another, which connections do not outlive."""

    async def ask(subject: ChatSubject, count: int) -> list[Reply | BaseException]:
        prompt, media = Prompt(("q",), ()), MediaFolder(Path())
        calls = [asyncio.create_task(subject.answer(prompt, media, np.random.default_rng(n))) for n in range(count)]
        if cut:
            await asyncio.sleep(0.05)
            calls[0].cancel()
        return await asyncio.gather(*calls, return_exceptions=True)

    with StubServer(Words("A"), delay=0.1) as server:
        monkeypatch.setenv("MY_STUB_API_KEY", "k")
        monkeypatch.setenv("MY_STUB_BASE_URL", server.url)
        subject = make_chat(f"openai-api/my-stub/cut-{cut}", {})
        assert isinstance(subject, ChatSubject)
        for _ in range(2):
            replies = asyncio.run(ask(subject, 3))
            assert [isinstance(reply, Reply) for reply in replies] == [not cut, True, True]
        assert server.most == 3
