"""A server with many kinds of invalid responses: each is a failure with its reason or a valid reply; no run is lost.

A lie that has the form of a reply may be recorded as one; it then has no answer, and is scored as such.
"""

from __future__ import annotations

import gzip
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

pytest.importorskip("httpx", reason="the extra 'chat' is not installed")

from snellen.core.response import Response
from snellen.core.storage.itemset import ItemSet, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.run_tables import read_responses
from snellen.runs.asking.ask import ask
from snellen.runs.planning.plan import Arm, Plan
from snellen.runs.scores.score import score, write_scores
from snellen.subjects.chat import ChatSubject, make_chat
from snellen_sight import bodies
from tests.helpers.journey import NAMED, RGB, arm, item, patch, suite_of
from tests.helpers.lying_server import GOOD, LyingServer, Wire, wire

KEY = "CANARY-SECRET-KEY-OF-A-SERVICE"
ANSI = "\x1b[2J\x1b]0;owned\x07"
HONEST = wire({**GOOD, "choices": [{**GOOD["choices"][0], "message": {"role": "assistant", "content": "red"}}]})


def choice(**fields: Any) -> Wire:
    """A completion whose only choice has these fields."""
    return wire({**GOOD, "choices": [{**GOOD["choices"][0], **fields}]})


def message(**fields: Any) -> Wire:
    return choice(message={"role": "assistant", "content": "T", **fields})


def usage(**fields: Any) -> Wire:
    return wire({**GOOD, "usage": {**GOOD["usage"], **fields}})


def error(status: str, text: str = "no", headers: Mapping[str, str] | None = None) -> Wire:
    return wire({"error": {"message": text, "type": "t", "code": None}}, status, headers)


def raw(body: bytes, **headers: str) -> Wire:
    return wire(body, headers={name.replace("_", "-"): text for name, text in headers.items()})


GOOD_BYTES = json.dumps(GOOD).encode()
LIES: dict[str, Wire] = {
    # No JSON, or other JSON
    "no body": raw(b""),
    "half of the JSON": raw(GOOD_BYTES[:60]),
    "a page": raw(b"<html><body>Bad gateway</body></html>", Content_Type="text/html"),
    "a page that says it is JSON": raw(b"<html></html>"),
    "bytes of no text": raw(b"\xff\xfe\x00\x01" * 20),
    "UTF-16": raw(json.dumps(GOOD).encode("utf-16")),
    "null": wire(None),
    "a list": wire([GOOD]),
    "a string": wire("T"),
    "a number": raw(b"7"),
    "an empty object": wire({}),
    "not a number": raw(GOOD_BYTES.replace(b'"prompt_tokens": 3', b'"prompt_tokens": NaN')),
    "nested without end": raw(b"[" * 200_000),
    "nested in the choices": raw(GOOD_BYTES.replace(b'"T"', b'{"a":' * 5000 + b"1" + b"}" * 5000)),
    "twice in one body": raw(GOOD_BYTES + GOOD_BYTES),
    "a stream nobody asked for": raw(
        b"data: " + GOOD_BYTES + b"\n\ndata: [DONE]\n\n", Content_Type="text/event-stream"
    ),
    # Choices and messages of other types
    "no choices": wire({**GOOD, "choices": []}),
    "choices of nothing": wire({**GOOD, "choices": None}),
    "choices that are words": wire({**GOOD, "choices": "T"}),
    "choices of numbers": wire({**GOOD, "choices": [1, 2]}),
    "no message": choice(message=None),
    "a message of words": choice(message="T"),
    "content of a number": message(content=7),
    "content of a list of numbers": message(content=[1, 2]),
    "content of an object": message(content={"text": "T"}),
    "content without end": message(content="T" * 4_000_001),
    "a role of nobody's": message(role=["assistant"], content="?"),
    "a stop of another type": choice(finish_reason={"a": 1}, message={"role": "assistant", "content": "?"}),
    "a stop without end": choice(finish_reason="x" * 10_000, message={"role": "assistant", "content": "?"}),
    "a model without end": wire({**GOOD, "model": "m" * 100_000}),
    "a model of a number": wire({**GOOD, "model": 7, "choices": [{**GOOD["choices"][0], "message": None}]}),
    # Numbers
    "10^30 tokens": usage(prompt_tokens=10**30),
    "10^300 tokens written": usage(completion_tokens=10**300),
    "fewer than no tokens": usage(prompt_tokens=-5),
    "half a token": usage(completion_tokens=0.5),
    "tokens in words": usage(prompt_tokens="many"),
    "more digits than may be": raw(GOOD_BYTES.replace(b'"prompt_tokens": 3', b'"prompt_tokens": ' + b"9" * 10_000)),
    # Bodies
    "larger than may be": raw(GOOD_BYTES + b" " * 200_000),
    "larger than may be, untold": raw(GOOD_BYTES + b" " * 200_000, Content_Length="-"),
    "a packed bomb": raw(gzip.compress(GOOD_BYTES + b" " * 10**7), Content_Encoding="gzip"),
    "a compression that was not accepted": raw(GOOD_BYTES, Content_Encoding="zstd"),
    "said to be packed": raw(GOOD_BYTES, Content_Encoding="gzip"),
    "cut off": wire(GOOD_BYTES, length=len(GOOD_BYTES) + 100),
    "said to have bytes without end": wire(GOOD_BYTES, length=10**15),
    "fewer than no bytes": wire(GOOD_BYTES, length=-1),
    "broken chunks": Wire([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\nno\r\n"]),
    "a slow trickle": Wire([wire(GOOD_BYTES).chunks[0], *(bytes([b]) for b in GOOD_BYTES)], pause=0.3),
    "no HTTP": Wire([b"SSH-2.0-OpenSSH_9.6\r\n"]),
    "hangs up": Wire([]),
    # Statuses and headers
    "401": error("401 Unauthorized", f"Incorrect API key: {KEY}"),
    "402": error("402 Payment Required"),
    "404": error("404 Not Found", f"no model {ANSI}"),
    "413": error("413 Payload Too Large"),
    "418": error("418 I'm a teapot", "x" * 100_000),
    "429 for ever": error("429 Too Many Requests", headers={"Retry-After": "9" * 400}),
    "429 until a day that never was": error("429 Slow", headers={"Retry-After": "Wed, 99 Foo 99999 99:99:99 GMT"}),
    "500 without JSON": wire(b"\x00" * 50, "500 Internal Server Error"),
    "503 that says all": error("503 Unavailable", f"{ANSI}\nBearer {KEY}\r\n=cmd|' /C calc'!A0"),
    "204 without a body": Wire([b"HTTP/1.1 204 No Content\r\n\r\n"]),
    "a status of 999": wire(GOOD_BYTES, "999 Whatever"),
    "round in circles": wire(b"", "302 Found", {"Location": "/v1/chat/completions"}),
    "to a file": wire(b"", "302 Found", {"Location": "file:///etc/passwd"}),
    "an error inside 200": wire({"error": {"message": "overloaded", "code": 529}}),
    # Refusals and text in place of an answer
    "a refusal": message(content=None, refusal="I cannot help with that."),
    "stopped by a filter": choice(finish_reason="content_filter", message={"role": "assistant", "content": ""}),
    "a call of a tool": message(
        content=None, tool_calls=[{"id": "1", "type": "function", "function": {"name": "rm", "arguments": "{"}}]
    ),
    "content of nothing": message(content=None),
    "control characters": message(content=ANSI),
    "half a character": message(content="\ud800"),
    "a key in all words": wire(
        {
            **GOOD,
            "model": KEY,
            "choices": [{"message": {"role": "assistant", "content": f"It is {KEY}.", "reasoning": KEY}}],
        }
    ),
    "nothing but thoughts": message(content="<think>" * 1000),
}
"""The bytes on the wire, by the lie's name."""
REPLIES = ("a model without end", "a refusal", "stopped by a filter", "a call of a tool", "content of nothing",
           "control characters", "half a character", "a key in all words", "nothing but thoughts", "a role of nobody's",
           "half a token", "not a number", "fewer than no bytes", "UTF-16", "a stop of another type",
           "content of a list of numbers", "a stop without end", "10^30 tokens", "10^300 tokens written",
           "fewer than no tokens", "tokens in words")  # fmt: skip
"""Lies that may be recorded as replies; they have no answer."""


@dataclass(frozen=True)
class Outcomes:
    """The outcomes of lies: responses with outcome and score by the lie's name, and all bytes of the run folder."""

    by_lie: Mapping[str, Sequence[tuple[Response, str, float]]]
    contents: bytes


def lie(names: Iterable[str], root: Path, *, timeout: int = 60, most_bytes: int = 100_000) -> Outcomes:
    """One run with two questions per lie, all answered by lies; then a second run with an honest server."""
    lies = list(names)
    wires = [LIES[name] for name in lies]

    def answer(request: Mapping[str, Any]) -> Wire:
        (number,) = re.findall(r"Question (\d+)", json.dumps(request["messages"]))
        return wires[int(number)]

    with LyingServer(answer) as server, pytest.MonkeyPatch.context() as monkey:
        monkey.setenv("LYING_API_KEY", KEY)
        monkey.setenv("LYING_BASE_URL", server.url)
        monkey.setattr(bodies, "MAX_BODY_BYTES", most_bytes)
        subject = make_chat("openai-api/lying/run", {"attempts": "1", "timeout": str(timeout)})
        assert isinstance(subject, ChatSubject)
        arms: list[Arm] = [arm(replace(subject, first_wait=0.01), suite_of())]
        plan = Plan(numbered_set(root / "set", len(lies)), suite_of(), arms, keep_going=True)
        responses, scores = ask_and_score(root / "run", plan)
        rows = list(zip(responses, scores["outcome"], scores["value"], strict=True))
        contents = b"".join(path.read_bytes() for path in sorted((root / "run").rglob("*")) if path.is_file())
        wires[:] = [HONEST] * len(wires)
        _goes_on(root / "run", plan)
    by_lie = {
        name: [row for row in rows if row[0].item_id.startswith(f"{number}-")] for number, name in enumerate(lies)
    }
    return Outcomes(by_lie, contents)


def numbered_set(root: Path, count: int) -> ItemSet:
    """Two items for each number below `count`, which is in their question."""
    media = MediaFolder(root / "media")
    red = patch(media, RGB["red"])
    items = [
        item(f"{number}-{n}", [red], "red", "choice", options=NAMED, question=f"Question {number}: which colour?")
        for number in range(count)
        for n in "ab"
    ]
    return write_itemset(root, items, source="generated", recipe={"seed": 0})


def ask_and_score(root: Path, plan: Plan) -> tuple[list[Response], pd.DataFrame]:
    responses = ask(root, plan)
    scores = score(responses, plan.items, plan.suite)
    write_scores(root, scores, "strict")
    return responses, scores


def _goes_on(root: Path, plan: Plan) -> None:
    """With an honest server failed items are asked again, and all tables are complete."""
    responses, scores = ask_and_score(root, plan)
    assert len(responses) == len(scores) == len(plan.items.items)
    assert {response.status for response in responses} == {"ok"}
    tables = [replace(r, text=(r.text or "").encode("utf-8", "backslashreplace").decode()) for r in responses]
    assert read_responses(root) == tables, "a single surrogate is escaped"
    for table in ("exchanges", "responses", "sent", "scores.strict"):
        assert len(pd.read_parquet(root / f"{table}.parquet")) >= 1
    assert scores["outcome"].isin(["answered", "no_answer"]).all()


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Outcomes]:
    """Outcomes of all lies in one run, except those that need other bounds."""
    bounds: dict[str, dict[str, int]] = {"content without end": {"most_bytes": 10**7}, "a slow trickle": {"timeout": 1}}
    together = lie([name for name in LIES if name not in bounds], tmp_path_factory.mktemp("together"))
    alone = {name: lie([name], tmp_path_factory.mktemp("alone"), **bound) for name, bound in bounds.items()}
    return {**dict.fromkeys(together.by_lie, together), **alone}


def test_there_are_enough_lies() -> None:
    assert len(LIES) >= 55
    assert set(REPLIES) <= set(LIES)


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_recorded_with_its_reason(outcomes: Mapping[str, Outcomes], name: str) -> None:
    answers = outcomes[name].by_lie[name]
    assert len(answers) == 2
    for response, outcome, points in answers:
        if name in REPLIES and response.status == "ok":
            assert (outcome, points) == ("no_answer", 0.0)
            continue
        assert (response.status, outcome, response.text) == ("failed", "failed", None)
        assert math.isnan(points)
        assert response.reason
        assert len(response.reason) <= 400
        assert not [c for c in response.reason if ord(c) < 32 or 127 <= ord(c) < 160]


def test_no_run_stores_a_key_or_grows_by_lies(outcomes: Mapping[str, Outcomes]) -> None:
    for run in outcomes.values():
        assert KEY.encode() not in run.contents
        assert len(run.contents) < 2_000_000
