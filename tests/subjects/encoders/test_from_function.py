from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import snellen
from snellen.core.errors import SnellenError
from snellen.core.item import Media
from snellen.core.storage.media import MediaFolder
from snellen.subjects.encoders.encoder import encode, features_folder
from snellen.subjects.encoders.subject import EncoderSubject
from snellen.subjects.from_callable import code_digest


def encoder_of(function: Callable[[list[Any]], Any], **settings: Any) -> EncoderSubject:
    subject = snellen.encoder(function, "mine", **settings)
    assert isinstance(subject, EncoderSubject)
    return subject


def three(root: Path) -> tuple[MediaFolder, list[Media]]:
    media = MediaFolder(root)
    sizes = ((40, 30), (20, 20), (8, 60))
    return media, [media.add_image(Image.new("L", size, 60 * n)) for n, size in enumerate(sizes, 1)]


def mean_colours(images: list[Image.Image]) -> list[list[float]]:
    return [list(np.asarray(image, float).reshape(-1, 3).mean(axis=0)) for image in images]


def as_tensor(images: list[Image.Image]) -> Any:
    torch = pytest.importorskip("torch")
    return torch.tensor(mean_colours(images), dtype=torch.bfloat16, requires_grad=True)


@pytest.mark.parametrize(
    "function",
    [
        mean_colours,
        lambda images: np.array(mean_colours(images)),
        as_tensor,
        lambda images: [np.array(row) for row in mean_colours(images)],
    ],
    ids=["lists", "array", "tensor", "list of arrays"],
)
def test_vectors_of_any_kind(function: Callable[[list[Any]], Any], tmp_path: Path) -> None:
    media, images = three(tmp_path)
    features = encode(encoder_of(function).encoder, images, media)
    assert features.dtype == np.float32
    assert features.tolist() == [[60.0] * 3, [120.0] * 3, [180.0] * 3]


def test_each_image_is_encoded_once_and_only_in_memory(tmp_path: Path) -> None:
    media, images = three(tmp_path)
    calls: list[tuple[str, tuple[int, int]]] = []

    def function(images_given: list[Image.Image]) -> Any:
        calls.extend((image.mode, image.size) for image in images_given)
        return mean_colours(images_given)

    subject = encoder_of(function, size=(16, 12), batch_size=2)
    for _ in range(2):
        encode(subject.encoder, [*images, images[0]], media)
    assert calls == [("RGB", (16, 12))] * 3
    assert not features_folder(subject.encoder).exists()
    assert encoder_of(function).card.fingerprint() != subject.card.fingerprint(), "the size may change answers"


@pytest.mark.parametrize(
    ("product", "message"),
    [
        (lambda images: [1.0, 2.0, 3.0], r"shape \(3,\) for 3 inputs; return one vector each"),
        (lambda images: np.ones((2, 4)), r"shape \(2, 4\) for 3 inputs"),
        (lambda images: np.full((3, 4), np.nan), "NaN or infinity"),
        (lambda images: [1 / 0], r"mine: ZeroDivisionError: division by zero \(test_from_function.py, line"),
    ],
)
def test_what_a_function_returns_is_checked(product: Callable[[list[Any]], Any], message: str, tmp_path: Path) -> None:
    media, images = three(tmp_path)
    with pytest.raises(SnellenError, match=message):
        encode(encoder_of(product).encoder, images, media)


def test_texts_are_compared_in_the_template() -> None:
    given: list[str] = []

    def text(texts: list[str]) -> Any:
        given.extend(texts)
        return np.eye(len(texts))

    side = encoder_of(mean_colours, text=text, template="a photo of {}").encoder.text
    assert side is not None
    assert side.template == "a photo of {}"
    assert side.features(["a", "b"]).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert given == ["a", "b"]
    assert encoder_of(mean_colours).encoder.text is None


def test_an_edited_function_is_another_subject() -> None:
    first = snellen.encoder(lambda images: [[float(image.width)] for image in images], "mine")
    same = snellen.encoder(lambda images: [[float(image.width)] for image in images], "mine")
    edited = snellen.encoder(lambda images: [[float(image.height)] for image in images], "mine")
    assert first.card.fingerprint() == same.card.fingerprint() != edited.card.fingerprint()


@pytest.mark.parametrize("hash_seed", ["1", "2", "3"])
def test_the_digest_of_a_function_is_the_same_in_every_process(hash_seed: str) -> None:
    """Sets are constants of the code, and have another order in another process."""
    code = (
        "from snellen.subjects.from_callable import code_digest\n"
        "print(code_digest(lambda image: image in {'a', 'b', 'c', 'd', 'e'}))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    here = code_digest(lambda image: image in {"a", "b", "c", "d", "e"})
    assert done.stdout.strip() == here
