"""The available vision towers by name.

Architectures, image sizes and token counts are from the models' public configurations; Table 6 of AVA-Bench
(arXiv 2506.09082) describes their training. Whole images are resized to the tower's square; a centre crop, as in
CLIP's processor, could remove the object in question.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from snellen.core.condition import near
from snellen.core.errors import SnellenError
from snellen.subjects.chat.settings import Readers, read_values, whole_number
from snellen.subjects.checkpoints import config_fields
from snellen.subjects.encoders.efficientnet import state_sizes
from snellen.subjects.registry import settings_of
from snellen.towers.heads.table_6 import TABLE_6
from snellen.towers.heads.tower import Tower

CLIP_MOMENTS = {"image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711]}
IMAGENET_MOMENTS = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
UNCONDITIONED = {
    "image_mean": [-mean / std for mean, std in zip(*CLIP_MOMENTS.values(), strict=True)],
    "image_std": [1 / std for std in CLIP_MOMENTS["image_std"]],
}
"""Undoes the input conditioner of RADIO, so that its blocks get pixels from 0 to 1."""
HALF_MOMENTS = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}
BILINEAR, BICUBIC = 2, 3
"""Pillow's constants of resampling filters."""

SETTINGS: Readers = {"model": str, **dict.fromkeys(("side", "layer", "seed"), whole_number(-(10**9), 10**9))}
"""Settings after `?` in a tower's name."""


def _sizes(width: int, layers: int, heads: int, **more: Any) -> dict[str, Any]:
    return {"hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": heads, **more}


_SIGLIP: dict[str, Any] = {
    "kind": "SiglipVisionModel",
    "side": 384,
    "patch": 14,
    "processor": "SiglipImageProcessorPil",
    "architecture": _sizes(1152, 27, 16, intermediate_size=4304),
}
_RADIO: dict[str, Any] = {
    "kind": "RadioModel",
    "side": 432,
    "patch": 16,
    "processor": "CLIPImageProcessorPil",
    "normalisation": {"do_normalize": False, "resample": BICUBIC},  # its input conditioner normalises
    "architecture": _sizes(1280, 32, 16),
}
_LARGE = _sizes(1024, 24, 16, intermediate_size=4096)

TOWERS: Mapping[str, Tower] = {
    tower.name: replace(tower, attributes=TABLE_6.get(tower.name, tower.attributes))
    for tower in (
        Tower(
            "siglip-1",
            model="google/siglip-so400m-patch14-384",
            normalisation={**HALF_MOMENTS, "resample": BICUBIC},
            **_SIGLIP,
        ),
        Tower(
            "siglip-2",
            model="google/siglip2-so400m-patch14-384",
            normalisation={**HALF_MOMENTS, "resample": BILINEAR},
            **_SIGLIP,
        ),
        Tower(
            "aimv2-h",
            kind="Aimv2VisionModel",
            model="apple/aimv2-huge-patch14-336",
            side=336,
            patch=14,
            processor="CLIPImageProcessorPil",
            normalisation={**CLIP_MOMENTS, "resample": BICUBIC},
            architecture=_sizes(1536, 24, 12, intermediate_size=4096, use_head=False),
        ),
        Tower(
            "clip-l",
            kind="CLIPVisionModel",
            model="openai/clip-vit-large-patch14-336",
            side=336,
            patch=14,
            processor="CLIPImageProcessorPil",
            normalisation={**CLIP_MOMENTS, "resample": BICUBIC},
            architecture=_LARGE,
            prefix_tokens=1,
        ),
        Tower(
            "internvit-300m",
            kind="InternVLVisionModel",
            model="OpenGVLab/InternViT-300M-448px-V2_5",
            side=448,
            patch=14,
            processor="CLIPImageProcessorPil",
            normalisation={**IMAGENET_MOMENTS, "resample": BICUBIC},
            architecture={**_LARGE, "attention_bias": True, "use_absolute_position_embeddings": True},
            prefix_tokens=1,
        ),
        Tower(
            "radio-h",
            model="nvidia/RADIO",
            # Four teachers with a class token each, filled up with registers to 16; a norm in each MLP. A converted
            # folder says what its checkpoint has (`_of_radio_folder`).
            architecture={**_RADIO["architecture"], "num_cls_tokens": 4, "num_registers": 12, "mlp_norm": True},
            prefix_tokens=16,
            **{key: fact for key, fact in _RADIO.items() if key != "architecture"},
        ),
        Tower(
            "c-radio-v4-h",
            model="nvidia/C-RADIOv4-H",
            prefix_tokens=10,  # three class tokens and seven registers
            attributes={"architecture": "ViT-H/16", "supervision": "teacher-student distillation"},
            **_RADIO,
        ),
        Tower(
            "dinov2-l",
            kind="Dinov2Model",
            model="facebook/dinov2-large",
            side=384,
            patch=14,
            processor="BitImageProcessorPil",
            normalisation={**IMAGENET_MOMENTS, "resample": BICUBIC},
            architecture=_sizes(1024, 24, 16, image_size=518),
            prefix_tokens=1,
        ),
        Tower(
            "sam-h",
            kind="SamVisionModel",
            model="facebook/sam-vit-huge",
            side=1024,
            patch=16,
            processor="SamImageProcessorPil",
            normalisation={**IMAGENET_MOMENTS, "resample": BILINEAR},
            architecture=_sizes(1280, 32, 16, mlp_dim=5120, global_attn_indexes=[7, 15, 23, 31]),
            layer=-1,  # the last block's output, before the neck
            layout="places",
            pooled_grid=24,
        ),
        Tower(
            "midas-3.0",
            kind="DPTModel",
            model="Intel/dpt-hybrid-midas",
            side=384,
            patch=16,
            processor="DPTImageProcessorPil",
            normalisation={**HALF_MOMENTS, "resample": BICUBIC},
            architecture=_sizes(
                *(768, 12, 12),
                intermediate_size=3072,
                is_hybrid=True,
                backbone_out_indices=[0, 1, 8, 11],
                neck_ignore_stages=[0, 1],
                readout_type="project",
            ),
            prefix_tokens=1,
        ),
        *(
            Tower(
                name=name,
                kind="EfficientNetLite",
                model="",
                side=side,
                patch=32,
                processor="SiglipImageProcessorPil",  # only resizes, subtracts and divides
                # (x - 127) / 128 for pixels from 0 to 255, as in the training of the weights
                normalisation={"image_mean": [127 / 255] * 3, "image_std": [128 / 255] * 3, "resample": BICUBIC},
                architecture={"hidden_size": 1280},
                layer=-1,
                layout="channels",
                attributes={"architecture": "EfficientNet-Lite", "supervision": "ImageNet-1k labels"},
                verified=True,
            )
            for name, side in (("efficientnet-lite0", 224), ("efficientnet-lite2", 256))
        ),
    )
}
"""The nine towers of Table 6, a newer RADIO, and two with packaged weights."""

PAPER_COMPAT: Mapping[str, Mapping[str, Any]] = {
    # The authors' common tower class drops the first token of every model; these three have no class token.
    "siglip-1": {"dropped_patches": 1},
    "siglip-2": {"dropped_patches": 1},
    "aimv2-h": {"dropped_patches": 1},
    # The last state is interpolated from 64 x 64 to 24 x 24 places.
    "sam-h": {
        "pooling": "bilinear",
        "model": "facebook/sam-vit-large",
        "architecture": _sizes(1024, 24, 16, mlp_dim=4096, global_attn_indexes=[5, 11, 17, 23]),
    },
    "radio-h": {
        "model": "nvidia/RADIO-L",
        "architecture": _sizes(1024, 24, 16),
        "prefix_tokens": 10,
        "normalisation": {**UNCONDITIONED, "resample": BICUBIC},
    },
}
"""Differences of the authors' public scripts from the paper (OSU-MLB/AVA-Bench, commit 081b360).

They call RADIO without its input conditioner. Their processors also crop the middle (CLIP, DINOv2, AIMv2, InternViT,
RADIO): no tower does so here, since the object in question may be at the edge.
"""


def tiny(tower: Tower) -> Tower:
    """A tower of the same family with two narrow layers, random weights and images of 4 x 4 patches."""
    name, side, pooled = f"tiny/{tower.name}", 4 * tower.patch, 2 if tower.pooled_grid else None
    small = _sizes(32, 2, 2, intermediate_size=64, mlp_dim=64, image_size=side)
    small |= {"global_attn_indexes": [1], "backbone_out_indices": [0, 1, 1, 1]}
    small |= {"is_hybrid": False}  # the convolutional half cannot be made narrow
    architecture = {key: small.get(key, fact) for key, fact in tower.architecture.items()}
    architecture.pop("neck_ignore_stages", None)
    if tower.kind == "SamVisionModel":
        architecture["window_size"] = 2
    return replace(tower, name=name, model="", side=side, architecture=architecture, pooled_grid=pooled, seed=0)


def find_tower(written: str) -> Tower:
    """The tower written `NAME`, `NAME-compat`, `tiny/NAME` or `hf/PATH_OR_ID`, with settings after `?`.

    `NAME-compat` is that of the authors' scripts, `tiny/NAME` is random and small, `hf/…` any vision model of
    transformers. Settings: `model` (weights from another folder or id), `side` (pixels), `layer`, `seed` (random
    instead of published weights). Raises SnellenError with close matches if there is no such tower.
    """
    name, _, query = written.partition("?")
    tower = _by_name(name)
    changes = read_values(f"tower {name}", settings_of(written, query), SETTINGS)
    if "seed" in changes:
        changes["model"] = ""
    if tower.kind == "EfficientNetLite":
        changes |= _of_layer(name, changes.get("layer", tower.layer))
    if tower.kind == "RadioModel" and changes.get("model"):
        changes |= _of_radio_folder(changes["model"], tower)
    return _checked(replace(tower, name=written, **changes)) if changes else tower


def _by_name(name: str) -> Tower:
    if name.startswith("hf/") and name != "hf/":
        from snellen.towers.heads.hub_towers import hub_tower

        return hub_tower(name.removeprefix("hf/"))
    base, is_tiny = (name.removeprefix("tiny/"), name.startswith("tiny/"))
    compat = (replace(TOWERS[each], name=f"{each}-compat", **changes) for each, changes in PAPER_COMPAT.items())
    towers = {**TOWERS, **{tower.name: tower for tower in compat}}
    if base not in towers or (is_tiny and towers[base].kind == "EfficientNetLite"):
        known_names = [*towers, *(f"tiny/{each}" for each in TOWERS if TOWERS[each].model), "hf/PATH_OR_ID"]
        raise SnellenError(f"no tower {name!r}; {near(name, known_names)}")
    return tiny(towers[base]) if is_tiny else towers[base]


def _of_layer(name: str, layer: int) -> dict[str, Any]:
    """The side of a patch and the features of a convolutional tower's layer."""
    sizes = state_sizes(name)
    if not -len(sizes) <= layer < len(sizes):
        raise SnellenError(f"tower {name}: has no layer {layer}, only 0 to {len(sizes) - 1}")
    patch, width = sizes[layer]
    return {"patch": patch, "architecture": {"hidden_size": width}}


def _of_radio_folder(folder: str, tower: Tower) -> dict[str, Any]:
    """What the configuration in a folder says of prefix tokens and of norms in MLPs, if there is one."""
    config = config_fields(Path(folder) / "config.json")
    if "num_cls_tokens" not in config:
        return {}
    names = ("num_hidden_layers", "num_cls_tokens", "num_registers")
    facts = {**{name: config[name] for name in names}, "mlp_norm": bool(config.get("mlp_norm"))}
    prefix_tokens = config["num_cls_tokens"] + config["num_registers"]
    return {"prefix_tokens": prefix_tokens, "architecture": {**tower.architecture, **facts}}


def _checked(tower: Tower) -> Tower:
    if tower.side < tower.patch or (tower.side % tower.patch and tower.layout != "tokens"):
        raise SnellenError(f"tower {tower.name}: side must be a multiple of its patches of {tower.patch} pixels")
    if not tower.processor and "side=" in tower.name:
        raise SnellenError(f"tower {tower.name}: the model's own processor determines the size of images")
    if tower.pooled_grid and tower.side // tower.patch < tower.pooled_grid:
        raise SnellenError(f"tower {tower.name}: side must be at least {tower.pooled_grid * tower.patch} pixels")
    return tower
