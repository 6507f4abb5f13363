"""Chat subjects against a local server: requests, replies, and each kind of failure."""

from __future__ import annotations

import asyncio
import hashlib
import io
import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("httpx", reason="the extra 'chat' is not installed")

from snellen.core.errors import CallFailed, SnellenError
from snellen.core.item import Media, Montage, Part
from snellen.core.prompt import Prompt, Reply, Turn
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Subject
from snellen.subjects.chat import ChatSubject, make_chat
from snellen.subjects.chat.client import endpoint_of
from snellen_sight.completions import split_thought
from snellen_sight.retry import LONGEST_WAIT, retry_after, wait_seconds
from tests.helpers.refusals import assert_refused
from tests.helpers.stub_server import (
    BROKEN_JSON,
    NO_CHOICES,
    NULL_CHOICES,
    Answer,
    Body,
    Cut,
    Hang,
    ServedRequest,
    Status,
    StubServer,
    Words,
)

_names = itertools.count()


@contextmanager
def serving(
    answer: Callable[[ServedRequest], Answer] | Answer, delay: float = 0.0, **settings: str
) -> Iterator[tuple[ChatSubject, StubServer]]:
    """A subject and its server. The model's name is new each time, since limits are stored by name."""
    with StubServer(answer, delay) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("MY_STUB_API_KEY", "k")
        patch.setenv("MY_STUB_BASE_URL", server.url)
        subject = make_chat(f"openai-api/my-stub/model-{next(_names)}", settings)
        assert isinstance(subject, ChatSubject)
        yield replace(subject, first_wait=0.01), server


def ask(subject: Subject, *parts: Part, media: Path = Path(), history: tuple[Turn, ...] = ()) -> Reply:
    return asyncio.run(subject.answer(Prompt(parts, (), history), MediaFolder(media), np.random.default_rng(0)))


def first(*answers: Answer) -> Callable[[ServedRequest], Answer]:
    """These answers in turn, then a good one."""
    return lambda request: answers[request.number - 1] if request.number <= len(answers) else "good"


def test_parts_keep_their_order_and_images_their_bytes(tmp_path: Path) -> None:
    folder = MediaFolder(tmp_path)
    raws: dict[str, bytes] = {}
    media: list[Media] = []
    for format in ("JPEG", "PNG", "WEBP"):
        buffer = io.BytesIO()
        Image.new("RGB", (8, 6), "red").save(buffer, format)
        raws[format] = buffer.getvalue()
        media.append(folder.add(buffer.getvalue(), "image", {"JPEG": "jpg"}.get(format, format.lower()), (8, 6)))
    history = (Turn(("Look.", media[2]), "I see."),)
    with serving("A") as (subject, server):
        reply = ask(subject, "one", media[0], "two", "three", media[1], media=tmp_path, history=history)
    request = server.requests[0]
    assert reply.text == "A"
    assert request.parts == ["Look.", raws["WEBP"], "I see.", "one", raws["JPEG"], "two", "three", raws["PNG"]]
    assert [hashlib.sha256(raw).hexdigest() for raw in request.images] == [media[i].sha256 for i in (2, 0, 1)]
    assert [message["role"] for message in request.messages] == ["user", "assistant", "user"]
    urls = [part["image_url"]["url"][:16] for part in request.messages[2]["content"] if part["type"] == "image_url"]
    assert urls == ["data:image/jpeg;", "data:image/png;b"]


def test_only_given_settings_are_sent() -> None:
    with serving("A", seed="7", max_tokens="99", top_p="0.5", reasoning_effort="low") as (subject, server):
        ask(subject, "q")
    body = server.requests[0].body
    assert {key: body[key] for key in ("temperature", "seed", "max_tokens", "top_p", "reasoning_effort")} == {
        "temperature": 0, "seed": 7, "max_tokens": 99, "top_p": 0.5, "reasoning_effort": "low",
    }  # fmt: skip
    assert server.requests[0].headers["Authorization"] == "Bearer k"
    with serving("A", temperature="none", seed="none", max_tokens="none") as (subject, server):
        ask(subject, "q")
    assert not {"temperature", "seed", "max_tokens", "top_p", "reasoning_effort"} & set(server.requests[0].body)


def test_a_reply_has_text_reasoning_model_tokens_and_seconds() -> None:
    words = Words("B", message={"reasoning_content": "It is red."}, tokens=(321, 12))
    with serving(words, delay=0.05) as (subject, _):
        reply = ask(subject, "q")
    assert (reply.text, reply.reasoning, reply.stop, reply.model) == ("B", "It is red.", "end", "stub-as-served")
    assert (reply.tokens_in, reply.tokens_out) == (321, 12)
    assert 0.05 <= reply.seconds < 5


@pytest.mark.parametrize(
    ("words", "text", "reasoning", "stop"),
    [
        (Words("A", "length"), "A", "", "length"),
        (Words("partly", "content_filter"), "partly", "", "filter"),
        (Words("", "stop"), "", "", "end"),
        (Words(None, "stop", tokens=None), "", "", "end"),
        (Words(None, "length", {"reasoning_content": "and so"}), "", "and so", "length"),
        (Words("<think>hm (A)</think>"), "", "hm (A)", "end"),
        (Words("<think>hm (A), or", "length"), "", "hm (A), or", "length"),
        (Words("<b>A</b> \ud800\x00"), "<b>A</b> \ud800\x00", "", "end"),
        (Words("x" * 1_000_000), "x" * 1_000_000, "", "end"),
    ],
)
def test_odd_completions_are_replies(words: Words, text: str, reasoning: str, stop: str) -> None:
    with serving(words) as (subject, server):
        reply = ask(subject, "q")
    assert (reply.text, reply.reasoning, reply.stop, server.count) == (text, reasoning, stop, 1)


@pytest.mark.parametrize(
    "bad",
    [
        *(Status(status) for status in (429, 500, 502, 503, 504, 529)), Cut(), BROKEN_JSON,
        Body("<html>busy</html>", "text/html"), Body('"a string"'), NO_CHOICES, NULL_CHOICES,
        Words("A. The r", "abort"), Words("A", "ERROR"),
    ],
    ids=lambda bad: str(getattr(bad, "status", None) or getattr(bad, "text", "cut"))[:20],
)  # fmt: skip
def test_temporary_failures_are_retried(bad: Answer) -> None:
    with serving(first(bad, bad)) as (subject, server):
        assert ask(subject, "q").text == "good"
    assert server.count == 3


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (Status(500), "500 Internal Server Error: stubbed"),
        (Cut(), "RemoteProtocolError: Server disconnected"),
        (NO_CHOICES, "no choices"),
    ],
)
def test_the_call_fails_after_the_last_attempt(bad: Answer, message: str) -> None:
    with serving(bad, attempts="3") as (subject, server), pytest.raises(CallFailed, match=rf"{message}.*\(attempt 3\)"):
        ask(subject, "q")
    assert server.count == 3


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 422])
def test_permanent_failures_are_not_retried(status: int) -> None:
    with serving(Status(status)) as (subject, server), pytest.raises(CallFailed, match=str(status)) as caught:
        ask(subject, "q" * 10_000)
    assert server.count == 1
    assert len(str(caught.value)) < 400


def test_a_prompt_that_is_too_long_is_a_failed_call() -> None:
    error = {"message": "answer A: too long", "type": "x", "code": "context_length_exceeded"}
    with serving(Status(400, error=error)) as (subject, _), pytest.raises(CallFailed, match="too long"):
        ask(subject, "q")


def test_a_hang_ends_with_the_attempt() -> None:
    with serving(first(Hang()), timeout="1") as (subject, server):
        begun = time.monotonic()  # the same clock as the server, which runs in a thread of this process
        assert ask(subject, "q").text == "good"  # a client that waits for the hanging reply gets "late"
    assert server.requests[1].time - begun >= 1  # the attempt began after that, even if its request arrived late


def test_a_hang_is_recorded_as_a_timeout() -> None:
    with serving(Hang(), timeout="1", attempts="1") as (subject, _), pytest.raises(CallFailed) as caught:
        ask(subject, "q")
    assert str(caught.value) == "TimeoutError: no reply within 1 s (attempt 1)"


def test_retry_after_seconds_are_honoured() -> None:
    with serving(first(Status(429, {"Retry-After": "0.4"}))) as (subject, server):
        assert ask(subject, "q").text == "good"
    assert server.requests[1].time - server.requests[0].time >= 0.4


def test_retry_after_a_date_is_honoured() -> None:
    arrivals: list[float] = []  # by the clock of the date

    def answer(request: ServedRequest) -> Answer:
        arrivals.append(time.time())
        date = formatdate(int(arrivals[0]) + 2, usegmt=True)  # whole seconds: at least one second from now
        return Status(429, {"Retry-After": date}) if request.number == 1 else "good"

    with serving(answer) as (subject, _):
        assert ask(subject, "q").text == "good"
    assert arrivals[1] >= int(arrivals[0]) + 2


def test_retry_after_is_read_in_both_forms_and_capped() -> None:
    assert retry_after({"Retry-After": "7"}) == 7
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT"}, now=1445412480.0) == 30
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT"}) == 0
    assert retry_after({"retry-after": "1e9"}) == LONGEST_WAIT
    assert retry_after({"retry-after": "soon"}) is None
    assert retry_after({}) is None


def test_waits_double_and_depend_only_on_the_given_random_stream() -> None:
    def waits(seed: int) -> list[float]:
        rng = np.random.default_rng(seed)
        return [wait_seconds(failed, None, 1.0, rng) for failed in (1, 2, 3, 4)]

    assert waits(0) == waits(0) != waits(1)
    for wait, middle in zip(waits(0), (1, 2, 4, 8), strict=True):
        assert 0.5 * middle <= wait <= 1.5 * middle
    assert 3.0 <= wait_seconds(1, 3.0, 0.01, np.random.default_rng(0)) <= 3.01, (
        "the requested wait, not the longest one"
    )


def test_cancellation_is_passed_on() -> None:
    async def cancel(subject: ChatSubject, server: StubServer) -> None:
        task = asyncio.create_task(subject.answer(Prompt(("q",), ()), MediaFolder(Path()), np.random.default_rng(0)))
        while not server.count:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with serving(Hang()) as (subject, server):
        asyncio.run(cancel(subject, server))
    assert server.count == 1


@pytest.mark.slow
def test_concurrent_calls_start_at_twenty_and_fall_after_a_429() -> None:
    async def many(subject: ChatSubject, count: int) -> list[str]:
        calls = [
            subject.answer(Prompt((str(i),), ()), MediaFolder(Path()), np.random.default_rng(i)) for i in range(count)
        ]
        return [reply.text for reply in await asyncio.gather(*calls)]

    with serving(lambda request: f"to {request.parts[0]!s}", delay=0.1) as (subject, server):
        assert asyncio.run(many(subject, 60)) == [f"to {i}" for i in range(60)]
        assert server.most <= 40  # 20 at first, doubled after a clean round
    with serving(first(Status(429)), delay=0.3) as (subject, server):
        asyncio.run(many(subject, 20))
        server.most = 0
        asyncio.run(many(subject, 20))
        assert server.most <= 16  # a cut by a fifth, kept for a while
    with serving("A", delay=0.05, max_concurrency="3") as (subject, server):
        asyncio.run(many(subject, 9))
        assert server.most <= 3


def test_card_and_fingerprint() -> None:
    def card(**settings: str) -> str:
        with serving("A", 0.0, **settings) as (subject, _):
            return replace(subject.card, name="x", settings={**subject.card.settings, "model": "m"}).fingerprint()

    plain = card()
    assert (
        plain
        == card(temperature="0.0")
        == card(attempts="2", timeout="9", max_concurrency="4", price_in="3", max_images="1", max_tokens="9")
        == card(family="llava", reasoning="yes", counterpart="chat:openai/gpt-4o", weights="open")
    )
    others = [
        card(temperature="1"), card(max_px="512"), card(seed="1"), card(top_p="0.5"), card(reasoning_effort="low"),
    ]  # fmt: skip
    assert len({plain, *others, card(temperature="none")}) == 7
    settings = {"temperature": "0.5", "seed": "none", "price_in": "2.5", "price_out": "10"}
    with serving("A", 0.0, **settings, reasoning="no", weights="open") as (subject, _):
        stored_card = subject.card
    assert stored_card.name.endswith("?temperature=0.5&seed=none")
    assert stored_card.settings["model"] in stored_card.name
    assert {key: stored_card.attributes[key] for key in ("price_in", "price_out")} == {
        "price_in": "2.5",
        "price_out": "10",
    }
    assert (stored_card.attributes["reasoning"], stored_card.attributes["weights"]) == ("no", "open")
    assert stored_card.accepts == {"image"}
    assert stored_card.max_concurrency == 100


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("openai-api/my-stub/m", {"temprature": "1"}, "did you mean 'temperature'"),
        ("openai-api/my-stub/m", {"temperature": "hot"}, "temperature='hot': must be a number from 0 to 2"),
        ("openai-api/my-stub/m", {"attempts": "0"}, "whole number from 1 to 100"),
        ("openai-api/my-stub/m", {"weights": "opne"}, "did you mean 'open'"),
        ("openai-api/my-stub/m", {"accepts": "images"}, "did you mean 'image'"),
        ("openai-api/my-stub/m", {}, "MY_STUB_API_KEY"),
        ("openai/gpt-4o", {}, "OPENAI_API_KEY"),
        ("nobody/m", {}, "nobody"),
        ("gpt-4o", {}, "format"),
    ],
)
def test_missing_and_wrong_settings_are_one_clear_line(name: str, settings: dict[str, str], message: str) -> None:
    with pytest.raises(SnellenError) as caught:
        make_chat(name, settings)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "[bold]" not in str(caught.value)


def test_a_key_has_no_spaces_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """As copied with the end of the line, which no header may have; spaces alone are none."""
    monkeypatch.setenv("OPENAI_API_KEY", " key-1\n")
    assert endpoint_of("openai/gpt-4o", "chat").key == "key-1"
    monkeypatch.setenv("OPENAI_API_KEY", " ")
    assert_refused(lambda: endpoint_of("openai/gpt-4o", "chat"), "OPENAI_API_KEY is not set")


def test_videos_and_montages_are_declined_or_refused(tmp_path: Path) -> None:
    folder = MediaFolder(tmp_path)
    clip = folder.add(b"not really", "video", "mp4", (8, 6), 1.0)
    image = folder.add_image(Image.new("RGB", (4, 4)))
    with serving("A") as (subject, server):
        assert subject.declines(Prompt((clip,), ())) == "cannot be shown a video"
        with pytest.raises(SnellenError, match="montage"):
            ask(subject, Montage((image,), 1), media=tmp_path)
    assert server.count == 0
    with serving("A", max_images="1") as (subject, _):
        assert subject.declines(Prompt((image, image), ())) == "takes 1 images at once, not 2"


def test_videos_that_cannot_be_sent_are_declined_or_refused_beforehand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    folder = MediaFolder(tmp_path)
    with pytest.raises(SnellenError, match="videos cannot be sent to this provider"):
        make_chat("openai/gpt-4o", {"accepts": "image+video"})
    with serving("A", accepts="image+video") as (subject, _):
        mp4, mov, webm = (folder.add(b"x", "video", format, (8, 6), 1.0) for format in ("mp4", "mov", "webm"))
        assert subject.declines(Prompt((mp4, mov), ())) is None
        reason = "accepts videos as mp4, mpeg, mpg, mov, not as webm"
        assert subject.declines(Prompt((mp4, webm), ())) == reason
        assert subject.declines(Prompt(("and this?",), (), (Turn((webm,), "yes"),))) == reason


@pytest.mark.parametrize(("format", "kind"), [("mp4", "mp4"), ("mov", "quicktime"), ("mpeg", "mpeg"), ("mpg", "mpeg")])
def test_a_video_is_sent_as_its_own_bytes(format: str, kind: str, tmp_path: Path) -> None:
    clip = MediaFolder(tmp_path).add(b"clip", "video", format, (8, 6), 1.0)
    with serving("A", accepts="image+video") as (subject, server):
        ask(subject, clip, "what?", media=tmp_path)
    part = {"type": "video_url", "video_url": {"url": f"data:video/{kind};base64,Y2xpcA=="}}
    assert server.requests[0].messages[0]["content"] == [part, {"type": "text", "text": "what?"}]


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("B", ("B", "")),
        ("<think>a</think> B ", ("B", "a")),
        ("  <think>a", ("", "a")),
        ("a <think> b", ("a <think> b", "")),
    ],
)
def test_thoughts_are_split_from_text(text: str, split: tuple[str, str]) -> None:
    assert split_thought(text) == split
