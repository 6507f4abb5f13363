"""Shards of the Hugging Face libraries: contents, number of reads, and refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snellen.core.errors import SnellenError
from snellen.core.storage import files
from snellen.datasets import hub_boxes, hub_tables
from snellen.datasets.hub_boxes import read_hub_boxes
from snellen.datasets.hub_tables import ShardReader, TableRow, find_shards, label_text, open_shard, reading_order
from snellen.datasets.own_images import read_own_images
from snellen.datasets.question_tables import QuestionTable
from snellen.datasets.sample import Note, RawSample, Sample
from tests.helpers.shards import IMAGE, cell, class_label, labelled_shard, write_shard


def samples(path: Path, **fields: Any) -> list[Sample]:
    return [record for record in read_own_images(path, **fields) if isinstance(record, Sample)]


def test_both_layouts_give_the_same_images(tmp_path: Path) -> None:
    labelled_shard(tmp_path / "hub" / "data" / "train-00000-of-00001.parquet", 3, "a", "b")
    labelled_shard(tmp_path / "saved" / "train" / "data-00000-of-00001.arrow", 3, "a", "b")
    labelled_shard(tmp_path / "saved" / "train" / "cache-0123.arrow", 9, "x")
    for root, name in (("hub", "data/train-00000-of-00001.parquet"), ("saved", "train/data-00000-of-00001.arrow")):
        records = samples(tmp_path / root)
        assert [(record.record_id, record.label) for record in records] == [
            (f"{name}#{n}", label) for n, label in enumerate("ababab")
        ]
        for n, record in enumerate(records):
            assert record.read_image() == (cell(record.label, n // 2)["bytes"], "png")
    assert len(samples(tmp_path / "hub" / "data" / "train-00000-of-00001.parquet")) == 6


def test_shards_of_an_older_save_are_left_out(tmp_path: Path) -> None:
    for n in range(2):
        labelled_shard(tmp_path / f"data-0000{n}-of-00002.arrow", 1, "a")
    newer = labelled_shard(tmp_path / "data-00000-of-00001.arrow", 1, "b")
    (tmp_path / "state.json").write_text(json.dumps({"_data_files": [{"filename": newer.name}]}))
    assert find_shards(tmp_path) == [newer]


def _write_stream(path: Path, table: pa.Table, compression: str | None = None) -> None:
    how = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema, options=how) as stream:
        stream.write_table(table)


def test_shards_that_expand_are_read_a_few_rows_at_a_time_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_TABLE_BYTES", 80_000)
    text = pa.DictionaryArray.from_arrays([0] * 1000, ["x" * 1000])
    pq.write_table(pa.table({"a": text}), tmp_path / "a.parquet", store_schema=False)
    _write_stream(tmp_path / "a.arrow", pa.table({"a": text}))
    for name in ("a.parquet", "a.arrow"):
        assert max(len(batch) for batch in hub_tables._batches(tmp_path / name, ["a"], None)) < 10
    for compression in ("zstd", "lz4"):
        _write_stream(tmp_path / "b.arrow", pa.table({"a": text}), compression)
        with pytest.raises(SnellenError, match="compressed"):
            list(open_shard(tmp_path / "b.arrow").rows(["a"]))


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_cells_become_data_within_a_limit_of_memory(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values that take no bytes in a file take 8 as data."""
    limits = list[int]()

    @contextmanager
    def exhausted(limit: int) -> Iterator[None]:
        limits.append(limit)
        yield
        raise MemoryError

    shard = open_shard(labelled_shard(tmp_path / f"a{suffix}", 3, "a"))
    monkeypatch.setattr(files, "bounded_memory", exhausted)
    for read in (lambda: list(shard.rows(["image"])), lambda: ShardReader().read(shard, "image", 0)):
        with pytest.raises(SnellenError, match=r"cannot be read as a table|rows of a table take more than 4 GB"):
            read()
    assert set(limits) == {files.MAX_TABLE_BYTES}


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_rows_of_a_shard_are_limited(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of type null take no bytes in a file."""
    shard = open_shard(labelled_shard(tmp_path / f"a{suffix}", 6, "a"))
    monkeypatch.setattr(files, "MAX_TABLE_ROWS", 6)
    assert len(list(shard.rows(["label"]))) == 6
    monkeypatch.setattr(files, "MAX_TABLE_ROWS", 5)
    with pytest.raises(SnellenError, match="5 rows"):
        list(shard.rows(["label"]))


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_rows_in_order_cost_one_pass_and_order_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    shard = open_shard(labelled_shard(tmp_path / f"a{suffix}", 12, "a"))
    passes: list[int | None] = []
    batches = hub_tables._batches

    def counted(path: Path, columns: list[str], group: int | None) -> Iterator[pa.RecordBatch]:
        passes.append(group)
        return batches(path, columns, group)

    monkeypatch.setattr(hub_tables, "_batches", counted)
    reader = ShardReader()
    for row in (0, 0, 3, 4, 9, 11):
        assert reader.read(shard, "image", row)["bytes"] == cell("a", row)["bytes"]
    # Four rows per group: a group of a Parquet file is opened once; an Arrow file, which is mapped, once in total.
    assert passes == ([0, 1, 2] if suffix == ".parquet" else [0])
    assert reader.read(shard, "image", 5)["bytes"] == cell("a", 5)["bytes"]
    with pytest.raises(SnellenError, match="has no row 12"):
        reader.read(shard, "image", 12)


def test_text_columns_are_classes_and_integer_columns_on_request(tmp_path: Path) -> None:
    images = {"img": [cell("a", k) for k in range(3)]}
    text = write_shard(tmp_path / "t.parquet", {**images, "Category": ["x", None, "y"]}, {"img": IMAGE})
    assert [record.label for record in samples(text)] == ["x", "y"]
    assert sum(isinstance(record, Note) for record in read_own_images(text)) == 1
    ids = write_shard(tmp_path / "i.parquet", {**images, "label": [7, 7, 8]}, {"img": IMAGE})
    with pytest.raises(SnellenError, match="'label' is int64 without class names; cast it to ClassLabel"):
        samples(ids)
    assert [record.label for record in samples(ids, ids=True)] == ["7", "7", "8"]
    named = {"img": IMAGE, "breed": class_label("x", "y")}
    breeds = write_shard(tmp_path / "b.parquet", {**images, "breed": [1, -1, 0]}, named)
    assert [record.label for record in samples(breeds)] == ["y", "x"]


def boxed(path: Path, objects: list[Any], category: dict[str, Any]) -> list[RawSample | Note]:
    feature = {"bbox": {"feature": {"feature": {"dtype": "float32", "_type": "Value"}}}, "category": category}
    columns = {"image": [cell("a", k) for k in range(len(objects))], "objects": objects}
    write_shard(path, columns, {"image": IMAGE, "objects": feature})
    return list(read_hub_boxes(path, [path]))


def test_boxes_are_coco_s_in_either_layout(tmp_path: Path) -> None:
    names = {"feature": class_label("cat", "dog"), "_type": "List"}
    columns = {"bbox": [[1.0, 2.0, 3.0, 4.0], [5.0, 5.0, 9.0, 0.0]], "category": [1, 0], "depth": [2.5, None]}
    (sample, note) = sorted(boxed(tmp_path / "c.parquet", [columns], names), key=lambda raw: isinstance(raw, Note))
    assert isinstance(sample, RawSample)
    assert isinstance(note, Note)
    assert [(annotation.label, annotation.box) for annotation in sample.annotations] == [("dog", (1, 2, 4, 6))]
    assert (sample.annotations[0].extra["depth"], sample.lost, sample.size) == ("2.5", 1, (24, 20))
    assert note.message == "box without area"
    rows = [[{"bbox": [1.0, 2.0, 3.0, 4.0], "category": "cat"}], []]
    first, second = boxed(tmp_path / "r.parquet", rows, {"dtype": "string", "_type": "Value"})
    assert isinstance(first, RawSample)
    assert isinstance(second, RawSample)
    assert [(annotation.label, annotation.box) for annotation in first.annotations] == [("cat", (1, 2, 4, 6))]
    assert second.annotations == ()


def test_objects_and_their_fields_have_other_names_too(tmp_path: Path) -> None:
    """Columns may differ in length; an empty field gives way to the next, and lists are no facts."""
    fields = {"box": [[1.0, 2.0, 3.0, 4.0], [5.0, 5.0, 9.0, 1.0]], "label": ["cat", None], "category": [None, "dog"]}
    columns = {"image": [cell("a", 0)], "boxes": [{**fields, "score": [0.5], "tags": [["x"], ["y"]]}]}
    (sample,) = read_hub_boxes(tmp_path, [write_shard(tmp_path / "t.parquet", columns, {"image": IMAGE})])
    assert isinstance(sample, RawSample)
    assert [(annotation.label, annotation.box, annotation.extra) for annotation in sample.annotations] == [
        ("cat", (1, 2, 4, 6), {"label": "cat", "score": "0.5"}), ("dog", (5, 5, 14, 6), {"category": "dog"}),
    ]  # fmt: skip


def test_a_shard_without_objects_is_named(tmp_path: Path) -> None:
    boxed(tmp_path / "a.parquet", [[]], {"dtype": "string", "_type": "Value"})
    other = write_shard(tmp_path / "b.parquet", {"image": [cell("a", 0)]}, {"image": IMAGE})
    with pytest.raises(SnellenError, match=f"^{other}: no column 'objects' with bbox and category; it has image"):
        list(read_hub_boxes(tmp_path, [tmp_path / "a.parquet", other]))


def test_invalid_objects_are_counted_as_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_boxes, "MAX_OBJECTS", 2)
    cat = {"bbox": [1.0, 2.0, 3.0, 4.0], "category": "cat"}
    rows = [[cat, None], None, [cat] * 4]
    records = boxed(tmp_path / "r.parquet", rows, {"dtype": "string", "_type": "Value"})
    images = [record for record in records if isinstance(record, RawSample)]
    assert [(len(image.annotations), image.lost) for image in images] == [(1, 1), (0, 1), (2, 2)]
    assert len(records) == 6


@pytest.mark.slow
def test_files_of_the_library_are_read(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=["a", "b"])})
    rows = {"image": [cell("a", k) for k in range(6)], "label": [0, 1] * 3}
    table = datasets.Dataset.from_dict(rows, features=features)
    datasets.DatasetDict({"train": table, "test": table.select([0])}).save_to_disk(tmp_path / "saved")
    table.to_parquet(tmp_path / "hub" / "train-00000-of-00001.parquet")
    for root, count in (("saved", 7), ("hub", 6)):
        records = samples(tmp_path / root)
        assert len(records) == count
        assert {record.label for record in records} == {"a", "b"}
        assert records[-1].read_image() == (cell("a", 5)["bytes"], "png")


def test_a_row_without_a_class_has_the_name_of_none(tmp_path: Path) -> None:
    """`datasets` writes -1 for a class that is not known."""
    path = write_shard(tmp_path / "t.parquet", {"label": [0, -1, 1, 2]}, {"label": class_label("cat", "dog")})
    assert [row.cells["label"] for row in QuestionTable(path).rows()] == ["cat", -1, "dog", 2]


def test_shards_are_files_of_either_form_at_most_two_folders_below(tmp_path: Path) -> None:
    names = ["b/data/2.parquet", "b/data/1.arrow", "a.PARQUET", "b/c/d/3.parquet", ".x/4.parquet", "b/.5.parquet",
             "b/cache-6.arrow", "b/7.txt", "b/data/0.parquet"]  # fmt: skip
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    below = [path.relative_to(tmp_path).as_posix() for path in find_shards(tmp_path)]
    assert below == ["a.PARQUET", "b/data/0.parquet", "b/data/1.arrow", "b/data/2.parquet"]
    assert (find_shards(tmp_path / names[2]), find_shards(tmp_path / names[7])) == ([tmp_path / names[2]], [])
    (tmp_path / "b/data/state.json").write_text(json.dumps({"_data_files": [{"filename": "9.arrow"}]}))
    assert [path.name[0] for path in find_shards(tmp_path / "b/data")] == ["0", "2"], (
        "arrow files that the state does not list are older"
    )


@pytest.mark.parametrize(
    ("content", "names", "text"),
    [(1, ("a", "b"), "b"), (0, ("a", "b"), "a"), (2, ("a", "b"), ""), (-1, ("a", "b"), ""), (True, ("a", "b"), ""),
     ("x", ("a", "b"), "x"), (7, None, "7"), (1.0, None, ""), (None, None, ""), ("", None, "")],
)  # fmt: skip
def test_a_cell_names_a_class_by_text_or_number(content: Any, names: tuple[str, ...] | None, text: str) -> None:
    assert label_text(content, names) == text


def test_columns_and_cells_that_are_missing_are_named(tmp_path: Path) -> None:
    kinds = {"image": IMAGE, "kind": class_label("a"), "breed": class_label("a", "b")}
    columns: dict[str, list[Any]] = {"image": [cell("a", 0), None], "kind": [0, 0], "breed": [1, 0]}
    path = write_shard(tmp_path / "t.parquet", columns, kinds)
    with pytest.raises(SnellenError, match="no column class or label or category; it has image, kind, breed"):
        open_shard(path).label_column(("class", "label", "category", "name"))
    assert open_shard(path).label_column(("class", "breed")) == "breed"
    alone = write_shard(tmp_path / "u.parquet", {"kind": [0, 0]}, {"kind": class_label("a")})
    assert open_shard(alone).label_column(("class",)) == "kind"
    with pytest.raises(SnellenError, match="no image column 'image'; it has kind"):
        open_shard(alone).image_column()
    images = [TableRow(ShardReader(), open_shard(path), "image", n) for n in range(2)]
    assert images[0].read("s/t#0") == (cell("a", 0)["bytes"], "png")
    with pytest.raises(SnellenError, match="s/t#1: a cell without image bytes; save the dataset with its images"):
        images[1].inspect("s/t#1")
    assert [reading_order(image) for image in (images[1], "x")] == [(str(path), 1), ("", 0)]
