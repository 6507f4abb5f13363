"""Encoders trained as classifiers: folders of safetensors that can be used as encoders."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.core.seeds import stream
from snellen.subjects.encoders import load_encoder
from snellen.subjects.encoders.classifier_card import CARD, read_classifier_card
from snellen.subjects.encoders.encoder import fingerprint
from tests.helpers.extras import lazy_module
from tests.subjects.encoders.scenes import BLUE, GREEN, RED, draw, subject

torch = lazy_module("torch")
module = lazy_module("snellen.towers.classification")


COLOURS = (RED, GREEN, BLUE)
NAMES = ("tiny/resnet-50", "tiny/vit-b-16")


def two_steps(**changes: Any) -> Any:
    """Settings for two steps with the toy classes."""
    return module.ClassifierSettings(**({"batch": 6, "rate": 1e-3} | changes))


def classes(folder: Path, count: int = 12, leak: bool = False) -> Any:
    """Discs and bars at random positions, whose colour is their class."""
    rng, images = stream("classes", count), []
    folder.mkdir(exist_ok=True)
    for n in range(count):
        center = int(rng.integers(40, 120)), int(rng.integers(35, 85))
        image = draw("disc" if rng.random() < 0.5 else "bar", COLOURS[n % 3], center, int(rng.integers(15, 30)))
        image.save(folder / f"{n}.png")
        images.append(module.LabelledImage(folder / f"{n}.png", n % 3))
    return module.Classes(images, "classification of 3 colours" + (" (leak)" if leak else ""), {"suite": "toy"}, leak)


@pytest.mark.parametrize("name", NAMES)
def test_two_steps_make_an_encoder(tmp_path: Path, name: str) -> None:
    ticks: list[int] = []
    card = module.train_classifier(
        name, classes(tmp_path / "images"), two_steps(), tmp_path / "out", tick=lambda: ticks.append(1)
    )
    assert (card.steps, len(ticks), card.images, card.classes) == (2, 2, 12, 3)
    assert card == read_classifier_card(tmp_path / "out")
    kinds = {path.suffix for path in (tmp_path / "out").iterdir()}
    assert kinds == {".json", ".safetensors"}
    setting = module.layer_setting(tmp_path / "out")
    assert setting == ("?layer=cls" if "vit" in name else "")
    encoder = load_encoder(f"hf/{tmp_path / 'out'}", {"layer": "cls"} if setting else {})
    rows = encoder.features([draw("disc", RED), draw("bar", BLUE)])
    assert rows.shape == (2, 64 if setting else 128)
    assert encoder.attributes["supervision"] == "classification of 3 colours"


@pytest.mark.parametrize("name", NAMES)
def test_features_are_the_input_of_the_classifier(tmp_path: Path, name: str) -> None:
    """The classifier's weights times the encoder's features equal the logits of transformers' own class."""
    out = tmp_path / "out"
    module.train_classifier(name, classes(tmp_path / "images"), two_steps(), out)
    encoder = load_encoder(f"hf/{out}", {"layer": "cls"} if module.layer_setting(out) else {})
    images = [draw("disc", RED), draw("square", GREEN)]
    start = module.load_start(str(out), 3, 0)
    model = start.model.eval()
    linear = model.classifier[-1] if "resnet" in name else model.classifier
    with torch.inference_mode():
        logits = model(**start.processor(images=images, return_tensors="pt")).logits
        ours = linear(torch.tensor(encoder.features(images)))
    assert torch.allclose(ours, logits, atol=1e-5)


def test_zero_epochs_keep_the_weights_and_one_changes_them(tmp_path: Path) -> None:
    toy = classes(tmp_path / "images")
    before = module.train_classifier("tiny/resnet-50", toy, two_steps(epochs=0), tmp_path / "before")
    module.train_classifier("tiny/resnet-50", toy, two_steps(), tmp_path / "after")
    start = module.load_start("tiny/resnet-50", 3, 0).model.state_dict()
    assert (before.steps, before.accuracy, before.first_loss) == (0, None, None)
    weights = {name: module.load_start(str(tmp_path / name), 3, 0).model.state_dict() for name in ("before", "after")}
    assert all(torch.equal(start[key], weights["before"][key]) for key in start)
    changed_keys = [key for key in start if not torch.equal(start[key], weights["after"][key])]
    assert {"classifier.1.weight", "resnet.embedder.embedder.convolution.weight"} <= set(changed_keys)
    assert "supervision" not in load_encoder(f"hf/{tmp_path / 'before'}").attributes


@pytest.mark.parametrize("name", NAMES)
def test_training_can_start_from_a_folder_with_a_new_classifier(tmp_path: Path, name: str) -> None:
    """Like weights from the hub with 1,000 classes: the encoder is kept and the classifier is new."""
    toy = classes(tmp_path / "images")
    module.train_classifier(name, toy, two_steps(), tmp_path / "first")
    two_classes = replace(toy, images=[image for image in toy.images if image.label < 2])
    no_epochs = two_steps(epochs=0)
    card = module.train_classifier(str(tmp_path / "first"), two_classes, no_epochs, tmp_path / "second")
    assert (card.classes, card.start != "random 0") == (2, True)
    first, second = (
        module.load_start(str(tmp_path / folder_name), count, 0) for folder_name, count in (("first", 3), ("second", 2))
    )
    weights = second.model.state_dict()
    for key, weight in first.model.state_dict().items():
        assert weights[key].shape[0] == 2 if "classifier" in key else torch.equal(weights[key], weight), key
    assert module.train_classifier(str(tmp_path / "first"), two_classes, two_steps(), tmp_path / "third").steps == 2


def test_the_same_training_gives_the_same_weights(tmp_path: Path) -> None:
    toy = classes(tmp_path / "images")
    first, second = (module.train_classifier("tiny/vit-b-16", toy, two_steps(), tmp_path / name) for name in "ab")
    assert first.fingerprint == second.fingerprint
    assert (tmp_path / "a/model.safetensors").read_bytes() == (tmp_path / "b/model.safetensors").read_bytes()
    other = module.train_classifier("tiny/vit-b-16", toy, two_steps(seed=1), tmp_path / "c")
    assert other.fingerprint != first.fingerprint
    assert (tmp_path / "a/model.safetensors").read_bytes() != (tmp_path / "c/model.safetensors").read_bytes()


@pytest.mark.parametrize("change", [{"leak": True}, {"source": {"suite": "another"}}, {"images": ()}])
def test_an_existing_encoder_is_kept_or_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    toy, out = classes(tmp_path / "images"), tmp_path / "out"
    card = module.train_classifier("tiny/resnet-50", toy, two_steps(), out)
    time = (out / "model.safetensors").stat().st_mtime_ns
    assert module.train_classifier("tiny/resnet-50", toy, two_steps(), out) == card
    assert (out / "model.safetensors").stat().st_mtime_ns == time
    if "images" in change:
        change = {"images": toy.images[:9]}
    with pytest.raises(SnellenError, match="already exists with other content"):
        module.train_classifier("tiny/resnet-50", replace(toy, **change), two_steps(), out)


class KillError(Exception):
    """Simulates a kill."""


def test_a_killed_training_leaves_no_encoder(tmp_path: Path) -> None:
    toy, out = classes(tmp_path / "images"), tmp_path / "out"

    def kill() -> None:
        raise KillError

    with pytest.raises(KillError):
        module.train_classifier("tiny/resnet-50", toy, two_steps(), out, tick=kill)
    assert not out.exists()
    half = tmp_path / "out.half"  # the remains of a kill during writing
    half.mkdir()
    (half / "model.safetensors").write_bytes(b"torn")
    module.train_classifier("tiny/resnet-50", toy, two_steps(), out)
    assert not half.exists()
    module.train_classifier("tiny/resnet-50", toy, two_steps(), tmp_path / "whole")
    assert (out / "model.safetensors").read_bytes() == (tmp_path / "whole/model.safetensors").read_bytes()
    assert read_classifier_card(out) is not None


def test_a_leak_is_recorded_in_the_card_of_the_subject(tmp_path: Path) -> None:
    module.train_classifier("tiny/resnet-50", classes(tmp_path / "images", leak=True), two_steps(), tmp_path / "out")
    card = subject(f"hf/{tmp_path / 'out'}").card
    assert card.attributes["supervision"] == "classification of 3 colours (leak)"


def test_another_training_has_another_fingerprint(tmp_path: Path) -> None:
    toy = classes(tmp_path / "images")
    for seed in (0, 1):
        module.train_classifier("tiny/resnet-50", toy, two_steps(seed=seed), tmp_path / str(seed))
    first, second = (load_encoder(f"hf/{tmp_path / name}") for name in "01")
    assert fingerprint(first) != fingerprint(second)


def test_it_learns_colours(tmp_path: Path) -> None:
    """Three colours, 36 images, eight epochs: chance is right in a third of the last tenth of 288 answers."""
    settings = module.ClassifierSettings(epochs=8, batch=12, rate=3e-3)
    card = module.train_classifier("tiny/vit-b-16", classes(tmp_path / "images", 36), settings, tmp_path / "out")
    assert card.last_accuracy is not None
    assert card.last_accuracy > 0.9


def test_rates_rise_and_fall() -> None:
    """The first two of 20 steps rise to the full rate: 1/2, 2/2; the others fall by half a cosine, starting at 1."""
    from snellen.towers.classification import _rate_at

    settings = module.ClassifierSettings(rate=1.0)
    rates = [_rate_at(step, 20, settings) for step in range(20)]
    assert rates[:3] == [0.5, 1.0, 1.0]
    assert rates[11] == pytest.approx(0.5)  # 9 of 18 falling steps: cos(pi / 2) = 0
    assert rates[-1] == pytest.approx((1 + math.cos(math.pi * 17 / 18)) / 2)
    assert settings.steps(129) == 3


@pytest.mark.parametrize(("name", "parameters"), [("resnet-50", 25_557_032), ("vit-b-16", 86_567_656)])
def test_full_models_have_the_size_of_those_of_the_paper(name: str, parameters: int) -> None:
    """Numbers of weights with 1,000 classes, as counted by torchvision for ResNet-50 and ViT-B/16 (IMAGENET1K_V1)."""
    transformers = pytest.importorskip("transformers")
    with torch.device("meta"):
        config = transformers.AutoConfig.for_model(**module.FULL[name], num_labels=1000)
        model = transformers.AutoModelForImageClassification.from_config(config)
    assert sum(weight.numel() for weight in model.parameters()) == parameters


def test_an_unknown_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SnellenError, match="no/such-model"):
        module.train_classifier("no/such-model", classes(tmp_path / "images"), two_steps(), tmp_path / "out")


def test_a_loss_that_is_not_finite_is_refused(tmp_path: Path) -> None:
    toy = classes(tmp_path / "images", 24)
    with pytest.raises(SnellenError, match="the loss is not finite"):
        module.train_classifier("tiny/vit-b-16", toy, two_steps(rate=1e30), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_damaged_card_is_named(tmp_path: Path) -> None:
    (tmp_path / CARD).write_text('{"schema_version": 2}')
    with pytest.raises(SnellenError, match="not the card of a classifier"):
        read_classifier_card(tmp_path)


def test_images_of_any_mode_are_accepted(tmp_path: Path) -> None:
    Image.fromarray(np.zeros((8, 8), np.uint8)).save(tmp_path / "grey.png")
    draw("disc", RED).save(tmp_path / "red.png")
    images = [module.LabelledImage(tmp_path / "grey.png", 0), module.LabelledImage(tmp_path / "red.png", 1)]
    card = module.train_classifier("tiny/resnet-50", module.Classes(images, "two", {}), two_steps(), tmp_path / "out")
    assert card.steps == 1


def test_accuracies_of_a_training_are_those_of_all_and_of_the_last_tenth() -> None:
    training: Any = import_module("snellen.towers.classification")._Training
    hits = [True] * 15 + [False] * 10
    summary = training([2.0, 1.5, 0.25], hits, 7.12345).summary()
    assert summary == {
        "steps": 3, "accuracy": 0.6, "last_accuracy": 0.0, "first_loss": 2.0, "last_loss": 0.25, "seconds": 7.123,
        "device_hours": 0.001979,
    }  # fmt: skip
    assert training([], [True, False, True], 0.0).summary()["last_accuracy"] == 1.0
    nothing = training([], [], 0.0).summary()
    names = ("accuracy", "last_accuracy", "first_loss", "last_loss")
    assert [nothing[name] for name in ("steps", *names)] == [0, *[None] * 4]
