"""A server on the loopback that answers with any given bytes: status line, headers, body, pauses."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

GOOD: dict[str, Any] = {
    "id": "c",
    "object": "chat.completion",
    "created": 0,
    "model": "stub",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "T"}}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
}
"""A completion as OpenAI documents it."""


@dataclass(frozen=True)
class Wire:
    """Chunks of bytes sent with `pause` seconds between them; then the connection is closed."""

    chunks: Sequence[bytes]
    pause: float = 0.0


def wire(
    body: bytes | Mapping[str, Any] | Sequence[Any] | str | None,
    status: str = "200 OK",
    headers: Mapping[str, str] | None = None,
    length: int | None = None,
) -> Wire:
    """A response; other bodies than bytes are written as JSON. `length` is that of the header."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    fields = {"Content-Type": "application/json", "Content-Length": str(len(raw) if length is None else length)}
    head = "".join(f"{name}: {text}\r\n" for name, text in {**fields, **(headers or {})}.items() if text != "-")
    return Wire([f"HTTP/1.1 {status}\r\n{head}Connection: close\r\n\r\n".encode("latin-1"), raw])


class LyingServer:
    """The server in a thread. `answer` receives the body of the request."""

    def __init__(self, answer: Callable[[Mapping[str, Any]], Wire]) -> None:
        self.answer, self.count, self.port = answer, 0, 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()

    @property
    def url(self) -> str:
        """The value for SERVICE_BASE_URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> LyingServer:
        threading.Thread(target=self._serve, daemon=True).start()
        assert self._ready.wait(10), "the server did not start"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._answer, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        server.close()
        self._loop.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"\r\ncontent-length: *(\d+)", head.lower())
            if length is None:
                return  # the client was redirected and requests a page
            request = json.loads(await reader.readexactly(int(length[1])))
            self.count += 1
            response = self.answer(request)
            for chunk in response.chunks:
                writer.write(chunk)
                await writer.drain()
                await asyncio.sleep(response.pause)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client closed the connection
        finally:
            writer.close()
