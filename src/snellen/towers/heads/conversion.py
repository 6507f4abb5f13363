"""Checkpoints of RADIO, InternViT and AIMv2 in their published layouts, converted to folders that transformers reads.

RADIO comes as a training checkpoint (a dictionary with `state_dict` and `args`), or as a folder whose names begin with
`radio_model.`. Early versions may have a layer norm inside each MLP. transformers' RadioModel has none, so a folder
whose configuration says `mlp_norm` is loaded with `radio_with_mlp_norm`. InternViT comes as a folder, alone or as the
`vision_model` of an InternVL, AIMv2 as a folder whose names begin with `preprocessor.` and `trunk.`.

Imports torch: import it inside functions.
"""

from __future__ import annotations

import argparse
import math
import pickle
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from snellen.core.errors import SnellenError
from snellen.core.storage.user_files import refuse_irregular
from snellen.subjects.checkpoints import config_fields
from snellen.subjects.loading import import_extra
from snellen.towers.heads.tower import Tower
from snellen.towers.heads.towers import find_tower

CONVERTED = ("radio-h", "internvit-300m", "aimv2-h")
"""Towers of the paper whose published weights have a layout that transformers does not read."""
AFTER_BLOCKS = ("norm.", "head.", "head_dist.", "fc_norm.")
"""Weights of RADIO's network that are applied after the last block, so that no tower reads them."""
SIZES = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
RADIO_NAMES = {
    r"patch_generator\.embedder\.weight": "embeddings.patch_projection.weight",
    r"patch_generator\.pos_embed": "embeddings.position_embedding",
    r"patch_generator\.cls_token\.token": "embeddings.cls_register_token",
    r"blocks\.(\d+)\.(norm1|norm2|mlp\.fc1|mlp\.fc2)\.(weight|bias)": r"encoder.layer.\1.\2.\3",
    r"blocks\.(\d+)\.attn\.proj\.(weight|bias)": r"encoder.layer.\1.attention.o_proj.\2",
    r"blocks\.(\d+)\.attn\.qkv\.(weight|bias)": r"encoder.layer.\1.attention.{}_proj.\2",
    r"blocks\.(\d+)\.mlp\.norm\.(weight|bias)": r"encoder.layer.\1.mlp.activation_fn.1.\2",
    r"blocks\.(\d+)\.ls([12])\.gamma": r"encoder.layer.\1.layer_scale\2.lambda1",
}
INTERNVIT_NAMES = {
    r"embeddings\.class_embedding": "embeddings.cls_token",
    r"embeddings\.position_embedding": "embeddings.position_embeddings",
    r"embeddings\.patch_embedding\.(weight|bias)": r"embeddings.patch_embeddings.projection.\1",
    r"encoder\.layers\.(\d+)\.attn\.qkv\.(weight|bias)": r"encoder.layer.\1.attention.{}_proj.\2",
    r"encoder\.layers\.(\d+)\.attn\.proj\.(weight|bias)": r"encoder.layer.\1.attention.projection_layer.\2",
    r"encoder\.layers\.(\d+)\.mlp\.(fc[12])\.(weight|bias)": r"encoder.layer.\1.mlp.\2.\3",
    r"encoder\.layers\.(\d+)\.norm1\.(weight|bias)": r"encoder.layer.\1.layernorm_before.\2",
    r"encoder\.layers\.(\d+)\.norm2\.(weight|bias)": r"encoder.layer.\1.layernorm_after.\2",
    r"encoder\.layers\.(\d+)\.ls([12])": r"encoder.layer.\1.lambda_\2",
}
AIMV2_NAMES = {
    r"preprocessor\.patchifier\.proj\.(weight|bias)": r"embeddings.patch_embed.\1",
    r"preprocessor\.patchifier\.norm\.weight": "embeddings.rms_norm.weight",
    r"preprocessor\.pos_embed": "embeddings.position_embedding.weight",
    r"trunk\.blocks\.(\d+)\.norm_([12])\.weight": r"encoder.layers.\1.rms_norm\2.weight",
    r"trunk\.blocks\.(\d+)\.attn\.qkv\.(weight|bias)": r"encoder.layers.\1.attention.{}_proj.\2",
    r"trunk\.blocks\.(\d+)\.attn\.proj\.(weight|bias)": r"encoder.layers.\1.attention.out_proj.\2",
    r"trunk\.blocks\.(\d+)\.mlp\.fc1\.(weight|bias)": r"encoder.layers.\1.ffn.gate_proj.\2",
    r"trunk\.blocks\.(\d+)\.mlp\.fc2\.(weight|bias)": r"encoder.layers.\1.ffn.down_proj.\2",
    r"trunk\.blocks\.(\d+)\.mlp\.fc3\.(weight|bias)": r"encoder.layers.\1.ffn.up_proj.\2",
    r"trunk\.post_trunk_norm\.weight": "rms_norm.weight",
}
"""Published names (regular expressions) with those of transformers; `{}` stands for q, k and v, a third each."""
StateDict = dict[str, torch.Tensor]


def convert(name: str, checkpoint: Path, out: Path) -> None:
    """Write the weights of a tower as a folder for `NAME?model=FOLDER`.

    Raises SnellenError for other towers, an existing folder, and checkpoints that are of another model.
    """
    base = name.removesuffix("-compat")
    if base not in CONVERTED:
        raise SnellenError(f"tower {name}: needs no conversion; only {' and '.join(CONVERTED)} do")
    if out.exists():
        raise SnellenError(f"{out}: exists already; choose another --out")
    state_dict, arguments = _read(checkpoint)
    try:
        translate = {"radio-h": _radio, "internvit-300m": _internvit, "aimv2-h": _aimv2}[base]
        with torch.device("meta"):  # sizes are compared before a model of the stated ones takes memory
            model, converted = translate(find_tower(name), state_dict, arguments)
            model.load_state_dict(converted, assign=True)
        model, converted = translate(find_tower(name), state_dict, arguments)
        model.load_state_dict(converted)
    except SnellenError:
        raise
    except Exception as error:  # any, for a checkpoint may hold anything
        raise SnellenError(f"{checkpoint}: not the weights of {name} ({' '.join(str(error).split())[:200]})") from error
    model.save_pretrained(out)


@cache
def radio_with_mlp_norm() -> Any:
    """transformers' RadioModel with a layer norm between the activation and the second layer of each MLP."""
    transformers = import_extra("transformers", "tower radio-h")

    class RadioWithMlpNorm(transformers.RadioModel):  # type: ignore[misc, name-defined]
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            for layer in self.encoder.layer:
                norm = nn.LayerNorm(layer.mlp.fc1.out_features)
                layer.mlp.activation_fn = nn.Sequential(layer.mlp.activation_fn, norm)

    return RadioWithMlpNorm


def _read(checkpoint: Path) -> tuple[StateDict, Mapping[str, Any]]:
    """The tensors of a file or folder, and the arguments or the configuration stored with them."""
    arguments = config_fields(config := checkpoint / "config.json")
    if config.exists() and not arguments:
        raise SnellenError(f"{config}: not the JSON of a configuration; copy it again")
    files = [*checkpoint.glob("*.safetensors")] or [*checkpoint.glob("*.bin")] if checkpoint.is_dir() else [checkpoint]
    state_dict: StateDict = {}
    for file in files:
        entries = _entries(file)
        stored = entries.get("args") or {}
        weights = entries.get("state_dict_ema") or entries.get("state_dict") or entries
        if not isinstance(stored, dict | argparse.Namespace) or not isinstance(weights, dict):
            raise SnellenError(f"{file}: its arguments or weights are not dictionaries; give the published checkpoint")
        arguments |= stored if isinstance(stored, dict) else vars(stored)
        tensors = {key: entry for key, entry in weights.items() if torch.is_tensor(entry) and isinstance(key, str)}
        state_dict |= {key.removeprefix("module."): tensor.float() for key, tensor in tensors.items()}
    if not state_dict:
        raise SnellenError(f"{checkpoint}: holds no weights; give a checkpoint file, or a folder with weights")
    return state_dict, arguments | (nested if isinstance(nested := arguments.get("args"), dict) else {})


def _entries(file: Path) -> dict[str, Any]:
    try:
        refuse_irregular(file)
        if file.suffix == ".safetensors":
            return load_file(file)
        with torch.serialization.safe_globals([argparse.Namespace]):  # arguments of the training, no code
            loaded = torch.load(file, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, OSError, ValueError, EOFError, SafetensorError) as error:
        raise SnellenError(f"{file}: cannot be read as weights ({str(error).splitlines()[0][:200]})") from error
    return loaded if isinstance(loaded, dict) else {}


def _renamed(state_dict: StateDict, names: Mapping[str, str]) -> Iterator[tuple[str, torch.Tensor]]:
    for key, tensor in state_dict.items():
        pattern = next((pattern for pattern in names if re.fullmatch(pattern, key)), None)
        if pattern is None:
            raise ValueError(f"{key} has no counterpart in transformers")
        target = re.sub(pattern, names[pattern], key)
        if "{}" not in target:
            yield target, tensor
            continue
        for part, third in zip("qkv", tensor.chunk(3), strict=True):
            yield target.format(part), third.clone()


def _within(state_dict: StateDict, *prefixes: str) -> StateDict:
    """The weights below the first prefix that occurs, by their names after it."""
    for prefix in prefixes:
        if inner := {key.removeprefix(prefix): tensor for key, tensor in state_dict.items() if key.startswith(prefix)}:
            return inner
    raise ValueError(f"no weight begins with {prefixes[0]}")


def _layer_count(converted: StateDict) -> int:
    return len({key.split(".")[2] for key in converted if key.startswith("encoder.")})


def _stated(tower: Tower, config: Mapping[str, Any], converted: StateDict) -> dict[str, Any]:
    """The facts of a configuration, or else the tower's. Raises ValueError if the weights have other layers."""
    names = (*SIZES, "layer_norm_eps", "rms_norm_eps")
    facts = {**tower.architecture, **{name: config[name] for name in names if name in config}}
    if facts["num_hidden_layers"] != (count := _layer_count(converted)):
        raise ValueError(f"{count} layers instead of {facts['num_hidden_layers']}")
    return facts


def _radio(tower: Tower, state_dict: StateDict, arguments: Mapping[str, Any]) -> tuple[Any, StateDict]:
    network = _within(state_dict, "base_model.", "radio_model.model.")
    network = {key: tensor for key, tensor in network.items() if not key.startswith(AFTER_BLOCKS)}
    conditioner = _within(state_dict, "input_conditioner.", "radio_model.input_conditioner.")
    converted = dict(_renamed(network, RADIO_NAMES))
    tokens, positions = (converted[f"embeddings.{name}"] for name in ("cls_register_token", "position_embedding"))
    teachers = arguments.get("teachers") or [{}] * tower.architecture.get("num_cls_tokens", 0)
    classes = len(teachers) if arguments.get("cls_token_per_teacher", True) else 1
    patch = math.isqrt(converted["embeddings.patch_projection.weight"].shape[1] // 3)
    has_norm = any(".activation_fn." in key for key in converted)
    facts = {
        "hidden_size": tokens.shape[1],
        "num_hidden_layers": _layer_count(converted),
        "num_attention_heads": tower.architecture["num_attention_heads"],
        "patch_size": patch,
        "max_img_size": patch * math.isqrt(positions.shape[1]),
        "num_cls_tokens": classes,
        "num_registers": len(tokens) - classes,
        "summary_idxs": [n for n, teacher in enumerate(teachers[:classes]) if teacher.get("use_summary", True)],
        "norm_mean": conditioner["norm_mean"].flatten().tolist(),
        "norm_std": conditioner["norm_std"].flatten().tolist(),
        "mlp_norm": has_norm,
    }
    transformers = import_extra("transformers", "tower radio-h")
    model = (radio_with_mlp_norm() if has_norm else transformers.RadioModel)(transformers.RadioConfig(**facts))
    own = ("conditioner", "summary", "layer_scale")  # a scale of 1 is none
    kept = {key: tensor for key, tensor in model.state_dict().items() if any(part in key for part in own)}
    return model, {**kept, **converted}


def _internvit(tower: Tower, state_dict: StateDict, arguments: Mapping[str, Any]) -> tuple[Any, StateDict]:
    whole = any(key.startswith("vision_model.") for key in state_dict)
    converted = dict(_renamed(_within(state_dict, "vision_model.") if whole else state_dict, INTERNVIT_NAMES))
    config = arguments.get("vision_config", arguments)
    facts = _stated(tower, config, converted)
    patch = converted["embeddings.patch_embeddings.projection.weight"].shape[-1]
    side = patch * math.isqrt(converted["embeddings.position_embeddings"].shape[1] - 1)
    has_bias = any(key.endswith("q_proj.bias") for key in converted)
    facts |= {"patch_size": [patch] * 2, "image_size": [side] * 2, "attention_bias": has_bias}
    transformers = import_extra("transformers", "tower internvit-300m")
    model = transformers.InternVLVisionModel(transformers.InternVLVisionConfig(**facts))
    kept = {key: tensor for key, tensor in model.state_dict().items() if key.startswith("layernorm.")}
    return model, {**kept, **converted}


def _aimv2(tower: Tower, state_dict: StateDict, arguments: Mapping[str, Any]) -> tuple[Any, StateDict]:
    converted = dict(_renamed(state_dict, AIMV2_NAMES))
    positions = converted["embeddings.position_embedding.weight"].squeeze(0)
    facts = _stated(tower, arguments, converted)
    patch = converted["embeddings.patch_embed.weight"].shape[-1]
    facts |= {"patch_size": patch, "image_size": patch * math.isqrt(len(positions))}
    transformers = import_extra("transformers", "tower aimv2-h")
    model = transformers.Aimv2VisionModel(transformers.Aimv2VisionConfig(**facts))
    return model, {**converted, "embeddings.position_embedding.weight": positions}
