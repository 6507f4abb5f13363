"""What every declared source of scenes promises, on a few pixels in its own layout."""

from __future__ import annotations

import io
import math
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.datasets import SCENES, SOURCES
from snellen.datasets.folders import find_folders
from snellen.datasets.records import InFile
from snellen.datasets.scenes import InHdf5, InVideo, Scene, read_depth, read_scene
from tests.datasets.layouts import write
from tests.datasets.scene_layouts import SCENE_LAYOUTS

NAMES = list(SCENES)
UNCUT = ("PNG", "JPEG")


@pytest.fixture
def root(name: str, tmp_path: Path) -> Path:
    return write(tmp_path / name, SCENE_LAYOUTS[name]())


def test_every_source_has_a_layout_and_a_name_of_its_own() -> None:
    assert set(NAMES) == set(SCENE_LAYOUTS)
    assert not set(NAMES) & set(SOURCES), "one folder may hold both kinds"


@pytest.mark.parametrize("name", NAMES)
def test_card(name: str) -> None:
    assert SCENES.get(name).card.tasks


@pytest.mark.parametrize("name", NAMES)
def test_scenes(name: str, root: Path) -> None:
    source = SCENES.get(name)
    scenes = list(source.scenes(root))
    assert len({scene.record_id for scene in scenes}) == len(scenes) > 0
    assert any(scene.marked or scene.asked or scene.depth for scene in scenes)
    for scene in scenes:
        assert (scene.source, scene.licence) == (name, source.card.licence)
        assert scene.lost == 0
        assert scene.picture.path.relative_to(root).as_posix() == scene.record_id.partition("#")[0]
        assert_things_lie_inside(scene)
        if isinstance(scene.picture, InVideo):
            assert 0 <= scene.picture.share <= 1
            with pytest.raises(SnellenError, match="is a frame of a video"):
                read_scene(scene)


def assert_things_lie_inside(scene: Scene) -> None:
    size = scene.size
    if not isinstance(scene.picture, InVideo):
        raw, format = read_scene(scene)
        with Image.open(io.BytesIO(raw)) as picture:
            assert (picture.format or "").lower() == {"jpg": "jpeg"}.get(format, format)
            assert scene.size in (None, picture.size)
            size = picture.size
        if isinstance(scene.picture, InFile):
            assert raw == scene.picture.path.read_bytes()
        depth = read_depth(scene)
        assert depth is None or (depth.shape == size[::-1] and np.nanmin(depth) > 0)
    for thing in scene.marked:
        assert thing.label.strip() == thing.label != ""
        if thing.box is not None:
            assert size is not None
            x1, y1, x2, y2 = thing.box
            assert 0 <= x1 < x2 <= size[0]
            assert 0 <= y1 < y2 <= size[1]
            assert thing.area is not None
            assert math.isfinite(thing.area)
            assert thing.area > 0


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_folder_is_whole(name: str, root: Path) -> None:
    source = SCENES.get(name)
    inventory = source.check(root)
    assert inventory.state == "whole", inventory.notes
    scenes = list(source.scenes(root))
    assert (inventory.scenes, inventory.asked) == (len(scenes), sum(len(scene.asked) for scene in scenes))
    assert sum(inventory.labels.values()) == sum(len(scene.marked) for scene in scenes)
    assert [note for note in inventory.notes if note.kind == "odd"] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_removed_picture_is_told(name: str, root: Path) -> None:
    source = SCENES.get(name)
    before = source.check(root)
    list(source.scenes(root))[-1].picture.path.unlink()
    after = source.check(root)
    assert after.scenes < before.scenes
    if name not in WITHOUT_LISTS:
        assert [note for note in set(after.notes) - set(before.notes) if note.kind in ("missing", "odd")]


WITHOUT_LISTS = ("AID", "CURE-OR", "DTD", "KTH-TIPS", "KTH-TIPS2-b", "Kylberg")
"""Folders of pictures: of one that is gone nobody can know that it was there."""


@pytest.mark.parametrize("name", NAMES)
def test_a_cut_picture_is_told(name: str, root: Path) -> None:
    source = SCENES.get(name)
    place = next(iter(source.scenes(root))).picture
    if isinstance(place, InVideo | InHdf5):
        pytest.skip("no picture file")
    raw = place.path.read_bytes()
    place.path.write_bytes(raw[: len(raw) - 20])
    after = source.check(root)
    assert ("unreadable", 1) in [(note.kind, note.count) for note in after.notes]


@pytest.mark.parametrize("name", NAMES)
def test_broken_annotations_are_told(name: str, root: Path) -> None:
    """Every file beside the pictures, emptied, filled with rubbish and cut: never an exception."""
    source = SCENES.get(name)
    whole = source.check(root)
    shown = {scene.picture.path for scene in source.scenes(root)}
    for path in sorted(path for path in root.rglob("*") if path.is_file() and path not in shown):
        raw = path.read_bytes()
        for broken in (b"", b"\x00\xff rubbish [1, {}\n", raw[: len(raw) * 3 // 5]):
            path.write_bytes(broken)
            after = source.check(root)
            assert after.notes != whole.notes or after.labels != whole.labels or after.state == "whole"
            if after.scenes < whole.scenes or sum(after.labels.values()) < sum(whole.labels.values()):
                assert set(after.notes) - set(whole.notes), f"{path.name}: a silent drop"
            list(source.scenes(root))
        path.write_bytes(raw)
    assert source.check(root) == whole


def test_one_root_may_hold_both_kinds(tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text("VisA: a\nLVIS: b\n")
    assert find_folders(tmp_path)["VisA"] == tmp_path / "a"
    assert find_folders(tmp_path, SCENES)["LVIS"] == tmp_path / "b"
    (tmp_path / "sources.yaml").write_text("LVIZ: b\n")
    with pytest.raises(SnellenError, match="did you mean 'LVIS'"):
        find_folders(tmp_path, SCENES)


def test_the_page_says_what_the_cards_say() -> None:
    page = (Path(__file__).parents[2] / "docs" / "sources.md").read_text("utf-8")
    rows = {line.split(" | ")[0].strip("| "): line for line in page.splitlines() if line.startswith("| ")}
    for name in NAMES:
        card = SCENES.get(name).card
        for told in (", ".join(card.tasks), card.licence, card.layout, card.origin):
            assert told in rows[name], f"{name}: docs/sources.md does not say {told!r}"
