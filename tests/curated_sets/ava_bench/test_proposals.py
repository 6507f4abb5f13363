"""Merges and discarded images: proposed by a run, confirmed by a person, and only then used in a set."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet
from snellen.curated_sets.ava_bench.recipe import Curated
from snellen.curated_sets.ava_bench.selection.choices import read_choices
from snellen.curated_sets.ava_bench.selection.rules import Rules
from snellen.curated_sets.rules import Caps
from snellen.curation.queues import write_queue
from snellen.exam.run import run
from snellen.web.reviewing import decide_review
from tests.goldens.descriptions import grouped_set_text
from tests.goldens.golden import assert_golden
from tests.helpers.reviewers import reviewed_by

FEW = Curated(Rules(texture=Caps(5, 9)))


def folders(root: Path, names: dict[str, int]) -> None:
    for name, count in names.items():
        (root / name).mkdir(parents=True)
        for n in range(count):
            buffer = io.BytesIO()
            Image.fromarray(stream("t", name, n).integers(0, 256, (16, 16, 3), np.uint8)).save(buffer, "PNG")
            (root / name / f"{n}.png").write_bytes(buffer.getvalue())


def build(task: str, tmp_path: Path, out: str, **fields: dict[str, Path]) -> ItemSet:
    options = {"sources": {"data": tmp_path / "data"}, **fields}
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


def test_people_decide_about_proposals(tmp_path: Path) -> None:
    folders(tmp_path / "data" / "AID", {"Beach": 1, "SeaShore": 1, "Bridge": 1, "Overpass": 1})
    work = build("scene-names", tmp_path, "work")
    names = {"Beach": "beach", "SeaShore": "beach", "Bridge": "bridge", "Overpass": "bridge"}
    texts = {item.item_id: names[item.provenance["label"]] for item in work.items}
    inputs = {"scene-names": answered(work, texts, tmp_path)}
    proposals = build("scene-merges", tmp_path, "review", inputs=inputs)
    queue = write_queue("scene-merges", proposals, tmp_path / "queue")
    entry = {item.item_id: ("keep" if "Beach" in item.question else "drop", "") for item in queue.items}
    people = reviewed_by(queue, {"ann": entry, "bob": entry}, tmp_path / "people")
    decide_review([people], tmp_path / "decisions.csv")
    build("scene-merges", tmp_path, "confirmed", inputs={**inputs, "scene-merges": tmp_path / "decisions.csv"})
    choices = read_choices(tmp_path / "confirmed" / "choices")
    assert choices.scene("AID", "SeaShore") == choices.scene("AID", "Beach") == "Beach"
    assert choices.scene("AID", "Overpass") == "Overpass"
    half = {**entry, next(iter(entry)): ("mend", "")}
    others = reviewed_by(queue, {"ann": entry, "bob": half}, tmp_path / "others")
    decide_review([others], tmp_path / "half.csv")
    with pytest.raises(SnellenError, match="every row needs keep or drop"):
        build("scene-merges", tmp_path, "half", inputs={**inputs, "scene-merges": tmp_path / "half.csv"})
    neither = {item.item_id: ("drop", "") for item in queue.items}
    dropped = reviewed_by(queue, {"ann": neither, "bob": neither}, tmp_path / "neither")
    with pytest.raises(SnellenError, match="keeps none of 2 rows, so there are no choices to write"):
        build("scene-merges", tmp_path, "none", inputs={**inputs, "scene-merges": dropped})
    texts[work.items[0].item_id] = "something else"
    (tmp_path / "other").mkdir()
    other_names = answered(work, texts, tmp_path / "other")
    with pytest.raises(SnellenError, match=r"decisions about other proposals|proposes no rows"):
        build(
            "scene-merges",
            tmp_path,
            "other-out",
            inputs={"scene-names": other_names, "scene-merges": tmp_path / "decisions.csv"},
        )


def test_people_decide_which_textures_fill_their_image(tmp_path: Path) -> None:
    folders(tmp_path / "data" / "DTD" / "images", {"dotted": 6})
    queue = write_queue("texture-clutter", build("texture-clutter", tmp_path, "work"), tmp_path / "queue")
    entry = {item.item_id: ("part" if item is queue.items[0] else "fills", "") for item in queue.items}
    people = reviewed_by(queue, {"ann": entry, "bob": entry}, tmp_path / "people")
    build("texture-discards", tmp_path, "review", inputs={"texture-clutter": people})
    (row,) = yaml.safe_load((tmp_path / "review" / "choices" / "textures.yaml").read_text())["discarded"]
    assert (row["state"], row["image"]) == ("confirmed", queue.items[0].provenance["texture_image"])


def test_texture_images_that_show_scenes_are_left_out_once_confirmed(tmp_path: Path) -> None:
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
    [("scene-merges", "--input scene-names=RUN is missing"), ("action-names", "give one of Moments-in-Time")],
)
def test_an_error_names_the_missing_input_of_a_step(tmp_path: Path, task: str, message: str) -> None:
    folders(tmp_path / "data" / "AID", {"Beach": 1})
    with pytest.raises(SnellenError, match=message):
        build(task, tmp_path, "out")


def test_the_sets_of_all_steps_equal_their_golden(tmp_path: Path) -> None:
    folders(tmp_path / "data" / "AID", {"Beach": 1, "SeaShore": 2, "Bridge": 1, "Overpass": 1, "Port": 1})
    folders(tmp_path / "data" / "DTD" / "images", {"woven": 1, "dotted": 2})
    (tmp_path / "data" / "DTD" / "images" / "dotted" / "2.png").write_bytes(b"x")
    names = build("scene-names", tmp_path, "names")
    merged = {"Beach": "the beach", "SeaShore": "Beach", "Bridge": "bridge", "Overpass": "a Bridge.", "Port": "*"}
    run_folder = answered(names, {item.item_id: merged[item.provenance["label"]] for item in names.items}, tmp_path)
    review = build("scene-merges", tmp_path, "review", inputs={"scene-names": run_folder})
    clutter = build("texture-clutter", tmp_path, "clutter")
    text = "".join(grouped_set_text(items, tmp_path) for items in (names, review, clutter))
    for file in ("review/choices/scenes.yaml", "clutter/curation.csv"):
        text += (tmp_path / file).read_text().replace(str(tmp_path), "")
    assert_golden("curated/ava-proposals.txt", text)
