"""Localization, object and counting: the things of an image that may be asked about."""

from __future__ import annotations

import pytest

from snellen.core.item import Media
from snellen.curated_sets.ava_bench.abilities import counting, localization
from snellen.curated_sets.ava_bench.selection import completeness
from snellen.curated_sets.ava_bench.selection.choices import read_choices
from snellen.curated_sets.ava_bench.selection.rules import Rules
from snellen.curated_sets.rules import Caps
from snellen.datasets.sample import Annotation, ImageQuestion
from snellen.suites.ava_bench.items import ItemSource
from tests.curated_sets.ava_bench.selection.fixtures import FewChoices, curating, scene

CHOICES = FewChoices({"LVIS": {"cat": "cat", "dog_(animal)": "dog"}})
BOX = (10.0, 10.0, 40.0, 40.0)


def cat(box: tuple[float, float, float, float] | None = BOX, **extra: bool) -> Annotation:
    return Annotation("cat", box, None, extra)


def test_a_thing_that_is_alone_of_its_kind_is_kept_with_its_displayed_name() -> None:
    context = curating(choices=CHOICES)
    sample = scene(
        cat(), Annotation("dog_(animal)", (0.0, 0.0, 50.0, 50.0)), Annotation("tree", BOX), Annotation("tree", BOX)
    )
    [first, second] = localization.find(sample, context)
    assert (first.label, first.truth, first.size) == ("cat", {"name": "cat", "box": BOX, "domain": "Open"}, 0.09)
    assert (second.label, second.truth["name"]) == ("dog_(animal)", "dog")
    assert context.ledger.dropped == {(localization.NAME, "LVIS", localization.NOT_CHOSEN): 2}


@pytest.mark.parametrize(
    ("marked", "size", "rule"),
    [
        ((cat(), cat((50.0, 50.0, 60.0, 60.0))), (100, 100), localization.SEVERAL),
        ((cat(iscrowd=True),), (100, 100), completeness.CROWD),
        ((cat(None),), (100, 100), localization.NO_BOX),
        ((cat(),), None, localization.NO_BOX),
        ((cat((0.0, 0.0, 4.0, 5.0)),), (100, 100), localization.AREA),  # 20 of 10,000: 0.002, and it must be above
        ((cat((0.0, 0.0, 50.0, 100.0)),), (100, 100), localization.AREA),  # one half, and it must be below
    ],
)
def test_things_that_are_left_out(marked: tuple[Annotation, ...], size: tuple[int, int] | None, rule: str) -> None:
    context = curating(choices=CHOICES)
    assert list(localization.find(scene(*marked, size=size), context)) == []
    assert context.ledger.dropped == {(localization.NAME, "LVIS", rule): len(marked)}


def test_things_just_inside_the_limits_are_kept() -> None:
    context = curating(choices=CHOICES)
    for box in ((0.0, 0.0, 4.0, 5.1), (0.0, 0.0, 49.9, 100.0)):
        assert len(list(localization.find(scene(cat(box)), context))) == 1


def test_an_image_with_lost_annotations_is_left_out() -> None:
    context = curating(choices=CHOICES)
    assert list(localization.find(scene(cat(), lost=1), context)) == []
    assert context.ledger.dropped == {(localization.NAME, "LVIS", completeness.LOST): 1}


def test_birds_and_mammals_are_separate_domains() -> None:
    bird = Annotation("Buteo jamaicensis", BOX, None, {"class": "Aves"})
    [candidate] = localization.find(scene(bird, source="iNaturalist-2021"), curating(choices=read_choices()))
    assert candidate.truth == {"name": "red-tailed hawk", "box": BOX, "domain": "Bird"}


def test_both_tasks_ask_about_the_same_images_and_objects_offer_all_names() -> None:
    context = curating(choices=CHOICES)
    images = [scene(cat(), Annotation("dog_(animal)", BOX), record=f"{n}.jpg") for n in range(5)]
    candidates = [candidate for image in images for candidate in localization.find(image, context)]
    chosen = [
        candidate for candidate in localization.select(candidates, context) if candidate.label == "cat"
    ]  # a small set without a dog
    source = ItemSource("h", Media("a" * 64, "image", "jpg", 100, 100), "c", "LVIS")
    location_item = localization.CURATION.make_item(chosen[0], source, context.rng("t"))
    object_item = localization.OBJECT_CURATION.make_item(chosen[0], source, context.rng("t"))
    assert (location_item.question, tuple(location_item.answer)) == ("Provide bounding box coordinate for cat.", BOX)
    assert object_item.answer == "cat"
    assert sorted(option.text for option in object_item.options) == ["cat", "dog"]


def test_an_image_is_counted_by_category() -> None:
    context = curating()
    sample = scene(*[Annotation("cup", BOX)] * 3, *[Annotation("fork", BOX)] * 41, Annotation("grape", BOX),
                 Annotation("water", BOX), attributes={"not_exhaustive_category_ids": ("grape",)})  # fmt: skip
    [candidate] = counting.find(sample, context)
    assert (candidate.label, candidate.bin, candidate.truth) == ("cup", "03", {"things": "cups", "count": 3})
    rules = (counting.RANGE, completeness.NOT_EXHAUSTIVE, counting.UNCOUNTED)
    assert context.ledger.dropped == {("counting", "LVIS", rule): 1 for rule in rules}


def test_crowds_with_unseparated_people_are_not_counted() -> None:
    context = curating()
    crowd = [Annotation("person", BOX), Annotation("mask", BOX, None, {"ignore": True})]
    assert list(counting.find(scene(*crowd, source="CrowdHuman"), context)) == []
    assert context.ledger.dropped == {("counting", "CrowdHuman", completeness.IGNORED): 1}


def test_a_video_gives_one_frame_per_number_of_people() -> None:
    context = curating(Rules(counted_crowds=Caps(2, 3)), read_choices())
    frames = [
        scene(
            *[Annotation("person", BOX)] * count, source="VSCrowd", record=f"{video}/{n}", attributes={"video": video}
        )
        for video, counts in {"train_001": (2, 2, 2, 4), "test_001": (2, 4)}.items()
        for n, count in enumerate(counts)
    ]
    candidates = [candidate for frame in frames for candidate in counting.find(frame, context)]
    selected = counting.select(candidates, context)
    assert sorted((candidate.bin, candidate.origin.cluster) for candidate in selected) == [
        (count, video) for count in ("02", "04") for video in ("test_001", "train_001")
    ]
    assert {candidate.origin.undivided for candidate in selected} == {"VSCrowd/train_001", "VSCrowd/test_001"}
    rule = counting.SAME_VIDEO.format(1)
    assert context.ledger.dropped == {("counting", "VSCrowd", rule): 2}
    assert context.ledger.examples["counting", "VSCrowd", rule] == ["train_001: 2"]
    source = ItemSource("h", Media("a" * 64, "image", "jpg", 100, 100), "c", "VSCrowd")
    item = counting.CURATION.make_item(selected[0], source, context.rng("t"))
    assert item.question == "How many people are in the image?"


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        ("How many dogs are there?", "3", ("dogs", 3)),
        ("How many traffic lights are in the image?", "two", ("traffic lights", 2)),
        ("How many people can be seen in this photo?", "12", ("people", 12)),
        ("How many cats?", "1", ("cats", 1)),
        ("How many cats are on the sofa?", "1", counting.OTHER_QUESTION),  # also asks for the place
        ("How many red cars are there?", "1", counting.OTHER_QUESTION),  # also asks for a colour
        ("How many cars are there in front of the house?", "1", counting.OTHER_QUESTION),
        ("What is this?", "1", counting.OTHER_QUESTION),
        ("How many dogs are there?", "many", counting.NO_NUMBER),
        ("How many dogs are there?", "0", counting.RANGE),
        ("How many dogs are there?", "41", counting.RANGE),
    ],
)
def test_questions_written_by_people(question: str, answer: str, expected: tuple[str, int] | str) -> None:
    context = curating()
    sample = scene(
        source="VQAv2", questions=(ImageQuestion("1", question, (answer, "5")), ImageQuestion("2", question, (answer,)))
    )
    candidates = list(counting.find(sample, context))
    if isinstance(expected, str):
        assert (candidates, set(context.ledger.dropped)) == ([], {("counting", "VQAv2", expected)})
    else:
        [candidate] = candidates  # the second question about the same things is not asked
        assert (candidate.truth["things"], candidate.truth["count"]) == expected
        source = ItemSource("h", Media("a" * 64, "image", "jpg", 100, 100), "c", "VQAv2")
        assert counting.CURATION.make_item(candidate, source, context.rng("t")).question == question


def test_every_dataset_has_its_own_limits() -> None:
    context = curating(Rules(counted_open=Caps(2, 3, 2), counted_fsc=Caps(1, 1, 1)))
    candidates = [
        candidate
        for source in ("LVIS", "FSC-147")
        for n in range(8)
        for candidate in counting.find(
            scene(*[Annotation("cup", BOX)] * (1 + n % 2), source=source, record=f"{n}"), context
        )
    ]
    selected = counting.select(candidates, context)
    assert sorted((candidate.origin.source, candidate.bin) for candidate in selected) == [
        *[("FSC-147", "01"), ("FSC-147", "02")],
        *[("LVIS", "01")] * 3,
        *[("LVIS", "02")] * 3,
    ]
