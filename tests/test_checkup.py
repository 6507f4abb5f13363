"""What a checkup takes away before it builds."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen import checkup
from snellen.core.suite import BuildOptions
from tests.helpers.journey import colour_set


def test_only_an_item_set_makes_room_for_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "build", lambda suite, how, options: None)
    notes = tmp_path / "items" / "notes.txt"
    notes.parent.mkdir()
    notes.write_text("mine")
    battery = checkup._Battery("combo", BuildOptions(notes.parent), tmp_path / "run")
    checkup._build(battery)
    assert notes.read_text() == "mine", "no item set lies there"
    colour_set(notes.parent)
    checkup._build(battery)
    assert not notes.parent.exists()
