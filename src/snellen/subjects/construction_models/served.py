"""Log-probability of a continuation from an OpenAI-compatible server: its completions endpoint with `echo`.

vLLM returns the log-probabilities of a prompt. llama.cpp's own server refuses `echo` (issue 27174 of
ggml-org/llama.cpp), as do hosted chat models. The server tokenizes context and continuation together.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from snellen.core.errors import CallFailed, SnellenError
from snellen.core.item import View
from snellen.core.prompt import Prompt, Reply
from snellen.core.sheet import answer_views
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base
from snellen.subjects.chat.retry import reply_of, trouble
from snellen.subjects.construction_models.continuation import mean_text, split_context
from snellen.subjects.loading import import_extra

if TYPE_CHECKING:
    from openai import OpenAI


@dataclass(frozen=True)
class ServedLogProb(Base):
    """A served language model. `attempts` counts tries per call; `first_wait` (seconds) doubles after each."""

    client: OpenAI
    model: str
    attempts: int = 5
    first_wait: float = 1.0

    def declines(self, prompt: Prompt) -> str | None:
        """Decline views without a context and continuation."""
        for view in prompt.views:
            if isinstance(pair := split_context(view), str):
                return pair
        return None if prompt.views else "nothing to read"

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """Score each view in one request. Raises CallFailed if the server fails or its reply is unusable."""
        texts: dict[str, str] = {}
        numbers: list[float] = []
        read, served = 0, ""
        for view in prompt.views:
            pair = split_context(view)
            assert not isinstance(pair, str), pair
            ask = partial(asyncio.to_thread, self._once, "".join(pair))
            completion = await reply_of(ask, self.attempts, self.first_wait, rng)
            terms = continuation_terms(completion, pair[1])
            texts[view.item_id] = mean_text(sum(terms), len(terms))
            numbers += terms
            read += completion.usage.prompt_tokens if completion.usage else 0
            served = str(completion.model or "")

        def text_of(view: View) -> str:
            return texts[view.item_id]

        return Reply(answer_views(prompt.views, text_of), numbers=tuple(numbers), model=served, tokens_in=read)

    def _once(self, text: str) -> Any:
        """The completion or the error. Temperature 1 leaves the model's probabilities unchanged."""
        from openai import APIConnectionError, OpenAIError

        try:
            return self.client.completions.create(
                model=self.model, prompt=text, echo=True, logprobs=1, max_tokens=0, temperature=1.0
            )
        except (OpenAIError, ValueError) as error:
            return trouble(error, isinstance(error, APIConnectionError))


def continuation_terms(completion: Any, continuation: str) -> list[float]:
    """Log p of each token of the continuation, which ends the text that was sent.

    Tokens are located by `text_offset`, counted from the end because only some servers count the start token.
    Raises CallFailed if a token crosses the border of context and continuation, or the tokens do not spell it.
    """
    logprobs = completion.choices[0].logprobs if completion.choices else None
    if logprobs is None or not logprobs.tokens or logprobs.text_offset is None or logprobs.token_logprobs is None:
        raise CallFailed("the server returned no log-probabilities; it must support echo with logprobs (vLLM)")
    ends = [*logprobs.text_offset[1:], logprobs.text_offset[-1] + len(logprobs.tokens[-1])]
    border = ends[-1] - len(continuation)
    for token, start, end in zip(logprobs.tokens, logprobs.text_offset, ends, strict=True):
        if start < border < end:
            raise CallFailed(
                f"the token {token!r} crosses the border of context and continuation; end the context"
                " where a token ends, for example before a space"
            )
    rows = zip(logprobs.tokens, logprobs.text_offset, logprobs.token_logprobs, strict=True)
    end_tokens = [(token, number) for token, start, number in rows if start >= border]
    if "".join(token for token, _ in end_tokens) != continuation:
        raise CallFailed(
            f"the server's last tokens do not spell the continuation {continuation[:60]!r}; it must echo the"
            " prompt unchanged and add nothing"
        )
    terms = [number for _, number in end_tokens if number is not None]
    if len(terms) < len(end_tokens):
        raise CallFailed("the server returned a token of the continuation without its log-probability")
    return terms


def open_client(who: str, service: str, timeout: int) -> OpenAI:
    """The client of a service, from SERVICE_BASE_URL and SERVICE_API_KEY. Raises SnellenError if one is not set."""
    openai = import_extra("openai", who, "chat")
    prefix = service.upper().replace("-", "_")
    variables = {name: os.environ.get(f"{prefix}_{name}", "") for name in ("BASE_URL", "API_KEY")}
    for name, value in variables.items():
        if not value:
            raise SnellenError(f"{who}: {prefix}_{name} is not set in the environment")
    client: OpenAI = openai.OpenAI(
        base_url=variables["BASE_URL"], api_key=variables["API_KEY"], timeout=float(timeout), max_retries=0
    )
    return client
