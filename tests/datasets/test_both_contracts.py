"""What sources of labelled pictures and sources of scenes both promise, on a few pixels in their own layouts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from snellen.core.errors import SnellenError
from snellen.datasets import SCENES, SOURCES
from snellen.datasets.reading import Inventory, Source
from snellen.datasets.records import InFiles, Record
from snellen.datasets.scene_reading import SceneInventory, SceneSource
from snellen.datasets.scenes import InVideo, Scene
from tests.datasets.layouts import LAYOUTS, write
from tests.datasets.scene_layouts import SCENE_LAYOUTS

NAMES = [*SOURCES, *SCENES]


@pytest.fixture
def root(name: str, tmp_path: Path) -> Path:
    return write_source(tmp_path / name, name)


def write_source(root: Path, name: str, *, backwards: bool = False) -> Path:
    layout = LAYOUTS[name] if name in LAYOUTS else SCENE_LAYOUTS[name]
    return write(root, layout(), backwards=backwards)


def source_of(name: str) -> Source | SceneSource:
    return SOURCES.get(name) if name in LAYOUTS else SCENES.get(name)


def held(source: Source | SceneSource, root: Path) -> Sequence[Record | Scene]:
    return list(source.records(root) if isinstance(source, Source) else source.scenes(root))


def count(told: Inventory | SceneInventory) -> int:
    return told.records if isinstance(told, Inventory) else told.scenes


@pytest.mark.parametrize("name", NAMES)
def test_card(name: str) -> None:
    card = source_of(name).card
    assert card.name == name
    assert card.layout
    assert card.licence
    assert card.citation
    assert card.origin.startswith("http") or card.origin == card.citation
    assert not card.verified, "only after real files were read, and then the layout is no fixture any more"


@pytest.mark.parametrize("name", NAMES)
def test_order_does_not_hang_on_how_the_files_came(name: str, root: Path, tmp_path: Path) -> None:
    source, other = source_of(name), write_source(tmp_path / "other", name, backwards=True)
    assert [one.record_id for one in held(source, root)] == [one.record_id for one in held(source, other)]


@pytest.mark.parametrize("name", NAMES)
def test_a_broken_file_is_told(name: str, root: Path) -> None:
    source = source_of(name)
    place = held(source, root)[0].picture
    if isinstance(place, InVideo):
        pytest.skip("videos are not opened")
    assert not isinstance(place, InFiles)
    place.path.write_bytes(b"broken")
    after = source.check(root)
    assert after.state == "broken"
    assert any(place.path.name in where for note in after.notes for where in note.where)


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_folder_is_told(name: str, tmp_path: Path) -> None:
    source = source_of(name)
    assert source.check(tmp_path / "nowhere").state == "absent"
    with pytest.raises(SnellenError, match="is no folder"):
        held(source, tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    inventory = source.check(tmp_path / "empty")
    assert (inventory.state, count(inventory)) == ("broken", 0)
