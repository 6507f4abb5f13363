from __future__ import annotations

import asyncio
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
from snellen.core.item import Media, Option, ReplySpec, View
from snellen.core.prompt import Prompt
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.subjects.encoders.encoder import encode, encode_possible, features_folder
from snellen.subjects.encoders.from_function import FunctionEncoder, as_it_is_now
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


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 0}, r"size=0 must be pixels, or \(width, height\)"),
        ({"size": (3,)}, r"size=\(3,\) must be"),
        ({"size": "64"}, "size='64' must be"),
        ({"size": (64, 64, 3)}, "must be pixels"),
        ({"batch_size": 0}, "batch_size=0 must be a whole number from 1"),
        ({"batch_size": 1.5}, "batch_size=1.5 must be"),
        ({"text": 5}, "text=5 must be a function"),
        ({"template": "a photo"}, "template='a photo' needs {} where the option goes"),
        ({"name": ""}, "give a function and a name"),
    ],
)
def test_arguments_are_checked_at_once(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SnellenError, match=message):
        snellen.encoder(mean_colours, **{"name": "mine", **settings})
    assert encoder_of(mean_colours, size=np.int64(16)).card.settings["size"] == [16, 16]


def mean_of(image: Image.Image) -> float:
    return float(np.asarray(image.convert("RGB"), float).mean())


@pytest.fixture(scope="module")
def patterns(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    folder = tmp_path_factory.mktemp("patterns") / "items"
    tasks = ["pattern-perception"]
    return snellen.build("combo", folder, n=3, tasks=tasks, renderer="toy", show_progress=False)


@pytest.mark.parametrize("split", ["test", "train"])
def test_an_image_that_cannot_be_encoded_is_a_failed_call(split: str, patterns: ItemSet, tmp_path: Path) -> None:
    """Others are answered, also those of other subjects; of a training image all calls of this encoder fail."""
    bad = next(item.query[0] for item in patterns.items if item.split == split)
    level = mean_of(patterns.media.open(bad))

    def sometimes(images: list[Image.Image]) -> Any:
        rows = mean_colours(images)
        return [row if mean_of(image) != level else [np.nan] * 3 for image, row in zip(images, rows, strict=True)]

    subjects = [snellen.encoder(sometimes, "some"), snellen.encoder(mean_colours, "all")]
    single = "samples=1,questions=one"  # else a call has several images
    examination = snellen.examine(subjects, patterns.root, condition=single, out=tmp_path / "run", show_progress=False)
    status = {(response.subject, response.item_id): response.status for response in examination.responses}
    answered = {item_id for subject, item_id in status if subject == "encoder:all"}
    assert {status["encoder:all", item_id] for item_id in answered} == {"ok"}
    failed = {item_id for subject, item_id in status if subject == "encoder:some" and status[subject, item_id] != "ok"}
    if split == "test":
        assert failed == {item.item_id for item in patterns.items if bad in item.query} & answered
    else:  # no longer asked after some failures
        assert failed == {item_id for subject, item_id in status if subject == "encoder:some"} != set()
    assert f"check the size and range of its inputs; the image is {patterns.media.find(bad)}" in repr(examination)


def test_an_encoder_that_encodes_nothing_ends_the_run(patterns: ItemSet, tmp_path: Path) -> None:
    def broken(images: list[Image.Image]) -> Any:
        raise ValueError("no")

    subject = snellen.encoder(broken, "broken")
    with pytest.raises(SnellenError, match=r"broken: ValueError: no \(test_from_function.py, line") as raised:
        snellen.examine(subject, patterns.root, out=tmp_path / "run", show_progress=False)
    assert raised.value.__cause__ is None
    assert len(raised.traceback) < 5, "a notebook shows the message, not the ask loop"


def test_images_that_fail_beside_another_are_failures_of_their_own(tmp_path: Path) -> None:
    """It is the images, not the encoder, if the first one works: however many of the others fail."""

    def only_bright(images: list[Image.Image]) -> list[list[float]]:
        colours = mean_colours(images)
        return [row if row[0] > 100 else [float("nan")] * 3 for row in colours]

    media, own = MediaFolder(tmp_path), encoder_of(only_bright).encoder
    encode_possible(own, [media.add_image(Image.new("L", (8, 8), shade)) for shade in (200, 1, 2, 3, 4)], media)
    assert isinstance(own, FunctionEncoder)
    assert (len(own.computed), len(own.failures)) == (1, 4)


def test_other_weights_are_asked_again(patterns: ItemSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With one folder: equal vectors reuse the answers, which is said; changed ones are another subject."""
    weights = {"scale": np.eye(3)}
    calls: list[int] = []

    def projected(images: list[Image.Image]) -> Any:
        calls.append(len(images))
        return np.array(mean_colours(images)) @ weights["scale"]

    subject = snellen.encoder(projected, "net")

    def texts() -> list[str]:
        done = snellen.examine(subject, patterns.root, out=tmp_path / "run", show_progress=False)
        return [str(response.text) for response in done.responses]

    first = texts()
    assert "nothing was asked" not in capsys.readouterr().err
    count = len(calls)
    assert texts() == first
    assert len(calls) == count + 2, "two images tell that the vectors are the same"
    assert "holds these answers; another out= asks again" in capsys.readouterr().err
    weights["scale"] = np.diag([1.0, 0.0, -1.0])
    count = len(calls)
    texts()
    assert len(calls) > count + 2
    assert "nothing was asked" not in capsys.readouterr().err


def test_equal_vectors_of_unlike_images_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    as_it_is_now(encoder_of(lambda images: np.zeros((len(images), 4))))
    assert "encoder mine gives two unlike images the same vector" in capsys.readouterr().err


def test_texts_of_another_space_are_named(tmp_path: Path) -> None:
    subject = encoder_of(mean_colours, text=lambda texts: np.ones((len(texts), 5)))
    view = View(
        item_id="i", stimulus_id="i", task="t", question="?", query=(three(tmp_path)[1][0],),
        reply=ReplySpec("choice", (("A", "a"), ("B", "b"))), options=(Option("a", "one"), Option("b", "two")),
    )  # fmt: skip
    with pytest.raises(
        SnellenError, match="mine: texts have vectors of 5 numbers, images of 3; they must be of one space"
    ):
        asyncio.run(subject.answer(Prompt((), (view,)), MediaFolder(tmp_path), np.random.default_rng(0)))


def test_vectors_have_one_width(tmp_path: Path) -> None:
    media, images = three(tmp_path)
    widths = iter((3, 4, 4))
    subject = encoder_of(lambda given: np.ones((len(given), next(widths))), batch_size=1)
    encode(subject.encoder, images[:1], media)
    with pytest.raises(SnellenError, match="mine: returned vectors of 4 numbers, before of 3"):
        encode(subject.encoder, images[1:], media)


def test_a_coroutine_function_is_no_encoder(tmp_path: Path) -> None:
    async def embed(images: list[Image.Image]) -> Any:
        return mean_colours(images)

    media, images = three(tmp_path)
    with pytest.raises(SnellenError, match="must be a plain function, not a coroutine function"):
        encode(encoder_of(embed).encoder, images, media)
