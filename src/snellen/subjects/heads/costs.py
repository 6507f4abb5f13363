"""What training a head costs, before it is begun: operations counted on a device without memory, and room on disk.

Imports torch: import it inside functions.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from snellen.subjects.checkpoints import read_config, to_device
from snellen.subjects.heads.composition import TowerConfig
from snellen.subjects.heads.fitting import HeadPlan
from snellen.subjects.heads.language_models import RANDOM, random_config
from snellen.subjects.heads.stages import TrainingStage
from snellen.subjects.heads.tower import Tower
from snellen.subjects.heads.tower_models import empty_tower, image_tokens
from snellen.subjects.heads.towers import find_tower
from snellen.subjects.heads.training import prepare
from snellen.subjects.loading import import_extra

TEXT_TOKENS, ANSWER_TOKENS = 90, 8
"""Tokens of a prompt's words and of its answer, in an estimate."""
MINILM_TOKENS = 30_523
QWEN2_05B: dict[str, Any] = {
    "vocab_size": 151_936,
    "hidden_size": 896,
    "intermediate_size": 4864,
    "num_hidden_layers": 24,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "tie_word_embeddings": True,
}
"""Qwen/Qwen2-0.5B (its config.json), so that the published setting can be counted without the hub."""


@dataclass(frozen=True)
class Cost:
    """Of one job: floating point operations, and bytes of features and of what is trained."""

    flops: float
    disk: float

    def hours(self, speed: float) -> float:
        """Hours at `speed` operations a second."""
        return self.flops / speed / 3600


def tower_flops(tower: Tower) -> int:
    """Operations of one image through the tower, forward."""
    with torch.device("meta"):
        model = empty_tower(tower)
        with FlopCounterMode(display=False) as counter:
            image_tokens(tower, model, torch.empty(1, 3, tower.side, tower.side))
    return int(counter.get_total_flops())


def conversation_flops(
    tower: Tower, language_model: str, stage: TrainingStage, text: int = TEXT_TOKENS, answer: int = ANSWER_TOKENS
) -> tuple[int, int]:
    """(operations of a conversation through connector and language model, forward and backward; weights trained).

    Without checkpointing of activations, and with the vocabulary scored at answers only.
    """
    transformers = import_extra("transformers", language_model)
    with torch.device("meta"):
        config = transformers.LlavaConfig(
            vision_config=TowerConfig(tower=tower.name, hidden_size=tower.width),
            text_config=_language_config(language_model),
            vision_feature_layer=-1,
            vision_feature_select_strategy="full",
        )
        model = transformers.LlavaForConditionalGeneration(config)
        trained = prepare(model, stage)
        tokens, words = torch.empty(1, tower.tokens, tower.width), torch.zeros(1, text + answer, dtype=torch.long)
        with FlopCounterMode(display=False) as counter:
            imaged = model.model.multi_modal_projector(tokens)
            embeddings = torch.cat([imaged, model.get_input_embeddings()(words)], dim=1)
            length = embeddings.shape[1]  # a whole mask: one of rows would be looked at, and there is nothing to see
            mask = torch.ones(1, 1, length, length, dtype=torch.bool)
            states = model.model.language_model(
                inputs_embeds=embeddings, attention_mask=mask, use_cache=False
            ).last_hidden_state
            model.lm_head(states[:, -answer:]).sum().backward()
    return counter.get_total_flops(), sum(weight.numel() for weight in trained.values())


def _language_config(language_model: str) -> Any:
    if language_model.partition("?")[0] == RANDOM:
        return random_config(language_model, MINILM_TOKENS)
    if language_model == "Qwen/Qwen2-0.5B":
        return import_extra("transformers", language_model).Qwen2Config(**QWEN2_05B)
    return read_config(f"language model {language_model}", language_model)


def job_cost(plan: HeadPlan, conversation_count: int, image_count: int) -> Cost:
    """The cost of a job over so many different images; their tokens are kept where there are several passes."""
    tower = find_tower(plan.tower)
    cached = plan.source != "live" and plan.stage.epochs > 1
    image, head, weights = _unit_costs(plan.tower, plan.language_model, replace(plan.stage, epochs=1))
    views = image_count if cached else plan.stage.epochs * conversation_count
    room = 4 if plan.device == "cpu" else 2
    features = image_count * tower.tokens * tower.width * room if cached else 0
    flops = views * image + plan.stage.epochs * conversation_count * head
    return Cost(float(flops), float(features + 4 * weights))


@cache
def _unit_costs(tower_name: str, language_model: str, stage: TrainingStage) -> tuple[int, int, int]:
    """Operations of one image and of one conversation, and weights trained: the same for all abilities of a sweep."""
    tower = find_tower(tower_name)
    return tower_flops(tower), *conversation_flops(tower, language_model, stage)


def measured_speed(device: str, side: int = 0, rounds: int = 5) -> float:
    """Operations a second of matrix products on the device: more than training reaches, so that hours are the least.

    `side` 0 is 1024 on a processor and 8192 on a GPU, which smaller products do not fill. Raises SnellenError where the
    device is not there.
    """
    dtype, side = (torch.float32, side or 1024) if device == "cpu" else (torch.bfloat16, side or 8192)
    matrix = to_device("a matrix product", torch.ones(side, side, dtype=dtype), device, "--device")
    (matrix @ matrix).sum().item()
    begun = time.perf_counter()
    for _ in range(rounds):
        product = matrix @ matrix
    product.sum().item()
    return rounds * 2 * side**3 / (time.perf_counter() - begun)
