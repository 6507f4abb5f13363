"""Groups conversations into batches, weights their tokens, and makes their tensors.

Imports torch: import it inside functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch.nn.utils.rnn import pad_sequence

from snellen.core.seeds import stream
from snellen.towers.heads.conversations import IGNORED, Conversation, StoredImage, Tokens
from snellen.towers.heads.stages import TrainingStage

ImageReader = Callable[[Sequence[StoredImage]], torch.Tensor]
"""Images -> pixels (n, 3, side, side) or patch tokens (n, tokens, width)."""


@dataclass(frozen=True)
class Batch:
    """Rows padded on one side. `weights` (rows,) is the weight of each learned token of a row in the loss.

    `is_last` if it is the last one of its step.
    """

    ids: torch.Tensor
    mask: torch.Tensor
    labels: torch.Tensor
    weights: torch.Tensor
    images: torch.Tensor | None
    is_last: bool


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
    groups = [conversations[start : start + stage.group] for start in range(0, len(conversations), stage.group)]
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
    is_last: bool = True,
) -> Batch:
    """The tensors of some conversations, padded on the right, or on the left for generation."""

    def padded(rows: Iterable[Sequence[int]], filler: int) -> torch.Tensor:
        tensors = [torch.tensor(row) for row in rows]
        side = "left" if left else "right"
        return pad_sequence(tensors, batch_first=True, padding_value=filler, padding_side=side).to(device)

    images = [image for row in conversations for image in row.images]
    return Batch(
        ids=padded((row.ids for row in conversations), padding),
        mask=padded(([1] * len(row.ids) for row in conversations), 0),
        labels=padded((row.labels for row in conversations), IGNORED),
        weights=torch.tensor(list(weights), dtype=torch.float32, device=device),
        images=read(images).to(device) if images else None,
        is_last=is_last,
    )
