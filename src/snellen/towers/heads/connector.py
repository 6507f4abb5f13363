"""Features of images before and after a trained head's connector.

Imports torch: import it inside functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn

from snellen.core.errors import SnellenError
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import TrainingExample
from snellen.subjects.encoders.encoder import Floats
from snellen.towers.heads.conversations import StoredImage
from snellen.towers.heads.features import SAMPLE, TowerReader, image_name, opener
from snellen.towers.heads.files import load_head, read_head_card

PLACES = ("before the connector", "behind the connector")


def pooled(connector: nn.Module, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Maxima over tokens (n, tokens, d) in each feature, before a connector (n, d) and after it (n, e)."""
    with torch.inference_mode():
        return tokens.amax(dim=1), connector(tokens).amax(dim=1)


def connector_features(
    folder: Path, images: Sequence[StoredImage], media: MediaFolder | None, device: str = "cpu"
) -> dict[str, Floats]:
    """Max-pooled features of images by place (`PLACES`), float32 (n, d), computed with the head in `folder`."""
    connector = load_head(folder, device).model.model.multi_modal_projector
    reader = TowerReader(read_head_card(folder).tower, opener(media), device)
    by_name = {image_name(image): image for image in images}
    names, rows = list(by_name), dict[str, tuple[torch.Tensor, torch.Tensor]]()
    for start in range(0, len(names), SAMPLE):
        some = names[start : start + SAMPLE]
        pairs = zip(*pooled(connector, reader.tokens([by_name[name] for name in some])), strict=True)
        rows |= zip(some, pairs, strict=True)
    return {
        place: torch.stack([rows[image_name(image)][n] for image in images]).float().cpu().numpy()
        for n, place in enumerate(PLACES)
    }


def class_of(example: TrainingExample) -> str:
    """The class of an example: its answer. Raises SnellenError if answers are not classes."""
    view = example.view
    if not view.reply.offered and view.reply.kind != "integer":
        raise SnellenError(f"{view.task}: the answer is a {view.reply.kind}; a linear probe needs classes or counts")
    if len(view.query) != 1 or view.query[0].kind != "image":
        raise SnellenError(f"{view.item_id}: shows {len(view.query)} images; a linear probe needs one")
    return str(example.answer)
