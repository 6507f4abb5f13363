"""Any vision model of transformers as an encoder, from a folder or the hub; CLIP-like models also have a text side.

Images go through the Pillow version of the model's own image processor, never the torchvision one: the two resize
differently, and features must not depend on what else is installed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from snellen.core.condition import near
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.subjects.checkpoints import (
    for_inference,
    load_weights,
    read_config,
    read_image_processor,
    read_tokenizer,
    weights_digest,
)
from snellen.subjects.encoders.classifier_card import read_classifier_card
from snellen.subjects.encoders.encoder import Floats, TextSide
from snellen.subjects.loading import import_extra, inference, once

if TYPE_CHECKING:
    import torch
    from PIL import Image

LAYERS = ("pooled", "tokens", "cls")
"""Feature layers by name. A whole number is an index into the hidden states, 0 the embeddings, -1 the last."""

UNFIT = {"vit_mae": "hides random patches; convert the checkpoint to a plain ViT"}


@dataclass(frozen=True)
class HfEncoder:
    """A model at `path`, a folder or a hub id, with the features of one of its layers.

    `processor` is the folder or hub id of the model whose image processor prepares images; empty for its own.

    `pooled`: for CLIP-like models the image features in the space of texts, for others the pooled output or, if there
    is none (or it was never trained), the mean of the last tokens. `tokens`: the mean of the last tokens, including the
    class token. `cls`: the first token. `N`: the mean of the tokens, or places, of hidden state N. Only `pooled` has a
    text side.
    """

    path: str
    layer: str = "pooled"
    device: str = "cpu"
    batch: int = 4
    processor: str = ""

    def __post_init__(self) -> None:
        if self.layer not in LAYERS and not self.layer.removeprefix("-").isdigit():
            raise SnellenError(f"encoder:hf/{self.path}: no layer {self.layer!r}; {near(self.layer, (*LAYERS, '-1'))}")
        _config(self.path)

    @property
    def name(self) -> str:
        """The name after `encoder:`."""
        return f"hf/{self.path}"

    @property
    def settings(self) -> Mapping[str, Any]:
        """All settings that affect features; the weights' digest covers processor and configuration."""
        who = _who(self.path)
        settings = {"encoder": "hf", "version": 1, "weights": weights_digest(who, self.path), "layer": self.layer}
        settings["processor"] = type(self._processor).__name__
        if self.processor:
            settings["processor_settings"] = digest(json.loads(self._processor.to_json_string()), 12)
        if self.text is not None:
            settings["template"] = self.text.template
        return settings | ({} if self.device == "cpu" else {"device": self.device})

    @property
    def attributes(self) -> Mapping[str, str]:
        """Attributes for comparisons; training data is known for CLIP-like models and those trained here."""
        return {
            "family": str(_config(self.path).model_type),
            **({"supervision": "image-text pairs"} if _dual(self.path) else {}),
            **_trained_here(self.path),
            "parameters": str(_parameters(self.path)),
            "licence": "see the model's own card",
        }

    @property
    def text(self) -> TextSide | None:
        """The text side of CLIP-like models."""
        return HfTexts(self) if _dual(self.path) and self.layer == "pooled" else None

    def features(self, images: Sequence[Image.Image]) -> Floats:
        """Images -> float32 (n, d)."""
        model, pooler = _model(self.path, self.device)
        inputs = self._processor(images=[image.convert("RGB") for image in images], return_tensors="pt")
        inputs = inputs.to(self.device)
        with inference():
            if _dual(self.path) and self.layer == "pooled":
                return self._finite(_array(_joint(model.get_image_features(**inputs))))
            vision_model = model.vision_model if _dual(self.path) else model
            return self._finite(_array(self._from(vision_model(**inputs, output_hidden_states=True), pooler)))

    @property
    def patch_settings(self) -> Mapping[str, Any]:
        """All settings that affect patch features."""
        own = {key: value for key, value in self.settings.items() if key != "template"}
        layer = "last hidden state" if self.layer in LAYERS else self.layer
        return {**own, "patches": 1, "layer": layer, "size": list(self._size)}

    def patches(self, images: Sequence[Image.Image]) -> Floats:
        """Images -> float32 (n, rows, columns, d): the last hidden state, or number `layer`.

        Tokens without a place (class, registers) are left out. The whole image is squeezed to the processor's size
        without cropping. Raises SnellenError if tokens do not form a grid of patches.
        """
        from PIL import Image

        rows, columns = self._size
        squeezed = [p.convert("RGB").resize((columns, rows), Image.Resampling.BICUBIC) for p in images]
        inputs = self._processor(images=squeezed, return_tensors="pt", do_resize=False, do_center_crop=False).to(
            self.device
        )
        model = _model(self.path, self.device)[0]
        vision_model = model.vision_model if _dual(self.path) else model
        with inference():
            output = vision_model(**inputs, output_hidden_states=self.layer not in LAYERS)
            states = output.last_hidden_state if self.layer in LAYERS else self._state(output)
            return self._finite(_array(_grid(self.path, states, self._size)))

    @property
    def _processor(self) -> Any:
        return read_image_processor(_who(self.path), self.processor or self.path)

    @property
    def _size(self) -> tuple[int, int]:
        """Rows and columns in pixels of the processor's output."""
        processor = self._processor
        size = getattr(processor, "crop_size", None) or processor.size
        side = size.get("shortest_edge", size.get("longest_edge", 0))
        rows, columns = int(size.get("height", side)), int(size.get("width", side))
        if not rows or not columns:
            raise SnellenError(f"{_who(self.path)}: its image processor has no size ({dict(size)}); patches need one")
        return rows, columns

    def _finite(self, features: Floats) -> Floats:
        bad = int((~np.isfinite(features)).reshape(len(features), -1).any(axis=1).sum())
        if bad:
            raise SnellenError(
                f"{_who(self.path)}: features of {bad} of {len(features)} images are not finite numbers; its "
                "weights may be damaged, or stored in too low a precision"
            )
        return features

    def _state(self, output: Any) -> torch.Tensor:
        """The hidden state with the number `layer`."""
        states = output.hidden_states
        if not -len(states) <= int(self.layer) < len(states):
            raise SnellenError(f"encoder:hf/{self.path}: no layer {self.layer}, it has 0 to {len(states) - 1}")
        state: torch.Tensor = states[int(self.layer)]
        return state

    def _from(self, output: Any, pooler: bool) -> torch.Tensor:
        if self.layer == "cls":
            return _tokens(self.path, output.last_hidden_state)[:, 0]
        if self.layer == "pooled" and pooler and getattr(output, "pooler_output", None) is not None:
            pooled: torch.Tensor = output.pooler_output.flatten(1)
            return pooled
        if self.layer in LAYERS:
            return _tokens(self.path, output.last_hidden_state).mean(1)
        return _tokens(self.path, self._state(output)).mean(1)


@dataclass(frozen=True)
class HfTexts:
    """The text side of a CLIP-like model; SigLIP's texts are padded to their full length, as in its training."""

    encoder: HfEncoder
    template: str = "a photo of {}."

    def features(self, texts: Sequence[str]) -> Floats:
        """Texts -> float32 (n, d)."""
        path, device = self.encoder.path, self.encoder.device
        config = _config(path)
        tokens = read_tokenizer(_who(path), path)(
            list(texts),
            padding="max_length" if config.model_type.startswith("siglip") else True,
            truncation=True,
            max_length=config.text_config.max_position_embeddings,
            return_tensors="pt",
        )
        with inference():
            return _array(_joint(_model(path, device)[0].get_text_features(**tokens.to(device))))


def _joint(output: Any) -> Any:
    """The vector in the common space; newer versions of transformers return it inside an output."""
    return getattr(output, "pooler_output", output)


def _tokens(path: str, states: torch.Tensor) -> torch.Tensor:
    """Hidden states as (n, tokens, d), from that shape or (n, d, height, width)."""
    if states.ndim == 4:
        return states.flatten(2).transpose(1, 2)
    if states.ndim != 3:
        raise SnellenError(
            f"encoder:hf/{path}: cannot read hidden states of {states.ndim} dimensions; use layer=pooled"
        )
    return states


def _grid(path: str, states: torch.Tensor, size: tuple[int, int]) -> torch.Tensor:
    """Hidden states of images of this size as (n, rows, columns, d), without the tokens before the patches."""
    if states.ndim == 4:
        return states.permute(0, 2, 3, 1)
    config = _config(path)
    config = getattr(config, "vision_config", config)
    patch = getattr(config, "patch_size", None)
    rows, columns = (side // patch for side in size) if isinstance(patch, int) else (0, 0)
    before = states.shape[1] - rows * columns
    if states.ndim != 3 or not rows * columns or before not in _prefixes(config):
        raise SnellenError(
            f"encoder:hf/{path}: hidden states of shape {tuple(states.shape[1:])} are not a grid of {rows} x {columns} "
            f"patches after {' or '.join(map(str, sorted(_prefixes(config))))} others; leave out readout=attentive"
        )
    return states[:, before:].reshape(len(states), rows, columns, -1)


def _prefixes(config: Any) -> set[int]:
    """Possible numbers of tokens before the patches: none, a class token, with registers, or DeiT's second one."""
    registers = getattr(config, "num_register_tokens", 0) or 0
    return {0, 1, 1 + registers} | ({2} if config.model_type == "deit" else set())


def _array(features: torch.Tensor) -> Floats:
    return np.asarray(features.float().cpu().numpy(), dtype=np.float32)


def _who(path: str) -> str:
    return f"encoder:hf/{path}"


@once
def _config(path: str) -> Any:
    """The configuration of a vision model. Raises SnellenError for a model of another kind."""
    who = _who(path)
    config = read_config(who, path)
    if config.model_type in UNFIT:
        raise SnellenError(f"{who}: {config.model_type} {UNFIT[config.model_type]}")
    if type(config) not in import_extra("transformers", who).MODEL_MAPPING:
        raise SnellenError(f"{who}: transformers has no plain model for {config.model_type}")
    channels = getattr(getattr(config, "vision_config", config), "num_channels", 3)
    if channels != 3:
        raise SnellenError(f"{who}: takes images of {channels} channels; only encoders of 3 are supported")
    kind = _kind(path, config)
    if hasattr(kind, "get_image_features") and not hasattr(kind, "get_text_features"):
        raise SnellenError(f"{who}: {config.model_type} generates text; ask it as chat:hf/{path}")
    return config


def _kind(path: str, config: Any) -> Any:
    """The model class that AutoModel chooses for a configuration."""
    kind = import_extra("transformers", _who(path)).MODEL_MAPPING[type(config)]
    return kind[0] if isinstance(kind, tuple) else kind


def _dual(path: str) -> bool:
    return hasattr(_kind(path, _config(path)), "get_text_features")


@once
def _model(path: str, device: str) -> tuple[Any, bool]:
    """The model in float32, and whether its pooled output is trained: some checkpoints lack that part."""
    who = _who(path)
    model, missing = load_weights(who, "AutoModel", path, "float32")
    beside_pooler = {key for key in missing if ".pooler." not in f".{key}"}
    if beside_pooler or (missing and _dual(path)):
        raise SnellenError(f"{who}: the checkpoint has no {min(missing)}; its features would be random")
    return for_inference(who, model, device), not missing


def _trained_here(path: str) -> dict[str, str]:
    """The training data of an encoder trained by `classification`, including any leak."""
    card = read_classifier_card(Path(path))
    return {"supervision": card.supervision} if card is not None and card.steps else {}


@once
def _parameters(path: str) -> int:
    import torch

    with torch.device("meta"):
        transformers = import_extra("transformers", _who(path))
        model = transformers.AutoModel.from_config(_config(path), trust_remote_code=False)
    return sum(weight.numel() for weight in model.parameters())
