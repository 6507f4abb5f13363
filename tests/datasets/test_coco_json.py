"""COCO's JSON and the streaming parser, worked out by hand."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.curated_sets.datasets import DATASETS
from snellen.datasets.formats import json_stream
from snellen.datasets.formats.json_stream import stream_json
from snellen.datasets.sample import Sample
from tests.curated_sets.datasets.annotated_layouts import ANNOTATED_LAYOUTS, plain
from tests.curated_sets.datasets.layouts import image_files, write

ANNOTATION = {"id": 1, "image_id": 5, "category_id": 1, "bbox": [1.0, 1.0, 2.0, 2.0], "area": 4.0}
IMAGE = {"id": 5, "width": 8, "height": 6, "file_name": "images/v1/patch0/a.jpg"}


def samples_of(name: str, root: Path) -> dict[str, Sample]:
    return {sample.record_id: sample for sample in DATASETS.get(name).samples(write(root, ANNOTATED_LAYOUTS[name]()))}


def objects(root: Path, *annotations: dict[str, Any], images: tuple[dict[str, Any], ...] = (IMAGE,)) -> Path:
    file = {"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "Person"}]}
    write(root, {**image_files("train/patch0/a.jpg"), "zhiyuan_objv2_train.json": plain(file)})
    return root


def notes_of(root: Path) -> dict[str, tuple[str, ...]]:
    notes = DATASETS.get("Objects365").check(root).notes
    return {f"{note.kind}: {note.message}": note.locations for note in notes if "are missing" not in note.message}


def test_lvis_by_hand(tmp_path: Path) -> None:
    samples = samples_of("LVIS", tmp_path)
    assert list(samples) == [f"train2017/{n:012}.jpg" for n in (20, 30, 40)]
    can, zebras = samples["train2017/000000000020.jpg"], samples["train2017/000000000030.jpg"]
    assert [(annotation.label, annotation.box, annotation.area) for annotation in zebras.annotations] == [
        ("zebra", (1.0, 1.5, 3.0, 4.5), 4.5),
        ("zebra", (4.0, 2.0, 8.0, 4.5), 6.25),
    ]
    assert zebras.annotations[0].extra == {"synset": "zebra.n.01", "frequency": "f"}
    assert zebras.attributes["not_exhaustive_category_ids"] == ("aerosol_can",)
    assert can.attributes["neg_category_ids"] == ("zebra",)
    assert (can.size, can.attributes["split"]) == ((8, 6), "train")
    empty = samples["train2017/000000000040.jpg"]
    assert (empty.annotations, empty.lost, empty.attributes["split"]) == ((), 0, "val")


def test_flags_of_objects365(tmp_path: Path) -> None:
    samples = samples_of("Objects365", tmp_path)
    assert list(samples) == ["train/patch0/objects365_v1_00000005.jpg", "val/patch16/objects365_v2_00908726.jpg"]
    [sample, _] = samples.values()
    assert [(annotation.label, dict(annotation.extra)) for annotation in sample.annotations] == [
        ("Person", {}), ("Sneakers", {"iscrowd": True}), ("Person", {}),
    ]  # fmt: skip


def test_inaturalist_has_names_and_no_boxes(tmp_path: Path) -> None:
    [sample, _] = samples_of("iNaturalist-2021", tmp_path).values()
    [bird] = sample.annotations
    assert (bird.label, bird.box, bird.area) == ("Corvus corax", None, None)
    assert (bird.extra["common_name"], bird.extra["class"]) == ("Common Raven", "Aves")


@pytest.mark.parametrize(
    ("box", "message"),
    [
        ([3.0, 3.0, -2.0, 2.0], "odd: inverted box"),
        ([3.0, 3.0, 0.0, 2.0], "odd: box without area"),
        ([8.0, 1.0, 3.0, 2.0], "odd: box outside its image"),
        ([-5.0, 1.0, 3.0, 2.0], "odd: box outside its image"),
        ([float("nan"), 1.0, 3.0, 2.0], "odd: box without four numbers"),
        ([1.0, 1.0, float("inf"), 2.0], "odd: box without four numbers"),
        ([1.0, 1.0, 2.0], "unreadable: element of annotations in another form"),
        ("box", "unreadable: element of annotations in another form"),
    ],
)
def test_useless_boxes_are_noted_and_counted_as_lost(box: Any, message: str, tmp_path: Path) -> None:
    root = objects(tmp_path, ANNOTATION, {**ANNOTATION, "id": 2, "bbox": box})
    assert list(notes_of(root)) == [message]
    [sample] = DATASETS.get("Objects365").samples(root)
    assert [annotation.box for annotation in sample.annotations] == [(1.0, 1.0, 3.0, 3.0)]
    assert sample.lost == 1


@pytest.mark.parametrize("width", [10**400, -1, 2**31])
def test_an_impossible_size_is_noted(width: int, tmp_path: Path) -> None:
    root = objects(tmp_path, ANNOTATION, images=({**IMAGE, "width": width},))
    assert "unreadable: element of images in another form" in notes_of(root)


def test_a_box_beyond_the_edge_is_clipped_and_noted_from_one_pixel_on(tmp_path: Path) -> None:
    root = objects(tmp_path / "far", {**ANNOTATION, "bbox": [5.0, 1.0, 5.0, 2.0]})
    assert list(notes_of(root)) == ["odd: box exceeds its image and is clipped"]
    [sample] = DATASETS.get("Objects365").samples(root)
    assert ([annotation.box for annotation in sample.annotations], sample.lost) == ([(5.0, 1.0, 8.0, 3.0)], 0)
    assert notes_of(objects(tmp_path / "near", {**ANNOTATION, "bbox": [5.0, 1.0, 4.0, 2.0]})) == {}


def test_dangling_and_duplicate_ids(tmp_path: Path) -> None:
    root = objects(
        tmp_path,
        ANNOTATION,
        {**ANNOTATION, "bbox": [4.0, 1.0, 1.0, 1.0]},  # the same id
        {**ANNOTATION, "id": 2, "category_id": 9},
        {**ANNOTATION, "id": 3, "image_id": 6},
        images=(IMAGE, {**IMAGE, "file_name": "patch0/b.jpg"}, {**IMAGE, "id": 7, "file_name": "patch0/../../c.jpg"}),
    )
    assert notes_of(root) == {
        "odd: two images with one id; the first counts": ("zhiyuan_objv2_train.json: 5",),
        "odd: two annotations with one id; the first counts": ("zhiyuan_objv2_train.json: annotation 1",),
        "odd: annotation of an image that is not listed": ("zhiyuan_objv2_train.json: annotation 3",),
        "odd: annotation of a class that is not listed": ("zhiyuan_objv2_train.json: annotation 2",),
        "odd: image outside the folder": ("patch0/../../c.jpg",),
    }
    [sample] = DATASETS.get("Objects365").samples(root)
    # Lost: an object of a used id, one of no class, and the objects of the second image of the id.
    assert ([annotation.box for annotation in sample.annotations], sample.lost) == ([(1.0, 1.0, 3.0, 3.0)], 3)


@pytest.mark.parametrize("cut", [10, 60, 160])  # inside of categories and of annotations
def test_a_cut_file_gives_no_scenes_with_missing_objects(cut: int, tmp_path: Path) -> None:
    root = objects(tmp_path, ANNOTATION, {**ANNOTATION, "id": 2})
    path = root / "zhiyuan_objv2_train.json"
    path.write_bytes(path.read_bytes()[:-cut])
    assert list(notes_of(root)) == ["unreadable: not JSON of annotations; copy it again"]
    assert list(DATASETS.get("Objects365").samples(root)) == []


def test_a_file_without_categories_is_noted(tmp_path: Path) -> None:
    root = objects(tmp_path, ANNOTATION)
    (root / "zhiyuan_objv2_train.json").write_bytes(plain({"images": [IMAGE], "annotations": [ANNOTATION]}))
    assert "missing: no categories" in notes_of(root)
    [sample] = DATASETS.get("Objects365").samples(root)
    assert (sample.annotations, sample.lost) == ((), 1)


def test_an_image_of_another_size_is_noted(tmp_path: Path) -> None:
    root = objects(tmp_path, ANNOTATION, images=({**IMAGE, "width": 9},))
    assert list(notes_of(root)) == ["odd: image size differs from the annotations"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def gathered(path: Path, inside: frozenset[str]) -> Any:
    lists: dict[str, Any] = {}
    for key, inner, value in stream_json(path, inside):
        if key not in inside and key:
            lists[key] = value
        elif inner is None:
            lists.setdefault(key, []).append(value)
        else:
            lists.setdefault(key, {})[inner] = value
    return lists


@given(
    st.dictionaries(st.sampled_from("abc"), st.lists(json_values, min_size=1), max_size=3),
    st.dictionaries(st.text(), json_values, min_size=1),
    st.integers(1, 9), st.booleans(),
)  # fmt: skip
def test_streaming_gives_the_same_as_loading(
    tmp_path_factory: pytest.TempPathFactory, lists: dict[str, Any], inner: dict[str, Any], chunk: int, ascii: bool
) -> None:
    path = tmp_path_factory.mktemp("json") / "a.json"
    value = {**lists, "d": inner, "e": 12.5}
    path.write_text(json.dumps(value, indent=chunk % 2, ensure_ascii=ascii), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "CHUNK", chunk)
        assert gathered(path, frozenset("abd")) == value


@pytest.mark.parametrize(
    "text", ["", "{", "[1, 2", '{"a": [1 2]}', '{"a" 1}', "{1: 2}", '{"a": 1} 2', "nothing", '{"a": [1,]}', "[1]]",
             '[{"id": 1, "id": 2}]', '{"a": [{"id": 1, "id": 2}]}', '{"a": {"b": {"id": 1, "id": 2}}}',
             '{"a": [1], "a": [2]}', '{"a": {"b": 1, "b": 2}}', '{"b": 1, "b": 1}']
)  # fmt: skip
def test_malformed_json_is_a_value_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ValueError, match=r"."):
        list(stream_json(tmp_path / "a.json", frozenset("a")))


@pytest.mark.parametrize("chunk", range(1, 8))
def test_numbers_split_between_chunks_are_read(chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.json").write_text("[123456, 7.25, 2.5e+3]")
    monkeypatch.setattr(json_stream, "CHUNK", chunk)
    assert [value for _, _, value in stream_json(tmp_path / "a.json", frozenset())] == [123456, 7.25, 2500.0]


def test_values_are_counted_once_beside_a_long_element(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = list[int]()

    def counted(text: str) -> str:
        sizes.append(len(text))
        return text

    monkeypatch.setattr(json_stream, "CHUNK", 100)
    monkeypatch.setattr(json_stream, "bounded_json", counted)
    (tmp_path / "a.json").write_text(json.dumps(["x" * 3300, *range(2000)]))
    assert len(list(stream_json(tmp_path / "a.json", frozenset()))) == 2001
    assert sum(sizes) < 5 * (tmp_path / "a.json").stat().st_size


@pytest.mark.slow
def test_memory_does_not_grow_with_polygons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "CHUNK", json_stream.CHUNK // 4)
    outline = [[float(n) for n in range(200)]]
    with (tmp_path / "a.json").open("w") as file:
        file.write('{"annotations": [')
        file.write(",".join(json.dumps({"id": n, "segmentation": outline}) for n in range(5_000)))
        file.write("]}")
    tracemalloc.start()
    count = sum(1 for _ in stream_json(tmp_path / "a.json", frozenset({"annotations"})))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 5_000
    assert peak < 8 * json_stream.CHUNK < (tmp_path / "a.json").stat().st_size * 2
