"""`snellen tower train-classifier`, `write-conversations`, `train-llava`: ComBo's specialized models (appendix E)."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from snellen.cli.options import Device, Workers, cores

if TYPE_CHECKING:
    from snellen.subjects.encoders.classifier_card import ClassifierCard

Count = Annotated[int, typer.Option(min=1, help="Objects to classify (paper: 9,504, including those that are tested).")]
Views = Annotated[int, typer.Option(min=1, help="Images per object, at most 20.")]
Captions = Annotated[int, typer.Option(min=0, help="Number of captions, one per image.")]
Questions = Annotated[int, typer.Option(min=0, help="Number of questions, half of each kind.")]
Leak = Annotated[bool, typer.Option("--leak", help="Also train on tested objects; the card records it.")]


def train_classifier(
    name: Annotated[str, typer.Option("--model", help="resnet-50, vit-b-16, a folder or hub ID; tiny/NAME for tests.")],
    items: Annotated[str, typer.Option(help="Generated ComBo item set that it will be tested on.")],
    out: Annotated[Path, typer.Option(help="Folder of the encoder, created when training has finished.")],
    objects: Count = 9504,
    views: Views = 20,
    epochs: Annotated[int, typer.Option(min=0, help="Epochs (paper: 1); 0 leaves the model unchanged.")] = 1,
    batch_size: Annotated[int, typer.Option("--batch", min=1, help="Images per step.")] = 64,
    rate: Annotated[float, typer.Option(min=0.0, help="Maximum learning rate.")] = 3e-4,
    seed: Annotated[int, typer.Option(help="Random seed for objects, views, order and weights.")] = 0,
    leak: Leak = False,
    workers: Workers = None,
    device: Device = "cpu",
) -> None:
    """Train an encoder to classify composite objects (ComBo, appendix E). The result is encoder:hf/OUT."""
    from snellen.compute import Progress
    from snellen.exam.items import find_items
    from snellen.towers.classification import ClassifierSettings, train_classifier
    from snellen.towers.combo_training.objects import auxiliary_classes

    classes = auxiliary_classes(find_items(items), objects, views, seed=seed, leak=leak, workers=cores(workers))
    settings = ClassifierSettings(epochs=epochs, batch=batch_size, rate=rate, seed=seed)
    with Progress("training", unit="steps") as progress:
        progress.expect(settings.steps(len(classes.images)))
        card = train_classifier(name, classes, settings, out, device=device, tick=progress.advance)
    _print_card(card, out, items)


def write_conversations(
    items: Annotated[str, typer.Option(help="ComBo item set whose objects are excluded.")],
    out: Annotated[Path, typer.Option(help="Folder for captions.json, questions.json and their images.")],
    captions: Captions = 33_656,
    questions: Questions = 40_000,
    seed: Annotated[int, typer.Option(help="Random seed for objects, views, questions and wordings.")] = 0,
    workers: Workers = None,
) -> None:
    """Write descriptions of ComBo objects and questions about them in LLaVA's format (ComBo, appendix E)."""
    from snellen.exam.items import find_items
    from snellen.towers.conversations import CAPTIONS, IMAGES, QUESTIONS
    from snellen.towers.conversations import write_conversations as write

    card = write(find_items(items), captions, questions, out, seed=seed, workers=cores(workers))
    shares = ", ".join(f"{count} on {task}" for task, count in card.questions.items())
    print(f"{card.captions} descriptions, questions: {shares or 'none'}")
    print(f"{card.images} images of {card.objects} objects, none of them tested by {items}")
    for name, stage in ((CAPTIONS, "pretrain"), (QUESTIONS, "tune")):
        print(f"Train: snellen tower {stage} --data {out / name} --images {out / IMAGES} --tower TOWER --out HEAD")


def train_llava(
    base: Annotated[str, typer.Option(help="Published LLaVA: folder or hub ID, as llava-hf/llava-1.5-13b-hf.")],
    items: Annotated[str, typer.Option(help="Generated ComBo item set that it will be tested on.")],
    out: Annotated[Path, typer.Option(help="Folder of the model. Repeating the command resumes there.")],
    captions: Captions = 33_656,
    questions: Questions = 40_000,
    rate: Annotated[float, typer.Option(min=0.0, help="Maximum learning rate (LLaVA's own for LoRA).")] = 2e-4,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs.")] = 1,
    seed: Annotated[int, typer.Option(help="Random seed of conversations and training.")] = 0,
    micro_batch: Annotated[int, typer.Option(min=1, help="Conversations per computation step.")] = 4,
    workers: Workers = None,
    device: Device = "cpu",
) -> None:
    """Train a published LLaVA by LoRA on untested objects (ComBo, appendix E). The result is chat:hf/OUT."""
    from dataclasses import replace

    from snellen.exam.items import find_items
    from snellen.towers.commands.head_training import train_stage
    from snellen.towers.conversations import CAPTIONS, IMAGES, QUESTIONS
    from snellen.towers.conversations import write_conversations as write
    from snellen.towers.heads.llava_tuning import llava_checkpoint
    from snellen.towers.heads.stages import STAGES
    from snellen.towers.heads.training import HeadPlan

    llava_checkpoint(base)  # before hours of rendering
    folder = out / "conversations"
    write(find_items(items), captions, questions, folder, seed=seed, workers=cores(workers))
    stage = replace(STAGES["tune"], scope="lora", rate=rate, epochs=epochs, seed=seed)
    plan = HeadPlan("", "", stage, Path(base), device=device, micro_batch=micro_batch)
    train_stage(plan, [folder / CAPTIONS, folder / QUESTIONS], folder / IMAGES, out)


def _print_card(card: "ClassifierCard", out: Path, items: str) -> None:
    from snellen.towers.classification import layer_setting

    print(f"{card.model}: {card.supervision}, {card.images} images")
    if card.leak:
        shared = card.source["shared"]
        print(f"LEAK: {shared['objects']} objects and {shared['images']} images of the set were trained on")
    if card.accuracy is not None:
        print(
            f"{card.steps} steps: accuracy {card.accuracy:.1%} on images before training on them, "
            f"{card.last_accuracy:.1%} on the last tenth (chance {1 / card.classes:.2%}); loss {card.first_loss:.3f} "
            f"to {card.last_loss:.3f}; {card.device_hours:.3g} hours on {card.device}"
        )
    print(f"Ask it: snellen run {items} --subject 'encoder:hf/{out}{layer_setting(out)}'")
