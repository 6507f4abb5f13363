"""An OpenAI-compatible server on the loopback, for tests and benchmarks. It stops by itself.

with StubServer(lambda request: "A") as server: ...          in a thread, records its requests
python -m tests.helpers.stub_server --delay 0.05           in its own process, prints its port, counts only
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from aiohttp import web


@dataclass(frozen=True)
class ServedRequest:
    """One received request."""

    number: int
    time: float
    body: Mapping[str, Any]
    headers: Mapping[str, str]

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body["messages"])

    @property
    def parts(self) -> list[str | bytes]:
        """Words and decoded media of all messages, in order."""
        contents: list[str | bytes] = []
        for message in self.messages:
            content: Any = message["content"]
            parts: list[dict[str, Any]] = [{"type": "text", "text": content}] if isinstance(content, str) else content
            for part in parts:
                if part["type"] == "text":
                    contents.append(part["text"])
                else:
                    contents.append(base64.b64decode(part[part["type"]]["url"].partition(";base64,")[2]))
        return contents

    @property
    def images(self) -> list[bytes]:
        return [part for part in self.parts if isinstance(part, bytes)]


@dataclass(frozen=True)
class Status:
    """Answer with this status and these headers."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    error: Mapping[str, Any] = field(default_factory=lambda: {"message": "stubbed", "type": "stub", "code": None})


@dataclass(frozen=True)
class Body:
    """Answer with this text unchanged."""

    text: str
    kind: str = "application/json"
    status: int = 200


@dataclass(frozen=True)
class Words:
    """A valid completion with more details."""

    text: str | None
    finish: str = "stop"
    message: Mapping[str, Any] = field(default_factory=dict)
    tokens: tuple[int, int] | None = (100, 1)
    model: str = "stub-as-served"


@dataclass(frozen=True)
class Hang:
    """Answer after this number of seconds."""

    seconds: float = 60.0


class Cut:
    """Close the connection without an answer."""


Answer = str | Status | Body | Words | Hang | Cut
"""A string is a completion with this text."""

NO_CHOICES = Body('{"id": "c", "object": "chat.completion", "created": 0, "model": "stub", "choices": []}')
NULL_CHOICES = Body('{"id": "c", "object": "chat.completion", "created": 0, "model": "stub", "choices": null}')
BROKEN_JSON = Body('{"id": "c", "choices": [{"mess')


def completion(words: Words, number: int) -> dict[str, Any]:
    """A chat completion as OpenAI documents it."""
    message = {"role": "assistant", "content": words.text, "refusal": None, **words.message}
    body: dict[str, Any] = {
        "id": f"c{number}", "object": "chat.completion", "created": 0, "model": words.model,
        "choices": [{"index": 0, "finish_reason": words.finish, "logprobs": None, "message": message}],
    }  # fmt: skip
    if words.tokens:
        read, written = words.tokens
        body["usage"] = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    return body


class StubServer:
    """A server in a thread. `answer` is called with each request; `requests` has them all, `most` the most at once."""

    def __init__(
        self, answer: Callable[[ServedRequest], Answer] | Answer = "A", delay: float = 0.0, keep: bool = True
    ) -> None:
        self.tail: random.Random | None = None
        self.requests: list[ServedRequest] = []
        self.count = self.now = self.most = 0
        self.answer: Callable[[ServedRequest], Answer] = answer if callable(answer) else lambda request: answer
        self.delay, self.keep, self.port = delay, keep, 0
        self._ready = threading.Event()
        self._stop: Callable[[], object] = lambda: None

    @property
    def url(self) -> str:
        """The value for SERVICE_BASE_URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> StubServer:
        threading.Thread(target=lambda: asyncio.run(self.serve()), daemon=True).start()
        if not self._ready.wait(10):
            raise RuntimeError("the stub server did not start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    async def serve(self, life: float | None = None) -> None:
        """Serve until stopped, or for `life` seconds."""
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        self._stop = lambda: loop.call_soon_threadsafe(stop.set)
        app = web.Application(client_max_size=1 << 30)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/completions", self._chat)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/stats", self._stats)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024)
        await site.start()
        self.port = runner.addresses[0][1]
        self._ready.set()
        try:
            await asyncio.wait_for(stop.wait(), life)
        except TimeoutError:
            pass
        finally:
            await runner.cleanup()

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "stub", "object": "model"}]})

    async def _stats(self, request: web.Request) -> web.Response:
        """The number of requests, and the most at once, since the last call."""
        stats = {"count": self.count, "most": self.most}
        self.count = self.most = 0
        return web.json_response(stats)

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        arrival, raw = time.monotonic(), await request.read()
        self.count += 1
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            body = json.loads(raw) if self.keep else {}
            served = ServedRequest(self.count, arrival, body, dict(request.headers))
            if self.keep:
                self.requests.append(served)
            answer = self.answer(served)
            await asyncio.sleep(answer.seconds if isinstance(answer, Hang) else self._latency())
            return self._respond(request, served, answer)
        finally:
            self.now -= 1

    def _latency(self) -> float:
        """Seconds: constant or, with a tail, 0.2 and more from Pareto (1.2), at most 5, mean 0.685."""
        return self.delay if self.tail is None else min(5.0, 0.2 * (1 - self.tail.random()) ** (-1 / 1.2))

    def _respond(self, request: web.Request, served: ServedRequest, answer: Answer) -> web.StreamResponse:
        if isinstance(answer, Status):
            return web.json_response({"error": dict(answer.error)}, status=answer.status, headers=dict(answer.headers))
        if isinstance(answer, Body):
            return web.Response(text=answer.text, content_type=answer.kind, status=answer.status)
        if isinstance(answer, Cut):
            if request.transport is not None:
                request.transport.close()
            return web.Response()
        words = Words("late") if isinstance(answer, Hang) else Words(answer) if isinstance(answer, str) else answer
        return web.json_response(completion(words, served.number))


def main() -> None:
    """Serve `A` from a separate process, and print the address on the first line of stdout."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--delay", type=float, default=0.05)
    parser.add_argument("--tail", action="store_true", help="latencies with a tail, the same ones each time")
    parser.add_argument("--life", type=float, default=600.0)
    arguments = parser.parse_args()
    server = StubServer("A", arguments.delay, keep=False)
    server.tail = random.Random(0) if arguments.tail else None

    async def serve() -> None:
        serving = asyncio.create_task(server.serve(arguments.life))
        while not server.port:
            await asyncio.sleep(0.01)
        sys.stdout.write(f"{server.port}\n")
        sys.stdout.flush()
        parent = os.getppid()
        while not serving.done() and os.getppid() == parent:  # an orphan stops
            await asyncio.sleep(0.5)

    asyncio.run(serve())


if __name__ == "__main__":
    main()
