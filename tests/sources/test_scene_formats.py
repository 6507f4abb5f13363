"""What each reader of scenes makes of its layout, worked out by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from snellen.sources import SCENES
from snellen.sources.scenes import Scene, read_depth
from tests.sources.layouts import write
from tests.sources.scene_layouts import SCENE_LAYOUTS


def scenes(name: str, root: Path) -> dict[str, Scene]:
    return {scene.record_id: scene for scene in SCENES.get(name).scenes(write(root, SCENE_LAYOUTS[name]()))}


def told(name: str, root: Path) -> dict[str, tuple[str, ...]]:
    return {f"{note.kind}: {note.what}": note.where for note in SCENES.get(name).check(root).notes}


def test_voc_counts_pixels_from_one(tmp_path: Path) -> None:
    scene = scenes("DIOR", tmp_path)["JPEGImages-trainval/00001.jpg"]
    assert [(one.label, one.box, one.area) for one in scene.marked] == [
        ("ship", (0, 1, 4, 3), 8), ("harbor", (4, 0, 8, 6), 24),
    ]  # fmt: skip
    xml = tmp_path / "Annotations/Horizontal Bounding Boxes/00001.xml"
    xml.write_text(xml.read_text().replace("<xmax>4</xmax>", ""))
    assert told("DIOR", tmp_path) == {"unreadable: object in another form": ("00001.xml: ship",)}
    [scene, _] = SCENES.get("DIOR").scenes(tmp_path)
    assert ([one.label for one in scene.marked], scene.lost) == (["harbor"], 1)


def test_lines_of_carpk(tmp_path: Path) -> None:
    root = write(tmp_path, SCENE_LAYOUTS["CARPK"]())
    text = root / "CARPK_devkit/data/Annotations/2016_GF_1.txt"
    text.write_text("1 1 3 4 1\n4 0 8\n5 5 2 2 1\n")
    assert told("CARPK", root) == {
        "unreadable: line without a box": ("CARPK_devkit/data/Annotations/2016_GF_1.txt line 2",),
        "odd: inverted box": ("CARPK_devkit/data/Images/2016_GF_1.png: car [5.0, 5.0, 2.0, 2.0]",),
    }
    [first, second] = SCENES.get("CARPK").scenes(root)
    assert ([one.box for one in first.marked], first.lost) == ([(1, 1, 3, 4)], 2)
    assert ([one.box for one in second.marked], second.lost) == ([(1, 1, 3, 4), (4, 0, 8, 2)], 0)


def test_crowd_human_shows_what_is_visible(tmp_path: Path) -> None:
    [scene, _] = scenes("CrowdHuman", tmp_path).values()
    person, mask = scene.marked
    assert (person.label, person.box) == ("person", (0, 1, 3, 5))
    assert person.extra == {"full_box": (0, 1, 3, 10), "head_box": (1, 1, 2, 2)}
    assert (mask.label, mask.extra["ignore"]) == ("mask", True)


def test_points_are_the_things_of_fsc(tmp_path: Path) -> None:
    [shells, balloons] = scenes("FSC-147", tmp_path).values()
    assert [(one.label, one.extra["point"]) for one in shells.marked] == [
        ("sea shells", (1.5, 2.25)), ("sea shells", (4, 5)), ("sea shells", (7, 1)),
    ]  # fmt: skip
    assert (len(balloons.marked), balloons.attributes) == (1, {"split": "val"})


def test_kitti_distances(tmp_path: Path) -> None:
    [scene, other] = scenes("KITTI", tmp_path).values()
    car, walker = scene.marked
    # Turned by 0 a car's length lies across the axis and its width along it; by a quarter turn its length does.
    assert car.label == "Car"
    assert car.extra["nearest_m"] == pytest.approx(20 - 1.6 / 2)
    assert walker.extra["nearest_m"] == pytest.approx(8.41 - 1.2 / 2, abs=1e-6)
    assert car.extra["at_m"] == (1, 1.7, 20)
    depth = read_depth(scene)  # picture 0 is line 2 of the mapping: frame 5
    assert depth is not None
    assert depth[3, 2] == 12.5
    assert np.isnan(depth).sum() == 47
    assert read_depth(other) is None
