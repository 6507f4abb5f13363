"""The user's own folders of things become object groups by one command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import read_itemset
from snellen.curation.ledger import Ledger
from snellen.exam.run import run
from snellen.suites.vlm2_bench.own.recipe import Own, read_things
from tests.cli.conftest import Command, snellen  # noqa: F401  # the fixture
from tests.goldens.descriptions import line, set_text
from tests.goldens.golden import assert_golden
from tests.helpers.own_images import class_folders, draw_image
from tests.helpers.shards import IMAGE, cell, write_shard


def test_one_command_builds_items_that_an_oracle_solves(
    snellen: Command,  # noqa: F811
    tmp_path: Path,
) -> None:
    folder = class_folders(class_folders(tmp_path / "own", 4, "my mug", "your mug"), 2, "pen", "bear")
    words = ("build", "vlm2-bench", "--from", "own", "--source", f"objects={folder}")
    code, out, err = snellen(*words, "--plan", "--json")
    assert code == 0, err
    plan = json.loads(out)
    assert plan["things"] == {"my mug": 4, "your mug": 4}
    code, out, err = snellen(*words, "--out", tmp_path / "set", "--json")
    assert code == 0, err
    items = read_itemset(tmp_path / "set")
    assert {task: counts["test"] for task, counts in items.card.counts.items()} == plan["items"]
    # Nine patterns: AA, AAA and AAAA show one thing, AB, AAB and AAAB two, ABC and AABC three, ABCD four.
    assert sorted(item.answer for item in items.task("oc-cnt")) == sorted(2 * [1, 1, 1, 2, 2, 2, 3, 3, 4])
    rows = run(items, ["fake:oracle", "fake:chance"], tmp_path / "run", show_progress=False).all_results()
    oracle = rows[(rows["subject"] == "fake:oracle") & (rows["factor"] == "") & rows["value"].notna()]
    assert set(oracle.loc[oracle["metric"] != "alike_pairs", "value"].round(6)) == {1.0}


def test_images_distractors_and_items_are_limited_and_the_rest_is_named(tmp_path: Path) -> None:
    folder = class_folders(class_folders(tmp_path / "own", 14, "mug"), 1, *(f"pen {n}" for n in range(10)))
    options = BuildOptions(tmp_path / "set", sources={"objects": folder}, n=2, show_progress=False)
    ledger = Ledger()
    (mug,), _ = read_things(options, ledger, tmp_path)
    assert (len(mug.main), len(mug.distractors)) == (12, 8)
    notes = "\n".join(ledger.notes("images"))
    assert "2 images left out, more than 12 images of a thing; sampled by the seed: mug" in notes
    assert "10 images left out, fewer than 4 images; used only as a distractor: " in notes
    plan = Own().plan(replace(options, n=None))
    assert plan["items"] == {"oc-cpr": 18, "oc-cnt": 9, "oc-grp": 5}
    built = Own().build(options)
    assert [built.card.counts[task]["test"] for task in ("oc-cpr", "oc-cnt", "oc-grp")] == [4, 2, 2]
    with pytest.raises(SnellenError, match=r"give --source objects=DIR .* nothing else"):
        Own().build(replace(options, out=tmp_path / "x", inputs={"votes": tmp_path}))


def test_ids_of_a_dataset_name_the_thing_that_an_image_shows(tmp_path: Path) -> None:
    ids = [7] * 4 + [8] * 4 + [9, 10, 7]
    images = [cell("x", k) for k in range(10)]
    columns: dict[str, list[Any]] = {"image": [*images, images[0]], "object_id": ids, "label": ["mug"] * 11}
    write_shard(tmp_path / "own" / "train.parquet", columns, {"image": IMAGE})
    items = Own().build(
        BuildOptions(tmp_path / "set", sources={"objects": tmp_path / "own"}, tasks=("oc-cnt",), show_progress=False)
    )
    assert {item.cluster_id for item in items.items} == {"oc-object/7", "oc-object/8"}
    raws = {items.media.read(image) for item in items.items for image in item.query}
    assert raws <= {image["bytes"] for image in images}
    assert any("it looks like another image of its thing: 7/" in note for note in items.card.notes)


def test_too_few_things_are_refused_with_the_number_needed(tmp_path: Path) -> None:
    folder = class_folders(tmp_path / "own", 4, "a", "b", "c")
    with pytest.raises(SnellenError, match="needs a thing with at least 4 images and 3 other things"):
        Own().build(BuildOptions(tmp_path / "set", sources={"objects": folder}, show_progress=False))
    with pytest.raises(SnellenError, match="give --source objects=DIR"):
        Own().build(BuildOptions(tmp_path / "set", show_progress=False))


def test_items_card_plan_and_refusals_equal_their_golden(tmp_path: Path) -> None:
    """Things in nested folders, of which one has a copy and a damaged image; two items of each task."""
    root = class_folders(class_folders(tmp_path / "own", 5, "b/mug", "a/cup"), 4, "z jar")
    class_folders(root, 2, "pen")
    draw_image(root / "pen" / "wide.png", "wide", size=(40, 12))
    (root / "a" / "cup" / "copy.png").write_bytes((root / "a" / "cup" / "1.png").read_bytes())
    (root / "z jar" / "torn.png").write_bytes(b"no image")
    options = BuildOptions(tmp_path / "set", sources={"objects": root}, n=2, seed=4, show_progress=False)
    text = f"{line(Own().plan(options))}\n{set_text(Own().build(options))}"
    refused: list[dict[str, Any]] = [{"tasks": ("gc-mat",)}, {"sources": {"object": root}}, {"n": 0}]
    for changes in refused:
        with pytest.raises(SnellenError) as caught:
            Own().build(replace(options, out=tmp_path / "other", **changes))
        text += f"{caught.value}\n".replace(str(tmp_path), "FOLDER")
    assert_golden("suites/vlm2-bench-own.txt", text)
