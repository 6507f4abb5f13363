"""The released files, read from our own few-pixel copies of both layouts.

Layout and field names: OSU-MLB/AVA-Bench (hub data set and `tinyllava/eval`, commit 081b360); wordings: appendix A.2 of
the paper. No released file was at hand: this says that the layout as it is described can be read.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.core.hashing import sha256
from snellen.core.item import Item
from snellen.core.itemset import ItemSet, read_itemset
from snellen.core.media import MediaFolder
from snellen.core.suite import BuildOptions
from snellen.suites.ava_bench import prompts
from snellen.suites.ava_bench.items import TASKS
from snellen.suites.ava_bench.released import HELD_OUT, MOST_TOLD, Released
from snellen.suites.ava_bench.released_answers import LeftOut, listed, read_record, stored_box
from snellen.suites.ava_bench.released_files import ABILITIES
from snellen.suites.ava_bench.transforms import Padded, UnitFrame

SIZE = (32, 32)
SPATIAL = "Considering the relative positions, where is the cup (annotated by the red box)?"
EMOTIONS = "1. happy, 2. sad, 3. angry, 4. fear, 5. surprise, 6. neutral, 7. disgust"
SAID: Mapping[str, tuple[str, str]] = {
    "localization": ("Provide bounding box coordinate for dog.", "[0.25, 0.50, 0.75, 1.00]"),
    "counting": ("How many apples are in the image?", "7"),
    "spatial": (
        f"{SPATIAL} Choose from A. Left above, B. Left below, C. Right above, D. Right below.",
        "B. Left below",
    ),
    "orientation": ("What is the orientation of the bus? Choose one from below: 1. front, 2. back", "2. back"),
    "absolute-depth": (
        "How far is the car? Select the best answer from the options below: A. 1-2, B. 2-3, C. 8-9",
        "C. 8-9",
    ),
    "relative-depth": ("Which is closer, a or b? Choose one: 1. red, 2. blue.", "2. blue"),
    "object": (
        "What is in the red bounding box? Choose from the following option: 1. airport, 2. american robin, 3. fox",
        "2. american robin",
    ),
    "fine-grained": (
        "What species of bird is in the image? Choose one from below: 1. Cerulean_Warbler, 2. American_Crow",
        "1. Cerulean_Warbler",
    ),
    "colour": ("What color is shown within the bounding box?", "[232, 9, 10]"),
    "texture": ("What is the texture attribute of the image? Choose one from below: 1. banded, 2. veined.", "veined"),
    "ocr": ("What is written in the red bounding box in the image?", "STOP 5"),
    "action": (
        "Which action or activity is shown in the image? Choose from the following option: 1. buying, 2. boxing",
        "2",
    ),
    "emotion": (f"Which of the following best describes the person's emotion in the red box? {EMOTIONS}.", "2. sad"),
    "scene": ("What is the scene class of the image? Choose one from below: 1. Hall, 2. Snowy Mountain.", "1. Hall"),
}
ANSWERS: Mapping[str, Any] = {
    "localization": (8.0, 16.0, 24.0, 32.0),
    "counting": 7,
    "spatial": "Left below",
    "orientation": "back",
    "absolute-depth": "8-9",
    "relative-depth": "blue",
    "object": "american robin",
    "fine-grained": "Cerulean_Warbler",
    "colour": (232, 9, 10),
    "texture": "veined",
    "ocr": "STOP 5",
    "action": "boxing",
    "emotion": "sad",
    "scene": "Hall",
}
CUT = {
    "spatial": SPATIAL,
    "orientation": "What is the orientation of the bus?",
    "absolute-depth": "How far is the car?",
    "object": "What is in the red bounding box?",
    "fine-grained": "What species of bird is in the image?",
    "texture": "What is the texture attribute of the image?",
    "action": "Which action or activity is shown in the image?",
    "emotion": "Which of the following best describes the person's emotion in the red box?",
    "scene": "What is the scene class of the image?",
}
"""Questions whose options are written again letter for letter; that of relative depth is not."""


def picture(shade: int, size: tuple[int, int] = SIZE, format: str = "PNG") -> bytes:
    held = io.BytesIO()
    noise = np.random.default_rng(shade).integers(0, 255, (size[1], size[0], 3), np.uint8)
    Image.fromarray(noise).save(held, format)
    return held.getvalue()


def record(task: str, number: int, said: str | None = None, asked: str | None = None, **told: Any) -> dict[str, Any]:
    """A row as the hub has it. `said` and `asked` stand in place of the usual ones."""
    question, answer = SAID[task]
    turns = [
        {"from": "human", "value": f"<image>\n{question if asked is None else asked}"},
        {"from": "gpt", "value": answer if said is None else said},
    ]
    return {"id": f"{task}/{number}", "image": picture(number), "conversations": turns, **told}


def shard(path: Path, rows: Sequence[Mapping[str, Any]], group: int = 3) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    held = [{**row, "image": {"bytes": row["image"], "path": None}} for row in rows]
    pq.write_table(pa.Table.from_pylist(held), path, row_group_size=group)


def hub(root: Path, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> Path:
    """Rows by task in the layout of the hub, in two files where there are several rows."""
    for task, held in rows.items():
        folder, half = root / "train" / ABILITIES[task], len(held) // 2
        parts = [held[:half], held[half:]] if half else [held]
        for n, part in enumerate(parts):
            shard(folder / f"train-{n:05d}-of-{len(parts):05d}.parquet", part)
    return root


def tree(root: Path, rows: Mapping[str, Sequence[Mapping[str, Any]]], split: str = "train") -> Path:
    """The same unpacked: a JSON file a task, and pictures."""
    for task, held in rows.items():
        folder, told = root / "AVA-Bench" / split / ABILITIES[task], []
        (folder / "images").mkdir(parents=True, exist_ok=True)
        for row in held:
            name = f"{str(row['id']).replace('/', '_')}.png"
            (folder / "images" / name).write_bytes(row["image"])
            told.append({**row, "id": name.removesuffix(".png"), "image": f"{ABILITIES[task]}/images/{name}"})
        (folder / f"{split}.json").write_text(json.dumps(told))
    return root


def built(root: Path, out: Path, **told: Any) -> ItemSet:
    Released().build(BuildOptions(out, sources={"ava": root}, show_progress=False, **told))
    return read_itemset(out)


def refused(root: Path, out: Path, **told: Any) -> str:
    with pytest.raises(SnellenError) as error:
        built(root, out, **told)
    return str(error.value)


def one_each() -> dict[str, list[dict[str, Any]]]:
    return {task: [record(task, 100 + n)] for n, task in enumerate(TASKS)}


@pytest.mark.parametrize("layout", [hub, tree])
def test_every_ability_is_read_from_both_layouts(layout: Any, tmp_path: Path) -> None:
    rows = one_each()
    items = built(layout(tmp_path / "in", rows), tmp_path / "out")
    held = {item.task: item for item in items.items}
    assert {task: item.answer for task, item in held.items()} == ANSWERS
    assert {task: item.question for task, item in held.items()} == {task: SAID[task][0] for task in TASKS} | CUT
    for task, item in held.items():
        assert items.media.read(item.query[0]) == rows[task][0]["image"]
        assert item.query[0].sha256 == sha256(rows[task][0]["image"])
        assert not {"red", "blue"} & set(item.regions)


def test_options_are_listed_again_as_they_stood_or_not_cut() -> None:
    for task in CUT:
        asked = read_record(task, *SAID[task])
        labels = "ABCD" if task in ("spatial", "absolute-depth") else "1234567"
        names = [f"{label}. {text}" for label, text in zip(labels, asked.options, strict=False)]
        assert f"{asked.question} {prompts.choices(task, names)}" == SAID[task][0]
        assert not asked.inline
    kept = read_record("relative-depth", *SAID["relative-depth"])
    assert kept.inline
    assert kept.options == ("red", "blue")


def test_factors_are_those_that_results_are_split_by(tmp_path: Path) -> None:
    rows = one_each()
    rows["counting"][0]["dataset_type"] = "fsc147"
    held = {item.task: item.factors for item in built(hub(tmp_path / "in", rows), tmp_path / "out").items}
    assert held["counting"] == {"source": "fsc147", "count_range": "6-10"}
    assert held["localization"] == {"source": "AVA-Bench", "box_size": "0.2-0.3"}  # 16 x 16 of 32 x 32
    assert held["absolute-depth"]["depth_range"] == "5-10 m"
    assert held["ocr"]["text_length"] == "6-10"
    assert held["fine-grained"]["group"] == "bird"
    assert (held["spatial"]["position"], held["emotion"]["emotion"]) == ("Left below", "sad")


def test_a_box_is_led_from_the_padded_square_to_pixels_of_the_picture() -> None:
    # 200 x 100 in the middle of a square of 200: 50 pixels of padding above. 0.5 x 200 - 50 = 50.
    assert stored_box([0.25, 0.5, 0.75, 0.7], 200, 100) == pytest.approx((50, 50, 150, 90))
    # 100 x 201: 50 pixels to the left, 51 to the right. 0.5 x 201 - 50 = 50.5.
    assert stored_box([0.5, 0.0, 0.7, 1.0], 100, 201) == pytest.approx((50.5, 0, 90.7, 201))
    assert stored_box([0.0, 0.25, 0.5, 1.0], 40, 40) == pytest.approx((0, 10, 20, 40))


def test_two_decimals_may_reach_over_the_edge_and_no_more() -> None:
    assert stored_box([0.1, 0.245, 0.5, 0.755], 200, 100) == pytest.approx((20, 0, 100, 100))
    with pytest.raises(LeftOut, match="padding"):
        stored_box([0.1, 0.2, 0.5, 0.7], 200, 100)
    with pytest.raises(LeftOut, match="padding"):
        stored_box([0.1, 0.245, 0.5, 0.25], 200, 100)  # nothing is left of it


def test_what_is_shown_gives_the_released_box_again(tmp_path: Path) -> None:
    row = record("localization", 1, said="[0.30, 0.40, 0.60, 0.70]", image=picture(1, (60, 31)))
    items = built(tree(tmp_path / "in", {"localization": [row]}), tmp_path / "out")
    (item,) = items.items
    media, rng = MediaFolder(tmp_path / "made", items.media), np.random.default_rng(0)
    view = UnitFrame()(Padded()(item.view(), media, rng), media, rng)
    assert prompts.target(view.reply, item.answer) == "[0.30, 0.40, 0.60, 0.70]"


BAD = (
    ("localization", "somewhere", "no box"),
    ("localization", "[0.1, 0.2, 0.3]", "no box"),
    ("localization", "[0.1, 0.2, 0.3, 0.4] and more", "no box"),
    ("localization", "[0.1, 0.2, 1.3, 0.4]", "out of the square"),
    ("localization", "[-0.1, 0.2, 0.3, 0.4]", "out of the square"),
    ("localization", "[0.1, 0.2, 0.1, 0.4]", "no area"),
    ("localization", "[0.09, 0.85, 0.61, 0.24]", "exchanged"),
    ("counting", "seven", "no whole number"),
    ("counting", "0", "nothing is counted"),
    ("colour", "[256, 0, 0]", "no colour"),
    ("colour", "[1, 2]", "no colour"),
    ("ocr", " ", "empty"),
    ("spatial", "E. Above", "none of the options"),
    ("spatial", "A. Left below", "none of the options"),
    ("action", "3", "none of the options"),
)


@pytest.mark.parametrize(("task", "said", "reason"), BAD)
def test_answers_that_cannot_be_read_are_left_out(task: str, said: str, reason: str) -> None:
    with pytest.raises(LeftOut, match=reason):
        read_record(task, SAID[task][0], said)


@pytest.mark.parametrize(
    ("task", "asked", "reason"),
    [
        ("scene", "What is the scene class of the image?", "does not list its options"),
        ("scene", "Which? Choose one from below: 1. Hall, 2. hall", "are the same"),
        ("scene", "Which? Choose one from below: A. Hall, B. Lawn", "does not list its options"),
        ("spatial", "Where? A. Left below, B. Right below", "twice"),
        ("absolute-depth", "How far? Choose the best option: A. 8-9, B. far", "no bin"),
        ("counting", "<image>\n", "no question"),
    ],
)
def test_questions_that_cannot_be_read_are_left_out(task: str, asked: str, reason: str) -> None:
    said = {"scene": "Hall", "spatial": "Left below", "absolute-depth": "8-9", "counting": "7"}[task]
    with pytest.raises(LeftOut, match=reason):
        read_record(task, asked, said)


def test_answers_may_be_written_in_several_ways() -> None:
    where = SAID["localization"][0]
    for said in ("[0.5, 0.25, 1, 1.0]", "(.5, .25, 1., 1)", " 0.50,0.25,1.00,1.00. "):
        assert read_record("localization", where, said).answer == [0.5, 0.25, 1, 1]
    for said in ("2", "2.", "2. Boxing", "boxing", "2. boxing."):
        assert read_record("action", SAID["action"][0], said).answer == "boxing"
    assert read_record("counting", "How many?", "41.").factors == {"count_range": "41 and more"}


def test_lists_may_hold_commas_dots_and_numbers() -> None:
    assert listed("scene", "Which? 1. St. Bernard, the 2nd, 2. No. 3.5\n3. c") == (
        "St. Bernard, the 2nd",
        "No. 3.5",
        "c",
    )


def test_records_left_out_are_counted_in_the_card(tmp_path: Path) -> None:
    rows = [record("counting", 1), record("counting", 2, "seven"), record("counting", 3, "many")]
    rows += [record("counting", 4, conversations=[{"from": "human", "value": "How many?"}])]
    rows += [record("counting", 5, id="same"), record("counting", 6, id="same")]
    with pytest.warns(UserWarning, match="left out"):
        items = built(hub(tmp_path / "in", {"counting": rows}), tmp_path / "out")
    assert len(items.items) == 1
    notes = "\n".join(items.card.notes)
    assert "counting: 2 records left out, the answer is no whole number; first: " in notes
    assert "train/Counting/train-00000-of-00002.parquet row 2 ('seven')" in notes
    assert "counting: 1 records left out, conversations is not one turn of a human and one of gpt" in notes
    assert "counting: 2 records left out, the id is used twice" in notes


def test_without_a_record_that_can_be_read_there_is_no_set(tmp_path: Path) -> None:
    root = hub(tmp_path / "in", {"counting": [record("counting", 1, "seven")]})
    assert "no record could be read" in refused(root, tmp_path / "out")


def test_all_that_is_wrong_with_a_tree_is_said_at_once(tmp_path: Path) -> None:
    root = tree(tmp_path / "in", {task: [record(task, 1), record(task, 2)] for task in ("ocr", "scene", "action")})
    train = root / "AVA-Bench" / "train"
    (train / "OCR" / "images" / "ocr_2.png").unlink()
    (train / "Scene_Classification" / "train.json").write_text("[{")
    told = json.loads((train / "Action" / "train.json").read_text())
    told[0]["image"] = "../../secret.png"
    (train / "Action" / "train.json").write_text(json.dumps([*told, 5]))
    said = refused(root, tmp_path / "out")
    assert "train/OCR/train.json record 2: image: train/OCR/images/ocr_2.png is missing" in said
    assert "train/Scene_Classification/train.json: no JSON" in said
    assert "train/Action/train.json record 1: image: ../../secret.png leads out of train/" in said
    assert "train/Action/train.json record 3: no record with id" in said
    assert "4 of the released files" in said


@pytest.mark.parametrize("format", ["PNG", "JPEG"])
def test_pictures_that_are_cut_off_or_missing_refuse_the_build(format: str, tmp_path: Path) -> None:
    whole = picture(1, (64, 64), format)
    images = [whole, whole[: len(whole) // 2], None, b"no picture"]
    rows = [record("ocr", n, image=raw) for n, raw in enumerate(images)]
    said = refused(hub(tmp_path / "in", {"ocr": rows}), tmp_path / "out")
    assert "3 of the released files" in said
    assert "train-00000-of-00002.parquet row 2: image: not a whole, readable picture" in said
    assert "train-00001-of-00002.parquet row 1: image: missing" in said
    assert "train-00001-of-00002.parquet row 2: image: not a whole" in said


def test_an_error_lists_fifty(tmp_path: Path) -> None:
    rows = [record("ocr", n, image=b"no picture") for n in range(MOST_TOLD + 3)]
    said = refused(hub(tmp_path / "in", {"ocr": rows}), tmp_path / "out")
    assert said.count("not a whole") == MOST_TOLD
    assert said.endswith("… and 3 more")


def test_broken_and_missing_tables_refuse_the_build(tmp_path: Path) -> None:
    root = hub(tmp_path / "in", {"ocr": [record("ocr", n) for n in range(4)], "action": [record("action", 1)]})
    (root / "train" / "OCR" / "train-00000-of-00002.parquet").unlink()
    assert "train/OCR/train-00000-of-00002.parquet: missing" in refused(root, tmp_path / "out")
    path = root / "train" / "Action" / "train-00000-of-00001.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    assert "no Parquet file" in refused(root, tmp_path / "out", tasks=("action",))
    pq.write_table(pa.table({"id": ["1"]}), path)
    assert "no column image, conversations" in refused(root, tmp_path / "out", tasks=("action",))


def test_what_is_missing_altogether_is_said(tmp_path: Path) -> None:
    assert "no folder train/" in refused(tmp_path, tmp_path / "out")
    root = hub(tmp_path / "in", {"ocr": [record("ocr", 1)]})
    assert "train/Action: missing" in refused(root, tmp_path / "out", tasks=("action",))
    assert "no task 'sound'" in refused(root, tmp_path / "out", tasks=("sound",))
    with pytest.raises(SnellenError, match="--source ava=FOLDER"):
        Released().parameters(BuildOptions(tmp_path / "out"))
    assert any("no items of localization" in note for note in built(root, tmp_path / "out").card.notes)


def many(count: int = 120) -> list[dict[str, Any]]:
    """Records of which three at a time share a picture."""
    return [record("counting", n, str(n % 30 + 1), image=picture(n // 3, (8, 8))) for n in range(count)]


def shape(items: Sequence[Item]) -> dict[str, str]:
    return {str(item.provenance["id"]).replace("/", "_"): item.split for item in items}


def test_the_hold_out_goes_by_picture_and_hangs_on_nothing_but_the_seed(tmp_path: Path) -> None:
    root = hub(tmp_path / "in", {"counting": many()})
    items = built(root, tmp_path / "a")
    splits = {item.query[0].sha256: set[str]() for item in items.items}
    for item in items.items:
        splits[item.query[0].sha256].add(item.split)
    assert len(splits) == 40
    assert all(len(held) == 1 for held in splits.values())
    assert 1 <= sum(held == {"test"} for held in splits.values()) <= 10
    unpacked = tree(tmp_path / "tree", {"counting": list(reversed(many()))})
    assert shape(built(unpacked, tmp_path / "b").items) == shape(items.items)
    assert shape(built(root, tmp_path / "c", seed=1).items) != shape(items.items)
    assert all(item.provenance["split"] == HELD_OUT for item in items.items)
    assert any(HELD_OUT in note and "Never to be set beside Table 5" in note for note in items.card.notes)
    chances = {item.split: "chance_strict_accuracy" in item.measures for item in items.items}
    assert chances == {"train": False, "test": True}


def test_a_test_file_of_the_users_own_is_the_test_split(tmp_path: Path) -> None:
    root = tree(tmp_path / "in", {"counting": many(), "ocr": [record("ocr", 1)]})
    tree(root, {"counting": [record("counting", 500), record("counting", 501, "9")]}, "test")
    items = built(root, tmp_path / "out")
    counted = [item for item in items.items if item.task == "counting"]
    assert shape(counted) == {f"counting_{n}": "train" for n in range(120)} | dict.fromkeys(
        ("counting_500", "counting_501"), "test"
    )
    assert all("split" not in item.provenance for item in counted)
    assert any("test items of ocr." in note for note in items.card.notes)


def test_n_draws_test_items_and_four_times_as_many_to_train_on(tmp_path: Path) -> None:
    root = hub(tmp_path / "in", {"counting": many()})
    whole = shape(built(root, tmp_path / "whole").items)
    items = built(root, tmp_path / "out", n=2)
    assert [item.split for item in items.items].count("test") == 2
    assert [item.split for item in items.items].count("train") == 8
    assert shape(items.items).items() <= whole.items()
    again = built(root, tmp_path / "again", n=2)
    assert [item.item_id for item in again.items] == [item.item_id for item in items.items]
    stored = {path.name for path in (tmp_path / "out" / "media").rglob("*") if path.is_file()}
    assert len(stored) == len({item.query[0].sha256 for item in items.items})


def test_ids_tell_no_place(tmp_path: Path) -> None:
    items = built(hub(tmp_path / "in", {"counting": many()}), tmp_path / "out")
    names = [item.item_id for item in items.items]
    assert sorted(names) != names
    assert len(set(names)) == 120
    assert not any(str(item.provenance["id"]) in item.item_id for item in items.items)


def test_plans_and_parameters_name_the_files(tmp_path: Path) -> None:
    root = hub(tmp_path / "in", {"counting": many(12), "ocr": [record("ocr", 1)]})
    options = BuildOptions(tmp_path / "out", sources={"ava": root})
    assert Released().plan(options)["items"] == {"counting": 12, "ocr": 1}
    before = Released().parameters(options)
    assert len(before["files"]) == 3
    path = root / "train" / "OCR" / "train-00000-of-00001.parquet"
    shard(path, [record("ocr", 1, "GO")])
    after = Released().parameters(options)
    assert {name for name in after["files"] if after["files"][name] != before["files"][name]} == {
        "train/OCR/train-00000-of-00001.parquet"
    }
    assert Released().plan(BuildOptions(tmp_path / "out"))["items"] == {}
