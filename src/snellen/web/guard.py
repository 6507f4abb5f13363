"""Checks of every request to a study (origin, size, type), and the headers of all responses."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from urllib.parse import urlsplit

from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from snellen.web.store import Refusal

MAX_BODY_BYTES = 64 * 2**10
BODY_SECONDS = 20.0
"""Time limit for receiving the body of a request."""
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "media-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "X-Robots-Tag": "noindex",
}


def sentence(status: int, text: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """A refusal: JSON with one sentence."""
    return JSONResponse({"detail": text}, status_code=status, headers=headers)


class Guard:
    """Refuses requests from other sites, and bodies that are too large, too slow or not JSON; adds headers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        send = partial(_send_with_headers, send)
        try:
            if scope["method"] not in ("GET", "HEAD", "OPTIONS"):
                _refuse_other_sites({name.decode("latin-1"): text.decode("latin-1") for name, text in scope["headers"]})
            body = await asyncio.wait_for(_read_body(receive), BODY_SECONDS)
        except TimeoutError:
            await sentence(408, "The request did not come in time.")(scope, receive, send)
        except Refusal as refusal:
            await sentence(refusal.status, refusal.sentence)(scope, receive, send)
        else:
            await self._app(scope, _Replay(body, receive), send)


async def _send_with_headers(send: Send, message: Message) -> None:
    if message["type"] == "http.response.start":
        names = {name.lower() for name, _ in message["headers"]}
        added = HEADERS | ({} if b"cache-control" in names else {"Cache-Control": "no-store"})
        message["headers"] = [
            *message["headers"],
            *((name.lower().encode(), text.encode()) for name, text in added.items()),
        ]
    await send(message)


def _refuse_other_sites(headers: Mapping[str, str]) -> None:
    """Refuse a request from another site, as named by the browser; requests without a site are not from browsers."""
    origin = headers.get("origin")
    foreign = origin is not None and urlsplit(origin).netloc.casefold() != headers.get("host", "").casefold()
    if foreign or headers.get("sec-fetch-site", "same-origin") != "same-origin":
        raise Refusal(403, "The request comes from another site; open the study by its own link.")
    if headers.get("content-type", "").split(";")[0].strip().casefold() != "application/json":
        raise Refusal(415, "The request must be application/json.")


async def _read_body(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MAX_BODY_BYTES:
            raise Refusal(413, f"The request is larger than {MAX_BODY_BYTES} bytes.")
    return body


class _Replay:
    """Returns a body that was read already, then further messages."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}
