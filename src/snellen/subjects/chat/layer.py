"""The one door to inspect_ai's model layer: how a model is made, and how it is asked once.

inspect_ai is pinned exactly, and tests hold it to what is relied on here: it makes one attempt, keeps nothing, and lets
its adaptive limiter decide how many calls are under way.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from snellen.core.errors import SnellenError
from snellen.subjects.chat.bodies import bound_bodies
from snellen.subjects.chat.retry import Trouble, trouble
from snellen.subjects.chat.settings import ChatSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspect_ai.model import ChatMessage, Model, ModelOutput

INITIAL_CONCURRENCY = 20
"""Calls under way at first; the limiter doubles while all goes well and cuts back where a service says 429."""


def open_model(name: str, settings: ChatSettings) -> Model:
    """The model of this name. Raises SnellenError where a package, a key or the provider is missing."""
    try:
        from inspect_ai._util.error import PrerequisiteError
        from inspect_ai.model import GenerateConfig, get_model
        from inspect_ai.util import AdaptiveConcurrency
    except ImportError as error:
        raise SnellenError(f"chat subjects need inspect_ai ({error}); pip install 'snellen[chat]'") from error
    limit = AdaptiveConcurrency(
        min=1, start=min(INITIAL_CONCURRENCY, settings.max_concurrency), max=settings.max_concurrency
    )
    config = GenerateConfig(
        **settings.answering(), max_retries=0, attempt_timeout=settings.timeout, adaptive_connections=limit, cache=False
    )
    try:
        return get_model(name, config=config, memoize=False)
    except PrerequisiteError as error:
        raise SnellenError(f"chat:{name}: {_plain(error.message)}") from None
    except Exception as error:
        raise SnellenError(f"chat:{name}: {_plain(error)}") from error


def sends_videos(model: Model) -> bool:
    """Whether the model layer has a form for videos to this provider. Providers from elsewhere are believed to."""
    module = type(model.api).__module__
    of_inspect = module.startswith("inspect_ai.model._providers.")
    return not of_inspect or module.endswith(".google") or bool(getattr(model.api, "responses_api", False))


def _plain(message: object) -> str:
    words = re.sub(r"\[/?[a-z ]+\]", "", str(message)).split()
    return " ".join(words).removeprefix("ERROR: ")


async def generate_once(model: Model, messages: list[ChatMessage]) -> ModelOutput | Trouble:
    """One attempt: an output with a choice in the model's own words, or what stood in its way."""
    _no_client_retries(model)
    bound_bodies(model.api)
    call = _call_class()()
    with _recording(call):
        try:
            output = await model.generate(messages)
        except Exception as raised:  # noqa: BLE001  # every provider has its own classes; a failure is judged, never hidden
            error = _innermost(raised)
            return trouble(error, isinstance(error, Exception) and bool(model.api.should_retry(error)))
    if not output.choices:
        return Trouble("the reply has no choices", again=True)
    if call.refused():  # the model layer turns some refusals into an output that reads like an answer
        if output.stop_reason != "content_filter":
            return Trouble(f"refused: {output.completion[:200]}", again=False)
        output.message.content = ""
    return output


def _innermost(error: Exception) -> BaseException:
    """What was raised in the attempt, without the wrapper of the model layer's own retries (which are off)."""
    last = getattr(error, "last_attempt", None)
    return (last and last.exception()) or error


def _no_client_retries(model: Model) -> None:
    """Some providers make their client late, so this is looked at before every call."""
    client: Any = getattr(model.api, "client", None)
    if getattr(client, "max_retries", 0):
        client.max_retries = 0


@contextmanager
def _recording(call: Any) -> Iterator[None]:
    """Let the model layer record into `call`, not into a transcript that keeps every picture ever sent."""
    from inspect_ai.log._transcript import _transcript

    token = _transcript.set(call)
    try:
        yield
    finally:
        _transcript.reset(token)


@cache
def _call_class() -> type[Any]:
    from inspect_ai.log._transcript import Transcript

    class Call(Transcript):
        """A transcript that remembers the latest event and tells nobody."""

        def __init__(self) -> None:
            self.event: Any = None

        def _event(self, event: Any) -> None:
            self.event = event

        def _event_updated(self, event: Any) -> None:
            self.event = event

        def refused(self) -> bool:
            """Whether the service answered with an error that the model layer made an output of."""
            return bool(self.event is not None and self.event.call is not None and self.event.call.error)

    return Call
