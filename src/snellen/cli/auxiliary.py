"""`snellen tower auxiliary` and `conversations`: what ComBo's specialized models learn."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from snellen.cli.options import Workers, cores

if TYPE_CHECKING:
    from snellen.subjects.encoders.classifier_card import ClassifierCard

Count = Annotated[int, typer.Option(min=1, help="Objects to tell apart (paper: 9,504, those that are tested too).")]
Views = Annotated[int, typer.Option(min=1, help="Images an object, at most 20.")]
Leak = Annotated[bool, typer.Option("--leak", help="Learn from what is tested too; the card says so.")]


def auxiliary(
    name: Annotated[str, typer.Option("--model", help="resnet-50, vit-b-16, a folder or hub id; tiny/NAME.")],
    items: Annotated[str, typer.Option(help="The generated ComBo set that it will be tested on.")],
    out: Annotated[Path, typer.Option(help="Folder of the encoder; it is there once it is whole.")],
    objects: Count = 9504,
    views: Views = 20,
    epochs: Annotated[int, typer.Option(min=0, help="Passes (paper: one); 0 keeps the model as it was.")] = 1,
    batch_size: Annotated[int, typer.Option("--batch", min=1, help="Images a step.")] = 64,
    rate: Annotated[float, typer.Option(min=0.0, help="The highest learning rate.")] = 3e-4,
    seed: Annotated[int, typer.Option(help="Of objects, views, order and random weights; 0 is a seed.")] = 0,
    leak: Leak = False,
    workers: Workers = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1 …")] = "cpu",
) -> None:
    """An encoder learns to tell composite objects apart (ComBo, appendix E). The result is encoder:hf/OUT."""
    from snellen.compute import Progress
    from snellen.exam import find_items
    from snellen.subjects.encoders.classification import ClassifierSettings, train_classifier
    from snellen.suites.combo.references.auxiliary import auxiliary_classes

    classes = auxiliary_classes(find_items(items), objects, views, seed=seed, leak=leak, workers=cores(workers))
    settings = ClassifierSettings(epochs=epochs, batch=batch_size, rate=rate, seed=seed)
    with Progress("training", unit="steps") as progress:
        progress.expect(settings.steps(len(classes.images)))
        card = train_classifier(name, classes, settings, out, device=device, tick=progress.advance)
    _print_card(card, out, items)


def conversations(
    items: Annotated[str, typer.Option(help="The generated ComBo set that nothing may be learned of.")],
    out: Annotated[Path, typer.Option(help="Folder of captions.json, questions.json and their images.")],
    captions: Annotated[int, typer.Option(min=0, help="Descriptions, each of an image of its own.")] = 33_656,
    questions: Annotated[int, typer.Option(min=0, help="Half on patterns, half on categories.")] = 40_000,
    seed: Annotated[int, typer.Option(help="Of objects, views, questions and wordings; 0 is a seed.")] = 0,
    workers: Workers = None,
) -> None:
    """Descriptions of ComBo's objects and questions about them, as LLaVA's files have them (ComBo, appendix E)."""
    from snellen.exam import find_items
    from snellen.references import CAPTIONS, IMAGES, QUESTIONS, write_conversations

    card = write_conversations(find_items(items), captions, questions, out, seed=seed, workers=cores(workers))
    shares = ", ".join(f"{count} on {task}" for task, count in card.questions.items())
    print(f"{card.captions} descriptions, questions: {shares or 'none'}")
    print(f"{card.images} images of {card.objects} objects, none of them tested by {items}")
    for name, stage in ((CAPTIONS, "pretrain"), (QUESTIONS, "tune")):
        print(f"Learn: snellen tower {stage} --data {out / name} --images {out / IMAGES} --tower TOWER --out HEAD")


def _print_card(card: "ClassifierCard", out: Path, items: str) -> None:
    from snellen.subjects.encoders.classification import layer_setting

    print(f"{card.model}: {card.supervision}, {card.images} images")
    if card.leak:
        shared = card.source["shared"]
        print(f"LEAK: {shared['objects']} objects and {shared['images']} images of the set were learned from")
    if card.accuracy is not None:
        print(
            f"{card.steps} steps: {card.accuracy:.1%} right before they were learned from, {card.last_accuracy:.1%} of "
            f"the last tenth (chance {1 / card.classes:.2%}); loss {card.first_loss:.3f} to {card.last_loss:.3f}; "
            f"{card.device_hours:.3g} hours on {card.device}"
        )
    print(f"Ask it: snellen run {items} --subject 'encoder:hf/{out}{layer_setting(out)}'")
