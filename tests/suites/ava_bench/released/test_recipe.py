"""The released files, read from our own copies of both layouts with images of a few pixels.

Layout and field names: OSU-MLB/AVA-Bench (hub data set and `tinyllava/eval`, commit 081b360); wordings: appendix A.2 of
the paper. No released file was available; the tests show that the described layout can be read.
"""

from __future__ import annotations

import json
import struct
import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snellen.core.build_options import BuildOptions
from snellen.core.condition import parse_conditions
from snellen.core.errors import SnellenError
from snellen.core.hashing import sha256
from snellen.core.item import Item
from snellen.core.storage.itemset import ItemSet, read_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.suite import ViewContext
from snellen.presentation.box_units import UnitFrame
from snellen.suites.ava_bench import prompts
from snellen.suites.ava_bench.abilities import ABILITIES
from snellen.suites.ava_bench.released.recipe import HELD_OUT, RELEASED
from snellen.suites.ava_bench.tasks import AXES, presented
from snellen.suites.ava_bench.transforms import Padded
from tests.goldens.descriptions import assert_lines
from tests.suites.ava_bench.fixtures import ATOMIC, TASK_BY_NAME
from tests.suites.ava_bench.released.fixtures import ANSWERS, CUT, TURNS, hub, image, one_each, record, shard, tree


def built(root: Path, out: Path, **fields: Any) -> ItemSet:
    RELEASED.build(BuildOptions(out, sources={"ava": root}, show_progress=False, **fields))
    return read_itemset(out)


def refused(root: Path, out: Path, **fields: Any) -> str:
    with pytest.raises(SnellenError) as error:
        built(root, out, **fields)
    return str(error.value)


@pytest.mark.parametrize("layout", [hub, tree])
def test_every_ability_is_read_from_both_layouts(layout: Any, tmp_path: Path) -> None:
    rows = one_each()
    items = built(layout(tmp_path / "in", rows), tmp_path / "out")
    by_task = {item.task: item for item in items.items}
    assert {task: item.answer for task, item in by_task.items()} == ANSWERS
    assert {task: item.question for task, item in by_task.items()} == {task: TURNS[task][0] for task in ATOMIC} | CUT
    for task, item in by_task.items():
        assert items.media.read(item.query[0]) == rows[task][0]["image"]
        assert item.query[0].sha256 == sha256(rows[task][0]["image"])
        assert not {"red", "blue"} & set(item.regions)


def test_heads_get_the_released_wording_and_released_answers_are_right(tmp_path: Path) -> None:
    items = built(hub(tmp_path / "in", one_each()), tmp_path / "out")
    (point,) = parse_conditions(AXES, "format=paper")
    media = MediaFolder(tmp_path / "made", items.media)
    for item in items.items:
        task, view = TASK_BY_NAME[item.task], item.view()
        for transform in task.transforms(item, ViewContext(point, [item])):
            view = transform(view, media, np.random.default_rng(0))
        question, answer = TURNS[item.task]
        assert presented(ABILITIES[view.task], point)(view) == (*item.query, question)  # no padding, no boxes
        for protocol in task.protocols.values():
            first = protocol.metrics[0]
            best = 1 if first.higher_is_better else 0
            # Scripts compare with the whole option including its number, which two of the answers here leave out.
            reply = prompts.target(view.reply, item.answer) if item.options else answer
            assert first.score(item, protocol.read(reply, view.reply)) == pytest.approx(best), (
                item.task,
                protocol.name,
            )


def test_items_have_the_factors_that_split_the_results(tmp_path: Path) -> None:
    rows = one_each()
    rows["counting"][0]["dataset_type"] = "fsc147"
    factors = {item.task: item.factors for item in built(hub(tmp_path / "in", rows), tmp_path / "out").items}
    assert factors["counting"] == {"source": "fsc147", "count_range": "6-10"}
    assert factors["localization"] == {"source": "AVA-Bench", "box_size": "0.2-0.3"}  # 16 x 16 of 32 x 32
    assert factors["absolute-depth"]["depth_range"] == "5-10 m"
    assert factors["ocr"]["text_length"] == "6-10"
    assert factors["fine-grained"]["group"] == "bird"
    assert (factors["spatial"]["position"], factors["emotion"]["emotion"]) == ("Left below", "sad")


def test_the_shown_box_is_the_released_one(tmp_path: Path) -> None:
    row = record("localization", 1, reply="[0.30, 0.40, 0.60, 0.70]", image=image(1, (60, 31)))
    items = built(tree(tmp_path / "in", {"localization": [row]}), tmp_path / "out")
    (item,) = items.items
    media, rng = MediaFolder(tmp_path / "made", items.media), np.random.default_rng(0)
    view = UnitFrame()(Padded()(item.view(), media, rng), media, rng)
    assert prompts.target(view.reply, item.answer) == "[0.30, 0.40, 0.60, 0.70]"


def test_records_left_out_are_counted_in_the_card(tmp_path: Path) -> None:
    rows = [record("counting", 1), record("counting", 2, "seven"), record("counting", 3, "many")]
    rows += [record("counting", 4, conversations=[{"from": "human", "value": "How many?"}])]
    rows += [record("counting", 5, id="same"), record("counting", 6, id="same")]
    with pytest.warns(UserWarning, match="left out"):
        items = built(hub(tmp_path / "in", {"counting": rows}), tmp_path / "out")
    assert len(items.items) == 1
    notes = "\n".join(items.card.notes)
    assert "counting: 2 records left out, the answer is not a whole number; first: " in notes
    assert "train/Counting/train-00000-of-00002.parquet row 2 ('seven')" in notes
    assert "counting: 1 records left out, conversations is not one turn of a human and one of gpt" in notes
    assert "counting: 2 records left out, the id is used twice" in notes


def test_a_box_on_the_padding_is_left_out_when_its_image_is_known(tmp_path: Path) -> None:
    boxes = "[0, 0, 1, 0.2]", "", "[0, 0.5, 1, 0.75]"
    rows = [record("localization", n, box, image=image(n, (64, 32))) for n, box in enumerate(boxes)]
    with pytest.warns(UserWarning, match="left out"):
        items = built(hub(tmp_path / "in", {"localization": rows}), tmp_path / "out")
    assert [item.answer for item in items.items] == [(0, 16, 64, 32)]
    assert any("the box is on the padding" in note for note in items.card.notes)


def test_tables_may_have_plain_bytes_conversations_as_json_and_no_ids(tmp_path: Path) -> None:
    """Records without an id are numbered through all files of an ability."""
    rows = [record("counting", n, str(n + 1)) for n in range(3)]
    cells = [{**row, "id": None, "conversations": json.dumps(row["conversations"])} for row in rows]
    folder = tmp_path / "in" / "train" / "Counting"
    folder.mkdir(parents=True)
    schema = pa.schema(dict.fromkeys(("id", "conversations"), pa.string()) | {"image": pa.binary()})
    for number, part in ((1, cells[:2]), (2, cells[2:])):
        pq.write_table(pa.Table.from_pylist(part, schema), folder / f"train-0000{number}-of-00002.parquet")
    items = built(tmp_path / "in", tmp_path / "out")
    by_id = {item.provenance["id"]: item for item in items.items}
    assert {name: item.answer for name, item in by_id.items()} == {f"Counting_{n:08d}": n + 1 for n in range(3)}
    for n, row in enumerate(rows):
        assert items.media.read(by_id[f"Counting_{n:08d}"].query[0]) == row["image"]


def test_without_a_readable_record_no_set_is_built(tmp_path: Path) -> None:
    root = hub(tmp_path / "in", {"counting": [record("counting", 1, "seven")]})
    assert "no record could be read" in refused(root, tmp_path / "out")


def test_all_problems_of_a_tree_are_reported_at_once(tmp_path: Path) -> None:
    root = tree(tmp_path / "in", {task: [record(task, 1), record(task, 2)] for task in ("ocr", "scene", "action")})
    train = root / "AVA-Bench" / "train"
    (train / "OCR" / "images" / "ocr_2.png").unlink()
    (train / "Scene_Classification" / "train.json").write_text("[{")
    entries = json.loads((train / "Action" / "train.json").read_text())
    entries[0]["image"] = "../../secret.png"
    (train / "Action" / "train.json").write_text(json.dumps([*entries, 5]))
    message = refused(root, tmp_path / "out")
    assert "train/OCR/train.json record 2: image: train/OCR/images/ocr_2.png is missing" in message
    assert "train/Scene_Classification/train.json: not JSON" in message
    assert "train/Action/train.json record 1: image: ../../secret.png leads out of train/" in message
    assert "train/Action/train.json record 3: not a record with id" in message
    assert "4 of the released files" in message


@pytest.mark.parametrize("format", ["PNG", "JPEG"])
def test_truncated_or_missing_images_are_refused(format: str, tmp_path: Path) -> None:
    raw_image = image(1, (64, 64), format)
    images = [raw_image, raw_image[: len(raw_image) // 2], None, b"no image"]
    rows = [record("ocr", n, image=raw) for n, raw in enumerate(images)]
    message = refused(hub(tmp_path / "in", {"ocr": rows}), tmp_path / "out")
    assert "3 of the released files" in message
    assert "train-00000-of-00002.parquet row 2: image: truncated or unreadable" in message
    assert "train-00001-of-00002.parquet row 1: image: missing" in message
    assert "train-00001-of-00002.parquet row 2: image: truncated" in message


def test_broken_and_missing_tables_are_refused(tmp_path: Path) -> None:
    root = hub(tmp_path / "in", {"ocr": [record("ocr", n) for n in range(4)], "action": [record("action", 1)]})
    (root / "train" / "OCR" / "train-00000-of-00002.parquet").unlink()
    assert "train/OCR/train-00000-of-00002.parquet: missing" in refused(root, tmp_path / "out")
    path = root / "train" / "Action" / "train-00000-of-00001.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    assert "not a readable Parquet file" in refused(root, tmp_path / "out", tasks=("action",))
    pq.write_table(pa.table({"id": ["1"]}), path)
    assert "no column image, conversations" in refused(root, tmp_path / "out", tasks=("action",))


def test_an_error_names_missing_folders_and_sources(tmp_path: Path) -> None:
    assert "no folder train/" in refused(tmp_path, tmp_path / "out")
    root = hub(tmp_path / "in", {"ocr": [record("ocr", 1)]})
    assert "train/Action: missing" in refused(root, tmp_path / "out", tasks=("action",))
    assert "no task 'sound'" in refused(root, tmp_path / "out", tasks=("sound",))
    with pytest.raises(SnellenError, match="--source ava=FOLDER"):
        RELEASED.parameters(BuildOptions(tmp_path / "out"))
    assert any("no items of localization" in note for note in built(root, tmp_path / "out").card.notes)


def test_files_without_records_and_of_other_forms_are_named(tmp_path: Path) -> None:
    tasks = ("ocr", "scene", "action", "colour")
    train = tree(tmp_path / "in", {task: [record(task, 1), record(task, 2)] for task in tasks}) / "AVA-Bench" / "train"
    (train / "OCR" / "train.json").write_text("[]")
    (train / "Scene_Classification" / "train.json").write_text('{"id": 1}')
    entries = json.loads((train / "Action" / "train.json").read_text())
    (train / "Action" / "train.json").write_text("\ufeff" + json.dumps([{**entries[0], "image": 5}, entries[1]]))
    (train / "Color" / "train.json").unlink()
    for number in (1, 3):  # the files of a task that count from 1
        shard(train / "Color" / f"train-{number:05d}-of-00003.parquet", [record("colour", number)])
    texts = [refused(train.parent, tmp_path / "out", tasks=some) for some in (tasks, tasks[:3])]
    assert_lines("ava-bench/broken.txt", [text.replace(str(tmp_path), "FOLDER") for text in texts])


def many_records(count: int = 120) -> list[dict[str, Any]]:
    """Records of which each three share an image."""
    return [record("counting", n, str(n % 30 + 1), image=image(n // 3, (8, 8))) for n in range(count)]


def split_by_id(items: Sequence[Item]) -> dict[str, str]:
    return {str(item.provenance["id"]).replace("/", "_"): item.split for item in items}


def test_the_hold_out_is_by_image_and_depends_only_on_the_seed(tmp_path: Path) -> None:
    root = hub(tmp_path / "in", {"counting": many_records()})
    items = built(root, tmp_path / "a")
    splits = {item.query[0].sha256: set[str]() for item in items.items}
    for item in items.items:
        splits[item.query[0].sha256].add(item.split)
    assert len(splits) == 40
    assert all(len(splits_of_image) == 1 for splits_of_image in splits.values())
    assert 1 <= sum(splits_of_image == {"test"} for splits_of_image in splits.values()) <= 10
    unpacked = tree(tmp_path / "tree", {"counting": list(reversed(many_records()))})
    assert split_by_id(built(unpacked, tmp_path / "b").items) == split_by_id(items.items)
    assert split_by_id(built(root, tmp_path / "c", seed=1).items) != split_by_id(items.items)
    assert all(item.provenance["split"] == HELD_OUT for item in items.items)
    assert any(HELD_OUT in note and "Not comparable with Table 5" in note for note in items.card.notes)
    chances = {item.split: "chance_strict_accuracy" in item.measures for item in items.items}
    assert chances == {"train": False, "test": True}


def test_a_test_file_of_the_user_is_the_test_split(tmp_path: Path) -> None:
    root = tree(tmp_path / "in", {"counting": many_records(), "ocr": [record("ocr", 1)]})
    tree(root, {"counting": [record("counting", 500), record("counting", 501, "9")]}, "test")
    items = built(root, tmp_path / "out")
    counting_items = [item for item in items.items if item.task == "counting"]
    assert split_by_id(counting_items) == {f"counting_{n}": "train" for n in range(120)} | dict.fromkeys(
        ("counting_500", "counting_501"), "test"
    )
    assert all("split" not in item.provenance for item in counting_items)
    assert any("test items of ocr." in note for note in items.card.notes)
    assert not any("both" in note for note in items.card.notes)


def test_an_image_in_both_files_is_noted(tmp_path: Path) -> None:
    root = tree(tmp_path / "in", {"counting": [record("counting", 1), record("counting", 2)]})
    tree(root, {"counting": [record("counting", 1), record("counting", 3)]}, "test")
    notes = built(root, tmp_path / "out").card.notes
    assert "counting: 1 images are both in the training and in the test file" in notes


def test_n_draws_test_items_and_four_times_as_many_training_items(tmp_path: Path) -> None:
    root = hub(tmp_path / "in", {"counting": many_records()})
    all_splits = split_by_id(built(root, tmp_path / "whole").items)
    items = built(root, tmp_path / "out", n=2)
    assert [item.split for item in items.items].count("test") == 2
    assert [item.split for item in items.items].count("train") == 8
    assert split_by_id(items.items).items() <= all_splits.items()
    again = built(root, tmp_path / "again", n=2)
    assert [item.item_id for item in again.items] == [item.item_id for item in items.items]
    stored = {path.name for path in (tmp_path / "out" / "media").rglob("*") if path.is_file()}
    assert len(stored) == len({item.query[0].sha256 for item in items.items})


def test_ids_reveal_no_position(tmp_path: Path) -> None:
    items = built(hub(tmp_path / "in", {"counting": many_records()}), tmp_path / "out")
    names = [item.item_id for item in items.items]
    assert sorted(names) != names
    assert len(set(names)) == 120
    assert not any(str(item.provenance["id"]) in item.item_id for item in items.items)


def test_plans_and_parameters_name_the_files(tmp_path: Path) -> None:
    root = hub(tmp_path / "in", {"counting": many_records(12), "ocr": [record("ocr", 1)]})
    options = BuildOptions(tmp_path / "out", sources={"ava": root})
    assert RELEASED.plan(options)["items"] == {"counting": 12, "ocr": 1}
    before = RELEASED.parameters(options)
    assert len(before["files"]) == 3
    path = root / "train" / "OCR" / "train-00000-of-00001.parquet"
    shard(path, [record("ocr", 1, "GO")])
    after = RELEASED.parameters(options)
    assert {name for name in after["files"] if after["files"][name] != before["files"][name]} == {
        "train/OCR/train-00000-of-00001.parquet"
    }
    assert RELEASED.plan(BuildOptions(tmp_path / "out"))["items"] == {}


def stored_png(shade: int, width: int, height: int) -> bytes:
    """A PNG whose bytes no compressor changes, since splits and ids follow from bytes."""
    row = b"\0" + bytes((shade, 2 * shade % 256, 255 - shade)) * width
    chunks = (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(row * height, 0))
    packed = [
        struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in (*chunks, (b"IEND", b""))
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


REPLIES: dict[str, tuple[str, ...]] = {
    "localization": ("[0.25, 0.30, 0.75, 0.70]", "[0.1, 0.24, 0.9, 0.76]", "[0, 0.2, 1, 1]", "somewhere"),
    "counting": ("41", "40.", "seven", "5", "0"),
    "colour": ("[0, 9, 255]", "(12,34,56)", "[1, 2]"),
    "ocr": ("STOP 51", "ABCDE", "", "twelve letters", "it is a sign of one line"),
    "absolute-depth": ("A. 1-2", "2-3", "B", "D"),
    "relative-depth": ("1", "2. blue", "green"),
    "spatial": ("C", "Right above", "E"),
}
FIELDS: tuple[dict[str, Any], ...] = (
    {"source": "x", "dataset": "y", "dataset_type": "one"}, {"source": "x", "dataset": "two"},
    {"source": "three", "id": ""}, {}, {"dataset": ""},
)  # fmt: skip


def test_all_that_is_made_of_the_released_files_is_as_it_was(tmp_path: Path) -> None:
    """Wide and tall images, several of each kind, records that cannot be read, a test file, and draws of some."""
    rows = {task: [record(task, n, image=stored_png(n, 40, 24))] for n, task in enumerate(ATOMIC, 50)}
    for task, replies in REPLIES.items():
        for n, reply in enumerate(replies):
            size = ((60, 30), (20, 50), (32, 32))[n % 3]
            rows[task].append(record(task, n, reply, image=stored_png(7 * n + len(task), *size), **FIELDS[n]))
    lines, roots = list[Any](), {"hub": hub(tmp_path / "hub", rows), "tree": tree(tmp_path / "tree", rows)}
    tree(tmp_path / "tree", {task: rows[task][:3] for task in ("counting", "ocr")}, "test")
    draws: list[dict[str, Any]] = [{}, {"n": 1, "seed": 4}, {}, {"n": 2, "tasks": ("ocr", "colour")}]
    for number, (layout, fields) in enumerate(zip(("hub", "hub", "tree", "tree"), draws, strict=True)):
        options = BuildOptions(tmp_path / str(number), sources={"ava": roots[layout]}, **fields)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            items = built(roots[layout], options.out, **fields)
        recipe = {**items.card.recipe, "files": list(items.card.recipe["files"])}
        lines += [layout, fields, {**RELEASED.plan(options), "bytes": ""}, items.card.counts, recipe]
        lines += [*items.card.notes, *(str(warning.message).replace(str(tmp_path), "") for warning in warned)]
        of_item = [(item.item_id, item.split, item.answer, item.factors, item.provenance) for item in items.items]
        lines += of_item if number else items.items
    assert_lines("ava-bench/released.txt", lines)
