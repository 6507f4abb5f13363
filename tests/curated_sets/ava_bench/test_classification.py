"""The single class of an image, and the rules of every ability of classes, words and orientations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from snellen.core.seeds import stream
from snellen.curated_sets.ava_bench.abilities import emotion, fine_grained, ocr, orientation
from snellen.curated_sets.ava_bench.abilities.image_classes import ACTION_CURATION, SCENE_CURATION, TEXTURE_CURATION
from snellen.curated_sets.ava_bench.classification import (
    ALONE,
    NO_CLASS,
    NOT_CHOSEN,
    SEVERAL,
    only_class,
    source_of,
    with_names,
)
from snellen.curated_sets.ava_bench.selection.candidates import Candidate, Curation, lies_in
from snellen.curated_sets.ava_bench.selection.rules import Rules
from snellen.curated_sets.rules import Caps
from snellen.datasets.sample import Annotation, Attributes, Sample
from snellen.suites.ava_bench.items import ORIENTATIONS
from tests.curated_sets.ava_bench.selection.class_fixtures import chosen, make_items, merging, texts
from tests.curated_sets.ava_bench.selection.fixtures import candidates, curating, scene

NAMES: Mapping[str, str | None] = {"lawn": "Lawn", "grass": "Lawn", "hall": "Hall", "odd": None, "other": None}


@pytest.mark.parametrize(
    ("labels", "name", "rule"),
    [
        (["lawn"], "Lawn", None), (["lawn", "grass", "lawn"], "Lawn", None), ([], None, NO_CLASS),
        ([" "], None, NO_CLASS), (["lawn", "hall"], None, SEVERAL), (["lawn", "odd"], None, SEVERAL),
        (["odd", "other"], None, NOT_CHOSEN),
    ],
)  # fmt: skip
def test_an_image_has_one_class_or_is_left_out(labels: list[str], name: str | None, rule: str | None) -> None:
    context = curating()
    assert only_class(scene(*map(Annotation, labels)), NAMES.__getitem__, "scene", context) == name
    assert context.ledger.dropped == ({("scene", "LVIS", rule): 1} if rule else {})


def test_names_come_from_the_pool_and_a_class_alone_in_its_pool_is_dropped() -> None:
    context = curating()
    pool = [
        *candidates(2, "b", source="AID"),
        *candidates(1, "a", source="AID"),
        *candidates(3, "c", source="Places434"),
    ]
    with_own_names = [
        Candidate(
            candidate.origin, candidate.label, "", {} if candidate.label == "b" else {"name": candidate.label.upper()}
        )
        for candidate in pool
    ]
    completed = with_names(with_own_names, source_of, "scene", context)
    assert [dict(candidate.truth) for candidate in completed] == [{"name": name, "among": ("A", "b")} for name in "bbA"]
    assert context.ledger.dropped == {("scene", "Places434", ALONE): 3}


@pytest.mark.parametrize(
    ("box", "size", "expected"),
    [
        ((0.0, 0.0, 4.0, 3.0), (4, 3), True), ((0.0, 0.0, 4.0, 3.0), (3, 4), False),
        ((-0.1, 0.0, 4.0, 3.0), (4, 3), False), ((0.0, 2.0, 4.0, 2.0), (4, 3), False),
        ((2.0, 0.0, 2.0, 3.0), (4, 3), False), ((0.0, 0.0, float("nan"), 3.0), (4, 3), False),
        ((0.0, 0.0, 4.0, 3.0), None, False),
    ],
)  # fmt: skip
def test_a_box_is_inside_its_image(
    box: tuple[float, float, float, float], size: tuple[int, int] | None, expected: bool
) -> None:
    assert lies_in(box, size) is expected


RULES = Rules(
    fewest=2, scene_images=3, action_images=4, emotion_images=4, texture=Caps(2, 6), orientation=Caps(2, 4, 2),
    orientation_cure_or=Caps(2, 3, 2), species_images=2, species_birds=3, species_others=2, words_iiit5k=5,
    words_others=6,
)  # fmt: skip


@dataclass(frozen=True)
class LimitCase:
    """An ability with possible labels of its scenes, the key by which its limits count, and these limits."""

    curation: Curation
    labels: Sequence[str]
    counted: Callable[[Candidate], Hashable]
    least: int
    most: int
    by_thing: bool = False


def by_stratum(candidate: Candidate) -> Hashable:
    return candidate.stratum


def by_pool(candidate: Candidate) -> Hashable:
    return candidate.origin.source[:8], candidate.label


LIMIT_CASES = (
    LimitCase(SCENE_CURATION, ("first", "second", "lawn", "hall"), by_stratum, 3, 3),
    LimitCase(ACTION_CURATION, ("first", "second", "boxing", "buying"), by_stratum, 2, 4),
    LimitCase(TEXTURE_CURATION, ("cotton", "wool", "stone1", "stone2", "sponge"), by_pool, 2, 6),
    LimitCase(emotion.CURATION, ("happy", "happiness", "sad", "bored"), by_stratum, 2, 4, True),
    LimitCase(orientation.CURATION, ("bus", "toy_plane", "001"), by_stratum, 2, 4, True),
    LimitCase(fine_grained.CURATION, ("001.Crow", "002.Crow", "Boletus edulis", "Canis lupus"), by_stratum, 2, 2),
    LimitCase(ocr.CURATION, ("STOP", "no parking", "a"), source_of, 1, 6, True),
)
BOXES = (
    None, None, (0.0, 0.0, 50.0, 50.0), (0.0, 0.0, 60.0, 50.0), (40.0, 40.0, 100.0, 100.0), (50.0, 50.0, 120.0, 60.0),
)  # fmt: skip
SIZES = ((100, 100), (100, 100), (100, 100), None)


def odd_scenes(case: LimitCase, count: int, rng: np.random.Generator) -> list[Sample]:
    """Images that mostly have one thing, with any other values that a reader may return."""

    def pick(values: Sequence[Any]) -> Any:
        return values[int(rng.integers(len(values)))]

    def random_annotation() -> Annotation:
        extra: Attributes = {
            "orientation": pick((*ORIENTATIONS, "front", "left", "sideways", 3.0)),
            "kingdom": pick(("Animalia", "Fungi", "Plantae", "Chromista", "")),
            "rotation": pick((0.0, 0.0, 0.0, 359.5, 30.0, float("nan"), "none")),
        }
        return Annotation(pick((*case.labels, *case.labels, "odd", " ", "")), pick(BOXES), None, extra)

    def image(n: int) -> Sample:
        attributes = {
            "background": pick(("white", "white", "3D office")),
            "device": "Nikon D80",
            "challenge": pick((1.0, 1.0, 2.0)),
        }
        marked = [random_annotation() for _ in range(pick((0, 1, 1, 1, 1, 2, 3)))]
        size, source = pick(SIZES), pick(case.curation.datasets)
        return scene(*marked, source=source, record=str(n), size=size, lost=pick((0, 0, 1)), attributes=attributes)

    return [image(n) for n in range(count)]


@pytest.mark.parametrize("case", LIMIT_CASES, ids=lambda case: case.curation.name)
def test_everything_is_kept_or_recorded_and_every_item_can_be_answered(case: LimitCase) -> None:
    context = curating(RULES, merging(), seed=3)
    scenes = odd_scenes(case, 600, stream("test", case.curation.name))
    selected = chosen(case.curation, scenes, context)
    total = sum(max(1, len(sample.annotations)) for sample in scenes) if case.by_thing else len(scenes)
    assert len(selected) + sum(context.ledger.dropped.values()) == total
    assert {(task, source) for task, source, _ in context.ledger.dropped} <= {
        (case.curation.name, source) for source in case.curation.datasets
    }
    counts = Counter(map(case.counted, selected))
    assert len(counts) >= 2
    assert all(case.least <= count <= case.most for count in counts.values())
    items = make_items(case.curation, selected, context)
    assert len(items) == len(selected)
    for item in items:
        offered = texts(item)
        assert len(set(offered)) == len(offered)
        assert item.answer in offered if item.answer_kind == "choice" else not offered


@pytest.mark.parametrize("case", LIMIT_CASES, ids=lambda case: case.curation.name)
def test_only_the_seed_decides(case: LimitCase) -> None:
    def records(seed: int) -> list[tuple[str, Any]]:
        context = curating(RULES, merging(), seed)
        selected = chosen(case.curation, odd_scenes(case, 600, stream("test", case.curation.name)), context)
        return [(candidate.origin.record_id, dict(candidate.truth)) for candidate in selected]

    assert records(3) == records(3)
    assert records(3) != records(4)
