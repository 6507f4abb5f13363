"""Checks of every request to a study (host, origin, size, type), and the headers of all responses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from functools import partial
from urllib.parse import urlsplit

from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from snellen.web.site import StudySite, host_name
from snellen.web.store import Refusal

MAX_BODY_BYTES = 256 * 2**10
"""Four texts of the greatest length with three bytes a character (`admission.MAX_TEXT`)."""
MAX_NESTED = 3000
"""Lists and objects in a body; parsing many is slow. A hundred answers with four boxes each have a third of these."""
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
HTTPS_ONLY = {"Strict-Transport-Security": "max-age=31536000"}
"""For browsers that opened a study over TLS: never without it again, for a year."""


def headers_of(site: StudySite | None) -> Mapping[str, str]:
    """The headers of a study at a site; without one, of a study in tests."""
    headers = HEADERS | (HTTPS_ONLY if site and site.is_public else {})
    if not site or not site.framed_by:
        return headers
    allowed = f"frame-ancestors {site.framed_by}"
    changed = {name: text.replace("frame-ancestors 'none'", allowed) for name, text in headers.items()}
    return {name: text for name, text in changed.items() if name != "X-Frame-Options"}


def sentence(status: int, text: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """A refusal: JSON with one sentence."""
    return JSONResponse({"detail": text}, status_code=status, headers=headers)


class Guard:
    """Refuses requests under other names, from other sites, and those too large or not JSON; adds headers.

    Without `hosts` any name is accepted. `refuse_strangers` raises Refusal for the path of a request under no link of
    the study, whose body is not read.
    """

    def __init__(
        self, app: ASGIApp, headers: Mapping[str, str], hosts: Set[str], refuse_strangers: Callable[[str], None]
    ) -> None:
        self._app = app
        self._headers = headers
        self._hosts = hosts
        self._refuse_strangers = refuse_strangers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        send = partial(_send_with_headers, self._headers, send)
        try:
            body = await self._checked_body(scope, receive)
        except Refusal as refusal:
            await sentence(refusal.status, refusal.sentence)(scope, receive, send)
        else:
            await self._app(scope, _replayed(body, receive), send)

    async def _checked_body(self, scope: Scope, receive: Receive) -> bytes:
        headers = {name.decode("latin-1"): text.decode("latin-1") for name, text in scope["headers"]}
        if self._hosts and host_name(headers.get("host", "")) not in self._hosts:
            raise Refusal(421, "The study is not served under this name; open it by its own link.")
        if scope["method"] in ("GET", "HEAD", "OPTIONS"):
            return b""  # nobody waits for a body that nothing reads
        _refuse_other_sites(headers)
        self._refuse_strangers(scope["path"])
        body = await _read_body(receive)
        if body.count(b"[") + body.count(b"{") > MAX_NESTED:
            raise Refusal(422, f"The request has more than {MAX_NESTED} lists and objects.")
        return body


async def _send_with_headers(headers: Mapping[str, str], send: Send, message: Message) -> None:
    if message["type"] == "http.response.start":
        names = {name.lower() for name, _ in message["headers"]}
        added = {**headers} | ({} if b"cache-control" in names else {"Cache-Control": "no-store"})
        encoded = [(name.lower().encode(), text.encode()) for name, text in added.items()]
        message["headers"] = [*message["headers"], *encoded]
    await send(message)


def _refuse_other_sites(headers: Mapping[str, str]) -> None:
    """Refuse a request from another site, as named by the browser; requests without a site are not from browsers."""
    origin = headers.get("origin")
    try:
        foreign = origin is not None and urlsplit(origin).netloc.casefold() != headers.get("host", "").casefold()
    except ValueError:  # no address at all
        foreign = True
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


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Returns a body that was read already, then further messages."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return messages.pop() if messages else await receive()

    return receive_again
