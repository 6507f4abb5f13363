"""Tiny random models of transformers, saved to a folder, so no hub is needed."""

from __future__ import annotations

import asyncio
import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.core.item import Option
from snellen.core.prompt import Prompt
from snellen.core.seeds import stream
from snellen.core.subject import TrainingExample
from snellen.subjects.encoders import load_encoder
from snellen.subjects.encoders.encoder import PatchEncoder, fingerprint
from snellen.subjects.encoders.hf import HfEncoder, _grid
from snellen.subjects.registry import make_subject
from snellen.towers.probes.subject import AttentiveProbe
from tests.helpers.extras import lazy_module
from tests.subjects.encoders.scenes import BLUE, RED, Album, ask, declined, draw, subject

torch = lazy_module("torch")
transformers = lazy_module("transformers")


VISION: dict[str, Any] = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32, "image_size": 16,
    "patch_size": 8,
}  # fmt: skip
IMAGES = [draw("disc", RED), draw("bar", BLUE).convert("L"), Image.new("RGBA", (5, 90))]


def save_processor(folder: Path, kind: str, side: int = 16, width: int = 0) -> None:
    size = {"height": side, "width": width or side}
    settings = {"image_processor_type": kind, "size": size, "crop_size": size}
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))


def vit(folder: Path, kind: str = "ViTModel", seed: int = 0) -> Path:
    torch.manual_seed(seed)
    getattr(transformers, kind)(transformers.ViTConfig(**VISION)).save_pretrained(folder)
    save_processor(folder, "ViTImageProcessor")
    return folder


def clip(folder: Path) -> Path:
    torch.manual_seed(1)
    letters = [chr(code) for code in range(97, 123)]
    words = ["<|startoftext|>", "<|endoftext|>", *letters, *[f"{letter}</w>" for letter in letters], ".</w>"]
    tokenizer = transformers.CLIPTokenizer({word: index for index, word in enumerate(words)}, [])
    tokenizer.save_pretrained(folder)
    texts = {
        key: VISION[key] for key in ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
    }
    texts |= {"vocab_size": len(words), "max_position_embeddings": 20, "bos_token_id": 0, "eos_token_id": 1}
    config = transformers.CLIPConfig(text_config=texts, vision_config=VISION, projection_dim=8)
    transformers.CLIPModel(config).save_pretrained(folder)
    save_processor(folder, "CLIPImageProcessor")
    return folder


@pytest.mark.parametrize("layer", ["pooled", "tokens", "cls", "0", "1", "-1"])
def test_layers_of_a_vit_equal_those_of_transformers(tmp_path: Path, layer: str) -> None:
    vit(tmp_path)
    encoder = load_encoder(f"hf/{tmp_path}", {"layer": layer})
    rows = encoder.features(IMAGES)
    assert rows.shape == (3, 16)
    assert encoder.text is None
    processor = transformers.ViTImageProcessorPil.from_pretrained(tmp_path)
    inputs = processor(images=[image.convert("RGB") for image in IMAGES], return_tensors="pt")
    with torch.inference_mode():
        out = transformers.ViTModel.from_pretrained(tmp_path).eval()(**inputs, output_hidden_states=True)
    states = out.last_hidden_state
    known = {"pooled": out.pooler_output, "tokens": states.mean(1), "cls": states[:, 0]}
    expected = known[layer] if layer in known else out.hidden_states[int(layer)].mean(1)
    assert np.allclose(rows, expected.numpy(), atol=1e-5)


def test_a_pooler_that_was_never_trained_is_not_used(tmp_path: Path) -> None:
    vit(tmp_path, "ViTForImageClassification")
    pooled, tokens = [load_encoder(f"hf/{tmp_path}", {"layer": layer}) for layer in ("pooled", "tokens")]
    assert np.array_equal(pooled.features(IMAGES), tokens.features(IMAGES))


def test_a_checkpoint_that_lacks_weights_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    torch.manual_seed(0)
    model = transformers.ViTModel(transformers.ViTConfig(**VISION))
    state = {key: value for key, value in model.state_dict().items() if key != "layernorm.weight"}
    model.save_pretrained(tmp_path, state_dict=state)
    save_processor(tmp_path, "ViTImageProcessor")
    with pytest.raises(SnellenError, match="its features would be random"):
        load_encoder(f"hf/{tmp_path}").features(IMAGES)
    assert "layernorm" not in "".join(capfd.readouterr()), "the report of transformers is not printed"


def test_a_convolutional_network_is_an_encoder(tmp_path: Path) -> None:
    config = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic")
    transformers.ResNetModel(config).save_pretrained(tmp_path)
    save_processor(tmp_path, "ViTImageProcessor", 32)
    assert load_encoder(f"hf/{tmp_path}").features(IMAGES).shape == (3, 16)
    assert load_encoder(f"hf/{tmp_path}", {"layer": "1"}).features(IMAGES).shape == (3, 8)


def test_clip_has_a_text_side(tmp_path: Path) -> None:
    clip(tmp_path)
    encoder = load_encoder(f"hf/{tmp_path}")
    assert encoder.text is not None
    rows, texts = (
        encoder.features(IMAGES),
        encoder.text.features(["a red disc", "a blue bar on a very long grey floor"]),
    )
    assert (rows.shape, texts.shape) == ((3, 8), (2, 8))
    model = transformers.CLIPModel.from_pretrained(tmp_path).eval()
    processor = transformers.CLIPImageProcessorPil.from_pretrained(tmp_path)
    tokenizer = transformers.CLIPTokenizer.from_pretrained(tmp_path)
    inputs = processor(images=[image.convert("RGB") for image in IMAGES], return_tensors="pt")
    words = tokenizer(["a red disc"], return_tensors="pt")
    with torch.inference_mode():
        out = model(**inputs, **words)
    ours = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert np.allclose(ours, out.image_embeds.numpy(), atol=1e-5)
    ours = texts[0] / np.linalg.norm(texts[0])
    assert np.allclose(ours, out.text_embeds.numpy()[0], atol=1e-5)
    assert load_encoder(f"hf/{tmp_path}", {"layer": "tokens"}).text is None
    assert load_encoder(f"hf/{tmp_path}", {"layer": "tokens"}).features(IMAGES).shape == (3, 16)


def test_clip_as_a_subject(tmp_path: Path) -> None:
    album = Album(tmp_path / "media")
    encoder = subject(f"hf/{clip(tmp_path / 'clip')}")
    options = [Option("a", "red disc"), Option("b", "blue bar")]
    view = album.view([album.add("disc", RED)], options)
    reply = ask(encoder, album, view)
    assert reply.text == options[int(np.argmax(reply.numbers))].text
    assert encoder.card.attributes["family"] == "clip"
    assert encoder.card.attributes["supervision"] == "image-text pairs"
    assert int(encoder.card.attributes["parameters"]) > 1000
    described = subject(f"hf/{tmp_path / 'clip'}", supervision="image-text pairs, 400 million")
    assert described.card.attributes["supervision"] == "image-text pairs, 400 million"
    assert (described.card.name, described.card.fingerprint()) == (encoder.card.name, encoder.card.fingerprint())
    blind = subject(f"hf/{tmp_path / 'clip'}", layer="cls")
    assert declined(blind, view) == "no training examples of this question, and this encoder has no text side"
    assert blind.card.name == f"encoder:hf/{tmp_path / 'clip'}?layer=cls"


def test_fingerprint_follows_weights_layer_and_processor(tmp_path: Path) -> None:
    first, same, other, resized = [tmp_path / name for name in ("first", "same", "other", "resized")]
    for folder, seed in ((first, 0), (same, 0), (other, 1), (resized, 0)):
        vit(folder, seed=seed)
    save_processor(resized, "ViTImageProcessor", 24)
    mark = {folder.name: fingerprint(load_encoder(f"hf/{folder}")) for folder in (first, same, other, resized)}
    assert mark["first"] == mark["same"]
    assert len({*mark.values(), fingerprint(load_encoder(f"hf/{first}", {"layer": "cls"}))}) == 4


def test_unusable_models_are_one_line(tmp_path: Path) -> None:
    vit(tmp_path / "vit")
    cases = [
        (f"hf/{tmp_path / 'vit'}", {"layer": "token"}, "no layer 'token'; did you mean 'tokens'?"),
        (f"hf/{tmp_path / 'nothing'}", {}, "no such model"),
    ]
    (tmp_path / "llava").mkdir()
    transformers.LlavaConfig().save_pretrained(tmp_path / "llava")
    cases.append((f"hf/{tmp_path / 'llava'}", {}, "generates text; ask it as chat:hf/"))
    for name, settings, message in cases:
        with pytest.raises(SnellenError, match=r"^encoder:hf/") as raised:
            load_encoder(name, settings)
        assert message in str(raised.value)
        assert "\n" not in str(raised.value)
    with pytest.raises(SnellenError, match="no layer 7, it has 0 to 2"):
        load_encoder(f"hf/{tmp_path / 'vit'}", {"layer": "7"}).features(IMAGES)


def test_processors_that_demand_torchvision_are_named(tmp_path: Path) -> None:
    save_processor(vit(tmp_path), "Sam2ImageProcessor")
    with pytest.raises(SnellenError, match=r"not supported, since .* Those of SAM 2 and 3.* require torchvision"):
        subject(f"hf/{tmp_path}")


def test_the_processor_of_dinov3_resizes_and_normalises_with_pillow(tmp_path: Path) -> None:
    config = transformers.DINOv3ViTConfig(**{**VISION, "num_register_tokens": 1})
    model = transformers.DINOv3ViTModel(config).eval()
    model.save_pretrained(tmp_path)
    save_processor(tmp_path, "DINOv3ViTImageProcessorFast")
    pixels = np.asarray(IMAGES[0].resize((16, 16), Image.Resampling.BILINEAR), np.float32) / 255
    values = torch.tensor((pixels - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225)).permute(2, 0, 1)[None].float()
    with torch.no_grad():
        expected = model(values).last_hidden_state[0, 0].numpy()
    features = load_encoder(f"hf/{tmp_path}", {"layer": "cls"}).features(IMAGES[:1])[0]
    assert np.allclose(features, expected, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("config.json", b'{"architecture": "vit_tiny_patch16_224", "num_features": 192}', "a checkpoint of timm"),
        ("adapter_config.json", b"{}", "a LoRA or other adapter without its model, which it does not name"),
        ("adapter_config.json", b'{"base_model_name_or_path": "org/base"}', "without its model, org/base; load that"),
        ("open_clip_config.json", b"{}", "a checkpoint of open_clip"),
        ("model.gguf", b"GGUF", "weights as GGUF"),
        ("model.safetensors", b"version https://git-lfs.github.com/spec/v1", "model.safetensors is a Git LFS pointer"),
    ],
)
def test_folders_of_other_tools_are_named_as_what_they_are(
    name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SnellenError, match=message):
        load_encoder(f"hf/{tmp_path}", {})


def test_an_adapter_beside_a_configuration_is_named_unless_it_has_weights(tmp_path: Path) -> None:
    """Trainers save the model's config.json with an adapter; transformers reads one beside whole weights."""
    folder = vit(tmp_path / "vit")
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "/gone/base"}')
    load_encoder(f"hf/{folder}", {})
    alone = folder.rename(tmp_path / "alone")
    (alone / "model.safetensors").rename(alone / "adapter_model.safetensors")
    with pytest.raises(SnellenError, match="adapter without its model, /gone/base; load that"):
        load_encoder(f"hf/{alone}", {})


def test_what_an_encoder_lacks_is_named(tmp_path: Path) -> None:
    for text in ("[]", '{"a":' * 3000 + "1" + "}" * 3000):
        (vit(tmp_path / "odd") / "preprocessor_config.json").write_text(text)
        with pytest.raises(SnellenError, match="no image processor works with Pillow"):
            load_encoder(f"hf/{tmp_path / 'odd'}", {}).features(IMAGES)
    (vit(tmp_path / "vit") / "preprocessor_config.json").unlink()
    with pytest.raises(SnellenError, match=r"has no preprocessor_config\.json; copy that"):
        load_encoder(f"hf/{tmp_path / 'vit'}", {}).features(IMAGES)
    own, named = load_encoder(f"hf/{vit(tmp_path / 'own')}", {}), {"processor": str(tmp_path / "own")}
    np.testing.assert_array_equal(load_encoder(f"hf/{tmp_path / 'vit'}", named).features(IMAGES), own.features(IMAGES))
    transformers.ViTModel(transformers.ViTConfig(**VISION, num_channels=1)).save_pretrained(tmp_path / "grey")
    with pytest.raises(SnellenError, match="takes images of 1 channels"):
        load_encoder(f"hf/{tmp_path / 'grey'}", {})


@pytest.mark.parametrize("path", ["./vit", "/nowhere/vit", "a/b/c", "present/step-1"])
def test_folders_that_are_missing_are_not_looked_up_on_the_hub(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "present").mkdir()
    with pytest.raises(SnellenError, match=f"there is no folder {path}"):
        load_encoder(f"hf/{path}", {})


def test_features_that_are_not_numbers_are_refused(tmp_path: Path) -> None:
    model = transformers.ViTModel.from_pretrained(vit(tmp_path))
    with torch.no_grad():
        model.layernorm.weight.fill_(math.nan)
    model.save_pretrained(tmp_path)
    with pytest.raises(SnellenError, match="features of 3 of 3 images are not finite numbers"):
        load_encoder(f"hf/{tmp_path}", {"layer": "tokens"}).features(IMAGES)


FAMILIES: dict[str, dict[str, Any]] = {
    "ViT": {},
    "Siglip": {"config": "SiglipVisionConfig", "model": "SiglipVisionModel"},
    "Dinov2WithRegisters": {"num_register_tokens": 3},
}
"""Tokens before the patches: a class token; none; a class token and three registers."""


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("layer", ["pooled", "1"])
def test_patches_are_the_tokens_of_the_grid(tmp_path: Path, family: str, layer: str) -> None:
    torch.manual_seed(0)
    names = FAMILIES[family]
    settings = {key: value for key, value in names.items() if key not in ("config", "model")}
    model_config = getattr(transformers, names.get("config", f"{family}Config"))(**VISION, **settings)
    model = getattr(transformers, names.get("model", f"{family}Model"))(model_config).eval()
    model.save_pretrained(tmp_path)
    save_processor(tmp_path, "ViTImageProcessor")
    encoder = load_encoder(f"hf/{tmp_path}", {"layer": layer})
    assert isinstance(encoder, PatchEncoder)
    rows = encoder.patches(IMAGES)
    assert rows.shape == (3, 2, 2, 16)  # 16 pixels in patches of 8
    pixels = [image.convert("RGB").resize((16, 16), Image.Resampling.BICUBIC) for image in IMAGES]
    scaled = torch.from_numpy(np.stack([np.asarray(image) for image in pixels])).permute(0, 3, 1, 2) / 127.5 - 1
    with torch.inference_mode():
        out = model(pixel_values=scaled, output_hidden_states=True)
    states = out.last_hidden_state if layer == "pooled" else out.hidden_states[1]
    assert np.allclose(rows.reshape(3, 4, 16), states[:, -4:].numpy(), atol=1e-5)


def test_clip_and_a_convolutional_net_have_patches(tmp_path: Path) -> None:
    clip(tmp_path / "clip")
    config = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1])
    transformers.ResNetModel(config).save_pretrained(tmp_path / "resnet")
    save_processor(tmp_path / "resnet", "ViTImageProcessor", 32, 64)
    shapes = {}
    for name in ("clip", "resnet"):
        encoder = load_encoder(f"hf/{tmp_path / name}")
        assert isinstance(encoder, PatchEncoder)
        shapes[name] = encoder.patches(IMAGES).shape
    # ResNet halves twice before its stages and once in the second: 32 / 8 = 4 rows and 64 / 8 = 8 columns.
    assert shapes == {"clip": (3, 2, 2, 16), "resnet": (3, 4, 8, 16)}


def test_tokens_without_a_grid_are_an_error(tmp_path: Path) -> None:
    vit(tmp_path)
    with pytest.raises(SnellenError, match=r"\(7, 16\) are not a grid of 2 x 2 patches after 0 or 1 others"):
        _grid(str(tmp_path), torch.zeros(1, 7, 16), (16, 16))
    tokens = torch.arange(7.0)[None, :, None]  # a class token, and two rows of three patches
    assert _grid(str(tmp_path), tokens, (16, 24))[0, :, :, 0].tolist() == [[1, 2, 3], [4, 5, 6]]
    sizes: list[dict[str, Any]] = [
        {"crop_size": {"height": 8, "width": 24}, "size": {"shortest_edge": 32}}, {"size": {"longest_edge": 40}},
        {"size": {}},
    ]  # fmt: skip
    stand_ins = [SimpleNamespace(_processor=SimpleNamespace(**size), path="p") for size in sizes]
    size_of = vars(HfEncoder)["_size"].fget
    assert [size_of(stand_in) for stand_in in stand_ins[:2]] == [(8, 24), (40, 40)]
    with pytest.raises(SnellenError, match=r"encoder:hf/p: its image processor has no size \(\{\}\); patches need one"):
        size_of(stand_ins[2])


def test_any_model_with_a_grid_can_have_an_attentive_probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))
    probe, album = make_subject(f"encoder:hf/{vit(tmp_path / 'vit')}?readout=attentive"), Album(tmp_path / "media")
    assert isinstance(probe, AttentiveProbe)
    options = [Option("red"), Option("blue")]
    examples = [
        TrainingExample(album.view([album.add(shape, colour)], options), key)
        for shape in ("disc", "square", "bar")
        for key, colour in (("red", RED), ("blue", BLUE))
    ]
    brief = replace(probe, settings=replace(probe.settings, steps=2))
    trained = asyncio.run(brief.fit(examples, album.folder))
    prompt = Prompt((), (examples[0].view,))
    assert trained.declines(prompt) is None
    reply = asyncio.run(trained.answer(prompt, album.folder, stream("test", 0)))
    assert reply.text in ("red", "blue")
    assert sum(reply.numbers) == pytest.approx(1)
