"""Log-probability of a text given its context, from a causal language model, as for VLM²-Bench's salient score.

The view has kind `number` and no media. Its question is the context C; its only option, with the key `continuation`,
holds the continuation P. The reply is the mean log-probability of P's tokens, S = (1/|P|) Σ_i log p(p_i | C, p_<i)
(VLM²-Bench, equation 1), in natural logarithms with six digits. `Reply.numbers` are the terms of the sum.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from snellen.core.item import View
from snellen.core.prompt import Prompt, Reply
from snellen.core.sheet import answer_views
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base
from snellen.subjects.checkpoints import load_model, read_config, read_tokenizer, weights_digest
from snellen.subjects.loading import import_extra

CONTINUATION = "continuation"
"""Key of the option that holds the continuation."""


def split_context(view: View) -> tuple[str, str] | str:
    """(context, continuation) of a view, or the reason why it has none."""
    if view.reply.kind != "number":
        return f"answers with a log-probability, a number, but the question expects {view.reply.kind}"
    if next(view.media(), None) is not None:
        return "reads only text, and this shows media"
    if [option.key for option in view.options] != [CONTINUATION]:
        return f"needs exactly one option, with the key {CONTINUATION!r}: the text to score"
    if not (view.question and view.options[0].text):
        return "needs a context (the question) and a continuation, both non-empty"
    return view.question, view.options[0].text


def mean_text(total: float, count: int) -> str:
    """The reply: the sum of log-probabilities divided by the number of tokens."""
    return f"{total / count:.6f}"


@dataclass(frozen=True)
class CausalModel:
    """A causal language model of transformers; `path` is a folder or a hub id.

    Context and continuation are tokenized separately, as in the paper's pseudocode: the context with the tokenizer's
    usual special tokens, the continuation without.

    `paper_off_by_one` follows the pseudocode (Algorithm 1) instead of equation 1: the continuation is encoded like the
    context, its first token is neither scored nor shown to the model, and the sum of the others is divided by the count
    of all. If the tokenizer adds a start token (Llama), only that token is omitted, and only the divisor is one too
    large; otherwise the first piece of the text is omitted.
    """

    path: str
    device: str = "cpu"
    dtype: str = "float32"
    paper_off_by_one: bool = False

    @property
    def who(self) -> str:
        """The subject's kind and name, for messages."""
        return f"logprob:hf/{self.path}"

    @property
    def settings(self) -> Mapping[str, Any]:
        """All settings that affect log-probabilities."""
        settings = {"logprob": "hf", "version": 1, "weights": weights_digest(self.who, self.path), "dtype": self.dtype}
        settings["paper_off_by_one"] = self.paper_off_by_one
        return settings | ({} if self.device == "cpu" else {"device": self.device})

    def tokens(self, context: str, continuation: str) -> tuple[list[int], list[int], int]:
        """Tokens of the context, the scored tokens of the continuation, and the divisor of the sum."""
        encode = read_tokenizer(self.who, self.path)
        prefix = list(encode(context).input_ids)
        scored = list(encode(continuation, add_special_tokens=self.paper_off_by_one).input_ids)
        return prefix, scored[1:] if self.paper_off_by_one else scored, len(scored)

    def too_long(self, context: str, continuation: str) -> str | None:
        """The reason why the model cannot read this in one pass, or None."""
        prefix, scored, count = self.tokens(context, continuation)
        if not prefix or not count:
            return "context or continuation has no token"
        room = getattr(read_config(self.who, self.path), "max_position_embeddings", None)
        if room is not None and len(prefix) + len(scored) > room:
            return f"reads at most {room} tokens, and this has {len(prefix) + len(scored)}"
        return None

    def log_probabilities(self, prefix: Sequence[int], continuation: Sequence[int]) -> tuple[float, ...]:
        """Log p of each token of `continuation` given all before it, in one pass; softmax in float32."""
        if not continuation:
            return ()
        torch = import_extra("torch", self.who, "models")
        model = load_model(self.who, "AutoModelForCausalLM", self.path, self.device, self.dtype)
        tokens = torch.tensor([[*prefix, *continuation]], device=self.device)
        with torch.inference_mode():
            logits = model(input_ids=tokens, use_cache=False).logits[0, len(prefix) - 1 : -1]
            token_terms = logits.float().log_softmax(-1).gather(1, tokens[0, len(prefix) :, None])[:, 0]
        return tuple(float(number) for number in token_terms.cpu())


@dataclass(frozen=True)
class LogProbSubject(Base):
    """A causal language model as a subject: the mean log-probability of a continuation."""

    model: CausalModel

    def declines(self, prompt: Prompt) -> str | None:
        """Decline views without a context and continuation, and texts longer than the model's limit."""
        for view in prompt.views:
            pair = split_context(view)
            if reason := pair if isinstance(pair, str) else self.model.too_long(*pair):
                return reason
        return None if prompt.views else "nothing to read"

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """Score each view in one pass, in a separate thread."""
        return await asyncio.to_thread(self._reply, prompt)

    def _reply(self, prompt: Prompt) -> Reply:
        numbers: list[float] = []
        read = 0

        def measure(view: View) -> str:
            nonlocal read
            pair = split_context(view)
            assert not isinstance(pair, str), pair
            prefix, scored, count = self.model.tokens(*pair)
            terms = self.model.log_probabilities(prefix, scored)
            numbers.extend(terms)
            read += len(prefix) + len(scored)
            return mean_text(sum(terms), count)

        return Reply(answer_views(prompt.views, measure), numbers=tuple(numbers), tokens_in=read)
