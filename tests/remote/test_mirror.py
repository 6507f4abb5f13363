"""Both sides of a mirror: what changes there comes down, what changes here goes up, and no recorded call is lost."""

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


def there(store: ObjectStore) -> dict[str, bytes]:
    return {name: store.read(name) for name in store.list()}


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Go on at another machine, which has another home folder."""
    return lambda name: monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / name))


@pytest.fixture
def uploads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of files as they go up."""
    names: list[str] = []
    upload, one = ObjectStore.upload, ObjectStore.write

    def many(self: ObjectStore, sources: Mapping[str, Path]) -> None:
        names.extend(sources)
        upload(self, sources)

    def single(self: ObjectStore, name: str, raw: bytes) -> None:
        names.append(name)
        one(self, name, raw)

    monkeypatch.setattr(ObjectStore, "upload", many)
    monkeypatch.setattr(ObjectStore, "write", single)
    return names


def test_it_goes_up_with_cards_last_and_comes_down_the_same(
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
    assert read(second.root) == there(second.store)
    assert set(read(mirror.root)) - set(read(second.root)) == {"lock", "responses.parquet.123.half"}


def test_what_is_the_same_is_not_transferred_again(
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


def test_an_upload_that_breaks_off_shows_nothing_and_goes_on(
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


def test_images_that_went_up_unnoticed_are_known_by_name_and_size(url: str, uploads: list[str]) -> None:
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
    assert there(store) == read(mirror.root)


def test_of_tables_that_changed_on_both_sides_theirs_stay(url: str, store: ObjectStore) -> None:
    mirror = Mirror(url)
    write(mirror.root, RUN)
    mirror.push()
    write(mirror.root, {"responses.parquet": b"ours now", "scores.strict.parquet": b"only ours"})
    store.write("responses.parquet", b"theirs now")
    assert mirror.pull(CARDS)
    assert read(mirror.root) == {**RUN, "responses.parquet": b"theirs now", "scores.strict.parquet": b"only ours"}


def test_tables_are_not_younger_than_records_that_went_up_later(url: str, store: ObjectStore, tmp_path: Path) -> None:
    """Else a run that was killed elsewhere after its tables were written would be taken for finished."""
    mirror = Mirror(url)
    write(mirror.root, {"responses.parquet": b"table", "run.json": b"{}"})
    mirror.push()
    store.write(PART, b"1\n")
    assert mirror.pull(CARDS)
    times = [(mirror.root / name).stat().st_mtime_ns for name in ("responses.parquet", PART)]
    assert times == sorted(times)
    assert times[1] == store.list()[PART].modified_ns


def test_deleted_files_are_deleted_on_the_other_side_where_nothing_is_lost(url: str, store: ObjectStore) -> None:
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


def test_a_copy_whose_original_is_gone_is_set_aside(url: str, store: ObjectStore) -> None:
    mirror = Mirror(url)
    write(mirror.root, RUN)
    mirror.push()
    store.delete(list(store.list()))
    assert not mirror.pull(CARDS)
    assert read(mirror.root) == {}
    assert read(mirror.folder.with_suffix(".1") / "files") == RUN


def test_what_is_recorded_goes_up_by_whole_lines_and_alone(url: str, store: ObjectStore) -> None:
    mirror = Mirror(url)
    write(mirror.root, {**RUN, PART: b"1\n2\n3", "judgements/a/run/parts/0000.jsonl": b"4\n"})
    mirror.push(is_record)
    assert there(store) == {PART: b"1\n2\n", "judgements/a/run/parts/0000.jsonl": b"4\n", "run.json": b"{}"}
    write(mirror.root, {PART: b"1\n2\n3\n"})
    mirror.push()
    assert there(store)[PART] == b"1\n2\n3\n"


def test_a_current_set_is_known_by_one_look_at_its_card(
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
def test_names_that_lead_elsewhere_are_refused(
    url: str, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mirror = Mirror(url)
    listed = {f"/bucket/folder/{name}": {"size": 1}, "/bucket/folder/run.json": {"size": 2}}
    monkeypatch.setattr(mirror.store, "_files", _Listing(listed))
    with pytest.raises(SnellenError, match="leads elsewhere"):
        mirror.pull(CARDS)
    assert read(mirror.root) == {}


def test_folders_that_a_store_lists_as_empty_files_are_none(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ObjectStore(url)
    listed = {"/bucket/folder/": {"size": 0}, "/bucket/folder/media/": {"size": 0}, "/bucket/folder/a": {"size": 1}}
    monkeypatch.setattr(store, "_files", _Listing(listed))
    assert list(store.list()) == ["a"]


class _Listing:
    """A file system that only lists, whatever a hostile store may say."""

    def __init__(self, rows: Mapping[str, Mapping[str, int]]) -> None:
        self.rows = rows

    def invalidate_cache(self) -> None: ...

    def find(self, path: str, detail: bool) -> Mapping[str, Mapping[str, int]]:
        return self.rows


def test_a_lost_manifest_costs_transfers_alone(url: str) -> None:
    mirror = Mirror(url)
    write(mirror.root, RUN)
    mirror.push()
    for text in ("", "[1]", json.dumps({"run.json": [1]})):
        (mirror.folder / "manifest.json").write_text(text)
        assert mirror.pull(CARDS)
        mirror.push()
        assert read(mirror.root) == there(mirror.store) == RUN


def test_a_download_that_is_cut_leaves_no_file(url: str, store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, raw in RUN.items():
        store.write(name, raw)
    download = ObjectStore.download

    def cut(self: ObjectStore, targets: Mapping[str, Path]) -> None:
        download(self, targets)
        os.truncate(targets["run.json"], 1)

    mirror = Mirror(url)
    with monkeypatch.context() as patch:
        patch.setattr(ObjectStore, "download", cut)
        with pytest.raises(SnellenError, match="changed while it was downloaded"):
            mirror.pull(CARDS)
    assert "run.json" not in read(mirror.root)
    assert not list(mirror.folder.glob("incoming*"))
    assert mirror.pull(CARDS)
    assert read(mirror.root) == RUN


def test_a_part_that_was_torn_by_a_kill_goes_up_as_it_is(url: str) -> None:
    """Tables say how large the parts were that they are made of: another machine must find them as large."""
    mirror, torn = Mirror(url), RUN[PART] + b'{"n":'
    write(mirror.root, RUN | {PART: torn})
    mirror.push(is_record)
    assert mirror.store.read(PART) == RUN[PART], "it may still grow"
    mirror.push()
    assert mirror.store.read(PART) == torn
