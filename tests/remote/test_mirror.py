"""Both sides of a mirror: remote changes are downloaded, local ones uploaded, and no recorded call is lost."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from snellen.core.errors import SnellenError
from snellen.remote.mirror import Mirror, is_record
from snellen.remote.store import ObjectStore

CARDS = ["run.json"]
PART = "parts/0000.jsonl"
IMAGE = f"media/ab/ab{'0' * 62}.png"
RUN = {PART: b'{"n":1}\n', "responses.parquet": b"table", IMAGE: b"pixels", "run.json": b"{}", "stamp.json": b"s"}


def write(root: Path, contents: Mapping[str, bytes]) -> None:
    for name, raw in contents.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(raw)


def read(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def files_of(store: ObjectStore) -> dict[str, bytes]:
    return {name: store.read(name) for name in store.list()}


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Switch to another machine with another home folder."""
    return lambda name: monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / name))


@pytest.fixture
def uploads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of uploaded files in their order."""
    names: list[str] = []
    upload, write = ObjectStore.upload, ObjectStore.write

    def many(self: ObjectStore, sources: Mapping[str, Path]) -> None:
        names.extend(sources)
        upload(self, sources)

    def single(self: ObjectStore, name: str, raw: bytes) -> None:
        names.append(name)
        write(self, name, raw)

    monkeypatch.setattr(ObjectStore, "upload", many)
    monkeypatch.setattr(ObjectStore, "write", single)
    return names


def test_uploads_end_with_cards_and_downloads_are_equal(
    url: str, uploads: list[str], machine: Callable[[str], None]
) -> None:
    mirror = Mirror(url)
    write(mirror.root, {**RUN, "judgements/a/run/run.json": b"{}", "judgements/a/run/scores.parquet": b"s"})
    write(mirror.root, {"lock": b"", "responses.parquet.123.half": b"ta"})
    mirror.push()
    assert sorted(uploads[-3:-1]) == ["judgements/a/run/run.json", "run.json"]
    assert uploads[0] == PART
    assert uploads[-1] == "stamp.json"
    machine("second")
    second = Mirror(url)
    assert second.root != mirror.root
    assert second.pull(CARDS)
    assert read(second.root) == files_of(second.store)
    assert set(read(mirror.root)) - set(read(second.root)) == {"lock", "responses.parquet.123.half"}


def test_unchanged_files_are_not_transferred_again(
    url: str, uploads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = Mirror(url)
    write(mirror.root, RUN)
    mirror.push()
    uploads.clear()
    downloads: list[str] = []
    monkeypatch.setattr(ObjectStore, "download", lambda self, targets: downloads.extend(targets))
    again = Mirror(url)
    assert again.pull(CARDS)
    again.push()
    assert (uploads, downloads) == ([], [])


def test_an_interrupted_upload_is_invisible_and_resumes(
    url: str, store: ObjectStore, uploads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = Mirror(url)
    contents = {f"media/ab/ab{n:062x}.png": b"p%d" % n for n in range(20)}
    write(mirror.root, {**contents, "items.parquet": b"rows", "itemset.json": b"{}"})
    upload = ObjectStore.upload

    def gone(self: ObjectStore, sources: Mapping[str, Path]) -> None:
        if "items.parquet" in sources:
            raise SnellenError("the network is gone")
        upload(self, sources)

    with monkeypatch.context() as patch:
        patch.setattr(ObjectStore, "upload", gone)
        with pytest.raises(SnellenError, match="network"):
            mirror.push()
    assert "itemset.json" not in store.list()
    assert not Mirror(url).pull(["itemset.json"])
    uploads.clear()
    mirror.push()
    assert uploads == ["items.parquet", "itemset.json"]


def test_images_uploaded_before_a_kill_are_found_by_name_and_size(url: str, uploads: list[str]) -> None:
    mirror = Mirror(url)
    write(mirror.root, RUN)
    mirror.push()
    (mirror.folder / "manifest.json").unlink()  # as after a kill before it was written
    uploads.clear()
    mirror.reconcile()
    mirror.push()
    assert IMAGE not in uploads
    assert PART in uploads


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (b"1\n2\n", b"1\n", {PART: b"1\n2\n"}),
        (b"1\n", b"1\n2\n", {PART: b"1\n2\n"}),
        (b"1\n2", b"1\n2\n", {PART: b"1\n2\n"}),
        (b"1\n2\n", b"1\n3\n", {PART: b"1\n3\n", "parts/0002.jsonl": b"1\n2\n"}),
    ],
    ids=["ours is longer", "theirs is longer", "ours is torn", "both have calls of their own"],
)
def test_records_that_grew_on_both_sides_lose_no_call(
    url: str, store: ObjectStore, ours: bytes, theirs: bytes, expected: dict[str, bytes]
) -> None:
    mirror = Mirror(url)
    write(mirror.root, {PART: b"1\n" if ours != b"1\n" else b"", "run.json": b"{}"})
    mirror.push()
    write(mirror.root, {PART: ours})
    store.write(PART, theirs)
    other = {"parts/0001.jsonl": b"9\n"}
    store.write("parts/0001.jsonl", b"9\n")
    assert mirror.pull(CARDS)
    mirror.push()
    assert {name: raw for name, raw in read(mirror.root).items() if is_record(name)} == {
        **expected, **other, "run.json": b"{}",
    }  # fmt: skip
    assert files_of(store) == read(mirror.root)


def test_the_remote_tables_stay_if_both_sides_changed(url: str, store: ObjectStore) -> None:
    mirror = Mirror(url)
    write(mirror.root, RUN)
    mirror.push()
    write(mirror.root, {"responses.parquet": b"ours now", "scores.strict.parquet": b"only ours"})
    store.write("responses.parquet", b"theirs now")
    assert mirror.pull(CARDS)
    assert read(mirror.root) == {**RUN, "responses.parquet": b"theirs now", "scores.strict.parquet": b"only ours"}


def test_tables_are_not_newer_than_later_uploaded_records(url: str, store: ObjectStore, tmp_path: Path) -> None:
    """Otherwise a run killed elsewhere after writing its tables would be taken for finished."""
    mirror = Mirror(url)
    write(mirror.root, {"responses.parquet": b"table", "run.json": b"{}"})
    mirror.push()
    store.write(PART, b"1\n")
    assert mirror.pull(CARDS)
    times = [(mirror.root / name).stat().st_mtime_ns for name in ("responses.parquet", PART)]
    assert times == sorted(times)
    assert times[1] == store.list()[PART].modified_ns


def test_deleted_files_are_deleted_on_the_other_side_without_loss(url: str, store: ObjectStore) -> None:
    mirror = Mirror(url)
    write(mirror.root, {**RUN, "old.html": b"old", "changed.html": b"1"})
    mirror.push()
    store.write("stranger.txt", b"not ours")
    (mirror.root / "old.html").unlink()
    mirror.push()
    assert {"old.html", "stranger.txt"} & set(store.list()) == {"stranger.txt"}
    store.delete([IMAGE, "changed.html"])
    write(mirror.root, {"changed.html": b"22"})
    mirror.pull(CARDS)
    assert not (mirror.root / IMAGE).exists()
    assert (mirror.root / "changed.html").read_bytes() == b"22"


def test_a_copy_without_an_original_is_set_aside(url: str, store: ObjectStore) -> None:
    mirror = Mirror(url)
    write(mirror.root, RUN)
    mirror.push()
    store.delete(list(store.list()))
    assert not mirror.pull(CARDS)
    assert read(mirror.root) == {}
    assert read(mirror.folder.with_suffix(".1") / "files") == RUN


def test_records_are_uploaded_separately_in_complete_lines(url: str, store: ObjectStore) -> None:
    mirror = Mirror(url)
    write(mirror.root, {**RUN, PART: b"1\n2\n3", "judgements/a/run/parts/0000.jsonl": b"4\n"})
    mirror.push(is_record)
    assert files_of(store) == {PART: b"1\n2\n", "judgements/a/run/parts/0000.jsonl": b"4\n", "run.json": b"{}"}
    write(mirror.root, {PART: b"1\n2\n3\n"})
    mirror.push()
    assert files_of(store)[PART] == b"1\n2\n3\n"


def test_a_current_set_is_recognised_by_reading_its_card_once(
    url: str, store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = Mirror(url)
    assert not mirror.is_current("itemset.json")
    store.write("items.parquet", b"rows")
    store.write("itemset.json", b"{}")
    assert mirror.pull(["itemset.json"])
    with monkeypatch.context() as patch:
        patch.setattr(ObjectStore, "list", None)
        assert mirror.is_current("itemset.json")
    store.write("itemset.json", b"{ }")
    assert not mirror.is_current("itemset.json")


@pytest.mark.parametrize("name", ["../../outside.txt", "media/../../outside.txt", "a\\..\\b", "media//x"])
def test_names_outside_the_folder_are_refused(
    url: str, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mirror = Mirror(url)
    listed = {f"/bucket/folder/{name}": {"size": 1}, "/bucket/folder/run.json": {"size": 2}}
    monkeypatch.setattr(mirror.store, "_files", _Listing(listed))
    with pytest.raises(SnellenError, match="points outside"):
        mirror.pull(CARDS)
    assert read(mirror.root) == {}


def test_folders_listed_as_empty_files_are_ignored(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ObjectStore(url)
    listed = {"/bucket/folder/": {"size": 0}, "/bucket/folder/media/": {"size": 0}, "/bucket/folder/a": {"size": 1}}
    monkeypatch.setattr(store, "_files", _Listing(listed))
    assert list(store.list()) == ["a"]


class _Listing:
    """A file system that only lists the given names, as a hostile store may."""

    def __init__(self, rows: Mapping[str, Mapping[str, int]]) -> None:
        self.rows = rows

    def invalidate_cache(self) -> None: ...

    def find(self, path: str, detail: bool) -> Mapping[str, Mapping[str, int]]:
        return self.rows


def test_a_lost_manifest_costs_only_transfers(url: str) -> None:
    mirror = Mirror(url)
    write(mirror.root, RUN)
    mirror.push()
    for text in ("", "[1]", json.dumps({"run.json": [1]})):
        (mirror.folder / "manifest.json").write_text(text)
        assert mirror.pull(CARDS)
        mirror.push()
        assert read(mirror.root) == files_of(mirror.store) == RUN


def test_an_interrupted_download_leaves_no_file(url: str, store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, raw in RUN.items():
        store.write(name, raw)
    download = ObjectStore.download

    def cut(self: ObjectStore, targets: Mapping[str, Path]) -> None:
        download(self, targets)
        os.truncate(targets["run.json"], 1)

    mirror = Mirror(url)
    with monkeypatch.context() as patch:
        patch.setattr(ObjectStore, "download", cut)
        with pytest.raises(SnellenError, match="changed during the download"):
            mirror.pull(CARDS)
    assert "run.json" not in read(mirror.root)
    assert not list(mirror.folder.glob("incoming*"))
    assert mirror.pull(CARDS)
    assert read(mirror.root) == RUN


def test_a_part_torn_by_a_kill_is_uploaded_unchanged(url: str) -> None:
    """Tables record the sizes of their parts: another machine must find the same sizes."""
    mirror, torn = Mirror(url), RUN[PART] + b'{"n":'
    write(mirror.root, RUN | {PART: torn})
    mirror.push(is_record)
    assert mirror.store.read(PART) == RUN[PART], "it may still grow"
    mirror.push()
    assert mirror.store.read(PART) == torn
