"""The three stages of training a head: Table 4 of AVA-Bench (arXiv 2506.09082, appendix B.1) as data.

Values that the table leaves open are those of the public code (OSU-MLB/AVA-Bench, commit 081b360): four GPUs, LoRA with
alpha 256 and dropout 0.05 on all linear layers of the language model, gradients clipped at 1 (the trainer's default).
Table 4 gives batches per GPU and accumulation; here the *global* batch is fixed, and accumulation follows from memory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from snellen.towers.heads.conversations import Template

Scope: TypeAlias = Literal["connector", "language-model", "lora"]
"""Trained weights: the connector alone, with the whole language model, or with low-rank adapters on it."""
GPUS = 4
"""Number of GPUs in the published runs."""


@dataclass(frozen=True)
class TrainingStage:
    """Settings of a training stage.

    `group` conversations share one token mean, and the loss of a batch is the mean over its groups (the published
    trainer averages micro-batches, not tokens). `accumulation` is the published number of micro-batches per step and
    GPU. `warmup` is the share of steps with a rising rate, before a cosine falls to 0.
    """

    name: str
    scope: Scope
    template: Template
    group: int
    accumulation: int
    rate: float
    epochs: int
    warmup: float = 0.03
    weight_decay: float = 0.0
    clip: float = 1.0
    lora_rank: int = 128
    lora_alpha: int = 256
    lora_dropout: float = 0.05
    by_modality: bool = False
    seed: int = 0

    @property
    def batch(self) -> int:
        """Conversations per step over all devices: 256, 128 and 16."""
        return self.group * self.accumulation * GPUS

    def steps_per_epoch(self, conversations: int) -> int:
        """Steps of one epoch as the published trainer counts them: whole accumulations, at least one."""
        return max(1, math.ceil(conversations / (self.group * GPUS)) // self.accumulation)

    def steps(self, conversations: int) -> int:
        """Steps of all epochs."""
        return self.epochs * self.steps_per_epoch(conversations)

    def rate_at(self, step: int, steps: int) -> float:
        """The learning rate of step 0, 1, …: linear warm-up, then half a cosine."""
        rising = math.ceil(self.warmup * steps)
        if step < rising:
            return self.rate * step / rising
        return self.rate * (1 + math.cos(math.pi * (step - rising) / max(1, steps - rising))) / 2


STAGES: Mapping[str, TrainingStage] = {
    stage.name: stage
    for stage in (
        TrainingStage("pretrain", "connector", "caption", group=16, accumulation=4, rate=1e-3, epochs=1),
        TrainingStage(
            *("tune", "language-model", "conversation"), group=4, accumulation=8, rate=2e-5, epochs=1, by_modality=True
        ),
        TrainingStage("fit", "lora", "conversation", group=4, accumulation=1, rate=1e-4, epochs=10),
    )
}
"""Stages 1, 2 and 3."""
EPOCHS = {"localization": 20}
"""Epochs of stage 3 that differ from ten (Table 4)."""


# Table 3 (appendix B.1): stage `fit` at other learning rates and LoRA ranks. The paper does not give alpha at other
# ranks; here it stays 256, as in the authors' code at rank 128
TABLE_3: Mapping[str, tuple[float, int]] = {
    "rate 1e-5": (1e-5, 128),
    "rate 1e-4": (1e-4, 128),
    "rate 5e-4": (5e-4, 128),
    "rank 64": (1e-4, 64),
    "rank 128": (1e-4, 128),
    "rank 256": (1e-4, 256),
}
"""Learning rate and rank of each column. Two columns are the same training, that of stage 3."""
PRINTED: Mapping[tuple[str, str], tuple[float | None, ...]] = {
    ("ocr", "dinov2-l"): (7.26, 9.97, 10.6, 10.85, 9.97, 10.98),
    ("ocr", "siglip-2"): (79.68, 81.18, 77.63, 81.51, 81.18, 81.25),
    ("ocr", "clip-l"): (54.23, 60.44, 60.9, 60.79, 60.44, 61.73),
    ("object", "dinov2-l"): (83.92, 86.31, None, 86.39, 86.31, 86.46),
    ("object", "siglip-2"): (87.04, 88.19, None, 88.42, 88.19, 88.36),
    ("object", "clip-l"): (83.08, 85.02, None, 84.79, 85.02, 84.18),
}
"""Scores by ability and tower, in the order of `TABLE_3`: ANLS and accuracy in percent, None where `unstable` is
printed. The table's Recognition is object: at the chosen setting it equals Table 5's scores of object."""


def stages(stage: TrainingStage) -> dict[str, TrainingStage]:
    """The stage in each of the `TABLE_3`."""
    return {name: replace(stage, rate=rate, lora_rank=rank) for name, (rate, rank) in TABLE_3.items()}


def printed(setting: str, ability: str, tower: str) -> str:
    """The table's entry: a number, `unstable`, or empty if it has no such cell."""
    row = PRINTED.get((ability, tower))
    if row is None:
        return ""
    number = row[list(TABLE_3).index(setting)]
    return "unstable" if number is None else f"{number:g}"
