"""Labelled images of a user, and single files of images, each with what is noted of it."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.datasets import own_images
from snellen.datasets.hub_tables import open_shard
from snellen.datasets.image_files import ORIENTATION, ImageFile, image_oddity, inspect_file, is_turned, levels_fault
from snellen.datasets.own_images import read_own_images
from snellen.datasets.sample import Note
from tests.helpers.own_images import class_folders, draw_image
from tests.helpers.shards import IMAGE, cell, write_shard


def read(path: Path, images: Path | None = None) -> tuple[dict[str, str], list[str]]:
    """The class of each image, and the notes."""
    records = list(read_own_images(path, images))
    notes = [f"{r.kind}: {r.message} ({r.location})" for r in records if isinstance(r, Note)]
    return {r.record_id: r.label for r in records if not isinstance(r, Note)}, notes


def test_rows_of_a_table_of_classes_are_read_in_order_and_noted_by_their_number(tmp_path: Path) -> None:
    class_folders(tmp_path / "in", 2, "x")
    rows = ["Image,Category", "x/1.png , tea", "x/0.png,green  tea", "x/1.png,tea", "x/1.png,coffee", ",tea",
            ".,tea", "x/2.png,tea", f"x/9.png,{'x' * 201}"]  # fmt: skip
    (tmp_path / "t.csv").write_text("\n".join(rows))
    labels, notes = read(tmp_path / "t.csv", tmp_path / "in")
    assert list(labels.items()) == [("x/1.png", "tea"), ("x/0.png", "green tea")]
    listed = "odd: image listed twice, in"
    assert notes == [
        f"{listed} one class (t.csv row 4)",
        f"{listed} two; the first counts (t.csv row 5)",
        "odd: row without path (t.csv row 6)",
        "odd: image outside the folder; give --source root=DIR (t.csv row 7)",
        "unreadable: there is no such file (x/2.png)",
        "odd: empty, overlong or invalid name (x/9.png)",
    ]
    (tmp_path / "in" / "t.tsv").write_text("path\tlabel\t\t\nx/1.png\ttea\t\t\t \n")
    assert read(tmp_path / "in" / "t.tsv") == ({"x/1.png": "tea"}, []), "paths are relative to the table's folder"


def test_the_class_of_an_image_is_its_nearest_folder_that_is_no_split(tmp_path: Path) -> None:
    for name in (
        "animal/cat/train/0.png",
        "Train/dog/1.png",
        "val/2.png",
        ".hidden/cat/3.png",
        "animal/__MACOSX/4.png",
    ):
        draw_image(tmp_path / name, name)
    (tmp_path / "again").symlink_to(tmp_path / "animal", target_is_directory=True)
    (tmp_path / "animal" / "notes.txt").write_text("x")
    labels, notes = read(tmp_path)
    assert labels == {"animal/cat/train/0.png": "cat", "Train/dog/1.png": "dog"}
    assert notes == [
        "odd: link to a folder is not followed (again)",
        "odd: not an image by its suffix (animal/notes.txt)",
        "odd: image outside a class folder (val/2.png)",
    ]


def test_other_files_and_tables_are_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text("file,colour\na.png,red\n")
    (tmp_path / "b.csv").write_text("path,class\n")
    (tmp_path / "c.txt").write_text("x")
    (tmp_path / "d.csv").write_bytes(b"path,class\n\xff,x\n")
    (tmp_path / "f.csv").write_text("path,Class,note,class\na.png,cat,,dog\n")
    (tmp_path / "g.csv").write_text("path,class,x\na.png,cat,1\nb.png,cat,1,5\n")
    for name, words in {
        "a.csv": "no column 'class'; it has file, colour. Name one class or label or category",
        "b.csv": "has no row below its header; write one per image",
        "d.csv": r"not a CSV file in UTF-8 \(.*\); save it as CSV in UTF-8",
        "f.csv": "two columns are called 'class'; rename or delete one",
        "g.csv": "row 3 has more cells than the header; quote cells that have ','",
        "c.txt": "neither a folder nor a CSV file; give a folder",
        "none": "no such folder or file; give a folder",
    }.items():
        with pytest.raises(SnellenError, match=f"{name}: {words}"):
            read(tmp_path / name)
    monkeypatch.setattr(own_images, "MAX_VALUES", 5)
    (tmp_path / "e.csv").write_text("path,class,,,,\na.png\n")
    with pytest.raises(SnellenError, match=r"e\.csv: more than 5 cells; keep the columns that are needed"):
        read(tmp_path / "e.csv")
    monkeypatch.setattr(own_images, "MAX_LABELS", 2)
    assert len(read(class_folders(tmp_path / "two", 2, "a", "b"))[0]) == 4
    with pytest.raises(SnellenError, match=r"three: more than 2 classes; are these ids\?"):
        read(class_folders(tmp_path / "three", 2, "a", "b", "c"))


def test_a_shard_s_image_column_is_named_or_alone(tmp_path: Path) -> None:
    def column(*images: str) -> str:
        cells = {name: [cell(name, 0)] for name in images}
        path = write_shard(tmp_path / "t.parquet", cells, dict.fromkeys(images, IMAGE))
        return open_shard(path).image_column()

    assert (column("view"), column("first", "Img")) == ("view", "Img")
    assert column("IMG", "img") == "IMG", "the first of two"
    with pytest.raises(SnellenError, match=r"several image columns \(first, second\); name one 'image'"):
        column("first", "second")
    path = write_shard(tmp_path / "bytes.parquet", {"raw": [b"x"], "text": ["a"]}, {})
    assert open_shard(path).image_column() == "raw"


def test_a_jpeg_cut_short_is_found_and_one_with_further_data_is_whole(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(buffer, "JPEG")
    raw, path = buffer.getvalue(), tmp_path / "a.jpg"
    for whole in (raw, raw + b"\0" * 40, raw + b"camera" * 40):
        path.write_bytes(whole)
        assert (inspect_file(path), ImageFile(path).read("")) == ((60, 40), (whole, "jpg"))
    path.write_bytes(raw[: len(raw) // 2])
    with pytest.raises(SnellenError, match="copy the file again"):
        inspect_file(path)


@pytest.mark.parametrize(
    ("kind", "levels", "is_shown"),
    [(np.int32, (0, 255), True), (np.int32, (0, 256), False), (np.int32, (-1, 9), False), (np.float32, (0, 1), True),
     (np.float32, (0, 255), True), (np.float32, (0, 0.5), False), (np.int32, (0, 0), True)],
)  # fmt: skip
def test_levels_from_0_to_255_are_shown(kind: type, levels: tuple[float, float], is_shown: bool) -> None:
    assert (levels_fault(Image.fromarray(np.array([levels], kind))) == "") is is_shown


@pytest.mark.parametrize("flag", range(10))
def test_every_flag_that_turns_or_mirrors_an_image_is_found(flag: int) -> None:
    """EXIF's 1 is upright, 2, 4, 5 and 7 mirror, 3, 6 and 8 turn; 0 and 9 mean nothing."""
    image = Image.new("RGB", (4, 4))
    image.getexif()[ORIENTATION] = flag
    assert (is_turned(image), image_oddity(image) != "") == (flag in range(2, 9),) * 2
