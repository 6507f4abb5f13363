"""One writer at a time: a living writer is waited for, a dead one is replaced, and only once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from snellen.core.errors import SnellenError
from snellen.remote.store import ObjectStore, RemoteFile
from snellen.remote.writers import BEAT_SECONDS, STALE_SECONDS, Writer

Machine = Callable[[str], None]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    """Switch to another machine with another home folder."""
    return lambda name: monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / name))


def never(seconds: float) -> None:
    raise AssertionError(f"waits {seconds} seconds")


def writer(store: ObjectStore, lines: list[str], sleep: Callable[[float], None] = never) -> Writer:
    return Writer(store, lines.append, sleep)


def test_after_the_end_of_a_writer_the_next_writes_at_once(store: ObjectStore, machine: Machine) -> None:
    lines: list[str] = []
    for name in ("first", "second"):
        machine(name)
        owner = writer(store, lines)
        owner.acquire()
        owner.beat()
        owner.release()
    assert lines == []
    assert list(store.list()) == ["writers/000002.json"]


def test_a_writer_that_died_on_this_machine_is_replaced_at_once(store: ObjectStore) -> None:
    dead, lines = writer(store, []), list[str]()
    dead.acquire()
    writer(store, lines).acquire()
    assert lines == []


def test_a_living_writer_elsewhere_is_not_replaced(store: ObjectStore, machine: Machine) -> None:
    machine("first")
    alive, lines = writer(store, []), list[str]()
    alive.acquire()
    machine("second")
    with pytest.raises(SnellenError, match="another process is writing there") as refused:
        writer(store, lines, lambda seconds: alive.beat()).acquire()
    assert "\n" not in str(refused.value)
    assert len(lines) == 1
    alive.beat()
    assert not alive.is_lost


def test_a_silent_writer_elsewhere_is_replaced_and_stops(store: ObjectStore, machine: Machine) -> None:
    machine("first")
    frozen, waits = writer(store, []), list[float]()
    frozen.acquire()
    frozen.beat()
    machine("second")
    heir = writer(store, [], waits.append)
    heir.acquire()
    assert sum(waits) == pytest.approx(STALE_SECONDS)
    assert max(waits) < BEAT_SECONDS
    heir.beat()
    for _ in range(2):
        with pytest.raises(SnellenError, match="another process took over"):
            frozen.beat()
    frozen.release()
    assert json.loads(store.read("writers/000002.json"))["ended"] is False


def test_a_writer_that_ends_while_waited_for_is_replaced(store: ObjectStore, machine: Machine) -> None:
    machine("first")
    other = writer(store, [])
    other.acquire()
    machine("second")
    writer(store, [], lambda seconds: other.release()).acquire()


def test_only_one_of_two_successors_writes(store: ObjectStore, machine: Machine) -> None:
    machine("dead")
    writer(store, []).acquire()
    rivals: list[Writer] = []

    def meanwhile(seconds: float) -> None:
        """The rival waits for no one, because it saw the dead writer before; then it lives."""
        if not rivals:
            machine("rival")
            rivals.append(writer(store, [], lambda seconds: None))
            rivals[0].acquire()
            machine("late")
        rivals[0].beat()

    machine("late")
    late = writer(store, [], meanwhile)
    with pytest.raises(SnellenError, match="another process is writing there"):
        late.acquire()
    rivals[0].beat()


def test_an_outdated_listing_does_not_reuse_a_number(
    store: ObjectStore, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the listing and the file of the next number one writer ends, and another begins."""
    listing, rivals = ObjectStore.list, list[Writer]()

    def old(self: ObjectStore, folder: str = "") -> dict[str, RemoteFile]:
        rows = listing(self, folder)
        monkeypatch.setattr(ObjectStore, "list", listing)
        for name in ("ended", "rival"):
            machine(name)
            rivals.append(writer(store, []))
            rivals[-1].acquire()
            if name == "ended":
                rivals[-1].release()
        machine("late")
        return rows

    monkeypatch.setattr(ObjectStore, "list", old)
    with pytest.raises(SnellenError, match="another process is writing there"):
        writer(store, [], lambda seconds: rivals[1].beat()).acquire()
    rivals[1].beat()


def test_a_store_that_overwrites_is_reported(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def create(self: ObjectStore, name: str, raw: bytes) -> bool:
        self.write(name, raw)
        return True

    monkeypatch.setattr(ObjectStore, "create", create)
    lines: list[str] = []
    owner = writer(store, lines)
    owner.acquire()
    assert len(lines) == 1
    assert "cannot keep two writers apart" in lines[0]
    owner.beat()


def test_files_are_created_once_in_memory_and_in_folders(store: ObjectStore, tmp_path: Path) -> None:
    for folder in (store, ObjectStore((tmp_path / "folder").as_uri())):
        assert folder.create("writers/1", b"a")
        assert folder.create("writers/1", b"a"), "written by an earlier try of the same call"
        assert not folder.create("writers/1", b"b")
        assert folder.read("writers/1") == b"a"
