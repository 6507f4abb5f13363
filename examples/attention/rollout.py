"""Attention rollout in a chat model of transformers: on what of its prompt an output token rests.

Abnar and Zuidema, "Quantifying Attention Flow in Transformers" (ACL 2020), as VFM Bench uses it (appendix D, figure
12): in each layer the attention matrix averaged over heads, plus the identity for the residual path, rows normalised;
then the product over the layers so far. A row of the product says how a position after that layer is made of the
positions of the input.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.attention.spans import Span, find_spans
from snellen.core.errors import SnellenError
from snellen.core.prompt import Prompt
from snellen.core.storage.media import MediaFolder
from snellen.subjects.chat.transformers_model import TransformersChat, apply_template, encode_prompts, generate
from snellen.subjects.loading import import_extra

TOP = 30
"""How many tokens VFM Bench's figure 12 shows."""


@dataclass(frozen=True)
class Rollout:
    """On what the output token `token` rests, after every layer of the language model.

    `rows` are float32 (layers, n): the share of each of the n tokens before it, all of a layer adding up to 1.
    `token_texts` are the n tokens in words, `spans` what they are, `reply` the words of the reply that the token is
    from.
    """

    token: str
    reply: str
    rows: NDArray[np.float32]
    token_texts: tuple[str, ...]
    spans: tuple[Span, ...]

    @property
    def images(self) -> tuple[Span, ...]:
        """The spans of images, in order."""
        return tuple(span for span in self.spans if span.kind == "image")

    @property
    def visual(self) -> NDArray[np.intp]:
        """The positions of all visual tokens, (v,)."""
        return np.array([token for span in self.images for token in span.visual_tokens], dtype=np.intp)


def attention_of(
    chat: TransformersChat,
    prompt: Prompt,
    media: MediaFolder,
    token: int | str | None = None,
    *,
    reply: str | None = None,
) -> Rollout:
    """The rollout of one output token of a `chat:hf` subject: of the position that foretells it, the one before it.

    `token` is its place in the reply, or words of the reply, of which the first token counts; None is the first of all.
    The reply is what the model says at temperature 0, or `reply`, as if it had said that (one of a run, say).

    Raises SnellenError for a prompt that the subject declines, a token that the reply does not hold, a model whose
    layers have no attention matrix over the whole prompt, and a processor that does not tell where images went.
    """
    if reason := chat.declines(prompt):
        raise SnellenError(f"{chat.card.name} declines this prompt: {reason}")
    if chat.settings.pad:
        raise SnellenError(f"{chat.card.name}: places in padded images are not known; leave out pad=")
    checkpoint = chat.checkpoint
    processor, model = checkpoint.processor, checkpoint.model
    templated = apply_template(processor, prompt, media)
    # The configuration's, not the processor's: that one may name the mark which opens an image (Gemma 3).
    spans = find_spans(processor, getattr(checkpoint.config, "image_token_id", None), prompt, media, templated)
    with checkpoint.lock:
        if reply is None:
            (reply_tokens,), _ = generate(checkpoint, model, replace(chat.settings, temperature=0.0), [templated])
        else:
            reply_tokens = processor.tokenizer(reply, add_special_tokens=False).input_ids
        words = [processor.tokenizer.decode([token_id]) for token_id in reply_tokens]
        position = _token_position(words, token)
        inputs = _with_reply(encode_prompts(processor, [templated], return_tensors="pt"), reply_tokens[:position])
        ids = inputs["input_ids"][0].tolist()
        rows = rollout_rows(model, inputs.to(model.device, dtype=model.dtype))
    if position:
        spans = (*spans, Span("reply", len(ids) - position, len(ids)))
    token_texts = tuple(processor.tokenizer.decode([token_id]) for token_id in ids)
    token_text = words[position] if words else ""
    return Rollout(
        token_text, processor.tokenizer.decode(reply_tokens, skip_special_tokens=True), rows, token_texts, spans
    )


def _token_position(words: Sequence[str], token: int | str | None) -> int:
    """The place of a token in a reply."""
    if isinstance(token, str):
        character = "".join(words).find(token) if token else -1
        ends = np.cumsum([len(word) for word in words])
        if character >= 0:
            return int(np.searchsorted(ends, character, side="right"))
        raise SnellenError(f"the reply {''.join(words)[:200]!r} does not hold {token!r}; tell another token or reply=")
    if token is not None and not 0 <= token < len(words):
        raise SnellenError(f"the reply has the tokens 0 to {len(words) - 1}, not {token}; tell another token or reply=")
    return token or 0


def _with_reply(inputs: Any, reply_tokens: Sequence[int]) -> Any:
    """The inputs with these tokens of the reply behind the prompt; what else goes by tokens is told they are text."""
    import torch

    if not reply_tokens:
        return inputs
    shape = inputs["input_ids"].shape
    for name, values in [*inputs.items()]:
        if isinstance(values, torch.Tensor) and values.shape == shape:
            more = {"input_ids": list(reply_tokens), "attention_mask": [1] * len(reply_tokens)}.get(
                name, [0] * len(reply_tokens)
            )
            inputs[name] = torch.cat([values, torch.tensor([more], dtype=values.dtype)], 1)
    return inputs


def rollout_rows(model: Any, inputs: Any) -> NDArray[np.float32]:
    """The rollout of the last position after every layer, float32 (layers, n); `inputs` hold one sequence of n tokens.

    Attention is folded in while the model runs, one layer at a time: beside the product (n, n) there is never more than
    one layer's matrices (heads, n, n), never those of all layers. Raises SnellenError where a layer has none.
    """
    torch = import_extra("torch", "attention rollout", "models")
    decoder = model.get_decoder()
    layers, size = decoder.layers, inputs["input_ids"].shape[1]
    rows: list[Any] = []
    product: Any = None

    def fold(module: Any, args: Any, output: Any) -> Any:
        nonlocal product
        weights = output[1] if isinstance(output, tuple) and len(output) > 1 else None
        if weights is None or tuple(weights.shape[-2:]) != (size, size):
            raise SnellenError(f"a layer of {type(decoder).__name__} has no attention matrix over the whole prompt")
        product = fold_layer(weights[0].mean(0, dtype=torch.float32), product)
        rows.append(product[-1].cpu())
        return (output[0], None, *output[2:])  # so that nobody keeps this layer's matrices

    attending = [_attention(layer) for layer in layers]
    fewer = {"logits_to_keep": 1} if "logits_to_keep" in inspect.signature(model.forward).parameters else {}
    hooks = [module.register_forward_hook(fold) for module in attending]
    try:
        with _eagerly(decoder), torch.inference_mode():
            model(**inputs, use_cache=False, **fewer)
    finally:
        for hook in hooks:
            hook.remove()
    return np.asarray(torch.stack(rows).numpy(), dtype=np.float32)


def fold_layer(attention: Any, product: Any = None) -> Any:
    """One more layer of a rollout: (attention + 1) with rows adding up to 1, times the product so far; both (n, n)."""
    attention.diagonal().add_(1.0)
    attention /= attention.sum(-1, keepdim=True)
    return attention if product is None else attention @ product


def _attention(layer: Any) -> Any:
    module = getattr(layer, "self_attn", getattr(layer, "attention", None))
    if module is None:
        raise SnellenError(f"{type(layer).__name__} has no self-attention: rollout is for plain transformers")
    return module


@contextmanager
def _eagerly(decoder: Any) -> Iterator[None]:
    """With attention computed in the open: the fast ways never write the matrix down."""
    before = decoder.config._attn_implementation
    decoder.set_attn_implementation("eager")
    try:
        yield
    finally:
        decoder.set_attn_implementation(before)


def span_shares(rollout: Rollout) -> NDArray[np.float32]:
    """The share of each span after each layer, (layers, spans); a layer adds up to 1."""
    return np.stack([rollout.rows[:, span.start : span.stop].sum(1) for span in rollout.spans], 1)


def visual_shares(rollout: Rollout) -> NDArray[np.float32]:
    """The share of each image in what all visual tokens have together, (layers, images); a layer adds up to 1."""
    sums = np.stack([rollout.rows[:, list(span.visual_tokens)].sum(1) for span in rollout.images], 1)
    return np.asarray(sums / sums.sum(1, keepdims=True), dtype=np.float32)


def role_shares(rollout: Rollout, role: str) -> NDArray[np.float32]:
    """The share of the images of a role (`query`, `first demo`, …) in that of all visual tokens, (layers,)."""
    has_role = [span.role == role for span in rollout.images]
    return np.asarray(visual_shares(rollout)[:, has_role].sum(1), dtype=np.float32)


def top_tokens(rollout: Rollout, count: int = TOP, *, visual: bool = False) -> NDArray[np.intp]:
    """The positions of the tokens with the largest shares after each layer, largest first, (layers, at most count).

    `visual`: of the visual tokens alone. Of equal ones the earlier comes first.
    """
    among = rollout.visual if visual else np.arange(rollout.rows.shape[1])
    order = np.argsort(-rollout.rows[:, among], axis=1, kind="stable")[:, :count]
    return np.asarray(among[order], dtype=np.intp)
