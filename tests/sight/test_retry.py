"""What is tried again, what ends a subject, and what a completion says: every word and status of each list."""

from __future__ import annotations

import asyncio
from socket import gaierror
from typing import Any

import httpx

from snellen_sight.bodies import BodyRefused, bound_client
from snellen_sight.client import Connections, Endpoint
from snellen_sight.completions import ChatReply, read_completion
from snellen_sight.retry import (
    Trouble,
    reported_failure,
    retry_after,
    stated_words,
    status_trouble,
    trouble,
    with_origin,
)

URL = httpx.URL("https://user:key@host:8443/v1/v1/chat?key=secret")


def served(status: int, body: Any = "", **headers: str) -> Trouble:
    return status_trouble(status, body, headers, URL)


def test_statuses_say_whether_another_attempt_or_another_call_may_succeed() -> None:
    statuses = (400, 401, 402, 403, 404, 405, 408, 409, 413, 422, 425, 429, 499, 500, 503, 529)
    assert [status for status in statuses if served(status).again] == [408, 409, 425, 429, 500, 503, 529]
    assert [status for status in statuses if served(status).is_lasting] == [401, 402, 403, 404]
    assert (served(529, "busy").reason, served(429, **{"Retry-After": "7"}).after) == ("529 status: busy", 7)
    assert served(404).reason == "404 Not Found (https://host:8443) (the base URL has /v1 twice)"
    assert [retry_after({"retry-after": text}) for text in ("nan", "-5", "120", "121", "")] == [None, 0, 120, 120, None]
    for words in ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "API key not valid",
                  "credit balance is too low", "RESOURCE_EXHAUSTED: limit: 0 of"):  # fmt: skip
        for outcome in (served(429, {"error": {"message": words}}), trouble(ValueError(words), provider_says=True)):
            assert (outcome.again, outcome.is_lasting) == (False, True)


def test_a_filter_is_known_by_its_code_or_words_and_status() -> None:
    codes = ("invalid_prompt", "content_policy_violation", "content_filter", "bio_policy", "cyber_policy")
    bodies: list[Any] = [{"code": codes[0]}, *({"error": {"code": code}} for code in codes)]
    bodies += [{"error": {"type": "invalid_request_error", "message": "was blocked by us"}}]
    for status in (400, 401, 403, 413, 422, 429, 500):
        assert {served(status, body).is_filter for body in bodies} == {status in (400, 403, 413, 422)}
    others = ({"error": {"type": "other", "message": "blocked"}}, {"error": {"code": "other"}}, "content_filter", None)
    assert not any(served(400, body).is_filter for body in others)


def test_errors_say_whether_another_attempt_or_another_call_may_succeed() -> None:
    def named(name: str) -> Exception:
        return type(name, (Exception,), {})()  # type: ignore[no-any-return]

    passing = [TimeoutError(), ConnectionResetError(), ConnectionRefusedError(), KeyError(), TypeError()]
    passing += [AttributeError(), *map(named, ("AttemptTimeoutError", "APITimeoutError", "ValidationError"))]
    unreached = [ConnectionRefusedError(), gaierror(), named("ConnectError"), named("ClientConnectorError")]
    assert all(trouble(error).again for error in passing)
    assert not any(trouble(error).again for error in (*unreached[1:], ValueError(), OSError()))
    for error in unreached:
        wrapped = RuntimeError("outside")
        wrapped.__cause__ = error
        assert trouble(error).is_lasting
        assert trouble(wrapped).is_lasting
    assert trouble(named("PrerequisiteError")) == Trouble("PrerequisiteError", again=False, is_lasting=True)
    assert not any(trouble(error).is_lasting for error in (passing[0], passing[1], *passing[3:], ValueError()))


def test_of_a_key_that_is_cut_no_part_is_left_and_nested_words_are_none() -> None:
    """Whole words are kept: a service may echo a key as often as it likes."""
    key = "k" * 64
    for body in (f"{key} " * 40, {"error": {"message": f"{key} " * 40}}, {"detail": [{"msg": f"{key} " * 9}] * 9}):
        words = stated_words(body).replace(key, "")
        assert len(stated_words(body)) > 500
        assert "k" not in words
    page = f"<html><p>{'<b></b>' * 400}{f'{key} ' * 40}"
    assert "k" not in stated_words(page).replace(key, "")
    nested: Any = ["deep"]
    for _ in range(900):
        nested = [nested]
    assert stated_words({"message": nested}) == stated_words({"loc": nested, "msg": ""}).strip(": ") == ""


def test_a_server_may_lead_to_another_path_but_not_to_another_host() -> None:
    """An address inside the user's network is not fetched, and its text is in no failure."""
    addresses = list[str]()

    def answer(request: httpx.Request) -> httpx.Response:
        addresses.append(str(request.url))
        places = {
            "/v1/chat": "/v2/chat",
            "/v2/chat": "https://host.example/v3/chat",
            "/v3/chat": "http://10.0.0.3/secret",
        }
        return httpx.Response(307, headers={"location": places[request.url.path]})

    connections = Connections(Endpoint("", "model", "http://host.example/v1", "key"), 9)
    client = connections._open()
    client._transport = httpx.MockTransport(answer)
    client._mounts = {}

    async def once() -> Any:
        connections._idle().append(client)
        return await connections.post("/chat", {})

    outcome = asyncio.run(once())
    assert isinstance(outcome, Trouble)
    assert outcome.status == 307
    assert addresses == [
        "http://host.example/v1/chat", "http://host.example/v2/chat", "https://host.example/v3/chat"
    ]  # fmt: skip


def test_a_body_is_read_as_utf_8_whatever_it_claims() -> None:
    """Python knows codecs whose time is quadratic."""

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(500, headers={"content-type": "text/plain; charset=punycode"}, content="wörds-".encode())

    client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    bound_client(client)
    assert asyncio.run(client.get("http://host.example")).text == "wörds-"


def test_a_refused_body_is_found_inside_the_errors_of_clients() -> None:
    """A reply that is too large would be as large again, so it is not asked for again, whatever wraps the refusal."""
    errors: list[BaseException] = [BodyRefused("the reply has 9 bytes")]
    for link in ("__cause__", "__context__", "__cause__"):
        errors.append(ConnectionResetError("Connection error."))
        setattr(errors[-1], link, errors[-2])
    outcomes = [trouble(error, provider_says=True) for error in errors]
    assert outcomes == [Trouble("the reply has 9 bytes", again=False)] * 4
    assert trouble(ConnectionResetError("gone")).again


def test_failures_in_place_of_a_reply_are_known_by_their_words() -> None:
    for stop in ("error", "ABORT", "aborted", "failed", "cancelled", "canceled"):
        failure = reported_failure({"choices": [{"finish_reason": stop}]})
        assert failure == Trouble(f"failure in place of a reply: finish_reason {stop!r}", again=True)
    assert reported_failure({"choices": [{"finish_reason": "stop"}]}) is reported_failure(None) is None
    for words in ("Unexpected endpoint", "unknown endpoint or method", "No such endpoint"):
        failure = reported_failure({"error": words})
        assert failure is not None
        assert (failure.again, failure.is_lasting, failure.status) == (False, True, 404)
        assert with_origin(failure, URL).reason.endswith("(https://host:8443) (the base URL has /v1 twice)")
    spent, odd = (reported_failure({"error": {"code": code, "message": "no"}}) for code in (402, 600))
    assert spent == Trouble("402 failure in place of a reply: no", again=False, is_lasting=True, status=402)
    assert odd == Trouble("failure in place of a reply: no", again=True)


def test_a_completion_has_each_word_for_its_end_and_no_odd_numbers() -> None:
    def reply(stop: Any = "stop", content: Any = "A", **body: Any) -> ChatReply:
        choices = [{"message": {"content": content, "reasoning": "r"}, "finish_reason": stop}, {"message": {}}]
        outcome = read_completion({"choices": choices, **body})
        assert isinstance(outcome, ChatReply)
        return outcome

    for stop, words in {
        "end": "stop eos eos_token end_turn STOP_SEQUENCE", "length": "length max_tokens model_length",
        "filter": "content_filter safety", "tool_calls": "tool_calls function_call", "unknown": "other",
    }.items():  # fmt: skip
        assert {reply(word).stop for word in words.split()} == {stop}
    for written, count in {"7": 7, 8.0: 8, 10**9: 10**9, 10**9 + 1: 0, -1: 0, None: 0, "x": 0}.items():
        counted = reply(usage={"prompt_tokens": written, "completion_tokens": 3}, model="m" * 201)
        assert (counted.tokens_in, counted.tokens_out, counted.model) == (count, 3, "m" * 200)
    thought = reply(content=[{"type": "thinking", "thinking": "t"}, "<think>u</think>A"])
    assert (thought.text, thought.reasoning) == ("A", "r\nt\nu")
    parts = [{"thinking": "t"}, {"data": "=="}, "u", {"content": [{"summary": "v"}, {"reasoning": "w"}]}]
    for key in ("reasoning_content", "reasoning", "reasoning_details"):
        outcome = read_completion({"choices": [{"message": {"content": "A", key: parts}}]})
        assert isinstance(outcome, ChatReply)
        assert (outcome.text, outcome.reasoning) == ("A", "t\nu\nv\nw")
