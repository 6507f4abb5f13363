"""Merges and discarded pictures: proposed by a run, confirmed by a person, and only then in a set."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.core.itemset import ItemSet
from snellen.core.seeds import stream
from snellen.core.suite import BuildOptions
from snellen.exam import run
from snellen.suites.ava_bench.candidates.choices import read_choices
from snellen.suites.ava_bench.candidates.rules import Caps, Rules
from snellen.suites.ava_bench.curated.recipe import Curated

FEW = Curated(Rules(texture=Caps(5, 9)))


def folders(root: Path, names: dict[str, int]) -> None:
    for name, count in names.items():
        (root / name).mkdir(parents=True)
        for n in range(count):
            buffer = io.BytesIO()
            Image.fromarray(stream("t", name, n).integers(0, 256, (16, 16, 3), np.uint8)).save(buffer, "PNG")
            (root / name / f"{n}.png").write_bytes(buffer.getvalue())


def build(task: str, tmp_path: Path, out: str, **more: dict[str, Path]) -> ItemSet:
    options = {"sources": {"data": tmp_path / "data"}, **more}
    return FEW.build(BuildOptions(tmp_path / out, tasks=(task,), show_progress=False, **options))  # type: ignore[arg-type]


def answered(work: ItemSet, texts: dict[str, str], tmp_path: Path) -> Path:
    (tmp_path / "said.json").write_text(json.dumps(texts))
    run(work, [f"fake:scripted={tmp_path / 'said.json'}"], tmp_path / "run", show_progress=False)
    return tmp_path / "run"


def test_scene_labels_of_one_name_are_proposed_as_one_class(tmp_path: Path) -> None:
    folders(tmp_path / "data" / "AID", {"Beach": 1, "SeaShore": 1, "Bridge": 1})
    work = build("scene-names", tmp_path, "work")
    labels = {item.item_id: item.provenance["label"] for item in work.items}
    names = {"Beach": "the beach", "SeaShore": "Beach", "Bridge": "bridge"}
    run_folder = answered(work, {name: names[label] for name, label in labels.items()}, tmp_path)
    review = build("scene-merges", tmp_path, "review", inputs={"scene-names": run_folder})
    assert len(review.items) == 1
    path = tmp_path / "review" / "choices" / "scenes.yaml"
    with pytest.raises(SnellenError, match="only proposed"):
        read_choices(path.parent)
    path.write_text(path.read_text().replace("proposed\n", "confirmed\n"))
    choices = read_choices(path.parent)
    assert choices.scene("AID", "SeaShore") == choices.scene("AID", "Beach") == "Beach"
    assert choices.scene("AID", "Bridge") == "Bridge"


def test_texture_pictures_that_show_scenes_are_left_out_once_confirmed(tmp_path: Path) -> None:
    folders(tmp_path / "data" / "DTD" / "images", {"dotted": 6, "woven": 6})
    torn = tmp_path / "data" / "DTD" / "images" / "woven" / "torn.png"
    torn.write_bytes((torn.parent / "0.png").read_bytes()[:60])
    work = build("texture-clutter", tmp_path, "work")
    assert len(work.items) == 12
    assert "torn.png" in (tmp_path / "work" / "curation.csv").read_text()
    cluttered = work.items[0]
    run_folder = answered(
        work, {item.item_id: "part" if item is cluttered else "fills" for item in work.items}, tmp_path
    )
    build("texture-discards", tmp_path, "review", inputs={"texture-clutter": run_folder})
    path = tmp_path / "review" / "choices" / "textures.yaml"
    rows = yaml.safe_load(path.read_text())
    rows["discarded"][0]["state"] = "confirmed"
    path.write_text(yaml.safe_dump(rows))
    items = build("texture", tmp_path, "set", sources={"data": tmp_path / "data", "choices": path.parent})
    assert len(items.items) == 11
    assert cluttered.query[0].sha256 not in {item.query[0].sha256 for item in items.items}


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("scene-merges", "--input scene-names=RUN is missing"),
        ("action-names", "give one of Moments-in-Time"),
    ],
)
def test_what_a_step_lacks_is_said(tmp_path: Path, task: str, message: str) -> None:
    folders(tmp_path / "data" / "AID", {"Beach": 1})
    with pytest.raises(SnellenError, match=message):
        build(task, tmp_path, "out")
