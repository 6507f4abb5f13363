"""The user's own images become a set by one command: the items, their number, and the images left out."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from snellen.core.build_options import BuildOptions
from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.storage.itemset import ItemSet, read_itemset
from snellen.exam.run import run
from snellen.reports import write_report
from snellen.suites.vfm_bench import SUITE
from snellen.suites.vfm_bench.own.recipe import Own
from snellen.suites.vfm_bench.tasks import words
from tests.cli.conftest import Command, snellen  # noqa: F401  # the fixture
from tests.goldens.descriptions import line, set_text
from tests.goldens.golden import assert_golden
from tests.helpers.own_images import class_folders, draw_image
from tests.helpers.shards import labelled_shard

LABELS = ("red wine", "white wine", "Café au lait")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three classes of 6, 7 and 9 images, and everything that must be left out."""
    root = tmp_path_factory.mktemp("own")
    for count, label in zip((6, 7, 9), LABELS, strict=True):
        class_folders(root / "train", count, label)
    class_folders(root, 5, "tea")
    copied = (root / "train" / LABELS[0] / "0.png").read_bytes()
    (root / "train" / LABELS[0] / "copy.png").write_bytes(copied)
    (root / "train" / LABELS[1] / "torn.png").write_bytes(copied[:99])
    for label in LABELS[:2]:
        draw_image(root / "val" / label / "both.png", "both")
    draw_image(root / "beside.png", "beside")
    (root / "train" / LABELS[2] / "phone.heic").write_bytes(b"x")
    return root


def build(out: Path, **fields: Any) -> ItemSet:
    return Own().build(BuildOptions(out, show_progress=False, **fields))


def label_of(item: Item) -> str:
    return next(option.text for option in item.options if option.key == item.answer)


def test_one_command_builds_and_plans_the_same(
    snellen: Command,  # noqa: F811
    folder: Path,
    tmp_path: Path,
) -> None:
    words = ("build", "vfm-bench", "--from", "own", "--source", f"images={folder}")
    code, out, err = snellen(*words, "--plan", "--json")
    assert code == 0, err
    plan = json.loads(out)
    assert plan["classes"] == {"Café au lait": 9, "red wine": 6, "white wine": 7}
    assert plan["items"] == {"fast-mapping": 22}
    left_out = "\n".join(plan["left_out"])
    for rule in (
        "2 images, classes or tasks left out, the same bytes are in two classes of the task",
        "1 images, classes or tasks left out, a copy of another image of its class",
        "1 images, classes or tasks left out, fewer than 6 images: own/images/tea",
        "1 images, classes or tasks left out, the image cannot be read",
        "1 images, classes or tasks left out, odd: image outside a class folder: beside.png",
        "1 images, classes or tasks left out, odd: not an image by its suffix: train/Café au lait/phone.heic",
    ):
        assert rule in left_out
    code, out, err = snellen(*words, "--out", tmp_path / "set")
    assert code == 0, err
    items = read_itemset(tmp_path / "set")
    assert items.card.counts == {"fast-mapping": {"test": 22}}
    for note in plan["left_out"]:
        assert note in items.card.notes
    code, out, err = snellen("verify", tmp_path / "set")
    assert (code, "scores were measured again" in out) == (1, True), err


def test_episodes_use_the_folder_classes_and_no_industry(folder: Path, tmp_path: Path) -> None:
    items = build(tmp_path / "set", sources={"images": folder}, settings={"level": "detail"})
    raw = {path.read_bytes(): path.parent.name for path in folder.rglob("*.png")}
    for item in items.items:
        assert {option.text for option in item.options} == set(LABELS)
        assert raw[items.media.read(item.query[0])] == label_of(item)
        assert item.cluster_id == f"image-{item.query[0].sha256[:16]}"
        assert item.factors["class"] == label_of(item)
        assert (item.factors["industry"], item.factors["concept_level"]) == ("Own", "detail")
        shas = [media.sha256 for media in item.media()]
        assert len(set(shas)) == len(shas) == 1 + 3 * 5
    # An image of a class of 6 leaves five others to show, as many as there are shots.
    assert Counter(map(label_of, items.items)) == {"red wine": 6, "white wine": 7, "Café au lait": 9}


def test_they_are_asked_in_plain_words_or_in_those_of_the_paper(folder: Path, tmp_path: Path) -> None:
    def words_sent(built: ItemSet, text: str = "vanilla") -> tuple[list[str], str]:
        (condition,) = parse_conditions(SUITE.axes, text)
        item = built.items[0]
        return [option.text for option in item.options], words(item.view(), condition)

    plain = build(tmp_path / "plain", sources={"images": folder})
    names, text = words_sent(plain)
    assert text == (
        f"Which of these categories does the last image show?\nThe categories are: {', '.join(names)}.\n"
        "Answer with the name of the category and nothing else."
    )
    assert words_sent(plain, "instruction=cot")[1].endswith(
        "Then write the name of the category as <answer>NAME</answer>."
    )
    paper = build(tmp_path / "paper", sources={"images": folder}, settings={"instruction": "paper"})
    assert words_sent(paper)[1].startswith(
        "## Role\n You are an expert in visual recognition industry and ready for the task of image classification."
    )
    assert [item.query for item in paper.items] == [item.query for item in plain.items]


def test_a_few_items_are_spread_over_the_classes_and_repeatable_by_the_seed(folder: Path, tmp_path: Path) -> None:
    first = build(tmp_path / "a", sources={"images": folder}, n=9)
    assert Counter(map(label_of, first.items)) == dict.fromkeys(LABELS, 3)
    assert first.items == build(tmp_path / "b", sources={"images": folder}, n=9).items
    assert first.items != build(tmp_path / "c", sources={"images": folder}, n=9, seed=1).items
    level = build(tmp_path / "d", sources={"images": folder}, balance="answers")
    assert Counter(map(label_of, level.items)) == dict.fromkeys(LABELS, 6)


def test_an_oracle_is_always_right_and_chance_in_a_third(folder: Path, tmp_path: Path) -> None:
    items = build(tmp_path / "set", sources={"images": folder})
    rows = run(items, ["fake:oracle", "fake:chance"], tmp_path / "run", show_progress=False).all_results()
    overall = rows[(rows["factor"] == "") & (rows["metric"] == "accuracy")].set_index("subject")
    score = {str(subject): float(number) for subject, number in overall["value"].items()}
    assert score["fake:oracle"] == 1.0
    # 22 questions of three classes: 1/3 and three times its standard error of sqrt(2/9/22) = 0.10.
    assert abs(score["fake:chance"] - 1 / 3) < 0.31
    assert list(overall["chance"]) == pytest.approx([1 / 3] * 2)


def test_a_table_gives_the_same_items_as_folders(folder: Path, tmp_path: Path) -> None:
    with (tmp_path / "images.csv").open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["Path", "Class"])
        for path in sorted((folder / "train").rglob("*.png")):
            writer.writerow([path.relative_to(folder), path.parent.name])
        writer.writerow(["../outside.png", LABELS[0]])
        writer.writerow([folder.resolve() / "beside.png", LABELS[0]])
    sources = {"images": tmp_path / "images.csv", "root": folder}
    items = build(tmp_path / "set", sources=sources)
    same = build(tmp_path / "same", sources={"images": folder / "train"})
    beside = hashlib.sha256((folder / "beside.png").read_bytes()).hexdigest()
    assert {(item.query[0].sha256, label_of(item)) for item in items.items} == {
        (beside, LABELS[0]),
        *((item.query[0].sha256, label_of(item)) for item in same.items),
    }
    assert any("image outside the folder; give --source root=DIR: images.csv row" in n for n in items.card.notes)


def test_a_dataset_gives_the_same_items_as_folders(tmp_path: Path) -> None:
    labelled_shard(tmp_path / "hub" / "data" / "train-00000-of-00001.parquet", 6, "a", "b")
    shards = build(tmp_path / "set", sources={"images": tmp_path / "hub"})
    folders = build(tmp_path / "same", sources={"images": class_folders(tmp_path / "own", 6, "a", "b")})
    assert {(shards.media.read(item.query[0]), label_of(item)) for item in shards.items} == {
        (folders.media.read(item.query[0]), label_of(item)) for item in folders.items
    }


def test_near_copies_are_dropped_or_noted_and_rotated_images_are_counted(tmp_path: Path) -> None:
    root = class_folders(tmp_path / "own", 7, "a", "b")
    exif = Image.Exif()
    exif[0x0112] = 6
    with Image.open(root / "a" / "3.png") as image:
        large = image.resize((480, 400), Image.Resampling.NEAREST)
        large.save(root / "a" / "again.jpg", quality=90)
        large.rotate(90, expand=True).save(root / "b" / "mistake.jpg", quality=90, exif=exif)
    dropped = build(tmp_path / "dropped", sources={"images": root})
    notes = "\n".join(dropped.card.notes)
    assert len(dropped.items) == 15
    assert (
        "it looks like another image of its class (--set near-copies=keep keeps it): a/again.jpg like a/3.png" in notes
    )
    assert "look the same and stay: b/mistake.jpg like a/3.png" in notes
    assert "1 of 16 images are rotated by their header (EXIF)" in notes
    with_copies = build(tmp_path / "kept", sources={"images": root}, settings={"near-copies": "keep"})
    assert len(with_copies.items) == 16
    # The original and its copy are one cluster. The same photograph in another class is a cluster of its own.
    clusters = Counter(item.cluster_id for item in with_copies.items)
    original = hashlib.sha256((root / "a" / "3.png").read_bytes()).hexdigest()
    assert {cluster: count for cluster, count in clusters.items() if count > 1} == {f"image-{original[:16]}": 2}
    assert "1 images look like another one of their class and stay: a/again.jpg like a/3.png" in with_copies.card.notes


def test_a_class_with_too_few_images_that_look_different_is_left_out(tmp_path: Path) -> None:
    root = class_folders(class_folders(tmp_path / "own", 5, "a"), 6, "b", "c")
    with Image.open(root / "a" / "3.png") as image:
        image.resize((480, 400), Image.Resampling.NEAREST).save(root / "a" / "again.jpg", quality=90)
    items = build(tmp_path / "set", sources={"images": root})
    assert set(map(label_of, items.items)) == {"b", "c"}
    assert "fewer than 6 images that look different: own/images/a" in "\n".join(items.card.notes)


def test_many_classes_compete_in_groups(tmp_path: Path) -> None:
    labels = [f"class {k}" for k in range(21)]
    items = build(tmp_path / "set", sources={"images": class_folders(tmp_path / "own", 6, *labels)}, n=42)
    # 21 classes in two groups: 11 and 10, each class asked about twice.
    assert Counter(len(item.options) for item in items.items) == {11: 22, 10: 20}
    assert len({item.factors["concept_task"] for item in items.items}) == 2
    assert "21 classes in 2 groups; only classes of the same group compete" in items.card.notes
    assert Counter(map(label_of, items.items)) == dict.fromkeys(labels, 2)


def test_the_card_names_images_beyond_sixty_and_unequal_classes(tmp_path: Path) -> None:
    root = class_folders(class_folders(tmp_path / "own", 62, "a"), 6, "b")
    items = build(tmp_path / "set", sources={"images": root})
    assert Counter(map(label_of, items.items)) == {"a": 60, "b": 6}
    notes = "\n".join(items.card.notes)
    assert "2 images, classes or tasks left out, more than 60 images in a class; sampled by the seed: a" in notes
    assert "66 images of 2 classes of your own, with unchanged bytes" in notes
    assert "60 of 66 questions are about the most frequent class" in notes
    level = build(tmp_path / "level", sources={"images": root}, balance="answers").card
    assert "most frequent class" not in "\n".join(level.notes)
    assert level.recipe["balance"] == "answers"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, "give --source images=DIR"),
        ({"sources": {"image": Path()}}, "no source 'image'"),
        ({"sources": {"images": Path("none")}}, "no such folder or file"),
        ({"sources": {"images": Path()}, "inputs": {"votes": Path()}}, "does not use --input 'votes'"),
        ({"sources": {"images": Path()}, "tasks": ("select",)}, "no task 'select'"),
        ({"sources": {"images": Path()}, "n": 0}, "--n 0 makes no items"),
    ],
)
def test_invalid_options_are_refused(tmp_path: Path, fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(SnellenError, match=reason):
        build(tmp_path / "set", **fields)


def test_too_few_classes_are_refused_with_the_reason(tmp_path: Path) -> None:
    class_folders(tmp_path / "own", 6, "Oak tree", "OAK  tree")
    class_folders(tmp_path / "own", 5, "b")
    with pytest.raises(SnellenError, match="needs at least 2 classes of at least 6 different images each") as caught:
        build(tmp_path / "set", sources={"images": tmp_path / "own"})
    for reason in ("fewer than 6 images: own/images/b", "the name cannot be distinguished from 'O"):
        assert reason in str(caught.value)


def test_few_classes_are_graded_and_subjects_are_separated(tmp_path: Path) -> None:
    """Sixty images of three classes: grades hold for images of these classes, and models can be clearly worse."""
    images = class_folders(tmp_path / "own", 20, "good", "scratched", "dented")
    items = build(tmp_path / "set", sources={"images": images})
    with (tmp_path / "replies.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["item_id", "model", "reply"])
        # The first item of each class comes first, so that all models are right on the same images.
        for model, right in (("trusted", 19), ("close", 18), ("poor", 8)):
            counts: Counter[str] = Counter()
            for item in items.items:
                label = label_of(item)
                wrong = "dented" if label == "good" else "good"
                writer.writerow([item.item_id, model, label if counts[label] < right else wrong])
                counts[label] += 1
    done = run(items, ["fake:oracle", f"recorded:{tmp_path / 'replies.csv'}"], tmp_path / "run", show_progress=False)
    rows = done.all_results()
    rows = rows[(rows["metric"] == "accuracy") & (rows["protocol"] == "strict")]
    whole = rows[rows["factor"] == ""].set_index("subject")
    assert set(whole["clusters"]) == {60}
    # All of 60 right: the exact one-sided end, 0.05^(1 / 60) = 0.951, is nearer than Wilson's 60 / 63.84 = 0.940.
    assert whole.loc["fake:oracle", "low"] == pytest.approx(0.940, abs=1e-3)
    assert whole.loc["fake:oracle", "grade"] == "nearly all right"
    # By class: 8 of 20 right, 19 of 20, and 18 of 20.
    of_poor = rows[(rows["factor"] == "class") & (rows["subject"] == "recorded:poor")].set_index("level")
    assert dict(of_poor["value"]) == {"good": 0.4, "scratched": 0.4, "dented": 0.4}
    write_report([done.root], tmp_path / "report")
    tables = tmp_path / "report" / "tables"
    row, _ = csv.DictReader((tables / "matrix.csv").open(encoding="utf-8"))
    assert [row[f"recorded:{name}"].split(" [")[0] for name in ("trusted", "close", "poor")] == ["95 %", "90 %", "40 %"]
    pairs = list(csv.DictReader((tables / "more" / "vfm-bench-contrasts.csv").open(encoding="utf-8")))
    clear = {frozenset((pair["first"], pair["second"])): pair["clear"] for pair in pairs}
    assert clear[frozenset(("recorded:trusted", "recorded:close"))] == "False"
    assert clear[frozenset(("recorded:trusted", "recorded:poor"))] == "True"
    claim = "Grades and intervals are about images like these of these classes, not about new classes."
    assert claim in (tmp_path / "report" / "vfm-bench.html").read_text("utf-8")


def test_the_items_the_card_and_the_plan_equal_their_golden(folder: Path, tmp_path: Path) -> None:
    options = BuildOptions(
        tmp_path / "set", sources={"images": folder}, n=7, seed=2, settings={"level": "pattern"}, show_progress=False
    )
    assert_golden("suites/vfm-bench-own.txt", f"{line(Own().plan(options))}\n{set_text(Own().build(options))}")
