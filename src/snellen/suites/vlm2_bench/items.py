"""Items made from images and their truth, in the same way for all recipes (`design/vlm2-bench.md`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np

from snellen.core.item import Item, Media, Option, Split
from snellen.core.seeds import stream
from snellen.suites.vlm2_bench import prompts

SUITE = "vlm2-bench"
VERSION = "5"
"""Version of the suite: increased when old and new scores may not share a table."""
STREAMS = "1"
"""The version in the names of random streams: unchanged if only wordings change, so that items stay the same."""
Family: TypeAlias = Literal["oc", "pc"]
Pattern: TypeAlias = Literal["PQ", "PQP"]
"""Parts of a video: two in sequence, or with the first one again at the end."""
Edit: TypeAlias = Literal["add", "remove", "swap", "attribute", "environment"]
CUE_BY_EDIT: Mapping[Edit, str] = {
    "add": "add/remove",
    "remove": "add/remove",
    "swap": "swap",
    "attribute": "attribute",
    "environment": "environment",
}
"""The paper's cue types."""


@dataclass(frozen=True)
class ImageSequence:
    """Images of a main object or person and its distractors, in the order shown.

    `order` names the content of each image by first appearance (`ABA`), `pattern` is the same sorted as in the paper
    (`AAB`). `noun` is the name of the main object (`cup`). `shows` is the appearance of each image, if known.
    `requires` are the factors needed to decide whether all are the `same`, and `which` are (see `Item.requires`).
    """

    handle: str
    images: tuple[Media, ...]
    order: str
    pattern: str
    noun: str
    cluster: str
    factors: Mapping[str, str] = field(default_factory=dict)
    shows: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    requires: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    regions: Mapping[str, Any] = field(default_factory=dict)
    split: Split = "test"


def partitions(count: int) -> Iterator[str]:
    """All partitions of `count` images by content, named by first appearance: AA, AB for two."""

    def grown(order: str) -> Iterator[str]:
        if len(order) == count:
            yield order
            return
        for n in range(len(set(order)) + 1):  # the next image shows an earlier object or a new one
            yield from grown(order + chr(ord("A") + n))

    return grown("A") if count else iter(())


def by_appearance(labels: Sequence[Any]) -> str:
    """The content of each image, named A, B, C, … by first appearance."""
    names: dict[Any, str] = {}
    return "".join(names.setdefault(label, chr(ord("A") + len(names))) for label in labels)


def sorted_pattern(order: str) -> str:
    """The partition in the paper's notation: the largest group first."""
    sizes = sorted((order.count(letter) for letter in set(order)), reverse=True)
    return "".join(chr(ord("A") + n) * size for n, size in enumerate(sizes))


def group_key(order: str) -> str:
    """The option key of the images that show the same thing (`1+3`); `none` if all differ.

    Raises ValueError if two groups would be right answers.
    """
    groups = [[n for n, other in enumerate(order, 1) if other == letter] for letter in dict.fromkeys(order)]
    several = [group for group in groups if len(group) > 1]
    if len(several) > 1:
        raise ValueError(f"{order}: two groups of images show the same object, so the answer is not unique")
    return "+".join(map(str, several[0])) if several else "none"


def group_words(key: str) -> str:
    """An option key in the paper's wording: `1 and 3`, `1, 2 and 3`, `None`."""
    if key == "none":
        return "None"
    *first, last = key.split("+")
    return f"{', '.join(first)} and {last}"


def compare_items(sequence: ImageSequence, family: Family) -> tuple[Item, Item]:
    """The statement and its negation, which count only if both are right (Tables 6 and 10)."""
    wording = prompts.COMPARE_OBJECTS if family == "oc" else prompts.COMPARE_PEOPLE
    same = len(set(sequence.order)) == 1

    def item(mark: str, negation: str, polarity: str) -> Item:
        statement = wording.format(obj=sequence.noun, negation=negation)
        answers = {order: _truth((len(set(order)) == 1) != bool(negation)) for order in partitions(len(sequence.order))}
        return _item(
            sequence,
            f"{family}-cpr",
            mark,
            question=prompts.COMPARE.format(statement=statement),
            answer=_truth(same != bool(negation)),
            answer_kind="true_false",
            answers=answers,
            factors={"wording": polarity},
        )

    return item("-p", "", "positive"), item("-n", "not ", "negative")


def count_item(sequence: ImageSequence, family: Family) -> Item:
    """The item that asks for the number of different objects or people (Tables 7 and 11)."""
    question = (prompts.COUNT_OBJECTS if family == "oc" else prompts.COUNT_PEOPLE).format(obj=sequence.noun)
    length = len(sequence.order)
    return _item(
        sequence,
        f"{family}-cnt",
        question=prompts.COUNT.format(question=question),
        answer=len(set(sequence.order)),
        answer_kind="integer",
        options=tuple(Option(str(n)) for n in range(1, length + 1)),
        answers={order: str(len(set(order))) for order in partitions(length)},
    )


def group_item(sequence: ImageSequence, family: Family, rng: np.random.Generator) -> Item:
    """The item that asks which images show the same one, with four shuffled options including `None` (Tables 8, 12)."""
    question = (prompts.GROUP_OBJECTS if family == "oc" else prompts.GROUP_PEOPLE).format(obj=sequence.noun)
    answer = group_key(sequence.order)
    keys = group_options(len(sequence.order), answer, rng)
    answers = {}
    for order in partitions(len(sequence.order)):
        try:
            answers[order] = group_key(order)
        except ValueError:
            continue  # the benchmark has no sequences with two pairs
    return _item(
        sequence,
        f"{family}-grp",
        question=(prompts.GROUP if family == "oc" else prompts.GROUP_OF_PEOPLE).format(question=question),
        answer=answer,
        answer_kind="choice",
        options=tuple(Option(key, group_words(key)) for key in keys),
        answers=answers,
    )


def group_options(count: int, answer: str, rng: np.random.Generator) -> tuple[str, ...]:
    """Four different keys, shuffled: the answer, `none`, and other pairs or (for four images) triples."""
    others = [_key(group) for size in range(2, count) for group in combinations(range(1, count + 1), size)]
    others = [key for key in others if key != answer]
    fixed = list(dict.fromkeys((answer, "none")))
    distractors = [others[int(n)] for n in rng.permutation(len(others))[: 4 - len(fixed)]]
    keys = fixed + distractors
    return tuple(keys[int(n)] for n in rng.permutation(len(keys)))


def _key(group: Sequence[int]) -> str:
    return "+".join(map(str, group))


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _item(sequence: ImageSequence, task: str, mark: str = "", *, answers: Mapping[str, str], **fields: Any) -> Item:
    handle = f"{task}-{sequence.handle}"
    factors = {"pattern": sequence.pattern, "type": sequence.noun, **sequence.factors, **fields.pop("factors", {})}
    latent: dict[str, Any] = {"order": sequence.order}
    if sequence.shows:
        latent |= {"shows": dict(sequence.shows), "partitions": dict(answers)}
    return Item(
        item_id=handle + mark,
        suite=SUITE,
        task=task,
        query=sequence.images,
        stimulus_id=f"{task[:2]}-{sequence.handle}",
        group_id=handle,
        cluster_id=sequence.cluster,
        version=VERSION,
        split=sequence.split,
        factors=factors,
        measures={"images": float(len(sequence.images))},
        requires=sequence.requires.get("same" if task.endswith("cpr") else "which", ()),
        regions=sequence.regions,
        latent=latent,
        provenance=sequence.provenance,
        **fields,
    )


def sequence_items(task: str, sequence: ImageSequence, seed: int) -> tuple[Item, ...]:
    """The items of a task about a sequence."""
    family: Family = "oc" if task.startswith("oc") else "pc"
    if task.endswith("-cpr"):
        return compare_items(sequence, family)
    if task.endswith("-cnt"):
        return (count_item(sequence, family),)
    return (group_item(sequence, family, stream(SUITE, STREAMS, seed, "options", sequence.handle)),)


@dataclass(frozen=True)
class CandidateAnswer:
    """One candidate answer to a question of Mat or Trk, right or wrong."""

    cue: str
    right: bool
    worlds: tuple[Mapping[str, Any], ...] = ()
    requires: tuple[str, ...] = ()


@dataclass(frozen=True)
class ImagePair:
    """An image before and after an edit, with what all items about it share."""

    handle: str
    images: tuple[Media, Media]
    cluster: str
    factors: Mapping[str, str]
    measures: Mapping[str, float] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)


def cue_items(
    task: Literal["gc-mat", "gc-trk"],
    pair: ImagePair,
    question: str,
    right: CandidateAnswer,
    wrong: CandidateAnswer,
    rng: np.random.Generator,
) -> tuple[Item, Item]:
    """The items with the right and the wrong cue, in random order, which count only if both are right."""
    group = f"{task}-{pair.handle}"

    def item(mark: str, statement: CandidateAnswer) -> Item:
        text = prompts.CUE.format(cue=statement.cue, question=question)
        return Item(
            item_id=group + mark,
            suite=SUITE,
            task=task,
            question=f"{text} {prompts.FORM_OF_CUE}",
            query=pair.images,
            answer=_truth(statement.right),
            answer_kind="true_false",
            stimulus_id=f"gc-{pair.handle}",
            group_id=group,
            cluster_id=pair.cluster,
            version=VERSION,
            factors={**pair.factors, "wording": "positive" if statement.right else "negative"},
            measures={"images": 2.0, **pair.measures},
            requires=statement.requires,
            latent={"worlds": [dict(world) for world in statement.worlds]} if statement.worlds else {},
            provenance=dict(pair.provenance),
        )

    first, second = (right, wrong) if rng.integers(2) else (wrong, right)  # ids must not reveal the answer
    return item("-a", first), item("-b", second)


def video_item(
    family: Family, handle: str, video: Media, pattern: Pattern, *, answer: str, cluster: str, **fields: Any
) -> Item:
    """The item that asks for a description of a video of two or three parts, to be judged (Table 13)."""
    task = f"{family}-vid"
    return Item(
        item_id=f"{task}-{handle}",
        suite=SUITE,
        task=task,
        question=prompts.DESCRIBE_OBJECTS if family == "oc" else prompts.DESCRIBE_PEOPLE,
        query=(video,),
        answer=answer,
        answer_kind="description",
        stimulus_id=f"{task}-{handle}",
        group_id=f"{task}-{handle}-{pattern}",  # the authors' mean weights both patterns equally (`scoring`)
        cluster_id=cluster,
        version=VERSION,
        factors={"pattern": pattern, **fields.pop("factors", {})},
        **fields,
    )
