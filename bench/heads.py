"""What makes heads quick, as ratios of processor time in one run: kept tokens, the vocabulary at answers, batches.

    python bench/heads.py            a random ViT of DINOv2-small's shape before a random Qwen2 of 4 layers, width 256
    python bench/heads.py --quick    a narrower ViT, fewer rounds

All of it in one thread. Operations are counted on a device without memory (`costs`); the live step is predicted to
take (tower + rest) / rest times as long as the cached one.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from snellen.core.storage.media import MediaFolder
from snellen.towers.heads.answering import generate
from snellen.towers.heads.batches import Batch, collate, token_weights
from snellen.towers.heads.conversations import Conversation, ConversationTurn
from snellen.towers.heads.costs import conversation_flops, tower_flops
from snellen.towers.heads.features import TokenCache, TowerReader, opener
from snellen.towers.heads.files import Head, fresh_head
from snellen.towers.heads.stages import STAGES
from snellen.towers.heads.towers import find_tower
from snellen.towers.heads.training import AnswerLoss, prepare

LANGUAGE = "random-qwen2?layers=4&width=256"
WIDER_LANGUAGE = "random-qwen2?layers=4&width=512"
"""Of the first, a quarter of a step goes into what no operation counts: attention's memory, norms, small matrices."""
SMALL_TOWER = "tiny/dinov2-l"
BATCH, LENGTH = 16, 16
"""Conversations a step (stage 3), and tokens a reply."""
STAGE = replace(STAGES["fit"], lora_rank=16, lora_alpha=32, lora_dropout=0.0)
REPLY = "the red cube, I think"
QUESTION = "Which of the things on the table is nearest to the camera, and what is its colour? " * 3


def write_vit(folder: Path, width: int, layers: int) -> str:
    """A folder of transformers with a random ViT, patches of 14 pixels, images of 224."""
    from transformers import Dinov2Config, Dinov2Model
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    torch.manual_seed(0)
    config = Dinov2Config(
        hidden_size=width, num_hidden_layers=layers, num_attention_heads=width // 64, patch_size=14, image_size=224
    )
    Dinov2Model(config).save_pretrained(folder)
    processor = {
        "image_processor_type": "BitImageProcessor",
        "size": {"height": 224, "width": 224},
        "do_center_crop": False,
        "image_mean": [0.485, 0.456, 0.406],
        "image_std": [0.229, 0.224, 0.225],
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(processor))
    return f"hf/{folder}"


def conversations(media: MediaFolder, count: int) -> list[Conversation]:
    """Questions about images of noise, all different."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (count, 224, 224, 3), dtype=np.uint8)
    images = [media.add_image(Image.fromarray(image)) for image in pixels]
    return [
        Conversation(str(n), (ConversationTurn((image, QUESTION), "the red cube, I think"),))
        for n, image in enumerate(images)
    ]


def processor_seconds(work: Callable[[], Any], rounds: int) -> float:
    """The least of some rounds, after one that warms up."""
    work()
    seconds = []
    for _ in range(rounds):
        begun = time.process_time()
        work()
        seconds.append(time.process_time() - begun)
    return min(seconds)


def differentiate(loss: torch.Tensor) -> None:
    """Gradients of a loss."""
    loss.backward()  # type: ignore[no-untyped-call]


def step(head: Head, read: Callable[[Sequence[Any]], torch.Tensor], talks: Sequence[Conversation]) -> None:
    """Forward and backward of one global batch."""
    rows = [head.wording.tokens(talk) for talk in talks]
    batch = collate(rows, token_weights(STAGE, rows), head.wording.padding, read)
    differentiate(AnswerLoss(head.model)(batch))


def all_logits_loss(model: Any, batch: Batch) -> torch.Tensor:
    """The loss as transformers has it: the vocabulary scored at every place."""
    loss: torch.Tensor = model(
        input_ids=batch.ids, attention_mask=batch.mask, pixel_values=batch.images, labels=batch.labels
    ).loss
    return loss


def print_steps(
    head: Head,
    tower: str,
    language: str,
    reader: TowerReader,
    cache: TokenCache,
    talks: Sequence[Conversation],
    rounds: int,
) -> None:
    """A step whose images go through the tower, against one that reads kept tokens."""
    live = processor_seconds(lambda: step(head, reader.pixels, talks), rounds)
    cached = processor_seconds(lambda: step(head, cache.read, talks), rounds)
    words = len(head.wording.tokens(talks[0]).ids) - find_tower(tower).tokens
    rest = conversation_flops(find_tower(tower), language, STAGE, text=words - 8)[0]
    predicted = (tower_flops(find_tower(tower)) + rest) / rest
    ratio = live / cached / predicted
    print(
        f"| live step / cached step, over the {predicted:.2f} predicted, {language} | {ratio:.2f} | 0.80 |", flush=True
    )


def print_logits(head: Head, cache: TokenCache, talks: Sequence[Conversation], rounds: int) -> None:
    """Loss and gradients with the vocabulary scored at every place, against answers only."""
    rows = [head.wording.tokens(talk) for talk in talks]
    batch = collate(rows, token_weights(STAGE, rows), head.wording.padding, cache.read)
    answers = processor_seconds(lambda: differentiate(AnswerLoss(head.model)(batch)), rounds)
    every = processor_seconds(lambda: differentiate(all_logits_loss(head.model, batch)), rounds)
    print(f"| vocabulary at every place / at answers | {every / answers:.2f} | 2.00 |")


def print_generation(head: Head, label: str, media: MediaFolder, talks: Sequence[Conversation], rounds: int) -> None:
    """Replies to the same questions, one by one against all together."""
    head.model.eval()
    prompts = [(Conversation(talk.name, (replace(talk.turns[0], reply=None),)), media) for talk in talks]
    together = processor_seconds(lambda: generate(head, prompts, "cpu", LENGTH), rounds)
    apart = processor_seconds(lambda: [generate(head, [prompt], "cpu", LENGTH) for prompt in prompts], rounds)
    print(f"| replies one by one / {BATCH} at a time, {label} | {apart / together:.2f} | 2.00 |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    rounds = 1 if quick else 3
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SNELLEN_HOME"] = f"{folder}/home"
        name = write_vit(Path(folder) / "vit", 128 if quick else 384, 4 if quick else 12)
        media = MediaFolder(Path(folder) / "media")
        talks = conversations(media, BATCH)
        head = fresh_head(name, LANGUAGE, None, STAGE)
        prepare(head.model, STAGE)
        print("| what | ratio | wanted |\n|---|---|---|")

        reader = TowerReader(name, opener(media))
        cache = TokenCache(reader)
        cache.prepare([image for talk in talks for image in talk.images])
        print_steps(head, name, LANGUAGE, reader, cache, talks, rounds)
        wider = fresh_head(name, WIDER_LANGUAGE, None, STAGE)
        prepare(wider.model, STAGE)
        print_steps(wider, name, WIDER_LANGUAGE, reader, cache, talks, rounds)
        print_logits(head, cache, talks, rounds)
        print_generation(fresh_head(SMALL_TOWER, LANGUAGE, None, STAGE), "16 image tokens", media, talks, rounds)
        print_generation(head, "256, whose tower costs the same both ways", media, talks, rounds)


if __name__ == "__main__":
    main()
