"""Trains a head from conversations into its folder, and converts training examples to conversations.

Imports torch: import it inside functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.subject import TrainingExample
from snellen.subjects.checkpoints import device_name
from snellen.subjects.loading import less_memory
from snellen.towers.heads.conversations import Conversation, ConversationTurn, images_only, learnable
from snellen.towers.heads.features import FeatureSource, ImageOpener, TowerReader, choose_source, part_mark
from snellen.towers.heads.files import HeadCard, fresh_head, is_head, read_head_card, write_head
from snellen.towers.heads.language_models import language_model_digest
from snellen.towers.heads.sharding import own_device, rank, trained_weights, wait
from snellen.towers.heads.tower_models import tower_fingerprint
from snellen.towers.heads.training import CHECKPOINT, HeadPlan, Training, train

LONG_DECIMALS = re.compile(r"\d+\.\d{3,}")
PACKAGES = ("torch", "transformers", "peft")


def conversation_of(example: TrainingExample) -> Conversation:
    """The prompt as sent, with the right reply. Boxes have two decimals, as in the authors' data (A.2).

    Raises SnellenError for questions asked in several calls, or shown in a montage or a video.
    """
    name = example.view.item_id
    if example.prompt is None:
        raise SnellenError(f"{name}: is asked in several calls; heads cannot be trained on such a task")
    target = example.target
    if example.view.reply.kind == "box":
        target = LONG_DECIMALS.sub(lambda number: f"{float(number[0]):.2f}", target)
    return Conversation(name, (ConversationTurn(images_only(name, example.prompt.parts), target),))


def plan_fingerprint(plan: HeadPlan, conversations: Sequence[Conversation]) -> str:
    """Sixteen hexadecimal digits that change with anything that may affect the result."""
    base = read_head_card(plan.base).weights if plan.base else ""
    weights = [tower_fingerprint(plan.tower), language_model_digest(plan.language_model), base]
    return digest([asdict(plan.stage), plan.task, weights, conversation_marks(conversations)], 16)


def conversation_marks(conversations: Sequence[Conversation]) -> list[list[list[str | None]]]:
    """The reply and the parts of each turn, by `part_mark`, for fingerprints."""
    return [[[turn.reply, *map(part_mark, turn.parts)] for turn in each.turns] for each in conversations]


def train_head(
    plan: HeadPlan,
    conversations: Sequence[Conversation],
    out: Path,
    open_image: ImageOpener,
    tick: Callable[[], None] = lambda: None,
) -> HeadCard:
    """Train a head into `out`, resuming from a checkpoint; a finished head is returned unchanged.

    Raises Diverged, and SnellenError if `out` has other settings, or memory or disk is full.
    """
    if not conversations:
        raise SnellenError(f"{out}: no conversations to train on")
    fingerprint = plan_fingerprint(plan, conversations)
    if is_head(out):
        card = read_head_card(out)
        if card.fingerprint != fingerprint:
            raise SnellenError(f"{out}: contains a head of other settings or examples; use another --out")
        return card
    if plan.base is not None and read_head_card(plan.base).stage["scope"] == "lora":
        raise SnellenError(f"{plan.base}: fitted to {read_head_card(plan.base).task}; use the stage before as --base")
    if plan.threads:
        torch.set_num_threads(plan.threads)
    dtype = torch.float32 if plan.device == "cpu" else torch.bfloat16
    head = fresh_head(plan.tower, plan.language_model, plan.base, plan.stage)
    conversations = learnable(head.wording, conversations)
    reader = TowerReader(plan.tower, open_image, own_device(plan.device), dtype, plan.micro_batch)
    with less_memory(f"a smaller --micro-batch than {plan.micro_batch}"):
        images = [image for each in conversations for image in each.images]
        choice = choose_source(reader, images, plan.stage.epochs, plan.source)
    training = Training(
        model=head.model.to(dtype),
        plan=plan,
        conversations=conversations,
        wording=head.wording,
        read=choice.cache.read if choice.cache else reader.pixels,
        folder=out,
        fingerprint=fingerprint,
        dtype=dtype,
        tick=tick,
    )
    facts, trained = run_training(training)
    if rank() == 0:
        write_head(out, _card(plan, choice, facts), trained)
        (out / CHECKPOINT).unlink(missing_ok=True)
    wait()
    return read_head_card(out)


def _card(plan: HeadPlan, choice: FeatureSource, facts: Mapping[str, Any]) -> HeadCard:
    return HeadCard(
        tower=plan.tower,
        tower_fingerprint=tower_fingerprint(plan.tower),
        language_model=plan.language_model,
        language_model_weights=language_model_digest(plan.language_model),
        task=plan.task,
        base=str(plan.base.resolve()) if plan.base else "",
        base_weights=read_head_card(plan.base).weights if plan.base else "",
        weights="",
        features=choice.source,
        live_seconds_per_image=choice.live_seconds,
        read_seconds_per_image=choice.read_seconds,
        **facts,
    )


def run_training(training: Training) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """Train to the end: the fields of a `TrainingCard` that this determines, and the whole trained weights by name."""
    progress, stage = train(training), training.plan.stage
    trained = trained_weights(training.model, training.device)
    samples = stage.epochs * len(training.conversations)
    facts = {
        "stage": asdict(stage),
        "fingerprint": training.fingerprint,
        "conversations": len(training.conversations),
        "steps": training.steps,
        "seconds": round(progress.seconds, 3),
        "samples_per_second": round(samples / progress.seconds, 3),
        "device": device_name(training.device),
        "device_hours": round(progress.seconds / 3600, 6),
        "first_loss": progress.losses[0],
        "last_loss": progress.losses[-1],
        "trained_parameters": sum(weight.numel() for weight in trained.values()),
        "versions": {name: version(name) for name in PACKAGES},
    }
    return facts, trained
