"""Trains a head in a plain loop, in which each step depends only on its number, so that it can be resumed anywhere.

The order of conversations and the dropout of a step are drawn from its number. A checkpoint is one safetensors file
with the trained weights, the optimizer's moments and the losses so far. No pickle is written or read.

Imports torch: import it inside functions.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import nn

from snellen.core.errors import SnellenError
from snellen.core.seeds import seed_of
from snellen.subjects.checkpoints import to_device
from snellen.subjects.loading import import_extra
from snellen.towers.heads import sharding
from snellen.towers.heads.batches import Batch, ImageReader, collate, micro_batches, order, token_weights
from snellen.towers.heads.conversations import IGNORED, Conversation, Wording
from snellen.towers.heads.features import Source, reduced
from snellen.towers.heads.stages import TrainingStage
from snellen.towers.heads.tensor_files import read_tensors, write_tensors

CHECKPOINT = "checkpoint.safetensors"
AHEAD = 2
"""Batches that are prepared and moved to a GPU while it computes another."""
MOMENTS = ("exp_avg", "exp_avg_sq")
"""AdamW's state per weight, beside its step."""


class Diverged(SnellenError):
    """The loss is no longer a finite number: these settings are unstable."""


@dataclass(frozen=True)
class HeadPlan:
    """A head to be trained: its tower, language model, stage, base (the head it builds on) and task.

    `tower` and `language_model` are empty if `base` is a published LLaVA, which has both (`llava_tuning`).
    `source` None measures whether live or cached features are faster. `micro_batch` (conversations that go through the
    model at a time), `device`, `source`, `interval` (steps per checkpoint) and `threads` (of torch, 0 for its own
    choice) affect only rounding. `compiled` compiles the language model's layers, which takes a minute and is worth it
    in long trainings on a GPU; it also changes the dropout that is drawn. `recompute` keeps no activations within
    layers and computes them twice; `offload` keeps weights, gradients and moments in main memory.
    """

    tower: str
    language_model: str
    stage: TrainingStage
    base: Path | None = None
    task: str = ""
    device: str = "cpu"
    micro_batch: int = 16
    source: Source | None = None
    interval: int = 100
    threads: int = 0
    compiled: bool = False
    recompute: bool = False
    offload: bool = False


@dataclass(frozen=True)
class Training:
    """A training job. `fingerprint` covers everything that affects the result; `folder` holds checkpoints.

    `dtype` is that of activations. `tick` is called after each step.
    """

    model: Any
    plan: HeadPlan
    conversations: Sequence[Conversation]
    wording: Wording
    read: ImageReader
    folder: Path
    fingerprint: str
    dtype: torch.dtype = torch.float32
    tick: Callable[[], None] = lambda: None

    @property
    def device(self) -> str:
        """The device of this process."""
        return sharding.own_device(self.plan.device)

    @property
    def steps(self) -> int:
        """Total number of steps."""
        return self.plan.stage.steps(len(self.conversations))


@dataclass
class TrainingProgress:
    """Progress of a training: losses of the completed steps, and their duration in seconds."""

    losses: list[float] = field(default_factory=list)
    seconds: float = 0.0


def prepare(model: Any, stage: TrainingStage) -> dict[str, nn.Parameter]:
    """Make the model trainable in the stage's scope; returns the trained weights by name, in float32.

    LoRA is applied to all linear layers of the language model.
    """
    model.requires_grad_(False)
    language, parts = model.model.language_model, [model.model.multi_modal_projector]
    if stage.scope == "language-model":
        parts += [language, model.lm_head]
    elif stage.scope == "lora":
        peft = import_extra("peft", "training a head", "heads")
        config = peft.LoraConfig(
            r=stage.lora_rank, lora_alpha=stage.lora_alpha, lora_dropout=stage.lora_dropout, target_modules="all-linear"
        )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed_of("lora", stage.seed))
            peft.inject_adapter_in_model(config, language)
        parts += [part for name, part in language.named_modules() if name.endswith(("lora_A", "lora_B"))]
    for part in parts:
        part.float().requires_grad_(True)
    return sharding.trainable(model)


class AnswerLoss(nn.Module):
    """A model as a module whose result is the weighted sum of the losses of learned tokens."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, tensors: Batch) -> torch.Tensor:
        """The loss of a batch; logits are computed only for learned tokens."""
        states = self.model.model(
            input_ids=tensors.ids, attention_mask=tensors.mask, pixel_values=tensors.images, use_cache=False
        ).last_hidden_state[:, :-1]
        targets = tensors.labels[:, 1:]
        learned = targets != IGNORED
        weights = tensors.weights[:, None].expand(targets.shape)[learned]
        logits = self.model.lm_head(states[learned]).float()
        return (nn.functional.cross_entropy(logits, targets[learned], reduction="none") * weights).sum()


def train(training: Training) -> TrainingProgress:
    """Train to the end, resuming from the last checkpoint if there is one.

    Raises Diverged if the loss is not finite, SnellenError if memory or disk is full; the last checkpoint stays.
    """
    trained = prepare(training.model, training.plan.stage)
    loss_module = AnswerLoss(training.model)
    if training.plan.offload or sharding.processes() > 1:
        sharding.join(training.device)
        sharding.shard(loss_module, training.model, training.device, training.dtype, offload=training.plan.offload)
        trained = sharding.trainable(training.model)
    if not training.plan.offload:
        to_device(str(training.folder), training.model, training.device, "--device")
    training.model.train()
    _suit_device(training)
    optimizer = torch.optim.AdamW(
        trained.values(),
        lr=training.plan.stage.rate,
        weight_decay=training.plan.stage.weight_decay,
        fused=training.plan.offload or None,  # one pass over weights in main memory, not ten
    )
    progress = restore(training, trained, optimizer)
    with ahead_of(_batches(training, len(progress.losses)), 0 if training.device == "cpu" else AHEAD) as batches:
        for step in range(len(progress.losses), training.steps):
            begun = time.perf_counter()
            try:
                loss = _step(training, loss_module, trained, optimizer, step, batches)
            except (torch.OutOfMemoryError, MemoryError) as error:  # perhaps in an update: nothing is saved
                size = training.plan.micro_batch
                raise SnellenError(
                    f"{training.folder}: out of memory on {training.device} at step {step} of {training.steps} with "
                    f"{size} conversations at a time; the same command with --micro-batch {max(1, size // 2)} "
                    f"continues from the last checkpoint, with the same result"
                ) from error
            progress.losses.append(loss)
            progress.seconds += time.perf_counter() - begun
            training.tick()
            if len(progress.losses) % training.plan.interval == 0 and len(progress.losses) < training.steps:
                keep(training, trained, optimizer, progress)
    training.model.eval()
    return progress


def _suit_device(training: Training) -> None:
    """Settings that affect only speed: adapters do not cast activations, since autocast does; layers are compiled."""
    if training.dtype != torch.float32:
        for part in training.model.modules():
            if hasattr(part, "lora_A"):
                part.cast_input_dtype_enabled = False
    if training.plan.recompute:
        training.model.model.language_model.gradient_checkpointing_enable({"use_reentrant": False})
    if training.plan.compiled:
        for layer in training.model.model.language_model.layers:
            layer.compile(dynamic=True)


def _batches(training: Training, first: int) -> Iterator[Callable[[], Batch]]:
    """Functions that make the batches of step `first` and all later ones, in order."""
    padding = training.wording.padding
    for indices in indices_by_step(training.plan.stage, training.conversations, first):
        rows = [training.wording.tokens(training.conversations[index]) for index in indices]
        weights, places = token_weights(training.plan.stage, rows), micro_batches(rows, training.plan.micro_batch)
        chunks = [([rows[place] for place in some], [weights[place] for place in some]) for some in places]
        chunks = sharding.share(chunks, (chunks[0][0], [0.0] * len(chunks[0][0])))
        for number, chunk in enumerate(chunks, 1):
            yield partial(collate, *chunk, padding, training.read, training.device, is_last=number == len(chunks))


@contextmanager
def ahead_of(makers: Iterator[Callable[[], Batch]], count: int) -> Iterator[Iterator[Batch]]:
    """Batches of the makers in order; up to `count` of the next are made in a thread meanwhile."""
    if not count:
        yield (make() for make in makers)
        return
    with ThreadPoolExecutor(1) as pool:
        waiting = deque(pool.submit(make) for make in islice(makers, count))

        def results() -> Iterator[Batch]:
            while waiting:
                future = waiting.popleft()
                waiting.extend(pool.submit(make) for make in islice(makers, 1))
                yield future.result()

        try:
            yield results()
        finally:
            for future in waiting:
                future.cancel()


def indices_by_step(stage: TrainingStage, conversations: Sequence[Conversation], first: int) -> Iterator[list[int]]:
    """The indices of the conversations of step `first` and all later ones."""
    count = stage.steps_per_epoch(len(conversations))
    for epoch in range(first // count, stage.epochs):
        indices = order(stage, conversations, epoch)
        for number in range(max(0, first - epoch * count), count):
            yield indices[number * stage.batch : (number + 1) * stage.batch]


def _step(
    training: Training,
    loss_module: Any,
    trained: Mapping[str, nn.Parameter],
    optimizer: torch.optim.Optimizer,
    step: int,
    batches: Iterator[Batch],
) -> float:
    stage, losses = training.plan.stage, list[torch.Tensor]()
    for group in optimizer.param_groups:
        group["lr"] = stage.rate_at(step, training.steps)
    optimizer.zero_grad()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_of("dropout", stage.seed, step, *filter(None, [sharding.rank()])))
        for batch in batches:
            if training.plan.offload:
                # One transfer of gradients per step, not one per batch; until then the device holds all, in float32.
                loss_module.set_requires_gradient_sync(batch.is_last)
            with reduced(training.device, training.dtype):
                loss = loss_module(batch)
            (loss * sharding.processes()).backward()  # gradients are averaged over processes
            losses.append(loss.detach())
            if batch.is_last:
                break
    total = sharding.added(torch.stack(losses).double().sum()).item()  # the only wait for a GPU per step
    norm = sharding.whole(nn.utils.clip_grad_norm_(trained.values(), stage.clip))
    if not math.isfinite(total) or not torch.isfinite(norm):
        raise Diverged(
            f"{training.folder}: the loss is not finite at step {step} of {training.steps} (rate {stage.rate:g}): "
            f"unstable; use a lower --rate, or a new folder"
        )
    optimizer.step()
    return total


def keep(
    training: Training,
    trained: Mapping[str, nn.Parameter],
    optimizer: torch.optim.Optimizer,
    progress: TrainingProgress,
) -> None:
    """Write the checkpoint atomically. Raises SnellenError if the disk is full; the previous one stays."""
    tensors = {"losses": torch.tensor(progress.losses, dtype=torch.float64)}
    for name, weight in trained.items():
        for key, tensor in {"weight": weight, **optimizer.state.get(weight, {})}.items():
            tensors[f"{key}/{name}"] = sharding.whole(tensor, training.device)
    facts = {"fingerprint": training.fingerprint, "seconds": progress.seconds}
    if sharding.rank() == 0:
        write_tensors(training.folder / CHECKPOINT, tensors, facts)
    sharding.wait()


def restore(
    training: Training, trained: Mapping[str, nn.Parameter], optimizer: torch.optim.Optimizer
) -> TrainingProgress:
    """Load the checkpoint into model and optimizer and return its progress; zero progress if there is none.

    Raises SnellenError for a damaged checkpoint, or one of other settings.
    """
    path = training.folder / CHECKPOINT
    if not path.is_file():
        return TrainingProgress()
    tensors, facts = read_tensors(path)
    if facts["fingerprint"] != training.fingerprint:
        raise SnellenError(f"{path}: started with other settings or examples; use another --out, or remove the folder")
    with torch.no_grad():
        for name, weight in trained.items():
            weight.copy_(sharding.part_of(tensors[f"weight/{name}"], weight))
            if f"step/{name}" in tensors:
                moments = {key: sharding.part_of(tensors[f"{key}/{name}"], weight) for key in MOMENTS}
                optimizer.state[weight] = {"step": tensors[f"step/{name}"], **moments}
    return TrainingProgress([float(loss) for loss in tensors["losses"]], float(facts["seconds"]))
