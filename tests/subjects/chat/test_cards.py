"""Cards, settings of requests, tokens of images and outcomes of calls of many models, as goldens and by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from snellen.core.prompt import Reply
from snellen.subjects.chat import ChatSubject, make_chat
from snellen.subjects.chat.client import CompletionService, endpoint_of, generation_settings, open_compatible
from snellen.subjects.chat.limiter import Limiter
from snellen.subjects.chat.limits import image_tokens
from snellen.subjects.chat.settings import read_settings
from snellen_sight.client import Endpoint
from snellen_sight.retry import Trouble
from tests.goldens.golden import assert_golden

SUBJECTS: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("openai/gpt-4o", {}),
    ("openai/gpt-5", {"reasoning_effort": "high", "temperature": "none", "price_in": "1.25", "price_out": "10"}),
    ("google/gemini-2.5-pro", {"max_images": "3", "seed": "none", "max_concurrency": "7"}),
    ("google/gemini-2.0-flash", {"accepts": "image", "top_p": "0.25", "family": "gemini", "weights": "closed"}),
    ("anthropic/bedrock/claude-x", {"max_px": "512", "max_tokens": "99", "reasoning": "no", "counterpart": "chat:a/b"}),
    ("grok/grok-4", {"box_unit": "percent", "seed": "5", "temperature": "0.5"}),
    ("openai-api/box/Qwen2.5-VL-7B", {"max_tokens": "none", "timeout": "9", "attempts": "2", "price_in": "0"}),
)
MODELS = (
    "gpt-4o gpt-4o-mini gpt-4.1 gpt-4.1-mini gpt-4.1-nano gpt-4.5 gpt-5 gpt-5-mini gpt-5-nano gpt-5.1 gpt-5.2 gpt-5.3 "
    "gpt-5.4 gpt-5.4-mini gpt-5.4-nano gpt-5.5 gpt-5.6 gpt-5-codex-mini gpt-5.1-codex-mini o1 o3 o4-mini "
    "claude-opus-4-6 claude-opus-4-7 claude-opus-5 claude-sonnet-4-6 claude-sonnet-5 claude-fable gemini-2.5-pro "
    "gemini-3-pro qwen2-vl qwen2.5-vl qwen3-vl llava"
)
SIZES = (640, 480), (3000, 700), (250, 1999), (5000, 5000), (385, 20)
GENERATED = (
    "openai/gpt-4o openai/gpt-5 openai/gpt-5.0-mini openai/gpt-5.1 openai/gpt-5.4 openai/gpt-5.5 openai/o1 "
    "openai/o4-mini openrouter/openai/gpt-5.2 ollama/gpt-oss:20b together/o3 openai-api/box/GPT-6"
)


def test_cards_settings_and_tokens_are_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path))
    for name in ("OPENAI", "OPENROUTER", "TOGETHER", "BOX"):
        monkeypatch.setenv(f"{name}_API_KEY", "k")
        monkeypatch.delenv(f"{name}_BASE_URL", raising=False)
    monkeypatch.setenv("BOX_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setattr(
        "snellen.subjects.chat.subject.open_service",
        lambda name, settings: SimpleNamespace(url=f"https://{name}", sends_videos=True),
    )
    lines = list[str]()
    for name, settings in SUBJECTS:
        subject = make_chat(name, settings)
        assert isinstance(subject, ChatSubject)
        card = {**asdict(subject.card), "accepts": sorted(subject.card.accepts)}
        lines += [f"== {name} {dict(settings)} {subject.card.fingerprint()}", *(f"{key}: {card[key]}" for key in card)]
    for name in GENERATED.split():
        for effort in ({}, {"reasoning_effort": "none"}, {"reasoning_effort": "max", "top_p": "1"}):
            sent = generation_settings(endpoint_of(name, "x"), read_settings({"max_tokens": "9", **effort}))
            lines.append(f"{name} {effort}: {sent}")
    lines += [f"{model}: {[image_tokens(model, *size) for size in SIZES]}" for model in MODELS.split()]
    assert_golden("chat.txt", "\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("body", "outcome", "events"),
    [
        ({"choices": [{"message": {"content": "A"}, "finish_reason": "length"}], "model": "m-1",
          "usage": {"prompt_tokens": 7, "completion_tokens": 2}},
         Reply("A", stop="length", model="m-1", tokens_in=7, tokens_out=2), ["replied"]),
        ({"choices": []}, Trouble("the reply has no choices", again=True), []),
        (Trouble("429 slow", again=True, status=429), Trouble("429 slow", again=True, status=429), ["cut"]),
        (Trouble("503 busy", again=True, status=503), Trouble("503 busy", again=True, status=503), []),
        (Trouble("400 no", again=False, status=400, is_filter=True), Reply("", stop="filter", model="m"), ["replied"]),
    ],
)  # fmt: skip
def test_calls_that_end_with_a_reply_or_a_429_change_the_limit(
    body: Any, outcome: Any, events: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refusal by a filter is a reply."""
    posted = list[tuple[str, Any]]()

    async def post(path: str, fields: Any) -> Any:
        posted.append((path, fields))
        return body

    connections: Any = SimpleNamespace(endpoint=Endpoint("openai-api", "m", "http://h/v1", "k"), post=post)
    limiter, counted = Limiter(5), list[str]()
    for name in ("replied", "cut"):
        monkeypatch.setattr(limiter, name, lambda name=name: counted.append(name))
    service = CompletionService(connections, {"seed": 3}, limiter)
    result = asyncio.run(service.generate_once([{"role": "user", "content": "q"}]))
    assert posted == [("/chat/completions", {"messages": [{"role": "user", "content": "q"}], "seed": 3})]
    assert (replace(result, seconds=0.0) if isinstance(result, Reply) else result, counted) == (outcome, events)
    assert (service.url, service.sends_videos) == ("http://h/v1", True)


def test_subjects_share_a_limit_at_one_address_with_one_key_and_model(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("httpx", reason="the extra 'chat' is not installed")

    def service(model: str = "a", key: str = "k", port: int = 1, most: str = "9") -> CompletionService:
        monkeypatch.setenv("SHARED_API_KEY", key)
        monkeypatch.setenv("SHARED_BASE_URL", f"http://127.0.0.1:{port}/v1")
        return open_compatible(f"openai-api/shared/{model}", read_settings({"max_concurrency": most, "timeout": "7"}))

    first, *others = service(), service(most="8"), service("b"), service(key="l"), service(port=2)
    assert [other.limiter is first.limiter for other in others] == [True, False, False, False]
    assert (first.limiter.most, first.connections.timeout) == (9, 7)
    assert {name: first.settings[name] for name in ("temperature", "seed")} == {"temperature": 0, "seed": 0}
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert not open_compatible("openai/gpt-4o", read_settings({})).sends_videos
