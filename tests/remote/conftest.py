from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from snellen.remote.store import ObjectStore


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A separate home folder of the test."""
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def url() -> Iterator[str]:
    """An empty folder of a store in memory."""
    fsspec = pytest.importorskip("fsspec", reason="the extra 'remote' is not installed")
    files = fsspec.filesystem("memory")
    files.store.clear()
    yield "memory://bucket/folder"
    files.store.clear()


@pytest.fixture
def store(url: str) -> ObjectStore:
    return ObjectStore(url)
