"""The contract of every declared dataset, on a few pixels in its own layout."""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.curated_sets.datasets import DATASETS
from snellen.curated_sets.datasets.dataset import Dataset
from snellen.curated_sets.datasets.evidence import verification_fault
from snellen.curated_sets.datasets.folders import find_folders, recipe_folders
from snellen.curated_sets.datasets.formats.box_files import DepthPng
from snellen.curated_sets.datasets.formats.hdf5 import Hdf5Image
from snellen.curated_sets.datasets.formats.tables import TableCell
from snellen.datasets.image_files import ImageFile, VideoFrame
from snellen.datasets.sample import Note, RawSample, Sample
from tests.curated_sets.datasets import sources_page
from tests.curated_sets.datasets.annotated_layouts import ANNOTATED_LAYOUTS
from tests.curated_sets.datasets.layouts import LAYOUTS, write

NAMES, LABELLED, ANNOTATED = list(DATASETS), list(LAYOUTS), list(ANNOTATED_LAYOUTS)
WITHOUT_LISTS = ("AID", "CURE-OR", "DTD", "KTH-TIPS", "KTH-TIPS2-b", "Kylberg")
"""Folders of images without lists: a missing image cannot be noticed."""


TEXTS = (".txt", ".csv", ".tsv", ".json", ".jsonl", ".xml", ".lst", ".odgt", ".data")


@pytest.fixture
def root(name: str, tmp_path: Path) -> Path:
    return write_dataset(tmp_path / name, name)


@pytest.fixture
def dataset(name: str) -> Dataset:
    return DATASETS.get(name)


def write_dataset(root: Path, name: str, *, backwards: bool = False) -> Path:
    layout = LAYOUTS[name] if name in LAYOUTS else ANNOTATED_LAYOUTS[name]
    return write(root, layout(), backwards=backwards)


def test_every_dataset_has_a_layout() -> None:
    assert sorted([*LABELLED, *ANNOTATED], key=NAMES.index) == NAMES
    assert not set(LABELLED) & set(ANNOTATED)


def rename_images(root: Path, name: str) -> None:
    """Give all images this name, in the files of a dataset that list them."""
    images = [path.relative_to(root) for path in root.rglob("*") if path.suffix in (".png", ".jpg", ".bmp", ".tif")]
    names = {name for path in images for name in (path.as_posix(), path.name)}
    for text in (path for path in root.rglob("*") if path.suffix in TEXTS):
        content = text.read_text()
        for former in sorted(names, key=len, reverse=True):
            content = content.replace(former, name)
        text.write_text(content)


@pytest.mark.parametrize("name", NAMES)
def test_no_image_outside_the_folder_is_read(dataset: Dataset, root: Path, tmp_path: Path) -> None:
    Image.new("RGB", (8, 8)).save(tmp_path / "private.png")
    rename_images(root, f"{tmp_path}/private.png")
    assert all(sample.image.path.is_relative_to(root) for sample in dataset.samples(root))


@pytest.mark.parametrize("name", NAMES)
def test_an_image_whose_name_no_file_can_have_is_noted(dataset: Dataset, root: Path) -> None:
    rename_images(root, f"{'a' * 300}.png")
    assert "not the layout of the dataset" not in [note.message for note in dataset.check(root).notes]


@dataclass(frozen=True)
class _Outside:
    """One image in the folder, one beside it, and one whose depths are beside it."""

    def scan(self, root: Path) -> Iterator[RawSample]:
        paths = {
            "a": (root / "b/../a.png", root / "a.png"),
            "b": (root / "../b.png", root),
            "c": (root, root / "../c.png"),
        }
        for name, (image, depth) in paths.items():
            yield RawSample(record_id=name, image=ImageFile(image), depth=DepthPng(depth, 1.0))


def test_images_and_depths_outside_of_the_folder_are_left_out_of_any_format(tmp_path: Path) -> None:
    dataset = replace(DATASETS.get("KITTI"), reader=_Outside())
    inside, *notes = dataset.samples_and_notes(tmp_path)
    assert isinstance(inside, Sample)
    assert inside.record_id == "a"
    assert [note.message for note in notes if isinstance(note, Note)] == ["image outside the folder"] * 2


@dataclass(frozen=True)
class _Failing:
    """A file raises what no reader expects."""

    def scan(self, root: Path) -> Iterator[RawSample]:
        yield RawSample(record_id="a", image=ImageFile(root / "a.png"))
        raise OverflowError("too\nlarge")


def test_damage_of_any_kind_is_a_note(tmp_path: Path) -> None:
    sample, note = replace(DATASETS.get("KITTI"), reader=_Failing()).samples_and_notes(tmp_path)
    assert isinstance(sample, Sample)
    assert note == Note("unreadable", "not the layout of the dataset", "OverflowError: too")


@pytest.mark.parametrize("name", NAMES)
def test_card(name: str, dataset: Dataset) -> None:
    card = dataset.card
    assert card.name == name
    assert card.layout
    assert card.licence
    assert card.citation
    assert card.origin.startswith("http") or card.origin == card.citation
    assert not verification_fault(card.verified, card.evidence, card.caveat)
    for entry in card.evidence:
        assert entry.url.startswith(("https://", "http://"))
        assert entry.statement.endswith(".")
        assert entry.publisher


@pytest.mark.parametrize("name", NAMES)
def test_samples(name: str, dataset: Dataset, root: Path) -> None:
    samples = list(dataset.samples(root))
    assert len({sample.record_id for sample in samples}) == len(samples) > 0
    assert any(sample.annotations or sample.questions or sample.depth for sample in samples)
    for sample in samples:
        assert (sample.source, sample.licence) == (name, dataset.card.licence)
        assert sample.lost == 0
        assert not Path(sample.record_id).is_absolute()
        if not isinstance(sample.image, TableCell) or sample.image.path.suffix != ".tsv":
            assert sample.image.path.relative_to(root).as_posix() == sample.record_id.partition("#")[0]
        if isinstance(sample.image, VideoFrame):
            assert 0 <= sample.image.share <= 1
            with pytest.raises(SnellenError, match="is a frame of a video"):
                sample.read_image()
        else:
            assert_image_and_depth(sample)


def assert_image_and_depth(sample: Sample) -> None:
    raw, format = sample.read_image()
    with Image.open(io.BytesIO(raw)) as image:
        assert (image.format or "").lower() == {"jpg": "jpeg"}.get(format, format)
        assert image.width > 1
        assert sample.size in (None, image.size)
        size = image.size
    if isinstance(sample.image, ImageFile):
        assert raw == sample.image.path.read_bytes()
    assert (raw, format) == sample.read_image()
    depth = sample.read_depth()
    assert depth is None or (depth.shape == size[::-1] and np.nanmin(depth) > 0)
    for annotation in sample.annotations:
        if annotation.mask is not None:
            with annotation.mask.open() as image:
                assert image.size == size
                assert set(image.tobytes()) <= {0, 255}


@pytest.mark.parametrize("name", LABELLED)
def test_labelled_images(name: str, dataset: Dataset, root: Path) -> None:
    competing = set[tuple[str, str]]()
    for sample in dataset.samples(root):
        assert len(sample.annotations) == 1
        assert sample.label.strip() == sample.label != ""
        assert sample.object
        competing.add((sample.object, sample.label))
    if name not in ("CAMO", "NC4K"):  # one class: their cards say so
        for object in {object for object, _ in competing} - {"product group 1", "pattern", "color"}:
            assert len([1 for other, _ in competing if other == object]) > 1, f"nothing competes within {object}"


@pytest.mark.parametrize("name", ANNOTATED)
def test_annotations_are_inside_the_image(name: str, dataset: Dataset, root: Path) -> None:
    for sample in dataset.samples(root):
        size = sample.size
        if not isinstance(sample.image, VideoFrame):
            with Image.open(io.BytesIO(sample.read_image()[0])) as image:
                size = image.size
        for annotation in sample.annotations:
            assert annotation.label.strip() == annotation.label != ""
            if annotation.box is not None:
                assert size is not None
                x1, y1, x2, y2 = annotation.box
                assert 0 <= x1 < x2 <= size[0]
                assert 0 <= y1 < y2 <= size[1]
                assert annotation.area is not None
                assert math.isfinite(annotation.area)
                assert annotation.area > 0


@pytest.mark.parametrize("name", NAMES)
def test_a_complete_folder_has_no_notes(name: str, dataset: Dataset, root: Path) -> None:
    inventory = dataset.check(root)
    assert inventory.state == "whole", inventory.notes
    samples = list(dataset.samples(root))
    assert (inventory.samples, inventory.questions) == (len(samples), sum(len(sample.questions) for sample in samples))
    objects = sorted(sample.object for sample in samples for _ in sample.annotations)
    assert {object: sum(labels.values()) for object, labels in inventory.labels.items()} == {
        object: len(list(group)) for object, group in itertools.groupby(objects)
    }
    assert [note for note in inventory.notes if note.kind == "odd"] == []


@pytest.mark.parametrize("name", NAMES)
def test_order_does_not_depend_on_the_file_system(name: str, dataset: Dataset, root: Path, tmp_path: Path) -> None:
    other = write_dataset(tmp_path / "other", name, backwards=True)
    assert [sample.record_id for sample in dataset.samples(root)] == [
        sample.record_id for sample in dataset.samples(other)
    ]


@pytest.mark.parametrize("name", LABELLED)
def test_a_removed_labelled_image_is_noted(name: str, dataset: Dataset, root: Path) -> None:
    before = dataset.check(root)
    samples = list(dataset.samples(root))
    labels = [(sample.object, sample.label) for sample in samples]
    # The last image that is alone in its class: in folders without lists no other missing image can be noticed.
    alone = [sample for sample in samples if labels.count((sample.object, sample.label)) == 1] or samples
    # A missing last image of a sequence cannot be noticed.
    alone[0 if name == "ImageExposures" else -1].image.path.unlink()
    after = dataset.check(root)
    assert [note for note in set(after.notes) - set(before.notes) if note.kind in ("missing", "odd")]
    assert after.samples < before.samples


@pytest.mark.parametrize("name", ANNOTATED)
def test_a_removed_annotated_image_is_noted(name: str, dataset: Dataset, root: Path) -> None:
    before = dataset.check(root)
    list(dataset.samples(root))[-1].image.path.unlink()
    after = dataset.check(root)
    assert after.samples < before.samples
    if name not in WITHOUT_LISTS:
        assert [note for note in set(after.notes) - set(before.notes) if note.kind in ("missing", "odd")]


@pytest.mark.parametrize("name", NAMES)
def test_a_broken_file_is_noted(name: str, dataset: Dataset, root: Path) -> None:
    image = next(iter(dataset.samples(root))).image
    if isinstance(image, VideoFrame):
        pytest.skip("videos are not opened")
    image.path.write_bytes(b"broken")
    after = dataset.check(root)
    assert after.state == "broken"
    assert any(image.path.name in location for note in after.notes for location in note.locations)


@pytest.mark.parametrize("name", ANNOTATED)
def test_a_cut_image_is_noted(name: str, dataset: Dataset, root: Path) -> None:
    image = next(iter(dataset.samples(root))).image
    if isinstance(image, VideoFrame | Hdf5Image):
        pytest.skip("no image file")
    raw = image.path.read_bytes()
    image.path.write_bytes(raw[: len(raw) - 20])
    after = dataset.check(root)
    assert ("unreadable", 1) in [(note.kind, note.count) for note in after.notes]


@pytest.mark.parametrize("name", ANNOTATED)
def test_broken_annotations_are_noted(name: str, dataset: Dataset, root: Path) -> None:
    """Every file except images, emptied, filled with garbage and cut: never an exception."""
    intact = dataset.check(root)
    images = {sample.image.path for sample in dataset.samples(root)}
    for path in sorted(path for path in root.rglob("*") if path.is_file() and path not in images):
        raw = path.read_bytes()
        for broken in (b"", b"\x00\xff rubbish [1, {}\n", raw[: len(raw) * 3 // 5]):
            path.write_bytes(broken)
            after = dataset.check(root)
            assert after.notes != intact.notes or after.labels != intact.labels or after.state == "whole"
            labels, all_labels = after.labels.get("", {}), intact.labels.get("", {})
            if after.samples < intact.samples or sum(labels.values()) < sum(all_labels.values()):
                assert set(after.notes) - set(intact.notes), f"{path.name}: a silent drop"
            list(dataset.samples(root))
        path.write_bytes(raw)
    assert dataset.check(root) == intact


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_folder_is_noted(name: str, dataset: Dataset, tmp_path: Path) -> None:
    assert dataset.check(tmp_path / "nowhere").state == "absent"
    with pytest.raises(SnellenError, match="is not a folder"):
        list(dataset.samples(tmp_path / "nowhere"))
    (tmp_path / "empty").mkdir()
    inventory = dataset.check(tmp_path / "empty")
    assert (inventory.state, inventory.samples) == ("broken", 0)


def test_folders_of_a_root(tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text("VisA: a\nLVIS: b\n")
    assert find_folders(tmp_path)["VisA"] == tmp_path / "a"
    assert find_folders(tmp_path, ANNOTATED)["LVIS"] == tmp_path / "b"
    (tmp_path / "sources.yaml").write_text("LVIZ: b\n")
    with pytest.raises(SnellenError, match="did you mean 'LVIS'"):
        find_folders(tmp_path, ANNOTATED)


def test_a_recipe_takes_the_folders_of_a_root_and_those_given_by_name(tmp_path: Path) -> None:
    for name in ("root/VisA", "root/LVIS", "root/AID", "other", "empty"):
        (tmp_path / name).mkdir(parents=True)
    sources = {"choices": tmp_path, "LVIS": tmp_path / "other", "data": tmp_path / "root"}
    folders = recipe_folders(sources, ("VisA", "DTD", "LVIS"), "s", ("choices",))
    assert list(folders.items()) == [("VisA", tmp_path / "root/VisA"), ("LVIS", tmp_path / "other")]
    for given, message in (
        ({"data": tmp_path / "empty"}, f"no dataset to build from in {tmp_path / 'empty'}; give --source NAME=DIR"),
        ({"choices": tmp_path}, "no dataset to build from; give"), ({"AID": tmp_path}, "no source 'AID'"),
    ):  # fmt: skip
        with pytest.raises(SnellenError, match=message):
            recipe_folders(given, ("VisA", "LVIS"), "s", ("choices",))


@pytest.mark.parametrize("path", sources_page.HEADERS, ids=lambda path: path.stem)
def test_the_pages_match_the_cards(path: Path) -> None:
    page = path.read_text("utf-8")
    assert page == sources_page.rewritten(path), (
        "python -m tests.curated_sets.datasets.sources_page rewrites the tables"
    )
