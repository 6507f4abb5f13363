"""The user's own boxes become a set by one command: the abilities, their truth, and why others are absent."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from PIL import Image

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet
from snellen.curated_sets.ava_bench.own.curations import own_groups
from snellen.curated_sets.ava_bench.own.recipe import Own
from snellen.datasets.own_boxes import OwnBoxes, read_colour
from snellen.datasets.sample import Note, Sample
from snellen.exam.run import run
from tests.cli.conftest import Command, snellen  # noqa: F401  # the fixture
from tests.goldens.descriptions import grouped_set_text, masked
from tests.goldens.golden import assert_golden
from tests.helpers.own_images import (
    BOX_CLASSES,
    boxed_images,
    draw_image,
    write_coco,
    write_table,
    write_voc,
    write_yolo,
)
from tests.helpers.shards import IMAGE, class_label, write_shard

WITH_BOXES = {"localization", "object", "counting", "spatial", "colour"}
WITH_COLUMNS = {"absolute-depth", "relative-depth", "nearer-localization", "orientation", "ocr"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of images, and their boxes in every form."""
    folder = tmp_path_factory.mktemp("own")
    rows = boxed_images(folder / "images", 45)
    write_table(folder / "all.csv", rows)
    write_table(folder / "plain.csv", rows, "path", "class", "x1", "y1", "x2", "y2")
    write_coco(folder / "boxes.json", rows)
    write_yolo(folder / "labels", rows)
    write_voc(folder / "xml", rows)
    write_dataset(folder / "hub" / "train-00000-of-00001.parquet", folder / "images", rows)
    return folder


def write_dataset(path: Path, images: Path, rows: list[dict[str, Any]]) -> Path:
    """Write the rows as a dataset of the Hugging Face libraries, one image per row."""
    names, labels = sorted({row["path"] for row in rows}), list(BOX_CLASSES)
    rows_by_image = [[row for row in rows if row["path"] == name] for name in names]
    objects = [
        {
            "bbox": [[row["x1"], row["y1"], row["x2"] - row["x1"], row["y2"] - row["y1"]] for row in of_image],
            "category": [labels.index(row["class"]) for row in of_image],
        }
        for of_image in rows_by_image
    ]
    cells = [{"bytes": (images / name).read_bytes(), "path": name} for name in names]
    features = {"image": IMAGE, "objects": {"category": {"feature": class_label(*labels), "_type": "List"}}}
    return write_shard(path, {"image": cells, "objects": objects}, features)


def build(root: Path, boxes: str, out: Path, **fields: Any) -> ItemSet:
    sources = {"images": root / "images", "boxes": root / boxes}
    return Own().build(BuildOptions(out, sources=sources, show_progress=False, **fields))


@pytest.fixture(scope="module")
def items(root: Path, tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    """The set of a table with every column."""
    return build(root, "all.csv", tmp_path_factory.mktemp("set") / "set", settings={"exhaustive": "yes"})


def test_one_command_makes_a_set_of_a_coco_file(
    snellen: Command,  # noqa: F811
    root: Path,
    tmp_path: Path,
) -> None:
    words = ("--from", "own", "--source", f"images={root / 'images'}")
    coco = ("--source", f"boxes={root / 'boxes.json'}")
    code, out, err = snellen("build", "ava-bench/counting", *words, *coco, "--out", tmp_path / "set", "--json")
    assert code == 0, err
    # Two classes in 45 images, once or twice: 9 images have two balls, 15 two crates; the larger ones are capped at 30.
    assert json.loads(out)["counts"] == {"counting": {"train": 42, "test": 42}}
    code, out, err = snellen("build", "ava-bench", *words, *coco, "--plan", "--json")
    assert code == 0, err
    plan = json.loads(out)
    assert {name.split()[0] for name in plan["items"]} == WITH_BOXES
    assert (plan["images"], plan["things"]) == (45, {"ball": 54, "crate": 60})
    without = "\n".join(plan["without"])
    assert "ocr: needs a column text" in without
    assert "scene: needs images of one class each" in without


def test_abilities_come_in_the_order_of_the_registry() -> None:
    # The sides of images depend on this order, so another one would change all sets.
    tasks = [task for group in own_groups() for task in group.tasks]
    assert tasks == [
        "localization", "object", "counting", "spatial", "orientation", "absolute-depth", "relative-depth", "colour",
        "ocr", "nearer-localization",
    ]  # fmt: skip


def test_a_small_set_has_the_wanted_number_of_test_items(root: Path, tmp_path: Path) -> None:
    """About half of the chosen images are for training, so twice as many are chosen."""
    (counts,) = build(root, "boxes.json", tmp_path / "set", tasks=("counting",), n=20).card.counts.values()
    assert sum(counts.values()) == 40
    assert 18 <= counts["test"] <= 22


def test_all_forms_give_the_same_boxes(root: Path) -> None:
    forms = ["boxes.json", "labels", "xml", "plain.csv"]
    boxes = [boxes_by_image(OwnBoxes(root / "images", root / form)) for form in forms]
    assert len(boxes[0]) == 45
    assert all(other == boxes[0] for other in boxes[1:])
    dataset = boxes_by_image(OwnBoxes(root / "hub", None))
    assert [dataset[f"train-00000-of-00001.parquet#{n}"] for n in range(45)] == [
        boxes[0][name] for name in sorted(boxes[0])
    ]


def boxes_by_image(boxes: OwnBoxes) -> dict[str, list[tuple[str, tuple[int, ...]]]]:
    """The classes and boxes by image."""
    return {
        sample.record_id: sorted(
            (annotation.label, tuple(round(side) for side in annotation.box))
            for annotation in sample.annotations
            if annotation.box
        )
        for sample in boxes.samples()
        if isinstance(sample, Sample)
    }


def test_a_dataset_needs_no_other_file(root: Path, tmp_path: Path) -> None:
    options = BuildOptions(tmp_path / "set", sources={"images": root / "hub"}, tasks=("counting",), show_progress=False)
    assert Own().build(options).card.counts == {"counting": {"train": 42, "test": 42}}


def test_answers_agree_with_the_table(items: ItemSet, root: Path) -> None:
    assert set(items.card.counts) == WITH_BOXES | WITH_COLUMNS
    table = [line.split(",") for line in (root / "all.csv").read_text().splitlines()[1:]]
    counts = Counter((path, label) for path, label, *_ in table)
    for item in items.task("counting"):
        label = str(item.factors["thing"]).removesuffix("s")
        assert item.answer == counts[item.provenance["record"], label]
    for item in items.task("localization"):
        name, record = item.factors["thing"], item.provenance["record"]
        (row,) = (row for row in table if row[:2] == [record, name])
        assert list(item.answer) == [float(side) for side in row[2:6]]
    for item in items.task("ocr"):
        assert item.answer == f"w{int(item.provenance['record'][:2])}"
    assert all(item.factors["source"] == "own" for item in items.items)


def test_an_oracle_is_always_right_and_chance_rarely(items: ItemSet, tmp_path: Path) -> None:
    rows = run(items, ["fake:oracle", "fake:chance"], tmp_path / "run", limit=8, show_progress=False).all_results()
    overall = rows[(rows["factor"] == "") & rows["metric"].isin(["accuracy", "giou", "relative_error"])]
    oracle = overall[overall["subject"] == "fake:oracle"]
    assert set(oracle["value"].round(3)) <= {0.0, 1.0}
    assert not oracle.empty
    right = overall[(overall["subject"] == "fake:chance") & (overall["metric"] == "accuracy")]
    assert float(right["value"].mean()) < 0.75  # chance is a half with two names or two colours, else less


def test_counting_requires_that_all_things_are_annotated(root: Path, tmp_path: Path) -> None:
    with pytest.raises(SnellenError, match="--set exhaustive=yes"):
        build(root, "plain.csv", tmp_path / "set", tasks=("counting",))
    with pytest.raises(SnellenError, match="not all are annotated"):
        build(root, "boxes.json", tmp_path / "set", tasks=("counting",), settings={"exhaustive": "no"})


def test_an_image_rotated_by_its_header_is_left_out(root: Path, tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[274] = 6
    (tmp_path / "images").mkdir()
    Image.open(root / "images" / "00.png").save(tmp_path / "images" / "a.jpg", exif=exif)
    write_table(tmp_path / "b.csv", [{"path": "a.jpg", "class": "x", "x": 1, "y": 1, "width": 9, "height": 9}])
    (note,) = OwnBoxes(tmp_path / "images", tmp_path / "b.csv").samples()
    assert isinstance(note, Note)
    assert "save it upright" in note.message


def test_colours_are_read() -> None:
    assert read_colour("#ff8000") == (255.0, 128.0, 0.0)
    assert read_colour("255, 128 0") == (255.0, 128.0, 0.0)
    assert read_colour("red") is read_colour("1 2") is read_colour("1 2 300") is read_colour("#12345g") is None


def _own_boxes(folder: Path, name: str, labels: str, card: str) -> tuple[dict[str, Any], str]:
    """Boxes by image of YOLO labels of an image of 100 x 50 pixels, and the notes."""
    (folder / "images").mkdir(exist_ok=True)
    (folder / "labels").mkdir(exist_ok=True)
    Image.new("RGB", (100, 50)).save(folder / "images" / f"{name}.png")
    (folder / "labels" / f"{normalize('NFC', name)}.txt").write_text(labels)
    (folder / "data.yaml").write_text(card)
    records = list(OwnBoxes(folder / "images", folder / "labels").samples())
    boxes = {r.record_id: [a.box for a in r.annotations] for r in records if not isinstance(r, Note)}
    return boxes, " ".join(str(r) for r in records if isinstance(r, Note))


def test_the_box_of_a_pose_is_read_and_predictions_are_named(tmp_path: Path) -> None:
    box, card = "0 0.5 0.5 0.2 0.4", "names: [tiger]\nkpt_shape: [2, 2]\n"
    boxes, _ = _own_boxes(tmp_path, "a", f"{box} 0.1 0.1 0.9 0.9\n", card)
    assert boxes["a.png"] == [pytest.approx((40, 15, 60, 35))]
    boxes, _ = _own_boxes(tmp_path, "a", f"{box} 0.1 0.1 2 0.9 0.9 2 0.2 0.2 0\n", card.replace("2, 2", "3, 3"))
    assert boxes["a.png"] == [pytest.approx((40, 15, 60, 35))]
    assert "a confidence: predictions" in _own_boxes(tmp_path, "a", f"{box} 0.93\n", card)[1]


def test_files_of_other_forms_are_named(tmp_path: Path) -> None:
    boxes, _ = _own_boxes(tmp_path, "a", "0 0.5 0.5 0.2 0.4\n", "names: [tiger]\n")
    (tmp_path / "train").mkdir()
    (tmp_path / "labels").rename(tmp_path / "train" / "labels")
    (record,) = OwnBoxes(tmp_path / "images", tmp_path / "train" / "labels").samples()  # Roboflow: two levels up
    assert not isinstance(record, Note)
    assert [annotation.box for annotation in record.annotations] == boxes["a.png"]
    (tmp_path / "results.json").write_text('[{"image_id": 1, "category_id": 1, "bbox": [1, 1, 9, 9], "score": 0.9}]')
    with pytest.raises(SnellenError, match="a list, as of detections"):
        list(OwnBoxes(tmp_path / "images", tmp_path / "results.json").samples())
    (tmp_path / "cvat").mkdir()
    (tmp_path / "cvat" / "annotations.xml").write_text('<annotations><image name="a.png"/></annotations>')
    (note,) = OwnBoxes(tmp_path / "images", tmp_path / "cvat").samples()
    assert isinstance(note, Note)
    assert "CVAT's form" in note.message


def test_labels_are_found_whose_accents_are_written_otherwise(tmp_path: Path) -> None:
    name = normalize("NFD", "écran")
    assert _own_boxes(tmp_path, name, "0 0.5 0.5 0.2 0.4\n", "names: [tiger]\n")[0][f"{name}.png"]


def test_a_coco_file_of_windows_finds_its_images(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    Image.new("RGB", (100, 50)).save(tmp_path / "images" / "a.png")
    for name in (r"images\a.png", r"..\..\media\4\a.png", "upload/a.png"):
        coco = {
            "images": [{"id": 1, "file_name": name, "width": 100, "height": 50}],
            "categories": [{"id": 1, "name": "cat"}],
            "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [10, 10, 20, 20]}],
        }
        (tmp_path / "coco.json").write_text(json.dumps(coco))
        records = list(OwnBoxes(tmp_path / "images", tmp_path / "coco.json").samples())
        assert [r.record_id for r in records if not isinstance(r, Note)] == ["a.png"], name


def test_a_set_and_a_plan_equal_their_golden(items: ItemSet, root: Path, tmp_path: Path) -> None:
    sources = {"images": root / "images", "boxes": root / "plain.csv"}
    options = BuildOptions(tmp_path / "p", sources=sources, tasks=("counting", "object", "ocr"), show_progress=False)
    plan = masked(f"{Own().plan(options)}\n", root)
    assert_golden("curated/ava-own.txt", plan + grouped_set_text(items, root, without=("colour",)))


def test_a_plan_names_copies_and_a_class_without_another(tmp_path: Path) -> None:
    images = tmp_path / "images"
    for n in range(8):
        draw_image(images / f"{n}.png", "copies", n, size=(96, 72))
    with Image.open(images / "3.png") as image:
        image.convert("L").save(images / "again.png")
    names = [*(f"{n}.png" for n in range(8)), "again.png", "0.png"]
    coco = {
        "images": [{"id": n, "file_name": name, "width": 96, "height": 72} for n, name in enumerate(names)],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": n, "image_id": n, "category_id": 1, "bbox": [5, 5, 20, 30]} for n in range(len(names))],
    }
    (tmp_path / "coco.json").write_text(json.dumps(coco))
    sources = {"images": images, "boxes": tmp_path / "coco.json"}
    tasks = ("localization", "object", "counting")
    plan = Own().plan(BuildOptions(tmp_path / "set", sources=sources, tasks=tasks, show_progress=False))
    assert (plan["images"], plan["things"], {name.split()[0] for name in plan["items"]}) == (
        9, {"cat": 9}, {"localization"}
    )  # fmt: skip
    counting, alone = plan["without"]
    assert counting.startswith("counting: nothing is left: a class of fewer than 2 bins (")
    assert alone == "object: needs boxes of two classes or more, so that there is a choice"
    assert "1 things, pairs or images left out, second image of one path: 0.png" in plan["left_out"]
    (note,) = plan["notes"]
    pair = ("3.png like again.png", "again.png like 3.png")
    assert note.startswith("1 of 9 images look like another one, and may be on both sides of the split: ")
    assert note.endswith(pair)


def test_facts_in_columns_are_asked_as_they_stand(tmp_path: Path) -> None:
    """Colours of the table and not of the pixels; orientations and counts only of balls, of which all are marked."""
    rows = boxed_images(tmp_path / "images", 18)
    for n, row in enumerate(rows):
        row["color"] = ("#d21e1e", "30 40 210", "128,128,128", "")[n % 4]
        row["exhaustive"] = "yes" if row["class"] == "ball" else "no"
    sources = {"images": tmp_path / "images", "boxes": write_table(tmp_path / "b.csv", rows)}
    tasks = ("colour", "orientation", "counting", "ocr")
    options = BuildOptions(tmp_path / "set", sources=sources, tasks=tasks, seed=2, n=4, show_progress=False)
    assert_golden("curated/ava-own-facts.txt", grouped_set_text(Own().build(options), tmp_path))
