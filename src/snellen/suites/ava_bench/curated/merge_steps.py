"""Choices that subjects propose and people confirm: one name for labels of one meaning, and cluttered texture pictures.

Appendix A.2 has GPT-4o standardise the labels of scenes, people check every merge, and people discard texture
pictures that show things in a scene. Here a subject answers items of the suite `curation-steps`; what follows from
its answers is written as rows of `choices/*.yaml` with `state: proposed`, refused until a person has confirmed or
deleted them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import yaml

from snellen.core.errors import SnellenError
from snellen.core.item import Item, Media
from snellen.curation.steps import StepResult, step_item
from snellen.scoring.answers import read_answer
from snellen.suites.ava_bench.curated.choices import Choices

Of: TypeAlias = Literal["scene", "action"]
NAME_REQUEST = (
    "A dataset of pictures calls one of its classes of {kind} {label!r}. What is the one plain English name for it, "
    "the same that you would give to other labels of the same meaning? Keep everything that tells it from other "
    "classes. Reply with the name in one to five words and nothing else."
)
"""Ours: appendix A.2 says that labels were converted into single, unified ones, and prints no wording."""
CLUTTER_REQUEST = (
    "This picture is to be a question about texture; the right answer is {texture!r}. Does the texture fill the "
    "picture, as in a close-up of a surface, or is it on a part of a larger object, or in a scene with other things? "
    "Reply with one word and nothing else: fills or part."
)
"""Ours, after the rule of appendix A.2 for discarding pictures."""
PART = "part"


@dataclass(frozen=True)
class Textured:
    """A picture of a texture: its dataset, `record_id`, the name of the texture, and the picture as it is kept."""

    source: str
    picture: str
    texture: str
    media: Media


def label_items(labels: Mapping[str, Iterable[str]], of: Of) -> list[Item]:
    """One item for every label by dataset, in order: what it is called. They show no picture."""
    pairs = [(source, label) for source, held in labels.items() for label in dict.fromkeys(held)]
    return [
        step_item(
            "caption",
            f"{of}-name-{k:04d}",
            NAME_REQUEST.format(kind=f"{of}s", label=label),
            (),
            "description",
            provenance={"name_of": of, "source": source, "label": label},
        )
        for k, (source, label) in enumerate(pairs)
    ]


def clutter_items(pictures: Iterable[Textured]) -> list[Item]:
    """One item for every picture: whether the texture fills it, or is on part of a thing in a scene."""
    return [
        step_item(
            "screening",
            f"texture-{k:05d}",
            CLUTTER_REQUEST.format(texture=one.texture),
            (one.media,),
            "text",
            provenance={"source": one.source, "texture_picture": one.picture},
        )
        for k, one in enumerate(pictures)
    ]


def proposed_merges(told: StepResult, choices: Choices) -> list[dict[str, Any]]:
    """Rows for `names`: labels that got the same name and do not have it in common yet, one row a dataset.

    Names are the same whatever their letters' case, article and end of sentence. Labels without an answer are left as
    they are. Raises SnellenError where the run is about something else.
    """
    alike: dict[str, list[tuple[str, str, str]]] = {}
    ofs = set[str]()
    for item, said in _answers(told, "name_of"):
        name = " ".join(re.sub(r"^(the|a|an)\s+", "", said.strip("\"'`.!* \n"), flags=re.IGNORECASE).split())
        ofs.add(item.provenance["name_of"])
        if name:
            alike.setdefault(name.casefold(), []).append((item.provenance["source"], item.provenance["label"], name))
    if len(ofs) > 1:
        raise SnellenError(f"{told.items.root}: names of {' and '.join(sorted(ofs))}s in one run; ask about each apart")
    rows = []
    for group in alike.values():
        present = {choices.scene(s, label) if ofs == {"scene"} else choices.action(label, s) for s, label, _ in group}
        if len(present) < 2:
            continue
        by_source: dict[str, list[str]] = {}
        for source, label, _ in group:
            by_source.setdefault(source, []).append(label)
        name = group[0][2][:1].upper() + group[0][2][1:] if ofs == {"scene"} else group[0][2]
        rows += [_proposed(told, source=source, labels=held, name=name) for source, held in by_source.items()]
    return rows


def proposed_discards(told: StepResult) -> list[dict[str, Any]]:
    """Rows for `discarded` of `textures.yaml`: pictures whose texture is on part of a thing, or in a scene.

    Pictures without a readable answer are not proposed. Raises SnellenError where the run is about something else.
    """
    return [
        _proposed(told, source=item.provenance["source"], picture=item.provenance["texture_picture"])
        for item, said in _answers(told, "texture_picture")
        if said.strip("\"'`.!* \n").casefold() == PART
    ]


def written(section: Literal["names", "discarded"], rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a file on top of the package's: for a person to confirm row by row, or to delete."""
    held = {"extends": True, section: [dict(row) for row in rows]}
    return yaml.safe_dump(held, sort_keys=False, allow_unicode=True, width=120)


def _answers(told: StepResult, key: str) -> Iterable[tuple[Item, str]]:
    for item in told.items.items:
        if key not in item.provenance:
            raise SnellenError(
                f"{told.items.root}: item {item.item_id!r} asks for something else; give the run of that step"
            )
        text = told.text(item)
        said = None if text is None else read_answer(text, told.responses[item.item_id].reply_spec)
        if said:
            yield item, said


def _proposed(told: StepResult, **row: Any) -> dict[str, Any]:
    return {**row, "reason": f"proposed by {told.author}", "state": "proposed"}
