"""Connections to an OpenAI-compatible server over httpx: one request with its outcome.

Each connection has an httpx client of its own, which is cheaper than a pool: httpx scans all connections and requests
of a pool for every request.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from snellen_sight.bodies import bound_client
from snellen_sight.retry import Trouble, reported_failure, stated_words, status_trouble, trouble, with_origin

if TYPE_CHECKING:
    import ssl

    import httpx


MOST_REDIRECTS = 5  # of one call


@dataclass(frozen=True)
class Endpoint:
    """A model of an OpenAI-compatible service; `url` is the part that all requests share."""

    provider: str
    model: str
    url: str
    key: str


@cache
def _tls() -> ssl.SSLContext:
    """Shared by all connections, since it takes longer to make than a call."""
    import httpx

    return httpx.create_ssl_context()


@dataclass(frozen=True)
class Connections:
    """Connections to an endpoint, opened as needed and kept while their event loop runs. `timeout` is in seconds."""

    endpoint: Endpoint
    timeout: int
    idle: WeakKeyDictionary[asyncio.AbstractEventLoop, list[httpx.AsyncClient]] = field(
        default_factory=WeakKeyDictionary
    )

    async def post(self, path: str, fields: Mapping[str, Any]) -> dict[str, Any] | Trouble:
        """The body of the response to a request with these fields, or the trouble that prevented it."""
        import httpx

        request = json.dumps({"model": self.endpoint.model, **fields}).encode()
        idle = self._idle()
        client = idle.pop() if idle else self._open()
        try:
            async with asyncio.timeout(self.timeout) as window:
                response = await client.post(self.endpoint.url + path, content=request)
                for _ in range(MOST_REDIRECTS):
                    following = response.next_request
                    if following is None or following.url.host != response.url.host:
                        break  # another host may be one that only this machine reaches
                    response = await client.send(following)
                return _body(response)
        except TimeoutError as error:
            if not window.expired():
                return trouble(error)
            return Trouble(f"TimeoutError: no reply within {self.timeout} s", again=True)
        except Exception as error:  # noqa: BLE001  # whatever a server sends must not end a run
            return trouble(error, isinstance(error, httpx.TransportError))
        finally:
            idle.append(client)

    def _idle(self) -> list[httpx.AsyncClient]:
        loop = asyncio.get_running_loop()
        if loop not in self.idle:
            for other in [other for other in self.idle if other.is_closed()]:
                self.idle.pop(other, None)  # its connections belong to it
        return self.idle.setdefault(loop, [])

    def _open(self) -> httpx.AsyncClient:
        import httpx

        headers = {"authorization": f"Bearer {self.endpoint.key}", "content-type": "application/json"}
        headers["user-agent"] = "snellen"  # some proxies refuse the usual names of clients
        cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))  # none is kept
        client = httpx.AsyncClient(headers=headers, cookies=cookies, timeout=None, verify=_tls())
        bound_client(client)
        return client


def _body(response: httpx.Response) -> dict[str, Any] | Trouble:
    try:
        body = json.loads(response.content)
    except (ValueError, RecursionError):
        body = None
    if not response.is_success:
        return status_trouble(response.status_code, body or response.text, response.headers, response.url)
    if not isinstance(body, dict):
        return Trouble(f"the reply is no completion: {stated_words(response.text)}".rstrip(": "), again=True)
    failure = reported_failure(body)
    return with_origin(failure, response.url) if failure else body
