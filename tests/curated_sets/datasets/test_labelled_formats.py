"""Samples of each reader of labelled images, worked out by hand."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.core.storage import files
from snellen.curated_sets.datasets import DATASETS
from snellen.curated_sets.datasets.dataset import Reader
from snellen.curated_sets.datasets.formats.box_files import DepthPng
from snellen.curated_sets.datasets.formats.class_folders import ClassFolders
from snellen.curated_sets.datasets.formats.exposures import Exposures
from snellen.curated_sets.datasets.formats.image_masks import MaskFiles
from snellen.curated_sets.datasets.formats.nifti import LabelledVolumes, VolumeSlice
from snellen.curated_sets.datasets.formats.product_lists import ProductList
from snellen.curated_sets.datasets.formats.tables import OptionTable
from snellen.curated_sets.vlm2_bench.edit_pairs import _csv_lines
from snellen.datasets.image_files import ImageFile
from snellen.datasets.sample import Annotation, Note, RawSample, Sample, SourceImage
from snellen.suites.vlm2_bench.released.files import tsv_rows
from tests.curated_sets.datasets import layouts
from tests.curated_sets.datasets.annotated_layouts import ANNOTATED_LAYOUTS
from tests.curated_sets.datasets.layouts import LAYOUTS, image, mask, volume, write


def samples_of(name: str, root: Path) -> dict[str, Sample]:
    return {sample.record_id: sample for sample in DATASETS.get(name).samples(write(root, LAYOUTS[name]()))}


def scan(reader: Reader, root: Path) -> tuple[list[RawSample], list[Note]]:
    results = list(reader.scan(root))
    samples = [result for result in results if isinstance(result, RawSample)]
    return samples, [result for result in results if isinstance(result, Note)]


def pixels(raw: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(raw)))


def mask_of(annotation: Annotation) -> np.ndarray | None:
    return None if annotation.mask is None else np.asarray(annotation.mask.open())


def notes_of(name: str, root: Path) -> dict[tuple[str, str], tuple[str, ...]]:
    return {(note.kind, note.message): note.locations for note in DATASETS.get(name).check(root).notes}


def test_mvtec_masks_belong_to_their_images(tmp_path: Path) -> None:
    by_id = samples_of("MVTec-AD", tmp_path)
    hole = by_id["mvtec_anomaly_detection/bottle/test/hole/000.png"]
    assert (hole.object, hole.label, hole.annotations[0].find_box()) == ("bottle", "hole", (1.0, 2.0, 4.0, 5.0))
    good = by_id["mvtec_anomaly_detection/bottle/test/good/000.png"]
    assert (good.label, good.annotations[0].mask, good.annotations[0].find_box()) == ("good", None, None)
    assert good.annotations[0].mask is None


@pytest.mark.parametrize(
    ("name", "id", "box"),
    [
        ("MVTec-AD-2", "mvtec_ad_2/can/test_public/bad/000_overexposed.png", (0, 0, 2, 2)),
        ("MVTec-LOCO", "pushpins/test/logical_anomalies/000.png", (1, 1, 7, 6)),  # around both masks
        ("MVTec-3D", "rope/test/crack/rgb/000.png", (2, 2, 3, 3)),
        ("VisA", "pcb1/Data/Images/Anomaly/000.JPG", (3, 1, 5, 2)),
        ("BTAD", "BTech_Dataset_transformed/01/test/ko/0000.bmp", (1, 1, 3, 3)),
        ("AITEX", "Defect_images/0001_002_00.png", (0, 0, 8, 6)),
        ("CAMO", "CAMO-V.1.0-CVIU2019/Images/Test/camourflage_00002.jpg", (2, 1, 6, 4)),
        ("NEU-DET", "NEU-DET/IMAGES/crazing_1.jpg", (1, 0, 8, 6)),  # VOC counts from 1, the last pixel included
    ],
)
def test_boxes_of_marked_images(name: str, id: str, box: tuple[float, ...], tmp_path: Path) -> None:
    assert samples_of(name, tmp_path)[id].annotations[0].find_box() == box


def test_labels_and_objects(tmp_path: Path) -> None:
    by_dataset = {
        name: samples_of(name, tmp_path / name)
        for name in ("COD10K", "Fabrics", "AITEX", "MVTec-AD-2", "25-Indian-Bird")
    }
    assert {sample.record_id.split("/")[-1][:10]: sample.label for sample in by_dataset["COD10K"].values()} == {
        "COD10K-CAM": "camouflaged",
        "COD10K-Non": "not camouflaged",
    }
    assert by_dataset["Fabrics"]["Fabrics/Cotton/2/im_2.png"].label == "Cotton"
    assert {sample.label for sample in by_dataset["Fabrics"].values()} == {"Cotton", "Wool"}, "the rest have no class"
    assert {sample.label for sample in by_dataset["AITEX"].values()} == {"defect", "no defect"}
    assert {sample.label for sample in by_dataset["MVTec-AD-2"].values()} == {"good", "bad"}, "masks are not a class"
    assert by_dataset["25-Indian-Bird"]["training_set/training_set/Hoopoe/1.jpg"].label == "Hoopoe"


def test_odd_masks(tmp_path: Path) -> None:
    root = write(tmp_path, layouts.mvtec_ad())
    truth = root / "mvtec_anomaly_detection" / "bottle" / "ground_truth" / "hole"
    (truth / "007_mask.png").write_bytes(mask(0, 0, 1, 1))
    (truth / "000_mask.png").write_bytes(mask(0, 0, 1, 1, size=(3, 3)))
    (root / "mvtec_anomaly_detection" / "tile" / "ground_truth" / "hole" / "000_mask.png").write_bytes(b"broken")
    notes = notes_of("MVTec-AD", root)
    assert notes["missing", "image of this mask"] == ("mvtec_anomaly_detection/bottle/ground_truth/hole/007_mask.png",)
    assert "(8, 6) and (3, 3)" in notes["odd", "mask and image differ in size"][0]
    assert notes["unreadable", "not a readable mask"][0].endswith("tile/ground_truth/hole/000_mask.png")


def test_good_images_are_not_marked_despite_a_black_mask(tmp_path: Path) -> None:
    assert samples_of("MVTec-3D", tmp_path)["rope/test/good/rgb/000.png"].annotations[0].mask is None


def test_an_image_with_damaged_pixels_is_noted(tmp_path: Path) -> None:
    root = write(tmp_path, layouts.itd())
    path = root / "type1cam1" / "train" / "good" / "img1.png"
    raw = path.read_bytes()
    path.write_bytes(raw[:60] + bytes([raw[60] ^ 255]) + raw[61:])
    assert "type1cam1/train/good/img1.png" in notes_of("ITD", root)["unreadable", "not a readable image"][0]


def test_defects_of_two_kinds_in_one_image_have_no_class(tmp_path: Path) -> None:
    files = layouts.neu_det()
    name = "NEU-DET/ANNOTATIONS/patches_1.xml"
    files[name] = files[name].replace(b"<name>patches", b"<name>scratches", 1)
    by_id = [sample.record_id for sample in DATASETS.get("NEU-DET").samples(write(tmp_path, files))]
    assert len(by_id) == 5
    assert "NEU-DET/IMAGES/patches_1.jpg" not in by_id


def test_a_missing_object_is_noted(tmp_path: Path) -> None:
    files = {name: raw for name, raw in layouts.btad().items() if "/02/" not in name}
    assert notes_of("BTAD", write(tmp_path, files))["missing", "no image of this object"] == ("02",)


def test_images_outside_classes_and_empty_classes(tmp_path: Path) -> None:
    write(tmp_path, {"train/1.jpg": image("1.jpg"), "train/oak/2.jpg": image("2.jpg"), "notes/readme.txt": b""})
    (tmp_path / "train" / "elm").mkdir()
    samples, notes = scan(ClassFolders("tree"), tmp_path)
    assert [sample.label for sample in samples] == ["oak"]
    assert {note.location for note in notes} == {"train/1.jpg", "train/elm"}


def test_duplicate_images_are_read_once(tmp_path: Path) -> None:
    once = samples_of("V2-Plant-Seedlings", tmp_path)
    write(tmp_path, {f"nonsegmentedv2/{name}": raw for name, raw in LAYOUTS["V2-Plant-Seedlings"]().items()})
    twice = {sample.record_id: sample for sample in DATASETS.get("V2-Plant-Seedlings").samples(tmp_path)}
    assert set(twice) == {f"nonsegmentedv2/{id}" for id in once}
    assert {sample.label for sample in twice.values()} == {"Black-grass", "Charlock"}
    assert notes_of("V2-Plant-Seedlings", tmp_path) == {
        ("left out", "duplicate of nonsegmentedv2"): ("Black-grass", "Charlock")
    }


def test_lists_offer_as_many_classes_as_the_paper(tmp_path: Path) -> None:
    by_id = samples_of("Product1M", tmp_path / "1m")
    assert (
        len({sample.label for sample in by_id.values()}) == 50
    )  # Table 7: 47 classes, of one task at most 47 candidates
    assert {sample.object for sample in by_id.values()} == {"cosmetics"}
    assert by_id["images/7.jpg"].label == "牌子 product 7"
    assert "images/50.jpg" not in by_id, "two products, not one class"
    products = samples_of("Products-10K", tmp_path / "10k")
    assert len({sample.label for sample in products.values() if sample.object == "product group 0"}) == 48


def test_faults_of_a_list_are_noted(tmp_path: Path) -> None:
    reader = ProductList("thing", (("list.csv", "images"),), name="name", label="class")
    lines = "name,class\na.jpg,x\na.jpg,x\n../secret.jpg,x\n/etc/x.jpg,x\ngone.jpg,x\nshort\nb.jpg,\n"
    write(tmp_path, {"list.csv": lines.encode(), "images/a.jpg": image("a.jpg"), "secret.jpg": b""})
    samples, notes = scan(reader, tmp_path)
    assert [sample.record_id for sample in samples] == ["images/a.jpg"]
    assert [(note.kind, note.location) for note in notes] == [
        ("odd", "list.csv line 3"), ("odd", "list.csv line 4"), ("odd", "list.csv line 5"),
        ("missing", "images/gone.jpg"), ("unreadable", "list.csv line 7"), ("left out", "list.csv line 8"),
    ]  # fmt: skip
    (tmp_path / "list.csv").write_bytes(b"name,class\n\xff\xfe")
    assert [note.kind for note in scan(reader, tmp_path)[1]] == ["unreadable"]


def test_attributes_are_read_if_annotators_agree(tmp_path: Path) -> None:
    by_id = {id: sample.label for id, sample in samples_of("ClothingAttributesDataset", tmp_path).items()}
    assert by_id["images/000001.jpg#color"] == "black"
    assert "images/000002.jpg#color" not in by_id, "two colours"
    assert by_id["images/000001.jpg#neckline"] == "v-shape"
    assert by_id["images/000002.jpg#neckline"] == "round"
    assert not any(id.startswith("images/000003.jpg") for id in by_id), "no agreement"


def test_a_matlab_file_of_version_7_3_is_noted_with_a_remedy(tmp_path: Path) -> None:
    root = write(tmp_path, layouts.clothing())
    header = b"MATLAB 7.3 MAT-file".ljust(124) + struct.pack("<H", 0x0200) + b"IM"
    (root / "labels" / "necktie_GT.mat").write_bytes(header + bytes(400))
    notes = notes_of("ClothingAttributesDataset", root)
    assert [(locations, note) for (kind, note), locations in notes.items() if kind == "unreadable"] == [
        (("labels/necktie_GT.mat",), "MATLAB 7.3 file, which is not supported; save it again in MATLAB with -v7")
    ]


def test_a_missing_image_invalidates_all_later_labels(tmp_path: Path) -> None:
    root = write(tmp_path, layouts.clothing())
    (root / "images" / "000001.jpg").unlink()
    assert list(DATASETS.get("ClothingAttributesDataset").samples(root)) == []


def test_exposures_take_the_ends_and_the_reference(tmp_path: Path) -> None:
    by_id = {id: sample.label for id, sample in samples_of("ImageExposures", tmp_path).items()}
    assert by_id == {
        "Dataset_Part1/1/1.JPG": "under-exposed",
        "Dataset_Part1/Label/1.JPG": "well exposed",
        "Dataset_Part1/1/5.JPG": "over-exposed",
        "Dataset_Part2/10/1.PNG": "under-exposed",
        "Dataset_Part2/Label/10.PNG": "well exposed",
        "Dataset_Part2/10/10.PNG": "over-exposed",  # by number: by name it would be 9
    }


def test_table_rows_refer_to_their_images(tmp_path: Path) -> None:
    by_id = samples_of("GMAI-MMBench", tmp_path / "tsv")
    assert {id.split("#")[1]: sample.label for id, sample in by_id.items()} == {
        "0": "melanoma",
        "1": "nevus",
        "2": "melanoma",
    }
    assert {sample.object for sample in by_id.values()} == {"Dermoscopy / Disease Diagnosis"}
    read_images = [sample.read_image() for sample in by_id.values()]
    assert read_images == [(image(f"{n}.png"), "png") for n in (0, 1, 0)], "row 2 names the image of row 0"


@pytest.mark.parametrize("index", [{}, {"index": "0"}])
def test_rows_with_an_image_keep_it_whatever_their_index(index: dict[str, str], tmp_path: Path) -> None:
    rows = [{name: cell for name, cell in row.items() if name != "index"} | index for row in layouts.gmai_rows()]
    pq.write_table(pa.Table.from_pylist([rows[0], rows[1]]), tmp_path / "val.parquet")
    samples, _ = scan(OptionTable(objects=("modality",)), tmp_path)
    images = [base64.b64encode(sample.image.read(sample.record_id)[0]).decode() for sample in samples]
    assert images == [rows[0]["image"], rows[1]["image"]]


def test_parquet_and_tsv_give_the_same(tmp_path: Path) -> None:
    by_id = samples_of("GMAI-MMBench", tmp_path / "tsv")
    rows = [{**row, "image": row["image"] if len(row["image"]) < 9 else {"bytes": base64.b64decode(row["image"])}}
            for row in layouts.gmai_rows() if row["index"] != "2"]  # fmt: skip
    (tmp_path / "parquet").mkdir()
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "parquet" / "val.parquet", row_group_size=1)
    other = list(DATASETS.get("GMAI-MMBench").samples(tmp_path / "parquet"))
    assert [sample.record_id for sample in other] == ["val.parquet#0", "val.parquet#1"]
    both = list(zip(list(by_id.values())[:2], other, strict=True))
    assert [a.read_image() for a, _ in both] == [b.read_image() for _, b in both]
    assert [(a.label, a.object) for a, _ in both] == [(b.label, b.object) for _, b in both]


@pytest.mark.parametrize("letter", ["*", "\xe9"])
def test_a_row_without_base64_is_noted_and_the_others_stay(letter: str, tmp_path: Path) -> None:
    raw = layouts.gmai()["GMAI-MMBench_VAL.tsv"].replace(b"iVBOR", f"{letter}VBOR".encode(), 1)
    inventory = DATASETS.get("GMAI-MMBench").check(write(tmp_path, {"val.tsv": raw}))
    assert [(note.kind, note.count) for note in inventory.notes if note.kind == "unreadable"] == [("unreadable", 2)]
    assert inventory.samples == 1


def test_an_image_for_all_rows_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dictionary holds it once; each row after another would decode all rows before it."""
    row, batches = layouts.gmai_rows()[0], list[pa.RecordBatch]()
    rows = [{**row, "index": str(number), "image": image("0.png")} for number in range(60)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "val.parquet", use_dictionary=["image"])
    monkeypatch.setattr("snellen.core.storage.files.rows_at_once", lambda longest: 1)
    decoded = files.bounded_batches

    def counted(*words: Any) -> Iterator[pa.RecordBatch]:
        for batch in decoded(*words):
            batches.append(batch)
            yield batch

    monkeypatch.setattr("snellen.core.storage.files.bounded_batches", counted)
    assert DATASETS.get("GMAI-MMBench").check(tmp_path).samples == 60
    assert len(batches) == 120
    monkeypatch.setattr("snellen.curated_sets.datasets.formats.tables.MAX_RATIO", 0)
    [note] = DATASETS.get("GMAI-MMBench").check(tmp_path).notes
    assert (note.kind, note.message) == ("unreadable", "not a table")


@pytest.mark.parametrize("name", ["GMAI-MMBench", "Products-10K", "Product1M", "CARPK", "CrowdHuman"])
def test_a_line_that_does_not_end_is_noted(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snellen.curated_sets.datasets.formats.lists.MAX_LINE", 3000)
    monkeypatch.setattr("snellen.curated_sets.datasets.formats.product_lists.MAX_LINE", 3000)
    monkeypatch.setattr("snellen.curated_sets.datasets.formats.tables.MAX_MEDIA_BYTES", 3000)
    root = write(tmp_path, {**LAYOUTS, **ANNOTATED_LAYOUTS}[name]())
    tables = [path for path in root.rglob("*") if path.suffix in (".tsv", ".csv", ".txt", ".odgt")]
    for path in tables:
        path.write_bytes(path.read_bytes() + b"x" * 3001)
    notes = DATASETS.get(name).check(root).notes
    assert any("a line of more than 3000 characters" in "".join(note.locations) for note in notes), notes


def test_each_label_of_a_volume_is_shown_where_most_of_it_is(tmp_path: Path) -> None:
    by_id = list(samples_of("MSD-Brain", tmp_path).values())
    assert [(sample.record_id.split("#")[1], sample.label) for sample in by_id] == [
        ("1", "edema"),  # 36 voxels; slice 3 has 25, slice 4 has 40 and 56 of another label
        ("2", "non-enhancing tumor"),  # 21 voxels and 4 of edema
        ("4", "enhancing tumour"),
    ]
    # Labels 2:8 (right), 3:9 (front) of 12 x 10 voxels: the image's columns count from the patient's right.
    assert by_id[0].annotations[0].find_box() == (12 - 8, 10 - 9, 12 - 2, 10 - 3)


def test_absence_is_shown_by_the_middle_of_the_longest_run(tmp_path: Path) -> None:
    by_id = [(sample.record_id.split("#")[1], sample.label) for sample in samples_of("MSD-Spleen", tmp_path).values()]
    assert by_id == [("2", "spleen"), ("6", "no spleen")]


def test_window_and_orientation_of_a_slice(tmp_path: Path) -> None:
    values = np.zeros((3, 2, 1), np.int16)
    values[0, 0, 0], values[2, 1, 0], values[1, 0, 0] = -160, 240, 40  # left back, right front, middle back
    values[1, 1, 0] = 1000
    path = tmp_path / "v.nii.gz"
    path.write_bytes(volume(values))
    grey = pixels(_record(VolumeSlice(path, 0, window=(-160, 240))).read_image()[0])
    assert grey.tolist() == [[255, 255, 102], [102, 128, 0]]  # front row: right, middle, left; 0 is at 40 %
    flipped = tmp_path / "flipped.nii.gz"
    flipped.write_bytes(volume(values[::-1].copy(), np.diag([-1.0, 1.0, 1.0, 1.0])))
    assert pixels(_record(VolumeSlice(flipped, 0, window=(-160, 240))).read_image()[0]).tolist() == grey.tolist()


def test_percentiles_leave_out_the_background(tmp_path: Path) -> None:
    values = np.zeros((20, 20, 2), np.float32)
    values[:10, :, 0] = np.arange(1, 201).reshape(10, 20)
    path = tmp_path / "v.nii.gz"
    path.write_bytes(volume(values))
    grey = pixels(_record(VolumeSlice(path, 0)).read_image()[0])
    low, high = np.percentile(np.arange(1, 201), (0.5, 99.5))
    assert grey[-1, -1] == 0
    assert grey[9, 14] == round((values[5, 10, 0] - low) / (high - low) * 255)


def test_volumes_and_labels_may_differ_in_axis_order(tmp_path: Path) -> None:
    labels = np.zeros((6, 5, 4), np.uint8)
    labels[1:5, :, 3] = 1
    values = np.where(labels == 1, 100, 1).astype(np.int16)
    across = np.array([[0, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1.0]])  # stored: anterior, superior, right
    files = {"imagesTr/a.nii.gz": volume(values.transpose(1, 2, 0).copy(), across), "labelsTr/a.nii.gz": volume(labels)}
    [sample], notes = scan(LabelledVolumes("x", ("y",), window=(0, 100)), write(tmp_path, files))
    assert (notes, sample.record_id) == ([], "imagesTr/a.nii.gz#3")
    record = Sample(source="s", licence="none", **vars(sample))
    assert ((pixels(record.read_image()[0]) == 255) == (mask_of(record.annotations[0]) == 255)).all()


def test_volumes_that_do_not_fit_their_labels_are_noted(tmp_path: Path) -> None:
    files = {
        "imagesTr/a.nii.gz": volume(np.zeros((4, 4, 3), np.int16)),
        "labelsTr/a.nii.gz": volume(np.zeros((4, 4, 2), np.uint8)),
        "imagesTr/b.nii.gz": volume(np.zeros((4, 4, 3), np.int16)),
        "labelsTr/c.nii.gz": volume(np.zeros((4, 4, 3), np.uint8)),
        "imagesTr/d.nii.gz": volume(np.zeros((4, 4, 3), np.int16)),
        "labelsTr/d.nii.gz": volume(np.ones((4, 4, 3), np.uint8))[:60],
    }
    samples, notes = scan(LabelledVolumes("x", ("y",)), write(tmp_path, files))
    assert samples == []
    assert [(note.kind, note.message) for note in notes] == [
        ("unreadable", "volume and labels differ in size"),
        ("missing", "volume of these labels"),
        ("unreadable", "not a readable volume"),
        ("odd", "volume without labels"),
    ]


@pytest.mark.parametrize("shape", [(4,), (4, 4), (4, 4, 4, 1, 2), (1000, 1000, 301)])
def test_volumes_of_other_axes_or_endless_size_are_noted_by_their_header(
    shape: tuple[int, ...], tmp_path: Path
) -> None:
    header = nibabel.Nifti1Header()  # type: ignore[no-untyped-call]
    header.set_data_shape(shape)  # type: ignore[no-untyped-call]
    header["vox_offset"] = 352
    raw = gzip.compress(header.binaryblock + b"\0" * 500)
    files = {"imagesTr/a.nii.gz": volume(np.zeros((4, 4, 3), np.int16)), "labelsTr/a.nii.gz": raw}
    backwards = dict(zip(files, [*files.values()][::-1], strict=True))
    for root in (write(tmp_path / "labels", files), write(tmp_path / "images", backwards)):
        samples, [note] = scan(LabelledVolumes("x", ("y",)), root)
        assert (samples, note.message) == ([], "not a readable volume")
        assert "not a volume of 3 or 4 axes and at most 300000000 voxels" in note.location


def test_a_packed_volume_that_does_not_end_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snellen.curated_sets.datasets.formats.nifti.MAX_BYTES", 10**6)
    raw = gzip.compress(gzip.decompress(volume(np.zeros((4, 4, 3), np.uint8))) + bytes(2 * 10**6))
    root = write(tmp_path, {"imagesTr/a.nii.gz": raw, "labelsTr/a.nii.gz": raw})
    samples, [note] = scan(LabelledVolumes("x", ("y",)), root)
    assert (samples, note.message) == ([], "not a readable volume")


def test_a_missing_nibabel_is_noted_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write(tmp_path, layouts.spleen())
    monkeypatch.setitem(sys.modules, "nibabel", None)
    with pytest.raises(SnellenError, match=r"pip install .*\[sources\]'"):
        list(DATASETS.get("MSD-Spleen").samples(root))
    assert "[sources]'" in notes_of("MSD-Spleen", root)["missing", "requirement of the reader"][0]


def test_images_that_cannot_be_read_are_errors_that_name_them(tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(b"no image")
    with pytest.raises(SnellenError, match="s/r: not a readable image"):
        _record(ImageFile(tmp_path / "x.png")).read_image()
    with pytest.raises(SnellenError, match=r"gone.png: cannot be read"):
        _record(ImageFile(tmp_path / "gone.png")).read_image()


def _record(image: SourceImage) -> Sample:
    annotations = (Annotation("label"),)
    return Sample(source="s", licence="none", record_id="r", image=image, annotations=annotations, object="object")


def test_shards_of_a_numbered_series_that_are_missing_or_damaged(tmp_path: Path) -> None:
    root = write(tmp_path, layouts.scenery())
    first, second = sorted((root / "data").iterdir())
    by_id = {sample.record_id: sample.label for sample in DATASETS.get("SceneryWatermark").samples(root)}
    marks = dict(enumerate(layouts.MARKS))
    assert by_id == {f"data/{path.name}#{n}": marks[n] for path in (first, second) for n in marks}
    second.write_bytes(second.read_bytes()[:-9])
    (location,) = notes_of("SceneryWatermark", root)["unreadable", "not a table of images and classes"]
    assert f"{second}: cannot be read as a table" in location
    second.unlink()
    assert notes_of("SceneryWatermark", root)["missing", "files of a numbered series"] == ("train: 1 of 2",)
    first.unlink()
    write(root, layouts.folders("watermark", "no-watermark"))
    assert {sample.label for sample in DATASETS.get("SceneryWatermark").samples(root)} == {"watermark", "no-watermark"}


def test_a_flipped_bit_of_a_packed_volume_never_changes_an_image_silently(tmp_path: Path) -> None:
    def images() -> list[tuple[bytes, bytes]]:
        samples = DATASETS.get("MSD-Spleen").samples(root)
        return [
            (sample.read_image()[0], b"" if (mask := mask_of(sample.annotations[0])) is None else mask.tobytes())
            for sample in samples
        ]

    files = layouts.spleen()
    root, rng = write(tmp_path, files), np.random.default_rng(5)
    intact = images()
    for name in [*files] * 40:
        raw = bytearray(files[name])
        raw[int(rng.integers(len(raw)))] ^= 1 << int(rng.integers(8))
        (root / name).write_bytes(raw)
        assert DATASETS.get("MSD-Spleen").check(root).state == "broken" or images() == intact
        (root / name).write_bytes(files[name])


@pytest.mark.parametrize(
    ("rows", "comma"),
    [(_csv_lines, ","), (lambda path: tsv_rows(path, []), "\t"), (ProductList("", (), "", "")._rows, ",")],
    ids=["edited pairs", "VLM2-Bench", "products"],
)
def test_rows_are_not_filled_to_the_width_of_the_header(
    rows: Any, comma: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(csv.DictReader, "__next__")
    (tmp_path / "a.csv").write_text(comma.join(("index", "question", "answer", "category", "image")) + "\na\n\nb\n")
    assert list(rows(tmp_path / "a.csv")) == [(2, {"index": "a"}), (4, {"index": "b"})]


def test_depths_are_metres_and_zero_is_unknown(tmp_path: Path) -> None:
    Image.fromarray(np.array([[0, 256, 384]], np.uint16)).save(tmp_path / "d.png")
    np.testing.assert_array_equal(DepthPng(tmp_path / "d.png", 256.0).read(), [[np.nan, 1.0, 1.5]])
    Image.new("L", (3, 1), 9).save(tmp_path / "e.png")
    with pytest.raises(SnellenError, match="not a 16-bit grey PNG of depths"):
        DepthPng(tmp_path / "e.png", 256.0).read()


def test_masks_of_one_image_are_joined_and_have_one_size(tmp_path: Path) -> None:
    for name, levels in (("a", [[0, 1, 0]]), ("b", [[0, 0, 200]]), ("c", [[0, 1]])):
        Image.fromarray(np.array(levels, np.uint8)).save(tmp_path / f"{name}.png")
    Image.fromarray(np.array([[[0, 0, 0], [0, 0, 7], [0, 0, 0]]], np.uint8)).save(tmp_path / "rgb.png")
    paths = {path.stem: path for path in tmp_path.glob("*.png")}
    for names, joined in (("a", [[0, 255, 0]]), ("ab", [[0, 255, 255]]), (("rgb",), [[0, 255, 0]])):
        mask = MaskFiles(tuple(paths[name] for name in names)).open()
        assert np.asarray(mask).tolist() == joined
    with pytest.raises(SnellenError, match=r"c\.png: is \(2, 1\), but other masks of the same image are \(3, 1\)"):
        MaskFiles((paths["a"], paths["c"])).open()


@pytest.mark.parametrize(
    ("areas", "slices"),
    [
        ([[20, 19], [0, 0]], [(0, 1)]),
        ([[19, 0], [0, 20]], [(1, 2)]),
        ([[30, 25], [30, 40]], [(0, 1), (1, 2)]),  # a tie in a slice goes to the first label
        ([[30, 30], [0, 0]], [(0, 1)]),  # the first of two slices
        ([[20, 30], [0, 40]], [(0, 1), (1, 2)]),  # most of the first label is where the second prevails
        ([[0, 50, 0, 0, 0, 0, 50, 0], [0] * 8], [(1, 1), (4, 0)]),  # the middle of slices 2 to 5
        ([[0, 0, 50, 0, 0], [0] * 5], [(2, 1), (1, 0)]),  # the first of two runs of two
    ],
)
def test_slices_of_a_volume_are_the_largest_of_each_label(
    areas: list[list[int]], slices: list[tuple[int, int]]
) -> None:
    reader = LabelledVolumes("x", ("a", "b"), absent="none")
    assert list(reader._select_slices(np.array(areas))) == slices


def test_masks_with_palettes_or_opacity_are_set_where_they_are_not_black(tmp_path: Path) -> None:
    grey = np.array([[0, 200, 0]], np.uint8)
    rgb = Image.fromarray(np.stack([grey] * 3, axis=-1))
    indices = Image.fromarray(np.array([[1, 0, 1]], np.uint8), "P")
    indices.putpalette([255, 0, 0, 0, 0, 0])
    for name, opened in {
        "p.png": indices, "rgba.png": rgb.convert("RGBA"), "la.png": Image.fromarray(grey).convert("LA"),
        "cmyk.tif": rgb.convert("CMYK"), "bit.png": Image.fromarray(grey).convert("1"),
    }.items():  # fmt: skip
        opened.save(tmp_path / name)
        assert np.asarray(MaskFiles((tmp_path / name,)).open()).tolist() == [[0, 255, 0]], name


@pytest.mark.parametrize(("count", "labels"), [(2, []), (3, ["under-exposed", "over-exposed"])])
def test_a_sequence_of_exposures_has_three_images(count: int, labels: list[str], tmp_path: Path) -> None:
    names = ["Label/2.jpg", *(f"1/{n}.jpg" for n in range(1, count + 1))]
    samples, notes = scan(Exposures("scene"), write(tmp_path, {name: image(name) for name in names}))
    assert [sample.label for sample in samples] == labels
    usual = ["reference of a sequence", "middle of a sequence"]
    messages = usual if labels else ["images of a sequence (fewer than 3)"]
    assert [note.message for note in notes] == [*messages, "sequence of this reference"]
