"""Sizes of language models, and the id that stands for an image."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

from snellen.core.errors import SnellenError
from tests.helpers.extras import lazy_module, need

need("peft", "heads")
costs = lazy_module("snellen.towers.heads.costs")


def test_sizes_of_language_models() -> None:
    """Words, width, inner width, layers, heads, heads of keys, and whether words are read and written alike."""
    counts = [f"num_{name}" for name in ("hidden_layers", "attention_heads", "key_value_heads")]
    names = ["vocab_size", "hidden_size", "intermediate_size", *counts, "tie_word_embeddings"]
    sizes = {
        "random-qwen2": (30_523, 128, 512, 4, 4, 4, True),
        "random-qwen2?layers=0&width=31&seed=5": (30_523, 31, 124, 0, 1, 1, True),
        "random-qwen2?width=96": (30_523, 96, 384, 4, 3, 3, True),
        "Qwen/Qwen2-0.5B": (151_936, 896, 4864, 24, 14, 2, True),
        "lmsys/vicuna-7b-v1.5": (32_000, 4096, 11_008, 32, 32, 32, False),
    }
    configs = {name: costs.language_config(name) for name in sizes}
    sizes_here = {name: tuple(getattr(each, key) for key in names) for name, each in configs.items()}
    assert sizes_here == sizes


def test_an_image_has_an_id_that_no_text_contains() -> None:
    class ToyTokenizer(SimpleNamespace):
        def __len__(self) -> int:
            return 10

    spare: Any = import_module("snellen.towers.heads.language_models")._spare_id
    known, nameless = (ToyTokenizer(eos_token_id=0, unk_token_id=unknown) for unknown in (4, None))
    assert [spare("m", known, size) for size in (9, 10, 11, 64)] == [4, 4, 10, 63]
    assert spare("m", nameless, 11) == 10
    with pytest.raises(SnellenError, match="m: its vocabulary has no spare id for images"):
        spare("m", nameless, 10)
    with pytest.raises(SnellenError, match="m: its tokenizer has no end token"):
        spare("m", ToyTokenizer(eos_token_id=None, unk_token_id=4), 11)
