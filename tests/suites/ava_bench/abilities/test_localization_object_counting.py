"""Localization, object and counting: which things of an image may be asked about."""

from __future__ import annotations

import pytest

from snellen.core.item import Media
from snellen.curation.rules import Caps
from snellen.datasets.sample import Annotation, ImageQuestion
from snellen.suites.ava_bench.abilities import counting, localization
from snellen.suites.ava_bench.abilities import object as object_ability
from snellen.suites.ava_bench.candidates import completeness
from snellen.suites.ava_bench.candidates.choices import read_choices
from snellen.suites.ava_bench.candidates.rules import Rules
from snellen.suites.ava_bench.items import ItemSource
from tests.suites.ava_bench.candidates.fixtures import FewChoices, curating, scene

CHOICES = FewChoices({"LVIS": {"cat": "cat", "dog_(animal)": "dog"}})
BOX = (10.0, 10.0, 40.0, 40.0)


def cat(box: tuple[float, float, float, float] | None = BOX, **extra: bool) -> Annotation:
    return Annotation("cat", box, None, extra)


def test_a_thing_alone_of_its_kind_is_kept_with_its_asked_name() -> None:
    at = curating(choices=CHOICES)
    held = scene(
        cat(), Annotation("dog_(animal)", (0.0, 0.0, 50.0, 50.0)), Annotation("tree", BOX), Annotation("tree", BOX)
    )
    [one, other] = localization.find(held, at)
    assert (one.label, one.truth, one.size) == ("cat", {"name": "cat", "box": BOX, "domain": "Open"}, 0.09)
    assert (other.label, other.truth["name"]) == ("dog_(animal)", "dog")
    assert at.ledger.dropped == {(localization.NAME, "LVIS", localization.NOT_CHOSEN): 2}


@pytest.mark.parametrize(
    ("marked", "size", "rule"),
    [
        ((cat(), cat((50.0, 50.0, 60.0, 60.0))), (100, 100), localization.SEVERAL),
        ((cat(iscrowd=True),), (100, 100), completeness.CROWD),
        ((cat(None),), (100, 100), localization.NO_BOX),
        ((cat(),), None, localization.NO_BOX),
        (
            (cat((0.0, 0.0, 4.0, 5.0)),),
            (100, 100),
            localization.AREA,
        ),  # 20 of 10,000: 0.002, and it must be above
        ((cat((0.0, 0.0, 50.0, 100.0)),), (100, 100), localization.AREA),  # one half, and it must be below
    ],
)
def test_what_is_left_out(marked: tuple[Annotation, ...], size: tuple[int, int] | None, rule: str) -> None:
    at = curating(choices=CHOICES)
    assert list(localization.find(scene(*marked, size=size), at)) == []
    assert at.ledger.dropped == {(localization.NAME, "LVIS", rule): len(marked)}


def test_just_inside_the_limits_stays() -> None:
    at = curating(choices=CHOICES)
    for box in ((0.0, 0.0, 4.0, 5.1), (0.0, 0.0, 49.9, 100.0)):
        assert len(list(localization.find(scene(cat(box)), at))) == 1


def test_where_annotations_were_lost_nothing_is_known_to_be_alone() -> None:
    at = curating(choices=CHOICES)
    assert list(localization.find(scene(cat(), lost=1), at)) == []
    assert at.ledger.dropped == {(localization.NAME, "LVIS", completeness.LOST): 1}


def test_birds_and_mammals_are_domains_of_their_own() -> None:
    bird = Annotation("Buteo jamaicensis", BOX, None, {"class": "Aves"})
    [one] = localization.find(scene(bird, source="iNaturalist-2021"), curating(choices=read_choices()))
    assert one.truth == {"name": "red-tailed hawk", "box": BOX, "domain": "Bird"}


def test_both_tasks_ask_about_the_same_images_and_objects_offer_all_names() -> None:
    at = curating(choices=CHOICES)
    images = [scene(cat(), Annotation("dog_(animal)", BOX), record=f"{n}.jpg") for n in range(5)]
    found = [one for image in images for one in localization.find(image, at)]
    chosen = [one for one in localization.select(found, at) if one.label == "cat"]  # a small set without a dog
    of = ItemSource("h", Media("a" * 64, "image", "jpg", 100, 100), "c", "LVIS")
    where = localization.CURATION.make_item(chosen[0], of, at.rng("t"))
    what = object_ability.CURATION.make_item(chosen[0], of, at.rng("t"))
    assert (where.question, tuple(where.answer)) == ("Provide bounding box coordinate for cat.", BOX)
    assert what.answer == "cat"
    assert sorted(option.text for option in what.options) == ["cat", "dog"]


def test_counts_of_an_image_by_category() -> None:
    at = curating()
    held = scene(*[Annotation("cup", BOX)] * 3, *[Annotation("fork", BOX)] * 41, Annotation("grape", BOX),
                 Annotation("water", BOX), attributes={"not_exhaustive_category_ids": ("grape",)})  # fmt: skip
    [one] = counting.find(held, at)
    assert (one.label, one.bin, one.truth) == ("cup", "03", {"things": "cups", "count": 3})
    rules = (counting.RANGE, completeness.NOT_EXHAUSTIVE, counting.UNCOUNTED)
    assert at.ledger.dropped == {("counting", "LVIS", rule): 1 for rule in rules}


def test_crowds_with_people_that_are_not_told_apart_cannot_be_counted() -> None:
    at = curating()
    crowd = [Annotation("person", BOX), Annotation("mask", BOX, None, {"ignore": True})]
    assert list(counting.find(scene(*crowd, source="CrowdHuman"), at)) == []
    assert at.ledger.dropped == {("counting", "CrowdHuman", completeness.IGNORED): 1}


def test_of_a_video_one_frame_is_taken_for_a_number_of_people() -> None:
    at = curating(Rules(counted_crowds=Caps(2, 3)), read_choices())
    frames = [
        scene(
            *[Annotation("person", BOX)] * count, source="VSCrowd", record=f"{video}/{n}", attributes={"video": video}
        )
        for video, counts in {"train_001": (2, 2, 2, 4), "test_001": (2, 4)}.items()
        for n, count in enumerate(counts)
    ]
    found = [one for frame in frames for one in counting.find(frame, at)]
    kept = counting.select(found, at)
    assert sorted((one.bin, one.origin.cluster) for one in kept) == [
        (count, video) for count in ("02", "04") for video in ("test_001", "train_001")
    ]
    assert {one.origin.undivided for one in kept} == {"VSCrowd/train_001", "VSCrowd/test_001"}
    rule = counting.SAME_VIDEO.format(1)
    assert at.ledger.dropped == {("counting", "VSCrowd", rule): 2}
    assert at.ledger.examples["counting", "VSCrowd", rule] == ["train_001: 2"]
    of = ItemSource("h", Media("a" * 64, "image", "jpg", 100, 100), "c", "VSCrowd")
    asked = counting.CURATION.make_item(kept[0], of, at.rng("t"))
    assert asked.question == "How many people are in the image?"


@pytest.mark.parametrize(
    ("question", "answer", "wanted"),
    [
        ("How many dogs are there?", "3", ("dogs", 3)),
        ("How many traffic lights are in the image?", "two", ("traffic lights", 2)),
        ("How many people can be seen in this photo?", "12", ("people", 12)),
        ("How many cats?", "1", ("cats", 1)),
        ("How many cats are on the sofa?", "1", counting.OTHER_QUESTION),  # asks where, too
        ("How many red cars are there?", "1", counting.OTHER_QUESTION),  # asks for a colour, too
        ("How many cars are there in front of the house?", "1", counting.OTHER_QUESTION),
        ("What is this?", "1", counting.OTHER_QUESTION),
        ("How many dogs are there?", "many", counting.NO_NUMBER),
        ("How many dogs are there?", "0", counting.RANGE),
        ("How many dogs are there?", "41", counting.RANGE),
    ],
)
def test_questions_of_people(question: str, answer: str, wanted: tuple[str, int] | str) -> None:
    at = curating()
    held = scene(
        source="VQAv2", questions=(ImageQuestion("1", question, (answer, "5")), ImageQuestion("2", question, (answer,)))
    )
    found = list(counting.find(held, at))
    if isinstance(wanted, str):
        assert (found, set(at.ledger.dropped)) == ([], {("counting", "VQAv2", wanted)})
    else:
        [one] = found  # the second question of the same things is not asked
        assert (one.truth["things"], one.truth["count"]) == wanted
        of = ItemSource("h", Media("a" * 64, "image", "jpg", 100, 100), "c", "VQAv2")
        assert counting.CURATION.make_item(one, of, at.rng("t")).question == question


def test_every_dataset_has_its_own_numbers() -> None:
    at = curating(Rules(counted_open=Caps(2, 3, 2), counted_fsc=Caps(1, 1, 1)))
    found = [
        one
        for source in ("LVIS", "FSC-147")
        for n in range(8)
        for one in counting.find(scene(*[Annotation("cup", BOX)] * (1 + n % 2), source=source, record=f"{n}"), at)
    ]
    kept = counting.select(found, at)
    assert sorted((one.origin.source, one.bin) for one in kept) == [
        *[("FSC-147", "01"), ("FSC-147", "02")],
        *[("LVIS", "01")] * 3,
        *[("LVIS", "02")] * 3,
    ]
