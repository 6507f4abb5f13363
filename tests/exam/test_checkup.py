"""Folders that a checkup removes before it builds."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from snellen.core.errors import SnellenError
from snellen.core.suite import BuildOptions
from snellen.exam import checkup
from tests.helpers.journey import colour_set


def test_only_an_item_set_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "build", lambda suite, how, options: None)
    notes = tmp_path / "items" / "notes.txt"
    notes.parent.mkdir()
    notes.write_text("mine")
    battery = checkup._Battery("combo", BuildOptions(notes.parent), tmp_path / "run")
    checkup._build(battery)
    assert notes.read_text() == "mine", "no item set is in the folder"
    colour_set(notes.parent)
    checkup._build(battery)
    assert not notes.parent.exists()


def test_a_missing_extra_is_named_before_anything_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    monkeypatch.setattr(checkup, "build", lambda suite, how, options: pytest.fail("built"))
    with pytest.raises(SnellenError, match=r"PyAV.*\[video\]"):
        checkup.checkup(out=tmp_path / "checkup", renderer="toy", quick=True, show_progress=False)
    assert not (tmp_path / "checkup").exists()
