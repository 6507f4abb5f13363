"""Operations, weights and memory of small heads, and the configurations of language models."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

from snellen.core.errors import SnellenError
from snellen.towers.heads.stages import STAGES
from snellen.towers.heads.towers import find_tower
from tests.goldens.descriptions import line
from tests.goldens.golden import assert_golden
from tests.helpers.extras import lazy_module, need

need("peft", "heads")
costs = lazy_module("snellen.towers.heads.costs")
language_models = lazy_module("snellen.towers.heads.language_models")
training = lazy_module("snellen.towers.heads.training")

SMALL = "random-qwen2?layers=2&width=32"
SIZES = (
    "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
    "tie_word_embeddings",
)  # fmt: skip


def test_operations_weights_and_memory_equal_their_golden() -> None:
    """Of the three stages; then of one of them on a GPU, with live features, recomputed and off-loaded."""
    weights: Any = import_module("snellen.towers.heads.costs")._weight_counts
    lines = []
    tower, config = find_tower("tiny/clip-l"), costs.language_config(SMALL)
    for stage in STAGES.values():
        plan = training.HeadPlan(tower.name, SMALL, replace(stage, epochs=2))
        lines.append(line([stage.name, weights(tower, config, stage), costs.job_cost(plan, 10, 4)]))
    lines.append(line([costs.tower_flops(tower), costs.conversation_flops(tower, SMALL, STAGES["fit"], 7, 3)]))
    plan = training.HeadPlan(tower.name, SMALL, STAGES["fit"], micro_batch=5)
    on_gpu = {"device": "cuda"}
    changes: list[dict[str, Any]] = [
        {"source": "live"}, on_gpu, {**on_gpu, "recompute": True}, {**on_gpu, "offload": True}
    ]  # fmt: skip
    for change in changes:
        changed = replace(plan, **change)
        memory = costs.training_memory(changed, 11, 4)
        lines.append(line([change, [int(memory.device), int(memory.main)], costs.job_cost(changed, 10, 4)]))
    assert_golden("towers/costs.txt", "\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("random-qwen2", (30_523, 128, 512, 4, 4, 4, True)),
        ("random-qwen2?layers=0&width=31&seed=5", (30_523, 31, 124, 0, 1, 1, True)),
        ("random-qwen2?width=96", (30_523, 96, 384, 4, 3, 3, True)),
        ("Qwen/Qwen2-0.5B", (151_936, 896, 4864, 24, 14, 2, True)),
        ("lmsys/vicuna-7b-v1.5", (32_000, 4096, 11_008, 32, 32, 32, False)),
    ],
)
def test_sizes_of_language_models(name: str, sizes: tuple[int, ...]) -> None:
    config = costs.language_config(name)
    assert tuple(getattr(config, size) for size in SIZES) == sizes


class ToyTokenizer(SimpleNamespace):
    """A tokenizer of ten words."""

    def __len__(self) -> int:
        return 10


def test_an_image_has_an_id_that_no_text_contains() -> None:
    spare: Any = import_module("snellen.towers.heads.language_models")._spare_id
    known = ToyTokenizer(eos_token_id=2, unk_token_id=4)
    assert [spare("m", known, size) for size in (9, 10, 11, 64)] == [4, 4, 10, 63]
    nameless = ToyTokenizer(eos_token_id=0, unk_token_id=None)
    assert spare("m", nameless, 11) == 10
    with pytest.raises(SnellenError, match="m: its vocabulary has no spare id for images"):
        spare("m", nameless, 10)
    with pytest.raises(SnellenError, match="m: its tokenizer has no end token"):
        spare("m", ToyTokenizer(eos_token_id=None, unk_token_id=4), 11)
