"""The one door to inspect_ai's model layer: how a model is opened, and how it is asked once.

Providers are called themselves (`Model.api.generate`), as `Model.generate` would call them: its retries, transcript and
limits are for evaluations of its own, and cost as much processor time as half a call. inspect_ai is pinned exactly, and
tests hold it to what is relied on here.
"""

from __future__ import annotations

import asyncio
import os
import re
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
from snellen.subjects.chat.retry import Trouble, trouble
from snellen.subjects.chat.settings import ChatSettings

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelAPI, ModelOutput

CLIENT_CALLS = 16
"""Most calls under way through one HTTP client: for every request, it looks at all its connections and requests."""
_HOSTED = {"openai", "openai-api"}
"""Providers that may be opened several times: they do nothing but send requests. Others may start a server."""

_limiters: dict[str, Limiter] = {}
"""By provider, account and model: subjects with the same ones share what the service allows."""


@dataclass
class _Client:
    model: Model
    under_way: int = 0


@dataclass(frozen=True)
class Service:
    """Where a chat model is asked: clients opened as they are needed, and one limiter for all of them.

    `client_calls` is the most calls under way through one client, `timeout` seconds an attempt.
    """

    open: Callable[[], Model]
    limiter: Limiter
    client_calls: int
    timeout: int
    clients: list[_Client] = field(default_factory=list)

    async def generate_once(self, messages: list[ChatMessage]) -> ModelOutput | Trouble:
        """One attempt: an output with a choice in the model's own words, or what stood in its way."""
        async with self.limiter:
            with self._client() as model:
                try:
                    outcome = await _attempt(model, messages, self.timeout)
                except Exception as error:  # noqa: BLE001  # every provider has its own classes; a failure is judged, never hidden
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
    """The service behind `PROVIDER/MODEL`. Raises SnellenError where a package, a key or the provider is missing."""
    _need_key(name)
    model = _open_model(name, settings)
    key = f"{type(model.api).__name__}:{model.api.connection_key()}"
    limiter = _limiters.setdefault(key, Limiter(settings.max_concurrency))
    client_calls = CLIENT_CALLS if name.split("/", 1)[0] in _HOSTED else settings.max_concurrency
    return Service(lambda: _open_model(name, settings), limiter, client_calls, settings.timeout, [_Client(model)])


_opening: ContextVar[bool] = ContextVar("opening", default=False)


def is_opening() -> bool:
    """Whether a model is being opened here: then `interop.inspect_entry` has nothing to add."""
    return _opening.get()


def _open_model(name: str, settings: ChatSettings) -> Model:
    try:
        from inspect_ai._util.error import PrerequisiteError
        from inspect_ai.model import GenerateConfig, get_model
    except ImportError as error:
        raise SnellenError(f"chat subjects need inspect_ai ({error}); {install_command('chat')}") from error
    _read_model_tables()
    config = GenerateConfig(
        **settings.answering(), max_retries=0, attempt_timeout=settings.timeout, adaptive_connections=False, cache=False
    )
    token = _opening.set(True)
    try:
        return get_model(name, config=config, memoize=False)
    except PrerequisiteError as error:
        raise SnellenError(f"chat:{name}: {_plain(error.message)}") from None
    except Exception as error:
        raise SnellenError(f"chat:{name}: {_plain(error)}") from error
    finally:
        _opening.reset(token)


@cache
def _read_model_tables() -> None:
    """Let inspect_ai read its tables of models by libyaml: by Python's own reader they take half of a first call."""
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


def _need_key(name: str) -> None:
    """Raise SnellenError where the key of a common service is missing: seconds before imports tell it."""
    provider, _, rest = name.partition("/")
    variable = ""
    if provider == "openai-api" and rest:
        variable = rest.partition("/")[0].upper().replace("-", "_") + "_API_KEY"
    elif provider == "openai" and "/" not in rest:  # `openai/azure/…` and `openai/bedrock/…` have keys of their own
        variable = "OPENAI_API_KEY"
    elif provider == "openrouter":
        variable = "OPENROUTER_API_KEY"
    if variable and not os.environ.get(variable):
        raise SnellenError(f"chat:{name}: {variable} is not set; set it (to any word, where the server wants no key)")


def sends_videos(api: ModelAPI) -> bool:
    """Whether the model layer has a form for videos to this provider. Providers from elsewhere are believed to."""
    module = type(api).__module__
    of_inspect = module.startswith("inspect_ai.model._providers.")
    return not of_inspect or module.endswith(".google") or bool(getattr(api, "responses_api", False))


def _plain(message: object) -> str:
    words = re.sub(r"\[/?[a-z ]+\]", "", str(message)).split()
    return " ".join(words).removeprefix("ERROR: ")


async def _attempt(model: Model, messages: list[ChatMessage], timeout: int) -> ModelOutput | Trouble:
    """What the provider says, within so many seconds. Raises what stood in its way."""
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
    if not output.choices:
        return Trouble("the reply has no choices", again=True)
    if call is not None and call.error:  # providers turn some refusals into an output that reads like an answer
        if output.stop_reason != "content_filter":
            return Trouble(f"refused: {output.completion[:200]}", again=False)
        output.message.content = ""
    return output


def _config(model: Model) -> GenerateConfig:
    """The model's configuration, for one call: some providers write into it."""
    config = model.config.model_copy()
    if config.max_tokens is None:
        config.max_tokens = model.api.max_tokens_for_config(config) or model.api.max_tokens()
    return config


def _no_client_retries(api: ModelAPI) -> None:
    """Some providers make their client late, so this is looked at before every call."""
    client: Any = getattr(api, "client", None)
    if getattr(client, "max_retries", 0):
        client.max_retries = 0
