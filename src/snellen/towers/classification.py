"""Fine-tunes an encoder by image classification: from a transformers model to a folder for `encoder:hf/FOLDER`.

The paper (ComBo, appendix E) states only "a quick fine-tuning for one epoch"; design/heads.md gives our choices.
Imports torch: import it inside functions.
"""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from safetensors import SafetensorError

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.seeds import seed_of, stream
from snellen.core.storage.files import cannot_write, write_text
from snellen.core.storage.media import open_image
from snellen.subjects.checkpoints import device_name, load_weights, read_image_processor, to_device, weights_digest
from snellen.subjects.encoders.classifier_card import CARD, ClassifierCard, read_classifier_card
from snellen.subjects.loading import import_extra, quiet_transformers

HUB = {"resnet-50": "microsoft/resnet-50", "vit-b-16": "google/vit-base-patch16-224"}
"""The paper's two encoders, pre-trained on ImageNet-1k. Never loaded here: unverified."""
FULL: dict[str, dict[str, Any]] = {"resnet-50": {"model_type": "resnet"}, "vit-b-16": {"model_type": "vit"}}
"""Their configurations: transformers' defaults are ResNet-50 and ViT-B/16 at 224 pixels."""
TINY: dict[str, dict[str, Any]] = {
    "resnet-50": {
        "model_type": "resnet",
        "embedding_size": 16,
        "hidden_sizes": [16, 32, 64, 128],
        "depths": [1, 1, 1, 1],
        "layer_type": "basic",
    },
    "vit-b-16": {
        "model_type": "vit",
        "hidden_size": 64,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "image_size": 64,
        "patch_size": 8,
    },
}
"""Small models of the same families for trials: random weights, 64 pixels."""
TINY_SIDE, FULL_SIDE = 64, 224
IMAGENET = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
PACKAGES = ("torch", "transformers")
READERS = 8
"""Threads that open the images of a batch."""


@dataclass(frozen=True)
class ClassifierSettings:
    """Training settings: AdamW, a rate that rises over the first tenth of steps and falls by a cosine.

    All weights are trained. Images are not augmented, since each object is shown in several views. `epochs` 0 trains
    nothing.
    """

    epochs: int = 1
    batch: int = 64
    rate: float = 3e-4
    weight_decay: float = 0.05
    warmup: float = 0.1
    clip: float = 1.0
    seed: int = 0

    def steps(self, count: int) -> int:
        """Steps of all epochs over so many images."""
        return self.epochs * math.ceil(count / self.batch)


@dataclass(frozen=True)
class LabelledImage:
    """An image file and its class, from 0."""

    path: Path
    label: int


@dataclass(frozen=True)
class Classes:
    """Training data: images with their classes, and facts for the card.

    Image files with different content must have different names, since names are part of the fingerprint.
    """

    images: Sequence[LabelledImage]
    supervision: str
    source: dict[str, Any]
    leak: bool = False

    @property
    def count(self) -> int:
        """Number of classes."""
        return 1 + max(image.label for image in self.images)


@dataclass(frozen=True)
class TrainingStart:
    """A model before training, its image processor, and a digest of its weights."""

    model: Any
    processor: Any
    digest: str


def load_start(name: str, classes: int, seed: int) -> TrainingStart:
    """A model with a new classification layer.

    `tiny/NAME` and `random/NAME` have random weights from the seed; `resnet-50`, `vit-b-16`, a folder or a hub id have
    their own. Raises SnellenError if there is no such model.
    """
    prefix, _, plain = name.rpartition("/")
    transformers = import_extra("transformers", f"model {name}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_of("classifier", seed))
        if prefix in ("tiny", "random") and plain in FULL:
            configuration = TINY[plain] if prefix == "tiny" else FULL[plain]
            config = transformers.AutoConfig.for_model(**configuration, num_labels=classes)
            side = TINY_SIDE if prefix == "tiny" else FULL_SIDE
            processor = transformers.ViTImageProcessorPil(size={"height": side, "width": side}, **IMAGENET)
            model = transformers.AutoModelForImageClassification.from_config(config, trust_remote_code=False)
            return TrainingStart(model, processor, f"random {seed}")
        path, who = HUB.get(name, name), f"model {name}"
        processor = read_image_processor(who, path)
        model, missing = load_weights(
            who, "AutoModelForImageClassification", path, "float32", num_labels=classes, ignore_mismatched_sizes=True
        )
        if unexpected := {key for key in missing if "classifier" not in key}:
            raise SnellenError(f"{who}: the checkpoint has no {min(unexpected)}; that part would start at random")
        return TrainingStart(model, processor, weights_digest(who, path))


def layer_setting(folder: Path) -> str:
    """The setting with which `encoder:hf/FOLDER` gives the classified features: for a ViT, its class token."""
    config = import_extra("transformers", str(folder)).AutoConfig.from_pretrained(folder, trust_remote_code=False)
    return "?layer=cls" if config.model_type == "vit" else ""


def train_classifier(
    name: str,
    classes: Classes,
    settings: ClassifierSettings,
    out: Path,
    *,
    device: str = "cpu",
    tick: Callable[[], None] = lambda: None,
) -> ClassifierCard:
    """Train the named model into `out`. An interrupted training leaves no `out` and restarts from the beginning.

    A finished encoder with the same settings is kept. Raises SnellenError if `out` is another one, if the loss is not
    finite, or if memory or disk is full.
    """
    start = load_start(name, classes.count, settings.seed)
    fingerprint = _fingerprint(name, start, classes, settings)
    if out.exists():
        card = read_classifier_card(out)
        if card is None or card.fingerprint != fingerprint:
            raise SnellenError(f"{out}: already exists with other content; use another --out")
        return card
    try:
        training = _train(start, classes, settings, device, tick)
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise SnellenError(f"{out}: out of memory on {device}; use a smaller --batch than {settings.batch}") from error
    card = ClassifierCard(
        model=name,
        start=start.digest,
        supervision=classes.supervision,
        leak=classes.leak,
        source=classes.source,
        classes=classes.count,
        images=len(classes.images),
        settings=asdict(settings),
        fingerprint=fingerprint,
        **training.summary(),
        device=device_name(device),
        versions={package: version(package) for package in PACKAGES},
    )
    _write(start, card, out)
    return card


def _fingerprint(name: str, start: TrainingStart, classes: Classes, settings: ClassifierSettings) -> str:
    labels = [[image.path.name, image.label] for image in classes.images]
    return digest([name, start.digest, asdict(settings), classes.source, classes.leak, labels], 16)


@dataclass(frozen=True)
class _Training:
    """Loss of each step, whether each image was classified correctly before it was learned from, and seconds."""

    losses: list[float]
    hits: list[bool]
    seconds: float

    def summary(self) -> dict[str, Any]:
        last = self.hits[-max(1, len(self.hits) // 10) :]
        return {
            "steps": len(self.losses),
            "accuracy": float(np.mean(self.hits)) if self.hits else None,
            "last_accuracy": float(np.mean(last)) if self.hits else None,
            "first_loss": self.losses[0] if self.losses else None,
            "last_loss": self.losses[-1] if self.losses else None,
            "seconds": round(self.seconds, 3),
            "device_hours": round(self.seconds / 3600, 6),
        }


def _train(
    start: TrainingStart, classes: Classes, settings: ClassifierSettings, device: str, tick: Callable[[], None]
) -> _Training:
    training, model = _Training([], [], 0.0), to_device("the model", start.model, device, "--device").train()
    steps = settings.steps(len(classes.images))
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.rate, weight_decay=settings.weight_decay)
    rates = [_rate_at(step, steps, settings) for step in range(steps)]
    begun = time.perf_counter()
    with ThreadPoolExecutor(READERS) as readers, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_of("classifier dropout", settings.seed))
        for step, batch in enumerate(_batches(classes.images, settings)):
            images = list(readers.map(_open, batch))
            pixels = start.processor(images=images, return_tensors="pt")["pixel_values"].to(device)
            labels = torch.tensor([image.label for image in batch], device=device)
            logits = model(pixel_values=pixels).logits
            loss = torch.nn.functional.cross_entropy(logits, labels)
            if not torch.isfinite(loss):
                raise SnellenError(f"the loss is not finite at step {step} of {steps}; use a lower --rate")
            optimizer.param_groups[0]["lr"] = rates[step]
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
            optimizer.step()
            training.losses.append(loss.item())
            training.hits.extend((logits.argmax(1) == labels).tolist())
            tick()
    model.eval().to("cpu")
    return _Training(training.losses, training.hits, time.perf_counter() - begun)


def _rate_at(step: int, steps: int, settings: ClassifierSettings) -> float:
    rising = math.ceil(settings.warmup * steps)
    if step < rising:
        return settings.rate * (step + 1) / rising
    return settings.rate * (1 + math.cos(math.pi * (step - rising) / max(1, steps - rising))) / 2


def _batches(images: Sequence[LabelledImage], settings: ClassifierSettings) -> Iterator[list[LabelledImage]]:
    """Each image once per epoch, in a newly drawn order."""
    for epoch in range(settings.epochs):
        order = stream("classifier", settings.seed, "order", epoch).permutation(len(images))
        for first in range(0, len(order), settings.batch):
            yield [images[int(k)] for k in order[first : first + settings.batch]]


def _open(image: LabelledImage) -> Image.Image:
    with open_image(image.path) as file:
        return file.convert("RGB")


def _write(start: TrainingStart, card: ClassifierCard, out: Path) -> None:
    """Write weights, configuration, processor and card to a folder that gets its name when it is complete."""
    half = out.with_name(f"{out.name}.half")
    try:
        shutil.rmtree(half, ignore_errors=True)
        half.mkdir(parents=True)
        with quiet_transformers(str(out)):
            start.model.save_pretrained(half)
        start.processor.save_pretrained(half)
        write_text(half / CARD, card.model_dump_json(indent=2) + "\n")
        half.rename(out)
    except (OSError, SafetensorError) as error:  # safetensors has its own error for a full disk
        raise cannot_write(out, error if isinstance(error, OSError) else OSError(None, str(error))) from error
