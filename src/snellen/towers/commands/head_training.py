"""Training a head from the command line: its options, its plan, its cost and what came of it."""

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from snellen.cli.options import DEVICES
from snellen.core.options import option

if TYPE_CHECKING:
    from snellen.towers.heads.files import TrainingCard
    from snellen.towers.heads.training import HeadPlan

STAGE_1 = ("language_model", "rate", "epochs", "micro_batch", "device", "compiled", "compat")
"""Options of a head without a previous stage, of which only the connector is trained."""


@dataclass(frozen=True, kw_only=True)
class HeadOptions:
    """How a head is trained; `rate`, `epochs` and `scope` are by default those of the stage."""

    base: Path | None = option(
        None,
        "Folder of the previous stage; tune: or a published LLaVA, folder or hub ID; sweep: folder with that of each "
        "tower in a folder named after the tower.",
    )
    language_model: str = option("Qwen/Qwen2-0.5B", "Language model: folder, hub ID, or random-qwen2 for tests.")
    scope: str = option(
        "",
        "Part to train: lora, or language-model (all weights; for random-qwen2). Default: language-model for tune, "
        "otherwise lora.",
    )
    rate: float | None = option(None, "Learning rate. Default: the published one.")
    epochs: int | None = option(None, "Epochs. Default: as published.", least=1)
    micro_batch: int = option(16, "Conversations per computation step; affects only rounding.", least=1)
    device: str = option("cpu", DEVICES)
    compiled: bool = option(False, "Compile for a GPU: a slower start, then faster steps.", "compile")
    recompute: bool = option(False, "Recompute activations in the backward pass instead of storing them.")
    offload: bool = option(False, "Keep weights and optimizer in main memory: for large models, much slower.")
    compat: bool = option(False, "Follow the authors' scripts, not the paper.", "paper-compat")


def head_plan(stage_name: str, tower: str, options: HeadOptions) -> "HeadPlan":
    """The plan of a stage. Raises SnellenError for an unknown scope."""
    from snellen.core.condition import near
    from snellen.core.errors import SnellenError
    from snellen.towers.heads.sharding import rank
    from snellen.towers.heads.stages import STAGES
    from snellen.towers.heads.stages import Scope as ScopeName
    from snellen.towers.heads.training import HeadPlan

    if rank():  # of several processes the first prints
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115
    stage = STAGES[stage_name]
    if options.scope and options.scope not in get_args(ScopeName):
        raise SnellenError(f"--scope {options.scope!r}; {near(options.scope, get_args(ScopeName))}")
    scope = cast(ScopeName, options.scope or stage.scope)
    return HeadPlan(
        full_name(tower, options.compat),
        options.language_model,
        replace(stage, scope=scope, rate=options.rate or stage.rate, epochs=options.epochs or stage.epochs),
        options.base,
        device=options.device,
        micro_batch=options.micro_batch,
        compiled=options.compiled,
        recompute=options.recompute,
        offload=options.offload,
    )


def full_name(tower: str, compat: bool) -> str:
    """The tower as the authors' scripts load it, if `compat` is set and they differ from the paper."""
    from snellen.towers.heads.towers import PAPER_COMPAT

    return f"{tower}-compat" if compat and tower in PAPER_COMPAT else tower


def print_memory(plan: "HeadPlan") -> None:
    """Print how much memory a training takes."""
    from snellen.towers.heads.costs import training_memory

    memory = training_memory(plan)
    main = f", and {memory.main / 1e9:.3g} GB of main memory" if memory.main else ""
    print(f"about {memory.device / 1e9:.3g} GB on {plan.device}{main}, with {plan.micro_batch} conversations at a time")


def train_stage(plan: "HeadPlan", paths: list[Path], images: Path, out: Path, skip_missing: bool = False) -> None:
    """Train a head, or a published LLaVA, on files in LLaVA's layout, and print the result."""
    from snellen.compute import Progress
    from snellen.towers.heads.features import opener
    from snellen.towers.heads.fitting import train_head
    from snellen.towers.heads.llava_files import read_llava
    from snellen.towers.heads.llava_tuning import tune_llava

    files = [read_llava(path, images, skip_missing=skip_missing) for path in paths]
    if missing := sum(file.missing for file in files):
        print(f"skipped, since their images are missing: {missing}")
    conversations = [conversation for file in files for conversation in file.conversations]
    with Progress("training", unit="steps") as progress:
        progress.expect(plan.stage.steps(len(conversations)))
        card = (train_head if plan.tower else tune_llava)(plan, conversations, out, opener(None), progress.advance)
    print_card(card, out)
    if not plan.tower:
        subjects = (f"--subject 'chat:hf/{model}?pad=square'" for model in (plan.base, out))
        print(f"Ask both: snellen run ITEMS {' '.join(subjects)}")


def print_card(card: "TrainingCard", out: Path) -> None:
    """Print what a training reached and took."""
    print(
        f"{card.steps} steps on {card.conversations} conversations: "
        f"loss {card.first_loss:.3f} to {card.last_loss:.3f}; "
        f"{card.samples_per_second:.3g} samples/s, {card.device_hours:.3g} hours on {card.device}, "
        f"features {card.features}"
    )
    print(out / card.file)
