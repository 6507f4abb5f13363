"""The user's own boxes, worked by hand: tables, YOLO labels and VOC files with faults, and what is noted of each."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.core.storage.user_files import file_fault
from snellen.datasets import own_boxes
from snellen.datasets.fitting import fit_box
from snellen.datasets.own_boxes import NO_BOX, OwnBoxes
from snellen.datasets.sample import NOT_EXHAUSTIVE_FIELD, Note, Sample
from tests.helpers.shards import IMAGE, cell, write_shard

HEADER = "path,class,x1,y1,x2,y2"


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Three images of 100 x 50 pixels, two of them with one stem."""
    folder = tmp_path / "images"
    for name in ("a.png", "b.png", "sub/a.png"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (100, 50)).save(folder / name)
    return folder


def read(images: Path, name: str, text: str, **fields: Any) -> tuple[dict[str, Sample], list[str]]:
    """The samples by record, and the notes, of a file of boxes or a folder with this file."""
    path = images.parent / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    boxes = OwnBoxes(images, path if "/" not in name else path.parent, **fields)
    records = list(boxes.samples())
    notes = [f"{r.kind}: {r.message} ({r.location})" for r in records if isinstance(r, Note)]
    return {r.record_id: r for r in records if isinstance(r, Sample)}, notes


def objects(sample: Sample) -> list[tuple[str, tuple[float, ...]]]:
    return [(a.label, tuple(round(side, 6) for side in a.box or ())) for a in sample.annotations]


def test_rows_of_a_table_that_are_no_boxes_are_noted_and_counted_for_their_image(images: Path) -> None:
    rows = [
        HEADER, "a.png,red_ball,1,2,30,40", "b.png,cat,50,2,90,x", "b.png,,1,1,2,2", "../x.png,cat,1,1,2,2",
        "none.png,cat,1,1,2,2", "a.png,cat,90,10,110,20", "a.png,cat,120,10,130,20",
    ]  # fmt: skip
    samples, notes = read(images, "b.csv", "\n".join(rows))
    assert {record: (objects(sample), sample.lost) for record, sample in samples.items()} == {
        "a.png": ([("red ball", (1, 2, 30, 40)), ("cat", (90, 10, 100, 20))], 1),
        "b.png": ([], 2),
    }
    assert samples["a.png"].size == (100, 50)
    assert [annotation.area for annotation in samples["a.png"].annotations] == [29 * 38, 100]
    assert notes == [
        "odd: row without a class or four numbers (b.csv row 3)",
        "odd: row without a class or four numbers (b.csv row 4)",
        "odd: image outside the folder (b.csv row 5)",
        "odd: box exceeds its image and is clipped (a.png: cat [90.0, 10.0, 110.0, 20.0])",
        "odd: box outside its image (a.png: cat [120.0, 10.0, 130.0, 20.0])",
        "missing: image of an annotation (none.png)",
    ]


@pytest.mark.parametrize(
    ("header", "box"),
    [("xmin;ymin;xmax;ymax", "5;6;15;26"), ("X;Y;Width;Height", "5;6;10;20"), ("x1;y1;x2;y2", "5;6;15;26")],
)
def test_a_table_has_corners_or_extents(images: Path, header: str, box: str) -> None:
    samples, notes = read(images, "b.csv", f"File;Label;{header}\na.png;cat;{box}\n")
    assert (objects(samples["a.png"]), notes) == ([("cat", (5, 6, 15, 26))], [])


@pytest.mark.parametrize(
    ("exhaustive", "of_a", "of_b"), [(None, ("dog",), ()), (True, (), ()), (False, ("cat", "dog"), ("dog",))]
)
def test_classes_of_which_not_all_are_marked_are_those_of_the_rows_unless_all_or_none_are(
    images: Path, exhaustive: bool | None, of_a: tuple[str, ...], of_b: tuple[str, ...]
) -> None:
    rows = ["a.png,cat,1,1,9,9,Yes", "a.png,dog,1,1,9,9,no", "b.png,dog,1,1,9,9,1", "b.png,dog,1,1,8,8,TRUE"]
    samples, _ = read(images, "b.csv", "\n".join([f"{HEADER},exhaustive", *rows]), exhaustive=exhaustive)
    assert [samples[name].attributes[NOT_EXHAUSTIVE_FIELD] for name in ("a.png", "b.png")] == [of_a, of_b]


@pytest.mark.parametrize(
    ("columns", "cells", "label", "extra"),
    [
        ("depth", "2.5", "cat", {"nearest_m": 2.5}),
        ("depth", "far", "cat", {}),
        ("orientation", "Front-LEFT_up", "cat", {"orientation": "front left up"}),
        ("text", "STOP", "cat", {"text": "STOP"}),
        ("text", "STOP", "", {"text": "STOP"}),
        ("rgb", "1 2 255", "cat", {"rgb": (1.0, 2.0, 255.0)}),
        ("rgb,colour", "1 2 3,#0000ff", "cat", {"rgb": (0.0, 0.0, 255.0)}),
        ("color", "1 2 256", "cat", {}),
    ],
)
def test_columns_of_an_object_are_read(
    images: Path, columns: str, cells: str, label: str, extra: dict[str, Any]
) -> None:
    samples, _ = read(images, "b.csv", f"{HEADER},{columns}\na.png,{label},1,1,9,9,{cells}\n")
    (annotation,) = samples["a.png"].annotations
    assert (annotation.label, annotation.extra) == (label or "text", extra)


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("data.yaml", "names: [cat, big_dog]"), ("dataset.yaml", "names: {1: big_dog, 0: cat}"),
        ("classes.txt", "cat\nbig_dog\n"), ("names.txt", "cat\nbig_dog\n"), ("obj.names", "cat\nbig_dog\n"),
    ],
)  # fmt: skip
def test_yolo_s_lines_are_boxes_or_outlines_of_named_classes(images: Path, name: str, names: str) -> None:
    (images.parent / "labels").mkdir()
    (images.parent / "labels" / name).write_text(names)
    (images.parent / "labels" / "none.txt").write_text("0 0.5 0.5 0.2 0.4")
    lines = ["0 0.5 0.5 0.2 0.4", "1 0.1 0.2 0.5 0.3 0.4 0.6", "2 0.5 0.5 0.2 0.4", "0 0.5 0.5 0.2", "0 a b c d",
             "0 0.5 0.5 0.2 0.4 0.1 0.1 2 0.3 0.3"]  # fmt: skip
    samples, notes = read(images, "labels/b.txt", "\n".join(lines))
    assert list(samples) == ["b.png"]
    assert objects(samples["b.png"]) == [("cat", (40, 15, 60, 35)), ("big dog", (10, 10, 50, 30))]
    assert samples["b.png"].lost == 4
    pose = f"odd: {NO_BOX} (of a pose? Its data.yaml needs kpt_shape) (b.txt)"
    assert sorted(notes) == sorted(["missing: image of these labels (none.txt)", *[f"odd: {NO_BOX} (b.txt)"] * 3, pose])


def test_labels_in_a_folder_are_of_the_image_in_that_folder(images: Path) -> None:
    labels = images.parent / "labels"
    (labels / "sub").mkdir(parents=True)
    (labels / "classes.txt").write_text("cat")
    (labels / "sub" / "a.txt").write_text("0 0.5 0.5 0.2 0.4")
    samples, notes = read(images, "labels/a.txt", "0 0.25 0.5 0.5 1")
    boxes = {record: [box for _, box in objects(sample)] for record, sample in samples.items()}
    assert (boxes, notes) == ({"a.png": [(0, 0, 50, 50)], "sub/a.png": [(40, 15, 60, 35)]}, [])


def voc(name: str, *sides: object) -> str:
    corners = zip(("xmin", "ymin", "xmax", "ymax"), sides, strict=False)
    box = "".join(f"<{side}>{number}</{side}>" for side, number in corners)
    return f"<object><name>{name}</name><bndbox>{box}</bndbox></object>"


def test_a_name_that_several_images_or_labels_have_is_of_none_of_them(images: Path) -> None:
    folders = [images.parent / "yolo", images.parent / "voc"]
    labels = {"sub/a": 11, "b": 21, "other/b": 31, "old/a": 41}
    for name, left in labels.items():
        for folder in folders:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folders[0] / f"{name}.txt").write_text(f"0 {(left + 4) / 100} 0.5 0.1 0.2")
        (folders[1] / f"{name}.xml").write_text(f"<annotation>{voc('cat', left, 21, left + 9, 30)}</annotation>")
    (folders[0] / "classes.txt").write_text("cat")
    for folder, what in zip(folders, ("these labels (%s.txt)", "this annotation (%s.xml)"), strict=True):
        records = list(OwnBoxes(images, folder).samples())
        boxes = {r.record_id: [box[0] for _, box in objects(r)] for r in records if isinstance(r, Sample)}
        assert boxes == {"sub/a.png": [10], "b.png": [20]}
        notes = [f"{r.message} ({r.location})" for r in records if isinstance(r, Note)]
        assert sorted(notes) == [f"image of {what % name}" for name in "ab"]
    alone = images.parent / "alone"
    alone.mkdir()
    (alone / "a.xml").write_text("<annotation/>")
    (images / "a.png").rename(images / "x.png")
    assert [r.record_id for r in OwnBoxes(images, alone).samples() if isinstance(r, Sample)] == ["sub/a.png"]


def test_records_of_a_coco_file_that_share_the_name_of_a_flat_image_are_of_none(images: Path) -> None:
    names = ["cam1/a.png", "cam2/a.png", "cam1/b.png"]
    rows = [{"id": n, "file_name": name, "width": 100, "height": 50} for n, name in enumerate(names)]
    boxes = [{"id": n, "image_id": n, "category_id": 1, "bbox": [n, 2, 30, 40]} for n in range(3)]
    content = {"images": rows, "categories": [{"id": 1, "name": "cat"}], "annotations": boxes}
    samples, notes = read(images, "b.json", json.dumps(content))
    assert {record: objects(sample) for record, sample in samples.items()} == {"b.png": [("cat", (2, 2, 32, 42))]}
    assert notes == ["missing: image that only these labels name (a.png)"] * 2


def test_voc_counts_pixels_from_one_and_objects_of_another_form_are_lost(images: Path) -> None:
    (images.parent / "xml").mkdir()
    (images.parent / "xml" / "none.xml").write_text(f"<annotation>{voc('cat', 1, 1, 9, 9)}</annotation>")
    (images.parent / "xml" / "torn.xml").write_text("<annotation>")
    parts = [voc("cat", 11, 21, 30, 40), voc("cat", 0, 1, 9, 9), voc("", 1, 1, 9, 9), voc("dog", 1, 1, 9)]
    samples, notes = read(images, "xml/b.xml", f"<annotation>{''.join(parts)}</annotation>")
    assert objects(samples["b.png"]) == [("cat", (10, 20, 30, 40)), ("cat", (0, 0, 9, 9))]
    assert samples["b.png"].lost == 2
    assert notes == [
        *["odd: object without a class or four numbers (b.xml)"] * 2,
        "missing: image of this annotation (none.xml)",
        "unreadable: not a Pascal VOC annotation (torn.xml)",
    ]


@pytest.mark.parametrize("side", range(4))
def test_each_side_of_a_box_is_a_number_and_at_most_a_pixel_outside_silently(side: int) -> None:
    near, far, odd = ([2.0, 2.0, 98.0, 48.0] for _ in range(3))
    sides, outward = (0, 0, 100, 50), (-1, -1, 1, 1)[side]
    near[side], far[side], odd[side] = sides[side] + outward, sides[side] + 1.1 * outward, math.nan
    clipped = tuple(sides[side] if n == side else number for n, number in enumerate(near))
    assert fit_box(near, (100, 50)) == (clipped, "")
    assert fit_box(far, (100, 50)) == (clipped, "box exceeds its image and is clipped")
    assert fit_box(odd, (100, 50)) == (None, "box without four numbers")


def test_fields_of_a_dataset_s_objects_are_read_as_columns(tmp_path: Path) -> None:
    objects = [{"bbox": [1.0, 2.0, 3.0, 4.0], "category": "cat", "depth": 2.5, "text": None}]
    write_shard(tmp_path / "t.parquet", {"image": [cell("a", 0)], "objects": [objects]}, {"image": IMAGE})
    (sample,) = OwnBoxes(tmp_path, None).samples()
    assert isinstance(sample, Sample)
    assert [(a.label, a.box, a.extra) for a in sample.annotations] == [("cat", (1, 2, 4, 6), {"nearest_m": 2.5})]


def test_an_image_whose_levels_cannot_be_shown_is_left_out(images: Path) -> None:
    Image.fromarray(np.full((50, 100), 300, np.uint16)).save(images / "a.png")
    samples, notes = read(images, "b.csv", f"{HEADER}\na.png,cat,1,1,9,9\nb.png,cat,1,1,9,9\n")
    assert list(samples) == ["b.png"]
    assert [note.startswith("unreadable: levels of more than 8 bits") for note in notes] == [True]


def test_an_image_that_is_too_large_a_file_is_not_opened(images: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = (images / "a.png").stat().st_size
    monkeypatch.setattr(own_boxes, "file_fault", lambda path: file_fault(path, limit - (path.name == "a.png")))
    samples, notes = read(images, "b.csv", f"{HEADER}\na.png,cat,1,1,9,9\nb.png,cat,1,1,9,9\n")
    assert list(samples) == ["b.png"]
    assert notes == ["unreadable: file of more than 0 MB (a.png)"]


def test_a_class_of_no_use_in_a_prompt_is_lost(images: Path) -> None:
    rows = [HEADER, f"a.png,{'x' * 200},1,1,9,9", f"a.png,{'x' * 201},1,1,9,9", "a.png,___,1,1,9,9"]
    samples, notes = read(images, "b.csv", "\n".join(rows))
    assert ([label for label, _ in objects(samples["a.png"])], samples["a.png"].lost) == (["x" * 200], 2)
    assert notes == ["odd: empty, overlong or invalid class (a.png)"] * 2


def test_boxes_in_no_known_place_or_form_are_named(images: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "boxes.txt").write_text("")
    for name, problem in (("empty", "no boxes in it"), ("none", "no such file"), ("boxes.txt", "unknown format")):
        with pytest.raises(SnellenError, match=f"{name}: {problem}; give --source boxes="):
            list(OwnBoxes(images, tmp_path / name).samples())
    with pytest.raises(SnellenError, match="not a folder of images"):
        list(OwnBoxes(tmp_path / "none", tmp_path / "empty").samples())
    with pytest.raises(SnellenError, match="not a Hugging Face dataset"):
        list(OwnBoxes(images, None).samples())
    with pytest.raises(SnellenError, match="no columns x1, y1, x2, y2"):
        read(images, "b.csv", "path,class,x1,y1,x2\na.png,cat,1,1,9\n")
    with pytest.raises(SnellenError, match="no class names"):
        read(images, "labels/b.txt", "0 0.5 0.5 0.2 0.4")


@pytest.mark.parametrize(
    ("exhaustive", "names"), [(None, ("big dog",)), (True, ("big dog",)), (False, ("big dog", "cat"))]
)
def test_a_coco_file_names_classes_of_which_not_all_are_marked(
    images: Path, exhaustive: bool | None, names: tuple[str, ...]
) -> None:
    listed = {"id": 1, "file_name": "a.png", "width": 100, "height": 50, NOT_EXHAUSTIVE_FIELD: [2]}
    boxes = [{"id": n, "image_id": 1, "category_id": n, "bbox": [n, 2, 30, 40]} for n in (1, 2)]
    categories = [{"id": 1, "name": "cat"}, {"id": 2, "name": "big_dog"}]
    content = {"images": [listed], "categories": categories, "annotations": boxes}
    samples, _ = read(images, "b.json", json.dumps(content), exhaustive=exhaustive)
    assert samples["a.png"].attributes[NOT_EXHAUSTIVE_FIELD] == names
