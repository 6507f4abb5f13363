"""The recipe from folders to items: splits, the card, small sets, and damage that must neither stop it nor pass."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet, read_itemset
from snellen.curated_sets.ava_bench.abilities import localization
from snellen.curated_sets.ava_bench.recipe import TWICE, Curated
from snellen.curated_sets.ava_bench.selection.images import OTHER_SIZE, UNREADABLE
from snellen.curated_sets.ava_bench.selection.rules import Rules
from snellen.curated_sets.ava_bench.selection.splits import ONE_SIDE
from snellen.curated_sets.rules import Caps
from tests.goldens.descriptions import grouped_set_text, masked
from tests.goldens.golden import assert_golden
from tests.suites.ava_bench.fixtures import ATOMIC

FEW = Curated(Rules(counted_open=Caps(2, 6, 1)))
KINDS = {1: "giraffe", 2: "elephant", 3: "cup"}
"""Categories of LVIS: the first two are among those of localization, cups are only counted."""


def jpeg(number: int, size: tuple[int, int] = (64, 48)) -> bytes:
    pixels = stream("t", number).integers(0, 256, (size[1] // 8, size[0] // 8, 3), np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).resize(size, Image.Resampling.NEAREST).save(buffer, "JPEG")
    return buffer.getvalue()


def lvis(root: Path, things_of: Mapping[int, list[tuple[int, list[float]]]], **broken: bytes) -> Path:
    """A dataset in the form of LVIS, with the things of each image as (category, [x, y, width, height])."""
    folder = root / "LVIS"
    (folder / "train2017").mkdir(parents=True)
    for number in things_of:
        (folder / "train2017" / f"{number:012}.jpg").write_bytes(broken.get(f"p{number}", jpeg(number)))
    annotations = [
        {"id": 100 * number + n, "image_id": number, "category_id": kind, "bbox": box, "area": box[2] * box[3]}
        for number, labelled_boxes in things_of.items()
        for n, (kind, box) in enumerate(labelled_boxes)
    ]
    images = [
        {"id": number, "width": 64, "height": 48, "coco_url": f"http://x/train2017/{number:012}.jpg",
         "not_exhaustive_category_ids": []} for number in things_of
    ]  # fmt: skip
    kinds = [{"id": number, "name": name} for number, name in KINDS.items()]
    content = {"images": images, "annotations": annotations, "categories": kinds}
    (folder / "lvis_v1_train.json").write_text(json.dumps(content))
    (folder / "lvis_v1_val.json").write_text(json.dumps({**content, "images": [], "annotations": []}))
    return folder


def intact(count: int = 30) -> dict[int, list[tuple[int, list[float]]]]:
    """The things of images that each have a giraffe or an elephant, and one or two cups."""
    box = [8.0, 8.0, 20.0, 16.0]
    return {n: [(1 + n % 2, box), *[(3, [40.0, 30.0, 6.0, 6.0])] * (1 + n // 2 % 2)] for n in range(count)}


def build(tmp_path: Path, recipe: Curated = FEW, **options: Any) -> ItemSet:
    fields = {"sources": {"data": tmp_path}, "show_progress": False, **options}
    return recipe.build(BuildOptions(out=tmp_path / "set", **fields))


def item_counts(items: ItemSet) -> Counter[tuple[str, str, str]]:
    return Counter((item.task, item.factors.get("thing", ""), item.split) for item in items.items)


def test_every_class_and_bin_is_in_both_splits_and_no_image_is(tmp_path: Path) -> None:
    lvis(tmp_path, intact())
    items = build(tmp_path)
    assert {"localization", "counting", "object"} <= {item.task for item in items.items}
    counts = item_counts(items)
    for task in ("localization", "object"):
        for kind in ("giraffe", "elephant"):  # 15 images, whose split must also fit the counts of cups
            assert counts[task, kind, "train"] + counts[task, kind, "test"] == 15
            assert 2 <= counts[task, kind, "test"] <= 4
    splits_by_image: dict[str, set[str]] = {}
    for item in items.items:
        splits_by_image.setdefault(item.query[0].sha256, set()).add(item.split)
    assert all(len(splits) == 1 for splits in splits_by_image.values())
    cup_counts = Counter((item.answer, item.split) for item in items.items if item.factors.get("thing") == "cups")
    assert set(cup_counts) == {(1, "train"), (1, "test"), (2, "train"), (2, "test")}


def test_the_set_can_be_read_and_records_what_was_kept_and_left_out(tmp_path: Path) -> None:
    lvis(tmp_path, {**intact(), 99: [(1, [0.0, 0.0, 2.0, 2.0])]})
    build(tmp_path, tasks=("localization", "object"))
    itemset = read_itemset(tmp_path / "set")
    curation = itemset.card.provenance["curation"]
    assert curation[localization.NAME]["LVIS"]["kept"] == 30
    assert curation[localization.NAME]["LVIS"]["dropped"][localization.AREA] == {
        "count": 1,
        "examples": ["train2017/000000000099.jpg: giraffe, 0.0013 of the image"],
    }
    assert itemset.card.provenance["balance"][localization.NAME] == {
        "classes_and_bins": 2, "train": 24, "test": 6, "test_share": 0.2, "least_test_share": 0.2,
        "greatest_test_share": 0.2,
    }  # fmt: skip
    rows = pd.read_csv(tmp_path / "set" / "curation.csv")
    assert set(rows.columns) == {"task", "source", "rule", "count", "examples"}
    files = {path.name.split(".")[0] for path in (tmp_path / "set" / "media").rglob("*.*")}
    assert files == {item.query[0].sha256 for item in itemset.items}  # only images of items are stored


def test_names_and_records_stay_out_of_ids(tmp_path: Path) -> None:
    lvis(tmp_path, intact())
    for item in build(tmp_path).items:
        ids = " ".join([item.item_id, item.group_id, item.cluster_id, item.stimulus_id])
        assert not any(word in ids for word in ("giraffe", "elephant", "cup", "00000"))


def test_only_the_seed_decides(tmp_path: Path) -> None:
    lvis(tmp_path, intact())
    hashes = [
        FEW.build(BuildOptions(tmp_path / f"s{n}", seed=seed, sources={"data": tmp_path}, show_progress=False)).card
        for n, seed in enumerate((1, 1, 2))
    ]
    assert hashes[0].content_hash == hashes[1].content_hash != hashes[2].content_hash
    assert hashes[0].recipe_hash == hashes[1].recipe_hash


def test_n_is_the_maximum_number_of_test_items(tmp_path: Path) -> None:
    lvis(tmp_path, intact())
    items = build(tmp_path, n=2)
    tests = Counter(item.task for item in items.items if item.split == "test" and item.task != "colour")
    assert tests == {"localization": 2, "object": 2, "counting": 2}
    assert len(items.task("localization")) == 10


def test_one_dataset_and_one_task_can_be_named(tmp_path: Path) -> None:
    folder = lvis(tmp_path, intact())
    items = build(tmp_path, sources={"LVIS": folder}, tasks=("object",))
    assert {item.task for item in items.items} == {"object"}
    plan = FEW.plan(BuildOptions(tmp_path / "p", sources={"LVIS": folder}, tasks=("object",), show_progress=False))
    assert plan["items"] == {"object": 30}
    step = FEW.plan(BuildOptions(tmp_path / "p", sources={"LVIS": folder}, tasks=("scene-merges",)))
    assert step["step"] == "scene-merges"
    assert "needs" not in step


@pytest.mark.parametrize(
    ("sources", "tasks", "message"),
    [
        ({}, (), "--source data=ROOT"),
        ({"data": "."}, (), r"no dataset to build from in .*; give --source"),
        ({"LVYS": "."}, (), "no source 'LVYS'"),
        ({"LVIS": "."}, ("colours",), "no task 'colours'"),
        ({"CARPK": "."}, ("object",), "none of them is given"),
        ({"LVIS": "."}, ("scene-merges", "object"), "ava-bench/scene-names: build this step on its own; leave out"),
    ],
)
def test_invalid_sources_and_tasks_are_refused(
    tmp_path: Path, sources: dict[str, str], tasks: tuple[str, ...], message: str
) -> None:
    folders = dict.fromkeys(sources, tmp_path)
    with pytest.raises(SnellenError, match=message):
        FEW.build(BuildOptions(tmp_path / "set", sources=folders, tasks=tasks, show_progress=False))
    with pytest.raises(SnellenError, match="no --input 'scene-name'; did you mean 'scene-names'"):
        FEW.build(BuildOptions(tmp_path / "set", sources=folders, inputs={"scene-name": tmp_path}))


def test_a_named_folder_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    lvis(tmp_path, intact())
    (tmp_path / "sources.yaml").write_text("CARPK: elsewhere\n")
    with pytest.raises(SnellenError, match=r"sources\.yaml: CARPK: .*elsewhere is not a folder; fix the path"):
        build(tmp_path)


def test_damage_is_reported_and_nothing_else_is_lost(tmp_path: Path) -> None:
    things_of = intact()
    things_of[100] = [(1, [60.0, 40.0, -5.0, 4.0])]  # inverted
    things_of[101] = [(1, [10.0, 10.0, 0.0, 5.0])]  # no area
    things_of[102] = [(1, [200.0, 10.0, 5.0, 5.0])]  # outside
    things_of[103] = [(1, [8.0, 8.0, 20.0, 16.0])]  # the image is cut short
    things_of[104] = [(1, [8.0, 8.0, 20.0, 16.0])]  # the image is of another size
    things_of[105] = [(1, [8.0, 8.0, 20.0, 16.0])]  # no image
    folder = lvis(tmp_path, things_of, p103=jpeg(103)[:400], p104=jpeg(104, (80, 48)))
    (folder / "train2017" / f"{105:012}.jpg").unlink()
    path = folder / "lvis_v1_train.json"
    content = json.loads(path.read_text())
    content["annotations"].append(content["annotations"][0])  # a duplicate id
    content["annotations"].append({"id": "x", "image_id": 0})  # no annotation
    path.write_text(json.dumps(content))
    items = build(tmp_path)
    curation = items.card.provenance["curation"]
    rules = {
        rule
        for sources in curation.values()
        for source_curation in sources.values()
        for rule in source_curation["dropped"]
    }
    for rule in (
        "odd: inverted box",
        "odd: box without area",
        "odd: box outside its image",
        "odd: two annotations with one id; the first counts",
        "missing: image of an annotation",
        "unreadable: element of annotations in another form",
        UNREADABLE,
        OTHER_SIZE,
    ):
        assert rule in rules
    assert item_counts(items)["localization", "giraffe", "train"] >= 11  # image 0 lost an annotation and is left out


def test_classes_of_too_few_images_are_reported(tmp_path: Path) -> None:
    lvis(tmp_path, {n: [(1, [8.0, 8.0, 20.0, 16.0])] for n in range(5)} | {9: [(2, [8.0, 8.0, 20.0, 16.0])]})
    items = build(tmp_path, tasks=("localization",))
    assert set(item_counts(items)) == {("localization", "giraffe", "train"), ("localization", "giraffe", "test")}
    dropped = items.card.provenance["curation"][localization.NAME]["LVIS"]["dropped"]
    assert dropped["fewer than 5 in a bin of a class"] == {"count": 1, "examples": ["elephant"]}


def test_a_copy_of_an_image_is_in_the_same_split(tmp_path: Path) -> None:
    things_of = {n: [(1, [8.0, 8.0, 20.0, 16.0])] for n in range(20)}
    copies = {f"p{n}": jpeg(n % 5) for n in range(20)}  # five images, each under four numbers
    lvis(tmp_path, things_of, **copies)
    items = build(tmp_path, tasks=("object",))
    tests = {item.query[0].sha256 for item in items.items if item.split == "test"}
    assert len(tests) == 1
    assert tests.isdisjoint(item.query[0].sha256 for item in items.items if item.split == "train")


def test_frames_of_a_video_are_in_one_split(tmp_path: Path) -> None:
    folder = tmp_path / "VSCrowd"
    (folder / "annotations").mkdir(parents=True)
    for video in range(20):  # four frames each, of two, two, three and four people
        frames = folder / "videos" / f"train_{video:03}"
        frames.mkdir(parents=True)
        lines = []
        for frame, count in enumerate((2, 2, 3, 4), 1):
            (frames / f"{frame:06}.jpg").write_bytes(jpeg(4 * min(video, 18) + frame))  # the last video exists twice
            lines.append(f"{frame:06}" + "".join(f" {n} {8 * n} 1 {8 * n + 6} 7 {8 * n + 3} 4" for n in range(count)))
        (folder / "annotations" / f"{frames.name}.txt").write_text("\n".join(lines))
    items = build(tmp_path, Curated(Rules(counted_crowds=Caps(20, 20), crowd_frames=1)))
    assert Counter((item.question, item.answer, item.split) for item in items.items) == {
        ("How many people are in the image?", count, side): share
        for count in (2, 3, 4)
        for side, share in (("train", 16), ("test", 4))
    }
    splits_by_cluster: dict[str, set[str]] = {}
    for item in items.items:
        splits_by_cluster.setdefault(item.cluster_id, set()).add(item.split)
    assert len(splits_by_cluster) == 20
    assert all(len(splits) == 1 for splits in splits_by_cluster.values())
    assert splits_by_cluster["VSCrowd/train_018"] == splits_by_cluster["VSCrowd/train_019"]


def test_a_bin_with_a_single_image_is_left_out(tmp_path: Path) -> None:
    things_of = {n: [(1, [8.0, 8.0, 20.0, 16.0])] for n in range(6)}
    lvis(tmp_path, things_of, **{f"p{n}": jpeg(0) for n in range(6)})
    with pytest.raises(SnellenError, match=ONE_SIDE):
        build(tmp_path, tasks=("object",))


@pytest.mark.parametrize("text", ["{", "[]", '{"images": 3}', ""])
def test_json_of_another_form_is_an_error_without_a_stack_trace(tmp_path: Path, text: str) -> None:
    folder = lvis(tmp_path, intact())
    (folder / "lvis_v1_train.json").write_text(text)
    with pytest.raises(SnellenError, match="no items are left"):
        build(tmp_path)


def test_a_mat_file_of_another_version_does_not_stop_the_build(tmp_path: Path) -> None:
    lvis(tmp_path, intact())
    (tmp_path / "NYU-Depth-V2").mkdir()
    (tmp_path / "NYU-Depth-V2" / "nyu_depth_v2_labeled.mat").write_bytes(b"MATLAB 5.0 MAT-file" + bytes(200))
    items = build(tmp_path)
    curation = items.card.provenance["curation"]
    assert any("NYU-Depth-V2" in sources for sources in curation.values())


def test_a_set_and_its_plan_equal_their_golden(tmp_path: Path) -> None:
    things_of = {**intact(), 99: [(1, [0.0, 0.0, 2.0, 2.0])], 100: [(1, [60.0, 40.0, -5.0, 4.0])]}
    lvis(tmp_path, things_of)
    plan = FEW.plan(BuildOptions(tmp_path / "set", sources={"data": tmp_path}, n=3, show_progress=False))
    items = build(tmp_path, tasks=("localization", "object", "counting"))
    table = (tmp_path / "set" / "curation.csv").read_text()
    assert_golden("curated/ava-things.txt", masked(f"{plan}\n{table}", tmp_path) + grouped_set_text(items, tmp_path))


def test_a_second_image_of_one_name_and_abilities_without_items_are_recorded(tmp_path: Path) -> None:
    path = lvis(tmp_path, intact(12)) / "lvis_v1_train.json"
    content = json.loads(path.read_text())
    content["images"].append({**content["images"][0], "id": 77})
    path.write_text(json.dumps(content))
    items = build(tmp_path)
    assert items.card.provenance["curation"]["all tasks"]["LVIS"]["dropped"][TWICE] == {
        "count": 1, "examples": ["train2017/000000000000.jpg"]
    }  # fmt: skip
    (note,) = (note for note in items.card.notes if note.startswith("nothing was found for "))
    absent = note.removeprefix("nothing was found for ").split(", ")
    assert set(absent) - {"colour"} == set(ATOMIC) - {"colour", "localization", "object", "counting"}
