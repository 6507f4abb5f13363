"""A head with a few thousand weights, and images whose colour is the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from PIL import Image

from snellen.towers.heads.conversations import Conversation, ConversationTurn, StoredImage, Wording
from snellen.towers.heads.stages import STAGES, TrainingStage
from snellen.towers.heads.towers import find_tower
from tests.helpers.extras import lazy_module, need

need("torch", "models")
composition = lazy_module("snellen.towers.heads.composition")
language_models = lazy_module("snellen.towers.heads.language_models")
tower_models = lazy_module("snellen.towers.heads.tower_models")
training = lazy_module("snellen.towers.heads.training")

SMALL = "random-qwen2?layers=2&width=32"
COLOURS = {"red": (220, 30, 30), "blue": (30, 40, 220)}
FIT = replace(STAGES["fit"], epochs=2, lora_rank=4, lora_alpha=8)


def conversations(count: int) -> list[Conversation]:
    """Questions about the colour of an image, alternately red and blue, with answers of different lengths."""
    names = list(COLOURS)
    return [
        Conversation(
            f"conversation {n}",
            (ConversationTurn((Path(f"{names[n % 2]}.png"), "Which colour?"), names[n % 2] + " indeed" * (n % 3)),),
        )
        for n in range(count)
    ]


def pixels(tower: str, images: Sequence[StoredImage]) -> Any:
    """The pixels of the images of `conversations`."""
    return tower_models.pixels_of(tower, [Image.new("RGB", (32, 32), COLOURS[Path(str(p)).stem]) for p in images])


def toy(folder: Path, stage: TrainingStage = FIT, tower: str = "tiny/siglip-1", count: int = 24, **changes: Any) -> Any:
    """A reproducible training of a new head."""
    spec, language = find_tower(tower), language_models.load_language_model(SMALL)
    plan = training.HeadPlan(tower, SMALL, stage)
    settings = {field.name: changes.pop(field.name) for field in fields(plan) if field.name in changes}
    usual: dict[str, Any] = {
        "model": composition.compose(spec, language), "plan": replace(plan, **settings),
        "conversations": conversations(count),
        "wording": Wording(language.tokenizer, language.image_id, spec.tokens, stage.template),
        "read": lambda images: pixels(tower, images), "folder": folder, "fingerprint": "toy",
    }  # fmt: skip
    return training.Training(**(usual | changes))


class Stopped(Exception):
    """Simulates a kill without any cleanup."""


def stopping(step: int) -> Callable[[], None]:
    """A tick that raises at a step."""
    count = 0

    def tick() -> None:
        nonlocal count
        count += 1
        if count == step:
            raise Stopped

    return tick
