"""Any vision model of transformers as a tower; shapes are measured on a model without weights."""

from __future__ import annotations

import math
from typing import Any

from snellen.core.errors import SnellenError
from snellen.subjects.checkpoints import read_config, read_image_processor
from snellen.subjects.loading import import_extra, once
from snellen.towers.heads.tower import Layout, Tower

DERIVED = ("transformers_version", "architectures", "dtype", "torch_dtype", "_name_or_path", "model_type")
"""Keys of a configuration's dictionary that are derived or do not describe the architecture."""


@once
def hub_tower(path: str) -> Tower:
    """The specification of the model at `path`, a folder or hub id: penultimate layer, without prefix tokens.

    Convolutional models are read at their last stage. Raises SnellenError if there is no such model, if it is not a
    vision model, or if its tokens do not form a square.
    """
    from PIL import Image

    who = f"tower hf/{path}"
    transformers = import_extra("transformers", who)
    config = read_config(who, path)
    config = getattr(config, "vision_config", config)
    if type(config) not in transformers.MODEL_MAPPING:
        raise SnellenError(f"{who}: transformers has no plain model for {config.model_type}")
    kind = transformers.MODEL_MAPPING[type(config)]
    kind = kind[0] if isinstance(kind, tuple) else kind
    blank = Image.new("RGB", (64, 64))
    pixels = read_image_processor(who, path)(images=[blank], return_tensors="pt")["pixel_values"]
    side = int(max(pixels.shape[-2:]))
    states = _states(who, kind, config, side)
    layer = -2 if states[-2].shape == states[-1].shape else -1
    state = states[layer]
    layout: Layout = "tokens" if state.ndim == 3 else "places" if state.shape[1] == state.shape[2] else "channels"
    width = state.shape[1 if layout == "channels" else -1]
    count = state[0].numel() // width
    grid = math.isqrt(count)
    prefix = count - grid**2
    if prefix and layout != "tokens":
        raise SnellenError(f"{who}: gives {count} places, which do not form a square; its images must be square")
    facts = {key: fact for key, fact in config.to_dict().items() if key not in DERIVED}
    return Tower(
        name=f"hf/{path}",
        kind=kind.__name__,
        model=path,
        side=side,
        patch=side // grid,
        processor="",
        normalisation={},
        architecture={**facts, "hidden_size": width},
        layer=layer,
        prefix_tokens=prefix,
        layout=layout,
        attributes={"family": str(config.model_type)},
    )


def _states(who: str, kind: Any, config: Any, side: int) -> Any:
    """Hidden states of one image on the meta device: shapes only."""
    import torch

    try:
        with torch.device("meta"), torch.no_grad():
            pixels = torch.empty(1, 3, side, side)
            return kind(config).eval()(pixel_values=pixels, output_hidden_states=True).hidden_states
    except (RuntimeError, TypeError, ValueError) as error:
        raise SnellenError(f"{who}: {kind.__name__} is not a plain vision model ({error}); choose another") from error
