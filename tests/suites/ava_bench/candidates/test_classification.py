"""The one class of an image, and what every ability of classes, words and ways keeps to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from snellen.core.seeds import stream
from snellen.curation.rules import Caps
from snellen.datasets.sample import Annotation, Attributes, Sample
from snellen.suites.ava_bench.abilities import action, emotion, fine_grained, ocr, orientation, texture
from snellen.suites.ava_bench.abilities import scene as scene_ability
from snellen.suites.ava_bench.candidates.candidates import Candidate, Curation
from snellen.suites.ava_bench.candidates.classification import (
    ALONE,
    NO_CLASS,
    NOT_CHOSEN,
    SEVERAL,
    lies_in,
    only_class,
    source_of,
    with_names,
)
from snellen.suites.ava_bench.candidates.rules import Rules
from snellen.suites.ava_bench.items import ORIENTATIONS
from tests.suites.ava_bench.candidates.class_fixtures import asked, chosen, merging, texts
from tests.suites.ava_bench.candidates.fixtures import candidates, curating, scene

NAMES: Mapping[str, str | None] = {"lawn": "Lawn", "grass": "Lawn", "hall": "Hall", "odd": None, "other": None}


@pytest.mark.parametrize(
    ("labels", "name", "rule"),
    [
        (["lawn"], "Lawn", None),
        (["lawn", "grass", "lawn"], "Lawn", None),
        ([], None, NO_CLASS),
        ([" "], None, NO_CLASS),
        (["lawn", "hall"], None, SEVERAL),
        (["lawn", "odd"], None, SEVERAL),
        (["odd", "other"], None, NOT_CHOSEN),
    ],
)
def test_an_image_has_one_class_or_is_left_out(labels: list[str], name: str | None, rule: str | None) -> None:
    at = curating()
    assert only_class(scene(*map(Annotation, labels)), NAMES.__getitem__, "scene", at) == name
    assert at.ledger.dropped == ({("scene", "LVIS", rule): 1} if rule else {})


def test_names_are_those_of_the_pool_and_a_class_alone_in_its_pool_goes() -> None:
    at = curating()
    held = [
        *candidates(2, "b", source="AID"),
        *candidates(1, "a", source="AID"),
        *candidates(3, "c", source="Places434"),
    ]
    named = [
        Candidate(one.origin, one.label, "", {} if one.label == "b" else {"name": one.label.upper()}) for one in held
    ]
    found = with_names(named, source_of, "scene", at)
    assert [dict(one.truth) for one in found] == [{"name": name, "among": ("A", "b")} for name in "bbA"]
    assert at.ledger.dropped == {("scene", "Places434", ALONE): 3}


@pytest.mark.parametrize(
    ("box", "size", "lies"),
    [
        ((0.0, 0.0, 4.0, 3.0), (4, 3), True),
        ((0.0, 0.0, 4.0, 3.0), (3, 4), False),
        ((-0.1, 0.0, 4.0, 3.0), (4, 3), False),
        ((0.0, 2.0, 4.0, 2.0), (4, 3), False),
        ((2.0, 0.0, 2.0, 3.0), (4, 3), False),
        ((0.0, 0.0, float("nan"), 3.0), (4, 3), False),
        ((0.0, 0.0, 4.0, 3.0), None, False),
    ],
)
def test_where_a_box_lies(box: tuple[float, float, float, float], size: tuple[int, int] | None, lies: bool) -> None:
    assert lies_in(box, size) is lies


RULES = Rules(
    fewest=2,
    scene_images=3,
    action_images=4,
    emotion_images=4,
    texture=Caps(2, 6),
    orientation=Caps(2, 4, 2),
    orientation_cure_or=Caps(2, 3, 2),
    species_images=2,
    species_birds=3,
    species_others=2,
    words_iiit5k=5,
    words_others=6,
)


@dataclass(frozen=True)
class Held:
    """An ability with labels that scenes of it may have, what its limits count, and these limits."""

    curation: Curation
    labels: Sequence[str]
    counted: Callable[[Candidate], Hashable]
    least: int
    most: int
    by_thing: bool = False


def by_stratum(one: Candidate) -> Hashable:
    return one.stratum


def by_pool(one: Candidate) -> Hashable:
    return one.origin.source[:8], one.label


HELD = (
    Held(scene_ability.CURATION, ("first", "second", "lawn", "hall"), by_stratum, 3, 3),
    Held(action.CURATION, ("first", "second", "boxing", "buying"), by_stratum, 2, 4),
    Held(texture.CURATION, ("cotton", "wool", "stone1", "stone2", "sponge"), by_pool, 2, 6),
    Held(emotion.CURATION, ("happy", "happiness", "sad", "bored"), by_stratum, 2, 4, True),
    Held(orientation.CURATION, ("bus", "toy_plane", "001"), by_stratum, 2, 4, True),
    Held(fine_grained.CURATION, ("001.Crow", "002.Crow", "Boletus edulis", "Canis lupus"), by_stratum, 2, 2),
    Held(ocr.CURATION, ("STOP", "no parking", "a"), source_of, 1, 6, True),
)
BOXES = (
    None,
    None,
    (0.0, 0.0, 50.0, 50.0),
    (0.0, 0.0, 60.0, 50.0),
    (40.0, 40.0, 100.0, 100.0),
    (50.0, 50.0, 120.0, 60.0),
)
SIZES = ((100, 100), (100, 100), (100, 100), None)


def odd_scenes(held: Held, count: int, rng: np.random.Generator) -> list[Sample]:
    """Images with one thing mostly, and with anything else that a reader may bring."""

    def of(values: Sequence[Any]) -> Any:
        return values[int(rng.integers(len(values)))]

    def thing() -> Annotation:
        extra: Attributes = {
            "orientation": of((*ORIENTATIONS, "front", "left", "sideways", 3.0)),
            "kingdom": of(("Animalia", "Fungi", "Plantae", "Chromista", "")),
            "rotation": of((0.0, 0.0, 0.0, 359.5, 30.0, float("nan"), "none")),
        }
        return Annotation(of((*held.labels, *held.labels, "odd", " ", "")), of(BOXES), None, extra)

    def image(n: int) -> Sample:
        attributes = {
            "background": of(("white", "white", "3D office")),
            "device": "Nikon D80",
            "challenge": of((1.0, 1.0, 2.0)),
        }
        marked = [thing() for _ in range(of((0, 1, 1, 1, 1, 2, 3)))]
        size, source = of(SIZES), of(held.curation.datasets)
        return scene(*marked, source=source, record=str(n), size=size, lost=of((0, 0, 1)), attributes=attributes)

    return [image(n) for n in range(count)]


@pytest.mark.parametrize("held", HELD, ids=lambda held: held.curation.name)
def test_all_is_kept_or_told_and_every_item_can_be_answered(held: Held) -> None:
    at = curating(RULES, merging(), seed=3)
    scenes = odd_scenes(held, 600, stream("test", held.curation.name))
    kept = chosen(held.curation, scenes, at)
    there = sum(max(1, len(one.annotations)) for one in scenes) if held.by_thing else len(scenes)
    assert len(kept) + sum(at.ledger.dropped.values()) == there
    assert {(task, source) for task, source, _ in at.ledger.dropped} <= {
        (held.curation.name, source) for source in held.curation.datasets
    }
    counts = Counter(map(held.counted, kept))
    assert len(counts) >= 2
    assert all(held.least <= count <= held.most for count in counts.values())
    items = asked(held.curation, kept, at)
    assert len(items) == len(kept)
    for item in items:
        told = texts(item)
        assert len(set(told)) == len(told)
        assert item.answer in told if item.answer_kind == "choice" else not told


@pytest.mark.parametrize("held", HELD, ids=lambda held: held.curation.name)
def test_the_seed_decides_and_nothing_else(held: Held) -> None:
    def found(seed: int) -> list[tuple[str, Any]]:
        at = curating(RULES, merging(), seed)
        kept = chosen(held.curation, odd_scenes(held, 600, stream("test", held.curation.name)), at)
        return [(one.origin.record_id, dict(one.truth)) for one in kept]

    assert found(3) == found(3)
    assert found(3) != found(4)
