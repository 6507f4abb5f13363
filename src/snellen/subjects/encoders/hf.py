"""Any vision model of transformers as an encoder, from a folder or the hub; CLIP-like models bring their text side.

Pictures go through the model's own image processor in its Pillow form, never the torchvision one: the two resize
differently, and features must not hang on what else is installed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from snellen.core.condition import near
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.subjects.encoders.encoder import Floats, TextSide
from snellen.subjects.encoders.loading import file_sha256, looking, once, packaged, transformers_quietly

if TYPE_CHECKING:
    import torch
    from PIL import Image

LAYERS = ("pooled", "tokens", "cls")
"""Feature layers by name. A whole number is an index into the hidden states, 0 the embeddings, -1 the last."""

NEED_TORCHVISION = "DINOv3, SAM 2 and 3, Depth Pro, timm wrappers, TIPSv2, Sapiens 2"
"""Families whose image processors exist for torchvision only (transformers 5.23)."""

UNFIT = {"vit_mae": "hides random patches; convert the checkpoint to a plain ViT"}


@dataclass(frozen=True)
class HfEncoder:
    """A model at `path`, a folder or a hub id, looked at in one of its layers.

    `pooled`: of CLIP-like models the image features in the space of texts, of others the pooled output, or where there
    is none (or one that was never trained) the mean of the last tokens. `tokens`: the mean of the last tokens, class
    token included. `cls`: the first token. `N`: the mean of the tokens, or places, of hidden state N. Only `pooled` has
    a text side.
    """

    path: str
    layer: str = "pooled"
    device: str = "cpu"
    batch: int = 4

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
        """Everything that changes features; processor and configuration are in the digest of the weights."""
        told = {"encoder": "hf", "version": 1, "weights": _weights(self.path), "layer": self.layer}
        told["processor"] = type(_processor(self.path)).__name__
        if self.text is not None:
            told["template"] = self.text.template
        return told | ({} if self.device == "cpu" else {"device": self.device})

    @property
    def attributes(self) -> Mapping[str, str]:
        """What it is, for comparisons."""
        supervision = "image-text pairs" if _dual(self.path) else "see the model's own card"
        return {
            "family": str(_config(self.path).model_type),
            "supervision": supervision,
            "parameters": str(_parameters(self.path)),
            "licence": "see the model's own card",
        }

    @property
    def text(self) -> TextSide | None:
        """The text side of CLIP-like models."""
        return HfTexts(self) if _dual(self.path) and self.layer == "pooled" else None

    def features(self, pictures: Sequence[Image.Image]) -> Floats:
        """Pictures -> float32 (n, d)."""
        model, pooler = _model(self.path, self.device)
        inputs = _processor(self.path)(images=[picture.convert("RGB") for picture in pictures], return_tensors="pt")
        inputs = inputs.to(self.device)
        with looking():
            if _dual(self.path) and self.layer == "pooled":
                return _array(_joint(model.get_image_features(**inputs)))
            seeing = model.vision_model if _dual(self.path) else model
            return _array(self._from(seeing(**inputs, output_hidden_states=True), pooler))

    def _from(self, output: Any, pooler: bool) -> torch.Tensor:
        if self.layer == "cls":
            return _tokens(self.path, output.last_hidden_state)[:, 0]
        if self.layer == "pooled" and pooler and getattr(output, "pooler_output", None) is not None:
            pooled: torch.Tensor = output.pooler_output.flatten(1)
            return pooled
        if self.layer in LAYERS:
            return _tokens(self.path, output.last_hidden_state).mean(1)
        states = output.hidden_states
        if not -len(states) <= int(self.layer) < len(states):
            raise SnellenError(f"encoder:hf/{self.path}: no layer {self.layer}, it has 0 to {len(states) - 1}")
        return _tokens(self.path, states[int(self.layer)]).mean(1)


@dataclass(frozen=True)
class HfTexts:
    """The text side of a CLIP-like model; SigLIP's texts are padded to their full length, as it was trained."""

    encoder: HfEncoder
    template: str = "a photo of {}."

    def features(self, texts: Sequence[str]) -> Floats:
        """Texts -> float32 (n, d)."""
        path, device = self.encoder.path, self.encoder.device
        config = _config(path)
        tokens = _tokenizer(path)(
            list(texts),
            padding="max_length" if config.model_type.startswith("siglip") else True,
            truncation=True,
            max_length=config.text_config.max_position_embeddings,
            return_tensors="pt",
        )
        with looking():
            return _array(_joint(_model(path, device)[0].get_text_features(**tokens.to(device))))


def _joint(output: Any) -> Any:
    """The vector in the common space; newer versions of transformers return it inside an output."""
    return getattr(output, "pooler_output", output)


def _tokens(path: str, states: torch.Tensor) -> torch.Tensor:
    """Hidden states as (n, tokens, d), whether they came so or as (n, d, height, width)."""
    if states.ndim == 4:
        return states.flatten(2).transpose(1, 2)
    if states.ndim != 3:
        raise SnellenError(
            f"encoder:hf/{path}: cannot read hidden states of {states.ndim} dimensions; use layer=pooled"
        )
    return states


def _array(features: torch.Tensor) -> Floats:
    return np.asarray(features.float().cpu().numpy(), dtype=np.float32)


@once
def _config(path: str) -> Any:
    transformers = packaged("transformers")
    try:
        config = transformers.AutoConfig.from_pretrained(path)
    except (OSError, ValueError) as error:
        raise SnellenError(f"encoder:hf/{path}: no such model ({_first(error)}); give a folder or a hub id") from error
    if config.model_type in UNFIT:
        raise SnellenError(f"encoder:hf/{path}: {config.model_type} {UNFIT[config.model_type]}")
    if type(config) not in transformers.MODEL_MAPPING:
        raise SnellenError(f"encoder:hf/{path}: transformers has no plain model for {config.model_type}")
    kind = _kind(config)
    if hasattr(kind, "get_image_features") and not hasattr(kind, "get_text_features"):
        raise SnellenError(f"encoder:hf/{path}: {config.model_type} talks; ask it as chat:hf/{path}")
    return config


def _kind(config: Any) -> Any:
    """The class of models that AutoModel takes for a configuration."""
    kind = packaged("transformers").MODEL_MAPPING[type(config)]
    return kind[0] if isinstance(kind, tuple) else kind


def _dual(path: str) -> bool:
    return hasattr(_kind(_config(path)), "get_text_features")


@once
def _processor(path: str) -> Any:
    try:
        processor = packaged("transformers").AutoImageProcessor.from_pretrained(path, backend="pil")
    except (OSError, ValueError, ImportError) as error:
        raise _no_processor(path, _first(error)) from error
    if any("Torchvision" in base.__name__ for base in type(processor).__mro__):
        raise _no_processor(path, f"{type(processor).__name__} is for torchvision")
    return processor


def _no_processor(path: str, why: str) -> SnellenError:
    told = f"no image processor that works with Pillow ({why})"
    return SnellenError(
        f"encoder:hf/{path}: {told}; those that demand torchvision are not supported: {NEED_TORCHVISION}"
    )


@once
def _tokenizer(path: str) -> Any:
    try:
        return packaged("transformers").AutoTokenizer.from_pretrained(path)
    except (OSError, ValueError) as error:
        raise SnellenError(f"encoder:hf/{path}: no tokenizer for its text side ({_first(error)})") from error


@once
def _model(path: str, device: str) -> tuple[Any, bool]:
    """The model in float32, and whether its pooled output can be trusted: some checkpoints come without that part."""
    import torch

    try:
        told = {"output_loading_info": True, "dtype": torch.float32}
        with transformers_quietly() as transformers:
            model, found = transformers.AutoModel.from_pretrained(path, **told)
    except (OSError, ValueError, ImportError) as error:
        raise SnellenError(f"encoder:hf/{path}: cannot be loaded ({_first(error)})") from error
    missing = {key for key in found["missing_keys"] if "position_ids" not in key}
    lost = sorted(key for key in missing if ".pooler." not in f".{key}")
    if lost or (missing and _dual(path)):
        raise SnellenError(f"encoder:hf/{path}: the checkpoint has no {min(missing)}; its features would be random")
    return model.requires_grad_(False).eval().to(device), not missing


@once
def _parameters(path: str) -> int:
    import torch

    with torch.device("meta"):
        model = packaged("transformers").AutoModel.from_config(_config(path))
    return sum(weight.numel() for weight in model.parameters())


@once
def _weights(path: str) -> str:
    """The commit of a hub model; of a folder, a digest over its weights, configuration and vocabulary."""
    folder = Path(path)
    if not folder.is_dir():
        return str(_config(path)._commit_hash)
    kinds = (".safetensors", ".bin", ".json", ".txt", ".model")
    files = sorted(one for one in folder.iterdir() if one.suffix in kinds and one.is_file())
    return digest({one.name: file_sha256(one) for one in files})


def _first(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
