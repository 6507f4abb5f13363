"""The card of an encoder trained here as a classifier: `classifier.json` in the folder of its weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from snellen.core.storage.schemas import Card, read_card_file

CARD = "classifier.json"


class ClassifierCard(Card):
    """The encoder's initial model, training data, settings and cost.

    `start` is a digest of the initial weights. `source` describes how the images were made. `leak` is True if test
    content was in the training data. `accuracy` is the share of training images classified correctly just before they
    were learned from, `last_accuracy` that of the last tenth; chance is 1 / `classes`. `seconds` is the duration of the
    training steps on `device`, `device_hours` the same in hours of one device.
    """

    file = CARD

    model: str
    start: str
    supervision: str
    leak: bool
    source: dict[str, Any]
    classes: int
    images: int
    settings: dict[str, Any]
    fingerprint: str
    steps: int
    accuracy: float | None
    last_accuracy: float | None
    first_loss: float | None
    last_loss: float | None
    seconds: float
    device: str
    device_hours: float
    versions: dict[str, str]


def read_classifier_card(folder: Path) -> ClassifierCard | None:
    """The card, or None if the folder has none. Raises SnellenError if it is invalid."""
    path = folder / CARD
    if not path.is_file():
        return None
    return read_card_file(ClassifierCard, path, "not the card of a classifier", "train the encoder again")
