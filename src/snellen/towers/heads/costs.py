"""Cost of training heads: estimated operations (counted on the meta device) and disk space, and hours taken.

Imports torch: import it inside functions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils.benchmark import Timer
from torch.utils.flop_counter import FlopCounterMode
from transformers import LlavaForConditionalGeneration

from snellen.core.errors import SnellenError
from snellen.subjects.checkpoints import read_config, to_device
from snellen.subjects.loading import import_extra
from snellen.towers.heads.composition import llava_config
from snellen.towers.heads.files import CARD, is_head, read_head_card
from snellen.towers.heads.language_models import RANDOM, random_config
from snellen.towers.heads.stages import STAGES, TrainingStage
from snellen.towers.heads.tower import Tower
from snellen.towers.heads.tower_models import empty_tower, image_tokens
from snellen.towers.heads.towers import find_tower
from snellen.towers.heads.training import HeadPlan, prepare

TEXT_TOKENS, ANSWER_TOKENS = 90, 8
"""Assumed tokens of a prompt's words and of its answer."""
MINILM_TOKENS = 30_523
COUNTED = "snellen_counted"
"""The name under which transformers finds the attention whose memory is counted."""
QWEN2_05B: dict[str, Any] = {
    "vocab_size": 151_936,
    "hidden_size": 896,
    "intermediate_size": 4864,
    "num_hidden_layers": 24,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "tie_word_embeddings": True,
}
"""Qwen/Qwen2-0.5B (its config.json), so that the published setting can be counted offline."""


@dataclass(frozen=True)
class Cost:
    """Cost of one job: floating point operations, and bytes of features and trained weights on disk."""

    flops: float
    disk: float


def tower_flops(tower: Tower) -> int:
    """Operations of one image in a forward pass of the tower."""
    with torch.device("meta"):
        model = empty_tower(tower)
        with FlopCounterMode(display=False) as counter:
            image_tokens(tower, model, torch.empty(1, 3, tower.side, tower.side))
    return int(counter.get_total_flops())


def conversation_flops(
    tower: Tower, language_model: str, stage: TrainingStage, text: int = TEXT_TOKENS, answer: int = ANSWER_TOKENS
) -> tuple[int, int]:
    """(operations per conversation in connector and language model, forward and backward; number of trained weights).

    Without activation checkpointing, and with logits computed only for answers.
    """
    with torch.device("meta"):
        model: Any = LlavaForConditionalGeneration(llava_config(tower, language_config(language_model)))
        trained = prepare(model, stage)
        with FlopCounterMode(display=False) as counter:
            _empty_loss(model, tower, 1, text, answer).backward()  # type: ignore[no-untyped-call]
    return counter.get_total_flops(), sum(weight.numel() for weight in trained.values())


def _empty_loss(model: Any, tower: Tower, rows: int, text: int, answer: int) -> torch.Tensor:
    dtype = model.get_input_embeddings().weight.dtype
    tokens = torch.empty(rows, tower.tokens, tower.width, dtype=dtype)
    imaged = model.model.multi_modal_projector(tokens)
    words = model.get_input_embeddings()(torch.zeros(rows, text + answer, dtype=torch.long))
    embeddings = torch.cat([imaged, words], dim=1)
    length = embeddings.shape[1]  # an explicit mask: one of rows would be inspected, which meta tensors forbid
    mask = torch.ones(1, 1, length, length, dtype=torch.bool)
    states = model.model.language_model(inputs_embeds=embeddings, attention_mask=mask, use_cache=False)
    logits: torch.Tensor = model.lm_head(states.last_hidden_state[:, -answer:]).float()
    return nn.functional.cross_entropy(logits.flatten(0, 1), torch.zeros(rows * answer, dtype=torch.long))


@dataclass(frozen=True)
class Memory:
    """Bytes that a training takes at most: on its device, and in main memory for what is kept there."""

    device: float
    main: float = 0.0


def training_memory(plan: HeadPlan, text: int = TEXT_TOKENS, answer: int = ANSWER_TOKENS) -> Memory:
    """The memory of a training on one device, from shapes alone; the tower counts unless its features are cached.

    Weights, gradients and AdamW's moments of what is trained are in float32, all else in half precision on a GPU.
    Activations are those that a loss of `micro_batch` conversations keeps for its gradients.
    """
    tower, half = find_tower(plan.tower), plan.device != "cpu"
    config = language_config(plan.language_model)
    frozen, trained, layer, root, pinned = _weight_counts(tower, config, plan.stage)
    size = 2 if half else 4
    live = plan.source == "live" or plan.stage.epochs == 1
    with torch.device("meta"):
        tower_bytes = 4 * sum(weight.numel() for weight in empty_tower(tower).parameters()) if live else 0
    one, two = (_kept_bytes(tower, config, plan, layers, text, answer) for layers in (1, 2))
    layers, of_layer = config.num_hidden_layers, two - one
    kept = one + (layers - 1) * of_layer
    if plan.recompute:
        inputs = size * plan.micro_batch * (tower.tokens + text + answer) * config.hidden_size
        kept = one + layers * inputs
    if plan.offload and half:
        # Of two layers and the rest: weights and gradients in half precision. Of all: gradients in float32.
        device = tower_bytes + kept + 4 * (2 * layer + root) + 4 * trained
        return Memory(device, 8 * trained + pinned)
    casts = 2 * trained if half else 0
    return Memory(tower_bytes + size * frozen + 12 * trained + max(kept + casts, 4 * trained) + 4 * trained)


def _weight_counts(tower: Tower, shape: Any, stage: TrainingStage) -> tuple[int, int, int, int, int]:
    """The numbers of weights of a head without its tower: frozen, trained, of one layer, of all that is no layer.

    Last, the bytes of all weights and gradients if they are off-loaded (`_pinned_bytes`).
    """
    with torch.device("meta"):
        model: Any = LlavaForConditionalGeneration(llava_config(tower, shape))
        trained = sum(weight.numel() for weight in prepare(model, stage).values())
    whole = sum(weight.numel() for weight in model.parameters())
    layers = model.model.language_model.layers
    of_layer = sum(weight.numel() for weight in layers[0].parameters())
    pinned = sum(map(_pinned_bytes, model.parameters()))
    return whole - trained, trained, of_layer, whole - len(layers) * of_layer, pinned


def _pinned_bytes(weight: nn.Parameter) -> int:
    """Bytes of an off-loaded weight and its gradient: torch takes a power of two for each tensor that a GPU copies."""
    tensors, size = (2, 4) if weight.requires_grad else (1, 2)
    return int(tensors * 2 ** math.ceil(math.log2(size * weight.numel())))


class _FlashAttention(torch.autograd.Function):
    """Keeps what flash attention keeps: queries, keys, values and the result, but no matrix of attention."""

    @staticmethod
    def forward(ctx: Any, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        result = torch.empty_like(query)
        ctx.save_for_backward(query, keys, values, result)
        return result


def _attend(module: Any, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, *_: Any, **__: Any) -> Any:
    return _FlashAttention.apply(query, keys, values).transpose(1, 2), None  # type: ignore[no-untyped-call]


def _kept_bytes(tower: Tower, config: Any, plan: HeadPlan, layers: int, text: int, answer: int) -> int:
    """The bytes of what a loss keeps for its gradients in a language model of so many layers, weights left out."""
    import_extra("transformers", "training a head").AttentionInterface.register(COUNTED, _attend)
    shallow = type(config)(**{**config.to_dict(), "num_hidden_layers": layers, "layer_types": None})
    storages: dict[int, torch.Tensor] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storages[tensor.untyped_storage()._cdata] = tensor
        return tensor

    with torch.device("meta"):
        model: Any = LlavaForConditionalGeneration(llava_config(tower, shallow))
        prepare(model, plan.stage)
        model.to(torch.float32 if plan.device == "cpu" else torch.bfloat16)
        model.model.language_model.config._attn_implementation = COUNTED
        weights = {weight.untyped_storage()._cdata for weight in model.parameters()}
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            _empty_loss(model, tower, plan.micro_batch, text, answer)
    kept = (tensor for key, tensor in storages.items() if key not in weights)
    return sum(tensor.untyped_storage().nbytes() for tensor in kept)


def language_config(language_model: str) -> Any:
    """The configuration of a language model; those of the paper are known without the hub."""
    if language_model.partition("?")[0] == RANDOM:
        return random_config(language_model, MINILM_TOKENS)
    if language_model == "Qwen/Qwen2-0.5B":
        return import_extra("transformers", language_model).Qwen2Config(**QWEN2_05B)
    if language_model == "lmsys/vicuna-7b-v1.5":
        return import_extra("transformers", language_model).LlamaConfig()  # the defaults are its config.json
    return read_config(f"language model {language_model}", language_model)


def job_cost(plan: HeadPlan, conversation_count: int, image_count: int) -> Cost:
    """The cost of a job over so many different images; tokens are cached if there are several epochs."""
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
    """Operations per image and per conversation, and trained weights: the same for all abilities of a sweep."""
    tower = find_tower(tower_name)
    return tower_flops(tower), *conversation_flops(tower, language_model, stage)


def measured_speed(device: str) -> float:
    """Operations per second of matrix products on the device; training is slower, so hours are a lower bound.

    Raises SnellenError if the device does not exist.
    """
    dtype, side = (torch.float32, 1024) if device == "cpu" else (torch.bfloat16, 8192)  # smaller ones do not fill a GPU
    matrix = to_device("a matrix product", torch.ones(side, side, dtype=dtype), device, "--device")
    timer = Timer("matrix @ matrix", globals={"matrix": matrix}, num_threads=torch.get_num_threads())
    return 2 * side**3 / timer.timeit(5).median


def _stack(folder: Path, above: tuple[Path, ...] = ()) -> Iterator[Path]:
    """A head's folder and those of its earlier stages, as far as they still exist."""
    if is_head(folder) and folder.resolve() not in above:
        yield folder.resolve()
        if base := read_head_card(folder).base:
            yield from _stack(Path(base), (*above, folder.resolve()))


def hours_by_stage(root: Path) -> list[dict[str, object]]:
    """One row per stage of a sweep's heads: number of trainings, device, and device hours.

    Each head counts, and each stage that heads build on, once. Raises SnellenError if there are no heads.
    """
    folders = dict.fromkeys(folder for path in sorted(root.glob(f"heads/*/*/{CARD}")) for folder in _stack(path.parent))
    if not folders:
        raise SnellenError(f"{root}: no heads there; name a folder written by `snellen tower sweep`")
    cards = [read_head_card(folder) for folder in folders]
    by_stage = {stage: [card for card in cards if card.stage["name"] == stage] for stage in STAGES}
    return [
        {
            "sweep": str(root),
            "language_model": part[0].language_model,
            "stage": stage,
            "trainings": len(part),
            "device": " ".join(sorted({card.device for card in part})),
            "device_hours": sum(card.device_hours for card in part),
        }
        for stage, part in by_stage.items()
        if part
    ]
