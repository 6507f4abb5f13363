"""Chat completions over httpx: which services are OpenAI-compatible, and one request with its outcome.

Each connection has an httpx client of its own, which is cheaper than a pool: httpx scans all connections and requests
of a pool for every request.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from snellen.core.errors import SnellenError
from snellen.core.prompt import Reply
from snellen.subjects.chat.bodies import bound_client
from snellen.subjects.chat.completions import read_completion
from snellen.subjects.chat.limiter import Limiter, shared_limiter
from snellen.subjects.chat.messages import Message
from snellen.subjects.chat.retry import Trouble, reported_failure, stated_words, status_trouble, trouble
from snellen.subjects.chat.settings import ChatSettings
from snellen.subjects.loading import import_extra

if TYPE_CHECKING:
    import ssl

    import httpx

_HOSTS = {
    "openai": ("https://api.openai.com/v1", ""), "openai-api": ("", ""),
    "openrouter": ("https://openrouter.ai/api/v1", ""), "together": ("https://api.together.xyz/v1", ""),
    "ollama": ("http://localhost:11434/v1", "ollama"), "vllm": ("", "none"), "sglang": ("", "none"),
}  # fmt: skip
"""The usual address and key of a provider; empty ones must be given by the environment."""
_EXAMPLE = "http://127.0.0.1:8000/v1"
_OTHER_INTERFACE = re.compile(r"^(azure|bedrock)/|codex|deep-research|computer-use|-pro($|-)")
"""OpenAI's models that have no chat completions, and those that others host."""
_O_SERIES = re.compile(r"(?:^|/)o\d")
_GPT = re.compile(r"gpt-(\d+)(?:\.(\d+))?(?![\d.])")
"""`gpt-5.1-mini` has version 5.1, `gpt-4o` version 4."""


@dataclass(frozen=True)
class Endpoint:
    """A model of an OpenAI-compatible service; `url` is the part that all requests share."""

    provider: str
    model: str
    url: str
    key: str


def is_compatible(name: str) -> bool:
    """True if `PROVIDER/MODEL` is called here. Other models are called through inspect_ai, as are servers to start."""
    provider, _, model = name.partition("/")
    if provider in ("vllm", "sglang"):
        return bool(os.environ.get(f"{provider.upper()}_BASE_URL"))
    return provider in _HOSTS and not (provider == "openai" and _OTHER_INTERFACE.search(model))


def endpoint_of(name: str, who: str) -> Endpoint:
    """The endpoint of `PROVIDER/MODEL` or `openai-api/SERVICE/MODEL`, by PROVIDER_BASE_URL and PROVIDER_API_KEY.

    Raises SnellenError, about a subject `who`, if the service, its key or its address is missing.
    """
    provider, _, model = name.partition("/")
    service, rest = provider, model
    if provider == "openai-api":
        service, _, rest = model.partition("/")
        if not (service and rest):
            raise SnellenError(f"{who}: name the service too, as in chat:openai-api/SERVICE/{model or 'MODEL'}")
    usual_url, usual_key = _HOSTS[provider]
    prefix = service.upper().replace("-", "_")
    url = os.environ.get(f"{prefix}_BASE_URL") or usual_url
    key = os.environ.get(f"{prefix}_API_KEY", "").strip() or usual_key
    if url and not url.startswith(("http://", "https://")):
        raise SnellenError(f"{who}: {prefix}_BASE_URL={url} must begin with http:// or https://, as {_EXAMPLE}")
    if not key:
        raise SnellenError(f"{who}: {prefix}_API_KEY is not set; set it (to any word if the server needs no key)")
    if not url:
        raise SnellenError(f"{who}: {prefix}_BASE_URL is not set; set it to the server's address, as {_EXAMPLE}")
    return Endpoint(provider, rest, url.rstrip("/"), key)


def generation_settings(endpoint: Endpoint, settings: ChatSettings) -> dict[str, Any]:
    """The settings as the endpoint names them: models of OpenAI that reason have other names and fewer settings."""
    sent, effort = settings.sent(), settings.reasoning_effort
    version = _gpt_version(endpoint.model)
    is_o_series = _O_SERIES.search(endpoint.model) is not None
    if "max_tokens" in sent and (is_o_series or version >= (5, 0)):
        sent["max_completion_tokens"] = sent.pop("max_tokens")
    reasons = is_o_series or version == (5, 0)
    if version >= (5, 1):  # these reason if an effort is set, the later ones also if none is
        reasons = effort not in (None, "none") or (effort is None and version >= (5, 5))
    if endpoint.provider == "openai" and reasons:
        sent = {name: value for name, value in sent.items() if name not in ("temperature", "top_p")}
    if endpoint.provider in ("openrouter", "ollama") and sent.pop("reasoning_effort", None):
        sent["reasoning"] = {"effort": "xhigh" if effort == "max" else effort}
    return sent


def _gpt_version(name: str) -> tuple[int, int]:
    match = _GPT.search(name.lower())
    return (int(match[1]), int(match[2] or 0)) if match else (0, 0)


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
                return _body(await client.post(self.endpoint.url + path, content=request))
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
        client = httpx.AsyncClient(headers=headers, timeout=None, verify=_tls(), follow_redirects=True)
        bound_client(client)
        return client


@dataclass(frozen=True)
class CompletionService:
    """The chat completions of a model, with the settings of each request; calls share a limiter."""

    connections: Connections
    settings: Mapping[str, Any]
    limiter: Limiter

    @property
    def sends_videos(self) -> bool:
        """True if the service may accept videos; OpenAI does not."""
        return self.connections.endpoint.provider != "openai"

    async def generate_once(self, messages: list[Message]) -> Reply | Trouble:
        """One attempt: the reply, or the trouble that prevented it."""
        async with self.limiter:
            begun = time.monotonic()
            body = await self.connections.post("/chat/completions", {"messages": messages, **self.settings})
            outcome = body if isinstance(body, Trouble) else read_completion(body)
            if isinstance(outcome, Trouble) and outcome.is_filter:
                outcome = Reply("", stop="filter", model=self.connections.endpoint.model)
            if not isinstance(outcome, Trouble):
                self.limiter.replied()
                return replace(outcome, seconds=time.monotonic() - begun)
            if outcome.status == 429:
                self.limiter.cut()
            return outcome


def _body(response: httpx.Response) -> dict[str, Any] | Trouble:
    try:
        body = json.loads(response.content)
    except (ValueError, RecursionError):
        body = None
    if not response.is_success:
        return status_trouble(response.status_code, body or response.text, response.headers, response.url)
    if not isinstance(body, dict):
        return Trouble(f"the reply is no completion: {stated_words(response.text)}".rstrip(": "), again=True)
    return reported_failure(body) or body


def open_connections(who: str, name: str, timeout: int) -> Connections:
    """Connections of a subject `who` to `PROVIDER/MODEL`. Raises SnellenError if httpx, key or address is missing."""
    endpoint = endpoint_of(name, who)
    import_extra("httpx", who, "chat")
    return Connections(endpoint, timeout)


def open_compatible(name: str, settings: ChatSettings) -> CompletionService:
    """The service behind `PROVIDER/MODEL`. Raises SnellenError if httpx, a key or an address is missing."""
    connections = open_connections(f"chat:{name}", name, settings.timeout)
    endpoint = connections.endpoint
    limiter = shared_limiter(f"{endpoint.url} {endpoint.key} {endpoint.model}", settings.max_concurrency)
    return CompletionService(connections, generation_settings(endpoint, settings), limiter)
