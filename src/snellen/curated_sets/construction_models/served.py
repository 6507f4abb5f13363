"""Log-probability of a continuation from an OpenAI-compatible server: its completions endpoint with `echo`.

vLLM returns the log-probabilities of a prompt. llama.cpp's own server refuses `echo` (issue 27174 of
ggml-org/llama.cpp), as do hosted chat models. The server tokenizes context and continuation together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from snellen.core.errors import CallFailed
from snellen.core.item import View
from snellen.core.prompt import Prompt, Reply
from snellen.core.sheet import answer_views
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base
from snellen.curated_sets.construction_models.continuation import mean_text, split_context
from snellen.subjects.chat.client import reply_of
from snellen_sight.client import Connections
from snellen_sight.completions import model_of, tokens_of
from snellen_sight.retry import Trouble


@dataclass(frozen=True)
class ServedLogProb(Base):
    """A served language model. `attempts` counts tries per call; `first_wait` (seconds) doubles after each."""

    connections: Connections
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
            ask = partial(self._once, "".join(pair))
            completion = await reply_of(ask, self.attempts, self.first_wait, rng)
            terms = continuation_terms(completion, pair[1])
            texts[view.item_id] = mean_text(sum(terms), len(terms))
            numbers += terms
            read += tokens_of(completion)[0]
            served = model_of(completion)

        def text_of(view: View) -> str:
            return texts[view.item_id]

        return Reply(answer_views(prompt.views, text_of), numbers=tuple(numbers), model=served, tokens_in=read)

    async def _once(self, text: str) -> dict[str, Any] | Trouble:
        """The completion or the trouble. Temperature 1 leaves the model's probabilities unchanged."""
        fields = {"prompt": text, "echo": True, "logprobs": 1, "max_tokens": 0, "temperature": 1.0}
        return await self.connections.post("/completions", fields)


def continuation_terms(completion: Mapping[str, Any], continuation: str) -> list[float]:
    """Log p of each token of the continuation, which ends the text that was sent.

    Tokens are located by `text_offset`, counted from the end because only some servers count the start token.
    Raises CallFailed if a token crosses the border of context and continuation, or the tokens do not spell it.
    """
    choices: Any = completion.get("choices")
    logprobs = (choices[0].get("logprobs") if choices else None) or {}
    tokens, offsets, numbers = (logprobs.get(key) for key in ("tokens", "text_offset", "token_logprobs"))
    if not tokens or offsets is None or numbers is None:
        raise CallFailed("the server returned no log-probabilities; it must support echo with logprobs (vLLM)")
    ends = [*offsets[1:], offsets[-1] + len(tokens[-1])]
    border = ends[-1] - len(continuation)
    for token, start, end in zip(tokens, offsets, ends, strict=True):
        if start < border < end:
            raise CallFailed(
                f"the token {token!r} crosses the border of context and continuation; end the context"
                " where a token ends, for example before a space"
            )
    rows = zip(tokens, offsets, numbers, strict=True)
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
