"""Choices that subjects propose and people confirm: merged names of labels, and cluttered texture images.

In appendix A.2, GPT-4o standardises the labels of scenes, people check every merge, and people discard texture images
that show things in a scene. Here a subject answers items of the suite `curation-steps`; its answers become rows of
`choices/*.yaml` with `state: proposed`, refused until a person has confirmed or deleted them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import yaml

from snellen.core.errors import SnellenError
from snellen.core.item import Item, Media
from snellen.curated_sets.ava_bench.selection.choices import Choices
from snellen.curation.results import StepResult
from snellen.curation.steps import step_item

LabelKind: TypeAlias = Literal["scene", "action"]
NAME_REQUEST = (
    "A dataset of images calls one of its classes of {kind} {label!r}. What is the one plain English name for it, "
    "the same that you would give to other labels of the same meaning? Keep everything that tells it from other "
    "classes. Reply with the name in one to five words and nothing else."
)
"""Ours: appendix A.2 states that labels were converted into single, unified ones, and prints no wording."""
CLUTTER_REQUEST = (
    "This image is to be a question about texture; the right answer is {texture!r}. Does the texture fill the "
    "image, as in a close-up of a surface, or is it on a part of a larger object, or in a scene with other things? "
    "Reply with one word and nothing else: fills or part."
)
"""Ours, after the rule of appendix A.2 for discarding images."""
PART = "part"


@dataclass(frozen=True)
class TextureImage:
    """An image of a texture: its dataset, `record_id`, the name of the texture, and the stored image."""

    source: str
    record_id: str
    texture: str
    media: Media


def label_items(labels: Mapping[str, Iterable[str]], kind: LabelKind) -> list[Item]:
    """One item per label and dataset, in order, that asks for the label's name. They show no image."""
    pairs = [(source, label) for source, of_source in labels.items() for label in dict.fromkeys(of_source)]
    return [
        step_item(
            "caption",
            f"{kind}-name-{k:04d}",
            NAME_REQUEST.format(kind=f"{kind}s", label=label),
            (),
            "description",
            provenance={"name_of": kind, "source": source, "label": label},
        )
        for k, (source, label) in enumerate(pairs)
    ]


def clutter_items(textures: Iterable[TextureImage]) -> list[Item]:
    """One item per image that asks if the texture fills it or is on part of a thing in a scene."""
    return [
        step_item(
            "screening",
            f"texture-{k:05d}",
            CLUTTER_REQUEST.format(texture=image.texture),
            (image.media,),
            "text",
            provenance={"source": image.source, "texture_image": image.record_id},
        )
        for k, image in enumerate(textures)
    ]


def proposed_merges(result: StepResult, choices: Choices) -> list[dict[str, Any]]:
    """Rows for `names`: labels with the same new name that do not share a name yet, one row per dataset.

    Names are compared without case, article and end of sentence. Labels without an answer stay unchanged. Raises
    SnellenError for a run about something else.
    """
    by_name: dict[str, list[tuple[str, str, str]]] = {}
    kinds = set[str]()
    for item, answer in _answers(result, "name_of"):
        name = " ".join(re.sub(r"^(the|a|an)\s+", "", answer.strip("\"'`.!* \n"), flags=re.IGNORECASE).split())
        kinds.add(item.provenance["name_of"])
        if name:
            by_name.setdefault(name.casefold(), []).append((item.provenance["source"], item.provenance["label"], name))
    if len(kinds) > 1:
        names = " and ".join(f"{kind}s" for kind in sorted(kinds))
        raise SnellenError(f"{result.items.root}: names of {names} in one run; ask about each separately")
    rows = []
    for group in by_name.values():
        present = {choices.scene(s, label) if kinds == {"scene"} else choices.action(label, s) for s, label, _ in group}
        if len(present) < 2:
            continue
        by_source: dict[str, list[str]] = {}
        for source, label, _ in group:
            by_source.setdefault(source, []).append(label)
        name = group[0][2][:1].upper() + group[0][2][1:] if kinds == {"scene"} else group[0][2]
        rows += [_proposal(result, source=source, labels=labels, name=name) for source, labels in by_source.items()]
    return rows


def proposed_discards(result: StepResult) -> list[dict[str, Any]]:
    """Rows for `discarded` of `textures.yaml`: images whose texture is on part of a thing, or in a scene.

    Images without a readable answer are not proposed. Raises SnellenError for a run about something else.
    """
    return [
        _proposal(result, source=item.provenance["source"], image=item.provenance["texture_image"])
        for item, answer in _answers(result, "texture_image")
        if answer.strip("\"'`.!* \n").casefold() == PART
    ]


def choices_text(section: Literal["names", "discarded"], rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a file that extends the package's, for a person to confirm or delete row by row."""
    content = {"extends": True, section: [dict(row) for row in rows]}
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)


def _answers(result: StepResult, key: str) -> Iterable[tuple[Item, str]]:
    for item in result.items.items:
        if key not in item.provenance:
            raise SnellenError(
                f"{result.items.root}: item {item.item_id!r} asks for something else; give the run of that step"
            )
        if answer := result.answer(item):
            yield item, answer


def _proposal(result: StepResult, **row: Any) -> dict[str, Any]:
    """A row for people to confirm; rows from people's own answers are confirmed."""
    if result.role == "person":
        return {**row, "reason": f"by {result.author}", "state": "confirmed"}
    return {**row, "reason": f"proposed by {result.author}", "state": "proposed"}
