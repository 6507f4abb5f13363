"""What every declared source promises, on a few pixels in its own layout."""

from __future__ import annotations

import io
import itertools
from pathlib import Path
from typing import get_args

import pytest
from PIL import Image

from snellen.datasets import SOURCES
from snellen.datasets.records import Industry, InFile, InRow, InVolume, Level, read_mask, read_picture
from tests.datasets.layouts import LAYOUTS, write

NAMES = list(SOURCES)


@pytest.fixture
def root(name: str, tmp_path: Path) -> Path:
    return write(tmp_path / name, LAYOUTS[name]())


def place(picture: object) -> Path:
    assert isinstance(picture, InFile | InRow | InVolume)
    return picture.path


def test_the_31_datasets_of_table_5_are_declared_and_have_a_layout() -> None:
    assert len(NAMES) == 31
    assert set(NAMES) == set(LAYOUTS)


@pytest.mark.parametrize("name", NAMES)
def test_card(name: str) -> None:
    card = SOURCES.get(name).card
    assert card.industry in get_args(Industry)
    assert card.level in get_args(Level)


@pytest.mark.parametrize("name", NAMES)
def test_records(name: str, root: Path) -> None:
    source = SOURCES.get(name)
    records = list(source.records(root))
    assert len({record.record_id for record in records}) == len(records) > 0
    competing = {(record.object, record.label) for record in records}
    for record in records:
        assert (record.source, record.industry, record.level) == (name, source.card.industry, source.card.level)
        assert record.licence == source.card.licence
        assert record.label.strip() == record.label != ""
        assert record.object
        assert not Path(record.record_id).is_absolute()
        raw, format = read_picture(record)
        with Image.open(io.BytesIO(raw)) as picture:
            assert (picture.format or "").lower() == {"jpg": "jpeg"}.get(format, format)
            assert picture.width > 1
            size = picture.size
        if isinstance(record.picture, InFile):
            assert raw == record.picture.path.read_bytes()
            assert record.picture.path.relative_to(root).as_posix() == record.record_id.partition("#")[0]
        assert (raw, format) == read_picture(record)
        marked = read_mask(record)
        if marked is not None:
            with Image.open(io.BytesIO(marked)) as picture:
                assert picture.size == size
                assert set(picture.tobytes()) <= {0, 255}
    if name not in ("CAMO", "NC4K"):  # one class: their cards say so
        for object in {object for object, _ in competing} - {"product group 1", "pattern", "color"}:
            assert len([1 for held, _ in competing if held == object]) > 1, f"nothing competes within {object}"


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_folder_is_whole(name: str, root: Path) -> None:
    source = SOURCES.get(name)
    inventory = source.check(root)
    assert inventory.state == "whole", inventory.notes
    counted = {object: sum(labels.values()) for object, labels in inventory.found.items()}
    records = list(source.records(root))
    assert counted == {
        object: len(list(group)) for object, group in itertools.groupby(sorted(record.object for record in records))
    }
    assert [note for note in inventory.notes if note.kind == "odd"] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_removed_picture_is_told(name: str, root: Path) -> None:
    source = SOURCES.get(name)
    before = source.check(root)
    records = list(source.records(root))
    labels = [(record.object, record.label) for record in records]
    # The last picture that is alone in its class: of folders without lists nobody can know that there was another one.
    alone = [record for record in records if labels.count((record.object, record.label)) == 1] or records
    place(alone[0 if name == "ImageExposures" else -1].picture).unlink()  # that a sequence's last is gone nobody sees
    after = source.check(root)
    told = [note for note in set(after.notes) - set(before.notes) if note.kind in ("missing", "odd")]
    assert told
    assert after.records < before.records
