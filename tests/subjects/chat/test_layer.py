"""The interface to the model layer of inspect_ai."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("inspect_ai", reason="the extra 'providers' is not installed")

from inspect_ai._util.images import inline_media_data
from inspect_ai.model import (
    ContentImage,
    ContentText,
    ContentVideo,
    GenerateConfig,
    Model,
    ModelAPI,
    ModelCall,
    ModelOutput,
    ModelUsage,
    RetryDecision,
    modelapi,
)

from snellen.core.errors import CallFailed, SnellenError
from snellen.core.prompt import Prompt, Reply, Turn
from snellen.core.storage.media import MediaFolder
from snellen.subjects.chat import ChatSubject, make_chat
from snellen.subjects.chat.layer import LayerService, check_service, is_opening, layer_messages, to_reply
from snellen.subjects.chat.limiter import Limiter

PROMPT = Prompt(("Which?", "A or B"), (), (Turn(("Look.",), "I see."),))


def outcome_of(subject: ChatSubject) -> Reply | str:
    """The reply without its seconds and token limit, or the reason for its absence."""
    try:
        reply = asyncio.run(subject.answer(PROMPT, MediaFolder(Path()), np.random.default_rng(0)))
    except CallFailed as failure:
        return str(failure).removesuffix(" (attempt 1)")
    return replace(reply, seconds=0.0, token_limit=0)


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


def test_tokens_of_a_prompt_are_counted_with_those_of_the_cache() -> None:
    """7 of 1,000 are new, 200 were read from the cache and 793 written to it."""
    output = ModelOutput.from_content("m", "A")
    output.usage = ModelUsage(
        input_tokens=7, output_tokens=3, total_tokens=1003, input_tokens_cache_read=200, input_tokens_cache_write=793
    )
    reply = to_reply(output)
    assert (reply.tokens_in, reply.tokens_out) == (1000, 3)


def test_a_provider_that_returns_its_error_fails_with_its_status() -> None:
    class Denied(Exception):
        code = 403

    in_house(lambda config: (Denied("not yours"), ModelCall.create({}, None)))
    subject = make_chat("in-house/denied", {"attempts": "2"})
    assert isinstance(subject, ChatSubject)
    assert outcome_of(subject) == "403 ModelGenerateError: not yours"


@pytest.mark.parametrize(
    ("stop", "is_error", "outcome"),
    [
        ("content_filter", True, Reply("", stop="filter", model="m")), ("stop", True, "refused: Against our rules."),
        ("content_filter", False, Reply("Against our rules.", stop="filter", model="m")),
    ],
)  # fmt: skip
def test_what_a_provider_writes_about_a_refused_call_is_no_answer(stop: Any, is_error: bool, outcome: Any) -> None:
    call = ModelCall.create({}, {}).model_copy(update={"error": is_error})
    in_house(lambda config: (ModelOutput.from_content("m", "Against our rules.", stop), call))
    subject = make_chat("in-house/filtered", {"attempts": "1"})
    assert isinstance(subject, ChatSubject)
    assert outcome_of(subject) == outcome


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


def test_an_output_without_choices_is_asked_for_again() -> None:
    empty, reply = ModelOutput(model="m"), ModelOutput.from_content("m", "A")
    outputs = iter([empty, reply, empty, empty])
    in_house(lambda config: next(outputs))
    subject = make_chat("in-house/empty", {"attempts": "2"})
    assert isinstance(subject, ChatSubject)
    subject = replace(subject, first_wait=0.001)
    assert outcome_of(subject) == Reply("A", model="m")
    assert outcome_of(subject) == "the reply has no choices (attempt 2)"


def test_two_subjects_of_one_model_share_a_limiter() -> None:
    in_house(lambda config: ModelOutput.from_content("m", "A"))
    first, same, other = (make_chat(f"in-house/{name}", {"max_concurrency": "9"}) for name in ("x", "x", "y"))
    assert isinstance(first, ChatSubject)
    assert isinstance(same, ChatSubject)
    assert isinstance(other, ChatSubject)
    assert first.service.limiter is same.service.limiter is not other.service.limiter
    assert first.service.limiter.most == 9


def test_messages_of_the_layer_have_the_same_parts() -> None:
    image, video = ({"url": f"data:{kind};base64,Y2xpcA=="} for kind in ("image/png", "video/quicktime"))
    contents = [
        {"type": "text", "text": "q"}, {"type": "image_url", "image_url": image},
        {"type": "video_url", "video_url": video},
    ]  # fmt: skip
    question, reply = layer_messages(
        [{"role": "user", "content": contents}, {"role": "assistant", "content": "I see."}]
    )
    clip = ContentVideo(video=video["url"], format="mov")
    assert question.content == [ContentText(text="q"), ContentImage(image=image["url"]), clip]
    assert (reply.role, reply.content) == ("assistant", "I see.")
    assert inline_media_data(clip.video, "video") == (b"clip", "video/quicktime")


@pytest.mark.parametrize(
    ("module", "responses", "expected"),
    [
        ("inspect_ai.model._providers.google", False, True),
        ("inspect_ai.model._providers.openai_compatible", False, False),
        ("inspect_ai.model._providers.openai", True, True),
        ("their_package.provider", False, True),
    ],
)
def test_providers_that_accept_videos(module: str, responses: bool, expected: bool) -> None:
    model: Any = SimpleNamespace(api=type("Api", (), {"__module__": module, "responses_api": responses})())
    assert LayerService(model, Limiter(1), 1).sends_videos == expected
    assert not module.startswith("inspect_ai") or importlib.util.find_spec(module), "the model layer has moved it"


def test_a_missing_layer_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai.model", None)
    with pytest.raises(SnellenError, match=r"^chat:in-house/m: this provider needs inspect_ai .*\[providers\]"):
        make_chat("in-house/m", {})


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
