"""What each reader of scenes makes of its layout, worked out by hand."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.datasets import DATASETS
from snellen.datasets.picture_files import VideoFrame
from snellen.datasets.sample import Sample
from tests.datasets.layouts import pictures, write
from tests.datasets.scene_layouts import SCENE_LAYOUTS


def scenes(name: str, root: Path) -> dict[str, Sample]:
    return {scene.record_id: scene for scene in DATASETS.get(name).samples(write(root, SCENE_LAYOUTS[name]()))}


def told(name: str, root: Path) -> dict[str, tuple[str, ...]]:
    return {f"{note.kind}: {note.message}": note.locations for note in DATASETS.get(name).check(root).notes}


def test_voc_counts_pixels_from_one(tmp_path: Path) -> None:
    scene = scenes("DIOR", tmp_path)["JPEGImages-trainval/00001.jpg"]
    assert [(one.label, one.box, one.area) for one in scene.annotations] == [
        ("ship", (0, 1, 4, 3), 8), ("harbor", (4, 0, 8, 6), 24),
    ]  # fmt: skip
    xml = tmp_path / "Annotations/Horizontal Bounding Boxes/00001.xml"
    xml.write_text(xml.read_text().replace("<xmax>4</xmax>", ""))
    assert told("DIOR", tmp_path) == {"unreadable: object in another form": ("00001.xml: ship",)}
    [scene, _] = DATASETS.get("DIOR").samples(tmp_path)
    assert ([one.label for one in scene.annotations], scene.lost) == (["harbor"], 1)


def test_lines_of_carpk(tmp_path: Path) -> None:
    root = write(tmp_path, SCENE_LAYOUTS["CARPK"]())
    text = root / "CARPK_devkit/data/Annotations/2016_GF_1.txt"
    text.write_text("1 1 3 4 1\n4 0 8\n5 5 2 2 1\n")
    assert told("CARPK", root) == {
        "unreadable: line without a box": ("CARPK_devkit/data/Annotations/2016_GF_1.txt line 2",),
        "odd: inverted box": ("CARPK_devkit/data/Images/2016_GF_1.png: car [5.0, 5.0, 2.0, 2.0]",),
    }
    [first, second] = DATASETS.get("CARPK").samples(root)
    assert ([one.box for one in first.annotations], first.lost) == ([(1, 1, 3, 4)], 2)
    assert ([one.box for one in second.annotations], second.lost) == ([(1, 1, 3, 4), (4, 0, 8, 2)], 0)


def test_crowd_human_shows_what_is_visible(tmp_path: Path) -> None:
    [scene, _] = scenes("CrowdHuman", tmp_path).values()
    person, mask = scene.annotations
    assert (person.label, person.box) == ("person", (0, 1, 3, 5))
    assert person.extra == {"full_box": (0, 1, 3, 10), "head_box": (1, 1, 2, 2)}
    assert (mask.label, mask.extra["ignore"]) == ("mask", True)


def test_heads_of_vs_crowd(tmp_path: Path) -> None:
    held = scenes("VSCrowd", tmp_path)
    first = held["videos/train_001/000001.jpg"]
    assert list(held) == [f"videos/{name}.jpg" for name in ("test_001/000001", "train_001/000001", "train_001/000010")]
    assert [(one.label, one.box, one.area, one.extra) for one in first.annotations] == [
        ("person", (1.5, 0.25, 3.5, 2.75), 5, {"head": "68", "point": (2.5, 1.5)}),
        ("person", (5, 1, 7, 3), 4, {"head": "52", "point": (6, 2)}),
    ]
    assert first.attributes == {"video": "train_001", "split": "train"}
    assert held["videos/test_001/000001.jpg"].attributes == {"video": "test_001", "split": "test"}


def test_lines_of_no_use_in_vs_crowd_are_told(tmp_path: Path) -> None:
    root = write(tmp_path, SCENE_LAYOUTS["VSCrowd"]() | pictures("videos/train_001/11.jpg", "videos/train_002/1.jpg"))
    lines = ["1 68 1 1 3 3 2 2 68 4 1 6 3 5 2 9 7 7 5 5 6 6", "01 68 1 1 3 3 2 2", "10 68 1 1 3 3 2",
             "3 68 1 1 x 3 2 2", "../test_001/1 7 1 1 3 3 2 2", "4"]  # fmt: skip
    (root / "annotations/train_001.txt").write_text("\n".join(lines))
    where = "annotations/train_001.txt line"
    assert told("VSCrowd", root) == {
        "odd: head twice in a frame; the first counts": (f"{where} 1",),
        "odd: inverted box": ("videos/train_001/000001.jpg: person [7.0, 7.0, 5.0, 5.0]",),
        "odd: frame twice; the first counts": (f"{where} 2",),
        "unreadable: line that is not seven numbers a head": (f"{where} 3", f"{where} 4"),
        "unreadable: line without the number of a frame": (f"{where} 5",),
        "missing: picture of an annotation": ("videos/train_001/4.jpg",),
        "odd: picture without annotation": ("videos/train_001/11.jpg",),
        "odd: video without annotations": ("videos/train_002",),
    }
    [_, frame] = DATASETS.get("VSCrowd").samples(root)
    assert ([one.extra["head"] for one in frame.annotations], frame.lost) == (["68"], 2)


def test_points_are_the_things_of_fsc(tmp_path: Path) -> None:
    [shells, balloons] = scenes("FSC-147", tmp_path).values()
    assert [(one.label, one.extra["point"]) for one in shells.annotations] == [
        ("sea shells", (1.5, 2.25)), ("sea shells", (4, 5)), ("sea shells", (7, 1)),
    ]  # fmt: skip
    assert (len(balloons.annotations), balloons.attributes) == (1, {"split": "val"})


def test_kitti_distances(tmp_path: Path) -> None:
    [scene, other] = scenes("KITTI", tmp_path).values()
    car, walker = scene.annotations
    # Turned by 0 a car's length lies across the axis and its width along it; by a quarter turn its length does.
    assert car.label == "Car"
    assert car.extra["nearest_m"] == pytest.approx(20 - 1.6 / 2)
    assert walker.extra["nearest_m"] == pytest.approx(8.41 - 1.2 / 2, abs=1e-6)
    assert car.extra["at_m"] == (1, 1.7, 20)
    depth = scene.read_depth()  # picture 0 is line 2 of the mapping: frame 5
    assert depth is not None
    assert depth[3, 2] == 12.5
    assert np.isnan(depth).sum() == 47
    assert other.read_depth() is None
    told = {"drive": "2011_09_26_drive_0005_sync", "unmarked": (0, 0, 1, 1)}
    assert [one.attributes for one in (scene, other)] == [told] * 2


def test_nyu_turns_its_arrays_around(tmp_path: Path) -> None:
    office, kitchen = scenes("NYU-Depth-V2", tmp_path).values()
    assert [(one.label, one.box, one.area) for one in office.annotations] == [
        ("chair", (1, 2, 4, 6), 12), ("chair", (6, 0, 7, 1), 1),
    ]  # fmt: skip
    assert office.annotations[0].extra == {"instance": 1, "nearest_m": 1.25, "median_m": 3}
    assert [one.label for one in kitchen.annotations] == ["wall"]
    assert (office.size, office.attributes) == ((8, 6), {"scene": "office_0001"})
    depth = office.read_depth()
    assert depth is not None
    assert (depth.shape, depth[3, 2]) == ((6, 8), 1.25)
    assert np.isnan(depth[5, 3])
    shown = np.asarray(Image.open(io.BytesIO(office.read_picture()[0])))
    with h5py.File(tmp_path / "nyu_depth_v2_labeled.mat") as file:
        assert shown[4, 1].tolist() == file["images"][0, :, 1, 4].tolist()


def test_a_matlab_file_of_another_version_is_told_with_the_way_out(tmp_path: Path) -> None:
    held = io.BytesIO()
    scipy.io.savemat(held, {"images": np.zeros(3)})  # type: ignore[arg-type]  # it takes open files too
    root = write(tmp_path, {"nyu_depth_v2_labeled.mat": held.getvalue()})
    [where] = told("NYU-Depth-V2", root)["unreadable: not the file of the dataset"]
    assert "a MATLAB file of before 7.3; take the published one" in where
    files = SCENE_LAYOUTS["IIIT5K"]() | {"IIIT5K/traindata.mat": b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"}
    notes = told("IIIT5K", write(tmp_path / "words", files))
    assert "unreadable: MATLAB 7.3 file, which is not read here; save it again in MATLAB with -v7" in notes


def test_without_h5py_the_way_out_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write(tmp_path, SCENE_LAYOUTS["NYU-Depth-V2"]())
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(SnellenError, match=r"pip install 'snellen\[sources\]'"):
        list(DATASETS.get("NYU-Depth-V2").samples(root))
    assert "snellen[sources]" in told("NYU-Depth-V2", root)["missing: what the reader needs"][0]


def test_questions_with_what_people_answered(tmp_path: Path) -> None:
    scene, _ = scenes("VQAv2", tmp_path / "vqa").values()
    assert [(one.question, one.answers) for one in scene.questions] == [("How many dogs?", ("2", "3"))]
    assert scene.questions[0].extra == {"answer_type": "number", "question_type": "how many"}
    bird = scenes("EgoOrientBench", tmp_path / "ego")["imagenet_after/COCO_val2014_000000358765.jpg"]
    assert [(one.label, one.extra["orientation"]) for one in bird.annotations] == [("bird", "front right")]
    assert [one.answers for one in bird.questions] == [("front right",), ("yes",)]


def test_words_and_their_boxes(tmp_path: Path) -> None:
    [scene] = scenes("COCO-Text", tmp_path / "coco").values()
    assert [(one.label, one.box, one.extra["class"]) for one in scene.annotations] == [
        ("Café", (1, 1, 4, 3), "machine printed"),
    ]  # fmt: skip
    nokia, _ = scenes("TextVQA", tmp_path / "vqa").values()
    assert [(one.label, one.box, one.area) for one in nokia.annotations] == [("NOKIA", (2, 3, 6, 4.5), 6)]
    assert nokia.questions[0].answers == ("nokia", "other")
    first, last = scenes("IIIT5K", tmp_path / "iiit").values()
    assert [first.annotations[0].label, last.annotations[0].label, last.attributes["split"]] == [
        "YOU",
        "PRIVATE",
        "test",
    ]


def test_names_of_cure_or(tmp_path: Path) -> None:
    dirty, plain_ = scenes("CURE-OR", tmp_path).values()
    assert (dirty.record_id, dirty.annotations[0].label) == ("2_5_5_007_05_3.jpg", "007")
    assert dirty.annotations[0].extra == {"orientation": "top"}
    assert plain_.attributes == {"background": "white", "device": "iPhone 6s", "challenge": 1, "level": 0}
    (tmp_path / "9_1_1_001_01_0.jpg").write_bytes(b"x")
    assert told("CURE-OR", tmp_path) == {"odd: picture whose name is of another form": ("9_1_1_001_01_0.jpg",)}


def test_boxes_and_classes_in_tables(tmp_path: Path) -> None:
    albatross, _ = scenes("CUB-200-2011", tmp_path / "cub").values()
    assert [(one.label, one.box) for one in albatross.annotations] == [("001.Black_footed_Albatross", (1, 2, 4, 6))]
    assert albatross.attributes == {"split": "test"}
    held = [
        (one.annotations[0].label, one.annotations[0].box) for one in scenes("FGVC-Aircraft", tmp_path / "air").values()
    ]
    assert held == [("Boeing 717", (0, 1, 8, 5)), ("707-320", (0, 0, 4, 4)), ("DH-82", (2, 0, 4, 4))]


def test_classes_in_lists(tmp_path: Path) -> None:
    held = {id: one.annotations[0].label for id, one in scenes("Places434", tmp_path / "places").items()}
    assert held == {
        "data_256_standard/a/arch/00000001.jpg": "arch",
        "val_256/Places365_val_00000001.jpg": "airfield",
        "data_256_extra/c/cabin/outdoor/00000001.jpg": "cabin/outdoor",
    }
    faces, _ = scenes("ExpW", tmp_path / "expw").values()
    assert [(one.label, one.box) for one in faces.annotations] == [("angry", (2, 1, 5, 6)), ("neutral", (6, 0, 8, 3))]
    assert [one.annotations[0].label for one in scenes("RAF-DB", tmp_path / "raf").values()] == ["sadness", "surprise"]
    cork = scenes("KTH-TIPS2-b", tmp_path / "kth")["KTH-TIPS2-b/cork/sample_a/16a-scale_10_im_1_col.png"]
    assert (cork.annotations[0].label, cork.annotations[0].extra) == ("cork", {})


def test_the_middle_of_a_moment(tmp_path: Path) -> None:
    clap, box = scenes("Moments-in-Time", tmp_path).values()
    assert clap.picture == VideoFrame(tmp_path / "training/clapping/yt-1_2.mp4", 0.5)
    assert (clap.label, box.label, box.attributes["split"]) == (
        "clapping",
        "boxing",
        "val",
    )


def test_lines_of_no_use_are_told(tmp_path: Path) -> None:
    root = write(tmp_path, SCENE_LAYOUTS["ExpW"]())
    lines = ["b.jpg 0 0 0 3 3 60 3", "b.jpg 0 0 0 3 3 60 3", "b.jpg 1 0 0 x 3 60 3", "b.jpg 1 0 0 3 3 60 9", "b.jpg 1",
             "../b.jpg 1 0 0 3 3 60 1"]  # fmt: skip
    (root / "label.lst").write_text("\n".join(lines))
    assert told("ExpW", root) == {
        "odd: line of a list twice; the first counts": ("label.lst line 2",),
        "unreadable: box that is no four numbers": ("label.lst line 3",),
        "unreadable: class without a name": ("label.lst line 4",),
        "unreadable: line of too few columns": ("label.lst line 5",),
        "odd: picture outside the folder": ("label.lst line 6",),
    }
    [scene] = DATASETS.get("ExpW").samples(root)
    assert ([one.label for one in scene.annotations], scene.lost) == (["happy"], 3)
