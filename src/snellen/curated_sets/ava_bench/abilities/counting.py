"""Counting: the number of things of a category, 1 to 40, several counts per category (appendix A.2).

Crowds are from CrowdHuman, which the appendix names, and VSCrowd, which the paper cites. VSCrowd consists of videos,
whose successive frames are nearly the same image. So one frame per video and number of people is taken, and all frames
of a video are on one side of the split.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from snellen.core.item import Item
from snellen.curated_sets.ava_bench.selection.candidates import (
    Candidate,
    Curation,
    CurationContext,
    capped_by_source,
    origin_of,
)
from snellen.curated_sets.ava_bench.selection.completeness import completeness
from snellen.curation.draws import grouped, shuffled
from snellen.datasets.own_images import OWN
from snellen.datasets.sample import Sample
from snellen.suites.ava_bench.abilities.counting import NAME, counting_item
from snellen.suites.ava_bench.items import ItemSource

DATASETS = ("VQAv2", "FSC-147", "CARPK", "CrowdHuman", "VSCrowd", "LVIS")
UNCOUNTED = "category of uncountable things"
RANGE = "count of 0 or above the maximum"
OTHER_QUESTION = "question that asks for more than a count"
ASKED_TWICE = "second question about the same things in an image"
NO_NUMBER = "answer that is not a number"
SAME_VIDEO = "more than {} of a video with the same count"
QUALIFIERS = (
    *("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white", "gray", "grey"),
    *("big", "large", "little", "small", "old", "young", "different", "more", "other", "total", "types", "kinds"),
)
"""Words before a thing with which a question asks for more than counting."""
PLAIN_QUESTION = re.compile(
    rf"how many (?!(?:{'|'.join(QUALIFIERS)}) )(?P<things>[a-z]+(?: [a-z]+)?)"
    r"(?: (?:are(?: there| shown| visible| imaged| seen)?|can be seen|do you see|can you see))?"
    r"(?: (?:in|on) (?:the|this) (?:image|picture|photo|photograph|scene))?"
)
"""Questions of VQAv2 that only count: no colour, place or part of another thing. Ours; the paper states no rule."""
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def find(scene: Sample, context: CurationContext) -> Iterator[Candidate]:
    """Every category of an image whose count is certain, with its count."""
    if scene.source == "VQAv2":
        yield from _question_candidates(scene, context)
    elif rule := completeness(scene).image:
        context.ledger.drop(NAME, scene.source, rule, scene.record_id)
    else:
        yield from _annotation_candidates(scene, context)


def _annotation_candidates(scene: Sample, context: CurationContext) -> Iterator[Candidate]:
    """Counts of things that are annotated one by one."""
    known, origin = completeness(scene), None
    for label, count in Counter(annotation.label for annotation in scene.annotations).items():
        location = f"{scene.record_id}: {count} {label}"
        if rule := known.rule(label):
            context.ledger.drop(NAME, scene.source, rule, location)
        elif not context.choices.counted(scene.source, label):
            context.ledger.drop(NAME, scene.source, UNCOUNTED, location)
        elif count > context.rules.most_counted:
            context.ledger.drop(NAME, scene.source, RANGE, location)
        else:
            video = scene.attributes.get("video", "")
            origin = origin or origin_of(scene, str(video), one_side=bool(video))
            truth = {"things": context.choices.plural(scene.source, label), "count": count}
            yield Candidate(origin, label, f"{count:02}", truth)


def _question_candidates(scene: Sample, context: CurationContext) -> Iterator[Candidate]:
    """Counting questions by people with people's answers; only the first of those about the same things of an image."""
    categories = set[str]()
    for question in scene.questions:
        location = f"{scene.record_id}: {question.question}"
        match = PLAIN_QUESTION.fullmatch(" ".join(question.question.casefold().strip(" ?").split()))
        if match is None:
            context.ledger.drop(NAME, scene.source, OTHER_QUESTION, location)
            continue
        count = _number(question.answers[0]) if question.answers else None
        if count is None:
            context.ledger.drop(NAME, scene.source, NO_NUMBER, f"{location} {' '.join(question.answers[:1])}")
        elif not 1 <= count <= context.rules.most_counted:
            context.ledger.drop(NAME, scene.source, RANGE, f"{location} {count}")
        elif match["things"] in categories:
            context.ledger.drop(NAME, scene.source, ASKED_TWICE, location)
        else:
            categories.add(match["things"])
            truth = {"things": match["things"], "count": count, "question": question.question}
            yield Candidate(origin_of(scene), match["things"], f"{count:02}", truth)


def _number(answer: str) -> int | None:
    word = answer.strip().casefold()
    if word in WORDS:
        return WORDS.index(word)
    return int(word) if word.isascii() and word.isdigit() else None


def select(candidates: Sequence[Candidate], context: CurationContext) -> list[Candidate]:
    """The candidates within each dataset's bounds on images per count and counts per category."""
    rules = context.rules
    caps = {
        "VQAv2": rules.counted_open,
        "LVIS": rules.counted_open,
        "FSC-147": rules.counted_fsc,
        "CARPK": rules.counted_cars,
        "CrowdHuman": rules.counted_crowds,
        "VSCrowd": rules.counted_crowds,
        OWN: rules.counted_open,
    }
    return capped_by_source(_cap_frames(candidates, context), caps, NAME, context)


def _cap_frames(candidates: Sequence[Candidate], context: CurationContext) -> list[Candidate]:
    """At most `crowd_frames` frames per video and number of people, drawn by the seed."""
    max_frames = context.rules.crowd_frames
    selected = [candidate for candidate in candidates if not candidate.origin.one_side]
    frames = [candidate for candidate in candidates if candidate.origin.one_side]
    for key, frame_group in grouped(frames, lambda frame: (*frame.stratum, frame.origin.cluster)).items():
        selected += shuffled(frame_group, context.rng(NAME, "frames", *key))[:max_frames]
        if len(frame_group) > max_frames:
            location = f"{frame_group[0].origin.cluster}: {frame_group[0].truth['count']}"
            context.ledger.drop(
                NAME,
                frame_group[0].origin.source,
                SAME_VIDEO.format(max_frames),
                location,
                len(frame_group) - max_frames,
            )
    return selected


def make_curated_item(candidate: Candidate, item_source: ItemSource, rng: np.random.Generator) -> Item:
    """An item `How many … are in the image?`; questions of VQAv2 keep their own wording."""
    truth = candidate.truth
    return counting_item(item_source, truth["things"], truth["count"], truth.get("question", ""))


CURATION = Curation(name=NAME, datasets=DATASETS, find=find, select=select, make_item=make_curated_item)
