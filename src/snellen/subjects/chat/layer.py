"""Opens the service of a model: our own client, or the model layer of inspect_ai for providers of other interfaces.

The only module that uses that layer. Its providers are called directly (`Model.api.generate`), in the way that
`Model.generate` does: its retries, transcript and limits serve inspect_ai's own evaluations. inspect_ai is pinned
exactly, and tests check the behaviour that this module relies on.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import time
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from snellen.core.errors import SnellenError
from snellen.core.extras import install_command
from snellen.core.prompt import Reply
from snellen.subjects.chat.client import CompletionService, endpoint_of, is_compatible, open_compatible
from snellen.subjects.chat.limiter import Limiter, shared_limiter
from snellen.subjects.chat.messages import Message
from snellen.subjects.chat.settings import ChatSettings
from snellen_sight.bodies import bound_bodies
from snellen_sight.completions import split_thought
from snellen_sight.retry import Trouble, plain_text, reported_failure, trouble

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, Content, GenerateConfig, Model, ModelAPI, ModelOutput

_NEEDS = {
    "vllm": ("VLLM_BASE_URL", "vllm"), "sglang": ("SGLANG_BASE_URL", "sglang"), "anthropic": ("", "anthropic"),
    "bedrock": ("", "aiobotocore"), "sagemaker": ("", "aiobotocore"), "google": ("", "google.genai"),
}  # fmt: skip
"""The address that a provider needs, or else the package, which inspect_ai misses late, some at the first call."""
_STOPS = {"stop": "end", "max_tokens": "length", "model_length": "length", "content_filter": "filter"}
_VIDEOS = {"video/mp4": "mp4", "video/mpeg": "mpeg", "video/quicktime": "mov"}


@dataclass(frozen=True)
class LayerService:
    """A model of the model layer. `timeout` is seconds per attempt."""

    model: Model
    limiter: Limiter
    timeout: int

    @property
    def url(self) -> str:
        """The address that calls go to; empty if it is the provider's usual one."""
        return str(getattr(self.model.api, "base_url", None) or "")

    @property
    def sends_videos(self) -> bool:
        """True if the layer can send videos to this provider. Third-party providers are assumed to accept them."""
        module = type(self.model.api).__module__
        of_inspect = module.startswith("inspect_ai.model._providers.")
        return not of_inspect or module.endswith(".google") or bool(getattr(self.model.api, "responses_api", False))

    async def generate_once(self, messages: list[Message]) -> Reply | Trouble:
        """One attempt: the reply, or the trouble that prevented it."""
        async with self.limiter:
            try:
                outcome = await _attempt(self.model, layer_messages(messages), self.timeout)
            except Exception as error:  # noqa: BLE001  # each provider has its own error classes; none is hidden
                decision = self.model.api.should_retry(error)
                if getattr(decision, "kind", "") == "rate_limit":
                    self.limiter.cut()
                return trouble(error, bool(decision))
            self.limiter.replied()
            return outcome


Service: TypeAlias = CompletionService | LayerService


def open_service(name: str, settings: ChatSettings) -> Service:
    """The service behind `PROVIDER/MODEL`. Raises SnellenError if a package, a key or the provider is missing."""
    check_service(name)
    if is_compatible(name):
        return open_compatible(name, settings)
    model = _open_model(name, settings)
    account = f"{type(model.api).__name__}:{model.api.connection_key()}"
    return LayerService(model, shared_limiter(account, settings.max_concurrency), settings.timeout)


_opening: ContextVar[bool] = ContextVar("opening", default=False)


def is_opening() -> bool:
    """True while a model is being opened here: then `interop.inspect_entry` adds nothing."""
    return _opening.get()


def _open_model(name: str, settings: ChatSettings) -> Model:
    try:
        from inspect_ai._util.error import PrerequisiteError
        from inspect_ai.model import GenerateConfig, get_model
    except ImportError as error:
        way_out = f"{install_command('providers')}, or use its OpenAI-compatible address as openai-api/SERVICE/MODEL"
        raise SnellenError(f"chat:{name}: this provider needs inspect_ai ({error}); {way_out}") from error
    config = GenerateConfig(
        **settings.sent(),
        reasoning_summary="none",  # else a model of OpenAI is first asked whether the account may have summaries
        max_retries=0,
        attempt_timeout=settings.timeout,
        adaptive_connections=False,
        cache=False,
    )
    token = _opening.set(True)
    try:
        return get_model(name, config=config, memoize=False)
    except PrerequisiteError as error:
        raise SnellenError(f"chat:{name}: {plain_text(error.message)}") from None
    except Exception as error:
        raise SnellenError(f"chat:{name}: {plain_text(error)}") from error
    finally:
        _opening.reset(token)


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # the package that it is part of
        return False


def check_service(name: str) -> None:
    """Raise SnellenError if a common service's key, address or package is missing, before the slow imports."""
    if is_compatible(name):
        endpoint_of(name, f"chat:{name}")
        return
    address, package = _NEEDS.get(name.partition("/")[0], ("", ""))
    if package and not os.environ.get(address) and not _is_installed(package):
        wanted = f"set {address} to the address of a running server, or" if address else "it needs a package:"
        raise SnellenError(f"chat:{name}: {wanted} pip install {package.replace('.', '-')}")


async def _attempt(model: Model, messages: list[ChatMessage], timeout: int) -> Reply | Trouble:
    """The provider's reply within the timeout. Raises the provider's error."""
    from inspect_ai._util.http import status_code_of
    from inspect_ai.model._model import AttemptTimeoutError, ModelGenerateError

    model.verify_model_apis()
    _no_client_retries(model.api)
    bound_bodies(model.api)
    config, begun = _config(model), time.monotonic()
    try:
        async with asyncio.timeout(timeout) as window:
            result = await model.api.generate(messages, [], "none", config)
    except TimeoutError as error:
        raise (AttemptTimeoutError(timeout) if window.expired() else error) from None
    output, call = result if isinstance(result, tuple) else (result, None)
    if isinstance(output, Exception):
        raise ModelGenerateError("", status_code=status_code_of(output), provider_message=str(output)) from output
    output.time = time.monotonic() - begun if call is None or call.time is None else call.time
    if call is not None and (failure := reported_failure(call.response)):
        return failure
    if not output.choices:
        return Trouble("the reply has no choices", again=True)
    if call is not None and call.error:  # providers turn some refusals into an output that reads like an answer
        if output.stop_reason != "content_filter":
            return Trouble(f"refused: {plain_text(output.completion)[:200]}", again=False)
        output.message.content = ""
    return to_reply(output)


def _config(model: Model) -> GenerateConfig:
    """A copy of the model's configuration for one call, since some providers write into it."""
    config = model.config.model_copy()
    if config.max_tokens is None:
        config.max_tokens = model.api.max_tokens_for_config(config) or model.api.max_tokens()
    return config


def _no_client_retries(api: ModelAPI) -> None:
    """Turn off the client's own retries; checked before each call, since some providers create their client late."""
    client: Any = getattr(api, "client", None)
    if getattr(client, "max_retries", 0):
        client.max_retries = 0


def layer_messages(messages: list[Message]) -> list[ChatMessage]:
    """The messages as the model layer has them."""
    from inspect_ai.model import ChatMessageAssistant, ChatMessageUser

    return [
        ChatMessageAssistant(content=message["content"])
        if message["role"] == "assistant"
        else ChatMessageUser(content=[_content(part) for part in message["content"]])
        for message in messages
    ]


def _content(part: Message) -> Content:
    from inspect_ai.model import ContentImage, ContentText, ContentVideo

    if part["type"] == "text":
        return ContentText(text=part["text"])
    url: str = part[part["type"]]["url"]
    if part["type"] == "image_url":
        return ContentImage(image=url)
    kind: Any = _VIDEOS[url.removeprefix("data:").partition(";")[0]]
    return ContentVideo(video=url, format=kind)


def to_reply(output: ModelOutput) -> Reply:
    """The reply; the output must have a choice. Reasoning is separated from the text."""
    content = output.message.content
    thoughts = [] if isinstance(content, str) else [part for part in content if part.type == "reasoning"]
    reasoning = [(part.summary or "") if part.redacted else part.reasoning for part in thoughts]
    text, thought = split_thought(output.message.text)
    usage, stop = output.usage, output.stop_reason
    tokens_in = 0
    if usage:
        tokens_in = usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    return Reply(
        text=text,
        reasoning="\n".join(dict.fromkeys(word for word in (*reasoning, thought) if word)),
        stop=_STOPS.get(stop, stop),
        model=output.model,
        tokens_in=tokens_in,
        tokens_out=usage.output_tokens if usage else 0,
        seconds=output.time or 0.0,
    )
