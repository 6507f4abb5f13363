"""Every tower returns the tokens of its specification, in its own form and size."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.subjects.encoders import efficientnet
from snellen.subjects.encoders.efficientnet import state_sizes
from snellen.towers.heads.tower import Tower
from snellen.towers.heads.towers import CLIP_MOMENTS, PAPER_COMPAT, TOWERS, find_tower
from tests.goldens.descriptions import line
from tests.goldens.golden import assert_golden
from tests.helpers.extras import lazy_module

torch = lazy_module("torch")
transformers = lazy_module("transformers")
tower_models = lazy_module("snellen.towers.heads.tower_models")
costs = lazy_module("snellen.towers.heads.costs")


PAPER = [name for name, tower in TOWERS.items() if tower.model]
TOKENS = {
    "siglip-1": (384, 729, 1152), "siglip-2": (384, 729, 1152), "aimv2-h": (336, 576, 1536),
    "clip-l": (336, 576, 1024), "internvit-300m": (448, 1024, 1024), "radio-h": (432, 729, 1280),
    "c-radio-v4-h": (432, 729, 1280), "dinov2-l": (384, 729, 1024), "sam-h": (1024, 576, 1280),
    "midas-3.0": (384, 576, 768), "efficientnet-lite0": (224, 49, 1280), "efficientnet-lite2": (256, 64, 1280),
}  # fmt: skip
"""Side in pixels, tokens and features: the models' public configurations."""
PARAMETERS = {
    "siglip-1": 428,
    "siglip-2": 428,
    "aimv2-h": 681,
    "clip-l": 304,
    "internvit-300m": 304,
    "radio-h": 652,
    "c-radio-v4-h": 652,
    "dinov2-l": 304,
    "sam-h": 637,
    "midas-3.0": 99,  # 123M of Table 6 include the neck and the depth head
}
"""Millions of parameters of the part that is used."""


def test_towers_of_the_table_have_its_attributes() -> None:
    names = ("dinov2-l", "sam-h", "midas-3.0")
    supervision = [TOWERS[name].attributes["supervision"] for name in names]
    assert supervision == ["self-supervised", "segmentation masks", "depth"]


def test_token_counts_equal_those_of_the_table() -> None:
    assert {name: (tower.side, tower.tokens, tower.width) for name, tower in TOWERS.items()} == TOKENS


def shapes(tower: Tower) -> tuple[int, ...]:
    """The shape of the tower's tokens of one image, computed on a device without memory."""
    with torch.device("meta"):
        model = tower_models.empty_tower(tower)
        return tuple(tower_models.image_tokens(tower, model, torch.empty(1, 3, tower.side, tower.side)).shape)


@pytest.mark.parametrize("name", PAPER)
def test_towers_of_full_width_and_size_give_the_specified_tokens(name: str) -> None:
    """Towers have three layers here, since depth changes no shape."""
    tower = TOWERS[name]
    depth = {"num_hidden_layers": 3, "global_attn_indexes": [1], "backbone_out_indices": [0, 1, 1, 2]}
    shallow = {key: depth.get(key, fact) for key, fact in tower.architecture.items()}
    assert shapes(replace(tower, architecture=shallow)) == (1, tower.tokens, tower.width)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPER)
def test_parameter_counts_equal_those_of_the_models(name: str) -> None:
    with torch.device("meta"):
        model = tower_models.empty_tower(TOWERS[name])
    assert round(sum(weight.numel() for weight in model.parameters()) / 1e6) == PARAMETERS[name]


@pytest.mark.parametrize("name", PAPER)
def test_every_family_accepts_images_of_any_size_and_mode(name: str) -> None:
    tower = find_tower(f"tiny/{name}")
    images = [Image.new("RGB", (50, 40), (250, 10, 10)), Image.new("L", (40, 70), 9), Image.new("RGBA", (9, 9))]
    pixels = tower_models.pixels_of(tower.name, images)
    assert pixels.shape == (3, 3, tower.side, tower.side)
    tokens = tower_models.image_tokens(tower, tower_models.load_tower(tower.name), pixels)
    assert tokens.shape == (3, tower.tokens, tower.width)
    assert tokens.isfinite().all()
    assert not torch.allclose(tokens[0], tokens[1])
    assert "Torchvision" not in type(tower_models.image_processor(tower.name)).__mro__[1].__name__


def test_the_packaged_tower_gives_the_positions_of_its_last_convolution() -> None:
    pixels = tower_models.pixels_of("efficientnet-lite0", [Image.radial_gradient("L")])
    net: Any = tower_models.load_tower("efficientnet-lite0")
    tokens = tower_models.image_tokens(TOWERS["efficientnet-lite0"], net, pixels)
    features = net.extract_features(pixels)  # (1, 1280, 7, 7)
    assert torch.equal(tokens[0, 7 * 2 + 5], features[0, :, 2, 5])  # row 2, column 5
    # Its own normalisation: (x - 127) / 128.
    white = tower_models.pixels_of("efficientnet-lite0", [Image.new("RGB", (9, 9), "white")])
    assert white[0, 0, 0, 0].item() == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["efficientnet-lite0", "efficientnet-lite2"])
def test_layers_of_the_packaged_towers_have_their_recorded_sizes(name: str) -> None:
    sizes = state_sizes(name)
    states = efficientnet.states(tower_models.load_tower(name), torch.zeros(1, 3, 64, 64))
    assert [(64 // state.shape[-1], state.shape[1]) for state in states] == sizes
    layer = len(sizes) - 3
    tower = find_tower(f"{name}?side=64&layer={layer}")
    assert (tower.patch, tower.width, tower.tokens) == (32, sizes[layer][1], 4)
    pixels = tower_models.pixels_of(tower.name, [Image.radial_gradient("L")])
    tokens = tower_models.image_tokens(tower, tower_models.load_tower(tower.name), pixels)
    assert torch.equal(tokens[0, 3], efficientnet.states(tower_models.load_tower(name), pixels)[layer][0, :, 1, 1])
    assert find_tower(f"{name}?layer=-1").tokens == find_tower(name).tokens


def test_states_are_read_without_prefix_and_pooled() -> None:
    # Patches 0 to 15 of a 4 x 4 grid after two prefix tokens; means of 2 x 2 blocks: (0 + 1 + 4 + 5) / 4 = 2.5, …
    state = torch.cat([torch.full((1, 2, 1), -9.0), torch.arange(16.0).view(1, 16, 1)], dim=1)
    tower = replace(find_tower("tiny/clip-l"), prefix_tokens=2)
    assert tower_models.read_state(tower, state).flatten().tolist() == list(range(16))
    pooled = replace(tower, pooled_grid=2)
    assert tower_models.read_state(pooled, state).flatten().tolist() == [2.5, 4.5, 10.5, 12.5]
    dropped = replace(tower, dropped_patches=1)
    assert tower_models.read_state(dropped, state).flatten().tolist() == list(range(1, 16))
    # Places (n, height, width, features) and channels (n, features, height, width) are read row by row.
    grid = torch.arange(6.0).view(1, 2, 3, 1)
    no_prefix = replace(tower, prefix_tokens=0)
    assert tower_models.read_state(replace(no_prefix, layout="places"), grid).flatten().tolist() == list(range(6))
    channels = replace(no_prefix, layout="channels")
    assert tower_models.read_state(channels, grid.permute(0, 3, 1, 2)).flatten().tolist() == list(range(6))


def test_paper_compat_equals_the_setup_of_the_scripts() -> None:
    compat = {name: find_tower(f"{name}-compat") for name in PAPER_COMPAT}
    assert {name: tower.tokens for name, tower in compat.items()} == {
        "siglip-1": 728,  # the first of 729 patches is lost
        "siglip-2": 728,
        "aimv2-h": 575,
        "sam-h": 576,
        "radio-h": 729,
    }
    assert (compat["sam-h"].model, compat["sam-h"].width) == ("facebook/sam-vit-large", 1024)
    assert compat["radio-h"].width == 1024
    assert TOWERS["siglip-1"].tokens == 729


def test_paper_compat_interpolates_the_places_of_sam_and_leaves_out_the_conditioner_of_radio() -> None:
    """From 6 to 2 places per side a bilinear sample falls on places 1 and 4; a mean is over areas of 3 x 3."""
    squares = torch.arange(6.0).view(1, 6, 1, 1).square().expand(1, 6, 6, 1)
    tower = replace(find_tower("sam-h-compat"), side=6 * 16, pooled_grid=2)
    assert tower_models.read_state(tower, squares).flatten().tolist() == [1.0, 1.0, 16.0, 16.0]
    mean = replace(tower, pooling="mean")
    assert tower_models.read_state(mean, squares).flatten().tolist() == pytest.approx([5 / 3, 5 / 3, 50 / 3, 50 / 3])
    assert "pooling" not in find_tower("sam-h").settings(), "earlier heads keep their fingerprint"
    grey = Image.new("RGB", (8, 8), (51, 102, 255))
    means, stds = (torch.tensor(values).view(3, 1, 1) for values in CLIP_MOMENTS.values())
    conditioned = (tower_models.pixels_of("radio-h-compat", [grey])[0] - means) / stds
    assert conditioned.mean(dim=(1, 2)).tolist() == pytest.approx([0.2, 0.4, 1.0], abs=1e-5)


def test_settings_change_the_specification_and_the_fingerprint() -> None:
    plain, wide = find_tower("tiny/dinov2-l"), find_tower("tiny/dinov2-l?side=84&layer=-1")
    assert (wide.side, wide.tokens, wide.layer) == (84, 36, -1)
    names = ["tiny/dinov2-l", "tiny/dinov2-l?side=84&layer=-1", "tiny/dinov2-l?seed=1", "tiny/clip-l"]
    assert len({tower_models.tower_fingerprint(name) for name in names}) == 4
    assert plain.settings() == find_tower("tiny/dinov2-l?seed=0").settings()
    first, second = (tower_models.load_tower(f"tiny/clip-l?seed={seed}") for seed in (1, 2))
    assert not torch.equal(next(first.parameters()), next(second.parameters()))


def test_settings_at_their_limits_and_folders_of_radio(tmp_path: Path) -> None:
    """The configuration in a folder states the prefix tokens and the norms of a RADIO."""
    assert [find_tower(name).tokens for name in ("clip-l?side=14", "clip-l?side=30", "sam-h?side=384")] == [1, 4, 576]
    count = len(state_sizes("efficientnet-lite0"))
    lowest = find_tower(f"efficientnet-lite0?side=224&layer=-{count}")
    assert (lowest.patch, lowest.width) == state_sizes("efficientnet-lite0")[0]
    facts = {"num_hidden_layers": 3, "num_cls_tokens": 2, "num_registers": 5}
    (tmp_path / "config.json").write_text(json.dumps(facts))
    radio = find_tower(f"radio-h?model={tmp_path}")
    assert (radio.prefix_tokens, radio.model) == (7, str(tmp_path))
    assert radio.architecture == {**TOWERS["radio-h"].architecture, **facts, "mlp_norm": False}
    (tmp_path / "config.json").write_text("{}")
    assert find_tower(f"radio-h?model={tmp_path}").prefix_tokens == 16
    random = find_tower("clip-l?seed=3")
    assert (random.model, random.seed) == ("", 3)


def test_pixels_of_every_tower_equal_their_golden() -> None:
    """Means of channels, corners and the middle of an image that is wider than high, to three decimals."""
    image = Image.merge("RGB", [Image.linear_gradient("L").resize((50, 40)).rotate(90 * n) for n in range(3)])
    lines = []
    for name in (*PAPER, *(f"{name}-compat" for name in PAPER_COMPAT)):
        (pixels,) = tower_models.pixels_of(f"tiny/{name}", [image])
        middle = pixels.shape[-1] // 2
        places = [pixels[:, y, x] for y, x in ((0, 0), (0, -1), (-1, 0), (-1, -1), (middle, middle))]
        lines.append(line([name, *([round(float(v), 3) for v in part] for part in (pixels.mean((1, 2)), *places))]))
    assert_golden("towers/pixels.txt", "\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("siglip1", "no tower 'siglip1'; did you mean 'siglip-1'?"),
        ("tiny/dino-l", "did you mean 'tiny/dinov2-l'?"),
        ("tiny/efficientnet-lite0", "no tower"),
        ("clip-l?siede=3", "has no setting 'siede'; did you mean 'side'?"),
        ("clip-l?side=big", "side='big': must be a whole number from"),
        ("clip-l?side=10", "side must be a multiple"),
        ("efficientnet-lite0?side=100", "multiple of its patches of 32"),
        ("clip-l?side=13", "side must be a multiple of its patches of 14 pixels"),
        ("sam-h?side=1030", "side must be a multiple of its patches of 16 pixels"),
        ("sam-h?side=368", "side must be at least 384 pixels"),
        ("efficientnet-lite0?layer=99", "has no layer 99, only 0 to "),
        ("hf/", "no tower 'hf/'"),
        ("hf/no-such-folder/model", "no such model"),
    ],
)
def test_errors_name_the_nearest_valid_word(written: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(SnellenError, match=re.escape(message)):
        find_tower(written)


def test_any_vision_model_is_a_tower(tmp_path: Path) -> None:
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    config = transformers.ViTConfig(**sizes, image_size=32, patch_size=8)
    vit = transformers.ViTModel(config, add_pooling_layer=False)  # it is not read
    vit.save_pretrained(tmp_path / "vit")
    transformers.ViTImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(tmp_path / "vit")
    net = transformers.ResNetModel(
        transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic")
    )
    net.save_pretrained(tmp_path / "resnet")
    transformers.ConvNextImageProcessorPil(size={"shortest_edge": 384}).save_pretrained(tmp_path / "resnet")
    for name, grid, width, prefix in (("vit", 4, 32, 1), ("resnet", 48, 16, 0)):
        tower = find_tower(f"hf/{tmp_path / name}")
        assert (tower.grid, tower.width, tower.prefix_tokens) == (grid, width, prefix)
        pixels = tower_models.pixels_of(tower.name, [Image.new("RGB", (40, 40))])
        tokens = tower_models.image_tokens(tower, tower_models.load_tower(tower.name), pixels)
        assert tokens.shape == (1, grid**2, width)
    deep = find_tower(f"hf/{tmp_path / 'vit'}?layer=7")
    with pytest.raises(SnellenError, match="has no layer 7"):
        tower_models.image_tokens(deep, tower_models.load_tower(deep.name), torch.zeros(1, 3, 32, 32))


def test_weights_of_another_model_are_refused(tmp_path: Path) -> None:
    model: Any = tower_models.load_tower("tiny/clip-l")
    model.save_pretrained(tmp_path)
    with pytest.raises(
        SnellenError, match=r"; download the model's own, and give the folder as dinov2-l\?model=FOLDER$"
    ):
        tower_models.load_tower(f"dinov2-l?model={tmp_path}")


def test_operations_of_a_convolutional_tower_are_counted() -> None:
    """EfficientNet-Lite0's published 407 million multiply-adds, minus the 1.3 million of its classifier."""
    assert costs.tower_flops(find_tower("efficientnet-lite0")) == pytest.approx(2 * 406e6, rel=0.1)
