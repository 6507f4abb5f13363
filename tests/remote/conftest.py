from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A separate home folder of the test."""
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(params=["memory", "file"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty folder behind a URL."""
    fsspec = pytest.importorskip("fsspec", reason="the extra 'remote' is not installed")
    if request.param == "file":
        yield f"file://{tmp_path}/bucket/folder"
        return
    files = fsspec.filesystem("memory")
    files.store.clear()
    yield "memory://bucket/folder"
    files.store.clear()
