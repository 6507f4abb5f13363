"""The interface to the model layer: providers are called in the same way as by the layer itself."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("inspect_ai", reason="the extra 'chat' is not installed")

from inspect_ai.model import GenerateConfig, Model, ModelAPI, ModelCall, ModelOutput, RetryDecision, modelapi

from snellen.core.errors import CallFailed, SnellenError
from snellen.core.prompt import Prompt, Reply, Turn
from snellen.core.storage.media import MediaFolder
from snellen.subjects.chat import ChatSubject, make_chat
from snellen.subjects.chat.layer import CLIENT_CALLS, check_service, is_opening
from snellen.subjects.chat.messages import to_messages, to_reply
from snellen.subjects.chat.retry import trouble
from tests.helpers.stub_server import BROKEN_JSON, NULL_CHOICES, Answer, Body, Cut, Status, StubServer, Words

PROMPT = Prompt(("Which?", "A or B"), (), (Turn(("Look.",), "I see."),))
REFUSED = {"message": "blocked: answer A", "type": "x", "code": "content_policy_violation"}


def outcome_of(subject: ChatSubject) -> Reply | str:
    """The reply without its seconds and token limit, or the reason for its absence."""
    try:
        reply = asyncio.run(subject.answer(PROMPT, MediaFolder(Path()), np.random.default_rng(0)))
    except CallFailed as failure:
        return str(failure).removesuffix(" (attempt 1)")
    return replace(reply, seconds=0.0, token_limit=0)


def layer_outcome(model: Model) -> Reply | str:
    """The same outcome from the layer's own `Model.generate`."""
    try:
        output = asyncio.run(model.generate(to_messages(PROMPT, MediaFolder(Path()))))
    except Exception as raised:  # noqa: BLE001
        attempt = getattr(raised, "last_attempt", None)
        return trouble(attempt.exception() if attempt else raised).reason
    return replace(to_reply(output), seconds=0.0)


def test_opening_a_model_sets_a_flag_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """The flag keeps our tasks for Inspect from being loaded, which would import every suite."""
    flags = list[bool]()

    def get_model(*arguments: object, **options: object) -> Model:
        flags.append(is_opening())
        raise ValueError("no model")

    monkeypatch.setattr("inspect_ai.model.get_model", get_model)
    with pytest.raises(SnellenError, match="no model"):
        make_chat("mockllm/model", {})
    assert (flags, is_opening()) == ([True], False)


@pytest.mark.parametrize(
    "answer",
    [
        "A", Words("B", message={"reasoning_content": "It is red."}, tokens=(321, 12)),
        Words(None, "length", tokens=None), Words("partly", "content_filter"),
        Words(None, message={"refusal": "I cannot."}),
        *(Status(status) for status in (400, 401, 403, 404, 413, 422, 429, 500, 529)),
        Body("<html>busy</html>", "text/html"), Body('"a string"'), BROKEN_JSON, NULL_CHOICES, Cut(),
    ],
    ids=lambda answer: str(getattr(answer, "status", None) or getattr(answer, "text", "cut"))[:20],
)  # fmt: skip
def test_replies_and_reasons_equal_those_of_the_layer(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    with StubServer(answer) as server:
        monkeypatch.setenv("MY_STUB_API_KEY", "k")
        monkeypatch.setenv("MY_STUB_BASE_URL", server.url)
        subject = make_chat("openai-api/my-stub/m", {"attempts": "1"})
        assert isinstance(subject, ChatSubject)
        ours = outcome_of(subject)
        theirs = layer_outcome(subject.service.clients[0].model)
        sent = [request.body for request in server.requests]
    assert ours == theirs
    assert len(sent) == 2
    assert sent[0] == sent[1]


def test_a_busy_service_is_called_through_several_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask_together(subject: ChatSubject, count: int) -> list[str]:
        calls = [subject.answer(PROMPT, MediaFolder(Path()), np.random.default_rng(i)) for i in range(count)]
        return [reply.text for reply in await asyncio.gather(*calls)]

    with StubServer(lambda request: str(request.number), delay=0.05) as server:
        monkeypatch.setenv("MY_STUB_API_KEY", "k")
        monkeypatch.setenv("MY_STUB_BASE_URL", server.url)
        subject = make_chat("openai-api/my-stub/busy", {})
        assert isinstance(subject, ChatSubject)
        asyncio.run(ask_together(subject, CLIENT_CALLS))
        assert len(subject.service.clients) == 1
        replies = asyncio.run(ask_together(subject, CLIENT_CALLS + 1))
        assert len(set(replies)) == CLIENT_CALLS + 1
        assert [client.under_way for client in subject.service.clients] == [0, 0]


class TooMany(Exception):
    """An error by which an external provider may signal too many calls."""


def in_house(answer: Callable[[GenerateConfig], Any], decision: Any = False) -> Any:
    """Register `in-house/MODEL`, a provider like that of a plugin package."""

    class InHouse(ModelAPI):
        opened = 0

        def __init__(self, *args: Any, **more: Any) -> None:
            super().__init__(*args, **more)
            InHouse.opened += 1

        async def generate(self, input: Any, tools: Any, tool_choice: Any, config: GenerateConfig) -> Any:
            assert (len(input), tools, tool_choice) == (3, [], "none")
            return answer(config)

        def connection_key(self) -> str:
            return self.model_name

        def max_tokens(self) -> int | None:
            return 77

        def should_retry(self, ex: BaseException) -> Any:
            return decision

    modelapi("in-house")(InHouse)
    return InHouse


def test_a_provider_may_return_only_an_output() -> None:
    limits: list[int | None] = []

    def answer(config: GenerateConfig) -> ModelOutput:
        limits.append(config.max_tokens)
        config.max_tokens = 1  # in a copy: the next call gets the original settings
        return ModelOutput.from_content("m", "A")

    provider = in_house(answer)
    for settings, expected in (({}, 2048), ({"max_tokens": "none"}, 77), ({"max_tokens": "5"}, 5)):
        subject = make_chat("in-house/m", settings)
        assert isinstance(subject, ChatSubject)
        assert outcome_of(subject) == outcome_of(subject) == Reply("A", model="m")
        assert limits == [expected, expected]
        limits.clear()
    assert provider.opened == 3


def test_a_provider_that_returns_its_error_fails_with_its_status() -> None:
    class Denied(Exception):
        code = 403

    in_house(lambda config: (Denied("not yours"), ModelCall.create({}, None)))
    subject = make_chat("in-house/denied", {"attempts": "2"})
    assert isinstance(subject, ChatSubject)
    assert outcome_of(subject) == "403 ModelGenerateError: not yours"


@pytest.mark.parametrize(
    ("decision", "attempts", "limit"),
    [(False, 1, 20), (True, 3, 20), (RetryDecision.transient(), 3, 20), (RetryDecision.rate_limit(), 3, 16)],
    ids=["no", "yes", "transient", "rate limit"],
)
def test_a_provider_decides_on_retries_and_rate_limits(decision: Any, attempts: int, limit: int) -> None:
    calls: list[GenerateConfig] = []

    def answer(config: GenerateConfig) -> Any:
        calls.append(config)
        raise TooMany("slower")

    in_house(answer, decision)
    subject = make_chat(f"in-house/{decision!r}", {"attempts": "3"})
    assert isinstance(subject, ChatSubject)
    subject = replace(subject, first_wait=0.001)
    assert str(outcome_of(subject)).removesuffix(" (attempt 3)") == "TooMany: slower"
    assert len(calls) == attempts
    assert subject.service.limiter.limit == limit


def test_two_subjects_of_one_model_share_a_limiter_and_only_hosts_are_opened_twice() -> None:
    in_house(lambda config: ModelOutput.from_content("m", "A"))
    first, same, other = (make_chat(f"in-house/{name}", {"max_concurrency": "9"}) for name in ("x", "x", "y"))
    assert isinstance(first, ChatSubject)
    assert isinstance(same, ChatSubject)
    assert isinstance(other, ChatSubject)
    assert first.service.limiter is same.service.limiter is not other.service.limiter
    assert first.service.limiter.most == 9
    assert first.service.client_calls == 9  # all through one client, since another one might start a server


def test_tables_of_models_are_the_same_with_libyaml() -> None:
    """`_read_model_tables` leaves in inspect_ai what inspect_ai itself reads, and does not change its reader."""
    import yaml
    from inspect_ai.model import _model_info
    from inspect_ai.model._model_data import model_data

    from snellen.subjects.chat.layer import _read_model_tables

    _model_info._model_info_cache = None
    _read_model_tables.cache_clear()
    _read_model_tables()
    assert _model_info._model_info_cache == model_data.read_model_info()
    assert vars(model_data)["yaml"] is yaml


@pytest.mark.parametrize(
    ("name", "url", "message"),
    [
        ("openai-api/model", "", "name the service too, as in chat:openai-api/SERVICE/model"),
        ("openai-api/near/model", "localhost:8000/v1", "NEAR_BASE_URL=localhost:8000/v1 must begin with http://"),
        ("openai-api/near/model", "http://localhost:8000/v1", ""),
    ],
)
def test_addresses_are_checked_before_a_question_is_asked(
    name: str, url: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEAR_API_KEY", "any")
    monkeypatch.setenv("NEAR_BASE_URL", url)
    if not message:
        check_service(name)
        return
    with pytest.raises(SnellenError, match=re.escape(message)):
        check_service(name)
