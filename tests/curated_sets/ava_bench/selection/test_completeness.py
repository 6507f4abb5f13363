"""One rule for all abilities, on small files of LVIS and COCO: all things of a class in an image must be known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from snellen.curated_sets.ava_bench.abilities import counting, localization, spatial
from snellen.curated_sets.ava_bench.selection.completeness import CROWD, IGNORED, LOST, NOT_EXHAUSTIVE, completeness
from snellen.curated_sets.datasets import DATASETS
from tests.curated_sets.ava_bench.selection.fixtures import FewChoices, curating, scene
from tests.curated_sets.ava_bench.selection.marked_scenes import annotation
from tests.curated_sets.datasets.layouts import image_files, write

DOG, CAT, HAT = 1, 2, 3
CATEGORIES = [{"id": id, "name": name} for id, name in ((DOG, "dog"), (CAT, "cat"), (HAT, "hat"))]
CHOICES = FewChoices({"LVIS": {"dog": "dog", "cat": "cat"}, "Objects365": {"dog": "dog", "cat": "cat"}})
DOG_BOX, CAT_BOX, OTHER_BOX = [0.0, 0.0, 3.0, 2.0], [4.0, 3.0, 3.0, 2.0], [4.0, 0.0, 3.0, 2.0]
"""Boxes in images of 8 x 6 pixels, of which 6 square pixels are an eighth."""


def row(id: int, category: int, box: list[float], **fields: Any) -> dict[str, Any]:
    return {"id": id, "image_id": 5, "category_id": category, "bbox": box, "area": 6.0, **fields}


DOG_AND_CAT = (row(1, DOG, DOG_BOX), row(2, CAT, CAT_BOX))


def sample_of(
    root: Path, source: str, rows: tuple[dict[str, Any], ...], fields: Mapping[str, Any], **extra: Any
) -> Any:
    """The sample of a file with these annotations."""
    name, image = {
        "LVIS": ("lvis_v1_train.json", "train2017/a.jpg"),
        "Objects365": ("zhiyuan_objv2_train.json", "train/patch0/a.jpg"),
    }[source]
    fields_of_image = {
        "id": 5, "width": 8, "height": 6, "coco_url": "http://x/train2017/a.jpg", "file_name": "patch0/a.jpg",
    }  # fmt: skip
    content = {"images": [{**fields_of_image, **fields}], "annotations": rows, "categories": CATEGORIES, **extra}
    write(root, {**image_files(image), name: json.dumps(content).encode()})
    (sample,) = DATASETS.get(source).samples(root)
    return sample


CASES: list[tuple[str, str, tuple[dict[str, Any], ...], dict[str, Any], dict[str, str]]] = [
    ("all known", "LVIS", DOG_AND_CAT, {}, {}),
    ("the same row twice", "LVIS", (*DOG_AND_CAT, DOG_AND_CAT[0]), {}, {}),
    ("not exhaustive", "LVIS", DOG_AND_CAT, {"not_exhaustive_category_ids": [DOG]}, {"dog": NOT_EXHAUSTIVE}),
    ("crowd", "Objects365", (row(1, DOG, DOG_BOX, iscrowd=1), DOG_AND_CAT[1]), {}, {"dog": CROWD}),
    ("another crowd", "Objects365", (*DOG_AND_CAT, row(3, DOG, OTHER_BOX, iscrowd=1)), {}, {"dog": CROWD}),
    ("an id of another dog", "LVIS", (*DOG_AND_CAT, row(1, DOG, OTHER_BOX)), {}, {"dog": LOST, "cat": LOST}),
    ("an id of another class", "LVIS", (*DOG_AND_CAT, row(1, HAT, DOG_BOX)), {}, {"dog": LOST, "cat": LOST}),
    ("unknown class", "LVIS", (*DOG_AND_CAT, row(3, 9, OTHER_BOX)), {}, {"dog": LOST, "cat": LOST}),
    ("a box of no use", "LVIS", (*DOG_AND_CAT, row(3, DOG, [3.0, 3.0, -2.0, 1.0])), {}, {"dog": LOST, "cat": LOST}),
]


@pytest.mark.parametrize(("source", "rows", "fields", "rules"), [case[1:] for case in CASES], ids=[c[0] for c in CASES])
def test_localization_object_counting_and_spatial_agree(
    source: str, rows: tuple[dict[str, Any], ...], fields: dict[str, Any], rules: dict[str, str], tmp_path: Path
) -> None:
    sample = sample_of(tmp_path, source, rows, fields)
    assert {label: rule for label in ("dog", "cat") if (rule := completeness(sample).rule(label))} == rules
    known = {"dog", "cat"} - set(rules)
    context = curating(choices=CHOICES)
    assert {candidate.label for candidate in localization.find(sample, context)} == known
    if source == "LVIS":
        assert {candidate.label for candidate in counting.find(sample, context)} == known
    pair = [set(candidate.truth["labels"]) for candidate in spatial.find(sample, context)]
    assert pair == ([known] if len(known) == 2 else [])  # a single thing has no relative position
    without_partner = {spatial.ALONE} if len(known) == 1 else set()
    assert {rule for _, _, rule in context.ledger.dropped} == set(rules.values()) | without_partner


def test_two_images_with_one_id_leave_nothing_known(tmp_path: Path) -> None:
    """It is unknown whose annotations they are: the dog of b.jpg would be boxed in a.jpg."""
    image = {"id": 5, "width": 8, "height": 6, "file_name": "patch0/a.jpg"}
    images = [image, {**image, "file_name": "patch0/b.jpg"}]
    sample = sample_of(tmp_path, "Objects365", DOG_AND_CAT, {}, images=images)
    assert completeness(sample).rule("dog") == LOST
    assert not list(localization.find(sample, curating(choices=CHOICES)))


def test_unseparated_people_leave_a_crowd_uncounted() -> None:
    crowd = scene(annotation("person"), annotation("mask", ignore=True), source="CrowdHuman")
    assert completeness(crowd).rule("person") == IGNORED


def test_things_whose_labels_share_a_name_are_not_alone() -> None:
    choices = FewChoices({"LVIS": {"dog": "dog", "puppy": "dog"}})
    context = curating(choices=choices)
    sample = scene(annotation("dog", (0.0, 0.0, 40.0, 40.0)), annotation("puppy", (50.0, 50.0, 90.0, 90.0)))
    assert not list(localization.find(sample, context))
    assert context.ledger.dropped == {(localization.NAME, "LVIS", localization.SEVERAL): 2}
