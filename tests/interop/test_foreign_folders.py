"""Folders of strangers: links out of them are not followed, and names in them are no paths."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from snellen.core.storage.itemset import ItemSet, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.sight import FOLDER, SightCard, copy_sight, keep_sight
from snellen.curated_sets.vlm2_bench.edit_pairs import read_edit_pairs
from snellen.curation.steps import copy_media
from snellen.datasets.own_boxes import OwnBoxes
from snellen.datasets.question_tables import find_tables
from snellen.exam.run import run
from snellen.interop.exporting import export
from snellen.interop.log_files import read_log_files
from snellen.subjects.registry import subjects_of
from snellen.suites.ava_bench.released.files import find_shelves, released_form
from tests.helpers.refusals import assert_refused
from tests.suites.questions.tables import build_set, image_text, write_csv


@pytest.fixture
def items(tmp_path: Path) -> ItemSet:
    cells = [
        {"image": image_text(n), "question": f"Which, {n}?", "A": "red", "B": "blue", "answer": "A"} for n in range(4)
    ]
    return build_set(write_csv(tmp_path / "t.csv", cells), tmp_path / "set")


def link(folder: Path, name: str, words: str) -> Path:
    """A link in a folder to a file of these words beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    private = folder.parent / f"private-{name}"
    private.write_text(words)
    (folder / name).symlink_to(Path("..") / private.name)
    return folder / name


def boxes(root: Path) -> OwnBoxes:
    (root / "images").mkdir()
    Image.new("RGB", (40, 30)).save(root / "images" / "a.png")
    return OwnBoxes(root / "images", root / "labels")


def yolo_names(root: Path) -> object:
    own = boxes(root)
    link(root / "labels", "classes.txt", "a secret\n")
    (root / "labels" / "a.txt").write_text("0 0.5 0.5 0.2 0.4\n")
    return list(own.samples())


def yolo_labels(root: Path) -> object:
    own = boxes(root)
    link(root / "labels", "a.txt", "0 0.5 0.5 0.2 0.4\n")
    (root / "labels" / "classes.txt").write_text("cat\n")
    return list(own.samples())


def voc(root: Path) -> object:
    own = boxes(root)
    link(root / "labels", "a.xml", "<annotation/>")
    return list(own.samples())


def logs(root: Path) -> object:
    return read_log_files(str(link(root / "logs", "a.jsonl", '{"id": "1", "score": 1, "response": "secret"}\n').parent))


def answers(root: Path) -> object:
    return subjects_of(f"recorded:{link(root / 'answers', 'm.json', '{}').parent}/*.json")


def a_table(root: Path) -> object:
    return find_tables(link(root / "tables", "a.csv", "question,answer\n").parent)


@pytest.mark.parametrize("read", [yolo_names, yolo_labels, voc, logs, answers, a_table])
def test_a_link_out_of_a_folder_is_refused(read: Callable[[Path], object], tmp_path: Path) -> None:
    assert_refused(lambda: read(tmp_path), "a link to a file outside of")


def test_links_within_a_folder_are_followed(tmp_path: Path) -> None:
    (tmp_path / "tables" / "more").mkdir(parents=True)
    (tmp_path / "tables" / "more" / "a.csv").write_text("question,answer\n")
    (tmp_path / "tables" / "b.csv").symlink_to(Path("more") / "a.csv")
    assert [table.path.name for table in find_tables(tmp_path / "tables")] == ["b.csv"]
    (tmp_path / "linked").symlink_to(tmp_path / "tables")
    assert [table.path.name for table in find_tables(tmp_path / "linked")] == ["b.csv"], "the user's own link"


def test_snapshots_of_the_hubs_cache_link_to_its_blobs(tmp_path: Path) -> None:
    snapshot = tmp_path / "datasets--a--b" / "snapshots" / "0123"
    snapshot.mkdir(parents=True)
    (tmp_path / "datasets--a--b" / "blobs").mkdir()
    (tmp_path / "datasets--a--b" / "blobs" / "abc").write_text("question,answer\n")
    (snapshot / "t.csv").symlink_to(Path("../../blobs/abc"))
    assert [table.path.name for table in find_tables(snapshot)] == ["t.csv"]
    (snapshot / "u.csv").symlink_to(Path("../../../private"))
    (tmp_path / "private").write_text("question,answer\n")
    assert_refused(lambda: find_tables(snapshot), "a link to a file outside of")


@pytest.mark.parametrize("name", ["a.txt", "a.xml"])
def test_pipes_among_labels_do_not_block(name: str, tmp_path: Path) -> None:
    own = boxes(tmp_path)
    (tmp_path / "labels").mkdir()
    os.mkfifo(tmp_path / "labels" / name)
    (tmp_path / "labels" / "classes.txt").write_text("cat\n")
    list(own.samples())


def test_pipes_among_released_shards_and_edited_images_do_not_block(tmp_path: Path) -> None:
    folder = tmp_path / "train" / released_form("localization").folder
    folder.mkdir(parents=True)
    os.mkfifo(folder / "train-00000-of-00001.parquet")
    assert find_shelves(tmp_path, ["localization"], []) == []
    (tmp_path / "edits" / "1").mkdir(parents=True)
    os.mkfifo(tmp_path / "edits" / "1" / "instruction.txt")
    assert_refused(lambda: read_edit_pairs(tmp_path / "edits"), "not readable as text in UTF-8")


@pytest.mark.parametrize("task", ["../../evil", "/evil", "..", "a/b"])
@pytest.mark.parametrize("form", ["evalscope", "hf", "lmms-eval", "csv", "jsonl", "vlmevalkit"])
def test_names_of_tasks_are_no_paths(form: str, task: str, items: ItemSet, tmp_path: Path) -> None:
    root, out = tmp_path / "hostile", tmp_path / "deep" / "below" / "out"
    copy_media(items.items, items.media, MediaFolder(root / "media"))
    write_itemset(root, [replace(item, task=task) for item in items.items], source="table", recipe={})
    before = set(tmp_path.rglob("*"))
    export(root, form, out)
    assert {path for path in set(tmp_path.rglob("*")) - before if out not in (path, *path.parents)} == {
        out.parent, out.parent.parent
    }  # fmt: skip


def test_a_sight_card_is_not_written_through_a_link(items: ItemSet, tmp_path: Path) -> None:
    (subject,) = subjects_of("fake:oracle", items.items)
    done = run(items, ["fake:oracle"], tmp_path / "run", show_progress=False)
    (tmp_path / "elsewhere").mkdir()
    (done.root / FOLDER).symlink_to(tmp_path / "elsewhere")
    card = replace(subject.card, address="here")
    line = {"check": "colours", "verdict": "fine", "text": "colours arrive as they are"}
    facts = {"subject": card.name, "fingerprint": card.fingerprint(), "seed": 0, "date": "2026-11-30T00:00:00+00:00"}
    keep_sight(SightCard.model_validate({**facts, "address": "here", "lines": [line]}))
    assert_refused(lambda: copy_sight(done.root, [card]), "a link, but what is written in run stays there")
    assert not any((tmp_path / "elsewhere").iterdir())
