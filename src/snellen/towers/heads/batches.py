"""Groups conversations into batches, weights their tokens, and makes their tensors.

Imports torch: import it inside functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from snellen.core.seeds import stream
from snellen.towers.heads.conversations import IGNORED, Conversation, StoredImage, Tokens
from snellen.towers.heads.stages import TrainingStage

ImageReader = Callable[[Sequence[StoredImage]], torch.Tensor]
"""Images -> pixels (n, 3, side, side) or patch tokens (n, tokens, width)."""


@dataclass(frozen=True)
class Batch:
    """Rows padded on one side. `weights` (rows,) is the weight of each learned token of a row in the loss."""

    ids: torch.Tensor
    mask: torch.Tensor
    labels: torch.Tensor
    weights: torch.Tensor
    images: torch.Tensor | None


def order(stage: TrainingStage, conversations: Sequence[Conversation], epoch: int) -> list[int]:
    """The order of one epoch: shuffled; with `by_modality`, shuffled batches of one modality and similar lengths."""
    rng = stream("head", "order", stage.seed, epoch)
    shuffled = [int(index) for index in rng.permutation(len(conversations))]
    if not stage.by_modality:
        return shuffled
    batches, rest = list[list[int]](), list[int]()
    for imaged in (True, False):
        indices = [index for index in shuffled if bool(conversations[index].images) == imaged]
        whole = len(indices) // stage.batch * stage.batch
        indices[:whole] = sorted(indices[:whole], key=lambda index: conversations[index].words)
        batches += [indices[start : start + stage.batch] for start in range(0, whole, stage.batch)]
        rest += indices[whole:]
    return [index for number in rng.permutation(len(batches)) for index in batches[int(number)]] + rest


def token_weights(stage: TrainingStage, conversations: Sequence[Tokens]) -> list[float]:
    """The weight of each learned token of a conversation, such that the weighted sum is the published loss.

    That is the mean over groups of `stage.group` of the mean over the tokens of a group: 1 / (groups x tokens of its
    group). Groups without learned tokens do not count.
    """
    starts = range(0, len(conversations), stage.group)
    groups = [conversations[start : start + stage.group] for start in starts]
    targets = [sum(tokens.targets for tokens in group) for group in groups]
    count = sum(target > 0 for target in targets)
    return [
        1 / (count * target) if target else 0.0 for group, target in zip(groups, targets, strict=True) for _ in group
    ]


def micro_batches(conversations: Sequence[Tokens], size: int) -> list[list[int]]:
    """Positions in the batch, `size` at a time, sorted by length; padding does not change the sums."""
    places = sorted(range(len(conversations)), key=lambda index: (-len(conversations[index].ids), index))
    return [places[start : start + size] for start in range(0, len(places), size)]


def collate(
    conversations: Sequence[Tokens],
    weights: Sequence[float],
    padding: int,
    read: ImageReader,
    device: str = "cpu",
    *,
    left: bool = False,
) -> Batch:
    """The tensors of some conversations, padded on the right, or on the left for generation."""
    length = max(len(row.ids) for row in conversations)
    ids = np.full((len(conversations), length), padding, dtype=np.int64)
    mask = np.zeros((len(conversations), length), dtype=np.int64)
    labels = np.full((len(conversations), length), IGNORED, dtype=np.int64)
    for place, row in enumerate(conversations):
        columns = slice(length - len(row.ids), length) if left else slice(0, len(row.ids))
        ids[place, columns], mask[place, columns], labels[place, columns] = row.ids, 1, row.labels
    images = [image for row in conversations for image in row.images]
    tensors = [torch.from_numpy(array).to(device) for array in (ids, mask, labels)]
    scale = torch.tensor(list(weights), dtype=torch.float32, device=device)
    return Batch(tensors[0], tensors[1], tensors[2], scale, read(images).to(device) if images else None)
