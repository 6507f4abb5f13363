"""The only module that uses inspect_ai's model layer: opens a model and calls it once.

Providers are called directly (`Model.api.generate`), in the way `Model.generate` does: its retries, transcript and
limits serve inspect_ai's own evaluations and take as much processor time as half a call. inspect_ai is pinned exactly,
and tests check the behaviour that this module relies on.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from snellen.core.errors import SnellenError
from snellen.core.extras import install_command
from snellen.subjects.chat.bodies import bound_bodies
from snellen.subjects.chat.limiter import Limiter
from snellen.subjects.chat.retry import Trouble, plain_text, reported_failure, trouble
from snellen.subjects.chat.settings import ChatSettings

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelAPI, ModelOutput

CLIENT_CALLS = 16
"""Maximum of concurrent calls per HTTP client, which scans all its connections and requests for each request."""
_HOSTED = {"openai", "openai-api"}
"""Providers that may be opened several times, since they only send requests. Others may start a server."""

_NEEDS = {
    "vllm": ("VLLM_BASE_URL", "vllm"), "sglang": ("SGLANG_BASE_URL", "sglang"), "anthropic": ("", "anthropic"),
    "bedrock": ("", "aiobotocore"), "sagemaker": ("", "aiobotocore"), "google": ("", "google.genai"),
}  # fmt: skip
"""The address that a provider needs, or else the package, which inspect_ai misses late, some at the first call."""

_limiters: dict[str, Limiter] = {}
"""By provider, account and model; subjects with equal ones share the service's rate limit."""


@dataclass
class _Client:
    model: Model
    under_way: int = 0


@dataclass(frozen=True)
class Service:
    """The service of a chat model: clients opened as needed, and one limiter for all of them.

    `client_calls` is the maximum of concurrent calls per client, `timeout` is seconds per attempt.
    """

    open: Callable[[], Model]
    limiter: Limiter
    client_calls: int
    timeout: int
    clients: list[_Client] = field(default_factory=list)

    async def generate_once(self, messages: list[ChatMessage]) -> ModelOutput | Trouble:
        """One attempt: the model's own output with a choice, or the trouble that prevented it."""
        async with self.limiter:
            with self._client() as model:
                try:
                    outcome = await _attempt(model, messages, self.timeout)
                except Exception as error:  # noqa: BLE001  # each provider has its own error classes; none is hidden
                    decision = model.api.should_retry(error)
                    if getattr(decision, "kind", "") == "rate_limit":
                        self.limiter.cut()
                    return trouble(error, bool(decision))
            self.limiter.replied()
            return outcome

    @contextmanager
    def _client(self) -> Iterator[Model]:
        client = next((client for client in self.clients if client.under_way < self.client_calls), None)
        if client is None:
            client = _Client(self.open())
            self.clients.append(client)
        client.under_way += 1
        try:
            yield client.model
        finally:
            client.under_way -= 1


def open_service(name: str, settings: ChatSettings) -> Service:
    """The service behind `PROVIDER/MODEL`. Raises SnellenError if a package, a key or the provider is missing."""
    check_service(name)
    model = _open_model(name, settings)
    key = f"{type(model.api).__name__}:{model.api.connection_key()}"
    limiter = _limiters.setdefault(key, Limiter(settings.max_concurrency))
    client_calls = CLIENT_CALLS if name.split("/", 1)[0] in _HOSTED else settings.max_concurrency
    return Service(lambda: _open_model(name, settings), limiter, client_calls, settings.timeout, [_Client(model)])


_opening: ContextVar[bool] = ContextVar("opening", default=False)


def is_opening() -> bool:
    """True while a model is being opened here: then `interop.inspect_entry` adds nothing."""
    return _opening.get()


def _open_model(name: str, settings: ChatSettings) -> Model:
    try:
        from inspect_ai._util.error import PrerequisiteError
        from inspect_ai.model import GenerateConfig, get_model
    except ImportError as error:
        raise SnellenError(f"chat subjects need inspect_ai ({error}); {install_command('chat')}") from error
    _read_model_tables()
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


@cache
def _read_model_tables() -> None:
    """Make inspect_ai read its model tables with libyaml; Python's own reader takes half the time of a first call."""
    import yaml
    from inspect_ai.model import _model_info
    from inspect_ai.model._model_data import model_data

    if not yaml.__with_libyaml__:
        return
    module: Any = model_data
    former = module.yaml
    quick = SimpleNamespace(safe_load=partial(yaml.load, Loader=yaml.CSafeLoader), YAMLError=yaml.YAMLError)
    module.yaml = quick
    try:
        _model_info._get_model_info_db()
    finally:
        module.yaml = former


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # the package that it is part of
        return False


def check_service(name: str) -> None:
    """Raise SnellenError if a common service's key, address or package is missing, before the slow imports."""
    provider, _, rest = name.partition("/")
    address, package = _NEEDS.get(provider, ("", ""))
    if package and not os.environ.get(address) and not _is_installed(package):
        wanted = f"set {address} to the address of a running server, or" if address else "it needs a package:"
        raise SnellenError(f"chat:{name}: {wanted} pip install {package.replace('.', '-')}")
    variable = ""
    if provider == "openai-api" and rest:
        variable = rest.partition("/")[0].upper().replace("-", "_") + "_API_KEY"
    elif provider == "openai" and "/" not in rest:  # `openai/azure/…` and `openai/bedrock/…` have other keys
        variable = "OPENAI_API_KEY"
    elif provider == "openrouter":
        variable = "OPENROUTER_API_KEY"
    if provider == "openai-api" and "/" not in rest:
        raise SnellenError(f"chat:{name}: name the service too, as in chat:openai-api/SERVICE/{rest or 'MODEL'}")
    base = variable.replace("_API_KEY", "_BASE_URL")
    if variable and (url := os.environ.get(base, "")) and not url.startswith(("http://", "https://")):
        raise SnellenError(
            f"chat:{name}: {base}={url} must begin with http:// or https://, as http://127.0.0.1:8000/v1"
        )
    if variable and not os.environ.get(variable):
        raise SnellenError(f"chat:{name}: {variable} is not set; set it (to any word if the server needs no key)")


def sends_videos(api: ModelAPI) -> bool:
    """True if the model layer can send videos to this provider. Third-party providers are assumed to accept them."""
    module = type(api).__module__
    of_inspect = module.startswith("inspect_ai.model._providers.")
    return not of_inspect or module.endswith(".google") or bool(getattr(api, "responses_api", False))


async def _attempt(model: Model, messages: list[ChatMessage], timeout: int) -> ModelOutput | Trouble:
    """The provider's output within the timeout. Raises the provider's error."""
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
    return output


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
