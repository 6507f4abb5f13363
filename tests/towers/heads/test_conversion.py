"""Random checkpoints in the published layouts of RADIO, InternViT and AIMv2, converted, compute what the originals do.

The originals are written here in plain functions, from the description of the networks.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from snellen.core.errors import SnellenError
from snellen.towers.heads.towers import TOWERS, find_tower
from tests.helpers.extras import lazy_module

torch = lazy_module("torch")
F = lazy_module("torch.nn.functional")
conversion = lazy_module("snellen.towers.heads.conversion")
tower_models = lazy_module("snellen.towers.heads.tower_models")

WIDTH, HEADS, LAYERS = 1280, 16, 2
StateDict = dict[str, Any]
SMALL = {"hidden_size": 32, "num_hidden_layers": LAYERS, "num_attention_heads": 2, "intermediate_size": 64}


def _random(shapes: dict[str, tuple[int, ...]], seed: int) -> StateDict:
    generator = torch.Generator().manual_seed(seed)
    return {name: 0.3 * torch.randn(shape, generator=generator) for name, shape in shapes.items()}


def _block_shapes(block: str, width: int, inner: int) -> dict[str, tuple[int, ...]]:
    linear: dict[str, tuple[int, ...]] = {
        "attn.qkv": (3 * width, width),
        "attn.proj": (width, width),
        "mlp.fc1": (inner, width),
    }
    linear |= {"mlp.fc2": (width, inner)}
    shapes = {f"{block}{name}.weight": shape for name, shape in linear.items()}
    shapes |= {f"{block}{name}.bias": (shape[0],) for name, shape in linear.items()}
    norms = (f"{block}{name}.{kind}" for name in ("norm1", "norm2") for kind in ("weight", "bias"))
    return {**shapes, **dict.fromkeys(norms, (width,))}


def _block(state: Any, weights: StateDict, block: str, heads: int, scales: tuple[Any, Any]) -> Any:
    """A transformer block with the norm before each half, and a norm within the MLP if the weights have one."""

    def layer(name: str, entry: Any) -> Any:
        return F.linear(entry, weights[f"{block}{name}.weight"], weights[f"{block}{name}.bias"])

    def norm(name: str, entry: Any, epsilon: float) -> Any:
        centred = entry - entry.mean(-1, keepdim=True)
        scaled = centred / (centred.pow(2).mean(-1, keepdim=True) + epsilon).sqrt()
        return scaled * weights[f"{block}{name}.weight"] + weights[f"{block}{name}.bias"]

    batch, count, width = state.shape
    parts = layer("attn.qkv", norm("norm1", state, 1e-6)).reshape(batch, count, 3, heads, width // heads)
    query, key, value = parts.permute(2, 0, 3, 1, 4)
    shares = (query @ key.transpose(-1, -2) / (width // heads) ** 0.5).softmax(-1)
    state = state + scales[0] * layer("attn.proj", (shares @ value).transpose(1, 2).reshape(batch, count, width))
    inner = layer("mlp.fc1", norm("norm2", state, 1e-6))
    inner = inner * 0.5 * (1 + torch.erf(inner / 2**0.5))
    if f"{block}mlp.norm.weight" in weights:
        inner = norm("mlp.norm", inner, 1e-5)
    final: Any = state + scales[1] * layer("mlp.fc2", inner)
    return final


def _radio(mlp_norm: bool, width: int = WIDTH) -> StateDict:
    patches, tokens = 8, 16
    shapes: dict[str, tuple[int, ...]] = {
        "patch_generator.embedder.weight": (width, 3 * 16 * 16),
        "patch_generator.pos_embed": (1, patches**2, width),
        "patch_generator.cls_token.token": (tokens, width),
        "norm.weight": (width,),
        "norm.bias": (width,),
    }
    for number in range(LAYERS):
        shapes |= _block_shapes(f"blocks.{number}.", width, 4 * width)
        if mlp_norm:
            shapes |= {f"blocks.{number}.mlp.norm.{kind}": (4 * width,) for kind in ("weight", "bias")}
    weights = {name: entry / 8 for name, entry in _random(shapes, 1).items()}
    mean, std = torch.tensor([0.48, 0.46, 0.41]), torch.tensor([0.27, 0.26, 0.28])
    weights = {f"base_model.{name}": entry for name, entry in weights.items()}
    weights |= {"input_conditioner.norm_mean": mean[:, None, None], "input_conditioner.norm_std": std[:, None, None]}
    return weights | {"_heads.0.final.weight": torch.zeros(2, 2)}


def _radio_states(weights: StateDict, pixels: Any) -> list[Any]:
    """Hidden states, with bilinear positions at the number of patches of the image."""
    pixels = (pixels - weights["input_conditioner.norm_mean"]) / weights["input_conditioner.norm_std"]
    weights = {name.removeprefix("base_model."): entry for name, entry in weights.items()}
    side = pixels.shape[-1] // 16
    squares = F.unfold(pixels, 16, stride=16).transpose(1, 2)  # channel, row, column within a patch
    table = weights["patch_generator.pos_embed"].reshape(1, 8, 8, -1).permute(0, 3, 1, 2)
    positions = F.interpolate(table, size=(side, side), mode="bilinear", align_corners=False).flatten(2).transpose(1, 2)
    patches = squares @ weights["patch_generator.embedder.weight"].T + positions
    prefix = weights["patch_generator.cls_token.token"].expand(len(pixels), -1, -1)
    states = [torch.cat([prefix, patches], 1)]
    for number in range(LAYERS):
        states.append(_block(states[-1], weights, f"blocks.{number}.", HEADS, (1.0, 1.0)))
    return states


@pytest.mark.parametrize("mlp_norm", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("layout", ["checkpoint", pytest.param("folder", marks=pytest.mark.slow)])
def test_a_converted_radio_computes_what_the_checkpoint_does(mlp_norm: bool, layout: str, tmp_path: Path) -> None:
    weights, teachers = _radio(mlp_norm), [{"name": name} for name in ("a", "b", "c", "d")]
    teachers[3]["use_summary"] = False  # type: ignore[assignment]
    path = tmp_path / "radio.pth.tar"
    if layout == "checkpoint":
        stored = {f"module.{name}": entry for name, entry in weights.items()}
        torch.save({"state_dict": stored, "args": argparse.Namespace(teachers=teachers)}, path)
    else:
        path = tmp_path / "published"
        path.mkdir()
        (path / "config.json").write_text(json.dumps({"args": {"teachers": teachers}}))
        moved = {f"radio_model.{name.replace('base_model', 'model')}": entry for name, entry in weights.items()}
        torch.save(moved, path / "pytorch_model.bin")
    conversion.convert("radio-h", path, tmp_path / "folder")
    name = f"radio-h?model={tmp_path / 'folder'}&side=64"
    tower, pixels = find_tower(name), torch.rand(2, 3, 64, 64, generator=torch.Generator().manual_seed(2))
    assert (tower.prefix_tokens, tower.tokens, tower.architecture["mlp_norm"]) == (16, 16, mlp_norm)
    model = tower_models.load_tower(name)
    config: Any = model.config
    assert (config.num_cls_tokens, config.num_registers, config.summary_idxs) == (4, 12, [0, 1, 2])
    expected = _radio_states(weights, pixels)
    torch.testing.assert_close(
        tower_models.image_tokens(tower, model, pixels), expected[-2][:, 16:], rtol=1e-4, atol=1e-4
    )
    last: Any = model(pixel_values=pixels)
    torch.testing.assert_close(last.last_hidden_state, expected[-1], rtol=1e-3, atol=1e-3)


def test_the_radio_of_the_authors_scripts_is_converted_under_its_name(tmp_path: Path) -> None:
    """The remote-code layout, whose summary tokens and norm are no weights of the network that is read."""
    weights, published = _radio(False, 1024), tmp_path / "RADIO-L"
    published.mkdir()
    (published / "config.json").write_text(json.dumps({"args": {"teachers": [{"name": name} for name in "abc"]}}))
    moved = {f"radio_model.{name.replace('base_model', 'model')}": entry for name, entry in weights.items()}
    torch.save({**moved, "radio_model.summary_idxs": torch.tensor([0, 1])}, published / "pytorch_model.bin")
    conversion.convert("radio-h-compat", published, tmp_path / "folder")
    name = f"radio-h-compat?model={tmp_path / 'folder'}&side=64"
    tower, pixels = find_tower(name), torch.rand(1, 3, 64, 64, generator=torch.Generator().manual_seed(2))
    tokens = tower_models.image_tokens(tower, tower_models.load_tower(name), pixels)
    torch.testing.assert_close(tokens, _radio_states(weights, pixels)[-2][:, 16:], rtol=1e-4, atol=1e-4)


def _aimv2(width: int = 32, inner: int = 64) -> StateDict:
    shapes: dict[str, tuple[int, ...]] = {
        "preprocessor.patchifier.proj.weight": (width, 3, 14, 14),
        "preprocessor.patchifier.proj.bias": (width,),
        "preprocessor.patchifier.norm.weight": (width,),
        "preprocessor.pos_embed": (1, 16, width),
        "trunk.post_trunk_norm.weight": (width,),
    }
    for number in range(LAYERS):
        block = f"trunk.blocks.{number}."
        shapes |= {f"{block}attn.qkv.weight": (3 * width, width), f"{block}attn.proj.weight": (width, width)}
        shapes |= {f"{block}mlp.fc{n}.weight": (inner, width) for n in (1, 3)}
        shapes |= {f"{block}mlp.fc2.weight": (width, inner), **{f"{block}norm_{n}.weight": (width,) for n in (1, 2)}}
    return _random(shapes, 5)


def _aimv2_states(weights: StateDict, pixels: Any, heads: int) -> list[Any]:
    """Hidden states of the first layout: root mean square norms, and a gated unit in which fc1 is the gate."""

    def norm(name: str, entry: Any) -> Any:
        return entry / (entry.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() * weights[f"{name}.weight"]

    kernel = weights["preprocessor.patchifier.proj.weight"]
    patches = F.unfold(pixels, 14, stride=14).transpose(1, 2) @ kernel.flatten(1).T
    patches = norm("preprocessor.patchifier.norm", patches + weights["preprocessor.patchifier.proj.bias"])
    states = [patches + weights["preprocessor.pos_embed"]]
    for number in range(LAYERS):
        block, state = f"trunk.blocks.{number}.", states[-1]
        batch, count, width = state.shape
        together = norm(f"{block}norm_1", state) @ weights[f"{block}attn.qkv.weight"].T
        query, key, value = together.reshape(batch, count, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
        shares = (query @ key.transpose(-1, -2) / (width // heads) ** 0.5).softmax(-1)
        mixed = (shares @ value).transpose(1, 2).reshape(batch, count, width)
        state = state + mixed @ weights[f"{block}attn.proj.weight"].T
        inner = norm(f"{block}norm_2", state)
        gate, up = (inner @ weights[f"{block}mlp.{name}.weight"].T for name in ("fc1", "fc3"))
        states.append(state + (gate * torch.sigmoid(gate) * up) @ weights[f"{block}mlp.fc2.weight"].T)
    return states


def test_a_converted_aimv2_computes_what_the_first_layout_does(tmp_path: Path) -> None:
    weights, published = _aimv2(), tmp_path / "aimv2"
    published.mkdir()
    (published / "config.json").write_text(json.dumps({"model_type": "aimv2", "rms_norm_eps": 1e-5, **SMALL}))
    torch.save(weights, published / "pytorch_model.bin")
    conversion.convert("aimv2-h", published, tmp_path / "folder")
    model = tower_models.load_tower(f"aimv2-h?model={tmp_path / 'folder'}&side=56")
    pixels = torch.rand(2, 3, 56, 56, generator=torch.Generator().manual_seed(6))
    states: Any = model(pixel_values=pixels, output_hidden_states=True)
    for state, expected in zip(states.hidden_states, _aimv2_states(weights, pixels, 2), strict=True):
        torch.testing.assert_close(state, expected, rtol=1e-4, atol=1e-4)


def _internvit(width: int = 64, inner: int = 128) -> StateDict:
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.class_embedding": (1, 1, width),
        "embeddings.position_embedding": (1, 1 + 16, width),
        "embeddings.patch_embedding.weight": (width, 3, 14, 14),
        "embeddings.patch_embedding.bias": (width,),
    }
    for number in range(LAYERS):
        shapes |= _block_shapes(f"encoder.layers.{number}.", width, inner)
        shapes |= {f"encoder.layers.{number}.{scale}": (width,) for scale in ("ls1", "ls2")}
    return _random(shapes, 3)


def _internvit_states(weights: StateDict, pixels: Any, heads: int) -> list[Any]:
    kernel = weights["embeddings.patch_embedding.weight"]
    patches = F.unfold(pixels, 14, stride=14).transpose(1, 2) @ kernel.flatten(1).T
    patches = patches + weights["embeddings.patch_embedding.bias"]
    classes = weights["embeddings.class_embedding"].expand(len(pixels), -1, -1)
    states = [torch.cat([classes, patches], 1) + weights["embeddings.position_embedding"]]
    for number in range(LAYERS):
        block = f"encoder.layers.{number}."
        states.append(_block(states[-1], weights, block, heads, (weights[f"{block}ls1"], weights[f"{block}ls2"])))
    return states


@pytest.mark.parametrize("prefix", ["", "vision_model."])
def test_a_converted_internvit_computes_what_the_original_does(prefix: str, tmp_path: Path) -> None:
    weights, published = _internvit(), tmp_path / "published"
    published.mkdir()
    config = {"hidden_size": 64, "num_hidden_layers": LAYERS, "num_attention_heads": 4, "intermediate_size": 128}
    config |= {"norm_type": "layer_norm", "layer_norm_eps": 1e-6}  # type: ignore[dict-item]
    (published / "config.json").write_text(json.dumps({"vision_config": config} if prefix else config))
    stored = {f"{prefix}{name}": entry for name, entry in weights.items()}
    torch.save(stored | ({"language_model.x": torch.zeros(1)} if prefix else {}), published / "pytorch_model.bin")
    conversion.convert("internvit-300m", published, tmp_path / "folder")
    stored_config = json.loads((tmp_path / "folder" / "config.json").read_text())
    assert (stored_config["patch_size"], stored_config["image_size"]) == ([14, 14], [56, 56])
    model = tower_models.load_tower(f"internvit-300m?model={tmp_path / 'folder'}&side=56")
    pixels = torch.rand(2, 3, 56, 56, generator=torch.Generator().manual_seed(4))
    states: Any = model(pixel_values=pixels, output_hidden_states=True)
    for state, expected in zip(states.hidden_states, _internvit_states(weights, pixels, 4), strict=True):
        torch.testing.assert_close(state, expected, rtol=1e-4, atol=1e-4)


def _lose(weights: StateDict) -> None:
    del weights["base_model.blocks.1.mlp.fc2.bias"]


def _add(weights: StateDict) -> None:
    weights["base_model.blocks.0.attn.q_norm.weight"] = torch.zeros(2)


@pytest.mark.parametrize("damage", [_lose, _add, dict.clear])
def test_checkpoints_of_other_models_are_refused_in_one_line(
    damage: Callable[[StateDict], None], tmp_path: Path
) -> None:
    weights = _radio(False)
    damage(weights)
    torch.save({"state_dict": weights}, tmp_path / "file.pth.tar")
    with pytest.raises(SnellenError) as refused:
        conversion.convert("radio-h", tmp_path / "file.pth.tar", tmp_path / "folder")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "folder").exists()


@pytest.mark.parametrize("text", ["[]", "{", "[" * 100_000, '{"args": NaN, "a": "\xe9"}', '{"args": []}'])
def test_an_odd_configuration_beside_weights_is_refused_in_one_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(text, "latin-1")
    torch.save({"state_dict": []}, tmp_path / "model.bin")
    with pytest.raises(SnellenError) as refused:
        conversion.convert("radio-h", tmp_path, tmp_path / "folder")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "config", "shapes"),
    [
        ("aimv2-h", {}, {"preprocessor.pos_embed": ()}),
        ("aimv2-h", {"hidden_size": "x"}, {}),
        ("aimv2-h", {"num_attention_heads": 0}, {}),
        ("internvit-300m", {"vision_config": ["hidden_size"]}, {}),
        ("internvit-300m", {"vision_config": "hidden_size"}, {}),
        ("internvit-300m", SMALL, {"embeddings.position_embedding": (8,)}),
        ("radio-h", {"args": {"teachers": [1, 2]}}, {}),
        ("radio-h", {"args": {"teachers": 5}}, {}),
    ],
)
def test_odd_tensors_and_configurations_are_refused_in_one_line(
    name: str, config: StateDict, shapes: dict[str, tuple[int, ...]], tmp_path: Path
) -> None:
    weights = {"aimv2-h": _aimv2, "internvit-300m": _internvit, "radio-h": lambda: _radio(False, 64)}[name]()
    (tmp_path / "config.json").write_text(json.dumps((SMALL | config) if name == "aimv2-h" else config))
    torch.save(weights | _random(shapes, 1), tmp_path / "model.bin")
    with pytest.raises(SnellenError, match=f"not the weights of {name}"):
        conversion.convert(name, tmp_path, tmp_path / "folder")


@pytest.mark.parametrize("stated", [{"num_hidden_layers": LAYERS + 1}, {"intermediate_size": 65}])
def test_a_model_of_a_stated_size_takes_no_memory_before_its_weights_are_compared(
    stated: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transformers, devices = pytest.importorskip("transformers"), list[str]()
    whole = transformers.Aimv2VisionModel

    def model(config: Any) -> Any:
        devices.append(torch.zeros(1).device.type)
        return whole(config)

    monkeypatch.setattr(transformers, "Aimv2VisionModel", model)
    (tmp_path / "config.json").write_text(json.dumps(SMALL | stated))
    torch.save(_aimv2(), tmp_path / "model.bin")
    with pytest.raises(SnellenError, match="not the weights of aimv2-h"):
        conversion.convert("aimv2-h", tmp_path, tmp_path / "folder")
    assert devices == ["meta"] * ("intermediate_size" in stated)


def test_weights_that_are_a_pipe_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.safetensors")
    with pytest.raises(SnellenError, match="not a file"):
        conversion.convert("radio-h", tmp_path, tmp_path / "folder")


def test_a_file_with_code_is_not_run(tmp_path: Path) -> None:
    class Attack:
        def __reduce__(self) -> Any:
            return Path.touch, (tmp_path / "run",)

    torch.save({"state_dict": Attack()}, tmp_path / "file.pt")
    with pytest.raises(SnellenError, match="cannot be read as weights"):
        conversion.convert("radio-h", tmp_path / "file.pt", tmp_path / "folder")
    assert not (tmp_path / "run").exists()


def test_the_specification_of_radio_h_has_a_norm_in_each_mlp() -> None:
    tower = TOWERS["radio-h"]
    facts = tower.architecture
    assert facts["num_cls_tokens"] + facts["num_registers"] == tower.prefix_tokens
    assert facts["mlp_norm"]
