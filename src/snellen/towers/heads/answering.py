"""Greedy generation by a head for several conversations at once, padded on the left.

Imports torch: import it inside functions.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from threading import RLock

import torch

from snellen.core.prompt import Reply
from snellen.core.storage.media import MediaFolder
from snellen.towers.heads.batches import collate
from snellen.towers.heads.conversations import Conversation, StoredImage
from snellen.towers.heads.features import opener
from snellen.towers.heads.files import Head, load_head, read_head_card
from snellen.towers.heads.tower_models import pixels_of

LOCK = RLock()
"""Held while a head is loaded or used: two threads in one model gain nothing."""


def shared_head(folder: Path, device: str) -> Head:
    """The head of a folder; only the last one is cached, since runs go task by task, each with its own head."""
    with LOCK:
        return _last_head(folder, device, read_head_card(folder).weights)


@functools.lru_cache(maxsize=1)
def _last_head(folder: Path, device: str, weights: str) -> Head:
    return load_head(folder, device)


def generate(head: Head, prompts: Sequence[tuple[Conversation, MediaFolder]], device: str, length: int) -> list[Reply]:
    """The greedy reply to each conversation, at most `length` tokens, with images from its media folder."""
    media_of = {image: media for conversation, media in prompts for image in conversation.images}
    rows = [head.wording.tokens(conversation) for conversation, _ in prompts]
    tower = head.model.config.vision_config.tower

    def read(images: Sequence[StoredImage]) -> torch.Tensor:
        return pixels_of(tower, [opener(media_of[image])(image) for image in images])

    batch = collate(rows, [1.0] * len(rows), head.wording.padding, read, device, left=True)
    with LOCK, torch.inference_mode():
        tokens = head.model.generate(
            input_ids=batch.ids,
            attention_mask=batch.mask,
            **({} if batch.images is None else {"pixel_values": batch.images}),
            do_sample=False,
            max_new_tokens=length,
        )[:, batch.ids.shape[1] :].tolist()
    return [_reply(head, row.ids, new) for row, new in zip(rows, tokens, strict=True)]


def _reply(head: Head, prompt: Sequence[int], new: Sequence[int]) -> Reply:
    """The new tokens up to the end token; what follows is padding."""
    tokenizer = head.wording.tokenizer
    ended = tokenizer.eos_token_id in new
    count = new.index(tokenizer.eos_token_id) if ended else len(new)
    text = tokenizer.decode(new[:count], skip_special_tokens=True).strip()
    return Reply(text, stop="end" if ended else "length", tokens_in=len(prompt), tokens_out=count + ended)
