"""Chat completions: which services are OpenAI-compatible, their addresses and keys, and one call."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from snellen.core.errors import CallFailed, SnellenError
from snellen.core.prompt import Reply
from snellen.subjects.chat.limiter import Limiter, shared_limiter
from snellen.subjects.chat.messages import Message
from snellen.subjects.chat.settings import ChatSettings
from snellen.subjects.loading import import_extra
from snellen_sight.client import Connections, Endpoint
from snellen_sight.completions import read_completion
from snellen_sight.retry import Trouble, repeated

Outcome = TypeVar("Outcome")
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


@dataclass(frozen=True)
class CompletionService:
    """The chat completions of a model, with the settings of each request; calls share a limiter."""

    connections: Connections
    settings: Mapping[str, Any]
    limiter: Limiter

    @property
    def url(self) -> str:
        """The address that calls go to."""
        return self.connections.endpoint.url

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
            seconds = time.monotonic() - begun
            if not isinstance(outcome, Trouble):
                self.limiter.replied()
                return Reply(
                    outcome.text, outcome.reasoning, (), outcome.stop, outcome.model, outcome.tokens_in,
                    outcome.tokens_out, seconds,
                )  # fmt: skip
            if outcome.is_filter:
                self.limiter.replied()
                return Reply("", stop="filter", model=self.connections.endpoint.model, seconds=seconds)
            if outcome.status == 429:
                self.limiter.cut()
            return outcome


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


async def reply_of(
    attempt: Callable[[], Awaitable[Outcome | Trouble]], attempts: int, first_wait: float, rng: np.random.Generator
) -> Outcome:
    """What an attempt brings, repeated if that may help. Raises CallFailed with a short reason."""
    outcome = await repeated(attempt, attempts, first_wait, rng)
    if isinstance(outcome, Trouble):
        raise CallFailed(outcome.reason, is_lasting=outcome.is_lasting)
    return outcome
