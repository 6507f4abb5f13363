"""Samples of each reader of annotations, worked out by hand."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.curated_sets.datasets import DATASETS
from snellen.curated_sets.datasets.formats.hdf5 import open_hdf5, read_entry
from snellen.datasets.image_files import VideoFrame
from snellen.datasets.sample import Sample
from tests.curated_sets.datasets.annotated_layouts import ANNOTATED_LAYOUTS, plain
from tests.curated_sets.datasets.layouts import image_files, write


def samples_of(name: str, root: Path) -> dict[str, Sample]:
    return {sample.record_id: sample for sample in DATASETS.get(name).samples(write(root, ANNOTATED_LAYOUTS[name]()))}


def notes_of(name: str, root: Path) -> dict[str, tuple[str, ...]]:
    return {f"{note.kind}: {note.message}": note.locations for note in DATASETS.get(name).check(root).notes}


def test_voc_counts_pixels_from_one(tmp_path: Path) -> None:
    sample = samples_of("DIOR", tmp_path)["JPEGImages-trainval/00001.jpg"]
    assert [(annotation.label, annotation.box, annotation.area) for annotation in sample.annotations] == [
        ("ship", (0, 1, 4, 3), 8), ("harbor", (4, 0, 8, 6), 24),
    ]  # fmt: skip
    xml = tmp_path / "Annotations/Horizontal Bounding Boxes/00001.xml"
    xml.write_text(xml.read_text().replace("<xmax>4</xmax>", ""))
    assert notes_of("DIOR", tmp_path) == {"unreadable: object in another form": ("00001.xml: ship",)}
    [sample, _] = DATASETS.get("DIOR").samples(tmp_path)
    assert ([annotation.label for annotation in sample.annotations], sample.lost) == (["harbor"], 1)


@pytest.mark.parametrize("encoding", ["foo", "hex", "big5", "utf-7"])
def test_an_xml_file_in_an_encoding_that_is_not_read_is_noted(encoding: str, tmp_path: Path) -> None:
    xml = write(tmp_path, ANNOTATED_LAYOUTS["DIOR"]()) / "Annotations/Horizontal Bounding Boxes/00001.xml"
    xml.write_text(f"<?xml version='1.0' encoding='{encoding}'?><annotation/>")
    assert "unreadable: not a Pascal VOC annotation" in notes_of("DIOR", tmp_path)


def test_lines_of_carpk(tmp_path: Path) -> None:
    root = write(tmp_path, ANNOTATED_LAYOUTS["CARPK"]())
    text = root / "CARPK_devkit/data/Annotations/2016_GF_1.txt"
    text.write_text("1 1 3 4 1\n4 0 8\n5 5 2 2 1\n")
    assert notes_of("CARPK", root) == {
        "unreadable: line without a box": ("CARPK_devkit/data/Annotations/2016_GF_1.txt line 2",),
        "odd: inverted box": ("CARPK_devkit/data/Images/2016_GF_1.png: car [5.0, 5.0, 2.0, 2.0]",),
    }
    [first, second] = DATASETS.get("CARPK").samples(root)
    assert ([annotation.box for annotation in first.annotations], first.lost) == ([(1, 1, 3, 4)], 2)
    assert ([annotation.box for annotation in second.annotations], second.lost) == ([(1, 1, 3, 4), (4, 0, 8, 2)], 0)


def test_crowd_human_has_visible_boxes(tmp_path: Path) -> None:
    [sample, _] = samples_of("CrowdHuman", tmp_path).values()
    person, mask = sample.annotations
    assert (person.label, person.box) == ("person", (0, 1, 3, 5))
    assert person.extra == {"full_box": (0, 1, 3, 10), "head_box": (1, 1, 2, 2)}
    assert (mask.label, mask.extra["ignore"]) == ("mask", True)


def test_heads_of_vs_crowd(tmp_path: Path) -> None:
    by_id = samples_of("VSCrowd", tmp_path)
    first = by_id["videos/train_001/000001.jpg"]
    assert list(by_id) == [f"videos/{name}.jpg" for name in ("test_001/000001", "train_001/000001", "train_001/000010")]
    assert [
        (annotation.label, annotation.box, annotation.area, annotation.extra) for annotation in first.annotations
    ] == [
        ("person", (1.5, 0.25, 3.5, 2.75), 5, {"head": "68", "point": (2.5, 1.5)}),
        ("person", (5, 1, 7, 3), 4, {"head": "52", "point": (6, 2)}),
    ]
    assert first.attributes == {"video": "train_001", "split": "train"}
    assert by_id["videos/test_001/000001.jpg"].attributes == {"video": "test_001", "split": "test"}


def test_a_video_of_another_name_has_no_split(tmp_path: Path) -> None:
    root = write(tmp_path, ANNOTATED_LAYOUTS["VSCrowd"]())
    (root / "annotations/test_001.txt").rename(root / "annotations/night_001.txt")
    (root / "videos/test_001").rename(root / "videos/night_001")
    attributes = [sample.attributes for sample in DATASETS.get("VSCrowd").samples(root)]
    assert attributes == [{"video": "night_001"}, *[{"video": "train_001", "split": "train"}] * 2]


def test_useless_lines_of_vs_crowd_are_noted(tmp_path: Path) -> None:
    root = write(
        tmp_path, ANNOTATED_LAYOUTS["VSCrowd"]() | image_files("videos/train_001/11.jpg", "videos/train_002/1.jpg")
    )
    lines = ["1 68 1 1 3 3 2 2 68 4 1 6 3 5 2 9 7 7 5 5 6 6", "01 68 1 1 3 3 2 2", "10 68 1 1 3 3 2",
             "3 68 1 1 x 3 2 2", "../test_001/1 7 1 1 3 3 2 2", "4"]  # fmt: skip
    (root / "annotations/train_001.txt").write_text("\n".join(lines))
    line = "annotations/train_001.txt line"
    assert notes_of("VSCrowd", root) == {
        "odd: head twice in a frame; the first counts": (f"{line} 1",),
        "odd: inverted box": ("videos/train_001/000001.jpg: person [7.0, 7.0, 5.0, 5.0]",),
        "odd: frame twice; the first counts": (f"{line} 2",),
        "unreadable: line without seven numbers per head": (f"{line} 3", f"{line} 4"),
        "unreadable: line without the number of a frame": (f"{line} 5",),
        "missing: image of an annotation": ("videos/train_001/4.jpg",),
        "odd: image without annotation": ("videos/train_001/11.jpg",),
        "odd: video without annotations": ("videos/train_002",),
    }
    [_, frame] = DATASETS.get("VSCrowd").samples(root)
    assert ([annotation.extra["head"] for annotation in frame.annotations], frame.lost) == (["68"], 2)


def test_points_are_the_objects_of_fsc(tmp_path: Path) -> None:
    [shells, balloons] = samples_of("FSC-147", tmp_path).values()
    assert [(annotation.label, annotation.extra["point"]) for annotation in shells.annotations] == [
        ("sea shells", (1.5, 2.25)), ("sea shells", (4, 5)), ("sea shells", (7, 1)),
    ]  # fmt: skip
    assert (len(balloons.annotations), balloons.attributes) == (1, {"split": "val"})


def test_kitti_distances(tmp_path: Path) -> None:
    [first, other] = samples_of("KITTI", tmp_path).values()
    car, walker = first.annotations
    # At angle 0 a car's length is across the axis and its width along it; at a quarter turn its length is along it.
    assert car.label == "Car"
    assert car.extra["nearest_m"] == pytest.approx(20 - 1.6 / 2)
    assert walker.extra["nearest_m"] == pytest.approx(8.41 - 1.2 / 2, abs=1e-6)
    assert car.extra["at_m"] == (1, 1.7, 20)
    depth = first.read_depth()  # image 0 is line 2 of the mapping: frame 5
    assert depth is not None
    assert depth[3, 2] == 12.5
    assert np.isnan(depth).sum() == 47
    assert other.read_depth() is None
    attributes = {"drive": "2011_09_26_drive_0005_sync", "unmarked": (0, 0, 1, 1)}
    assert [sample.attributes for sample in (first, other)] == [attributes] * 2


def test_depths_of_kitti_are_of_either_split(tmp_path: Path) -> None:
    root = write(tmp_path, ANNOTATED_LAYOUTS["KITTI"]())
    (root / "data_depth_annotated/train").rename(root / "data_depth_annotated/val")
    first, _ = DATASETS.get("KITTI").samples(root)
    depth = first.read_depth()
    assert depth is not None
    assert depth[3, 2] == 12.5


@pytest.mark.parametrize("number", ["\xb2", "9" * 5000])
def test_odd_numbers_in_the_mapping_of_kitti_are_ignored(number: str, tmp_path: Path) -> None:
    root = write(tmp_path, ANNOTATED_LAYOUTS["KITTI"]())
    path = next(root.rglob("train_rand.txt"))
    path.write_text(f"{number}\n{path.read_text()}")
    assert not notes_of("KITTI", root)


@pytest.mark.parametrize("kind", ["raw", "link", "pipe", "virtual"])
def test_arrays_outside_the_file_are_not_read(tmp_path: Path, kind: str) -> None:
    """HDF5 can take an array from any file of the disk."""
    (tmp_path / "secret").write_bytes(bytes(range(64)))
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other.create_dataset("x", data=np.zeros((1, 64), "u1"))
    os.mkfifo(tmp_path / "pipe")
    writer = os.open(tmp_path / "pipe", os.O_RDWR)  # without a writer, it would block in C
    with h5py.File(tmp_path / "a.h5", "w") as file:
        if kind == "raw":
            file.create_dataset("x", (1, 64), "u1", external=[(str(tmp_path / "secret"), 0, 64)])
        elif kind == "link":
            file["x"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "x")
        elif kind == "pipe":
            file["y"] = h5py.ExternalLink(str(tmp_path / "pipe"), "x")
            file["x"] = h5py.SoftLink("/y")
        else:
            layout = h5py.VirtualLayout((1, 64), "u1")
            layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "x", (1, 64))
            file.create_virtual_dataset("x", layout)
    with open_hdf5(tmp_path / "a.h5") as file, pytest.raises(SnellenError, match="x is stored in another file"):
        read_entry(file, "x", 0)
    os.close(writer)


def test_arrays_that_a_file_declares_but_does_not_store_are_not_read(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", (3, 3, 2000, 2000), "u1", chunks=(1, 3, 2000, 2000))
    with open_hdf5(tmp_path / "a.h5") as file, pytest.raises(SnellenError, match="1000 times the file's size"):
        read_entry(file, "x", 0)


@pytest.mark.parametrize(("limit", "number"), [("MAX_ENTRIES", 2), ("MAX_ENTRY_BYTES", 399)])
def test_arrays_of_many_or_large_entries_are_not_read(
    tmp_path: Path, limit: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = np.arange(300, dtype="f4").reshape(3, 100)
    with open_hdf5(tmp_path / "a.h5") as file:
        assert read_entry(file, "x", 2)[0] == 200
        monkeypatch.setattr(f"snellen.curated_sets.datasets.formats.hdf5.{limit}", number)
        with pytest.raises(SnellenError, match="/x declares more than the limit of"):
            read_entry(file, "x", 0)


@pytest.mark.parametrize("codes", [[2**31], [0xD800], [65] * 1001])
def test_a_name_of_odd_or_endless_codes_is_noted(tmp_path: Path, codes: list[int]) -> None:
    root = write(tmp_path, ANNOTATED_LAYOUTS["NYU-Depth-V2"]())
    with h5py.File(root / "nyu_depth_v2_labeled.mat", "r+") as file:
        del file["#refs#/names0"], file["names"]
        text = file.create_dataset("text", data=np.array(codes, "u4" if codes[0] > 2**16 else "u2"))
        file.create_dataset("names", data=np.array([text.ref] * 2, dtype=h5py.ref_dtype), dtype=h5py.ref_dtype)
    assert list(notes_of("NYU-Depth-V2", root)) == ["unreadable: not the file of the dataset"]


def test_nyu_arrays_are_transposed(tmp_path: Path) -> None:
    office, kitchen = samples_of("NYU-Depth-V2", tmp_path).values()
    assert [(annotation.label, annotation.box, annotation.area) for annotation in office.annotations] == [
        ("chair", (1, 2, 4, 6), 12), ("chair", (6, 0, 7, 1), 1),
    ]  # fmt: skip
    assert office.annotations[0].extra == {"instance": 1, "nearest_m": 1.25, "median_m": 3}
    assert [annotation.label for annotation in kitchen.annotations] == ["wall"]
    assert (office.size, office.attributes) == ((8, 6), {"scene": "office_0001"})
    depth = office.read_depth()
    assert depth is not None
    assert (depth.shape, depth[3, 2]) == ((6, 8), 1.25)
    assert np.isnan(depth[5, 3])
    pixels = np.asarray(Image.open(io.BytesIO(office.read_image()[0])))
    with h5py.File(tmp_path / "nyu_depth_v2_labeled.mat") as file:
        assert pixels[4, 1].tolist() == file["images"][0, :, 1, 4].tolist()


def test_things_of_nyu_without_a_name_are_lost(tmp_path: Path) -> None:
    root = write(tmp_path, ANNOTATED_LAYOUTS["NYU-Depth-V2"]())
    with h5py.File(root / "nyu_depth_v2_labeled.mat", "r+") as file:
        file["labels"][0, 6, 0] = 3
    samples = list(DATASETS.get("NYU-Depth-V2").samples(root))
    assert [(len(sample.annotations), sample.lost) for sample in samples] == [(1, 1), (1, 0)]


def test_a_matlab_file_of_another_version_is_noted_with_a_remedy(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, {"images": np.zeros(3)})  # type: ignore[arg-type]  # it takes open files too
    root = write(tmp_path, {"nyu_depth_v2_labeled.mat": buffer.getvalue()})
    [location] = notes_of("NYU-Depth-V2", root)["unreadable: not the file of the dataset"]
    assert "a MATLAB file older than 7.3; use the published one" in location
    files = ANNOTATED_LAYOUTS["IIIT5K"]() | {"IIIT5K/traindata.mat": b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"}
    notes = notes_of("IIIT5K", write(tmp_path / "words", files))
    assert "unreadable: MATLAB 7.3 file, which is not supported; save it again in MATLAB with -v7" in notes


def test_a_missing_h5py_is_noted_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write(tmp_path, ANNOTATED_LAYOUTS["NYU-Depth-V2"]())
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(SnellenError, match=r"pip install .*\[sources\]'"):
        list(DATASETS.get("NYU-Depth-V2").samples(root))
    assert "[sources]'" in notes_of("NYU-Depth-V2", root)["missing: requirement of the reader"][0]


def test_questions_with_answers_of_people(tmp_path: Path) -> None:
    sample, _ = samples_of("VQAv2", tmp_path / "vqa").values()
    assert [(question.question, question.answers) for question in sample.questions] == [("How many dogs?", ("2", "3"))]
    assert sample.questions[0].extra == {"answer_type": "number", "question_type": "how many"}
    [bird] = samples_of("EgoOrientBench", tmp_path / "ego").values()
    assert bird.record_id == "all_data/EgocentricDataset/imagenet_after/COCO_val2014_000000358765.jpg"
    assert [(annotation.label, annotation.extra["orientation"]) for annotation in bird.annotations] == [
        ("bird", "front right")
    ]
    assert [question.answers for question in bird.questions] == [("front right",), ("yes",)]


def test_an_imagenet_object_is_one_under_all_its_names(tmp_path: Path) -> None:
    # additional_data/benchmark_imagenet.json of the authors' repository: no domain, two forms of category_name
    name = "imagenet_after/n01641577_22311.JPEG"
    questions = [
        {"type": kind, "image": f"./{name}", "original_label": "back right", "question": "Which way?",
         "label": label, "category_name": category}
        for kind, label, category in (("general_complex", "back right", "bullfrog, Rana catesbeiana"),
                                      ("general_binary", "no", "bullfrog"))
    ]  # fmt: skip
    base = "EgoOrientBench/all_data/EgocentricDataset"
    files = {**image_files(f"{base}/{name}"), f"{base}/additional_data/benchmark_imagenet.json": plain(questions)}
    [frog] = DATASETS.get("EgoOrientBench").samples(write(tmp_path, files))
    assert [(annotation.label, annotation.extra) for annotation in frog.annotations] == [
        ("bullfrog", {"orientation": "back right"})
    ]
    assert len(frog.questions) == 2


def test_boxes_of_faces_may_be_missing_or_broken(tmp_path: Path) -> None:
    root = write(tmp_path, ANNOTATED_LAYOUTS["RAF-DB"]())
    boxes = root / "basic" / "Annotation" / "boundingbox"
    (boxes / "train_00001_boundingbox.txt").write_text("1 2 3\n")
    (boxes / "test_0001_boundingbox.txt").unlink()
    faces = [sample.annotations[0] for sample in DATASETS.get("RAF-DB").samples(root)]
    assert [face.box for face in faces] == [None, None]
    notes = notes_of("RAF-DB", root)
    assert notes["missing: box of an image"] == ("basic/Annotation/boundingbox/test_0001_boundingbox.txt",)
    assert "unreadable: box without four numbers" in notes
    (boxes / "train_00001_boundingbox.txt").unlink()
    boxes.rmdir()
    assert notes_of("RAF-DB", root) == {"odd: folder of boxes is missing": ("basic/Annotation/boundingbox",)}


def test_boxes_of_inaturalist_2017(tmp_path: Path) -> None:
    # 2017/README.md of visipedia/inat_comp: [x, y, width, height]; `area` is half of the box, and is not used here
    raven = next(iter(samples_of("iNaturalist-2017", tmp_path).values())).annotations[0]
    assert (raven.label, raven.box, raven.area) == ("Corvus corax", (1, 1, 5, 4), 12)
    assert raven.extra == {"supercategory": "Aves"}


def test_words_and_their_boxes(tmp_path: Path) -> None:
    [sample] = samples_of("COCO-Text", tmp_path / "coco").values()
    assert [(annotation.label, annotation.box, annotation.extra["class"]) for annotation in sample.annotations] == [
        ("Café", (1, 1, 4, 3), "machine printed"),
    ]  # fmt: skip
    nokia, _ = samples_of("TextVQA", tmp_path / "vqa").values()
    assert [(annotation.label, annotation.box, annotation.area) for annotation in nokia.annotations] == [
        ("NOKIA", (2, 3, 6, 4.5), 6)
    ]
    assert nokia.questions[0].answers == ("nokia", "other")
    first, last = samples_of("IIIT5K", tmp_path / "iiit").values()
    assert [first.annotations[0].label, last.annotations[0].label, last.attributes["split"]] == [
        "YOU",
        "PRIVATE",
        "test",
    ]


def test_names_of_cure_or(tmp_path: Path) -> None:
    dirty, plain_ = samples_of("CURE-OR", tmp_path).values()
    assert (dirty.record_id, dirty.annotations[0].label) == ("2_5_5_007_05_3.jpg", "007")
    assert dirty.annotations[0].extra == {"orientation": "top"}
    assert plain_.attributes == {"background": "white", "device": "iPhone 6s", "challenge": 1, "level": 0}
    (tmp_path / "9_1_1_001_01_0.jpg").write_bytes(b"x")
    assert notes_of("CURE-OR", tmp_path) == {"odd: image name of another form": ("9_1_1_001_01_0.jpg",)}


def test_a_texture_is_named_by_its_patch(tmp_path: Path) -> None:
    assert [sample.label for sample in samples_of("Kylberg", tmp_path).values()] == ["blanket1", "canvas1"]
    write(tmp_path, image_files("all/rug1-a-p001-r30.png", "all/rug1-a.png", "all/rug1.png"))
    assert notes_of("Kylberg", tmp_path) == {
        "left out: rotated patch": ("all/rug1-a-p001-r30.png",),
        "left out: uncut photograph": ("all/rug1-a.png",),
        "odd: image name of another form": ("all/rug1.png",),
    }


def test_boxes_and_classes_in_tables(tmp_path: Path) -> None:
    albatross, _ = samples_of("CUB-200-2011", tmp_path / "cub").values()
    assert [(annotation.label, annotation.box) for annotation in albatross.annotations] == [
        ("001.Black_footed_Albatross", (1, 2, 4, 6))
    ]
    assert albatross.attributes == {"split": "test"}
    by_id = [
        (annotation.annotations[0].label, annotation.annotations[0].box)
        for annotation in samples_of("FGVC-Aircraft", tmp_path / "air").values()
    ]
    assert by_id == [("Boeing 717", (0, 1, 8, 5)), ("707-320", (0, 0, 4, 4)), ("DH-82", (2, 0, 4, 4))]


def test_classes_in_lists(tmp_path: Path) -> None:
    by_id = {id: sample.label for id, sample in samples_of("Places434", tmp_path / "places").items()}
    assert by_id == {
        "data_256_standard/a/arch/00000001.jpg": "arch",
        "val_256/Places365_val_00000001.jpg": "airfield",
        "data_256_extra/c/cabin/outdoor/00000001.jpg": "cabin/outdoor",
    }
    (tmp_path / "places/data_256_standard").rename(tmp_path / "places/data_256")
    assert "data_256/a/arch/00000001.jpg" in [
        sample.record_id for sample in DATASETS.get("Places434").samples(tmp_path / "places")
    ]
    faces, _ = samples_of("ExpW", tmp_path / "expw").values()
    assert [(face.label, face.box) for face in faces.annotations] == [
        ("angry", (2, 1, 5, 6)),
        ("neutral", (6, 0, 8, 3)),
    ]
    faces_by_file = [
        (sample.label, sample.annotations[0].box) for sample in samples_of("RAF-DB", tmp_path / "raf").values()
    ]
    assert faces_by_file == [("sadness", (1, 1.5, 5, 6)), ("surprise", (2, 1.5, 5, 6))]
    cork = samples_of("KTH-TIPS2-b", tmp_path / "kth")["KTH-TIPS2-b/cork/sample_a/16a-scale_10_im_1_col.png"]
    assert (cork.annotations[0].label, cork.annotations[0].extra) == ("cork", {})


def test_the_middle_of_a_moment(tmp_path: Path) -> None:
    clap, box = samples_of("Moments-in-Time", tmp_path).values()
    assert clap.image == VideoFrame(tmp_path / "training/clapping/yt-1_2.mp4", 0.5)
    assert (clap.label, box.label, box.attributes["split"]) == ("clapping", "boxing", "val")


def test_useless_lines_are_noted(tmp_path: Path) -> None:
    root = write(tmp_path, ANNOTATED_LAYOUTS["ExpW"]()) / "data"
    lines = ["b.jpg 0 0 0 3 3 60 3", "b.jpg 0 0 0 3 3 60 3", "b.jpg 1 0 0 x 3 60 3", "b.jpg 1 0 0 3 3 60 9", "b.jpg 1",
             "../b.jpg 1 0 0 3 3 60 1"]  # fmt: skip
    (root / "label/label.lst").write_text("\n".join(lines))
    assert notes_of("ExpW", root) == {
        "odd: line of a list twice; the first counts": ("label/label.lst line 2",),
        "unreadable: box without four numbers": ("label/label.lst line 3",),
        "unreadable: class without a name": ("label/label.lst line 4",),
        "unreadable: line with too few columns": ("label/label.lst line 5",),
        "odd: image outside the folder": ("label/label.lst line 6",),
    }
    [sample] = DATASETS.get("ExpW").samples(root)
    assert ([annotation.label for annotation in sample.annotations], sample.lost) == (["happy"], 3)
