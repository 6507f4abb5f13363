"""Vision towers as torch modules: built from their specification, loaded, and applied to images.

Imports torch: import it inside functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.subjects.checkpoints import load_weights, read_image_processor, to_device, weights_digest
from snellen.subjects.encoders.efficientnet import network, states, weights
from snellen.subjects.loading import file_sha256, import_extra, once
from snellen.towers.heads.conversion import CONVERTED, radio_with_mlp_norm
from snellen.towers.heads.tower import Tower
from snellen.towers.heads.towers import find_tower

if TYPE_CHECKING:
    from PIL import Image

UNREAD = {"head", "pooler", "neck", "post_layernorm", "layernorm"}
"""Parts of the names of weights after the hidden states, which some checkpoints lack."""


def empty_tower(tower: Tower) -> nn.Module:
    """The tower with random weights, on torch's default device."""
    if tower.kind == "EfficientNetLite":
        package = import_extra("efficientnet_lite_pytorch", f"tower {tower.name}")
        net: nn.Module = package.EfficientNet.from_name(tower.name.partition("?")[0]).eval()
        return net
    model_class = _model_class(tower)
    config = model_class.config_class(**{"patch_size": tower.patch, "image_size": tower.side, **tower.architecture})
    model: nn.Module = model_class(config).eval()
    return model


def load_tower(name: str, device: str = "cpu") -> nn.Module:
    """The tower with its weights in float32, frozen; loaded once per device, however that is written.

    Raises SnellenError if weights cannot be loaded or are incomplete, or if the device does not exist.
    """
    current = device == "cuda" and torch.cuda.is_available()
    return _tower(name, f"cuda:{torch.cuda.current_device()}" if current else device)


@once
def _tower(name: str, device: str) -> nn.Module:
    tower = find_tower(name)
    if tower.seed is not None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(tower.seed)
            model = empty_tower(tower)
    elif tower.kind == "EfficientNetLite":
        model = network(name.partition("?")[0], device)
    else:
        model, missing = load_weights(f"tower {name}", _model_class(tower), tower.model, "float32")
        read = {key for key in missing if UNREAD.isdisjoint(key.split("."))}
        if read:
            base = name.partition("?")[0]
            remedy = "convert it with `snellen tower convert`" if base in CONVERTED else "download the model's own"
            raise SnellenError(
                f"tower {name}: {tower.model} lacks {min(read)}, which transformers' {tower.kind} needs; {remedy}, "
                f"and give the folder as {base}?model=FOLDER"
            )
    frozen: nn.Module = to_device(f"tower {name}", model.requires_grad_(False).eval(), device, "--device")
    return frozen


@once
def tower_fingerprint(name: str) -> str:
    """Twelve hexadecimal digits that change with anything that may affect features."""
    tower = find_tower(name)
    if tower.seed is not None:
        weights_mark = f"random {tower.seed}"
    elif tower.kind == "EfficientNetLite":
        weights_mark = file_sha256(weights(name.partition("?")[0]))
    else:
        weights_mark = weights_digest(f"tower {name}", tower.model)
    return digest([tower.settings(), weights_mark], 12)


def image_tokens(tower: Tower, model: nn.Module, pixels: torch.Tensor) -> torch.Tensor:
    """Pixels (n, 3, side, side) -> patch tokens (n, tokens, width), without gradients.

    Raises SnellenError if the model gives another number of tokens than specified.
    """
    with torch.no_grad():
        if tower.kind == "EfficientNetLite":
            # bfloat16 would move its features by a tenth; meta tensors do not support autocast
            with nullcontext() if pixels.is_meta else torch.autocast(pixels.device.type, enabled=False):
                hidden = states(model, pixels)
        else:
            hidden = model(pixel_values=pixels, output_hidden_states=True).hidden_states
        if not -len(hidden) <= tower.layer < len(hidden):
            raise SnellenError(f"tower {tower.name}: has no layer {tower.layer}, only 0 to {len(hidden) - 1}")
        tokens = read_state(tower, hidden[tower.layer])
    if tokens.shape[1:] != (tower.tokens, tower.width):
        raise SnellenError(
            f"tower {tower.name}: gives {tuple(tokens.shape[1:])} tokens and features, not "
            f"{(tower.tokens, tower.width)} as specified; its weights are of another model, or side= does not fit it"
        )
    return tokens


def read_state(tower: Tower, state: torch.Tensor) -> torch.Tensor:
    """A hidden state as patch tokens (n, tokens, width), without prefix, with pooled places."""
    if tower.layout == "places":
        state = state.flatten(1, 2)
    elif tower.layout == "channels":
        state = state.flatten(2).transpose(1, 2)
    tokens = state[:, tower.prefix_tokens :]
    if tower.pooled_grid:
        side = tower.side // tower.patch
        places = tokens.transpose(1, 2).reshape(len(tokens), -1, side, side)
        if tower.pooling == "bilinear":
            places = nn.functional.interpolate(places, (tower.pooled_grid, tower.pooled_grid), mode="bilinear")
        else:
            places = nn.functional.adaptive_avg_pool2d(places, tower.pooled_grid)
        tokens = places.flatten(2).transpose(1, 2)
    return tokens[:, tower.dropped_patches :]


@once
def image_processor(name: str) -> Any:
    """The image processor in its Pillow version; the whole image becomes the square, without cropping."""
    tower = find_tower(name)
    if not tower.processor:
        return read_image_processor(f"tower {name}", tower.model)
    transformers = import_extra("transformers", f"tower {name}")
    square: dict[str, Any] = {"height": tower.side, "width": tower.side}
    size: dict[str, Any] = {"size": square}
    if tower.processor.startswith("Sam"):  # keeps the aspect ratio and pads at the bottom and right
        size = {"size": {"longest_edge": tower.side}, "pad_size": square}
    elif tower.processor.startswith(("CLIP", "Bit")):
        size |= {"do_center_crop": False}
    elif tower.processor.startswith("DPT"):
        size |= {"keep_aspect_ratio": False, "ensure_multiple_of": 1}
    return getattr(transformers, tower.processor)(**size, **tower.normalisation)


def pixels_of(name: str, images: Sequence[Image.Image]) -> torch.Tensor:
    """Images of any size and mode -> float32 (n, 3, side, side)."""
    rgb = [image.convert("RGB") for image in images]
    pixels: torch.Tensor = image_processor(name)(images=rgb, return_tensors="pt")["pixel_values"]
    return pixels


def _model_class(tower: Tower) -> Any:
    if tower.architecture.get("mlp_norm"):
        return radio_with_mlp_norm()
    return getattr(import_extra("transformers", f"tower {tower.name}"), tower.kind)
