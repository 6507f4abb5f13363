"""From folders in their published layout to items: orientation, texture, emotion, action, scene, fine-grained, OCR."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from PIL import Image

pytest.importorskip("av", reason="the extra 'video' is not installed")

from snellen.core.build_options import BuildOptions
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet
from snellen.curated_sets.ava_bench.recipe import Curated
from snellen.curated_sets.ava_bench.selection.rules import Rules
from snellen.curated_sets.rules import Caps
from snellen.stimuli.video import write_video
from snellen.suites.ava_bench.items import EMOTIONS, ORIENTATIONS
from tests.goldens.descriptions import grouped_set_text
from tests.goldens.golden import assert_golden

WIDTH, HEIGHT = 64, 48
RULES = Rules(
    scene_images=5, texture=Caps(10, 12), orientation=Caps(5, 9, 2), species_images=5, species_birds=2,
    species_others=2, words_iiit5k=5,
)  # fmt: skip
FIVE = range(5)
NUMBERS = count()


def jpeg(path: Path) -> str:
    """Write a unique image and return its name."""
    pixels = stream("t", next(NUMBERS)).integers(0, 256, (HEIGHT // 8, WIDTH // 8, 3), np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).resize((WIDTH, HEIGHT), Image.Resampling.NEAREST).save(buffer, "JPEG")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(buffer.getvalue())
    return path.name


def text(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def plain(path: Path, value: Any) -> None:
    text(path, [json.dumps(value)])


def classes(folder: Path, labels: Mapping[str, int]) -> None:
    for label, images in labels.items():
        for n in range(images):
            jpeg(folder / label / f"{n}.jpg")


def textures_and_scenes(root: Path) -> None:
    classes(root / "DTD/dtd/images", {"dotted": 10, "veined": 11, "woven": 9})
    classes(root / "KTH-TIPS/KTH_TIPS", {"cotton": 5, "linen": 5})
    classes(root / "KTH-TIPS2-b/KTH-TIPS2-b", {"cotton/sample_a": 5, "linen/sample_b": 5, "wool/sample_a": 10})
    classes(root / "AID/AID", {"BareLand": 6, "Port": 5, "Park": 4})
    places = root / "Places434"
    names = [f"/a/{label}/{n}.jpg {number}" for number, label in enumerate(("arch", "attic")) for n in FIVE]
    classes(places / "data_256_standard/a", {"arch": 5, "attic": 5})
    text(places / "places365_train_standard.txt", names)
    text(places / "categories_places365.txt", ["/a/arch 0", "/a/attic 1"])


def faces(root: Path) -> None:
    for n in FIVE:
        jpeg(root / f"ExpW/data/image/origin/{n}.jpg")
        jpeg(root / f"RAF-DB/basic/Image/original/{n}.jpg")
    lines = [
        f"{n}.jpg {face} 4 {left} {left + 20} 30 90.0 {face + 3}" for n in FIVE for face, left in enumerate((2, 40))
    ]
    text(root / "ExpW/data/label/label.lst", lines)
    text(root / "RAF-DB/basic/EmoLabel/list_patition_label.txt", [f"{n}.jpg 4" for n in FIVE])


def actions(root: Path) -> None:
    folder = root / "Moments-in-Time"
    clips = [
        f"{label}/{n}.mp4" for label, clips in (("clapping", 3), ("applauding", 3), ("boxing", 5)) for n in range(clips)
    ]
    for number, clip in enumerate(clips):
        path = folder / "training" / clip
        path.parent.mkdir(parents=True, exist_ok=True)
        frames = [np.full((HEIGHT, WIDTH, 3), (20 * number, 40 * time, 0), np.uint8) for time in range(5)]
        write_video(frames, path, fps=10)
    text(folder / "trainingSet.csv", [f"{clip},{clip.split('/')[0]},4,0" for clip in clips])


def species(root: Path) -> None:
    birds = root / "CUB-200-2011/CUB_200_2011"
    names = [f"{number:03}.Bird_{number}/{n}.jpg" for number in (1, 2) for n in FIVE]
    for name in names:
        jpeg(birds / "images" / name)
    for table, lines in (
        ("images", names),
        ("image_class_labels", [str(int(name[:3])) for name in names]),
        ("bounding_boxes", ["1 1 9 9"] * 10),
        ("train_test_split", ["1"] * 10),
    ):
        text(birds / f"{table}.txt", [f"{n} {line}" for n, line in enumerate(lines, 1)])
    text(birds / "classes.txt", ["1 001.Bird_1", "2 002.Bird_2"])
    nature = root / "iNaturalist-2021"
    fungi = [
        {"id": n, "name": name, "kingdom": "Fungi"} for n, name in enumerate(("Boletus edulis", "Amanita muscaria"))
    ]
    files = [f"train/{n % 2}/{n}.jpg" for n in range(10)]
    for file in files:
        jpeg(nature / file)
    images = [{"id": n, "width": WIDTH, "height": HEIGHT, "file_name": file} for n, file in enumerate(files)]
    marks = [{"id": n, "image_id": n, "category_id": n % 2} for n in range(10)]
    plain(nature / "train.json", {"images": images, "annotations": marks, "categories": fungi})
    planes = root / "FGVC-Aircraft/fgvc-aircraft-2013b/data"
    for n in range(10):
        jpeg(planes / f"images/{n:07}.jpg")
    text(planes / "images_variant_train.txt", [f"{n:07} {'Boeing 717' if n % 2 else 'DH-82'}" for n in range(10)])
    text(planes / "images_box.txt", [f"{n:07} 1 1 9 9" for n in range(10)])


def words(root: Path) -> None:
    coco, cropped, vqa = root / "COCO-Text", root / "IIIT5K/IIIT5K", root / "TextVQA"
    images = {
        str(n): {"id": n, "width": WIDTH, "height": HEIGHT, "file_name": f"{n}.jpg", "set": "train"} for n in FIVE
    }
    marks = {
        str(n): {"image_id": n % 5, "bbox": [0, 0, 60, 40 - 20 * (n // 5)], "utf8_string": f"W{n}"} for n in range(10)
    }
    plain(coco / "cocotext.v2.json", {"imgs": images, "anns": marks})
    rows, questions, detections = [], [], []
    for n in range(6):
        jpeg(coco / f"train2014/{n}.jpg")
        jpeg(vqa / f"train_images/{n}.jpg")
        rows.append((np.array([f"train/{jpeg(cropped / f'train/{n}.png')}"]), np.array([f"PRIVATE{n}"])))
        questions.append({"question": "?", "image_id": str(n), "image_width": 1, "image_height": 1, "question_id": n,
                          "answers": ["a"]})  # fmt: skip
        box = {"top_left_x": 0.0, "top_left_y": 0.0, "width": 0.9, "height": 0.9, "rotation": 30.0 * (n == 5)}
        detections.append({"image_id": str(n), "ocr_info": [{"word": f"NOKIA{n}", "bounding_box": box}]})
    scipy.io.savemat(
        cropped / "traindata.mat", {"traindata": np.array([rows], dtype=[("ImgName", object), ("GroundTruth", object)])}
    )
    plain(vqa / "TextVQA_0.5.1_train.json", {"data": questions})
    plain(vqa / "TextVQA_Rosetta_OCR_v0.2_train.json", {"data": detections})


def orientations(root: Path) -> None:
    questions = []
    for n in range(10):
        name = jpeg(root / f"EgoOrientBench/imagenet_after/{n}.jpg")
        fields = {
            "type": "freeform",
            "image": f"./imagenet_after/{name}",
            "original_label": ("front", "back left")[n % 2],
        }
        questions.append({**fields, "question": "?", "label": "any", "category_name": "toy plane"})
    plain(root / "EgoOrientBench/benchmark.json", questions)
    for background in range(1, 6):
        for device in range(1, 6):
            for side in (1, 5):
                for challenge in ("01_0", "03_2"):
                    jpeg(root / f"CURE-OR/{background}_{device}_{side}_007_{challenge}.jpg")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    root = tmp_path_factory.mktemp("data")
    for write in (textures_and_scenes, faces, actions, species, words, orientations):
        write(root)
    out = tmp_path_factory.mktemp("out") / "set"
    tasks = ("orientation", "texture", "emotion", "action", "scene", "fine-grained", "ocr")
    return Curated(RULES).build(BuildOptions(out, tasks=tasks, sources={"data": root}, show_progress=False))


def test_every_task_and_dataset_has_its_number_of_items(built: ItemSet) -> None:
    assert Counter((item.task, item.factors["source"]) for item in built.items) == {
        ("orientation", "EgoOrientBench"): 10, ("orientation", "CURE-OR"): 12, ("texture", "DTD"): 21,
        ("texture", "KTH-TIPS"): 10, ("texture", "KTH-TIPS2-b"): 20, ("emotion", "ExpW"): 10,
        ("emotion", "RAF-DB"): 5, ("action", "Moments-in-Time"): 11, ("scene", "AID"): 10, ("scene", "Places434"): 10,
        ("fine-grained", "CUB-200-2011"): 10, ("fine-grained", "iNaturalist-2021"): 10,
        ("fine-grained", "FGVC-Aircraft"): 10, ("ocr", "COCO-Text"): 5, ("ocr", "IIIT5K"): 5, ("ocr", "TextVQA"): 5,
    }  # fmt: skip


def test_every_answer_is_in_both_splits(built: ItemSet) -> None:
    splits_by_answer: dict[tuple[str, str, str], set[str]] = {}
    for item in built.items:
        answer = "" if item.task == "ocr" else str(item.answer)
        splits_by_answer.setdefault((item.task, item.factors["source"], answer), set()).add(item.split)
    assert [key for key, splits in splits_by_answer.items() if splits != {"train", "test"}] == []


@pytest.mark.parametrize(
    ("task", "source", "options"),
    [
        ("orientation", "CURE-OR", {*ORIENTATIONS}),
        ("texture", "KTH-TIPS", {"cotton", "linen", "wool"}),
        ("texture", "DTD", {"dotted", "veined"}),
        ("emotion", "ExpW", {*EMOTIONS}),
        ("action", "Moments-in-Time", {"clapping", "boxing"}),
        ("scene", "AID", {"Bare land", "Port"}),
        ("scene", "Places434", {"Arch", "Attic"}),
        ("fine-grained", "CUB-200-2011", {"Bird_1", "Bird_2"}),
        ("fine-grained", "iNaturalist-2021", {"Boletus edulis", "Amanita muscaria"}),
        ("fine-grained", "FGVC-Aircraft", {"Boeing 717", "DH-82"}),
    ],
)
def test_options_of_every_dataset(built: ItemSet, task: str, source: str, options: set[str]) -> None:
    items = [item for item in built.items if (item.task, item.factors["source"]) == (task, source)]
    assert all({option.text for option in item.options} == options for item in items)
    assert {item.answer for item in items} <= options


def test_boxes_images_and_domains(built: ItemSet) -> None:
    def regions(task: str, source: str) -> list[Any]:
        return [item.regions for item in built.items if (item.task, item.factors["source"]) == (task, source)]

    assert Counter(str(box) for box in regions("emotion", "ExpW")) == {
        "{'red': [2.0, 4.0, 22.0, 30.0]}": 5,
        "{'red': [40.0, 4.0, 60.0, 30.0]}": 5,
    }
    assert regions("emotion", "RAF-DB") == [{}] * 5
    assert regions("ocr", "IIIT5K") == [{"red": [0.0, 0.0, 64.0, 48.0]}] * 5
    assert regions("ocr", "COCO-Text") == [{"red": [0.0, 0.0, 60.0, 40.0]}] * 5
    frames = [item.query[0] for item in built.items if item.task == "action"]
    assert {(frame.format, frame.width, frame.height) for frame in frames} == {("png", WIDTH, HEIGHT)}
    assert {item.factors["domain"] for item in built.items if item.factors["source"] == "iNaturalist-2021"} == {"Fungi"}


def test_the_set_equals_its_golden(built: ItemSet) -> None:
    assert_golden("curated/ava-classes.txt", grouped_set_text(built))
