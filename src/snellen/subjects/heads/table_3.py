"""Table 3 of AVA-Bench (arXiv 2506.09082, appendix B.1): stage `fit` at other learning rates and LoRA ranks.

The paper does not give alpha at other ranks; here it stays 256, as in the authors' code at rank 128.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from snellen.subjects.heads.stages import TrainingStage

SETTINGS: Mapping[str, tuple[float, int]] = {
    "rate 1e-5": (1e-5, 128),
    "rate 1e-4": (1e-4, 128),
    "rate 5e-4": (5e-4, 128),
    "rank 64": (1e-4, 64),
    "rank 128": (1e-4, 128),
    "rank 256": (1e-4, 256),
}
"""Learning rate and rank of each column. Two columns are the same training, that of stage 3."""
UNSTABLE = None
"""Entries printed as `unstable`."""
PRINTED: Mapping[tuple[str, str], tuple[float | None, ...]] = {
    ("ocr", "dinov2-l"): (7.26, 9.97, 10.6, 10.85, 9.97, 10.98),
    ("ocr", "siglip-2"): (79.68, 81.18, 77.63, 81.51, 81.18, 81.25),
    ("ocr", "clip-l"): (54.23, 60.44, 60.9, 60.79, 60.44, 61.73),
    ("object", "dinov2-l"): (83.92, 86.31, UNSTABLE, 86.39, 86.31, 86.46),
    ("object", "siglip-2"): (87.04, 88.19, UNSTABLE, 88.42, 88.19, 88.36),
    ("object", "clip-l"): (83.08, 85.02, UNSTABLE, 84.79, 85.02, 84.18),
}
"""Scores by ability and tower, in the order of `SETTINGS`: ANLS and accuracy in percent. The table's Recognition is
object: at the chosen setting it equals Table 5's scores of object."""


def stages(stage: TrainingStage) -> dict[str, TrainingStage]:
    """The stage in each of the `SETTINGS`."""
    return {name: replace(stage, rate=rate, lora_rank=rank) for name, (rate, rank) in SETTINGS.items()}


def printed(setting: str, ability: str, tower: str) -> str:
    """The table's entry: a number, `unstable`, or empty if it has no such cell."""
    row = PRINTED.get((ability, tower))
    if row is None or setting not in SETTINGS:
        return ""
    number = row[list(SETTINGS).index(setting)]
    return "unstable" if number is UNSTABLE else f"{number:g}"
