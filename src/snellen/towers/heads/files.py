"""The folder of a trained head: `head.json` describes it, `head.safetensors` holds the trained weights.

Imports torch: import it inside functions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from snellen.core.errors import SnellenError
from snellen.core.storage.files import write_text
from snellen.core.storage.schemas import Card, CardT, read_card_file
from snellen.subjects.checkpoints import for_inference
from snellen.towers.heads.composition import compose
from snellen.towers.heads.conversations import Wording
from snellen.towers.heads.language_models import load_language_model
from snellen.towers.heads.stages import TrainingStage
from snellen.towers.heads.tensor_files import read_tensors, write_tensors
from snellen.towers.heads.tower_models import tower_fingerprint
from snellen.towers.heads.towers import find_tower
from snellen.towers.heads.training import prepare

CARD, WEIGHTS = "head.json", "head.safetensors"


class TrainingCard(Card):
    """The training of a published LLaVA on conversations, and its cost.

    `base` is the folder or hub id of the model that was trained further. `fingerprint` covers everything that
    determines the weights. `seconds` is the duration of the training steps on `device`, `device_hours` the same in
    hours of one device.
    """

    file = "tuning.json"

    stage: dict[str, Any]
    base: str
    base_weights: str
    fingerprint: str
    conversations: int
    steps: int
    seconds: float
    samples_per_second: float
    device: str
    device_hours: float
    features: str
    first_loss: float
    last_loss: float
    trained_parameters: int
    versions: dict[str, str]


class HeadCard(TrainingCard):
    """The parts of a head, its training and the cost.

    `task` is the one it was fitted to, empty for earlier stages. `base` is the folder of the previous stage. `weights`
    is the SHA-256 of the trained weights.
    """

    file = CARD

    tower: str
    tower_fingerprint: str
    language_model: str
    language_model_weights: str
    task: str
    weights: str
    live_seconds_per_image: float
    read_seconds_per_image: float


def is_head(folder: Path) -> bool:
    """True if the folder contains a finished head."""
    return (folder / CARD).is_file()


def read_head_card(folder: Path) -> HeadCard:
    """The card. Raises SnellenError if it is missing or invalid."""
    if not is_head(folder):
        raise SnellenError(f"{folder}: no trained head (no {CARD}); train one with `snellen tower fit`")
    return read_training_card(HeadCard, folder)


def read_training_card(card_type: type[CardT], folder: Path) -> CardT:
    """The existing card of a training. Raises SnellenError if it is invalid."""
    return read_card_file(card_type, folder / card_type.file, "not the card of a training", "train it again")


def write_head(folder: Path, card: HeadCard, trained: Mapping[str, torch.Tensor]) -> None:
    """Write the weights, then the card with their digest, so that a folder with a card is complete."""
    write_tensors(folder / WEIGHTS, trained, {"fingerprint": card.fingerprint})
    complete = card.model_copy(update={"weights": _digest(folder / WEIGHTS)})
    write_text(folder / CARD, complete.model_dump_json(indent=2) + "\n")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class Head:
    """A model that answers questions about images, with its wording."""

    model: Any
    wording: Wording


def fresh_head(tower: str, language_model: str, base: Path | None, stage: TrainingStage) -> Head:
    """A head before a stage: new, or with the weights of the previous stage.

    Raises SnellenError if that has another tower or language model.
    """
    spec, language = find_tower(tower), load_language_model(language_model)
    wording = Wording(language.tokenizer, language.image_id, spec.tokens, stage.template)
    model = compose(spec, language, stage.seed)
    if base is not None:
        _apply(model, base, tower, language_model)
    return Head(model, wording)


def load_head(folder: Path, device: str = "cpu") -> Head:
    """A trained head, ready to answer. Raises SnellenError if a part is missing, damaged or changed."""
    card = read_head_card(folder)
    head = fresh_head(card.tower, card.language_model, folder, TrainingStage(**card.stage))
    for_inference(f"head:{folder}", head.model, device)
    return Head(head.model, replace(head.wording, template="conversation"))


def _apply(model: Any, folder: Path, tower: str, language_model: str, above: tuple[Path, ...] = ()) -> None:
    """Load the weights of a folder's stage into the model, after those of its earlier stages."""
    if folder.resolve() in above:
        raise SnellenError(f"{folder}: its earlier stages build on itself; train it again")
    card = read_head_card(folder)
    if (card.tower, card.language_model) != (tower, language_model):
        raise SnellenError(
            f"{folder}: trained with tower {card.tower} and {card.language_model}, not {tower} and {language_model}; "
            f"use another --base"
        )
    if tower_fingerprint(tower) != card.tower_fingerprint:
        raise SnellenError(f"{folder}: trained with other weights of tower {tower}; train it again")
    if card.base and card.stage["scope"] != "language-model":  # which replaces everything
        if read_head_card(Path(card.base)).weights != card.base_weights:
            raise SnellenError(f"{folder}: builds on {card.base}, which has been retrained since; train it again")
        _apply(model, Path(card.base), tower, language_model, (*above, folder.resolve()))
    if _digest(folder / WEIGHTS) != card.weights:
        raise SnellenError(f"{folder / WEIGHTS}: the file was changed; train it again")
    tensors, _ = read_tensors(folder / WEIGHTS)
    if set(prepare(model, TrainingStage(**card.stage))) != set(tensors):
        message = f"does not contain the weights that {card.stage['name']} trains; train it again"
        raise SnellenError(f"{folder / WEIGHTS}: {message}")
    model.load_state_dict(tensors, strict=False)
